/* order.h: in which order a constructor takes the items.
 *
 * An order is a word of letters, the most important first:
 *   T  largest total live at the item's densest position first
 *   W  largest size first (width, as MiniMalloc calls it)
 *   A  largest size times span first
 *   B  earliest begin first
 * and the item's number last, so that an order is total. Items that live all around the circle (or the whole line)
 * stand before all others: they conflict with everything, and nothing is lost by stacking them first. What is ordered
 * are heads: items linked behind another are placed with it, and counted with it in W and A. Fixed items are not in an
 * order.
 *
 * No locks.
 */
#ifndef SEAM_ORDER_H
#define SEAM_ORDER_H

#include <stdint.h>

#include <seam/rc.h>

#include "problem.h"

#define SEAM__ORDER_LETTERS 4u /* a word has no more */

struct seam_order {
	const struct seam_problem *problem;
	uint32_t *heads; /* in order */
	uint32_t count;
};

/* In the problem's region. Errors: SEAM_OOM_META. O(n log n). */
SEAM_MUST_USE enum seam_rc seam__order_init(
	struct seam_order *order, const struct seam_problem *problem, const char *word);

/* The same heads in the order of the addresses that a placement gives them. Errors: SEAM_OOM_META, the order stays. */
SEAM_MUST_USE enum seam_rc seam__order_by_offset(struct seam_order *order, const uint64_t *offsets);

#endif
