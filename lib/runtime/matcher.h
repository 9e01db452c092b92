/* matcher.h: recognises a program's requests in a plan, and says where in the arena each goes.
 *
 * A *loaded plan* is a plan made ready to run: tables by slot, by position and by address. A matcher holds a few loaded
 * plans for one arena, of which one is current. Each (thread, stream) has a *cursor* into its own row of the
 * loaded plan's slots. Positions run on without end here: repetition q of the period begins at q *
 * positions, and takes copy q mod copies.
 *
 * What makes a slot safe (I2). The plan proves that slots whose intervals meet do not overlap. The *frontier* is how
 * far the positions have been reached by any cursor. As it moves, scheduled frees that have not been seen put their
 * blocks among the *overdue blocks*, a tree by address; so do blocks of other loaded plans, dynamic blocks that outlive
 * their interval, and blocks that are held after their free. So whatever is live and no overdue block has its interval
 * around the frontier, and a slot whose interval is around the frontier too can only meet overdue blocks: with none of
 * them it is safe in O(1), else it is tested against them by address. A slot of a cursor that is so far behind that its
 * own end has been passed is tested against what began behind that end as well, and is an overdue block from its birth.
 * Whatever fails a test, or is not expected, is a miss: somebody else serves it, and nothing here has changed but
 * cursors and the frontier.
 *
 * Which slot an unexpected request is: see tracker.h. Another loaded plan goes on in the copy that the one before would
 * be in.
 *
 * Not here: leases and mappings (stitch/arena.h); streams and events; recording. Makes no driver call, knows no engine.
 *
 * Invariants (seam__matcher_check)
 *   H1  no two live blocks overlap, planned, off-plan or overdue ones
 *   H2  every live block of the current loaded plan whose interval is not around the frontier is an
 *       overdue block; these are in order
 *   H3  cursors, frontiers and repetitions are in range
 *   H4  blocked ranges lie apart, by address; none overlaps an instance that is noted to be clear of them
 *   H5  the counts of live blocks and bytes are right
 *   H6  nothing of the current loaded plan is due in the place of a dynamic or borrowed block before it is overdue
 *   H7  a loaded plan that waits to become current, and the one whose place it takes, are two of the matcher's
 *
 * Locks: none inside; the pool's `lock` guards it. The tables of a loaded plan are immutable; it may be made without
 * the lock.
 */
#ifndef SEAM_MATCHER_H
#define SEAM_MATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/plan.h>
#include <seam/rc.h>

#include "misses.h"

struct seam_meta;
struct seam_stream;
struct seam_block_use;
struct seam_loaded_plan;
struct seam_matcher;

#define SEAM_LOADED_PLANS 8u /* most in one matcher */

/* A block of the arena, live or to come. Who asks the matcher fills in what is his. */
struct seam_plan_block {
	uint64_t offset;          /* in the arena */
	uint64_t bytes;           /* rounded up to 512 */
	uint64_t requested_bytes; /* as asked for; 0 once it is freed, and held */
	uint64_t serial;          /* the caller's, from here on, valid while live */
	uint64_t tag;
	struct seam_stream *stream;
	struct seam_block_use *uses; /* NULL again when it is freed */
	uint32_t number;             /* matcher's: slot * copies + copy */
	uint16_t clear; /* matcher's: nothing is blocked here as of this version of its ranges; 0: not known */
	uint8_t state;  /* matcher's: enum seam_planned_state */
	uint8_t loaded; /* matcher's: index, or SEAM_PLANNED_DYNAMIC */
};

enum seam_planned_state {
	SEAM_PLANNED_FREE,
	SEAM_PLANNED_LIVE,
	SEAM_PLANNED_LATE, /* live, and an overdue block: its free is late, or it is held */
};

#define SEAM_PLANNED_DYNAMIC 255u /* a block that depends on data, or is borrowed */

struct seam_match_ask {
	uint64_t bytes;  /* as requested: at least 1, at most 2^62 */
	uint64_t stream; /* the driver's handle, as in the plan's streams */
	uint32_t thread; /* number of the thread, as in the plan's slots */
	bool dynamic;    /* the caller says that the size depends on data */
};

/* The loaded plan's period begins where the program says that an iteration ends. */
void seam__loaded_begins_at_mark(struct seam_loaded_plan *loaded);

/* meta outlives the loaded plan. The plan has been checked (I10) and is not kept; its chunk_bytes do not matter here.
 * Errors: SEAM_INVALID (a linear plan, an empty one or one of a graph; offsets that are no multiples of 512, as of a
 * plan with a smaller align_bytes, or beyond 2 TiB), SEAM_OOM_META. O(slots log slots). */
SEAM_MUST_USE enum seam_rc seam__loaded_create(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_loaded_plan **ret_loaded);
void seam__loaded_destroy(struct seam_meta *meta, struct seam_loaded_plan *loaded); /* NULL is allowed */

