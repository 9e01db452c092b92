/* matcher_state.h: what a matcher is made of, for the files that make it up.
 *
 * Not here: the contract (matcher.h), the tables of a loaded plan (loaded_plan.h).
 * Live blocks are of three sorts: those of the current loaded plan whose interval is around the frontier, state LIVE,
 * in no tree; *off-plan* ones, dynamic blocks inside their group's interval and borrowed ones before anything is due in
 * their place; overdue blocks. `off_plan_count` counts the last two together. An expected slot at the frontier needs no
 * test by address but against overdue blocks, while no off-plan block's time is over.
 */
#ifndef SEAM_MATCHER_STATE_H
#define SEAM_MATCHER_STATE_H

#include "off_plan.h"
#include "slab.h"
#include "overdue.h"
#include "tracker.h"

#define SEAM_OWNERS 250u /* loaded plans that are there or have live blocks */
#define SEAM_NOBODY 254u /* owner of nothing: there is no loaded plan */

#define SEAM_LIKELY(condition) __builtin_expect(!!(condition), 1)

struct seam_blocked {
	uint64_t begin;
	uint64_t end;
};

/* How much comes and goes with the period: blocks of this matcher, and those that others serve but for what always
 * stays. */
struct seam_balance {
	int64_t beside;  /* blocks that others serve, more than there were at first */
	int64_t staying; /* of them, when the last two repetitions began: the less; */
	int64_t stayed;  /* when the last one began */
	bool known;      /* one has begun */
	bool partial; /* the one that goes on had begun before the plan came: what is there when the next one begins may
			 be the plan's, and not stay */
	uint64_t heard; /* sizes that the cursor of the last request had heard when */
	uint64_t freed; /* so many blocks were freed that were not due */
};

/* A thread and stream that have no cursor. */
struct seam_stranger {
	struct seam_history history;
	uint64_t stream;
	uint32_t thread;
	uint32_t debt;
};

#define SEAM_TIMES 65u /* that a place is idle for: none, and by their binary digits */

/* A search for a place of so many bytes was in vain. */
struct seam_vain {
	uint64_t bytes;
	uint64_t until; /* position before which none is made for as many, or more */
};

struct seam_matcher {
	/* What every request reads. */
	struct seam_loaded_plan *now; /* NULL: there is none */
	struct seam_cursor *cursor;   /* of now, that spoke last; NULL: none has */
	uint64_t off_plan_count;      /* overdue blocks and off-plan blocks */
	uint32_t owner;               /* now->index, SEAM_NOBODY without */
	uint16_t blocked_version;     /* above 0; rises when a range is blocked */
	struct seam_match_counts counts;

	struct seam_meta *meta;
	struct seam_overdue overdue;
	struct seam_off_plan off_plan;
	struct seam_slab overdue_slab;
	struct seam_slab off_plan_slab;
	struct seam_loaded_plan *loaded_plans[SEAM_LOADED_PLANS]; /* the current one first, then as they were current */
	uint32_t loaded_count;
	struct seam_loaded_plan *replaced; /* the current one whose place is to be taken; NULL: none */
	struct seam_loaded_plan
		*successor; /* the one that takes it, at the next mark, or when the program marks no more; NULL: none */
	bool steps;         /* the program has said so */
	struct seam_loaded_plan *owners[SEAM_OWNERS]; /* by index, retired ones too; NULL: free */

	struct seam_blocked *blocked; /* by address; none overlaps another (H4) */
	uint32_t blocked_count;
	uint32_t blocked_capacity;

	uint64_t arena_bytes; /* addresses from 0 on that blocks may be given */
	const struct seam_plan_block
		*missing; /* the instance that the last request would have been; NULL: not known, or it is that */
	struct seam_plan_block *pending; /* of the last SEAM_MISS_gap or late; NULL: not known */
	enum seam_miss pending_miss;
	uint64_t pending_begin;
	uint64_t pending_bytes;
	uint64_t reach; /* position up to which the last request that was missed would live by the plan; 0: not known */
	struct seam_balance balance;
	struct seam_stranger stranger;
	uint64_t borrow_from[64];          /* by the binary logarithm of a size: from there on a place is looked for */
	struct seam_vain vain[SEAM_TIMES]; /* by the time that a place was to be idle for */
};

