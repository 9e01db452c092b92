/* fit_order.h: which operations of a schedule end before which begin, whatever their times: for fit_check.c.
 *
 * It follows from lanes and from what operations are after: a clock for each operation says how many of each lane, of
 * this iteration and of the one before, have ended when it begins. Not here: times. No locks: one thread at a time.
 */
#ifndef SEAM_FIT_ORDER_H
#define SEAM_FIT_ORDER_H

#include <stdbool.h>

#include <seam/fit.h>

#include "region.h"

struct seam_fit_order {
	const struct seam_fit_schedule *schedule;
	struct seam_fit_clock *clocks;
	uint32_t *ordinals; /* of each operation on its lane, from 1 */
};

/* Operations are on known lanes, and after operations of the list. Arrays are taken from the region. SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__fit_order_init(
	struct seam_fit_order *order, const struct seam_fit_schedule *schedule, struct seam_region *region);

/* Operation a has ended when b begins, of the same iteration. SEAM_FIT_NONE never has. */
bool seam__fit_ends_before(const struct seam_fit_order *order, uint32_t a, uint32_t b);

/* Operation a of the iteration before has. */
bool seam__fit_ended_before(const struct seam_fit_order *order, uint32_t a, uint32_t b);

#endif
