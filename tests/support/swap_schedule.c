/* swap_schedule.c: see swap_schedule.h. */
#include "swap_schedule.h"

#include <stdio.h>

#include "emu.h"

static uint64_t draw(struct swap_schedule *s, uint64_t below)
{
	s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (s->random >> 33) % below;
}

static bool require(struct swap_schedule *s, bool holds, const char *what)
{
	if (!holds && s->broken[0] == '\0')
		(void)snprintf(s->broken, sizeof s->broken, "%s (%s)", what, seam__emu_violation_text(s->driver));
	return holds;
}

/* A call that may fail once: its second try has to succeed. The macro's argument is evaluated twice. */
#define ONCE_MORE(s, call) require(s, (call) == 0 || (++(s)->again, (call) == 0), #call)

static uint64_t handle(void *stream)
{
	return (uint64_t)(uintptr_t)stream;
}

/* A kernel that fills the tensor anew. */
static bool fill(struct swap_schedule *s, struct swap_tensor *t)
{
	bool good = true;
	t->value = s->last_value += SWAP_PARTS;
	for (size_t i = 0; i < t->parts; i++) {
		const struct seam_emu_range range = {handle(t->ptr[i]), t->bytes[i], .write = true};
		good = require(s,
			       seam__emu_launch(s->driver, handle(t->stream), &range, 1, draw(s, 100000),
				       t->value + (uint32_t)i) == 0,
			       "a kernel is launched") &&
			good;
	}
	return good;
}

static bool is_filled(const struct swap_tensor *t, size_t part, const void *at)
{
	const uint32_t *words = at;
	for (uint64_t i = 0; i < t->bytes[part] / sizeof *words; i++) {
		if (words[i] != t->value + (uint32_t)part)
			return false;
	}
	return true;
}

/* The host waits for the tensor's stream and compares every word. */
static bool compare(struct swap_schedule *s, const struct swap_tensor *t)
{
	bool good = ONCE_MORE(s, seam__drv_stream_sync(s->driver, handle(t->stream)));
	for (size_t i = 0; i < t->parts && good; i++)
		good = require(s, is_filled(t, i, t->ptr[i]), "a tensor has its contents");
	return good;
}

static bool compare_host(struct swap_schedule *s, const struct swap_tensor *t)
{
	bool good = ONCE_MORE(s, seam_swap_join(s->swap, t->ticket));
	for (size_t i = 0; i < t->parts && good; i++) {
		void *host = NULL;
		good = require(s, seam_swap_host(s->swap, t->ticket, i, &host) == SEAM_OK,
			       "a ticket has host memory") &&
			require(s, is_filled(t, i, host), "host memory has a tensor's contents");
	}
	return good;
}

static bool take(struct swap_schedule *s, struct swap_tensor *t)
{
	bool good = true;
	t->stream = s->streams[draw(s, SWAP_STREAMS)];
	for (size_t i = 0; i < t->parts; i++)
		good = ONCE_MORE(s, seam_alloc(s->pool, t->bytes[i], t->stream, &t->ptr[i])) && good;
	return good;
}

static bool give_back(struct swap_schedule *s, struct swap_tensor *t)
{
	bool good = true;
	for (size_t i = 0; i < t->parts; i++)
		good = require(s, seam_free(s->pool, t->ptr[i]) == SEAM_OK, "a tensor is freed") && good;
	return good;
}

static bool drop(struct swap_schedule *s, struct swap_tensor *t)
{
	bool good = require(s, seam_swap_drop(s->swap, t->ticket) == SEAM_OK, "a ticket is dropped");
	t->ticket = 0;
	return good;
}

/* Memory like the tensor's, of the same stream, filled with something else. */
static bool use_elsewhere(struct swap_schedule *s, const struct swap_tensor *t)
{
	struct swap_tensor other = *t;
	bool good = true;
	for (size_t i = 0; i < other.parts; i++)
		good = ONCE_MORE(s, seam_alloc(s->pool, other.bytes[i], other.stream, &other.ptr[i])) && good;
	return good && fill(s, &other) && compare(s, &other) && give_back(s, &other);
}

static bool appear(struct swap_schedule *s, struct swap_tensor *t)
{
	t->parts = 1 + draw(s, SWAP_PARTS);
	for (size_t i = 0; i < t->parts; i++)
		t->bytes[i] = 4 * (1 + draw(s, draw(s, 4) == 0 ? 20000 : 700));
	t->place = SWAP_ON_DEVICE;
	return take(s, t) && fill(s, t);
}

static bool leave(struct swap_schedule *s, struct swap_tensor *t)
{
	enum seam_rc rc = seam_swap_out(s->swap, t->ptr, t->bytes, t->parts, t->stream, &t->ticket);
	if (rc == SEAM_OOM_HOST) {
		s->refused++;
		return require(s, t->ticket == 0, "a refused call gives no ticket");
	}
	if (rc != SEAM_OK) {
		s->again++;
		if (draw(s, 2) == 0) /* it stays, and is the caller's at once */
			return fill(s, t);
		rc = seam_swap_out(s->swap, t->ptr, t->bytes, t->parts, t->stream, &t->ticket);
	}
	t->place = SWAP_LEAVING;
	return require(s, rc == SEAM_OK, "a tensor leaves");
}

