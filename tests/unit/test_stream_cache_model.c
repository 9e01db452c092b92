/* test_stream_cache_model.c: the caching engine against an oracle that remembers every use of every byte.
 *
 * I2  no two live blocks share a byte.
 * I3  memory goes to another stream only when all work that its earlier owners knew of is done.
 * I5  no segment is obtained while a run of free neighbours that are known to have passed would do.
 * I7  a failed call leaves the accounts as they were. I11: at the end nothing is left.
 * While a request has dropped its lock, other operations come between.
 */
#include <criterion/criterion.h>

#include "stream_cache.h"
#include "fake_driver.h"
#include "meta.h"

#define KI UINT64_C(1024)
#define STREAMS 5u
#define LIVE 200u
#define PAST 4096u

struct live {
	uint64_t va, bytes, requested;
	unsigned stream;
	bool used[STREAMS]; /* recorded */
};

/* Work that may still touch a range which is not live any more. */
struct past {
	uint64_t va, bytes;
	struct fake_stream *work;
	uint64_t position;
	bool recorded; /* by record_stream: even the same stream must have passed */
};

struct model {
	struct fake_driver fake;
	struct seam_meta *meta;
	struct seam_streams streams;
	struct seam_cache cache;
	struct live live[LIVE];
	struct past past[PAST];
	unsigned live_count, past_count;
	uint64_t handles[STREAMS];
	uint64_t state, requested, operation;
	unsigned depth;
	bool faults;
	uint64_t grown_at_begin, served, ooms;
};

static struct model model;

static uint64_t draw(uint64_t below)
{
	model.state = model.state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (model.state >> 33) % below;
}

static enum seam_rc segment_alloc(void *user, uint64_t bytes, uint64_t *ret_va)
{
	return seam__driver_rc(seam__drv_direct_alloc(user, bytes, ret_va));
}

static bool overlap(uint64_t a_va, uint64_t a_bytes, uint64_t b_va, uint64_t b_bytes)
{
	return a_va < b_va + b_bytes && b_va < a_va + a_bytes;
}

/* I4: a segment goes back when nothing can touch it. */
static enum seam_rc segment_free(void *user, uint64_t va, uint64_t bytes)
{
	for (unsigned i = 0; i < model.live_count; i++)
		cr_assert_not(
			overlap(va, bytes, model.live[i].va, model.live[i].bytes), "a live block's segment went back");
	for (unsigned i = 0; i < model.past_count; i++)
		cr_assert(model.past[i].work->done >= model.past[i].position ||
				!overlap(va, bytes, model.past[i].va, model.past[i].bytes),
			"operation %lu: a segment with pending work went back", (unsigned long)model.operation);
	return seam__driver_rc(seam__drv_direct_free(user, va));
}

static struct fake_stream *work_of(unsigned stream)
{
	return fake_resolve(&model.fake, model.handles[stream]);
}

static struct seam_stream *find(unsigned stream)
{
	struct seam_stream *found = NULL;
	enum seam_rc rc = seam__streams_find(&model.streams, model.handles[stream], true, &found);
	return rc == SEAM_OK ? found : NULL;
}

static bool blocks(const struct past *past, const struct fake_stream *work)
{
	return past->work->done < past->position && (past->recorded || past->work != work);
}

/* Whether the free bytes [va, va + bytes) may be used on the stream, as far as the oracle knows. */
static bool is_usable(uint64_t va, uint64_t bytes, const struct fake_stream *work)
{
	for (unsigned i = 0; i < model.past_count; i++)
		if (overlap(va, bytes, model.past[i].va, model.past[i].bytes) && blocks(&model.past[i], work))
			return false;
	return true;
}

struct run {
	uint64_t handle, segment_va, bytes, longest;
	bool small, all_idle;
};

static bool is_idle(uint64_t handle)
{
	const struct fake_stream *work = fake_resolve(&model.fake, handle);
	return work == NULL || work->done == work->submitted;
}

