/* placer.c: see placer.h. */
#include "placer.h"

#define STEPS_PER_NODE 64u /* of a search in the gaps */

enum seam_rc seam__placer_init(struct seam_placer *placer, const struct seam_problem *problem)
{
	*placer = (struct seam_placer){.problem = problem};
	enum seam_rc rc = seam__timeline_init(&placer->timeline, problem);
	if (rc == SEAM_OK)
		rc = seam__gaps_init(&placer->gaps, &placer->timeline);
	if (rc == SEAM_OK)
		rc = seam__placement_init(&placer->made, problem);
	return rc;
}

enum seam_rc seam__placer_start(struct seam_placer *placer)
{
	const struct seam_problem *problem = placer->problem;
	enum seam_rc rc = SEAM_OK;

	seam__gaps_clear(&placer->gaps);
	for (uint32_t i = 0; rc == SEAM_OK && i < problem->count; i++)
		if (problem->items[i].fixed_bytes != SEAM__ADDRESS_ANY)
			rc = seam__placer_put(placer, i, problem->items[i].fixed_bytes);
	return rc;
}

enum seam_rc seam__placer_put(struct seam_placer *placer, uint32_t head, uint64_t offset_bytes)
{
	const struct seam_item *items = placer->problem->items;
	enum seam_rc rc = SEAM_OK;

	for (uint32_t i = head; rc == SEAM_OK && i != SEAM__ITEM_NONE; i = items[i].next) {
		placer->made.offsets[i] = offset_bytes;
		rc = seam__gaps_put(&placer->gaps, i, offset_bytes);
		offset_bytes += items[i].size_bytes;
	}
	return rc;
}

enum seam_rc seam__placer_drop(
	struct seam_placer *placer, uint32_t head, uint64_t ceiling_bytes, struct seam_budget *budget)
{
	uint64_t steps = placer->gaps.steps;
	uint64_t offset_bytes = 0;
	bool found = seam__gaps_find(&placer->gaps, head, ceiling_bytes, &offset_bytes);

	if (!seam__budget_spend(budget, 1 + (placer->gaps.steps - steps) / STEPS_PER_NODE) || !found)
		return SEAM_NOT_FOUND;
	return seam__placer_put(placer, head, offset_bytes);
}