/* A repetition begins. Inline, for nothing is called where a request is what was expected. */
static inline void seam__balance_turn(struct seam_balance *balance)
{
	const int64_t now = balance->beside;
	if (balance->partial) {
		balance->partial = false;
		return;
	}
	balance->staying = balance->known && balance->stayed < now ? balance->stayed : now;
	balance->stayed = now;
	balance->known = true;
}

#define SEAM_UNMARKED 2u /* so many repetitions end without a mark where the program marks its steps no more */

/* Whether the program does not say where iterations of the current loaded plan end, or no more. */
static inline bool seam__matcher_is_unmarked(const struct seam_matcher *matcher)
{
	return !matcher->steps || matcher->now->unmarked >= SEAM_UNMARKED;
}

/* One position on. */
static inline void seam__frontier_step(struct seam_matcher *matcher, struct seam_loaded_plan *loaded)
{
	loaded->frontier.at++;
	if (SEAM_LIKELY(++loaded->frontier.position != loaded->positions))
		return;
	loaded->frontier.position = 0;
	loaded->frontier.base += loaded->positions;
	if (++loaded->frontier.copy == loaded->copies)
		loaded->frontier.copy = 0;
	seam__balance_turn(&matcher->balance);
	loaded->unmarked++;
	if (matcher->successor != NULL && seam__matcher_is_unmarked(matcher))
		matcher->cursor = NULL; /* the next request is looked at with care: seam__matcher_succeed_unmarked() */
}

/* Moves the frontier up to `to`: what has not been freed on the way becomes an overdue block. False: no memory for one;
 * the frontier stands before it. */
bool seam__frontier_move(struct seam_matcher *matcher, uint64_t to);

/* The same where the plan has served nothing since: no repetition has come to its end, and the blocks of before are
 * nobody's. */
bool seam__frontier_leap(struct seam_matcher *matcher, uint64_t to);

/* A block of the current loaded plan becomes an overdue block. False: no memory. */
bool seam__overdue_add(struct seam_matcher *matcher, struct seam_plan_block *plan_block);

/* All LIVE and off-plan blocks become overdue blocks. False: no memory, nothing changed. */
bool seam__overdue_take_all(struct seam_matcher *matcher);

/* Whether an overdue block or an off-plan block lies in [begin, end). */
bool seam__off_plan_overlaps(const struct seam_matcher *matcher, uint64_t begin, uint64_t end);

/* The slot at this occurrence is asked for. */
enum seam_miss seam__matcher_place(struct seam_matcher *matcher, const struct seam_slot_occurrence *occurrence,
	uint64_t requested_bytes, struct seam_plan_block **ret_block);

/* Makes an instance live. */
static inline void seam__planned_begin(struct seam_matcher *matcher, struct seam_loaded_plan *loaded,
	struct seam_plan_block *plan_block, uint64_t requested_bytes)
{
	plan_block->state = SEAM_PLANNED_LIVE;
	plan_block->requested_bytes = requested_bytes;
	loaded->places[loaded->address_slot_of[plan_block->number]].number = plan_block->number;
	matcher->counts.live++;
	matcher->counts.live_bytes += plan_block->bytes;
	matcher->counts.hits++;
}

/* tracker.c: the cursor that this thread and stream have; NULL: none. */
struct seam_cursor *seam__tracker_cursor(const struct seam_matcher *matcher, const struct seam_match_ask *ask);

/* Which slot the request is. SEAM_MISS_NONE: an occurrence, of matcher->cursor; its expected slot may be a dynamic one.
 * It may make another loaded plan the current one. */
enum seam_miss seam__tracker_find(struct seam_matcher *matcher, struct seam_cursor *cursor,
	const struct seam_match_ask *ask, struct seam_slot_occurrence *ret_occurrence);

/* All cursors are where that position comes next, and their threads are the plan's. There is a loaded plan. */
void seam__tracker_put(struct seam_matcher *matcher, uint32_t position);

