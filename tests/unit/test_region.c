/* test_region.c: arrays of a region: zeroed, apart, given back together, from a mark on, and after a failure. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "meta_fixture.h"
#include "region.h"

TestSuite(region, .init = set_up, .fini = tear_down);

static uint64_t live_bytes(void)
{
	struct seam_meta_stats stats;

	seam__meta_get_stats(meta, &stats);
	return stats.live_bytes;
}

Test(region, arrays_are_zeroed_aligned_and_apart)
{
	struct seam_region *region = seam__region_create(meta);
	char *arrays[40];

	for (size_t n = 0; n < 40; n++) {
		arrays[n] = seam__region_array(region, n, 3);
		cr_assert_not_null(arrays[n]);
		cr_expect_eq((uintptr_t)arrays[n] % _Alignof(max_align_t), 0);
		for (size_t b = 0; b < 3 * n; b++)
			cr_expect_eq(arrays[n][b], 0);
		memset(arrays[n], (int)n, 3 * n);
	}
	for (size_t n = 0; n < 40; n++)
		for (size_t b = 0; b < 3 * n; b++)
			cr_expect_eq(arrays[n][b], (char)n);
	cr_expect_null(seam__region_array(region, SIZE_MAX / 2, 3));
	cr_expect_null(seam__region_array(region, SIZE_MAX, 1));
	seam__region_destroy(region);
	cr_expect_eq(live_bytes(), 0);
}

Test(region, a_release_takes_back_what_came_behind_the_mark)
{
	struct seam_region *region = seam__region_create(meta);
	uint64_t empty_bytes = live_bytes();
	char *kept;
	uint64_t kept_bytes;
	void *mark;

	mark = seam__region_mark(region);
	cr_assert_not_null(seam__region_array(region, 10, 1));
	seam__region_release(region, mark);
	cr_expect_eq(live_bytes(), empty_bytes);
	kept = seam__region_array(region, 10, 1);
	cr_assert_not_null(kept);
	kept[9] = 5;
	kept_bytes = live_bytes();
	mark = seam__region_mark(region);
	for (int n = 0; n < 5; n++)
		cr_assert_not_null(seam__region_array(region, 100, 8));
	seam__region_release(region, mark);
	cr_expect_eq(live_bytes(), kept_bytes);
	cr_expect_eq(kept[9], 5);
	seam__region_destroy(region);
	seam__region_destroy(NULL);
}

Test(region, a_failed_allocation_changes_nothing)
{
	struct seam_region *region = seam__region_create(meta);
	uint64_t before_bytes = live_bytes();

	seam__meta_fail_at(meta, 1);
	cr_expect_null(seam__region_array(region, 1, 1));
	cr_expect_eq(live_bytes(), before_bytes);
	seam__meta_fail_at(meta, 1);
	cr_expect_null(seam__region_create(meta));
	cr_expect_not_null(seam__region_array(region, 1, 1));
	seam__region_destroy(region);
}