/* The most and the least bytes of the loaded plan's requests that live at once, on all streams and dynamic ones
 * included. `plan` is the loaded plan's. O(slots). */
struct seam_loaded_range {
	uint64_t most_bytes, least_bytes;
};
struct seam_loaded_range seam__loaded_find_range(const struct seam_plan *plan, const struct seam_loaded_plan *loaded);

/* What the loaded plan has live where its frontier is, when the frees that are due there are done. O(slots). */
uint64_t seam__loaded_live_bytes(const struct seam_loaded_plan *loaded);

/* End of the highest slot or range for dynamic requests; slots. */
uint64_t seam__loaded_bytes(const struct seam_loaded_plan *loaded);
uint32_t seam__loaded_slots(const struct seam_loaded_plan *loaded);

/* An empty matcher. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__matcher_create(struct seam_meta *meta, struct seam_matcher **ret_matcher);

/* Loaded plans go with it; live blocks are forgotten. */
void seam__matcher_destroy(struct seam_meta *meta, struct seam_matcher *matcher); /* NULL is allowed */

/* Adds a loaded plan, which the matcher then owns; it becomes current if there was none, or if `now`. If it is a kind
 * of iteration that a loaded plan is there for, that one goes; else, if there are SEAM_LOADED_PLANS already, the one
 * that was current longest ago. If the current one goes, the new one takes its place: at once, or, where the program
 * marks its steps, at the next one, or where the second repetition in a row ends without one: then it marks them no
 * more, or not where this period ends. What lives from one iteration into the next has the same place in both, but
 * nearly all else that is live in the midst of one lies in the way of the new loaded plan's slots, and what these get
 * instead in the way of others. Ranges that are blocked are blocked for it too. A loaded plan that goes while blocks of
 * it are live keeps its instances until the last of them is freed: pointers to live blocks stay valid. Where the
 * program is in it the index finds out, unless seam__matcher_start() says it. Errors: SEAM_OOM_META: the loaded plan
 * stays the caller's. */
SEAM_MUST_USE enum seam_rc seam__matcher_add(struct seam_matcher *matcher, struct seam_loaded_plan *loaded, bool now);

/* How many there are, and the i-th, the current one first. */
uint32_t seam__matcher_loaded_count(const struct seam_matcher *matcher);
const struct seam_loaded_plan *seam__matcher_loaded(const struct seam_matcher *matcher, uint32_t i);

/* The program is at the period's beginning: every cursor of the current loaded plan starts there, in a new repetition.
 */
void seam__matcher_start(struct seam_matcher *matcher);

/* The same for a matcher that has served nothing for a while, if the period begins where the program marks the end of
 * an iteration (seam__loaded_begins_at_mark()). Returns whether it does. */
bool seam__matcher_start_at_mark(struct seam_matcher *matcher);

/* The program is about to ask for slot number `slot` of the plan that the current loaded plan is of: every cursor
 * expects what comes from there on. */
void seam__matcher_start_slot(struct seam_matcher *matcher, uint32_t slot);

/* The program says that an iteration ends. A loaded plan that waits for that becomes current. If the cursors are in
 * step it is noted where in the period that is; else every cursor is put where such a place is next. */
void seam__matcher_step(struct seam_matcher *matcher);

/* A request. SEAM_MISS_NONE: *ret_block is live. SEAM_MISS_gap: it would be *ret_block but for blocked ranges:
 * unblock them and take it. Else *ret_block is untouched. */
enum seam_miss seam__matcher_alloc(
	struct seam_matcher *matcher, const struct seam_match_ask *ask, struct seam_plan_block **ret_block);

/* A request that it is not asked for: of how long that lives, and what it would have been, nothing is known. */
void seam__matcher_pass(struct seam_matcher *matcher);

/* So many blocks more, or less, are live that somebody else serves. Told of each that comes or goes, the matcher knows
 * when nearly all that the plan has live was let go, and the program begins anew. */
void seam__matcher_beside(struct seam_matcher *matcher, int more);

/* A request from before there was anything to serve: cursors and the frontier go on as if it were served here, and
 * nothing is counted. Returns whether the plan expects it, or would but for what lies in its place. */
bool seam__matcher_hear(struct seam_matcher *matcher, const struct seam_match_ask *ask);

/* The plan begins to serve here, where nobody knows in which copy of the period the program is: it becomes the one in
 * whose next period the fewest bytes are taken by what lies in the arena, each by the share of it that is still live
 * then by the plan; of equal ones the frontier's own. Cursors keep their places in the period. False: no memory; the
 * frontier stands before it. O(slots * copies * log ranges), counted as steps. */
bool seam__matcher_choose_copy(struct seam_matcher *matcher);

