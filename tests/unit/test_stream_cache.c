/* test_stream_cache.c: the caching engine's rules one by one, on a driver whose work passes when told. */
#include <criterion/criterion.h>

#include "stream_cache.h"
#include "fake_driver.h"
#include "meta.h"

#define KI UINT64_C(1024)
#define MI (KI * 1024)

static struct fake_driver fake;
static struct seam_meta *meta;
static struct seam_streams streams;
static struct seam_cache cache;
static struct seam_stream *a, *b;

static enum seam_rc segment_alloc(void *user, uint64_t bytes, uint64_t *ret_va)
{
	return seam__driver_rc(seam__drv_direct_alloc(user, bytes, ret_va));
}

static enum seam_rc segment_free(void *user, uint64_t va, uint64_t bytes)
{
	(void)bytes;
	return seam__driver_rc(seam__drv_direct_free(user, va));
}

static const struct seam_cache_source source = {.user = &fake, .segment_alloc = segment_alloc, .segment_free = segment_free};

static const struct seam_cache_config usual = {
	.granularity_bytes = 512,
	.small_max_bytes = 1 * MI,
	.small_segment_bytes = 2 * MI,
	.segment_bytes = 20 * MI,
	.exact_bytes = 10 * MI,
	.round_bytes = 2 * MI,
	.split_bytes = 512,
	.oom = SEAM_OOM_DEVICE,
};

static struct seam_stream *new_stream(void)
{
	struct seam_stream *stream = NULL;
	cr_assert_eq(seam__streams_find(&streams, fake_stream_create(&fake), false, &stream), SEAM_OK);
	seam__stream_ref(stream);
	return stream;
}

static void set_up_with(const struct seam_cache_config *config)
{
	fake_init(&fake);
	meta = seam__meta_create(0);
	seam__streams_init(&streams, &fake.base, meta, false);
	cr_assert_eq(seam__cache_init(&cache, &source, config, &streams, meta), SEAM_OK);
	a = new_stream();
	b = new_stream();
}

static void set_up(void)
{
	set_up_with(&usual);
}

static void tear_down(void)
{
	cr_expect_null(seam__cache_check(&cache), "broken: %s", seam__cache_check(&cache));
	cr_expect_null(seam__streams_check(&streams), "broken: %s", seam__streams_check(&streams));
	(void)seam__cache_fini(&cache);
	seam__stream_unref(a);
	seam__stream_unref(b);
	cr_expect_eq(seam__streams_fini(&streams), 0, "stream references left");
	cr_expect_eq(fake.memory_bytes, 0, "memory left");
	cr_expect_eq(seam__meta_destroy(meta), 0, "metadata left");
	fake_fini(&fake);
}

TestSuite(cache, .init = set_up, .fini = tear_down);

