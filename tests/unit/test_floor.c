/* test_floor.c: lowest floor first places as a naive program does, which looks at every item's floor at every step. */
#include <string.h>

#include "meta_fixture.h"
#include "order.h"
#include "random_problem.h"
#include "solvers.h"

TestSuite(floor, .init = set_up, .fini = tear_down);

#define ITEMS 40u

/* How low the chain of `head` can lie above all that it conflicts with. */
static uint64_t naive_floor(
	const struct seam_problem *problem, const uint64_t *offsets, const bool *placed, uint32_t head)
{
	uint64_t floor = 0;
	uint64_t shift = 0;

	for (uint32_t i = head; i != SEAM__ITEM_NONE; i = problem->items[i].next) {
		for (uint32_t j = 0; j < problem->count; j++) {
			uint64_t top = offsets[j] + problem->items[j].size_bytes;

			if (placed[j] && seam__problem_conflict(problem, i, j) && top > floor + shift)
				floor = top - shift;
		}
		shift += problem->items[i].size_bytes;
	}
	return floor;
}

static void naive_place(const struct seam_problem *problem, const struct seam_order *order, uint64_t *ret_offsets)
{
	bool placed[ITEMS] = {false};

	for (uint32_t i = 0; i < problem->count; i++) {
		placed[i] = problem->items[i].fixed_bytes != SEAM__ADDRESS_ANY;
		ret_offsets[i] = placed[i] ? problem->items[i].fixed_bytes : 0;
	}
	for (uint32_t step = 0; step < order->count; step++) {
		uint32_t next = SEAM__ITEM_NONE;
		uint64_t lowest = UINT64_MAX;

		for (uint32_t n = 0; n < order->count; n++) {
			uint32_t head = order->heads[n];
			uint64_t floor = placed[head] ? UINT64_MAX : naive_floor(problem, ret_offsets, placed, head);

			if (floor < lowest) {
				lowest = floor;
				next = head;
			}
		}
		for (uint32_t i = next; i != SEAM__ITEM_NONE; i = problem->items[i].next) {
			ret_offsets[i] = lowest;
			placed[i] = true;
			lowest += problem->items[i].size_bytes;
		}
	}
}

Test(floor, placements_are_the_naive_ones)
{
	for (unsigned features = 0; features <= SEAM__HAS_ALL; features++) {
		struct random_wish wish = {
			.seed = 50 + features, .count = ITEMS, .features = features, .sizes = features % 3};
		struct seam_problem problem;

		random_problem(&wish, meta, &problem);
		struct seam_budget budget;
		struct seam_placement best;
		struct seam_order order;
		uint64_t naive[ITEMS];

		seam__budget_init(&budget);
		cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
		cr_assert_eq(seam__order_init(&order, &problem, "TAWB"), SEAM_OK);
		cr_assert_eq(seam__solve_floor(&problem, &budget, &best, NULL), SEAM_OK);
		naive_place(&problem, &order, naive);
		cr_expect_arr_eq(best.offsets, naive, sizeof(naive), "features %x", features);
		seam__problem_fini(&problem);
	}
}
