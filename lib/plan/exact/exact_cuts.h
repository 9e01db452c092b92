/* exact_cuts.h: the times that matter to exact search: where sections begin.
 *
 * The circle of positions is cut where items begin. Of neighbouring stretches only those are kept whose live set is no
 * subset of the next one's: some item ends in them. An item is taken to live as long as the longest of its holds. Not
 * here: the items of a window (exact_window.h). Immutable once made. No locks.
 */
#ifndef SEAM_EXACT_CUTS_H
#define SEAM_EXACT_CUTS_H

#include "problem.h"

/* Positions, ascending. */
struct seam_exact_cuts {
	uint32_t *at;
	uint32_t count;
	uint32_t capacity;
};

/* The problem has an item. Errors: SEAM_OOM_META. O(n log n). */
SEAM_MUST_USE enum seam_rc seam__exact_cuts_init(struct seam_exact_cuts *cuts, const struct seam_problem *problem);
void seam__exact_cuts_fini(
	struct seam_exact_cuts *cuts, const struct seam_problem *problem); /* a zeroed one is allowed */

/* The cuts that item `number` is live at: `*ret_width` of them from `*ret_first` on, round the end. O(log n). */
void seam__exact_cuts_covered(const struct seam_problem *problem, const struct seam_exact_cuts *cuts, uint32_t number,
	uint32_t *ret_first, uint32_t *ret_width);

#endif
