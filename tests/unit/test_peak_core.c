/* test_peak_core.c: what lives where most is live first: never worse than before, better where most of the portfolio's
 * attention goes elsewhere, and not tried where it would be the whole problem again. */
#include <string.h>

#include "meta_fixture.h"
#include "pipeline.h"
#include "random_problem.h"
#include "solvers.h"

#define CREST 24u  /* items where most is live */
#define PLAIN 120u /* elsewhere */
#define SCALE 16u  /* larger are those */
#define SEEDS 40u
#define NODES 100000u

TestSuite(peak_core, .init = set_up, .fini = tear_down);

static void add_all(const struct seam_problem *from, uint32_t origin, uint64_t scale, struct seam_problem *to)
{
	for (uint32_t i = 0; i < from->count; i++) {
		uint32_t number = to->count;
		struct seam_item *item = seam__problem_add(
			to, from->items[i].size_bytes * scale, from->items[i].begin + origin, from->items[i].span);

		if (from->items[i].fixed_bytes != SEAM__ADDRESS_ANY)
			item->fixed_bytes = from->items[i].fixed_bytes * scale;
		item->stream = from->items[i].stream < to->streams ? from->items[i].stream : 0;
		for (uint32_t s = 0; to->holds != NULL && s < to->streams; s++)
			to->holds[(size_t)number * to->streams + s] =
				s < from->streams ? seam__problem_hold(from, i, s) : item->span;
		if (to->holds != NULL)
			to->holds[(size_t)number * to->streams + item->stream] = item->span;
	}
}

/* A problem of large items, and behind it in time one of many small ones. */
static void make(uint64_t seed, unsigned features, struct seam_problem *ret_problem)
{
	struct random_wish wish = {.seed = seed, .count = CREST, .features = features};
	struct random_wish plain_wish = {.seed = seed + 1000, .count = PLAIN};
	struct seam_problem high, low;

	random_problem(&wish, meta, &high);
	random_problem(&plain_wish, meta, &low);
	cr_assert_eq(
		seam__problem_init(ret_problem, meta, CREST + PLAIN, high.circle + low.circle, true, high.streams, 1),
		SEAM_OK);
	add_all(&high, 0, SCALE, ret_problem);
	add_all(&low, high.circle, 1, ret_problem);
	seam__problem_fini(&low);
	seam__problem_fini(&high);
	cr_assert_eq(seam__problem_finish(ret_problem), SEAM_OK);
	cr_assert_null(seam__problem_check(ret_problem));
}

static void solve(
	const struct seam_problem *problem, seam__solve solver, const void *argument, struct seam_placement *best)
{
	struct seam_budget budget;

	seam__budget_init(&budget);
	budget.nodes_left = NODES;
	budget.inner = seam__pipeline_solve;
	cr_assert_eq(solver(problem, &budget, best, argument), SEAM_OK);
}

static void portfolio(const struct seam_problem *problem, struct seam_placement *best)
{
	static const char *const order[] = {"WB", "AB", "BW"};

	for (size_t w = 0; w < sizeof(order) / sizeof(order[0]); w++)
		solve(problem, seam__solve_greedy, order[w], best);
}

Test(peak_core, it_finds_what_the_portfolio_does_not)
{
	static const unsigned features[] = {0, SEAM__HAS_HOLDS, SEAM__HAS_FIXED};
	uint32_t open[3] = {0}; /* problems that the portfolio left above the bound */
	uint32_t better[3] = {0};
	uint32_t best_of_all[3] = {0}; /* down to the bound */

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		for (size_t f = 0; f < 3; f++) {
			struct seam_problem problem;
			struct seam_placement best;

			make(seed, features[f], &problem);
			cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
			portfolio(&problem, &best);
			uint64_t before = best.peak_bytes;
			solve(&problem, seam__solve_peak_core, NULL, &best);
			cr_expect_leq(best.peak_bytes, before, "seed %d", (int)seed);
			cr_expect_null(naive_check_placement(&problem, best.offsets, best.peak_bytes),
				"seed %d, features %x", (int)seed, features[f]);
			open[f] += before > problem.lower_bytes;
			better[f] += best.peak_bytes < before;
			best_of_all[f] += before > problem.lower_bytes && best.peak_bytes == problem.lower_bytes;
			seam__problem_fini(&problem);
		}
	}
	for (size_t f = 0; f < 3; f++) {
		cr_assert_gt(open[f], 0, "other seeds are needed");
		cr_expect_geq(better[f] * 3, open[f], "features %x: %u of %u", features[f], better[f], open[f]);
	}
	/* It does not stop half-way. Where streams hold memory the bound is seldom reached. */
	cr_expect_geq((best_of_all[0] + best_of_all[2]) * 3, better[0] + better[2]);
}

/* Nothing is known but that all can lie side by side: then everything counts. */
Test(peak_core, it_leaves_alone_what_would_be_no_smaller)
{
	struct seam_problem problem;
	struct seam_placement best;

	make(1, 0, &problem);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	solve(&problem, seam__solve_peak_core, NULL, &best);
	cr_expect_eq(best.peak_bytes, SEAM__PEAK_NONE, "it has no placement to begin with");
	solve(&problem, seam__solve_stack, NULL, &best);
	uint64_t before = best.peak_bytes;
	cr_assert_gt(before, 2 * problem.lower_bytes);
	solve(&problem, seam__solve_peak_core, NULL, &best);
	cr_expect_eq(best.peak_bytes, before);
	seam__problem_fini(&problem);
}

/* What it may spend is spent: by whatever it calls, and there is a whole placement at the end. */
Test(peak_core, it_stops_when_the_budget_is_spent)
{
	for (uint64_t nodes = 0; nodes < 2000; nodes = nodes * 2 + 7) {
		struct seam_problem problem;
		struct seam_placement best;
		struct seam_budget budget;

		make(11, 0, &problem);
		cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
		portfolio(&problem, &best);
		seam__budget_init(&budget);
		budget.nodes_left = nodes;
		budget.inner = seam__pipeline_solve;
		cr_assert_gt(best.peak_bytes, problem.lower_bytes, "another seed is needed");
		cr_assert_eq(seam__solve_peak_core(&problem, &budget, &best, NULL), SEAM_OK);
		cr_expect_leq(budget.nodes_left, nodes);
		cr_expect_null(naive_check_placement(&problem, best.offsets, best.peak_bytes));
		seam__problem_fini(&problem);
	}
}

Test(peak_core, no_failure_leaves_anything)
{
	for (uint64_t n = 1;; n++) {
		struct seam_problem problem;
		struct seam_placement best;
		struct seam_budget budget;

		make(11, 0, &problem);
		cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
		portfolio(&problem, &best);
		uint64_t before = best.peak_bytes;
		seam__budget_init(&budget);
		budget.nodes_left = NODES;
		budget.inner = seam__pipeline_solve;
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam__solve_peak_core(&problem, &budget, &best, NULL);
		seam__meta_fail_at(meta, 0);
		cr_expect_leq(best.peak_bytes, before);
		cr_expect_null(naive_check_placement(&problem, best.offsets, best.peak_bytes));
		seam__problem_fini(&problem);
		if (rc == SEAM_OK) {
			cr_expect_gt(n, 10);
			return;
		}
		cr_assert_eq(rc, SEAM_OOM_META);
	}
}
