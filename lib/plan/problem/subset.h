/* subset.h: some of a problem's items as a problem of their own, and where most is live.
 *
 * What solvers that take a problem apart by importance share. Parts that never meet are another matter (part.h).
 * No locks.
 */
#ifndef SEAM_SUBSET_H
#define SEAM_SUBSET_H

#include "problem.h"

/* The items of `whole` whose mark is `mark`, in its order, on the same circle and with the same streams. None is linked
 * to one with another mark. It lies in the region of the whole. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__subset_make(
	const struct seam_problem *whole, const uint8_t *marks, uint8_t mark, struct seam_problem *ret_subset);

/* Addresses of a subset's items, `base_bytes` higher, into those of the whole. */
void seam__subset_spread(const struct seam_problem *whole, const uint8_t *marks, uint8_t mark, const uint64_t *offsets,
	uint64_t base_bytes, uint64_t *whole_offsets);

/* How many of the busy positions each item lives at: those where less than `spare_bytes` are left of `most_bytes`.
 * ret_positions: one for each item. Errors: SEAM_OOM_META. O(count * streams + circle). */
SEAM_MUST_USE enum seam_rc seam__subset_busy(
	const struct seam_problem *problem, uint64_t most_bytes, uint64_t spare_bytes, uint32_t *ret_positions);

#endif