/* A late event covers later work too: memory of another stream is owed only when that stream is idle. */
static bool is_owed(const struct run *run, const struct seam_cache_view *view)
{
	if (view->small != run->small)
		return false;
	if (view->state == SEAM_CACHE_FREE)
		return !view->has_stream || view->stream == run->handle || is_idle(view->stream);
	/* Another stream's pending block may join neighbours that have not passed; then it is as they are. */
	return view->state == SEAM_CACHE_PENDING && view->stream == run->handle && run->all_idle;
}

static bool measure(void *user, const struct seam_cache_view *view)
{
	struct run *run = user;
	bool owed = is_owed(run, view);
	if (view->segment_va != run->segment_va || !owed)
		run->bytes = 0;
	run->segment_va = view->segment_va;
	run->bytes += owed ? view->bytes : 0;
	run->longest = run->bytes > run->longest ? run->bytes : run->longest;
	return true;
}

static uint64_t longest_usable(unsigned stream, bool small)
{
	const struct seam_stream *entry;
	TAILQ_FOREACH(entry, &model.streams.list, by_index)
	if (entry->destroyed || entry->lost)
		return 0; /* a walk cannot tell it from the new owner of its handle */
	struct run run = {.handle = model.handles[stream], .small = small, .all_idle = true};
	for (uint64_t i = 0; i < model.fake.all_count; i++)
		run.all_idle = run.all_idle && model.fake.all[i]->done == model.fake.all[i]->submitted;
	seam__cache_walk(&model.cache, measure, &run);
	return run.longest;
}

static void forget_done(void)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < model.past_count; i++)
		if (model.past[i].work->done < model.past[i].position)
			model.past[kept++] = model.past[i];
	model.past_count = kept;
}

static void remember(const struct live *live, unsigned stream, bool recorded)
{
	forget_done();
	cr_assert_lt(model.past_count, PAST);
	const struct past past = {live->va, live->bytes, work_of(stream), work_of(stream)->submitted, recorded};
	if (past.work->done < past.position)
		model.past[model.past_count++] = past;
}

static void op_free(void)
{
	if (model.live_count == 0)
		return;
	unsigned which = (unsigned)draw(model.live_count);
	const struct live live = model.live[which];
	model.live[which] = model.live[--model.live_count];
	remember(&live, live.stream, false);
	for (unsigned i = 0; i < STREAMS; i++)
		if (live.used[i])
			remember(&live, i, true);
	model.requested -= live.requested;
	cr_assert_eq(seam__cache_free(&model.cache, live.va), SEAM_OK);
}

static void accept(uint64_t va, uint64_t requested, unsigned stream)
{
	uint64_t bytes = (requested + 511) / 512 * 512;
	const struct seam_cache_block *block = seam__cache_find(&model.cache, va);
	cr_assert(block != NULL && block->extent.bytes >= bytes && block->requested_bytes == requested);
	for (unsigned i = 0; i < model.live_count; i++)
		cr_assert_not(overlap(va, block->extent.bytes, model.live[i].va, model.live[i].bytes),
			"operation %lu: shared bytes", (unsigned long)model.operation);
	cr_assert(is_usable(va, block->extent.bytes, work_of(stream)),
		"operation %lu: memory with pending work elsewhere", (unsigned long)model.operation);
	model.live[model.live_count++] =
		(struct live){.va = va, .bytes = block->extent.bytes, .requested = requested, .stream = stream};
	model.requested += requested;
	model.served++;
}

static void step(void);

static enum seam_rc complete(struct seam_cache_request *request, enum seam_rc rc)
{
	while (rc == SEAM_BUSY) {
		const char *broken = seam__cache_check(&model.cache);
		cr_assert_null(broken, "in transit, operation %lu: %s", (unsigned long)model.operation, broken);
		seam__cache_run(request);
		if (model.depth == 0) {
			model.depth++;
			for (uint64_t i = draw(4); i > 0; i--)
				step();
			model.depth--;
		}
		rc = seam__cache_resume(request);
	}
	return rc;
}

