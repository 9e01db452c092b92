/* exact_gaps.h: the rules of exact search: what must be, what cannot be, and where to decide next.
 *
 * A gap is a longest row of neighbouring sections with one floor that lies below the floors beside it. Next above a
 * section of a gap stands an item that fits into the gap, or nothing stands at the floor there. So:
 *   - where no unplaced item of a section fits, the section is raised to the lowest level that one of them can have; -
 *   where all that fits cannot fill a section up to the lower neighbour and the rest exceeds its slack, all is lost; -
 *   a decision is taken at one section of one gap: each item that fits there, or none. These exclude each other, and
 *   one
 *     of them is true, whatever section is taken: the style says which (few choices, little slack, low, wide).
 * Where no unplaced item crosses from one section to the next, the parts on both sides are problems of their own.
 *
 * A gap whose sections and neighbours were not touched is not looked at again: what is known of it is kept, and a tree
 * over all sections finds the best of a part. So a step costs what it changes, not what there is. No locks.
 */
#ifndef SEAM_EXACT_GAPS_H
#define SEAM_EXACT_GAPS_H

#include "exact_fit.h"

/* Which section of which gap is decided first. */
enum seam_exact_style {
	SEAM__EXACT_FEWEST,   /* that with the fewest choices */
	SEAM__EXACT_TIGHTEST, /* the least slack, then the fewest choices */
	SEAM__EXACT_LOWEST,   /* the lowest floor, then the fewest choices */
	SEAM__EXACT_NARROW,   /* no real choice at all; then the narrowest gap, then the fewest choices */
	SEAM__EXACT_STYLES
};

/* A part of the sections that nothing unplaced connects with the rest. */
struct seam_exact_part {
	uint32_t first;
	uint32_t length;
	struct seam_exact_spot spot;
};

/* What is known of the gap that begins at a section. */
struct seam_exact_gap {
	struct seam_exact_spot spot;
	uint64_t rank;  /* by style; lower is decided earlier */
	uint64_t score; /* where ranks are equal */
};

struct seam_exact_gaps {
	struct seam_exact_skyline *skyline;
	struct seam_exact_gap *known; /* per first section; valid where the tree's leaf says so */
	uint32_t *tree;        /* leaf s, at leaves + s: s or SEAM__ITEM_NONE; above: the better of the two below */
	uint32_t leaves;       /* a power of two */
	uint32_t *fit_changes; /* per place in a gap: items that fit, as differences */
	uint64_t *fit_bytes;   /* and their sizes */
	struct seam_exact_part *parts; /* of the last call of split */
	uint32_t part_count;
	enum seam_exact_style style;
	uint64_t work_ns; /* what all took since init, estimated from what was looked at */
};

/* In the region of the window's problem. Errors: SEAM_OOM_META. The skyline must outlive it. */
SEAM_MUST_USE enum seam_rc seam__exact_gaps_init(struct seam_exact_gaps *gaps, struct seam_exact_skyline *skyline);

/* Starts anew: seam__exact_skyline_reset(), and the style of what follows. */
void seam__exact_gaps_reset(struct seam_exact_gaps *gaps, uint64_t capacity_bytes, enum seam_exact_style style);

/* Applies the rules where floors have changed, until nothing changes. False: nothing can come of this (the caller
 * undoes). */
bool seam__exact_gaps_settle(struct seam_exact_gaps *gaps);

/* Cuts a part, settled, where nothing unplaced crosses: gaps->parts, each with a spot to decide, without those in which
 * all is placed. Only between the sections of `row` a cut may be new. */
void seam__exact_gaps_split(
	struct seam_exact_gaps *gaps, const struct seam_exact_row *part, const struct seam_exact_row *row);

/* The lowest level above the floor that any unplaced item at the spot's section can have if none stands at the floor;
 * SEAM__EXACT_OPEN if there is none. */
uint64_t seam__exact_gaps_next_level(struct seam_exact_gaps *gaps, const struct seam_exact_spot *spot);

#endif
