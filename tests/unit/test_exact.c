/* test_exact.c: the solver "exact" finds what brute force finds: every placement of a few items, on lines and circles,
 * with and without fixed ones. It stops at its target, goes on from a placement that it is given, and leaves none when
 * it has no time. */
#include "meta_fixture.h"
#include "random_problem.h"
#include "solver.h"

#define ITEMS_MAX 8
#define INSTANCES 400

TestSuite(exact, .init = set_up, .fini = tear_down);

struct brute {
	const struct seam_problem *problem;
	uint64_t offsets[ITEMS_MAX];
	bool placed[ITEMS_MAX];
	bool meet[ITEMS_MAX][ITEMS_MAX];
	uint64_t best_bytes;
};

/* The lowest address at which item `i` meets nothing that is placed. */
static uint64_t lowest(const struct brute *brute, uint32_t i)
{
	uint64_t offset = 0;

	for (uint32_t j = 0; j < brute->problem->count; j++) {
		if (brute->placed[j] && brute->meet[i][j] &&
			offset < brute->offsets[j] + brute->problem->items[j].size_bytes &&
			brute->offsets[j] < offset + brute->problem->items[i].size_bytes) {
			offset = brute->offsets[j] + brute->problem->items[j].size_bytes;
			j = UINT32_MAX; /* from the beginning, with the new offset */
		}
	}
	return offset;
}

/* Every order of items in which each goes as low as it can and none lands below the one before. That is enough: of the
 * best placements take one whose addresses have the least sum; in the order of addresses each item of it stands as low
 * as it can. */
static void place_rest(struct brute *brute, uint64_t last, uint64_t peak_bytes)
{
	bool complete = true;

	if (peak_bytes >= brute->best_bytes)
		return;
	for (uint32_t i = 0; i < brute->problem->count; i++) {
		uint64_t top;

		if (brute->placed[i])
			continue;
		complete = false;
		brute->offsets[i] = lowest(brute, i);
		if (brute->offsets[i] < last)
			continue;
		brute->placed[i] = true;
		top = brute->offsets[i] + brute->problem->items[i].size_bytes;
		place_rest(brute, brute->offsets[i], top > peak_bytes ? top : peak_bytes);
		brute->placed[i] = false;
	}
	if (complete)
		brute->best_bytes = peak_bytes;
}

static bool live_at(const struct seam_problem *problem, uint32_t i, uint32_t position)
{
	for (uint32_t step = 0; step < problem->items[i].span; step++)
		if ((problem->items[i].begin + step) % problem->circle == position)
			return true;
	return false;
}

static uint64_t brute_force(const struct seam_problem *problem)
{
	struct brute brute = {.problem = problem, .best_bytes = UINT64_MAX};

	for (uint32_t i = 0; i < problem->count; i++) {
		for (uint32_t j = 0; j < problem->count; j++)
			for (uint32_t t = 0; t < problem->circle; t++)
				brute.meet[i][j] |= i != j && live_at(problem, i, t) && live_at(problem, j, t);
	}
	place_rest(&brute, 0, 0);
	return brute.best_bytes;
}

static uint64_t solve(const struct seam_problem *problem, uint64_t target_bytes, uint64_t nodes)
{
	struct seam_budget budget;
	struct seam_placement best;
	uint64_t peak_bytes;

	seam__budget_init(&budget);
	budget.nodes_left = nodes;
	budget.target_bytes = target_bytes;
	cr_assert_eq(seam__placement_init(&best, problem), SEAM_OK);
	cr_assert_eq(seam__solver_run(seam__solver_find("exact"), problem, &budget, &best), SEAM_OK);
	if (best.peak_bytes != SEAM__PEAK_NONE)
		cr_assert_null(naive_check_placement(problem, best.offsets, best.peak_bytes), "%s",
			naive_check_placement(problem, best.offsets, best.peak_bytes));
	cr_expect(nodes < 1000000 || !budget.spent, "it ends by itself");
	peak_bytes = best.peak_bytes;
	return peak_bytes;
}

