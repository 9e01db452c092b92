/* script.h: a plan made ready to run: what a lane expects next, what happens at each position, who lies where.
 *
 * Positions are counted anew: every allocation and every free of a slot has one of its own, 2 * slots in all, in the
 * plan's order (frees before the allocation at the same place). A plan may have frees at one position, or positions
 * without either; a script has not.
 *
 * Not here: what is live together and what a request is (matcher_state.h). The tables are immutable; lanes, the front
 * and the state of instances belong to the matcher that owns the script.
 *
 * Invariants (seam__script_check)
 *   C1  every slot has one allocation and one free among the actions; cues of a lane ascend; lanes have all slots
 *       between them
 *   C2  a lane's cursor is one of its cues; its base is a repetition of the front's period
 *   C3  instances stand by address, their reach is right; a place's live instance is of its offset
 *   C4  what is live at a position follows from what is at the one before
 */
#ifndef SEAM_SCRIPT_H
#define SEAM_SCRIPT_H

#include "matcher.h"

#define SEAM_PLANNED_BYTES 512u /* blocks are rounded up to it */
#define SEAM_HEARD 16u          /* sizes that a lane remembers */
#define SEAM_SKIPPED 4u         /* slots passed over that a lane remembers */
#define SEAM_RUN 4u             /* sizes in a row that the index knows */
#define SEAM_HITS 8u            /* places of one run that are looked at before the one that is nearest, and behind */
#define SEAM_NEVER UINT64_MAX

/* Where and when an instance is due: what a search by address reads, one behind the other. */
struct seam_berth {
	uint64_t begin, end; /* bytes */
	uint64_t reach;  /* of the entry that is the middle of a stretch of them: the furthest end in that stretch */
	uint64_t times;  /* of the same stretch: the parts of the circle in which any of it is due or live */
	uint64_t at;     /* position around the circle of copies */
	uint32_t length; /* positions */
	uint32_t number;
};

/* A slot as its lane expects it. */
struct seam_cue {
	uint64_t bytes; /* as requested; 0: dynamic */
	uint32_t begin; /* position */
	uint32_t slot;
};

/* A run of SEAM_RUN sizes around the circle of a lane's cues. */
struct seam_run {
	uint32_t hash;
	uint32_t last; /* cue, from the lane's first */
};

/* A slot as the circle of positions has it. */
struct seam_stretch {
	uint32_t begin;
	uint32_t end;   /* counted from the begin's repetition */
	uint32_t group; /* of copy 0; SEAM_STATIC: not dynamic */
	uint32_t lag;   /* of the free, in copies of the period, below `copies` */
};
#define SEAM_STATIC UINT32_MAX

struct seam_script_group {
	uint32_t begin;
	uint32_t end; /* as in stretches */
	uint32_t first_range;
	uint32_t range_count;
};

/* Addresses to live instances: open addressing, filled once with every offset that occurs. */
struct seam_place {
	uint32_t key;    /* offset / 512; UINT32_MAX: none */
	uint32_t number; /* of the instance that began there last; UINT32_MAX: none has */
};

/* What a lane asked for lately. */
struct seam_history {
	uint64_t heard;
	uint64_t sizes[SEAM_HEARD]; /* 0: dynamic. The i-th from the beginning at i % SEAM_HEARD */
};

/* A slot at a repetition. */
struct seam_spot {
	const struct seam_cue *cue; /* NULL: none */
	uint64_t base;
	uint32_t copy;
};

/* Those who ask from one thread on one stream. */
struct seam_lane {
	/* A line of the cache: with the size that is put into the history that is all that a request which was expected
	 * touches. */
	const struct seam_cue *next; /* what is expected */
	uint64_t base;               /* position at which its repetition begins */
	uint32_t copy;
	uint32_t thread; /* who speaks, once it has spoken; else as in the plan */
	uint64_t stream;
	uint32_t debt; /* bits that the last requests cost (tracker.h); 0: in step */
	uint32_t count;
	const struct seam_cue *first; /* its cues: [first, first + count) */
	struct seam_history history;

