/* test_ref_caching.c: the rules of PyTorch's caching allocator, one by one. */
#include <criterion/criterion.h>

#include "emu.h"
#include "ref_bed.h"

static struct ref_bed bed;

static void open_bed(void)
{
	bed = ref_bed_open(REF_CACHING, 4096 * MIB);
}

static void close_bed(void)
{
	ref_bed_close(&bed);
}

TestSuite(ref_caching, .init = open_bed, .fini = close_bed);

Test(ref_caching, sizes_are_rounded_up_to_512)
{
	static const uint64_t sizes[][2] = {
		{1, 512}, {511, 512}, {512, 512}, {513, 1024}, {3 * MIB + 1, 3 * MIB + 512}};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		/* A rest that is too small to be split off would count as live: each size gets a fresh cache. */
		uint64_t va = bed_alloc(&bed, sizes[i][0]);
		cr_assert_eq(bed_live(&bed), sizes[i][1], "size %llu", (unsigned long long)sizes[i][0]);
		bed_free(&bed, va);
		cr_assert_eq(ref_empty_cache(bed.allocator), SEAM_OK);
	}
}

Test(ref_caching, segments_have_the_sizes_of_their_class)
{
	static const struct {
		const char *name;
		uint64_t bytes;
		uint64_t segment_bytes;
	} rows[] = {
		{"small", 1, 2 * MIB},
		{"largest small", MIB, 2 * MIB},
		{"least large", MIB + 1, 20 * MIB},
		{"largest that shares", 10 * MIB - 512, 20 * MIB},
		{"least with a segment of its own", 10 * MIB, 10 * MIB},
		{"rounded up to 2 MiB", 10 * MIB + 1, 12 * MIB},
		{"large", 51 * MIB, 52 * MIB},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t va = bed_alloc(&bed, rows[i].bytes);
		cr_assert_eq(bed_reserved(&bed), rows[i].segment_bytes, "%s", rows[i].name);
		bed_free(&bed, va);
		cr_assert_eq(ref_empty_cache(bed.allocator), SEAM_OK);
		cr_assert_eq(bed_reserved(&bed), 0, "%s", rows[i].name);
	}
}

Test(ref_caching, the_least_block_that_fits_is_taken)
{
	/* Free: 4, 2 and 3 MiB with live blocks between them, and what is left of the segment (8 MiB). */
	uint64_t a = bed_alloc(&bed, 4 * MIB);
	bed_alloc(&bed, MIB + 512);
	uint64_t b = bed_alloc(&bed, 2 * MIB);
	bed_alloc(&bed, MIB + 512);
	uint64_t c = bed_alloc(&bed, 3 * MIB);
	bed_alloc(&bed, MIB + 512);
	bed_free(&bed, a);
	bed_free(&bed, b);
	bed_free(&bed, c);
	cr_assert_eq(bed_alloc(&bed, 2 * MIB + 512), c);
	cr_assert_eq(bed_alloc(&bed, 2 * MIB), b);
	cr_assert_eq(bed_reserved(&bed), 20 * MIB);
}

Test(ref_caching, of_equal_blocks_the_lowest_is_taken)
{
	uint64_t blocks[4];
	for (size_t i = 0; i < 4; i++)
		blocks[i] = bed_alloc(&bed, 2 * MIB);
	bed_free(&bed, blocks[2]);
	bed_free(&bed, blocks[0]);
	cr_assert_eq(bed_alloc(&bed, 2 * MIB), blocks[0]);
}

Test(ref_caching, small_blocks_are_split_for_512_bytes)
{
	uint64_t a = bed_alloc(&bed, MIB - 512);
	bed_alloc(&bed, 512);
	bed_free(&bed, a);
	cr_assert_eq(bed_alloc(&bed, MIB - 1024), a);
	cr_assert_eq(bed_live(&bed), MIB - 512, "the rest of 512 bytes was split off");
}

