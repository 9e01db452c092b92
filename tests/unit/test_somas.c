/* test_somas.c: Single Object and Many Objects: the papers' example, and what they may not lose against each other.
 * That the answers are placements at all is shown for every solver by test_solvers.c. */
#include <criterion/criterion.h>

#include "problem_fixture.h"
#include "random_problem.h"
#include "solver.h"

TestSuite(somas, .init = set_up, .fini = tear_down_problem);

static uint64_t peak_of(const char *name, uint64_t *ret_offsets)
{
	struct seam_budget budget;
	struct seam_placement best;

	seam__budget_init(&budget);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	cr_assert_eq(seam__solver_run(seam__solver_find(name), &problem, &budget, &best), SEAM_OK, "%s", name);
	uint64_t peak = best.peak_bytes;
	cr_assert_null(seam__problem_check_placement(&problem, best.offsets, peak), "%s", name);
	for (uint32_t i = 0; ret_offsets != NULL && i < problem.count; i++)
		ret_offsets[i] = best.offsets[i];
	return peak;
}

/* SOMAS, appendix E: figures 7 to 9. */
Test(somas, many_objects_beats_single_object_on_the_toy)
{
	static const uint32_t lives[5][2] = {{0, 1}, {3, 4}, {1, 2}, {4, 5}, {2, 4}}; /* A to E, both ends included */
	static const uint64_t sizes[5] = {1024, 768, 640, 512, 256};

	cr_assert_eq(seam__problem_init(&problem, meta, 5, 6, true, 1, 1), SEAM_OK);
	for (int i = 0; i < 5; i++)
		(void)seam__problem_add(&problem, sizes[i], lives[i][0], lives[i][1] - lives[i][0] + 1);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_expect_eq(peak_of("size-first", NULL), 1920);
	cr_expect_eq(peak_of("somas", NULL), 1664);
}

/* One stream, all begin together: nothing can share, and nothing is wasted. */
Test(somas, what_lives_together_is_stacked_without_a_hole)
{
	cr_assert_eq(seam__problem_init(&problem, meta, 6, 2, true, 1, 1), SEAM_OK);
	for (uint32_t i = 0; i < 6; i++)
		(void)seam__problem_add(&problem, 1 + i, 0, 2);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_expect_eq(peak_of("somas", NULL), 21);
}

/* Chains, streams, the circle and fixed items at once. Somewhere an order or the objects win against the portfolio. */
Test(somas, it_is_as_good_as_the_portfolio_and_at_times_better)
{
	uint32_t better = 0;

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct random_wish wish = {
			.seed = seed, .count = 80, .features = (unsigned)seed & SEAM__HAS_ALL, .sizes = 6};

		random_problem(&wish, meta, &problem);
		uint64_t size = peak_of("size-first", NULL);
		uint64_t start = peak_of("start-best", NULL);
		uint64_t peak = peak_of("somas", NULL);

		cr_expect_leq(peak, size, "seed %llu", (unsigned long long)seed);
		cr_expect_leq(peak, start, "seed %llu", (unsigned long long)seed);
		better += peak < size && peak < start;
		seam__problem_fini(&problem);
	}
	cr_expect_geq(better, 10);
}
