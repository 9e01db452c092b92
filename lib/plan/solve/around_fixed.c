/* around_fixed.c: the solver for memory that others occupy in part for good.
 *
 * Where some addresses are taken all the time (residents in chunks of the arena), the solvers that build from the
 * bottom up do badly: the best of them put everything on top. But what is taken lies low and close together. So what is
 * free between (the *gaps*) is filled first, with items that are live where most bytes are, those first that take
 * most of that time's bytes; the rest is a problem without fixed items, which all solvers know, and is placed above.
 *
 * Not here: fixed items that live for a while only. No locks.
 */
#include "solvers.h"

#include <stdlib.h>

#include "region.h"
#include "placer.h"
#include "subset.h"

struct rank {
	uint64_t weight; /* bytes times positions where it is wanted away */
	uint32_t item;
};

struct around {
	const struct seam_problem *problem;
	uint64_t roof_bytes; /* end of the highest fixed item: the gaps lie below */
	uint64_t gap_bytes;  /* what is free there */
	struct rank *ranks;
	uint32_t count;  /* of them */
	uint8_t *placed; /* per item: it is fixed, or in a gap */
	struct seam_placer placer;
};

/* Is the item there at all times, for everybody? */
static bool stays(const struct seam_problem *problem, uint32_t i)
{
	if (problem->items[i].span < problem->circle)
		return false;
	for (uint32_t s = 0; s < problem->streams; s++)
		if (seam__problem_hold(problem, i, s) < problem->circle)
			return false;
	return true;
}

/* False: there are fixed items of another kind, or none. */
static bool look_at_fixed(struct around *around)
{
	const struct seam_problem *problem = around->problem;
	uint64_t taken_bytes = 0;

	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *item = &problem->items[i];

		if (item->fixed_bytes == SEAM__ADDRESS_ANY)
			continue;
		if (!stays(problem, i))
			return false;
		around->placed[i] = 1;
		taken_bytes += item->size_bytes;
		if (item->fixed_bytes + item->size_bytes > around->roof_bytes)
			around->roof_bytes = item->fixed_bytes + item->size_bytes;
	}
	around->gap_bytes = around->roof_bytes - taken_bytes;
	return taken_bytes > 0;
}

static int compare_ranks(const void *left, const void *right)
{
	const struct rank *a = left;
	const struct rank *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static void rank_item(struct around *around, uint32_t i, uint32_t positions)
{
	uint64_t bytes = around->problem->items[i].size_bytes;

	if (around->placed[i] == 0 && positions > 0 && bytes <= around->gap_bytes)
		around->ranks[around->count++] = (struct rank){positions * bytes, i};
}

/* The items that could make the rest lower: those that live where it would be too high otherwise. */
static enum seam_rc rank_items(struct around *around)
{
	const struct seam_problem *problem = around->problem;
	uint32_t *positions = seam__region_array(problem->region, problem->count, sizeof(*positions));
	enum seam_rc rc = SEAM_OOM_META;

	if (positions != NULL)
		rc = seam__subset_busy(problem, problem->lower_bytes, around->gap_bytes, positions);
	for (uint32_t i = 0; i < problem->count && rc == SEAM_OK; i++)
		rank_item(around, i, positions[i]);
	qsort(around->ranks, around->count, sizeof(*around->ranks), compare_ranks);
	return rc;
}

static enum seam_rc fill(struct around *around, struct seam_budget *budget)
{
	enum seam_rc rc = seam__placer_init(&around->placer, around->problem);

	if (rc == SEAM_OK)
		rc = seam__placer_start(&around->placer);
	for (uint32_t n = 0; n < around->count && rc == SEAM_OK && !budget->spent; n++) {
		uint32_t item = around->ranks[n].item;

		rc = seam__placer_drop(&around->placer, item, around->roof_bytes, budget);
		around->placed[item] = rc == SEAM_OK;
		if (rc == SEAM_NOT_FOUND)
			rc = SEAM_OK;
	}
	return rc;
}

/* Places the rest above the roof. */
static enum seam_rc stack_rest(
	struct around *around, const struct seam_problem *rest, struct seam_budget *budget, struct seam_placement *best)
{
	const struct seam_problem *problem = around->problem;
	struct seam_placement above;
	struct seam_budget own = *budget;
	uint64_t *offsets = around->placer.made.offsets;
	enum seam_rc rc = seam__placement_init(&above, rest);

	own.target_bytes = budget->target_bytes > around->roof_bytes ? budget->target_bytes - around->roof_bytes : 0;
	own.progress = NULL;
	if (rc == SEAM_OK)
		rc = budget->inner(rest, &own, &above, NULL);
	budget->nodes_left = own.nodes_left;
	budget->spent = own.spent;
	if (rc == SEAM_OK)
		seam__subset_spread(problem, around->placed, 0, above.offsets, around->roof_bytes, offsets);
	if (rc == SEAM_OK && above.peak_bytes != SEAM__PEAK_NONE)
		(void)seam__placement_improve(best, problem, budget, offsets);
	return rc;
}

enum seam_rc seam__solve_around_fixed(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument)
{
	struct around around = {.problem = problem};
	struct seam_problem rest;
	enum seam_rc rc = SEAM_OOM_META;

	(void)argument;
	if (budget->inner == NULL)
		return SEAM_OK;
	around.ranks = seam__region_array(problem->region, problem->count, sizeof(*around.ranks));
	around.placed = seam__region_array(problem->region, problem->count, 1);
	if (around.ranks != NULL && around.placed != NULL)
		rc = look_at_fixed(&around) ? SEAM_OK : SEAM_NOT_FOUND;
	if (rc == SEAM_OK)
		rc = rank_items(&around);
	if (rc == SEAM_OK)
		rc = fill(&around, budget);
	if (rc == SEAM_OK)
		rc = seam__subset_make(problem, around.placed, 0, &rest); /* what is in no gap */
	if (rc == SEAM_OK)
		rc = stack_rest(&around, &rest, budget, best);
	return rc == SEAM_NOT_FOUND ? SEAM_OK : rc;
}
