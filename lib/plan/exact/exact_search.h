/* exact_search.h: depth-first search for a placement below a capacity, by the decisions of exact_gaps.h.
 *
 * Parts that nothing connects are searched one after the other; when one has no answer, the decision that cut it off is
 * taken back at once, whatever was found for its siblings. States that had no answer are remembered, for later attempts
 * too: the same items over the same heights come again on other ways.
 *
 * Not here: which capacities are tried, and how long (exact.c).
 * No allocation in the search. Deterministic. No locks.
 */
#ifndef SEAM_EXACT_SEARCH_H
#define SEAM_EXACT_SEARCH_H

#include "exact_gaps.h"
#include "solver.h"

struct seam_exact_frame; /* a decision */
struct seam_exact_task;  /* a part that waits to be searched */

struct seam_exact_attempt {
	uint64_t capacity_bytes;
	uint64_t node_limit;
	const double *priorities; /* per item of the window: where several fit, the highest is tried first */
	enum seam_exact_style style;
	bool loose; /* any placement will do: no step back */
};

enum seam_exact_result {
	SEAM__EXACT_FOUND, /* skyline.offsets is a placement */
	SEAM__EXACT_NONE,  /* there is none below this capacity */
	SEAM__EXACT_SPENT  /* the limit, the budget or the memory of the search ended it */
};

struct seam_exact_search {
	struct seam_exact_skyline skyline;
	struct seam_exact_gaps gaps;
	struct seam_exact_frame *frames;
	uint32_t frame_count;
	uint32_t frame_capacity;
	struct seam_exact_task *tasks;
	uint32_t task_count;
	uint32_t task_capacity;
	uint32_t *choices; /* items to try, of all frames */
	uint32_t choice_count;
	uint32_t choice_capacity;
	uint64_t *failed;         /* keys of states without answer; 0: free */
	uint32_t failed_capacity; /* a power of two */
	bool incomplete;          /* choices were left out in this attempt: failing proves nothing */
	uint64_t nodes;           /* decisions tried by the last attempt */
	uint64_t paid;            /* taken from budgets by all attempts */
};

/* In the region of the window's problem. Errors: SEAM_OOM_META. The window must outlive it. It points into itself: it
 * must stay where it is. */
SEAM_MUST_USE enum seam_rc seam__exact_search_init(
	struct seam_exact_search *search, const struct seam_exact_window *window);

/* One attempt. A spent budget ends it: the attempt itself and every decision take from it by the sections of the part,
 * and more where looking at them takes long. */
enum seam_exact_result seam__exact_search_try(
	struct seam_exact_search *search, const struct seam_exact_attempt *attempt, struct seam_budget *budget);

#endif
