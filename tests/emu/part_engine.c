/* part_engine.c: the copy engines: one copy of a direction at a time, by readiness; both directions slow each other
 * down; and copies of drawn times, that know nothing but edges.
 *
 * Times are asked by events before and behind each copy. The oracle has the moments at which copies were ready, and
 * the table's rates, and moves all bytes from one change to the next.
 */
#include <string.h>

#include "emu_test.h"
#include "tap.h"

#define COPIES 40
#define STREAMS 5
#define SEEDS 200
#define UP_NS 37775.0 /* for 2 MiB, as emu_costs.def */
#define DOWN_NS 37822.0
#define UP_BOTH (12.0 / 25)
#define DOWN_BOTH (24.0 / 25)

struct copy {
	bool up;
	uint64_t bytes;
	uint64_t submit_ns;
	uint64_t ready_ns;
	uint64_t end_ns;    /* of the event behind it */
	uint64_t record_ns; /* an event of a stream at rest came when it was recorded */
	double left_ns;     /* the oracle's */
	uint64_t due_ns;    /* the oracle's */
	bool done;
	struct seam_event before, behind;
};

struct run {
	struct seam_driver *d;
	uint64_t random;
	uint64_t va;
	char *host;
	uint64_t streams[STREAMS];
	struct copy copies[COPIES];
};

static uint64_t pick(struct run *r, uint64_t limit)
{
	r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (r->random >> 33) % limit;
}

static uint64_t now(struct seam_driver *d)
{
	return d->ops->clock_ns(d);
}

/* Each stream has a chunk and a chunk's worth of host memory of its own: this is about time, not about races. */
static void begin(struct run *r, uint64_t seed, const struct seam_emu_config *config)
{
	void *host = NULL;
	*r = (struct run){.d = open_emu(config), .random = seed};
	r->va = map_chunks(r->d, STREAMS);
	must(r->d, seam__drv_host_alloc(r->d, STREAMS * G, &host), "host_alloc", __LINE__);
	r->host = host;
	for (int i = 0; i < STREAMS; i++)
		r->streams[i] = make_stream(r->d, i == 0 ? SEAM_STREAM_BLOCKING : SEAM_STREAM_NONBLOCKING);
}

static void add_copy(struct run *r, struct copy *copy, int stream, bool up, uint64_t bytes)
{
	struct seam_driver *d = r->d;
	uint64_t va = r->va + (uint64_t)stream * G;
	char *host = r->host + (uint64_t)stream * G;
	*copy = (struct copy){.up = up, .bytes = bytes};
	MUST(seam__drv_event_create(d, &copy->before));
	MUST(seam__drv_event_create(d, &copy->behind));
	MUST(seam__drv_event_record(d, copy->before, r->streams[stream]));
	copy->submit_ns = now(d);
	if (up)
		MUST(seam__drv_copy_to_device(d, va, host, bytes, r->streams[stream]));
	else
		MUST(seam__drv_copy_to_host(d, host, va, bytes, r->streams[stream]));
	copy->record_ns = now(d);
	MUST(seam__drv_event_record(d, copy->behind, r->streams[stream]));
}

static void ask_times(struct run *r, struct copy *copy)
{
	struct seam_driver *d = r->d;
	MUST(seam__emu_event_time(d, copy->before, &copy->ready_ns));
	MUST(seam__emu_event_time(d, copy->behind, &copy->end_ns));
	if (copy->ready_ns < copy->submit_ns)
		copy->ready_ns = copy->submit_ns;
}

/* The copy of a direction that an engine would do at `at`: the one that has been ready longest, the first submitted
 * among equals; NULL: none is ready. */
static struct copy *first_ready(struct run *r, size_t count, bool up, double at)
{
	struct copy *best = NULL;
	for (size_t i = 0; i < count; i++) {
		struct copy *copy = &r->copies[i];
		if (!copy->done && copy->up == up && (double)copy->ready_ns <= at &&
			(best == NULL || copy->ready_ns < best->ready_ns))
			best = copy;
	}
	return best;
}

