/* greedy.c: the solvers of the portfolio: items in an order, each into the lowest gap. See solvers.h.
 *
 * A run ends at once when something does not fit below the best peak known.
 */
#include "solvers.h"

#include "order.h"
#include "placer.h"

/* SEAM_NOT_FOUND: not below the best peak, or the budget is spent. */
static enum seam_rc place(
	struct seam_placer *placer, const struct seam_order *order, uint64_t ceiling_bytes, struct seam_budget *budget)
{
	enum seam_rc rc = seam__placer_start(placer);

	for (uint32_t n = 0; rc == SEAM_OK && n < order->count; n++)
		rc = seam__placer_drop(placer, order->heads[n], ceiling_bytes, budget);
	return rc;
}

enum seam_rc seam__solve_greedy(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument)
{
	struct seam_order order;
	struct seam_placer placer;
	uint64_t ceiling_bytes = best->peak_bytes == SEAM__PEAK_NONE ? UINT64_MAX : best->peak_bytes - 1;

	if (best->peak_bytes <= budget->target_bytes || best->peak_bytes <= problem->lower_bytes)
		return SEAM_OK;
	enum seam_rc rc = seam__order_init(&order, problem, argument);
	if (rc == SEAM_OK)
		rc = seam__placer_init(&placer, problem);
	if (rc == SEAM_OK)
		rc = place(&placer, &order, ceiling_bytes, budget);
	if (rc == SEAM_OK)
		(void)seam__placement_improve(best, problem, budget, placer.made.offsets);
	return rc == SEAM_NOT_FOUND ? SEAM_OK : rc;
}