Test(ref_caching, large_blocks_are_split_for_more_than_1_mib_only)
{
	uint64_t a = bed_alloc(&bed, 21 * MIB);
	cr_assert_eq(bed_live(&bed), 22 * MIB, "a rest of 1 MiB stays with the block");
	bed_free(&bed, a);
	cr_assert_eq(bed_alloc(&bed, 21 * MIB - 512), a);
	cr_assert_eq(bed_live(&bed), 21 * MIB - 512, "a rest of 1 MiB and 512 bytes is split off");
}

Test(ref_caching, free_neighbours_merge_on_both_sides)
{
	uint64_t a = bed_alloc(&bed, 4 * MIB);
	uint64_t b = bed_alloc(&bed, 4 * MIB);
	uint64_t c = bed_alloc(&bed, 4 * MIB);
	bed_alloc(&bed, 8 * MIB);
	bed_free(&bed, a);
	bed_free(&bed, c);
	bed_free(&bed, b);
	cr_assert_eq(bed_alloc(&bed, 9 * MIB), a, "4 + 4 + 4 MiB serve 9 MiB");
	cr_assert_eq(bed_reserved(&bed), 20 * MIB);
}

Test(ref_caching, small_requests_never_take_large_blocks)
{
	uint64_t a = bed_alloc(&bed, 2 * MIB);
	bed_free(&bed, a);
	bed_alloc(&bed, 512);
	cr_assert_eq(bed_reserved(&bed), 22 * MIB);
}

Test(ref_caching, blocks_stay_with_their_stream)
{
	uint64_t stream = bed_stream(&bed);
	uint64_t a = bed_alloc(&bed, 12 * MIB);
	bed_free(&bed, a);
	cr_assert_neq(bed_alloc_on(&bed, 12 * MIB, stream), a);
	cr_assert_eq(bed_reserved(&bed), 24 * MIB);
	cr_assert_eq(bed_alloc(&bed, 12 * MIB), a);
	bed_stream_destroy(&bed, stream);
}

Test(ref_caching, private_pools_share_nothing)
{
	uint64_t a = bed_alloc(&bed, 12 * MIB);
	bed_free(&bed, a);
	uint64_t va = 0;
	struct ref_request request = {.bytes = 12 * MIB, .private_id = 3};
	cr_assert_eq(ref_alloc(bed.allocator, &request, &va), SEAM_OK);
	cr_assert_neq(va, a);
}

Test(ref_caching, a_recorded_stream_holds_the_block_until_its_work_has_passed)
{
	uint64_t stream = bed_stream(&bed);
	uint64_t a = bed_alloc(&bed, 12 * MIB);
	cr_assert_eq(seam__emu_launch(bed.driver, stream, NULL, 0, 1000000000, 0), 0);
	cr_assert_eq(ref_record_stream(bed.allocator, a, stream), SEAM_OK);
	cr_assert_eq(ref_record_stream(bed.allocator, a, stream), SEAM_OK);
	bed_free(&bed, a);
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_event_record), 1, "one event for one stream");
	uint64_t b = bed_alloc(&bed, 12 * MIB);
	cr_assert_neq(b, a);
	seam__emu_advance(bed.driver, 2000000000);
	cr_assert_eq(bed_alloc(&bed, 12 * MIB), a);
	bed_stream_destroy(&bed, stream);
}

Test(ref_caching, recording_its_own_stream_changes_nothing)
{
	uint64_t a = bed_alloc(&bed, 12 * MIB);
	cr_assert_eq(ref_record_stream(bed.allocator, a, SEAM_STREAM_DEFAULT), SEAM_OK);
	bed_free(&bed, a);
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_event_record), 0);
	cr_assert_eq(bed_alloc(&bed, 12 * MIB), a);
}

Test(ref_caching, unsplit_segments_return_to_the_driver_only)
{
	uint64_t a = bed_alloc(&bed, 12 * MIB);
	uint64_t b = bed_alloc(&bed, 4 * MIB);
	bed_alloc(&bed, 4 * MIB);
	bed_free(&bed, a);
	bed_free(&bed, b);
	cr_assert_eq(ref_empty_cache(bed.allocator), SEAM_OK);
	cr_assert_eq(bed_reserved(&bed), 20 * MIB, "the segment with a live block stays");
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_direct_free), 1);
}