static void op_alloc(void)
{
	if (model.live_count == LIVE)
		return;
	unsigned stream = (unsigned)draw(STREAMS);
	uint64_t requested = 1 + (draw(3) == 0 ? draw(600 * KI) : draw(8 * KI));
	bool small = (requested + 511) / 512 * 512 <= model.cache.config.small_max_bytes;
	bool no_wait = draw(4) == 0;
	struct seam_stream *on = find(stream);
	if (on == NULL)
		return;
	uint64_t usable = longest_usable(stream, small), memory_bytes = model.fake.memory_bytes;
	uint64_t grows = model.cache.stats.grows + model.cache.growing_bytes;
	struct seam_cache_request request;
	enum seam_rc rc = seam__cache_alloc(&model.cache, requested, on, 0, no_wait, &request);
	if (!model.faults && usable >= (requested + 511) / 512 * 512)
		cr_assert(rc == SEAM_OK && model.cache.stats.grows + model.cache.growing_bytes == grows &&
				model.fake.memory_bytes == memory_bytes,
			"operation %lu: %lu bytes asked, %lu usable: %s", (unsigned long)model.operation,
			(unsigned long)requested, (unsigned long)usable, seam_rc_name(rc));
	rc = complete(&request, rc);
	if (rc == SEAM_OK && model.live_count < LIVE) {
		accept(request.va, requested, stream);
	} else if (rc == SEAM_OK) {
		cr_assert_eq(seam__cache_free(&model.cache, request.va), SEAM_OK);
	} else {
		model.ooms++;
		cr_assert(model.faults || rc == SEAM_OOM_DEVICE, "%s", seam_rc_name(rc));
	}
}

static void op_record(void)
{
	if (model.live_count == 0)
		return;
	struct live *live = &model.live[draw(model.live_count)];
	unsigned stream = (unsigned)draw(STREAMS);
	struct seam_stream *on = find(stream);
	if (on != NULL && seam__cache_record_stream(&model.cache, live->va, on) == SEAM_OK && stream != live->stream)
		live->used[stream] = true;
}

static void op_trim(void)
{
	struct seam_cache_request request;
	uint64_t target = draw(4) == 0 ? 0 : draw(model.cache.range.segment_bytes + 1);
	bool no_wait = draw(2) == 0;
	enum seam_rc rc = complete(&request, seam__cache_trim(&model.cache, target, no_wait, &request));
	cr_assert(model.faults || rc == SEAM_OK, "%s", seam_rc_name(rc));
}

static bool has_live(unsigned stream)
{
	for (unsigned i = 0; i < model.live_count; i++)
		if (model.live[i].stream == stream || model.live[i].used[stream])
			return true;
	return false;
}

/* With notice, and no live block that names it: what is freed on dead streams is test_cache's. */
static void op_replace_stream(void)
{
	unsigned stream = (unsigned)draw(STREAMS);
	if (model.depth != 0 || has_live(stream))
		return;
	enum seam_rc rc = seam__stream_destroyed(&model.streams, model.handles[stream]);
	cr_assert(model.faults || rc == SEAM_OK || rc == SEAM_NOT_FOUND, "%s", seam_rc_name(rc));
	fake_stream_destroy(&model.fake, model.handles[stream]);
	model.handles[stream] = fake_stream_create(&model.fake);
}

static void step(void)
{
	uint64_t dice = draw(1000);
	/* Phases of growth and of decline. */
	uint64_t allocs = model.operation / 2000 % 2 == 0 ? 380 : 260;
	if (dice < allocs)
		op_alloc();
	else if (dice < 640)
		op_free();
	else if (dice < 800)
		(void)fake_work(&model.fake, model.handles[draw(STREAMS)]);
	else if (dice < 930)
		fake_run(&model.fake, work_of((unsigned)draw(STREAMS)), 1 + draw(6));
	else if (dice < 975)
		op_record();
	else if (dice < 980)
		op_trim();
	else if (dice < 983)
		op_replace_stream();
	else if (dice < 990)
		fake_run_all(&model.fake);
}

