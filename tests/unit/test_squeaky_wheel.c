/* test_squeaky_wheel.c: rounds with what did not fit moved forward: never worse than before, better where one order
 * alone is not enough, at an end when the target is reached. */
#include <string.h>

#include "meta_fixture.h"
#include "random_problem.h"
#include "solvers.h"

TestSuite(squeaky_wheel, .init = set_up, .fini = tear_down);

#define NODES 10000u
#define SEEDS 12u

static struct seam_budget nodes(uint64_t count)
{
	struct seam_budget budget;

	seam__budget_init(&budget);
	budget.nodes_left = count;
	return budget;
}

/* The best that the portfolio's orders find. */
static void portfolio(const struct seam_problem *problem, struct seam_placement *best)
{
	static const char *const words[] = {"WB", "AB", "TAWB", "BW", "TWB"};

	for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
		struct seam_budget budget = nodes(UINT64_MAX);

		cr_assert_eq(seam__solve_greedy(problem, &budget, best, words[w]), SEAM_OK);
	}
}

Test(squeaky_wheel, it_finds_what_the_portfolio_does_not)
{
	uint32_t better = 0;
	uint32_t open = 0; /* problems that the portfolio left above the bound */

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		for (unsigned features = 0; features <= SEAM__HAS_ALL; features += SEAM__HAS_WRAP) {
			struct random_wish wish = {.seed = 100 * seed + features, .count = 40, .features = features};
			struct seam_budget budget = nodes(NODES);
			struct seam_problem problem;
			struct seam_placement best;

			random_problem(&wish, meta, &problem);
			cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
			portfolio(&problem, &best);
			uint64_t before = best.peak_bytes;
			cr_assert_eq(seam__solve_squeaky_wheel(&problem, &budget, &best, NULL), SEAM_OK);
			cr_expect_leq(best.peak_bytes, before, "seed %d, features %x", (int)seed, features);
			cr_expect_null(naive_check_placement(&problem, best.offsets, best.peak_bytes),
				"seed %d, features %x", (int)seed, features);
			open += before > problem.lower_bytes;
			better += best.peak_bytes < before;
			seam__problem_fini(&problem);
		}
	}
	cr_assert_gt(open, 0, "other seeds are needed");
	cr_expect_geq(better * 2, open, "%u of %u", better, open);
}

Test(squeaky_wheel, it_needs_no_placement_to_begin_with)
{
	struct random_wish wish = {.seed = 4, .count = 30, .features = SEAM__HAS_WRAP};
	struct seam_budget budget = nodes(NODES);
	struct seam_problem problem;
	struct seam_placement best;

	random_problem(&wish, meta, &problem);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	cr_assert_eq(seam__solve_squeaky_wheel(&problem, &budget, &best, NULL), SEAM_OK);
	cr_expect_null(naive_check_placement(&problem, best.offsets, best.peak_bytes));
	seam__problem_fini(&problem);
}

/* What cannot be better: the same two items at every position. All lanes are stuck at once, and the solver returns
 * with budget left although its target is out of reach. */
Test(squeaky_wheel, it_ends_when_nothing_moves)
{
	struct seam_budget budget = nodes(NODES);
	struct seam_problem problem;
	struct seam_placement best;

	cr_assert_eq(seam__problem_init(&problem, meta, 3, 10, true, 1, 1), SEAM_OK);
	seam__problem_add(&problem, 10, 0, 6)->fixed_bytes = 5;
	seam__problem_add(&problem, 10, 0, 10);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	cr_assert_eq(seam__solve_squeaky_wheel(&problem, &budget, &best, NULL), SEAM_OK);
	cr_expect_eq(best.peak_bytes, 25);
	cr_expect_gt(budget.nodes_left, 0);
	seam__problem_fini(&problem);
}