Test(ref_caching, unknown_addresses_are_refused)
{
	uint64_t a = bed_alloc(&bed, 512);
	cr_assert_eq(ref_free(bed.allocator, a + 512), SEAM_NOT_FOUND);
	cr_assert_eq(ref_record_stream(bed.allocator, a + 512, 9), SEAM_NOT_FOUND);
	bed_free(&bed, a);
	cr_assert_eq(ref_free(bed.allocator, a), SEAM_NOT_FOUND);
}

Test(ref_caching, states_say_how_requests_were_served)
{
	uint64_t a = bed_alloc(&bed, 12 * MIB);
	bed_free(&bed, a);
	a = bed_alloc(&bed, 12 * MIB);
	bed_free(&bed, a);
	bed_alloc(&bed, 10 * MIB);
	struct ref_stats stats;
	ref_get_stats(bed.allocator, &stats);
	cr_assert_eq(stats.states[REF_S4], 1);
	cr_assert_eq(stats.states[REF_S1], 1);
	cr_assert_eq(stats.states[REF_S2], 1);
	cr_assert_eq(stats.reserved_peak_bytes, 12 * MIB);
}

/* On a device of 64 MiB. */
static void open_little(void)
{
	bed = ref_bed_open(REF_CACHING, 64 * MIB);
}

TestSuite(ref_caching_oom, .init = open_little, .fini = close_bed);

Test(ref_caching_oom, cached_segments_are_returned_before_it_is_reported)
{
	uint64_t a = bed_alloc(&bed, 40 * MIB);
	bed_free(&bed, a);
	bed_alloc(&bed, 60 * MIB);
	cr_assert_eq(bed_reserved(&bed), 60 * MIB);
	struct ref_stats stats;
	ref_get_stats(bed.allocator, &stats);
	cr_assert_eq(stats.retries, 1);
	cr_assert_eq(stats.states[REF_S5], 0);
}

Test(ref_caching_oom, pending_blocks_are_waited_for_before_it_is_reported)
{
	uint64_t stream = bed_stream(&bed);
	uint64_t a = bed_alloc(&bed, 40 * MIB);
	cr_assert_eq(seam__emu_launch(bed.driver, stream, NULL, 0, 1000000000, 0), 0);
	cr_assert_eq(ref_record_stream(bed.allocator, a, stream), SEAM_OK);
	bed_free(&bed, a);
	bed_alloc(&bed, 40 * MIB);
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_event_sync), 1);
	bed_stream_destroy(&bed, stream);
}

Test(ref_caching_oom, what_is_live_survives)
{
	uint64_t a = bed_alloc(&bed, 40 * MIB);
	cr_assert_eq(bed_try_alloc(&bed, 40 * MIB), SEAM_OOM_DEVICE);
	cr_assert_eq(bed_try_alloc(&bed, UINT64_MAX - 100), SEAM_OOM_DEVICE);
	cr_assert_eq(bed_live(&bed), 40 * MIB);
	cr_assert_eq(bed_reserved(&bed), 40 * MIB);
	bed_free(&bed, a);
}

Test(ref_caching_oom, scattered_free_memory_is_no_help)
{
	/* 3 x 20 MiB, each with 12 MiB live in two blocks around 8 MiB free: 24 MiB are free, and 10 cannot be had. */
	for (size_t i = 0; i < 3; i++) {
		bed_alloc(&bed, 6 * MIB);
		uint64_t hole = bed_alloc(&bed, 8 * MIB);
		bed_alloc(&bed, 6 * MIB);
		bed_free(&bed, hole);
		if (i < 2) /* fills the hole for now, so that the next segment is a new one */
			cr_assert_eq(bed_alloc(&bed, 8 * MIB), hole);
	}
	cr_assert_eq(bed_try_alloc(&bed, 10 * MIB), SEAM_OOM_DEVICE);
}
