/* tracker.h: which slot of which loaded plan a request is.
 *
 * A request that the cursor of its thread and stream expects is found without any of this (matcher.c). For any other
 * one there are candidates, and a cost in bits for each: roughly the length of the shortest message that says what the
 * program did, if it did that.
 *
 *   none of the plan's                     4
 *   the next slot                          0
 *   a slot behind n others                 1 + 2 for each bit of n: the program left these out
 *   a slot that was passed over lately     0: the cursor goes back, and passes over what has been asked for
 *   one more of the last dynamic group     3
 *   a place of the index of runs           14; 1 where the frontier is, if that has left the cursor behind
 *   where an iteration begins              1 if the program says so, or if many blocks were freed that were not due
 *                                          and about as few are live; 3 in another plan if all since the last
 *                                          beginning was expected; else 7
 *
 * To that is added 1 for another thread's cursor, 2 for a slot of another size or of any, the bits of the
 * distance for a place far from the frontier, and the bits of the difference between what is live and what the plan has
 * live there. A candidate costs less by what the cursor has paid for its last requests (its *debt*), 4 for each of them
 * that stands in front of the candidate as well: then the cursor was wrong, not the program. So one unexpected request
 * is explained by what is near, and several in a row by wherever they stand together. A size that depends on data
 * stands everywhere, so it counts for no place.
 *
 * The cheapest is taken, of equal ones the first. A request was missed as SEAM_MISS_size or SEAM_MISS_lost because
 * "none of the plan's" was the cheapest; as SEAM_MISS_cursor if its thread and stream have no cursor either.
 *
 * seam__tracker_choose() is a pure function of what struct seam_scene says. Its steps are bounded: SEAM_AHEAD slots of
 * the own cursor, SEAM_SKIPPED that were passed over, one slot of each other cursor of the stream, SEAM_HEARD slots at
 * each mark, and 2 * SEAM_HITS places of the index for each cursor of the stream in each plan, SEAM_HEARD sizes each.
 * What cannot be the cheapest is not looked at: the index is asked when the debt is worth a jump. A size that no loaded
 * plan has on the stream (seam__loaded_has) is missed without a choice. Not here: the safety of memory
 * (matcher_place.c). A wrong choice costs misses, never safety.
 */
#ifndef SEAM_TRACKER_H
#define SEAM_TRACKER_H

#include "bits.h"
#include "loaded_plan.h"

#define SEAM_AHEAD 16u     /* slots on the own cursor that a request may be */
#define SEAM_BACK_SHARE 8u /* by this part of a period a program may be behind where it was thought to be at a mark */

/* What an unexpected request costs its cursor, in bits: see above. A cursor's debt is the sum of what its last
 * requests cost, less one for each that was expected. */
#define SEAM_EXTRA 4
#define SEAM_DEBT_MOST 24u /* six unexpected requests: more say no more */

struct seam_scene {
	struct seam_loaded_plan *const *plans; /* the current one first */
	uint32_t plan_count;
	struct seam_cursor *cursor;         /* of the thread and stream; NULL: it has none */
	const struct seam_history *history; /* of who asks, the request last */
	uint64_t stream;
	uint32_t role;  /* the thread, as in the plan */
	uint64_t bytes; /* as requested */
	bool dynamic;   /* the caller says that the size depends on data */
	uint32_t debt;  /* of the cursor */
	uint64_t since; /* requests since an iteration began, with this one; 0: not known */
	bool said;      /* by the program, not by the plan */
	bool live_known;
	int64_t live;   /* blocks that come and go with the period */
	uint64_t freed; /* blocks since the last request that were not due */
};

enum seam_candidate_kind {
	SEAM_AT_NONE,
	SEAM_AT_NEXT,      /* `number` slots ahead of the cursor */
	SEAM_AT_SKIPPED,   /* entry `number` of what the cursor skipped */
	SEAM_AT_PLACE,     /* found by the index */
	SEAM_AT_BEGINNING, /* where iterations begin */
};

struct seam_candidate {
	enum seam_candidate_kind kind;
	struct seam_loaded_plan *plan;
	struct seam_cursor *cursor;
	const struct seam_expected_slot *expected;
	uint64_t at; /* position, without end; of another plan: of the period */
	uint32_t number;
	int bits;  /* of the move alone: what it adds to the debt */
	int total; /* with what speaks for it and against it */
};

/* The cheapest candidate: SEAM_AT_NONE if that is none of the plan's. */
struct seam_candidate seam__tracker_choose(const struct seam_scene *scene);

static inline void seam__history_add(struct seam_history *history, uint64_t bytes)
{
	history->sizes[history->heard++ % SEAM_HEARD] = bytes;
}

/* Equal as far as a block goes. bytes: at least 1. */
static inline bool seam__expected_fits(const struct seam_expected_slot *expected, uint64_t bytes)
{
	return ((bytes + SEAM_PLANNED_BYTES - 1) ^ (expected->bytes + SEAM_PLANNED_BYTES - 1)) < SEAM_PLANNED_BYTES;
}

/* The next expected slot is behind this one. */
static inline void seam__cursor_pass(const struct seam_loaded_plan *loaded, struct seam_cursor *cursor)
{
	if (__builtin_expect(++cursor->next != cursor->first + cursor->count, 1))
		return;
	cursor->next = cursor->first;
	cursor->base += loaded->positions;
	if (++cursor->copy == loaded->copies)
		cursor->copy = 0;
}

/* Number of the first expected slot that does not begin before the position; cursor->count: none. O(log expected
 * slots). */
static inline uint32_t seam__cursor_expected_at(const struct seam_cursor *cursor, uint32_t position)
{
	uint32_t low = 0, high = cursor->count;
	SEAM__BITS_BISECT(low, high, middle, cursor->first[middle].begin < position)
	return low;
}

static inline uint64_t seam__cursor_at(const struct seam_cursor *cursor)
{
	return cursor->base + cursor->next->begin;
}

/* The first time at or behind `from` that the position comes. */
static inline uint64_t seam__loaded_next(const struct seam_loaded_plan *loaded, uint32_t position, uint64_t from)
{
	const uint64_t at = from - from % loaded->positions + position;
	return at < from ? at + loaded->positions : at;
}

/* The same no more than `back` positions before `at`. */
static inline uint64_t seam__loaded_near(
	const struct seam_loaded_plan *loaded, uint32_t position, uint64_t at, uint64_t back)
{
	return seam__loaded_next(loaded, position, seam__bits_max(at, back) - back);
}

/* No cursor of a program that does what the plan says is farther from the frontier. */
static inline uint64_t seam__loaded_around(const struct seam_loaded_plan *loaded)
{
	return loaded->positions / 16 + 32;
}

/* Blocks by which a program may be off from the `live` ones that the plan has. */
static inline uint64_t seam__live_slack(uint32_t live)
{
	return seam__bits_max(2, live / 16);
}

#endif