static void verify(void)
{
	const struct seam_cache_stats *stats = &model.cache.stats;
	cr_assert_eq(stats->live_blocks, model.live_count, "operation %lu", (unsigned long)model.operation);
	cr_assert_eq(stats->requested_bytes, model.requested, "operation %lu", (unsigned long)model.operation);
	cr_assert_eq(model.fake.memory_bytes, model.cache.range.segment_bytes, "operation %lu",
		(unsigned long)model.operation);
	if (model.operation % 8 != 0)
		return;
	const char *broken = seam__cache_check(&model.cache);
	cr_assert_null(broken, "operation %lu: %s", (unsigned long)model.operation, broken);
	broken = seam__streams_check(&model.streams);
	cr_assert_null(broken, "operation %lu: %s", (unsigned long)model.operation, broken);
}

static void wind_up(void)
{
	seam__driver_fail_at(&model.fake.base, 0, 0, 0);
	seam__meta_fail_at(model.meta, 0);
	while (model.live_count > 0)
		op_free();
	fake_run_all(&model.fake);
	model.depth = 1;
	struct seam_cache_request request;
	enum seam_rc rc = complete(&request, seam__cache_trim(&model.cache, 0, false, &request));
	cr_expect_eq(rc, SEAM_OK, "%s", seam_rc_name(rc));
	cr_expect_eq(model.fake.memory_bytes, 0, "a trim leaves %lu bytes", (unsigned long)model.fake.memory_bytes);
	cr_expect_eq(seam__cache_fini(&model.cache), 0);
	cr_expect_eq(seam__streams_fini(&model.streams), 0);
	cr_expect_eq(model.fake.events_live, 0);
	cr_expect_eq(seam__meta_destroy(model.meta), 0);
	fake_fini(&model.fake);
}

static void run(uint64_t seed, uint64_t operations, bool deterministic, bool faults, uint64_t limit_bytes)
{
	model = (struct model){.state = seed, .faults = faults};
	fake_init(&model.fake);
	model.fake.capacity_bytes = limit_bytes == 0 ? 12 * KI * KI : 0;
	model.meta = seam__meta_create(0);
	seam__streams_init(&model.streams, &model.fake.base, model.meta, deterministic);
	const struct seam_cache_source source = {&model.fake, segment_alloc, segment_free};
	const struct seam_cache_config config = {.granularity_bytes = 512,
		.small_max_bytes = 4 * KI,
		.small_segment_bytes = 32 * KI,
		.segment_bytes = 512 * KI,
		.exact_bytes = 256 * KI,
		.round_bytes = 4 * KI,
		.split_bytes = 512,
		.limit_bytes = limit_bytes,
		.oom = SEAM_OOM_DEVICE};
	cr_assert_eq(seam__cache_init(&model.cache, &source, &config, &model.streams, model.meta), SEAM_OK);
	for (unsigned i = 0; i < STREAMS; i++)
		model.handles[i] = fake_stream_create(&model.fake);
	for (model.operation = 0; model.operation < operations; model.operation++) {
		if (faults && model.operation % 5 == 0) {
			seam__driver_fail_at(&model.fake.base, 1 + draw(4), 15,
				draw(4) == 0 ? SEAM_CU_OUT_OF_MEMORY : SEAM_CU_UNKNOWN);
			seam__meta_fail_at(model.meta, draw(3));
		}
		step();
		verify();
	}
	cr_expect_gt(model.served, operations / 10, "%lu served", (unsigned long)model.served);
	cr_expect_gt(model.ooms, 10, "memory was never short");
	wind_up();
}

Test(cache_model, memory_is_short)
{
	run(11, 200000, false, false, 0);
}

Test(cache_model, under_a_limit_and_polls_that_wait)
{
	run(12, 100000, true, false, 8 * KI * KI);
}

Test(cache_model, with_failing_calls)
{
	run(13, 100000, false, true, 0);
}
