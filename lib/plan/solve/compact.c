/* compact.c: the solver "compact": drops every item to its lowest place. See solvers.h.
 *
 * Where an item lay is free when its turn comes, for those below it have only gone down; a chain may be an exception,
 * and then the result may be worse and is not taken.
 */
#include "solvers.h"

#include <string.h>

#include "meta.h"
#include "order.h"
#include "placer.h"

#define ROUNDS 8u /* more have never helped */

/* Items in the order of their addresses in `offsets`. SEAM_NOT_FOUND: something does not fit, or the budget is spent.
 */
static enum seam_rc drop_all(struct seam__placer *placer, struct seam__order *order, const uint64_t *offsets,
	uint64_t ceiling_bytes, struct seam__budget *budget)
{
	enum seam_rc rc;

	rc = seam__order_by_offset(order, offsets);
	if (rc == SEAM_OK)
		rc = seam__placer_start(placer);
	for (uint32_t n = 0; rc == SEAM_OK && n < order->count; n++)
		rc = seam__placer_drop(placer, order->heads[n], SEAM__FIT_FIRST, ceiling_bytes, budget);
	return rc;
}

enum seam_rc seam__solve_compact(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument)
{
	size_t offset_bytes = (size_t)problem->count * sizeof(uint64_t);
	struct seam__order order = {0};
	struct seam__placer placer = {0};
	uint64_t *last = NULL; /* where everything was before the round */
	enum seam_rc rc;

	(void)argument;
	if (best->peak_bytes == SEAM__PEAK_NONE || best->peak_bytes <= problem->lower_bytes)
		return SEAM_OK;
	rc = seam__order_init(&order, problem, "");
	if (rc == SEAM_OK)
		rc = seam__placer_init(&placer, problem);
	if (rc == SEAM_OK) {
		last = seam__meta_alloc(problem->meta, offset_bytes);
		rc = last == NULL ? SEAM_OOM_META : SEAM_OK;
	}
	if (rc == SEAM_OK)
		memcpy(last, best->offsets, offset_bytes);
	for (unsigned round = 0; rc == SEAM_OK && round < ROUNDS && best->peak_bytes > budget->target_bytes; round++) {
		rc = drop_all(&placer, &order, last, best->peak_bytes, budget);
		if (rc != SEAM_OK || memcmp(last, placer.made.offsets, offset_bytes) == 0)
			break;
		(void)seam__placement_improve(best, problem, budget, placer.made.offsets, "compact");
		memcpy(last, placer.made.offsets, offset_bytes);
	}
	seam__meta_free(problem->meta, last, offset_bytes);
	seam__placer_fini(&placer);
	seam__order_fini(&order);
	return rc == SEAM_NOT_FOUND ? SEAM_OK : rc;
}
