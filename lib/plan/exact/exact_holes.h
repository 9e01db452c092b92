/* exact_holes.h: whether something unplaced fits into the holes that raising left (exact_skyline.h).
 *
 * An item fits if one stretch of addresses, as high as it is, lies in the holes of all its sections. That is asked
 * whenever a section was raised, and answered by what has changed: nothing fitted before, so what fits now reaches
 * above the floor of before. In most cases the section ahead stands at that floor still, and only what ends here is
 * looked at. Items that cover a section share others: what holes have in common is worked out once for all of them,
 * outwards, as far as it is of use. No allocation but in init. No locks.
 */
#ifndef SEAM_EXACT_HOLES_H
#define SEAM_EXACT_HOLES_H

#include <stdbool.h>
#include <stdint.h>

#include "exact_window.h"

struct seam_exact_skyline;

struct seam_exact_hole {
	uint64_t bottom_bytes;
	uint64_t top_bytes;
};

struct seam_exact_holes {
	struct seam_exact_hole
		*ahead; /* sections: what the holes from one section to the nth ahead of it have in common */
	struct seam_exact_hole *behind; /* the same backwards */
	uint32_t *end_index; /* sections + 1: ends[end_index[s] ...] are the items whose last section is s, ascending in
				size */
	uint32_t *ends;      /* count */
	uint64_t looks;      /* at items and sections, in all */
};

/* In the region of the window's problem. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__exact_holes_init(
	struct seam_exact_holes *holes, const struct seam_exact_window *window);

/* The section was raised from `floor_bytes`, and before that no unplaced item fitted into the holes of its sections.
 * Does one fit now? Of the items that cover the section the smallest are tried. */
bool seam__exact_holes_fit(struct seam_exact_holes *holes, const struct seam_exact_skyline *skyline, uint32_t section,
	uint64_t floor_bytes);

/* How many items end at the section, placed or not. */
static inline uint32_t seam__exact_holes_ends(const struct seam_exact_holes *holes, uint32_t section)
{
	return holes->end_index[section + 1] - holes->end_index[section];
}

#endif
