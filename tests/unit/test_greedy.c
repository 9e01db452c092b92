/* test_greedy.c: the portfolio places as a naive program does: each item of the order at the lowest address where
 * nothing placed conflicts with it. Nothing is done that cannot help. */
#include <string.h>

#include "meta_fixture.h"
#include "order.h"
#include "random_problem.h"
#include "solvers.h"

TestSuite(greedy, .init = set_up, .fini = tear_down);

#define ITEMS 40u

static bool fits(
	const struct seam_problem *problem, const uint64_t *offsets, const bool *placed, uint32_t i, uint64_t at)
{
	for (uint32_t j = 0; j < problem->count; j++)
		if (placed[j] && offsets[j] < at + problem->items[i].size_bytes &&
			at < offsets[j] + problem->items[j].size_bytes && seam__problem_conflict(problem, i, j))
			return false;
	return true;
}

/* First fit of an order, as one would write it down. */
static void naive_first(const struct seam_problem *problem, const struct seam_order *order, uint64_t *ret_offsets)
{
	bool placed[ITEMS] = {false};

	for (uint32_t i = 0; i < problem->count; i++) {
		placed[i] = problem->items[i].fixed_bytes != SEAM__ADDRESS_ANY;
		ret_offsets[i] = problem->items[i].fixed_bytes;
	}
	for (uint32_t n = 0; n < order->count; n++) {
		uint32_t i = order->heads[n];
		uint64_t at = 0;

		while (!fits(problem, ret_offsets, placed, i, at))
			at++;
		ret_offsets[i] = at;
		placed[i] = true;
	}
}

Test(greedy, first_fit_of_every_order_is_the_naive_one)
{
	static const char *const words[] = {"WB", "AB", "TAWB", "BW", "TWB"};

	for (unsigned features = 0; features < SEAM__HAS_LINKS; features++) {
		struct random_wish wish = {.seed = 5 + features, .count = ITEMS, .features = features};
		struct seam_problem problem;

		random_problem(&wish, meta, &problem);
		for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
			struct seam_budget budget;
			struct seam_placement best;
			struct seam_order order;
			uint64_t naive[ITEMS];

			seam__budget_init(&budget);
			cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
			cr_assert_eq(seam__order_init(&order, &problem, words[w]), SEAM_OK);
			cr_assert_eq(seam__solve_greedy(&problem, &budget, &best, words[w]), SEAM_OK);
			naive_first(&problem, &order, naive);
			cr_expect_arr_eq(best.offsets, naive, sizeof(naive), "features %x, %s", features, words[w]);
		}
		seam__problem_fini(&problem);
	}
}

Test(greedy, what_is_good_enough_costs_nothing)
{
	struct random_wish wish = {.seed = 2, .count = ITEMS, .features = SEAM__HAS_WRAP};
	struct seam_problem problem;
	struct seam_budget budget;
	struct seam_placement best;

	random_problem(&wish, meta, &problem);
	seam__budget_init(&budget);
	budget.nodes_left = 1000000;
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	cr_assert_eq(seam__solve_greedy(&problem, &budget, &best, "WB"), SEAM_OK);
	uint64_t first = 1000000 - budget.nodes_left;
	cr_expect_gt(first, 0);
	cr_assert_gt(best.peak_bytes, problem.lower_bytes, "another seed is needed");
	budget.target_bytes = best.peak_bytes;
	cr_assert_eq(seam__solve_greedy(&problem, &budget, &best, "WB"), SEAM_OK);
	cr_expect_eq(1000000 - budget.nodes_left, first, "the target was reached");
	budget.target_bytes = 0;
	cr_assert_eq(seam__solve_greedy(&problem, &budget, &best, "WB"), SEAM_OK);
	uint64_t second = 1000000 - budget.nodes_left - first;
	cr_expect_lt(second, first, "it stops where it cannot become better");
	seam__problem_fini(&problem);
}
