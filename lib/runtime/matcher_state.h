/* matcher_state.h: what a matcher is made of, for the files that make it up.
 *
 * Not here: the contract (matcher.h), the tables of a script (script.h).
 * Live blocks are of three sorts: those of the current script whose interval is around the front, state LIVE, in no
 * tree; *loose* ones, dynamic blocks inside their group's interval and borrowed ones before anything is due in their
 * place; strays. `apart` counts the last two. An expected slot at the front needs no test by address but against
 * strays, while no loose block's time is over.
 */
#ifndef SEAM_MATCHER_STATE_H
#define SEAM_MATCHER_STATE_H

#include "loose.h"
#include "slab.h"
#include "strays.h"
#include "tracker.h"

#define SEAM_OWNERS 250u  /* scripts that are there or have live blocks */
#define SEAM_NOBODY 254u  /* owner of nothing: there is no script */
#define SEAM_DYNAMIC 255u /* owner of dynamic blocks */

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

struct seam_matcher {
	/* What every request reads. */
	struct seam_script *now; /* NULL: there is none */
	struct seam_lane *lane;  /* of now, that spoke last; NULL: none has */
	uint64_t apart;          /* strays and loose blocks */
	uint32_t owner;          /* now->index, SEAM_NOBODY without */
	bool some_script;        /* one was added */
	bool several_streams;    /* scripts that were ever added have more than one stream between them */
	bool several_scripts;    /* more than one was ever added */
	uint64_t some_stream;    /* of the first script */
	struct seam_match_counts counts;

	struct seam_meta *meta;
	struct seam_strays strays;
	struct seam_loose loose;
	struct seam_slab stray_slab;
	struct seam_slab loose_slab;
	struct seam_script *scripts[SEAM_SCRIPTS]; /* the current one first, then as they were current */
	uint32_t script_count;
	struct seam_script *elder; /* was current when a script of its kind was added; */
	struct seam_script *heir;  /* that one, which takes its place when the program says next that an iteration ends,
				    * or says it no more; both NULL: none  waits */
	bool steps;                /* the program has said so */
	uint64_t forgotten;        /* scripts that went, and blocks of theirs that were freed later */
	struct seam_script *owners[SEAM_OWNERS]; /* by index, retired ones too; NULL: free */

	struct seam_blocked *blocked; /* by address; none overlaps another (H4) */
	uint32_t blocked_count;
	uint32_t blocked_capacity;