/* Lifetimes of all lengths, few sizes: instances whose best placement is above the bound are not rare. */
static void make_dense(uint64_t seed, unsigned features, struct seam_problem *problem)
{
	uint64_t state = seed;
	uint64_t align_bytes = seed % 2 == 0 ? 1 : 16;
	uint32_t circle = 7 + (uint32_t)random_below(&state, 8);
	bool linear = (features & SEAM__HAS_WRAP) == 0;

	cr_assert_eq(seam__problem_init(problem, meta, ITEMS_MAX, circle, linear, 1, align_bytes), SEAM_OK);
	for (uint32_t i = 0; i < ITEMS_MAX; i++) {
		uint32_t begin = (uint32_t)random_below(&state, circle);
		uint32_t most = linear ? circle - begin : circle;
		uint32_t span = 1 + (uint32_t)random_below(&state, most);
		(void)seam__problem_add(problem, (1 + random_below(&state, 5)) * align_bytes, begin, span);
	}
	cr_assert_eq(seam__problem_finish(problem), SEAM_OK);
}

static void compare(unsigned features)
{
	unsigned above = 0;

	for (uint64_t seed = 0; seed < INSTANCES; seed++) {
		struct seam_problem problem;
		uint64_t expected;
		uint64_t found;

		make_dense(seed, features, &problem);
		expected = brute_force(&problem);
		found = solve(&problem, 0, 100000000);
		cr_expect_eq(found, expected, "features %u, seed %llu: %llu, not %llu", features,
			(unsigned long long)seed, (unsigned long long)found, (unsigned long long)expected);
		above += expected > problem.lower_bytes;
		seam__problem_fini(&problem);
	}
	/* Else all this would show only that the lower bound is found. On lines so small it always is. */
	if (features != 0)
		cr_expect_gt(above, 10, "features %u: %u instances are above their bound", features, above);
}

Test(exact, lines_are_placed_best)
{
	compare(0);
}

Test(exact, circles_are_placed_best)
{
	compare(SEAM__HAS_WRAP);
}

/* Three stretches that overlap in pairs on a circle: 2 + 2 fit under 4 nowhere, although never more than 4 are live. */
Test(exact, a_circle_may_need_more_than_is_ever_live)
{
	struct seam_problem problem;

	cr_assert_eq(seam__problem_init(&problem, meta, 3, 6, false, 1, 1), SEAM_OK);
	for (uint32_t i = 0; i < 3; i++)
		(void)seam__problem_add(&problem, 2, 2 * i, 4);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_assert_eq(problem.lower_bytes, 4);
	cr_expect_eq(solve(&problem, 0, 1000000), 6);
	seam__problem_fini(&problem);
}

Test(exact, it_stops_at_the_target)
{
	struct random_wish wish = {.seed = 11, .count = 60};
	struct seam_problem problem;

	random_problem(&wish, meta, &problem);
	uint64_t best_bytes = solve(&problem, 0, 300000);
	uint64_t loose_bytes = solve(&problem, 2 * problem.lower_bytes, 300000);
	cr_expect_leq(loose_bytes, 2 * problem.lower_bytes);
	cr_expect_gt(loose_bytes, best_bytes, "the target makes a difference");
	seam__problem_fini(&problem);
}

Test(exact, a_given_placement_is_lowered)
{
	struct random_wish wish = {.seed = 4, .count = 50, .features = SEAM__HAS_WRAP};
	struct seam_problem problem;
	struct seam_placement best;
	struct seam_budget budget;

	random_problem(&wish, meta, &problem);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	seam__budget_init(&budget);
	cr_assert_eq(seam__solver_run(seam__solver_find("stack"), &problem, &budget, &best), SEAM_OK);
	uint64_t before_bytes = best.peak_bytes;
	budget.nodes_left = 50000;
	cr_assert_eq(seam__solver_run(seam__solver_find("exact"), &problem, &budget, &best), SEAM_OK);
	cr_expect_lt(best.peak_bytes, before_bytes);
	cr_expect_null(naive_check_placement(&problem, best.offsets, best.peak_bytes));
	seam__problem_fini(&problem);
}

Test(exact, without_time_there_is_no_answer)
{
	struct random_wish wish = {.seed = 4, .count = 50};
	struct seam_problem problem;

	random_problem(&wish, meta, &problem);
	cr_expect_eq(solve(&problem, 0, 0), SEAM__PEAK_NONE);
	seam__problem_fini(&problem);
}