static double next_ready(const struct run *r, size_t count, double at)
{
	double best = 1e18;
	for (size_t i = 0; i < count; i++) {
		if (!r->copies[i].done && (double)r->copies[i].ready_ns > at && (double)r->copies[i].ready_ns < best)
			best = (double)r->copies[i].ready_ns;
	}
	return best;
}

static void work_on(struct copy *copy, double speed, double ns, double at)
{
	if (copy == NULL)
		return;
	copy->left_ns -= speed * ns;
	if (copy->left_ns > 0.01)
		return;
	copy->done = true;
	copy->due_ns = (uint64_t)(at + ns);
}

static void predict(struct run *r, size_t count)
{
	double at = 0;
	for (size_t i = 0; i < count; i++) {
		struct copy *copy = &r->copies[i];
		copy->left_ns = (double)(uint64_t)((double)copy->bytes / (double)G * (copy->up ? UP_NS : DOWN_NS));
	}
	while (at < 1e18) {
		struct copy *up = first_ready(r, count, true, at);
		struct copy *down = first_ready(r, count, false, at);
		double up_speed = down != NULL ? UP_BOTH : 1;
		double down_speed = up != NULL ? DOWN_BOTH : 1;
		double until = next_ready(r, count, at);
		if (up != NULL && at + up->left_ns / up_speed < until)
			until = at + up->left_ns / up_speed;
		if (down != NULL && at + down->left_ns / down_speed < until)
			until = at + down->left_ns / down_speed;
		work_on(up, up_speed, until - at, at);
		work_on(down, down_speed, until - at, at);
		at = until;
	}
}

/* Copies of both directions on several streams, behind kernels and each other's events. Rounding adds up to a
 * nanosecond at each change. */
static uint64_t worst_error(uint64_t seed)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_BOOK};
	struct run r;
	uint64_t worst = 0;
	begin(&r, seed, &config);
	struct seam_driver *d = r.d;
	for (size_t i = 0; i < COPIES; i++) {
		int stream = (int)pick(&r, STREAMS);
		if (pick(&r, 3) == 0)
			MUST(launch(d, r.streams[stream], r.va + (uint64_t)stream * G, 512, true, pick(&r, 100000)));
		if (i != 0 && pick(&r, 4) == 0)
			MUST(seam__drv_stream_wait_event(d, r.streams[stream], r.copies[pick(&r, i)].behind));
		if (pick(&r, 8) == 0)
			seam__emu_advance(d, pick(&r, 200000));
		add_copy(&r, &r.copies[i], stream, pick(&r, 2) == 0, 1 + pick(&r, G));
	}
	MUST(seam__drv_device_sync(d));
	for (size_t i = 0; i < COPIES; i++)
		ask_times(&r, &r.copies[i]);
	predict(&r, COPIES);
	for (size_t i = 0; i < COPIES; i++) {
		uint64_t end = r.copies[i].end_ns;
		uint64_t due = r.copies[i].due_ns > r.copies[i].record_ns ? r.copies[i].due_ns : r.copies[i].record_ns;
		uint64_t error = end > due ? end - due : due - end;
		worst = error > worst ? error : worst;
	}
	close_emu(d);
	return worst;
}

static void check_model(void)
{
	uint64_t worst = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t error = worst_error(seed);
		worst = error > worst ? error : worst;
	}
	ok(worst <= COPIES, "%d copies end when the oracle says, each of %d times: at most %llu ns off", COPIES, SEEDS,
		(unsigned long long)worst);
}