	const struct seam_run *runs; /* count of them, by hash and place */
	uint64_t stepped; /* so many sizes had been heard when the program said that an iteration ended; SEAM_NEVER: it
			     has not */
	uint32_t missed;  /* requests in a row that were not found */
	bool cold;        /* nothing is known of where it is: only the index can tell */
	uint32_t plan_thread;
	struct seam_spot dynamic; /* the last dynamic one that was asked for; its cue may be NULL */
	uint32_t skipped_at;      /* the oldest of skipped */
	struct seam_spot skipped[SEAM_SKIPPED];
};

#define SEAM_MARKS 32u /* most that are noted */

/* Positions at which the program says that an iteration ends, as far as it is known. */
struct seam_marks {
	uint32_t count;
	uint32_t at[SEAM_MARKS];
	bool all; /* there are no others: the period is one iteration */
};

/* How far the positions have been reached: everything before `at` has. */
struct seam_front {
	uint64_t at;       /* base + position */
	uint64_t base;     /* of its repetition, a multiple of `positions` */
	uint32_t position; /* below `positions` */
	uint32_t copy;
};

struct seam_script {
	/* What every request reads. */
	struct seam_front front;
	struct seam_planned *instances; /* slot * copies + copy */
	const uint32_t *actions;        /* per position: slot * 2, + 1 for its free */
	struct seam_place *places;      /* place_mask + 1 of them */
	const uint32_t *place_of;       /* per instance */
	uint32_t positions;
	uint32_t copies;
	const struct seam_stretch *stretches; /* per slot */
	const uint32_t *live_at;              /* per position: so many slots are live before what happens there */
	uint32_t place_mask;
	uint32_t index; /* the matcher's number for it */

	struct seam_lane *lanes;
	uint32_t lane_count;
	uint32_t slots;
	uint64_t strays;   /* live blocks of it that are strays */
	uint32_t least_at; /* the first position where least is live */
	struct seam_marks marks;
	uint64_t unmarked; /* so many repetitions of it have ended since the program said last that an iteration of it
			      did */
	bool retired;      /* forgotten; only instances are left */
	bool used;         /* was current once */

	struct seam_cue *cues;
	struct seam_run *runs;
	struct seam_berth *berths; /* of instances with a place, by offset, number */
	uint32_t placed;           /* of them */
	uint8_t *goes_on; /* NULL, or per slot: begins where much is live, and lives on where little is: it outlives its
			     iteration */
	uint8_t *crosses; /* per slot: memory that slots of other streams have too, or that other streams use */
	uint8_t *waited;  /* per slot: 1: other streams use it, and its end is waited for. All that overlap it cross */
	bool is_used;     /* there is one */
	struct seam_script_group *groups;
	struct seam_plan_range *ranges;
	uint32_t group_count;
	uint32_t range_count;
	uint64_t *streams;
	uint32_t stream_count;
	uint64_t bytes;
	uint64_t fingerprint;
};

/* script.c */
void seam__script_retire(struct seam_meta *meta, struct seam_script *script); /* frees all but the instances */
const char *seam__script_check(const struct seam_script *script);

/* script_positions.c: positions and what lies on them. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__script_count_positions(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_script *script);

/* script_lanes.c: lanes, cues, runs. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__script_find_lanes(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_script *script);

/* Where the last sizes of a history may stand in the lane's cues. length 0: nowhere, or it is not decided. */
struct seam_guess {
	uint32_t cue;    /* of the last size */
	uint32_t length; /* sizes that agree */
};
/* The longest agreement; of equal ones the nearest to cue number `near`. O(SEAM_HITS). */
struct seam_guess seam__lane_guess(const struct seam_lane *lane, const struct seam_history *history, uint32_t near);

/* The hash of the last sizes of a history, of which a run was heard. */
uint32_t seam__history_run(const struct seam_history *history);

/* Whether such a run stands anywhere in the lane's cues. */
bool seam__lane_has_run(const struct seam_lane *lane, uint32_t hash);

/* Whether two scripts are of one kind of iteration: nearly all runs of sizes that one has the other has too, in lanes
 * of the same streams. */
