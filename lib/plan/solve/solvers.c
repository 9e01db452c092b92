/* solvers.c: the list of solvers.def, and running one of them. See solver.h.
 *
 * This file knows every solver, and none knows it: those that have others solve a smaller problem call budget->inner.
 */
#include "solvers.h"

#include <string.h>

#include "region.h"

static const struct seam_solver solvers[] = {
#define SEAM_SOLVER(name, can, item_ns, node_ns, solve, argument, text) \
	{name, text, can, item_ns, node_ns, solve, argument},
#include "solvers.def"
#undef SEAM_SOLVER
};

const struct seam_solver *seam__solver_list(size_t *ret_count)
{
	*ret_count = sizeof(solvers) / sizeof(solvers[0]);
	return solvers;
}

const struct seam_solver *seam__solver_find(const char *name)
{
	for (size_t i = 0; i < sizeof(solvers) / sizeof(solvers[0]); i++)
		if (strcmp(solvers[i].name, name) == 0)
			return &solvers[i];
	return NULL;
}

bool seam__solver_can(const struct seam_solver *solver, unsigned features)
{
	return (features & ~solver->can) == 0;
}

enum seam_rc seam__solver_run(const struct seam_solver *solver, const struct seam_problem *problem,
	struct seam_budget *budget, struct seam_placement *best)
{
	const void *mark = seam__region_mark(problem->region);

	if (problem->count == 0) {
		best->peak_bytes = 0;
		return SEAM_OK;
	}
	if (!seam__solver_can(solver, seam__problem_features(problem)))
		return SEAM_UNSUPPORTED;
	budget->solver = solver->name;
	budget->node_ns = solver->node_ns;
	if (budget->work_ns != NULL)
		*budget->work_ns += (uint64_t)problem->count * solver->item_ns;
	enum seam_rc rc = solver->solve(problem, budget, best, solver->argument);
	seam__region_release(problem->region, mark);
	return rc;
}
