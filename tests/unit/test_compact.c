/* test_compact.c: settling brings everything down as far as it goes, and never makes a peak worse. */
#include <string.h>

#include "meta_fixture.h"
#include "random_problem.h"
#include "solvers.h"

TestSuite(compact, .init = set_up, .fini = tear_down);

/* Could item i lie lower, with all others where they are? */
static bool could_sink(const struct seam__problem *problem, const uint64_t *offsets, uint32_t i)
{
	for (uint64_t at = 0; at < offsets[i]; at++) {
		bool free = true;

		for (uint32_t j = 0; j < problem->count && free; j++)
			free = i == j || offsets[j] >= at + problem->items[i].size_bytes ||
				at >= offsets[j] + problem->items[j].size_bytes ||
				!seam__problem_conflict(problem, i, j);
		if (free)
			return true;
	}
	return false;
}

Test(compact, a_stack_comes_down)
{
	for (unsigned features = 0; features < SEAM__HAS_LINKS; features++) {
		struct random_wish wish = {.seed = 21 + features, .count = 30, .features = features & ~SEAM__HAS_FIXED};
		struct seam__problem problem;
		struct seam__budget budget;
		struct seam__placement best;
		uint32_t highest = 0;

		random_problem(&wish, meta, &problem);
		seam__budget_init(&budget);
		cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
		cr_assert_eq(seam__solve_stack(&problem, &budget, &best, NULL), SEAM_OK);
		cr_assert_eq(seam__solve_compact(&problem, &budget, &best, NULL), SEAM_OK);
		cr_expect_null(naive_check_placement(&problem, best.offsets, best.peak_bytes));
		for (uint32_t i = 0; i < problem.count; i++)
			if (best.offsets[i] + problem.items[i].size_bytes >
				best.offsets[highest] + problem.items[highest].size_bytes)
				highest = i;
		cr_expect(
			!could_sink(&problem, best.offsets, highest), "features %x: the peak could be lower", features);
		seam__placement_fini(&best, &problem);
		seam__problem_fini(&problem);
	}
}

/* Fixed: [20, 30) and [35, 40). The others come down in the order of their addresses, each to the lowest place. */
Test(compact, the_lowest_goes_first_and_as_low_as_it_can)
{
	static const uint64_t before[] = {20, 35, 100, 50, 45};
	static const uint64_t wanted[] = {20, 35, 40, 5, 0};
	struct seam__problem problem;
	struct seam__budget budget;
	struct seam__placement best;

	cr_assert_eq(seam__problem_init(&problem, meta, 5, 10, true, 1, 1), SEAM_OK);
	seam__problem_add(&problem, 10, 0, 10)->fixed_bytes = 20;
	seam__problem_add(&problem, 5, 0, 10)->fixed_bytes = 35;
	seam__problem_add(&problem, 10, 0, 10);
	seam__problem_add(&problem, 10, 0, 10);
	seam__problem_add(&problem, 5, 0, 10);
	seam__budget_init(&budget);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	memcpy(best.offsets, before, sizeof(before));
	best.peak_bytes = 110;
	cr_assert_eq(seam__solve_compact(&problem, &budget, &best, NULL), SEAM_OK);
	cr_expect_eq(best.peak_bytes, 50);
	cr_expect_arr_eq(best.offsets, wanted, sizeof(wanted));
	seam__placement_fini(&best, &problem);
	seam__problem_fini(&problem);
}

Test(compact, the_target_is_enough)
{
	struct random_wish wish = {.seed = 3, .count = 20};
	struct seam__problem problem;
	struct seam__budget budget;
	struct seam__placement best;

	random_problem(&wish, meta, &problem);
	seam__budget_init(&budget);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	cr_expect_eq(seam__solve_compact(&problem, &budget, &best, NULL), SEAM_OK, "nothing to settle");
	cr_expect_eq(best.peak_bytes, SEAM__PEAK_NONE);
	cr_assert_eq(seam__solve_stack(&problem, &budget, &best, NULL), SEAM_OK);
	uint64_t stacked = best.peak_bytes;
	budget.target_bytes = stacked;
	cr_assert_eq(seam__solve_compact(&problem, &budget, &best, NULL), SEAM_OK);
	cr_expect_eq(best.peak_bytes, stacked);
	budget.target_bytes = 0;
	cr_assert_eq(seam__solve_compact(&problem, &budget, &best, NULL), SEAM_OK);
	cr_expect_lt(best.peak_bytes, stacked);
	seam__placement_fini(&best, &problem);
	seam__problem_fini(&problem);
}
