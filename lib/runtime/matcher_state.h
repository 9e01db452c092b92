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
#include "script.h"
#include "slab.h"
#include "strays.h"

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
	uint64_t heard;  /* of the lane that spoke last: since it had heard so many sizes */
	uint32_t freed;  /* so many frees came that were not due */
	uint32_t doubts; /* so many requests more are compared with it */
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
	struct seam_script *owners[SEAM_OWNERS]; /* by index, retired ones too; NULL: free */

	struct seam_blocked *blocked; /* by begin */
	uint32_t blocked_count;
	uint32_t blocked_capacity;
	uint64_t blocked_widest; /* bytes of the widest there was since there was none */

	uint64_t arena_bytes; /* addresses from 0 on that blocks may be given */
	struct seam_pieces pieces;
	const struct seam_planned
		*missing; /* the instance that the last request would have been; NULL: not known, or it is that */
	struct seam_planned *pending; /* of the last SEAM_MISS_gap */
	uint64_t pending_begin;
	uint64_t pending_bytes;
	uint64_t reach; /* position up to which the last request that was missed would live by the plan; 0: not known */
	struct seam_balance balance;
	struct seam_history stranger; /* requests of a thread and stream that no lane has */
	uint64_t stranger_stream;
	uint32_t stranger_thread;
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

/* matcher_balance.c: a free that was not due. */
void seam__balance_free(struct seam_matcher *matcher);

/* There are doubts, and the lane asks for so many bytes: if that and what is live are not as expected here, but as
 * where a period begins, all lanes go there. */
void seam__balance_compare(struct seam_matcher *matcher, struct seam_lane *lane, uint64_t bytes);

/* Whether a request that looks like the lane's at position `to` is not to be believed: that is far ahead, and blocks
 * are live that go before it comes. Once only: the next request may say the same. O(positions up to there). */
bool seam__balance_leaps(const struct seam_script *script, struct seam_lane *lane, uint64_t to);

/* Farther behind the front, or ahead, no lane is that is in step. */
static inline uint64_t seam__script_around(const struct seam_script *script)
{
	return script->positions / 16 + 32;
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

/* lanes.c */

static inline void seam__history_add(struct seam_history *history, uint64_t bytes)
{
	history->sizes[history->heard++ % SEAM_HEARD] = bytes;
}

/* Equal as far as a block goes. bytes: at least 1. */
static inline bool seam__cue_fits(const struct seam_cue *cue, uint64_t bytes)
{
	return ((bytes + SEAM_PLANNED_BYTES - 1) ^ (cue->bytes + SEAM_PLANNED_BYTES - 1)) < SEAM_PLANNED_BYTES;
}

/* The next cue is behind this one. */
static inline void seam__lane_pass(const struct seam_script *script, struct seam_lane *lane)
{
	if (SEAM_LIKELY(++lane->next != lane->first + lane->count))
		return;
	lane->next = lane->first;
	lane->base += script->positions;
	if (++lane->copy == script->copies)
		lane->copy = 0;
}

/* Number of the first cue that does not begin before the position; lane->count: none. O(log cues). */
static inline uint32_t seam__lane_cue_at(const struct seam_lane *lane, uint32_t position)
{
	uint32_t low = 0, high = lane->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (lane->first[middle].begin < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Which slot the request is. SEAM_MISS_NONE: a spot; its cue may be a dynamic one. It may make another script the
 * current one. */
enum seam_miss seam__lane_hear(struct seam_matcher *matcher, struct seam_lane *lane, const struct seam_match_ask *ask,
	struct seam_spot *ret_spot);

/* The place that the index says: cue number `cue` of the lane. The request itself is the last of the sizes heard. */
struct seam_spot seam__lane_take_guess(struct seam_matcher *matcher, struct seam_lane *lane, uint32_t cue);

/* lanes_equal.c: a block of the current script was freed that was not due: it may have been another slot of its size.
 */
void seam__lane_hear_free(struct seam_matcher *matcher, const struct seam_planned *planned);

/* lanes_switch.c: another script that explains more than `length` of the sizes heard on a stream: it becomes the
 * current one. */
bool seam__lane_switch(struct seam_matcher *matcher, uint64_t stream, uint32_t thread, const struct seam_history *heard,
	uint32_t length, struct seam_spot *ret_spot);

/* The same where all that the lane has heard since an iteration began is the beginning of another script. */
bool seam__lane_switch_since_begun(
	struct seam_matcher *matcher, const struct seam_lane *before, struct seam_spot *ret_spot);

/* A request of a lane that the current script does not have. True: another script has it, and is current now. */
bool seam__lane_hear_stranger(
	struct seam_matcher *matcher, const struct seam_match_ask *ask, struct seam_spot *ret_spot);

/* matcher_steps.c: the lane has just asked for what it does not expect, for the first time since the program said that
 * an iteration ended. True: it is what a new iteration begins with, behind another mark. */
bool seam__lane_begins_anew(
	struct seam_matcher *matcher, struct seam_lane *lane, uint64_t bytes, struct seam_spot *ret_spot);

/* Every lane expects its first slot at or behind `position` of the repetition that the front is in. cold: that is a
 * guess. */
void seam__lanes_reset(struct seam_script *script, uint32_t position, bool cold);

/* The lane expects its first slot at or behind the position that runs on. */
void seam__lane_put(const struct seam_script *script, struct seam_lane *lane, uint64_t at);

/* speakers.c: the lane that this thread and stream have; NULL: none, so far. */
struct seam_lane *seam__speaker_lane(const struct seam_matcher *matcher, const struct seam_match_ask *ask);

/* Of those who have none: one of the stream that has been silent, whose place the thread takes; or one that expects
 * just this, for this once. NULL: none. */
struct seam_lane *seam__speaker_find(const struct seam_matcher *matcher, const struct seam_match_ask *ask);

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
