/* exact_fit.h: gaps of a skyline: how far they reach, what fits into one, how high the rest must stand.
 *
 * Not here: what follows from that (exact_gaps.h).
 * Pure. No locks.
 */
#ifndef SEAM_EXACT_FIT_H
#define SEAM_EXACT_FIT_H

#include "exact_skyline.h"

/* A section of a gap, where to decide. */
struct seam__exact_spot {
	uint64_t floor_bytes;
	uint64_t left_bytes; /* floor of the neighbour on the left, or SEAM__EXACT_OPEN */
	uint64_t right_bytes;
	uint32_t section;
	uint32_t first; /* of the gap */
	uint32_t length;
};

/* The row of equal floors that `section` is in, without a section to decide. Where it goes all around the circle it
 * begins at `section`. */
struct seam__exact_spot seam__exact_row_of(const struct seam__exact_skyline *skyline, uint32_t section);

/* May `item` stand at the floor of the gap? It covers at least one of its sections. */
bool seam__exact_fits(const struct seam__exact_skyline *skyline, const struct seam__exact_spot *gap, uint32_t item);

/* The lowest level that an item which does not fit can have: on the neighbour that it reaches over, or on a wall. 0
 * where it fits. */
uint64_t seam__exact_level_outside(const struct seam__exact_skyline *skyline, const struct seam__exact_spot *gap,
	const struct seam__exact_item *item);

/* Floor of the lower neighbour; SEAM__EXACT_OPEN where there is none. */
uint64_t seam__exact_lower_side(const struct seam__exact_spot *gap);

/* The lowest level above the floor that does not come from items in the gap: the lower neighbour, or the top of a wall.
 */
uint64_t seam__exact_lowest_support(const struct seam__exact_skyline *skyline, const struct seam__exact_spot *gap);

#endif