/* The same where the last request was found. Where parts of a period are alike a stream's own requests do not say in
 * which of them it is; those of others do. */
void seam__tracker_line_up(struct seam_matcher *matcher);

/* A block was freed that was not due: if much less is live than the plan has here, the next request is looked at,
 * though it be expected. */
void seam__tracker_freed(struct seam_matcher *matcher);

/* Every cursor expects its first slot at or behind the position that runs on. */
void seam__cursors_put(struct seam_loaded_plan *loaded, uint64_t at);

/* Every cursor, and what it passed over, goes so many repetitions on. */
void seam__cursors_turn(struct seam_loaded_plan *loaded, uint32_t repetitions);

/* Every cursor expects its first slot at or behind `position` of the repetition that the frontier is in. cold: that is
 * a guess. */
void seam__cursors_reset(struct seam_loaded_plan *loaded, uint32_t position, bool cold);

/* The cursor expects its first slot at or behind the position that runs on. */
void seam__cursor_put(const struct seam_loaded_plan *loaded, struct seam_cursor *cursor, uint64_t at);

/* matcher_loaded.c: makes it current, at `position` of a new repetition; cold: or anywhere. False: no memory, nothing
 * changed. */
bool seam__matcher_switch(struct seam_matcher *matcher, struct seam_loaded_plan *loaded, uint32_t position, bool cold);

/* The program says that an iteration ends: what waits for that becomes current. Without memory it waits for the next.
 */
void seam__matcher_succeed(struct seam_matcher *matcher);

/* A request comes, the first where a repetition has ended: what waits becomes current if the program says no more where
 * iterations end. */
void seam__matcher_succeed_unmarked(struct seam_matcher *matcher);

/* The last block of a forgotten loaded plan is freed. */
void seam__matcher_forget(struct seam_matcher *matcher, struct seam_loaded_plan *loaded);

/* matcher_ranges.c: whether nothing is blocked in the instance's place, which is noted then. O(log ranges). */
bool seam__matcher_find_clear(const struct seam_matcher *matcher, struct seam_plan_block *plan_block);

/* The same. It is looked at once after the last range was blocked. */
static inline bool seam__matcher_is_clear(const struct seam_matcher *matcher, struct seam_plan_block *plan_block)
{
	return SEAM_LIKELY(plan_block->clear == matcher->blocked_version) ||
		seam__matcher_find_clear(matcher, plan_block);
}

/* Nothing is noted of what is blocked. */
void seam__loaded_forget_clear(struct seam_loaded_plan *loaded);

/* The first blocked range that ends behind `at`. O(log ranges). */
uint32_t seam__matcher_blocked_at(const struct seam_matcher *matcher, uint64_t at);

/* matcher_dynamic.c: the lowest part of [at, end) that is taken by overdue blocks, off-plan blocks and blocked ranges;
 * an empty one at `end` where none is. */
struct seam_taken {
	uint64_t begin;
	uint64_t end;
};

/* Goes up through what is taken; every call asks from a higher place than the one before. */
struct seam_climb {
	const struct seam_matcher *matcher;
	struct seam_overdue_block *overdue_block; /* the lowest that may reach behind the place; NULL: no more */
	struct seam_overdue_block *off_plan;      /* likewise */
	uint32_t blocked;
};
struct seam_climb seam__climb_from(const struct seam_matcher *matcher, uint64_t at);
struct seam_taken seam__climb_next(struct seam_climb *climb, uint64_t at, uint64_t end);

/* An off-plan block over free addresses, live from now on, that is an overdue block from position `until` on: no slot
 * that begins at the frontier or later, but before that, may overlap it, for an expected one is not tested against it.
 * NULL: no metadata.
 */
struct seam_plan_block *seam__off_plan_begin(
	struct seam_matcher *matcher, uint64_t offset, uint64_t requested_bytes, uint64_t until);

enum seam_miss seam__matcher_place_dynamic(struct seam_matcher *matcher, const struct seam_slot_occurrence *occurrence,
	uint64_t requested_bytes, struct seam_plan_block **ret_block);

#endif
