/* test_stream_cache.c: blocks of the caching engine: sizes, streams, neighbours. */
#include "stream_cache_fixture.h"

TestSuite(stream_cache, .init = set_up, .fini = tear_down);

Test(stream_cache, requests_are_rounded_to_the_granularity_and_segments_to_their_class)
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

Test(stream_cache, a_freed_block_serves_its_stream_at_once)
{
	uint64_t va = alloc(5 * MI, a);
	fake_work(&fake, a->handle);
	release(va);
	uint64_t before =
		seam__driver_calls(&fake.base, SEAM_DRV_EVENT) + seam__driver_calls(&fake.base, SEAM_DRV_QUERY);
	cr_expect_eq(alloc(5 * MI, a), va);
	cr_expect_eq(seam__driver_calls(&fake.base, SEAM_DRV_EVENT) + seam__driver_calls(&fake.base, SEAM_DRV_QUERY),
		before);
}

Test(stream_cache, another_stream_gets_it_only_when_it_has_passed)
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

Test(stream_cache, free_neighbours_are_joined)
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

Test(stream_cache, neighbours_of_a_stream_and_nobody_are_gathered)
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

Test(stream_cache, a_recorded_stream_holds_the_block)
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

Test(stream_cache, what_is_recorded_covers_work_up_to_the_free)
{
	uint64_t va = alloc(10 * MI, a);
	expect_rc(seam__cache_record_stream(&cache, va, b), SEAM_OK);
	(void)seam__stream_stamp(b);
	expect_rc(seam__stream_cover(b), SEAM_OK);
	fake_work(&fake, b->handle);
	release(va);
	cr_expect_neq(alloc(10 * MI, a), va);
}

Test(stream_cache, an_unknown_address_is_not_freed)
{
	uint64_t va = alloc(1024, a);
	expect_rc(seam__cache_free(&cache, va + 512), SEAM_NOT_FOUND);
	expect_rc(seam__cache_free(&cache, 0), SEAM_NOT_FOUND);
	expect_rc(seam__cache_record_stream(&cache, va + 1, b), SEAM_NOT_FOUND);
	release(va);
	expect_rc(seam__cache_free(&cache, va), SEAM_NOT_FOUND);
}

Test(stream_cache, around_finds_live_blocks_by_any_address)
{
	uint64_t va = alloc(1024, a);
	cr_assert_not_null(seam__cache_around(&cache, va + 1023));
	cr_expect_eq(seam__cache_around(&cache, va + 1023)->extent.va, va);
	cr_expect_null(seam__cache_around(&cache, va + 1024));
}

Test(stream_cache, zero_bytes_and_absurd_sizes_are_refused)
{
	uint64_t va = 7;
	fake.capacity_bytes = 100 * MI;
	expect_rc(try_alloc(0, a, &va), SEAM_INVALID);
	expect_rc(try_alloc(UINT64_MAX, a, &va), SEAM_OOM_DEVICE);
	expect_rc(try_alloc(UINT64_MAX / 8, a, &va), SEAM_OOM_DEVICE);
	cr_expect_eq(va, 7);
}

Test(stream_cache, a_bad_configuration_is_refused)
{
	struct seam_cache_config bad = usual;
	struct seam_cache unused;
	bad.granularity_bytes = 500;
	expect_rc(seam__cache_init(&unused, &source, &bad, &streams, meta), SEAM_INVALID);
	bad = usual;
	bad.small_segment_bytes = 512;
	expect_rc(seam__cache_init(&unused, &source, &bad, &streams, meta), SEAM_INVALID);
}

Test(stream_cache, a_dead_streams_memory_is_not_lost)
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
