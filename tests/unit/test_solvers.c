/* test_solvers.c: what holds for every solver of solvers.def: a whole and true placement or an honest refusal, whatever
 * the problem has, however soon the budget ends, and whichever allocation fails; the same answer twice; never worse
 * than before. */
#include <string.h>

#include "meta_fixture.h"
#include "pipeline.h"
#include "random_problem.h"
#include "solver.h"

TestSuite(solvers, .init = set_up, .fini = tear_down);

#define NODES 200000u /* enough for problems of this size, little enough for searches that do not end */

static struct seam_budget budget_of(uint64_t nodes)
{
	struct seam_budget budget;

	seam__budget_init(&budget);
	budget.nodes_left = nodes;
	budget.inner = seam__pipeline_solve;
	return budget;
}

static uint64_t solve(const struct seam_solver *solver, const struct seam_problem *problem, uint64_t nodes,
	struct seam_placement *best)
{
	struct seam_budget budget = budget_of(nodes);
	enum seam_rc rc = seam__solver_run(solver, problem, &budget, best);
	bool can = problem->count == 0 || seam__solver_can(solver, seam__problem_features(problem));

	cr_assert_eq(rc, can ? SEAM_OK : SEAM_UNSUPPORTED, "%s: %s", solver->name, seam_rc_name(rc));
	if (best->peak_bytes != SEAM__PEAK_NONE) {
		cr_assert_geq(best->peak_bytes, problem->lower_bytes, "%s is below the bound", solver->name);
		cr_assert_null(naive_check_placement(problem, best->offsets, best->peak_bytes), "%s: %s", solver->name,
			naive_check_placement(problem, best->offsets, best->peak_bytes));
	}
	return best->peak_bytes;
}

static void each(void (*check)(const struct seam_solver *solver, const struct seam_problem *problem))
{
	static const uint32_t counts[] = {0, 1, 2, 7, 40};
	size_t solver_count;
	const struct seam_solver *list = seam__solver_list(&solver_count);

	for (unsigned features = 0; features <= SEAM__HAS_ALL; features++) {
		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
			struct random_wish wish = {.seed = features * 100 + c,
				.count = counts[c],
				.features = features,
				.sizes = c % 2 == 0 ? 0 : 3,
				.align_bytes = c % 2 == 0 ? 1 : 16};
			struct seam_problem problem;

			random_problem(&wish, meta, &problem);
			for (size_t s = 0; s < solver_count; s++)
				check(&list[s], &problem);
			seam__problem_fini(&problem);
		}
	}
}

static void check_answer(const struct seam_solver *solver, const struct seam_problem *problem)
{
	struct seam_placement first;
	struct seam_placement second;

	cr_assert_eq(seam__placement_init(&first, problem), SEAM_OK);
	cr_assert_eq(seam__placement_init(&second, problem), SEAM_OK);
	uint64_t peak = solve(solver, problem, NODES, &first);
	cr_expect_eq(solve(solver, problem, NODES, &second), peak, "%s: another answer", solver->name);
	if (peak != SEAM__PEAK_NONE && problem->count > 0)
		cr_expect_eq(memcmp(first.offsets, second.offsets, problem->count * sizeof(uint64_t)), 0,
			"%s: other places", solver->name);
}

Test(solvers, every_answer_is_a_placement_and_comes_twice)
{
	each(check_answer);
}

static void check_hurry(const struct seam_solver *solver, const struct seam_problem *problem)
{
	static const uint64_t nodes[] = {0, 1, 10, 100, 1000};

	for (size_t n = 0; n < sizeof(nodes) / sizeof(nodes[0]); n++) {
		struct seam_placement best;

		cr_assert_eq(seam__placement_init(&best, problem), SEAM_OK);
		(void)solve(solver, problem, nodes[n], &best);
	}
}

Test(solvers, a_spent_budget_leaves_a_whole_placement_or_none)
{
	each(check_hurry);
}

static void check_incumbent(const struct seam_solver *solver, const struct seam_problem *problem)
{
	struct seam_placement best;
	uint64_t before = SEAM__PEAK_NONE;

	if ((seam__problem_features(problem) & (SEAM__HAS_FIXED | SEAM__HAS_LINKS)) != 0)
		return; /* "stack" has no answer for these */
	cr_assert_eq(seam__placement_init(&best, problem), SEAM_OK);
	before = solve(seam__solver_find("stack"), problem, NODES, &best);
	cr_expect_leq(solve(solver, problem, NODES, &best), before, "%s made it worse", solver->name);
}

Test(solvers, none_makes_a_placement_worse)
{
	each(check_incumbent);
}

static void check_faults(const struct seam_solver *solver, const struct seam_problem *problem)
{
	if (!seam__solver_can(solver, seam__problem_features(problem)) || problem->count == 0)
		return;
	for (uint64_t n = 1;; n++) {
		struct seam_budget budget = budget_of(NODES);
		struct seam_placement best;

		cr_assert_eq(seam__placement_init(&best, problem), SEAM_OK);
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam__solver_run(solver, problem, &budget, &best);
		bool fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_expect(rc == SEAM_OK || (fired && rc == SEAM_OOM_META), "%s: %s", solver->name, seam_rc_name(rc));
		if (best.peak_bytes != SEAM__PEAK_NONE)
			cr_expect_null(
				naive_check_placement(problem, best.offsets, best.peak_bytes), "%s", solver->name);
		if (!fired || n > 200)
			break;
	}
}

Test(solvers, a_failed_allocation_is_reported_and_leaves_nothing)
{
	struct random_wish wish = {.seed = 5, .count = 25};
	size_t solver_count;
	const struct seam_solver *list = seam__solver_list(&solver_count);

	for (int wraps = 0; wraps < 2; wraps++) {
		struct seam_problem problem;

		wish.features = wraps == 0 ? 0 : SEAM__HAS_WRAP;
		random_problem(&wish, meta, &problem);
		for (size_t s = 0; s < solver_count; s++)
			check_faults(&list[s], &problem);
		seam__problem_fini(&problem);
	}
}

Test(solvers, names_are_found_and_are_unique)
{
	size_t solver_count;
	const struct seam_solver *list = seam__solver_list(&solver_count);

	for (size_t s = 0; s < solver_count; s++)
		cr_expect_eq(seam__solver_find(list[s].name), &list[s], "%s stands twice", list[s].name);
	cr_expect_null(seam__solver_find("no such solver"));
}

Test(solvers, cancelling_stops_a_search)
{
	struct random_wish wish = {.seed = 7, .count = 40};
	struct seam_problem problem;
	size_t solver_count;
	const struct seam_solver *list = seam__solver_list(&solver_count);
	int cancel = 1;

	random_problem(&wish, meta, &problem);
	for (size_t s = 0; s < solver_count; s++) {
		struct seam_budget budget;
		struct seam_placement best;

		seam__budget_init(
			&budget); /* without a limit: only the cancellation ends what does not end by itself */
		budget.cancel = &cancel;
		cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
		if (seam__solver_can(&list[s], seam__problem_features(&problem)))
			cr_expect_eq(seam__solver_run(&list[s], &problem, &budget, &best), SEAM_OK, "%s", list[s].name);
	}
	seam__problem_fini(&problem);
}
