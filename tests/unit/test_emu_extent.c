/* test_emu_extent.c: free ranges against a naive line of cells. */
#include <criterion/criterion.h>
#include <string.h>

#include "check.h"
#include "emu_extent.h"
#include "meta.h"

#define CELLS 512

static struct seam_meta *meta;
static struct emu_extents x;

static void open_extents(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	cr_assert_eq(seam__emu_extents_init(&x, meta, 1024, CELLS), SEAM_OK);
}

static void close_extents(void)
{
	seam__emu_extents_fini(&x);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(emu_extent, .init = open_extents, .fini = close_extents);

/* What the smallest, then lowest, free range of `used` would give; 0 if none. Only for alignment 1. */
static uint64_t naive_take(const unsigned char *used, uint64_t bytes)
{
	uint64_t best = 0;
	uint64_t best_bytes = UINT64_MAX;
	for (uint64_t i = 0; i < CELLS;) {
		uint64_t run = 0;
		while (i + run < CELLS && used[i + run] == 0)
			run++;
		if (run >= bytes && run < best_bytes) {
			best = 1024 + i;
			best_bytes = run;
		}
		i += run + 1;
	}
	return best;
}

Test(emu_extent, places_like_a_naive_search)
{
	unsigned char used[CELLS] = {0};
	uint64_t start[64] = {0};
	uint64_t bytes[64] = {0};
	uint32_t random = 7;
	uint64_t refused = 0;
	for (int step = 0; step < 20000; step++) {
		random = random * 1664525 + 1013904223;
		uint32_t slot = random >> 8 & 63;
		if (bytes[slot] != 0) {
			memset(&used[start[slot] - 1024], 0, bytes[slot]);
			seam__emu_extents_give(&x, start[slot], bytes[slot]);
			bytes[slot] = 0;
		} else {
			uint64_t wanted = 1 + (random >> 20) % 40;
			uint64_t expected = naive_take(used, wanted);
			bool got = seam__emu_extents_take(&x, wanted, 1, &start[slot]);
			cr_assert_eq(got, expected != 0, "step %d", step);
			refused += !got;
			if (!got)
				continue;
			cr_assert_eq(start[slot], expected, "step %d", step);
			bytes[slot] = wanted;
			memset(&used[start[slot] - 1024], 1, wanted);
		}
		if (step % 64 == 0)
			cr_assert_null(seam__emu_extents_check(&x), "%s", seam__emu_extents_check(&x));
	}
	cr_assert_gt(refused, 0, "the line was never full");
}

Test(emu_extent, aligns)
{
	uint64_t a = 0;
	uint64_t b = 0;
	cr_assert(seam__emu_extents_take(&x, 3, 1, &a));
	cr_assert(seam__emu_extents_take(&x, 16, 64, &b));
	cr_assert_eq(a, 1024);
	cr_assert_eq(b, 1088);
	cr_assert_not(seam__emu_extents_take(&x, CELLS, 1, &a));
	cr_assert_not(seam__emu_extents_take(&x, 16, UINT64_C(1) << 40, &a));
	seam__emu_extents_give(&x, 1088, 16);
	seam__emu_extents_give(&x, 1024, 3);
	cr_assert(seam__emu_extents_take(&x, CELLS, 1, &a), "what was given back is one range again");
	cr_assert_null(seam__emu_extents_check(&x));
}

Test(emu_extent, takes_a_given_place_or_nothing)
{
	cr_assert(seam__emu_extents_take_at(&x, 1100, 10));
	cr_assert_not(seam__emu_extents_take_at(&x, 1109, 1));
	cr_assert_not(seam__emu_extents_take_at(&x, 1095, 6));
	cr_assert_not(seam__emu_extents_take_at(&x, 1530, 10), "beyond the end");
	cr_assert_not(seam__emu_extents_take_at(&x, 10, 10), "before the start");
	cr_assert_not(seam__emu_extents_take_at(&x, 1200, UINT64_MAX), "no sum overflows");
	cr_assert(seam__emu_extents_take_at(&x, 1110, 426));
	cr_assert(seam__emu_extents_take_at(&x, 1024, 76));
	cr_assert_eq(x.free_bytes, 0);
	cr_assert_null(seam__emu_extents_check(&x));
}

Test(emu_extent, lack_of_metadata_changes_nothing)
{
	uint64_t start[CELLS];
	uint64_t taken = 0;
	struct seam_meta_stats stats;
	seam__meta_get_stats(meta, &stats);
	seam__meta_set_limit(meta, stats.live_bytes);
	while (taken < CELLS && seam__emu_extents_take(&x, 1, 1, &start[taken]))
		taken++;
	for (uint64_t i = 0; i < taken; i++)
		seam__emu_extents_give(&x, start[i], 1);
	cr_assert_eq(x.free_bytes, CELLS);
	cr_assert_null(seam__emu_extents_check(&x));
}
