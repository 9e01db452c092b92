/* test_around_fixed.c: around addresses that are taken for good: valid, not above what lies on top of them, and the
 * space between is used. */
#include "meta_fixture.h"
#include "pipeline.h"
#include "random_problem.h"
#include "solvers.h"

TestSuite(around_fixed, .init = set_up, .fini = tear_down);

/* A random problem, with items that are taken for good below 40 * unit: one unit in two. */
static void make(uint64_t seed, uint64_t unit, unsigned features, struct seam_problem *ret_problem)
{
	struct random_wish wish = {.seed = seed, .count = 60, .features = features, .align_bytes = 4};
	struct seam_problem loose;

	random_problem(&wish, meta, &loose);
	cr_assert_eq(
		seam__problem_init(ret_problem, meta, loose.count + 20, loose.circle, loose.linear, loose.streams, 4),
		SEAM_OK);
	for (uint32_t i = 0; i < loose.count; i++) {
		*seam__problem_add(ret_problem, loose.items[i].size_bytes, loose.items[i].begin, loose.items[i].span) =
			loose.items[i];
		for (uint32_t s = 0; loose.holds != NULL && s < loose.streams; s++)
			ret_problem->holds[(size_t)i * loose.streams + s] = seam__problem_hold(&loose, i, s);
	}
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t number = ret_problem->count;
		struct seam_item *item = seam__problem_add(ret_problem, unit, 0, loose.circle);

		item->fixed_bytes = 2 * i * unit;
		for (uint32_t s = 1; ret_problem->holds != NULL && s < loose.streams; s++)
			ret_problem->holds[(size_t)number * loose.streams + s] = SEAM__HOLD_ALWAYS;
	}
	seam__problem_fini(&loose);
	cr_assert_eq(seam__problem_finish(ret_problem), SEAM_OK);
	cr_assert_null(seam__problem_check(ret_problem));
}

static uint64_t solve(const struct seam_problem *problem, bool *ret_used)
{
	struct seam_budget budget;
	struct seam_placement best;
	uint64_t peak_bytes;

	seam__budget_init(&budget);
	budget.nodes_left = 20000;
	budget.inner = seam__pipeline_solve;
	cr_assert_eq(seam__placement_init(&best, problem), SEAM_OK);
	cr_assert_eq(seam__solve_around_fixed(problem, &budget, &best, NULL), SEAM_OK);
	peak_bytes = best.peak_bytes;
	if (peak_bytes != SEAM__PEAK_NONE) {
		const char *broken = naive_check_placement(problem, best.offsets, best.peak_bytes);

		cr_expect_null(broken, "%s", broken);
	}
	*ret_used = false;
	for (uint32_t i = 0; i < problem->count && peak_bytes != SEAM__PEAK_NONE; i++)
		*ret_used |= problem->items[i].fixed_bytes == SEAM__ADDRESS_ANY &&
			best.offsets[i] < problem->items[problem->count - 1].fixed_bytes;
	return peak_bytes;
}

Test(around_fixed, what_is_between_is_used_and_the_rest_lies_above)
{
	unsigned used_in = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct seam_problem problem;
		bool used;

		make(seed, 40, seed % 2 == 0 ? SEAM__HAS_WRAP : SEAM__HAS_WRAP | SEAM__HAS_HOLDS, &problem);
		cr_expect_neq(solve(&problem, &used), SEAM__PEAK_NONE, "seed %llu", (unsigned long long)seed);
		used_in += used;
		seam__problem_fini(&problem);
	}
	cr_expect_geq(used_in, 30, "gaps were used for %u of 40 seeds", used_in);
}

Test(around_fixed, it_leaves_other_fixed_items_to_others)
{
	struct seam_problem problem;
	bool used;

	make(3, 40, SEAM__HAS_WRAP, &problem);
	problem.items[problem.count - 1].span = problem.circle - 1;
	cr_expect_eq(solve(&problem, &used), SEAM__PEAK_NONE);
	seam__problem_fini(&problem);
}

Test(around_fixed, no_failure_leaves_anything)
{
	for (uint64_t n = 1;; n++) {
		struct seam_problem problem;
		struct seam_placement best;
		struct seam_budget budget;
		enum seam_rc rc;

		make(5, 40, SEAM__HAS_WRAP, &problem);
		seam__budget_init(&budget);
		budget.nodes_left = 20000;
		budget.inner = seam__pipeline_solve;
		cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
		seam__meta_fail_at(meta, n);
		rc = seam__solve_around_fixed(&problem, &budget, &best, NULL);
		seam__meta_fail_at(meta, 0);
		seam__problem_fini(&problem);
		if (rc == SEAM_OK) {
			cr_expect_gt(n, 10);
			return;
		}
		cr_assert_eq(rc, SEAM_OOM_META);
	}
}