static bool act_on_device(struct swap_schedule *s, struct swap_tensor *t)
{
	switch (draw(s, 5)) {
	case 0:
		return fill(s, t);
	case 1:
		return compare(s, t);
	case 2:
		t->place = SWAP_NOWHERE;
		return give_back(s, t);
	default:
		return leave(s, t);
	}
}

/* The copies down are pending, and the tensor is there yet. */
static bool act_leaving(struct swap_schedule *s, struct swap_tensor *t)
{
	if (draw(s, 4) == 0 && !compare_host(s, t))
		return false;
	if (!ONCE_MORE(s, seam_swap_await(s->swap, t->ticket, t->stream)))
		return false;
	if (draw(s, 4) == 0) { /* it stays after all */
		t->place = SWAP_ON_DEVICE;
		return drop(s, t) && fill(s, t);
	}
	t->place = SWAP_ON_HOST;
	return give_back(s, t);
}

static bool come(struct swap_schedule *s, struct swap_tensor *t)
{
	enum seam_rc rc = seam_swap_in(s->swap, t->ticket, t->ptr, t->parts, t->stream);
	if (rc != SEAM_OK) {
		s->again++;
		if (draw(s, 2) == 0) /* it stays on the host; the memory for it goes, and is used by others */
			return give_back(s, t) && use_elsewhere(s, t);
		rc = seam_swap_in(s->swap, t->ticket, t->ptr, t->parts, t->stream);
	}
	t->place = SWAP_COMING;
	return require(s, rc == SEAM_OK, "a tensor comes back");
}

static bool act_on_host(struct swap_schedule *s, struct swap_tensor *t)
{
	if (draw(s, 4) == 0)
		return compare_host(s, t);
	if (draw(s, 8) == 0) {
		t->place = SWAP_NOWHERE;
		return drop(s, t);
	}
	return take(s, t) && come(s, t);
}

static bool act_coming(struct swap_schedule *s, struct swap_tensor *t)
{
	bool early = draw(s, 2) == 0; /* a wait that was asked for outlives its ticket */
	if (!ONCE_MORE(s, seam_swap_await(s->swap, t->ticket, t->stream)))
		return false;
	s->moved++;
	if (draw(s, 4) == 0) { /* it leaves again, and has its copy still */
		t->place = SWAP_ON_HOST;
		return give_back(s, t);
	}
	t->place = SWAP_ON_DEVICE;
	return (early ? drop(s, t) && compare(s, t) : compare(s, t) && drop(s, t));
}

static bool act(struct swap_schedule *s, struct swap_tensor *t)
{
	switch (t->place) {
	case SWAP_NOWHERE:
		return appear(s, t);
	case SWAP_ON_DEVICE:
		return act_on_device(s, t);
	case SWAP_LEAVING:
		return act_leaving(s, t);
	case SWAP_ON_HOST:
		return act_on_host(s, t);
	case SWAP_COMING:
		return act_coming(s, t);
	}
	return false;
}

void swap_schedule_begin(struct swap_schedule *s, struct seam_driver *driver, struct seam_pool *pool,
	struct seam_swap *swap, uint64_t seed)
{
	*s = (struct swap_schedule){
		.driver = driver, .pool = pool, .swap = swap, .random = seed, .last_value = (uint32_t)seed << 16 | 1};
	for (int i = 0; i < SWAP_STREAMS; i++) {
		uint64_t stream = SEAM_STREAM_DEFAULT;
		if (i != 0)
			(void)ONCE_MORE(s, seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &stream));
		s->streams[i] = (void *)(uintptr_t)stream;
	}
}

bool swap_schedule_step(struct swap_schedule *s)
{
	if (!act(s, &s->tensors[draw(s, SWAP_TENSORS)]))
		return false;
	const char *broken = seam_swap_check(s->swap);
	return require(s, broken == NULL, broken);
}

bool swap_schedule_end(struct swap_schedule *s)
{
	for (int i = 0; i < SWAP_TENSORS && s->broken[0] == '\0'; i++) {
		struct swap_tensor *t = &s->tensors[i];
		while (t->place != SWAP_NOWHERE && t->place != SWAP_ON_DEVICE && act(s, t)) {
		}
		if (t->place == SWAP_ON_DEVICE && compare(s, t) && give_back(s, t))
			t->place = SWAP_NOWHERE;
	}
	for (int i = 1; i < SWAP_STREAMS; i++) {
		enum seam_rc rc = seam_stream_destroyed(s->pool, s->streams[i]);
		(void)rc; /* a stream that was never used is not known */
		(void)ONCE_MORE(s, seam__drv_stream_destroy(s->driver, handle(s->streams[i])));
	}
	return require(s, seam__emu_violations_all(s->driver) == 0, "no violation") && s->broken[0] == '\0';
}
