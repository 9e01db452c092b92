/* solver.c: see solver.h. */
#include "solver.h"

#include <string.h>

#include "clock.h"
#include "region.h"

#define LOOK_NODES 1000u /* between two looks at the clock */

void seam__budget_init(struct seam_budget *budget)
{
	*budget = (struct seam_budget){.deadline_ns = UINT64_MAX, .nodes_left = UINT64_MAX, .until_look = LOOK_NODES};
}

bool seam__budget_spend(struct seam_budget *budget, uint64_t nodes)
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

unsigned seam__problem_features(const struct seam_problem *problem)
{
	unsigned has = 0;

	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *item = &problem->items[i];

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

enum seam_rc seam__placement_init(struct seam_placement *placement, const struct seam_problem *problem)
{
	*placement = (struct seam_placement){.peak_bytes = SEAM__PEAK_NONE,
		.offsets = seam__region_array(problem->region, problem->count, sizeof(*placement->offsets))};
	return placement->offsets != NULL ? SEAM_OK : SEAM_OOM_META;
}

uint64_t seam__placement_peak(const struct seam_problem *problem, const uint64_t *offsets)
{
	uint64_t peak = 0;

	for (uint32_t i = 0; i < problem->count; i++)
		if (offsets[i] + problem->items[i].size_bytes > peak)
			peak = offsets[i] + problem->items[i].size_bytes;
	return peak;
}

bool seam__placement_improve(struct seam_placement *best, const struct seam_problem *problem,
	struct seam_budget *budget, const uint64_t *offsets)
{
	const uint64_t peak = seam__placement_peak(problem, offsets);

	if (peak >= best->peak_bytes)
		return false;
	best->peak_bytes = peak;
	if (best->offsets != offsets && problem->count > 0)
		memcpy(best->offsets, offsets, (size_t)problem->count * sizeof(*offsets));
	if (budget->progress != NULL)
		budget->progress(budget->progress_context, budget->solver, peak);
	return true;
}
