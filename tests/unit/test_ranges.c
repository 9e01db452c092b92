/* test_ranges.c: sets of address ranges against a plain array of addresses. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>

#include "meta.h"
#include "ranges.h"

#define assert_whole(ranges) cr_assert_null(seam__ranges_check(ranges), "%s", seam__ranges_check(ranges))

Test(ranges, agree_with_an_array)
{
	enum { ADDRESSES = 200, STEPS = 4000 };
	uint64_t owner[ADDRESSES] = {0}; /* the stream under which an address was added; 0: not in the set */
	struct seam_ranges ranges;
	seam__ranges_init(&ranges);
	uint64_t random = 7;
	for (uint64_t step = 1; step <= STEPS; step++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		const uint64_t begin = (random >> 20) % (ADDRESSES - 40);
		const uint64_t bytes = (random >> 40) % 40 + 1;
		const bool adds = random >> 63 != 0;
		if (adds)
			cr_assert_eq(seam__ranges_add(&ranges, begin, bytes, step, 0), SEAM_OK);
		else
			cr_assert_eq(seam__ranges_remove(&ranges, begin, bytes), SEAM_OK);
		for (uint64_t address = begin; address < begin + bytes; address++)
			owner[address] = adds ? step : 0;
		for (uint64_t address = 0; address < ADDRESSES; address++) {
			const struct seam_trace_range *found = seam__ranges_find(&ranges, address);
			cr_assert_eq(found != NULL ? found->stream : 0, owner[address], "step %llu, address %llu",
				(unsigned long long)step, (unsigned long long)address);
		}
		if (step % 64 == 0)
			assert_whole(&ranges);
	}
	seam__ranges_fini(&ranges);
}

Test(ranges, come_in_the_order_of_addresses)
{
	struct seam_ranges ranges;
	seam__ranges_init(&ranges);
	cr_assert_null(seam__ranges_first(&ranges));
	cr_assert_eq(seam__ranges_add(&ranges, 300, 50, 1, 0), SEAM_OK);
	cr_assert_eq(seam__ranges_add(&ranges, 100, 50, 2, 0), SEAM_OK);
	cr_assert_eq(seam__ranges_add(&ranges, 200, 50, 3, 9), SEAM_OK);
	const struct seam_trace_range *range = seam__ranges_first(&ranges);
	for (uint64_t begin = 100; begin <= 300; begin += 100) {
		cr_assert_not_null(range);
		cr_assert_eq(range->begin, begin);
		cr_assert_eq(range->pool, begin == 200 ? 9 : 0);
		range = seam__ranges_next(range);
	}
	cr_assert_null(range);
	seam__ranges_fini(&ranges);
}

Test(ranges, refuse_what_is_no_range)
{
	struct seam_ranges ranges;
	seam__ranges_init(&ranges);
	cr_assert_eq(seam__ranges_add(&ranges, 5, 0, 0, 0), SEAM_INVALID);
	cr_assert_eq(seam__ranges_add(&ranges, UINT64_MAX - 5, 7, 0, 0), SEAM_INVALID);
	cr_assert_eq(seam__ranges_remove(&ranges, 2, UINT64_MAX), SEAM_INVALID);
	cr_assert_eq(seam__ranges_add(&ranges, UINT64_MAX - 5, 5, 0, 0), SEAM_OK);
	assert_whole(&ranges);
	seam__ranges_fini(&ranges);
}

Test(ranges, a_failed_change_changes_nothing)
{
	struct seam_ranges ranges;
	seam__ranges_init(&ranges);
	seam__meta_fail_at(seam__meta_process(), 1);
	cr_assert_eq(seam__ranges_add(&ranges, 1, 2, 0, 0), SEAM_OOM_META);
	assert_whole(&ranges);
	cr_assert_null(seam__ranges_first(&ranges));
	seam__ranges_fini(&ranges);
}