bool seam__script_resembles(const struct seam_script *a, const struct seam_script *b);

/* How many of the last sizes agree with the cues that end at `cue`, at most SEAM_HEARD. With a dynamic cue any size
 * does, so it says nothing: `exact` are the others. */
struct seam_agreement {
	uint32_t length;
	uint32_t exact;
};
struct seam_agreement seam__lane_agrees(const struct seam_lane *lane, uint32_t cue, const struct seam_history *history);

/* script_places.c: instances by address. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__script_index_places(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_script *script);

/* Calls visit() for every instance that overlaps [begin, end), in order of address, until it returns true; whether it
 * has. */
bool seam__script_overlapping(const struct seam_script *script, uint64_t begin, uint64_t end,
	bool (*visit)(void *user, uint32_t number), void *user);

/* Offsets are often multiples of large powers of two, hence the upper half. */
static inline uint32_t seam__place_hash(uint32_t key)
{
	return (uint32_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

/* The instance that began at `offset` last and is not free; NULL: none. O(1). */
static inline struct seam_planned *seam__script_at(const struct seam_script *script, uint64_t offset)
{
	if (offset % SEAM_PLANNED_BYTES != 0 || offset >> 41 != 0)
		return NULL;
	const uint32_t key = (uint32_t)(offset / SEAM_PLANNED_BYTES);
	uint32_t at = seam__place_hash(key) & script->place_mask;
	for (; script->places[at].key != key; at = (at + 1) & script->place_mask)
		if (script->places[at].key == UINT32_MAX)
			return NULL;
	if (script->places[at].number == UINT32_MAX)
		return NULL;
	struct seam_planned *planned = &script->instances[script->places[at].number];
	return planned->state == SEAM_PLANNED_FREE ? NULL : planned;
}

/* Instances are counted with the copy fastest. */
static inline uint32_t seam__script_number(const struct seam_script *script, uint32_t slot, uint32_t copy)
{
	return slot * script->copies + copy;
}

/* The instance whose free is due at a position of a copy; UINT32_MAX: an allocation is. */
static inline uint32_t seam__script_due_at(const struct seam_script *script, uint32_t position, uint32_t of_copy)
{
	const uint32_t action = script->actions[position];
	if ((action & 1) == 0)
		return UINT32_MAX;
	if (script->copies == 1)
		return action >> 1;
	const uint32_t lag = script->stretches[action >> 1].lag;
	const uint32_t copy = of_copy >= lag ? of_copy - lag : of_copy + script->copies - lag;
	return seam__script_number(script, action >> 1, copy);
}

/* The same at the front. */
static inline uint32_t seam__script_due(const struct seam_script *script)
{
	return seam__script_due_at(script, script->front.position, script->front.copy);
}

/* Positions from the front until an instance that is not live is due next, around the circle of copies: by where in the
 * circle it is due. */
static inline uint64_t seam__script_due_at_circle(const struct seam_script *script, uint64_t at)
{
	const uint64_t front = (uint64_t)script->front.copy * script->positions + script->front.position;
	return at >= front ? at - front : at + (uint64_t)script->positions * script->copies - front;
}

static inline uint64_t seam__script_circle_at(const struct seam_script *script, uint32_t number)
{
	return (uint64_t)(number % script->copies) * script->positions +
		script->stretches[number / script->copies].begin;
}

/* The parts of the circle of copies, cut into 64, that positions [at, at + length] are in: a bit for each. */
static inline uint64_t seam__script_times(const struct seam_script *script, uint64_t at, uint64_t length)
{
	const uint64_t circle = (uint64_t)script->positions * script->copies, part = (circle + 63) / 64;
	if (length >= circle)
		return UINT64_MAX;
	const uint64_t end = at + length;
	const uint64_t from = UINT64_MAX << at / part;
	const uint64_t to = UINT64_MAX >> (63 - (end < circle ? end : end - circle) / part);
	return end < circle ? from & to : from | to;
}

static inline uint64_t seam__script_due_in(const struct seam_script *script, uint32_t number)
{
	return seam__script_due_at_circle(script, seam__script_circle_at(script, number));
}

#endif
