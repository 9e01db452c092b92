/* problem.h: what is to be placed: items with a size and a lifetime on a circle of positions.
 *
 * A position is the place of one allocation or free in the order of the program. A problem that happens once lies on a
 * line, which is a circle that no item crosses the end of. A problem that repeats lies on the circle of its period, or
 * of k periods when some item lives longer than one: then every request stands there k times, one item for each copy.
 *
 * Two items conflict, and may share no byte, when one begins while the other is still held from it. An item is held
 * from its own stream for `span` positions; from another stream for as long as nothing orders that stream behind its
 * end. `holds` says how long; it is NULL where there is one stream. Streams are queues, so this says it exactly: once
 * one request of a stream is ordered behind the end of an item, so are all later ones (papers: SOMAS section 3.2, where
 * MaxAncId is the same threshold seen from the other side).
 *
 * Not here: where the items come from (request.h, graph.h); how they are placed (solver.h).
 *
 * Invariants, named by seam__problem_check():
 *   P1  sizes are positive multiples of align_bytes; so are fixed addresses
 *   P2  begin < circle; 1 <= span <= circle; on a line begin + span <= circle
 *   P3  stream < streams; an item's hold for its own stream is its span, and none for another stream is less than 1
 *   P4  links form chains: no item is the successor of two, none is its own descendant; no linked item is fixed
 *   P5  fixed items that conflict do not overlap
 * Immutable while solvers read it. No locks.
 */
#ifndef SEAM_PROBLEM_H
#define SEAM_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#define SEAM__ADDRESS_ANY UINT64_MAX /* the solver chooses */
#define SEAM__ITEM_NONE UINT32_MAX
#define SEAM__HOLD_ALWAYS UINT32_MAX /* no request of that stream may ever have this memory */

struct seam_meta;
struct seam_region;

struct seam_item {
	uint64_t size_bytes;
	uint64_t fixed_bytes; /* the address that it already has, or SEAM__ADDRESS_ANY */
	uint32_t begin;       /* position of its allocation */
	uint32_t
		span; /* positions that it lives: it is live at begin, begin + 1, ... begin + span - 1, modulo circle */
	uint32_t stream;
	uint32_t request; /* the caller's number; several items (copies) may have the same */
	uint32_t copy;    /* which of the k copies, from 0 */
	uint32_t next;    /* contiguous constraint: that item lies directly behind this one; or SEAM__ITEM_NONE */
};

struct seam_problem {
	struct seam_meta *meta;
	struct seam_region *region; /* everything here, and what solvers need while they work on it */
	struct seam_item *items;
	uint32_t count;
	uint32_t capacity;    /* items that fit */
	uint32_t circle;      /* positions */
	bool linear;          /* no item crosses the end */
	uint32_t streams;     /* 1 or more */
	uint32_t *holds;      /* [item * streams + stream], positions from the item's begin; NULL when streams is 1 */
	uint64_t align_bytes; /* 1 or more */
	uint64_t lower_bytes; /* seam__problem_finish(): no placement has a smaller peak */
};

/* An empty problem with room for `count` items, all fields zero but the given ones. holds are allocated if streams > 1.
 * Errors: SEAM_OOM_META, SEAM_INVALID (count or circle of 0 are allowed; more than 2^31 is not). */
SEAM_MUST_USE enum seam_rc seam__problem_init(struct seam_problem *problem, struct seam_meta *meta, uint32_t count,
	uint32_t circle, bool linear, uint32_t streams, uint64_t align_bytes);
void seam__problem_fini(struct seam_problem *problem); /* a zeroed one is allowed */

/* The same within another problem: a part of it, with its alignment. It is gone with the other, or when that's region
 * is released. */
SEAM_MUST_USE enum seam_rc seam__problem_init_part(struct seam_problem *part, const struct seam_problem *whole,
	uint32_t count, uint32_t circle, bool linear, uint32_t streams);

/* Appends an item of `size_bytes` (rounded up to the alignment) that lives [begin, begin + span), with stream 0, no
 * fixed address, no link, and holds of its span for every stream (as if all streams were one). There must be room.
 * Returns it, to be changed by the caller. */
struct seam_item *seam__problem_add(struct seam_problem *problem, uint64_t size_bytes, uint32_t begin, uint32_t span);

/* Call after the last item: computes lower_bytes. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__problem_finish(struct seam_problem *problem);

/* The largest sum of sizes live at once, over the positions [0, circle). Errors: SEAM_OOM_META.
 * O(count * streams + circle). */
SEAM_MUST_USE enum seam_rc seam__problem_max_live(const struct seam_problem *problem, uint64_t *ret_bytes);

/* Sum of live sizes at each position: `ret_live` has room for circle values. Live is what is held from every stream: an
 * item that its own stream must leave alone for longer than some other stream must counts for the shorter time, for
 * only then is the sum a bound. O(count * streams + circle). */
void seam__problem_live(const struct seam_problem *problem, uint64_t *ret_live);

/* Positions from `from` forward to `to`, around the circle. */
static inline uint32_t seam__problem_distance(const struct seam_problem *problem, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + (problem->circle - from);
}

/* For how many positions from its begin item `i` is held from stream `stream`. */
static inline uint32_t seam__problem_hold(const struct seam_problem *problem, uint32_t i, uint32_t stream)
{
	return problem->holds == NULL ? problem->items[i].span : problem->holds[(size_t)i * problem->streams + stream];
}

/* The longest of the item's holds, for any stream; at most the whole circle (always). O(streams). */
uint32_t seam__problem_longest_hold(const struct seam_problem *problem, uint32_t i);

/* May the two not share a byte? Symmetric; false for i == j is not promised. O(1). */
static inline bool seam__problem_conflict(const struct seam_problem *problem, uint32_t i, uint32_t j)
{
	const struct seam_item *a = &problem->items[i];
	const struct seam_item *b = &problem->items[j];

	return seam__problem_distance(problem, a->begin, b->begin) < seam__problem_hold(problem, i, b->stream) ||
		seam__problem_distance(problem, b->begin, a->begin) < seam__problem_hold(problem, j, a->stream);
}

/* Name of the first broken invariant, or NULL. P5 takes O(fixed^2). */
const char *seam__problem_check(const struct seam_problem *problem);

/* A placement is an address per item. This proves one: no two conflicting items overlap, fixed items are where they
 * must be, links are kept, no address is above peak_bytes - size. Returns NULL or what is broken. O(n log n + pairs of
 * items that overlap in address): for tests and for the last look at a plan; the validator of plan files is another
 * one. `offsets`: count values. */
const char *seam__problem_check_placement(
	const struct seam_problem *problem, const uint64_t *offsets, uint64_t peak_bytes);

#endif
