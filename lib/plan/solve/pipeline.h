/* pipeline.h: the solvers one after the other, under one budget, on the parts of a problem: what "auto" means.
 *
 * A problem is cut into parts (part.h). Each part first gets quick answers; then those parts that are too high get
 * more, the highest first, until every stack is at its target or the budget is spent. There is an answer after the
 * first solver, and it only gets better. The quick constructors (stages.def) are beyond the budget: each of them is
 * done before the end, however little it allows, on every part that is not at its target. So the worst answer is that
 * of the best of them.
 *
 * Not here: which solvers exist (solvers.def); in what order they are called (stages.def).
 * Deterministic with a budget in nodes. No locks.
 */
#ifndef SEAM_PIPELINE_H
#define SEAM_PIPELINE_H

#include "part.h"
#include "solver.h"

struct seam_pipeline_result {
	const char *solver;   /* that placed the highest part as it stands; "" where there is nothing to place */
	uint64_t lower_bytes; /* a bound at least as good as the problem's own */
	uint32_t parts;
	bool finished; /* not ended by the budget */
};

/* Places the problem. best: initialised; replaced by better ones. The target is the larger of budget->target_bytes and
 * the lower bound. Progress is reported for the problem as a whole. Errors: SEAM_OOM_META (best is whole or untouched).
 */
SEAM_MUST_USE enum seam_rc seam__pipeline_run(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, struct seam_pipeline_result *ret_result);

/* The same as a solver: what budget->inner is. */
SEAM_MUST_USE enum seam_rc seam__pipeline_solve(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument);

/* The same with one solver for every part instead of the stages. It may end without a placement.
 * Errors: also SEAM_UNSUPPORTED (it cannot do what some part has). */
SEAM_MUST_USE enum seam_rc seam__pipeline_run_one(const struct seam_problem *problem, const struct seam_solver *solver,
	struct seam_budget *budget, struct seam_placement *best, struct seam_pipeline_result *ret_result);

#endif
