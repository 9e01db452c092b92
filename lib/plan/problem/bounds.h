/* bounds.h: what no placement can be smaller than.
 *
 * Where streams fall into sets that never share, each set needs the most that it has
 * live at once for itself: the same for every number of copies: the copies of a period live one behind the
 * other. Pure. No locks.
 */
#ifndef SEAM_BOUNDS_H
#define SEAM_BOUNDS_H

#include "problem.h"

/* Numbers the sets of streams that share memory with each other only; ret_sets: per stream of the problem. Streams
 * belong together when some item of one may pass to the other, or is linked to one of the other. Returns how many sets
 * there are. O(count * streams). */
uint32_t seam__bounds_sets(const struct seam_problem *problem, uint32_t *ret_sets);

/* The sum of the most that each set has live at once. The problem need not be finished. Errors: SEAM_OOM_META.
 * O(count * streams + circle * sets). */
SEAM_MUST_USE enum seam_rc seam__bounds_apart(const struct seam_problem *problem, uint64_t *ret_bytes);

#endif
