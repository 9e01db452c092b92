/* exact_window.h: what exact search works on: the items, and the times that matter.
 *
 * Sections of time are the columns of the problem's timeline; an item covers `width` of them from `first` on, round the
 * end where it must. No item has an address yet: where some do, others solve the problem (around_fixed.c).
 *
 * An item is taken to live as long as the longest of its holds, so what is found is right on any stream, but with
 * several streams a better placement may exist.
 *
 * Invariants, named by seam__exact_window_check():
 *   W1  width is from 1 to sections, first < sections; a section is covered by at least one item
 *   W2  the lists by section name exactly the items that start there, and those that cover it, ascending in size
 *   W3  load is the sum of the sizes that cover a section; lower_bytes is the largest load
 * Immutable once made. No locks.
 */
#ifndef SEAM_EXACT_WINDOW_H
#define SEAM_EXACT_WINDOW_H

#include "problem.h"

struct seam_exact_item {
	uint64_t size_bytes;
	uint32_t first;  /* section */
	uint32_t width;  /* sections */
	uint32_t span;   /* positions, the longest hold */
	uint32_t number; /* of the item in the problem */
};

struct seam_exact_window {
	const struct seam_problem *problem;
	struct seam_exact_item *items; /* ascending in size */
	uint32_t count;
	uint32_t sections;
	uint32_t *start_index; /* sections + 1: starts[start_index[s] ...] are the items whose first section is s */
	uint32_t *starts;      /* count */
	uint32_t *cover_index; /* sections + 1: covers[...] are the items that cover s */
	uint32_t *covers;      /* sum of widths */
	uint64_t *load_bytes;  /* sections: sum of the items' sizes */
	uint64_t lower_bytes;  /* no placement of these items has a smaller peak */
	uint64_t unit_bytes;   /* divides every size */
};

/* Of a problem with items, none of them fixed; in its region. Errors: SEAM_OOM_META; SEAM_UNSUPPORTED where the lists
 * would be larger than 512 entries an item and 2^20 in all, which no search could walk in time. */
SEAM_MUST_USE enum seam_rc seam__exact_window_init(
	struct seam_exact_window *window, const struct seam_problem *problem);

/* Name of the first broken invariant, or NULL. O(sum of widths). */
const char *seam__exact_window_check(const struct seam_exact_window *window);

/* The section `steps` (at most `sections`) after `section`, round the end. */
static inline uint32_t seam__exact_ahead(const struct seam_exact_window *window, uint32_t section, uint32_t steps)
{
	uint32_t sum = section + steps;

	return sum >= window->sections ? sum - window->sections : sum;
}

static inline uint32_t seam__exact_before(const struct seam_exact_window *window, uint32_t section)
{
	return section == 0 ? window->sections - 1 : section - 1;
}

/* Sections from `from` forward to `to`. */
static inline uint32_t seam__exact_distance(const struct seam_exact_window *window, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + (window->sections - from);
}

#endif