#define expect_rc(expression, expected) \
	do { \
		enum seam_rc got_rc = (expression); \
		cr_expect_eq(got_rc, expected, "%s: %s, not %s", #expression, seam_rc_name(got_rc), seam_rc_name(expected)); \
	} while (0)

static enum seam_rc try_alloc_with(uint64_t bytes, struct seam_stream *stream, bool no_wait, uint64_t *ret_va)
{
	struct seam_cache_request request;
	enum seam_rc rc = seam__cache_alloc(&cache, bytes, stream, 0, no_wait, &request);
	while (rc == SEAM_BUSY) {
		seam__cache_run(&request);
		rc = seam__cache_resume(&request);
	}
	if (rc == SEAM_OK)
		*ret_va = request.va;
	return rc;
}

static enum seam_rc try_alloc(uint64_t bytes, struct seam_stream *stream, uint64_t *ret_va)
{
	return try_alloc_with(bytes, stream, false, ret_va);
}

static uint64_t alloc(uint64_t bytes, struct seam_stream *stream)
{
	uint64_t va = 0;
	enum seam_rc rc = try_alloc(bytes, stream, &va);
	cr_assert_eq(rc, SEAM_OK, "alloc of %lu: %s", (unsigned long)bytes, seam_rc_name(rc));
	return va;
}

static void release(uint64_t va)
{
	cr_assert_eq(seam__cache_free(&cache, va), SEAM_OK);
}

static uint64_t trim(uint64_t target, bool no_wait)
{
	struct seam_cache_request request;
	enum seam_rc rc = seam__cache_trim(&cache, target, no_wait, &request);
	while (rc == SEAM_BUSY) {
		seam__cache_run(&request);
		rc = seam__cache_resume(&request);
	}
	cr_assert_eq(rc, SEAM_OK, "trim: %s", seam_rc_name(rc));
	return request.released_bytes;
}

static struct seam_cache_stats stats(void)
{
	struct seam_cache_stats result;
	seam__cache_get_stats(&cache, &result);
	return result;
}

Test(cache, requests_are_rounded_to_the_granularity_and_segments_to_their_class)
{
	static const struct {
		const char *name;
		uint64_t bytes, rounded, grown;
	} rows[] = {
		{"one byte", 1, 512, 2 * MI},
		{"a whole granule", 512, 512, 2 * MI},
		{"one more", 513, 1024, 2 * MI},
		{"the last small", 1 * MI, 1 * MI, 2 * MI},
		{"the first large", 1 * MI + 1, 1 * MI + 512, 20 * MI},
		{"the last in a shared segment", 10 * MI - 512, 10 * MI - 512, 20 * MI},
		{"the first of its own", 10 * MI, 10 * MI, 10 * MI},
		{"rounded to 2 MiB", 11 * MI + 1, 11 * MI + 512, 12 * MI},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint64_t va = alloc(rows[i].bytes, a);
		const struct seam_cache_block *block = seam__cache_find(&cache, va);
		cr_assert_not_null(block, "row: %s", rows[i].name);
		cr_expect_eq(block->extent.bytes, rows[i].rounded, "row: %s", rows[i].name);
		cr_expect_eq(stats().reserved_bytes, rows[i].grown, "row: %s", rows[i].name);
		release(va);
		fake_run_all(&fake);
		(void)trim(0, false);
		cr_expect_eq(stats().reserved_bytes, 0, "row: %s", rows[i].name);
	}
}

Test(cache, a_freed_block_serves_its_stream_at_once)
{
	uint64_t va = alloc(5 * MI, a);
	fake_work(&fake, a->handle);
	release(va);
	uint64_t before = seam__driver_calls(&fake.base, SEAM_DRV_EVENT) + seam__driver_calls(&fake.base, SEAM_DRV_QUERY);
	cr_expect_eq(alloc(5 * MI, a), va);
	cr_expect_eq(seam__driver_calls(&fake.base, SEAM_DRV_EVENT) + seam__driver_calls(&fake.base, SEAM_DRV_QUERY), before);
}

Test(cache, another_stream_gets_it_only_when_it_has_passed)
{
	uint64_t va = alloc(10 * MI, a);
	fake_work(&fake, a->handle);
	release(va);
	uint64_t other = alloc(10 * MI, b);
	cr_expect_neq(other, va, "pending memory was handed to another stream");
	fake_run_all(&fake);
	cr_expect_eq(alloc(10 * MI, b), va, "passed memory was not found before growth");
	cr_expect_eq(stats().grows, 2);
	cr_expect_eq(stats().cross_streams, 1);
}

Test(cache, free_neighbours_are_joined)
{
	uint64_t blocks[8];
	for (int i = 0; i < 8; i++)
		blocks[i] = alloc(2 * MI, a);
	static const int order[] = {3, 0, 5, 1, 7, 2, 6, 4};
	for (int i = 0; i < 8; i++)
		release(blocks[order[i]]);
	cr_expect_eq(alloc(20 * MI - 512, a), blocks[0]);
	cr_expect_eq(stats().grows, 1);
}

Test(cache, neighbours_of_a_stream_and_nobody_are_gathered)
{
	uint64_t first = alloc(5 * MI, a), second = alloc(5 * MI, a), third = alloc(5 * MI, a);
	uint64_t hold = alloc(5 * MI, a);
	release(first);
	release(third);
	/* b's miss makes both nobody's. */
	uint64_t of_b = alloc(10 * MI, b);
	cr_expect_null(seam__cache_check(&cache));
	release(second);
	cr_expect_eq(alloc(15 * MI, a), first);
	cr_expect_eq(stats().gathers, 1);
	release(hold);
	release(of_b);
}

Test(cache, a_recorded_stream_holds_the_block)
{
	uint64_t va = alloc(10 * MI, a);
	fake_work(&fake, b->handle);
	expect_rc(seam__cache_record_stream(&cache, va, b), SEAM_OK);
	expect_rc(seam__cache_record_stream(&cache, va, b), SEAM_OK);
	expect_rc(seam__cache_record_stream(&cache, va, a), SEAM_OK);
	release(va);
	cr_expect_eq(stats().pending_bytes, 10 * MI);
	cr_expect_null(seam__cache_check(&cache), "broken: %s", seam__cache_check(&cache));
	uint64_t other = alloc(10 * MI, a);
	cr_expect_neq(other, va, "held memory was handed out");
	fake_run_all(&fake);
	cr_expect_eq(alloc(10 * MI, a), va);
	cr_expect_eq(stats().pending_bytes, 0);
}

Test(cache, what_is_recorded_covers_work_up_to_the_free)
{
	uint64_t va = alloc(10 * MI, a);
	expect_rc(seam__cache_record_stream(&cache, va, b), SEAM_OK);
	(void)seam__stream_stamp(b);
	expect_rc(seam__stream_cover(b), SEAM_OK);
	fake_work(&fake, b->handle);
	release(va);
	cr_expect_neq(alloc(10 * MI, a), va);
}

Test(cache, an_unknown_address_is_not_freed)
{
	uint64_t va = alloc(1024, a);
	expect_rc(seam__cache_free(&cache, va + 512), SEAM_NOT_FOUND);
	expect_rc(seam__cache_free(&cache, 0), SEAM_NOT_FOUND);
	expect_rc(seam__cache_record_stream(&cache, va + 1, b), SEAM_NOT_FOUND);
	release(va);
	expect_rc(seam__cache_free(&cache, va), SEAM_NOT_FOUND);
}

Test(cache, around_finds_live_blocks_by_any_address)
{
	uint64_t va = alloc(1024, a);
	cr_assert_not_null(seam__cache_around(&cache, va + 1023));
	cr_expect_eq(seam__cache_around(&cache, va + 1023)->extent.va, va);
	cr_expect_null(seam__cache_around(&cache, va + 1024));
}

Test(cache, zero_bytes_and_absurd_sizes_are_refused)
{
	uint64_t va = 7;
	fake.capacity_bytes = 100 * MI;
	expect_rc(try_alloc(0, a, &va), SEAM_INVALID);
	expect_rc(try_alloc(UINT64_MAX, a, &va), SEAM_OOM_DEVICE);
	expect_rc(try_alloc(UINT64_MAX / 8, a, &va), SEAM_OOM_DEVICE);
	cr_expect_eq(va, 7);
}

Test(cache, a_bad_configuration_is_refused)
{
	struct seam_cache_config bad = usual;
	struct seam_cache unused;
	bad.granularity_bytes = 500;
	expect_rc(seam__cache_init(&unused, &source, &bad, &streams, meta), SEAM_INVALID);
	bad = usual;
	bad.small_segment_bytes = 512;
	expect_rc(seam__cache_init(&unused, &source, &bad, &streams, meta), SEAM_INVALID);
}

Test(cache, a_full_device_takes_smaller_segments)
{
	fake.capacity_bytes = 5 * MI;
	(void)alloc(3 * MI, a);
	cr_expect_eq(stats().reserved_bytes, 4 * MI);
}

Test(cache, a_full_device_gets_unused_segments_back)
{
	fake.capacity_bytes = 30 * MI;
	uint64_t first = alloc(12 * MI, a), second = alloc(12 * MI, a);
	release(first);
	release(second);
	(void)alloc(14 * MI, a);
	cr_expect_eq(stats().shrinks, 2, "14 MiB more need both");
	cr_expect_eq(stats().retries, 1);
	cr_expect_eq(fake.memory_bytes, stats().reserved_bytes);
}

Test(cache, a_full_device_is_waited_for)
{
	fake.capacity_bytes = 20 * MI;
	uint64_t va = alloc(20 * MI, a), none = 0;
	fake_work(&fake, a->handle);
	release(va);
	expect_rc(try_alloc_with(20 * MI, b, true, &none), SEAM_OOM_DEVICE);
	cr_expect_eq(fake.syncs, 0, "no_wait waited");
	cr_expect_eq(alloc(20 * MI, b), va);
	cr_expect_eq(fake.syncs, 1);
	cr_expect_eq(stats().ooms, 1);
}

Test(cache, a_capture_forbids_the_wait_and_nothing_breaks)
{
	fake.capacity_bytes = 20 * MI;
	uint64_t va = alloc(20 * MI, a), none = 0;
	fake_work(&fake, a->handle);
	release(va);
	fake_resolve(&fake, a->handle)->capturing = true;
	expect_rc(try_alloc(20 * MI, b, &none), SEAM_OOM_DEVICE);
	cr_expect_eq(alloc(20 * MI, a), va, "the captured stream itself may reuse its memory");
	fake_resolve(&fake, a->handle)->capturing = false;
}

Test(cache, the_limit_holds)
{
	struct seam_cache_config limited = usual;
	limited.limit_bytes = 24 * MI;
	tear_down();
	set_up_with(&limited);
	uint64_t first = alloc(12 * MI, a), second = alloc(10 * MI, a), none = 0;
	expect_rc(try_alloc(4 * MI, a, &none), SEAM_OOM_DEVICE);
	uint64_t small = alloc(100, a);
	cr_expect_eq(stats().reserved_bytes, 24 * MI);
	release(first);
	release(second);
	(void)alloc(22 * MI, a);
	cr_expect_leq(stats().reserved_peak_bytes, 24 * MI);
	release(small);
}

Test(cache, with_reuse_wait_an_edge_goes_before_growth)
{
	struct seam_cache_config waiting = usual;
	waiting.reuse = SEAM_CACHE_REUSE_WAIT;
	tear_down();
	set_up_with(&waiting);
	uint64_t va = alloc(12 * MI, a);
	fake_work(&fake, a->handle);
	release(va);
	cr_expect_eq(alloc(10 * MI, b), va);
	cr_expect_eq(stats().grows, 1);
	uint64_t position = fake_work(&fake, b->handle);
	fake_run(&fake, fake_resolve(&fake, b->handle), 1);
	cr_expect_lt(fake_resolve(&fake, b->handle)->done, position, "b's work does not wait for a's");
	cr_expect_eq(alloc(1 * MI + 512, b), va + 10 * MI, "the rest is a's, behind an edge too");
}

Test(cache, with_reuse_wait_a_captured_stream_is_left_alone)
{
	struct seam_cache_config waiting = usual;
	waiting.reuse = SEAM_CACHE_REUSE_WAIT;
	tear_down();
	set_up_with(&waiting);
	uint64_t va = alloc(12 * MI, a);
	fake_work(&fake, a->handle);
	release(va);
	fake_resolve(&fake, a->handle)->capturing = true;
	cr_expect_neq(alloc(12 * MI, b), va);
	fake_resolve(&fake, a->handle)->capturing = false;
}

Test(cache, with_reuse_own_growth_goes_before_passed_memory)
{
	struct seam_cache_config own = usual;
	own.reuse = SEAM_CACHE_REUSE_OWN;
	tear_down();
	set_up_with(&own);
	fake.capacity_bytes = 24 * MI;
	uint64_t va = alloc(12 * MI, a);
	release(va);
	cr_expect_neq(alloc(12 * MI, b), va);
	cr_expect_eq(alloc(12 * MI, b), va, "before it runs out it takes what has passed");
}

Test(cache, at_the_end_the_other_class_serves)
{
	fake.capacity_bytes = 12 * MI;
	uint64_t large = alloc(12 * MI, a), part = 0;
	release(large);
	part = alloc(10 * MI, a);
	cr_expect_eq(alloc(512, a), part + 10 * MI);
	cr_expect_eq(stats().reserved_bytes, 12 * MI);
}

Test(cache, trim_keeps_what_is_used_and_what_the_target_allows)
{
	uint64_t first = alloc(12 * MI, a), second = alloc(14 * MI, a), third = alloc(16 * MI, a);
	release(first);
	release(third);
	cr_expect_eq(trim(28 * MI, false), 28 * MI, "the lowest go first, until the target is met");
	cr_expect_eq(stats().reserved_bytes, 14 * MI);
	cr_expect_eq(trim(0, false), 0);
	cr_expect_not_null(seam__cache_find(&cache, second));
}

Test(cache, trim_waits_unless_told_not_to)
{
	uint64_t va = alloc(12 * MI, a);
	fake_work(&fake, a->handle);
	release(va);
	cr_expect_eq(trim(0, true), 0);
	cr_expect_eq(trim(0, false), 12 * MI);
}

Test(cache, a_segment_that_the_source_keeps_stays_cached)
{
	release(alloc(12 * MI, a));
	struct seam_cache_request request;
	fake_run_all(&fake);
	expect_rc(seam__cache_trim(&cache, 0, false, &request), SEAM_BUSY);
	cr_expect_null(seam__cache_check(&cache), "in transit: %s", seam__cache_check(&cache));
	seam__driver_fail_at(&fake.base, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	seam__cache_run(&request);
	expect_rc(seam__cache_resume(&request), SEAM_DRIVER);
	cr_expect_eq(stats().reserved_bytes, 12 * MI);
	cr_expect_eq(stats().free_bytes, 12 * MI);
	(void)alloc(12 * MI, b);
	cr_expect_eq(stats().grows, 1);
}

Test(cache, while_a_segment_leaves_nobody_gets_it)
{
	uint64_t va = alloc(12 * MI, a);
	release(va);
	struct seam_cache_request request;
	expect_rc(seam__cache_trim(&cache, 0, false, &request), SEAM_BUSY);
	cr_expect_neq(alloc(12 * MI, a), va);
	seam__cache_run(&request);
	expect_rc(seam__cache_resume(&request), SEAM_OK);
	cr_expect_eq(request.released_bytes, 12 * MI);
}

Test(cache, a_dead_streams_memory_is_not_lost)
{
	struct seam_stream *dying = new_stream();
	uint64_t handle = dying->handle;
	uint64_t va = alloc(10 * MI, dying), live = alloc(10 * MI, dying);
	release(va);
	expect_rc(seam__stream_destroyed(&streams, handle), SEAM_OK);
	fake_stream_destroy(&fake, handle);
	seam__stream_unref(dying);
	cr_expect_eq(alloc(10 * MI, a), va);
	release(live);
	cr_expect_eq(alloc(10 * MI, a), live);
	cr_expect_eq(streams.count, 2, "the entry outlives its last block");
}

static bool sum_view(void *user, const struct seam_cache_view *view)
{
	uint64_t *sums = user;
	sums[view->state] += view->bytes;
	return true;
}

Test(cache, a_walk_shows_every_byte_once)
{
	uint64_t one = alloc(3 * MI, a), two = alloc(700, b), held = alloc(5 * MI, a);
	expect_rc(seam__cache_record_stream(&cache, held, b), SEAM_OK);
	fake_work(&fake, b->handle);
	release(held);
	uint64_t sums[4] = {0};
	seam__cache_walk(&cache, sum_view, sums);
	cr_expect_eq(sums[SEAM_CACHE_LIVE], 3 * MI + 1024);
	cr_expect_eq(sums[SEAM_CACHE_PENDING], 5 * MI);
	cr_expect_eq(sums[SEAM_CACHE_FREE], 22 * MI - 8 * MI - 1024);
	release(one);
	release(two);
}

/* Fails the nth driver call, or the nth metadata allocation, of the same scene until it runs through. */
static enum seam_rc scene(void)
{
	uint64_t vas[3] = {0};
	enum seam_rc rc = try_alloc(12 * MI, a, &vas[0]);
	if (rc == SEAM_OK)
		rc = seam__cache_record_stream(&cache, vas[0], b);
	if (rc == SEAM_OK)
		rc = try_alloc(10 * MI, b, &vas[1]);
	if (vas[0] != 0) {
		fake_work(&fake, a->handle);
		release(vas[0]);
	}
	if (rc == SEAM_OK)
		rc = try_alloc(16 * MI, b, &vas[2]);
	for (int i = 1; i < 3; i++)
		if (vas[i] != 0)
			release(vas[i]);
	return rc;
}

static void run_faults(bool metadata)
{
	for (uint64_t n = 1;; n++) {
		if (n > 1)
			set_up();
		fake.capacity_bytes = 36 * MI;
		cr_assert_lt(n, 200);
		if (metadata)
			seam__meta_fail_at(meta, n);
		else
			seam__driver_fail_at(&fake.base, n, 15, SEAM_CU_UNKNOWN);
		enum seam_rc rc = scene();
		seam__meta_fail_at(meta, 0);
		seam__driver_fail_at(&fake.base, 0, 0, 0);
		cr_expect_null(seam__cache_check(&cache), "n = %lu: %s", (unsigned long)n, seam__cache_check(&cache));
		cr_expect_eq(stats().live_blocks, 0, "n = %lu", (unsigned long)n);
		cr_expect_eq(stats().reserved_bytes, fake.memory_bytes, "n = %lu", (unsigned long)n);
		fake_run_all(&fake);
		(void)trim(0, false);
		cr_expect_eq(fake.memory_bytes, 0, "n = %lu: memory cannot be returned", (unsigned long)n);
		if (rc == SEAM_OK) {
			cr_expect_gt(n, 5, "no fault was met");
			break;
		}
		cr_expect(rc == (metadata ? SEAM_OOM_META : SEAM_DRIVER), "n = %lu: %s", (unsigned long)n, seam_rc_name(rc));
		tear_down();
	}
}

Test(cache, every_driver_call_may_fail)
{
	run_faults(false);
}

Test(cache, every_metadata_allocation_may_fail)
{
	run_faults(true);
}
