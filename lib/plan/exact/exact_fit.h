/* exact_fit.h: gaps of a skyline: how far they reach, and what fits into one.
 *
 * Not here: what follows from that (exact_gaps.h).
 * Pure. No locks.
 */
#ifndef SEAM_EXACT_FIT_H
#define SEAM_EXACT_FIT_H

#include "exact_skyline.h"

/* A section of a gap, where to decide. */
struct seam_exact_spot {
	uint64_t floor_bytes;
	uint64_t left_bytes; /* floor of the neighbour on the left, or SEAM__EXACT_OPEN */
	uint64_t right_bytes;
	uint32_t section;
	uint32_t first; /* of the gap */
	uint32_t length;
};

/* The row of equal floors that `section` is in, without a section to decide. Where it goes all around the circle it
 * begins at `section`. */
struct seam_exact_spot seam__exact_row_of(const struct seam_exact_skyline *skyline, uint32_t section);

/* May `item` stand at the floor of the gap? It covers at least one of its sections. */
bool seam__exact_fits(const struct seam_exact_skyline *skyline, const struct seam_exact_spot *gap, uint32_t item);

/* Floor of the lower neighbour, the lowest level above the floor that does not come from items in the gap;
 * SEAM__EXACT_OPEN where there is none. */
uint64_t seam__exact_lower_side(const struct seam_exact_spot *gap);

#endif