/* Once more, for the instance of a SEAM_MISS_gap, before anything else is asked. */
enum seam_miss seam__matcher_take(struct seam_matcher *matcher, struct seam_plan_block *plan_block);

/* The same behind a SEAM_MISS_late, where blocks have gone since. SEAM_MISS_NONE: *ret_block is live. */
enum seam_miss seam__matcher_retry(struct seam_matcher *matcher, struct seam_plan_block **ret_block);

/* Whether the plan orders who gets the memory of the block behind its end, and that of its other users. */
bool seam__matcher_is_waited(const struct seam_matcher *matcher, const struct seam_plan_block *plan_block);

/* The live (or held) block that starts at `offset`, or NULL. */
struct seam_plan_block *seam__matcher_find(struct seam_matcher *matcher, uint64_t offset);

/* The live (or held) block that contains `offset`, or NULL. O(live). */
struct seam_plan_block *seam__matcher_around(struct seam_matcher *matcher, uint64_t offset);

/* It is freed. A block of a loaded plan that has been forgotten, or a dynamic one, is gone afterwards. */
void seam__matcher_free(struct seam_matcher *matcher, struct seam_plan_block *plan_block);

/* It is freed by the program, but its memory must not be used until seam__matcher_free(). Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__matcher_hold(struct seam_matcher *matcher, struct seam_plan_block *plan_block);

/* Calls each() for every live and held block, in no order; it must not change the matcher. O(slots * copies). */
void seam__matcher_each(
	struct seam_matcher *matcher, void (*each)(void *user, struct seam_plan_block *plan_block), void *user);

/* Of [begin, end) of the arena exactly these ranges, by address, cannot be used, nor instances of any loaded plan that
 * overlap them. They take the place of the ranges blocked there before, none of which reaches out of [begin, end).
 * O(log ranges + count + ranges in it and above). Errors: SEAM_OOM_META: nothing has changed. */
SEAM_MUST_USE enum seam_rc seam__matcher_block(struct seam_matcher *matcher, uint64_t begin, uint64_t end,
	const struct seam_plan_range *ranges, uint32_t count);

/* The same with no range: it cannot fail. */
void seam__matcher_unblock(struct seam_matcher *matcher, uint64_t begin, uint64_t end);

/* Bytes of all blocked ranges, of each. */
uint64_t seam__matcher_blocked_bytes(const struct seam_matcher *matcher);

/* How many positions from the frontier the last request will live, if it was missed where the plan expected one (late,
 * gap), or one of its group (dynamic); 0: nobody knows. For lending what is idle as long. */
uint64_t seam__matcher_reach(const struct seam_matcher *matcher);

/* Calls visit() for ranges of at least `bytes` that nobody has until it returns true: those first that no slot needs as
 * long as the last request will live (seam__matcher_reach(), else half a period), by address; then those idle for a
 * quarter of that, and so on. visit() may block what it is given. For each of these times: O(log instances + instances
 * over one address) a range, and what is taken. Counted as steps (account.h). */
void seam__matcher_each_idle(struct seam_matcher *matcher, uint64_t bytes,
	bool (*visit)(void *user, uint64_t begin, uint64_t end), void *user);

/* A place for the request that was just missed, where nothing lives now and nothing is due as long as it will live.
 * Where there is none, one that is idle for a quarter of that, and so on; in the end one that is due now. Of a request
 * that nobody knows half a period is taken for granted. It is live, like a dynamic block. NULL: there is none, or it
 * was not found within a fixed number of steps, or lately not for as many bytes, or no metadata. */
struct seam_plan_block *seam__matcher_borrow(struct seam_matcher *matcher, uint64_t requested_bytes);

/* A block at a place that nothing else has, and that no loaded plan speaks for. It is live, like a dynamic block. NULL:
 * no metadata. */
struct seam_plan_block *seam__matcher_put(struct seam_matcher *matcher, uint64_t offset, uint64_t requested_bytes);

/* How much of the arena blocks may be given: what loaded plans do not use lies behind them. */
void seam__matcher_set_bytes(struct seam_matcher *matcher, uint64_t arena_bytes);

struct seam_match_counts {
	uint64_t hits;
	uint64_t live, live_bytes; /* held ones count; bytes rounded up to 512 */
	uint64_t dynamic_hits;
	uint64_t misses[SEAM_MISS_COUNT];
	uint64_t resyncs;  /* places found again after a mismatch */
	uint64_t switches; /* of loaded plans */
	uint64_t overdue;  /* now */
	uint64_t steps;    /* of work that a request does not take that is what is expected (account.h) */
};
void seam__matcher_get_counts(const struct seam_matcher *matcher, struct seam_match_counts *ret_counts);

const char *seam__matcher_check(const struct seam_matcher *matcher);

#endif
