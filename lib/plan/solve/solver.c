/* solver.c: see solver.h. */
#include "solver.h"

#include <string.h>

#include "clock.h"
#include "meta.h"
#include "solvers.h"

#define LOOK_NODES 1000u /* between two looks at the clock */

static const struct seam__solver solvers[] = {
#define SEAM_SOLVER(name, can, solve, argument, text) {name, text, can, solve, argument},
#include "solvers.def"
#undef SEAM_SOLVER
};

static const struct cost {
	const char *name;
	uint32_t item_ns, node_ns;
} costs[] = {
#define SEAM_SOLVER_COST(name, item_ns, node_ns) {name, item_ns, node_ns},
#include "solver_costs.def"
#undef SEAM_SOLVER_COST
};

const struct seam__solver *seam__solver_list(size_t *ret_count)
{
	*ret_count = sizeof(solvers) / sizeof(solvers[0]);
	return solvers;
}

const struct seam__solver *seam__solver_find(const char *name)
{
	for (size_t i = 0; i < sizeof(solvers) / sizeof(solvers[0]); i++)
		if (strcmp(solvers[i].name, name) == 0)
			return &solvers[i];
	return NULL;
}

bool seam__solver_can(const struct seam__solver *solver, unsigned features)
{
	if ((solver->can & SEAM__NEEDS_HOLDS) != 0 && (features & SEAM__HAS_HOLDS) == 0)
		return false;
	if ((solver->can & SEAM__NEEDS_PAIRS) != 0 && (features & (SEAM__HAS_HOLDS | SEAM__HAS_LINKS)) == 0)
		return false;
	return (features & ~solver->can) == 0;
}

void seam__budget_init(struct seam__budget *budget)
{
	*budget = (struct seam__budget){.deadline_ns = UINT64_MAX, .nodes_left = UINT64_MAX, .until_look = LOOK_NODES};
}

bool seam__budget_spend(struct seam__budget *budget, uint64_t nodes)
{
	if (budget->spent)
		return false;
	if (budget->work_ns != NULL)
		*budget->work_ns += nodes * budget->node_ns;
	if (budget->nodes_left != UINT64_MAX) {
		if (budget->nodes_left < nodes) {
			budget->nodes_left = 0;
			budget->spent = true;
			return false;
		}
		budget->nodes_left -= nodes;
	}
	if (nodes < budget->until_look) {
		budget->until_look -= (uint32_t)nodes;
		return true;
	}
	budget->until_look = LOOK_NODES;
	if (budget->tick != NULL)
		budget->tick(budget->tick_context);
	if (budget->cancel != NULL && __atomic_load_n(budget->cancel, __ATOMIC_RELAXED) != 0)
		budget->spent = true;
	if (budget->deadline_ns != UINT64_MAX && seam__clock_thread_ns() >= budget->deadline_ns)
		budget->spent = true;
	return !budget->spent;
}

unsigned seam__problem_features(const struct seam__problem *problem)
{
	unsigned has = 0;

	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam__item *item = &problem->items[i];

		if (!problem->linear && (item->span > problem->circle - item->begin || item->span == problem->circle))
			has |= SEAM__HAS_WRAP;
		if (item->fixed_bytes != SEAM__ADDRESS_ANY)
			has |= SEAM__HAS_FIXED;
		if (item->next != SEAM__ITEM_NONE)
			has |= SEAM__HAS_LINKS;
		for (uint32_t s = 0; problem->holds != NULL && s < problem->streams; s++)
			if (seam__problem_hold(problem, i, s) != item->span)
				has |= SEAM__HAS_HOLDS;
	}
	return has;
}

/* The solver begins: what it takes is added from here on. */
static void count_work(
	const struct seam__solver *solver, const struct seam__problem *problem, struct seam__budget *budget)
{
	uint32_t item_ns = SEAM_COST_REST_ITEM_NS;
	budget->node_ns = SEAM_COST_REST_NODE_NS;
	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		if (strcmp(costs[i].name, solver->name) == 0) {
			item_ns = costs[i].item_ns;
			budget->node_ns = costs[i].node_ns;
		}
	}
	if (budget->work_ns != NULL)
		*budget->work_ns += (uint64_t)problem->count * item_ns;
}

enum seam_rc seam__solver_run(const struct seam__solver *solver, const struct seam__problem *problem,
	struct seam__budget *budget, struct seam__placement *best)
{
	if (problem->count == 0) {
		best->peak_bytes = 0;
		return SEAM_OK;
	}
	if (!seam__solver_can(solver, seam__problem_features(problem)))
		return SEAM_UNSUPPORTED;
	count_work(solver, problem, budget);
	return solver->solve(problem, budget, best, solver->argument);
}

enum seam_rc seam__placement_init(struct seam__placement *placement, const struct seam__problem *problem)
{
	struct seam__placement made = {.peak_bytes = SEAM__PEAK_NONE};

	if (problem->count > 0) {
		made.offsets = seam__meta_array(problem->meta, problem->count, sizeof(*made.offsets));
		if (made.offsets == NULL)
			return SEAM_OOM_META;
	}
	*placement = made;
	return SEAM_OK;
}

void seam__placement_fini(struct seam__placement *placement, const struct seam__problem *problem)
{
	seam__meta_free(problem->meta, placement->offsets, (size_t)problem->count * sizeof(*placement->offsets));
	*placement = (struct seam__placement){.peak_bytes = SEAM__PEAK_NONE};
}

uint64_t seam__placement_peak(const struct seam__problem *problem, const uint64_t *offsets)
{
	uint64_t peak = 0;

	for (uint32_t i = 0; i < problem->count; i++)
		if (offsets[i] + problem->items[i].size_bytes > peak)
			peak = offsets[i] + problem->items[i].size_bytes;
	return peak;
}

bool seam__placement_improve(struct seam__placement *best, const struct seam__problem *problem,
	struct seam__budget *budget, const uint64_t *offsets, const char *solver)
{
	const uint64_t peak = seam__placement_peak(problem, offsets);

	if (peak >= best->peak_bytes)
		return false;
	best->peak_bytes = peak;
	if (best->offsets != offsets && problem->count > 0)
		memcpy(best->offsets, offsets, (size_t)problem->count * sizeof(*offsets));
	if (budget->progress != NULL)
		budget->progress(budget->progress_context, solver, peak);
	return true;
}
