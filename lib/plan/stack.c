/* stack.c: the solver "stack": every item above the one before. See solvers.h. */
#include "solvers.h"

#include "meta.h"

enum seam_rc seam__solve_stack(const struct seam__problem *problem, struct seam__budget *budget,
                               struct seam__placement *best, const void *argument)
{
	struct seam__placement made;
	uint64_t top = 0;
	enum seam_rc rc = seam__placement_init(&made, problem);

	(void)argument;
	if (rc != SEAM_OK)
		return rc;
	for (uint32_t i = 0; i < problem->count; i++) {
		made.offsets[i] = top;
		top += problem->items[i].size_bytes;
	}
	(void)seam__budget_spend(budget, problem->count);
	(void)seam__placement_improve(best, problem, budget, made.offsets, "stack");
	seam__placement_fini(&made, problem);
	return SEAM_OK;
}
