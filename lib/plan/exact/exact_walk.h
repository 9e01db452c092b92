/* exact_walk.h: lowers the peak of a window's items by one attempt of search after the other.
 *
 * Attempts are short and many, with another order and style each time and limits that grow: how long a search takes has
 * a heavy tail, and the next way of looking often finds at once what the last one did not in a million steps. Each
 * round asks for the lowest capacity that may be possible, then for one between that and the best: an answer improves
 * as time passes, and a capacity that is proved impossible narrows the walk from below. Not here: the search
 * (exact_search.h); which items a window has (exact.c, exact_repair.h). Deterministic but for the budget's deadline. No
 * locks.
 */
#ifndef SEAM_EXACT_WALK_H
#define SEAM_EXACT_WALK_H

#include "exact_search.h"

struct seam_exact_walk {
	const struct seam_exact_window *window;
	struct seam_exact_search search;
	double *priorities;
	uint64_t *offsets;   /* per item of the window: the best placement */
	uint64_t peak_bytes; /* its peak, or SEAM__PEAK_NONE */
	uint64_t low_bytes;  /* no placement of the window has a smaller peak */
	uint64_t random;
	uint32_t round;
	uint32_t caution; /* how near to the best the second question is: half way, three quarters, ... */
};

/* In the region of the window's problem. Errors: SEAM_OOM_META. The window must outlive it. It points into itself: it
 * must stay where it is. */
SEAM_MUST_USE enum seam_rc seam__exact_walk_init(struct seam_exact_walk *walk, const struct seam_exact_window *window);

/* The window's items are placed somehow: offsets, peak. False: the budget did not allow it. */
bool seam__exact_walk_begin(struct seam_exact_walk *walk, struct seam_budget *budget);

/* Is there nothing left to find below the peak and above the target? */
bool seam__exact_walk_is_over(const struct seam_exact_walk *walk, uint64_t target_bytes);

/* One round, not when it is over. Returns whether peak and offsets have become better. */
bool seam__exact_walk_round(struct seam_exact_walk *walk, uint64_t target_bytes, struct seam_budget *budget);

#endif
