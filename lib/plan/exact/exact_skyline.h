/* exact_skyline.h: the state of exact search: how high each section is filled, what is still to be placed, and the way
 * back.
 *
 * Every section has a floor: what is placed there lies below it, what is not yet placed will lie at it or above. An
 * item is placed where all its sections have one floor. A section where nothing may lie at the floor is raised: the
 * bytes passed over are lost, and its slack (what may be lost there at all) shrinks by them.
 *
 * Which choices there are: exact_gaps.h; which is tried when: exact_search.h.
 *
 * Invariants, named by seam__exact_skyline_check():
 *   SK1  rest is the sum of the sizes of unplaced items that cover a section, crossing the number of those that cover
 *       the next one too
 *   SK2  floor + rest + slack = capacity
 *   SK3  an unplaced item has its first section's start key in it
 * No locks.
 */
#ifndef SEAM_EXACT_SKYLINE_H
#define SEAM_EXACT_SKYLINE_H

#include <stdbool.h>

#include "exact_window.h"

#define SEAM__EXACT_OPEN UINT64_MAX /* no neighbour beside */

struct seam_exact_section {
	uint64_t floor_bytes;
	uint64_t rest_bytes;
	int64_t slack_bytes; /* negative: nothing can come of this */
	uint64_t start_key;  /* of the unplaced items that start here */
	uint32_t crossing;
	uint32_t last_raise; /* on the trail; may be out of date */
};

/* `length` sections from `first` on. */
struct seam_exact_row {
	uint32_t first;
	uint32_t length;
};

/* What happened, to be undone: an item was placed, or (item SEAM__ITEM_NONE) a section raised. */
struct seam_exact_step {
	uint64_t floor_bytes; /* before */
	uint64_t level_bytes; /* raised to */
	uint32_t item;
	uint32_t section;
};

struct seam_exact_skyline {
	const struct seam_exact_window *window;
	struct seam_exact_section *sections;
	uint64_t *offsets; /* per item of the window; valid where placed */
	uint64_t *item_keys;
	bool *placed;
	struct seam_exact_step *trail;
	uint32_t trail_count;
	uint32_t trail_capacity;
	uint32_t decided; /* steps from here on are undone together: raises of one section may become one */
	uint64_t capacity_bytes;
	uint64_t *touched;       /* a bit per section: its floor or a neighbour's has changed since exact_gaps looked */
	uint64_t *touched_words; /* a bit per word of `touched` that is not 0 */
	bool overflow;           /* the trail was too short: what failed since has not been proved to fail */
};

/* In the region of the window's problem. Errors: SEAM_OOM_META. The window must outlive it. */
SEAM_MUST_USE enum seam_rc seam__exact_skyline_init(
	struct seam_exact_skyline *skyline, const struct seam_exact_window *window);

/* Everything unplaced, floors at 0. capacity_bytes: at least the window's lower bound. */
void seam__exact_skyline_reset(struct seam_exact_skyline *skyline, uint64_t capacity_bytes);

/* Places an item at `floor_bytes`, the floor of all its sections. False: no room on the trail. */
bool seam__exact_skyline_place(struct seam_exact_skyline *skyline, uint32_t item, uint64_t floor_bytes);

/* Raises a section to `level` bytes. False: slack is overdrawn, or the trail is full; to be undone by the caller in any
 * case. */
bool seam__exact_skyline_raise(struct seam_exact_skyline *skyline, uint32_t section, uint64_t level);

/* Sections that have to be looked at: marks `row`, or takes its marks away; finds a marked one (SEAM__ITEM_NONE: there
 * is none). */
void seam__exact_skyline_mark(struct seam_exact_skyline *skyline, const struct seam_exact_row *row, bool touched);
uint32_t seam__exact_skyline_touched(const struct seam_exact_skyline *skyline);

/* Back to when trail_count was `mark`. */
void seam__exact_skyline_undo(struct seam_exact_skyline *skyline, uint32_t mark);

/* Names the state of `length` sections from `first`: what is unplaced, and how much height is left. Equal states have
 * equal keys, and others different ones but for accidents of 64 bits. Never 0. */
uint64_t seam__exact_skyline_key(const struct seam_exact_skyline *skyline, uint32_t first, uint32_t length);

/* Name of the first broken invariant, or NULL. */
const char *seam__exact_skyline_check(const struct seam_exact_skyline *skyline);

#endif