/* Times without rounding. */
static void check_order(void)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_BOOK, .devices = 2};
	struct seam_driver *other = NULL;
	struct run r;
	uint64_t direct = 0;
	uint64_t start;
	begin(&r, 1, &config);
	struct seam_driver *d = r.d;
	struct copy *c = r.copies;
	MUST((int)seam__emu_open(d, 1, &other));
	MUST(seam__drv_direct_alloc(other, G, &direct));

	MUST(launch(d, r.streams[1], r.va + G, 512, true, 1000000));
	add_copy(&r, &c[0], 1, true, G); /* submitted first, ready last */
	add_copy(&r, &c[1], 2, true, G);
	add_copy(&r, &c[2], 3, true, G / 2);
	MUST(seam__drv_device_sync(d));
	for (int i = 0; i < 3; i++)
		ask_times(&r, &c[i]);
	ok(c[1].end_ns == c[1].submit_ns + 37775, "a copy alone takes what the table says");
	ok(c[2].end_ns == c[1].end_ns + 37775 / 2, "the next one of its direction comes behind it");
	ok(c[0].end_ns == c[0].ready_ns + 37775 && c[0].ready_ns > c[2].end_ns, "readiness counts, not submission");

	start = now(d);
	MUST(seam__drv_copy_to_device(d, r.va, r.host, G, r.streams[0]));
	MUST(seam__drv_copy_to_device(other, direct, r.host + G, G, SEAM_STREAM_DEFAULT));
	MUST(seam__drv_copy_on_device(d, r.va + G, r.va + 2 * G, G, r.streams[1]));
	MUST(seam__drv_device_sync(d));
	MUST(seam__drv_device_sync(other));
	ok(now(d) - start < 37775 + 12000, "other devices, and copies on a device, have nothing to do with it: %llu ns",
		(unsigned long long)(now(d) - start));

	MUST(seam__drv_copy_to_device(d, r.va, r.host, G, r.streams[0]));
	MUST(seam__drv_stream_destroy(d, r.streams[0]));
	add_copy(&r, &c[0], 1, true, G);
	MUST(seam__drv_device_sync(d));
	ask_times(&r, &c[0]);
	ok(c[0].end_ns > c[0].submit_ns + 37775, "the copy of a destroyed stream is done too");

	add_copy(&r, &c[0], 1, true, G);
	add_copy(&r, &c[1], 2, false, G);
	add_copy(&r, &c[2], 2, true, G); /* ready at an engine when the device goes */
	close_emu(other);
	close_emu(d);
}

/* Drawn times: the same with the same seed; some copies are done at once, others only when somebody waits; two of a
 * direction end in either order. */
static void check_drawn(void)
{
	int at_once = 0;
	int late = 0;
	int overtaken = 0;
	bool repeats = true;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		const struct seam_emu_config config = {
			.memory = SEAM_EMU_REAL, .drawn_copies = seed, .capacity_bytes = 64 * MIB};
		uint64_t ends[2] = {0, 0};
		for (int again = 0; again < 2; again++) {
			struct run r;
			begin(&r, seed, &config);
			struct seam_driver *d = r.d;
			memset(r.host, 7, 2 * G);
			add_copy(&r, &r.copies[0], 1, true, G);
			add_copy(&r, &r.copies[1], 2, true, G);
			int ready = seam__drv_event_query(d, r.copies[0].behind);
			at_once += ready == 0;
			late += ready == SEAM_CU_NOT_READY;
			overtaken += ready != 0 && seam__drv_event_query(d, r.copies[1].behind) == 0;
			MUST(seam__drv_stream_sync(d, r.streams[1]));
			MUST(seam__drv_stream_sync(d, r.streams[2]));
			ask_times(&r, &r.copies[0]);
			repeats &= again == 0 || ends[0] == r.copies[0].end_ns;
			ends[0] = r.copies[0].end_ns;
			if (again == 1 && seed % 8 == 0)
				ok(((const char *)(uintptr_t)(r.va + G))[G - 1] == 7, "bytes are there behind a wait");
			close_emu(d);
		}
	}
	ok(repeats, "the same seed draws the same times");
	ok(at_once > 20 && late > 20 && overtaken > 10, "drawn copies are early, late, and overtaken: %d, %d, %d",
		at_once, late, overtaken);
}

void part_engine(void)
{
	check_order();
	check_model();
	check_drawn();
}
