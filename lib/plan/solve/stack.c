/* stack.c: the solver "stack": every item above the one before, all above what is fixed. It has an answer to every
 * problem. See solvers.h. */
#include "solvers.h"

/* Nobody's successor: marked by an address; the others follow their heads. */
static void mark_heads(const struct seam_problem *problem, uint64_t *offsets)
{
	for (uint32_t i = 0; i < problem->count; i++)
		offsets[i] = SEAM__ADDRESS_ANY;
	for (uint32_t i = 0; i < problem->count; i++)
		if (problem->items[i].next != SEAM__ITEM_NONE)
			offsets[problem->items[i].next] = 0;
}

static void place_all(const struct seam_problem *problem, uint64_t *offsets)
{
	uint64_t top = 0;

	mark_heads(problem, offsets);
	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *item = &problem->items[i];

		if (item->fixed_bytes != SEAM__ADDRESS_ANY && item->fixed_bytes + item->size_bytes > top)
			top = item->fixed_bytes + item->size_bytes;
	}
	for (uint32_t i = 0; i < problem->count; i++) {
		if (offsets[i] != SEAM__ADDRESS_ANY)
			continue;
		if (problem->items[i].fixed_bytes != SEAM__ADDRESS_ANY) {
			offsets[i] = problem->items[i].fixed_bytes;
			continue;
		}
		for (uint32_t j = i; j != SEAM__ITEM_NONE; j = problem->items[j].next) {
			offsets[j] = top;
			top += problem->items[j].size_bytes;
		}
	}
}

enum seam_rc seam__solve_stack(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument)
{
	struct seam_placement made;
	enum seam_rc rc = seam__placement_init(&made, problem);

	(void)argument;
	if (rc != SEAM_OK)
		return rc;
	place_all(problem, made.offsets);
	(void)seam__budget_spend(budget, problem->count);
	(void)seam__placement_improve(best, problem, budget, made.offsets);
	return SEAM_OK;
}