	uint64_t arena_bytes; /* addresses from 0 on that blocks may be given */
	const struct seam_planned
		*missing; /* the instance that the last request would have been; NULL: not known, or it is that */
	struct seam_planned *pending; /* of the last SEAM_MISS_gap or late; NULL: not known */
	enum seam_miss pending_miss;
	uint64_t pending_begin;
	uint64_t pending_bytes;
	uint64_t reach; /* position up to which the last request that was missed would live by the plan; 0: not known */
	struct seam_balance balance;
	struct seam_stranger stranger;
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

/* Whether the program does not say where iterations of the current script end, or no more. */
static inline bool seam__matcher_is_unmarked(const struct seam_matcher *matcher)
{
	return !matcher->steps || matcher->now->unmarked >= SEAM_UNMARKED;
}

/* One position on. */
static inline void seam__front_step(struct seam_matcher *matcher, struct seam_script *script)
{
	script->front.at++;
	if (SEAM_LIKELY(++script->front.position != script->positions))
		return;
	script->front.position = 0;
	script->front.base += script->positions;
	if (++script->front.copy == script->copies)
		script->front.copy = 0;
	matcher->counts.repetitions++;
	seam__balance_turn(&matcher->balance);
	script->unmarked++;
	if (matcher->heir != NULL && seam__matcher_is_unmarked(matcher))
		matcher->lane = NULL; /* the next request is looked at with care: seam__matcher_succeed_unmarked() */
}

/* Moves the front up to `to`: what has not been freed on the way becomes a stray. False: no memory for one; the front
 * stands before it. */
bool seam__front_move(struct seam_matcher *matcher, uint64_t to);

/* A block of the current script becomes a stray. False: no memory. */
bool seam__stray_add(struct seam_matcher *matcher, struct seam_planned *planned, enum seam_planned_state state);

/* All LIVE and loose blocks become strays. False: no memory, nothing changed. */
bool seam__strays_take_all(struct seam_matcher *matcher);

/* Whether a stray or a loose block lies in [begin, end). */
bool seam__apart_overlaps(const struct seam_matcher *matcher, uint64_t begin, uint64_t end);

/* The slot at this spot is asked for. */
enum seam_miss seam__matcher_place(struct seam_matcher *matcher, const struct seam_spot *spot, uint64_t requested_bytes,
	struct seam_planned **ret_planned);

/* Makes an instance live. */
static inline void seam__planned_begin(struct seam_matcher *matcher, struct seam_script *script,
	struct seam_planned *planned, uint64_t requested_bytes)
{
	planned->state = SEAM_PLANNED_LIVE;
	planned->requested_bytes = requested_bytes;
	script->places[script->place_of[planned->number]].number = planned->number;
	matcher->counts.live++;
	matcher->counts.live_bytes += planned->bytes;
	matcher->counts.hits++;
}

/* tracker.c: the cursor that this thread and stream have; NULL: none. */
struct seam_lane *seam__tracker_cursor(const struct seam_matcher *matcher, const struct seam_match_ask *ask);

/* Which slot the request is. SEAM_MISS_NONE: a spot, of matcher->lane; its cue may be a dynamic one. It may make
 * another script the current one. */
enum seam_miss seam__tracker_find(struct seam_matcher *matcher, struct seam_lane *cursor,
	const struct seam_match_ask *ask, struct seam_spot *ret_spot);

/* A block was freed that was not due: if much less is live than the plan has here, the next request is looked at,
 * though it be expected. */
void seam__tracker_freed(struct seam_matcher *matcher);

/* Every lane expects its first slot at or behind the position that runs on. */
void seam__lanes_put(struct seam_script *script, uint64_t at);

/* Every lane expects its first slot at or behind `position` of the repetition that the front is in. cold: that is a
 * guess. */
void seam__lanes_reset(struct seam_script *script, uint32_t position, bool cold);

/* The lane expects its first slot at or behind the position that runs on. */
void seam__lane_put(const struct seam_script *script, struct seam_lane *lane, uint64_t at);

/* matcher_scripts.c: makes it current, at `position` of a new repetition; cold: or anywhere. False: no memory, nothing
 * changed. */
bool seam__matcher_switch(struct seam_matcher *matcher, struct seam_script *script, uint32_t position, bool cold);

/* The program says that an iteration ends: what waits for that becomes current. Without memory it waits for the next.
 */
void seam__matcher_succeed(struct seam_matcher *matcher);

/* A request comes, the first where a repetition has ended: what waits becomes current if the program says no more where
 * iterations end. */
void seam__matcher_succeed_unmarked(struct seam_matcher *matcher);

/* The last block of a forgotten script is freed. */
void seam__matcher_forget(struct seam_matcher *matcher, struct seam_script *script);

/* matcher_ranges.c: the first blocked range that ends behind `at`. O(log ranges). */
uint32_t seam__matcher_blocked_at(const struct seam_matcher *matcher, uint64_t at);

/* matcher_dynamic.c: the lowest part of [at, end) that is taken by strays, loose blocks and blocked ranges; an empty
 * one at `end` where none is. */
struct seam_taken {
	uint64_t begin;
	uint64_t end;
};

/* Goes up through what is taken; every call asks from a higher place than the one before. */
struct seam_climb {
	const struct seam_matcher *matcher;
	struct seam_stray *stray; /* the lowest that may reach behind the place; NULL: no more */
	uint32_t loose;
	uint32_t blocked;
};
struct seam_climb seam__climb_from(const struct seam_matcher *matcher, uint64_t at);
struct seam_taken seam__climb_next(struct seam_climb *climb, uint64_t at, uint64_t end);

/* A loose block over free addresses, live from now on, that is a stray from position `until` on: no slot that begins at
 * the front or later, but before that, may overlap it, for an expected one is not tested against it. NULL: no metadata.
 */
struct seam_planned *seam__loose_begin(
	struct seam_matcher *matcher, uint64_t offset, uint64_t requested_bytes, uint64_t until);

enum seam_miss seam__matcher_place_dynamic(struct seam_matcher *matcher, const struct seam_spot *spot,
	uint64_t requested_bytes, struct seam_planned **ret_planned);

#endif
