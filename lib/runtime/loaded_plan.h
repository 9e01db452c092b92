/* loaded_plan.h: a plan made ready to run: what a cursor expects next, what happens at each position, who lies where.
 *
 * Positions are counted anew: every allocation and every free of a slot has one of its own, 2 * slots in all, in the
 * plan's order (frees before the allocation at the same place). A plan may have frees at one position, or positions
 * without either; a loaded plan has not.
 *
 * Not here: what is live together and what a request is (matcher_state.h). The tables are immutable; cursors, the
 * frontier and the state of instances belong to the matcher that owns the loaded plan.
 *
 * Invariants (seam__loaded_check)
 *   C1  every slot has one allocation and one free among the actions; a cursor's expected slots ascend, and all
 *       cursors together have all slots
 *   C2  a cursor is at one of its expected slots; its base is a repetition of the frontier's period
 *   C3  instances stand by address, their reach is right; an address slot's live instance is of its offset
 *   C4  what is live at a position follows from what is at the one before, and at the first one from what lives on from
 *       earlier repetitions; least_at is the first position with the least
 *   C5  marks are positions, each noted once; one at most where there are no others
 */
#ifndef SEAM_LOADED_PLAN_H
#define SEAM_LOADED_PLAN_H

#include "matcher.h"

#define SEAM_PLANNED_BYTES 512u /* blocks are rounded up to it */
#define SEAM_HEARD 16u          /* sizes that a cursor remembers */
#define SEAM_SKIPPED 4u         /* slots passed over that a cursor remembers */
#define SEAM_RUN 4u             /* sizes in a row that the index knows */
#define SEAM_HITS 8u            /* places of one run that are looked at before the one that is nearest, and behind */
#define SEAM_NEVER UINT64_MAX
#define SEAM_SIZE_WORDS 256u /* of bits: of a few hundred sizes two in a hundred others look like one of them */

/* Where and when an instance is due: what a search by address reads, one behind the other. */
struct seam_by_address {
	uint64_t begin, end; /* bytes */
	uint64_t reach;  /* of the entry that is the middle of a stretch of them: the furthest end in that stretch */
	uint64_t times;  /* of the same stretch: when any of it is due or live (seam__loaded_times) */
	uint64_t at;     /* position around the circle of copies */
	uint32_t length; /* positions */
	uint32_t number;
};

/* A slot as its cursor expects it. */
struct seam_expected_slot {
	uint64_t bytes; /* as requested; 0: dynamic */
	uint32_t begin; /* position */
	uint32_t slot;
};

/* A run of SEAM_RUN sizes around the circle of a cursor's expected slots. */
struct seam_run {
	uint32_t hash;
	uint32_t last; /* expected slot, from the cursor's first */
};

/* A slot as the circle of positions has it. */
struct seam_lifetime {
	uint32_t begin;
	uint32_t end;   /* counted from the begin's repetition */
	uint32_t group; /* of copy 0; SEAM_STATIC: not dynamic */
	uint32_t lag;   /* of the free, in copies of the period, below `copies` */
};
#define SEAM_STATIC UINT32_MAX

struct seam_loaded_group {
	uint32_t begin;
	uint32_t end; /* as in lifetimes */
	uint32_t first_range;
	uint32_t range_count;
};

/* Addresses to live instances: open addressing, filled once with every offset that occurs. */
struct seam_address_slot {
	uint32_t key;    /* offset / 512; UINT32_MAX: none */
	uint32_t number; /* of the instance that began there last; UINT32_MAX: none has */
};

/* What a cursor asked for lately. */
struct seam_history {
	uint64_t heard;
	uint64_t sizes[SEAM_HEARD]; /* 0: dynamic. The i-th from the beginning at i % SEAM_HEARD */
};

/* A slot at a repetition. */
struct seam_slot_occurrence {
	const struct seam_expected_slot *expected; /* NULL: none */
	uint64_t base;
	uint32_t copy;
};

/* Those who ask from one thread on one stream. */
struct seam_cursor {
	/* A line of the cache: with the size that is put into the history that is all that a request which was expected
	 * touches. */
	const struct seam_expected_slot *next; /* what is expected */
	uint64_t base;                         /* position at which its repetition begins */
	uint32_t copy;
	uint32_t thread; /* who speaks, once it has spoken; else as in the plan */
	uint64_t stream;
	uint32_t debt; /* bits that the last requests cost (tracker.h); 0: in step */
	uint32_t count;
	const struct seam_expected_slot *first; /* its expected slots: [first, first + count) */
	struct seam_history history;

	const struct seam_run *runs; /* count of them, by hash and place */
	uint64_t stepped; /* so many sizes had been heard when the program said that an iteration ended; SEAM_NEVER: it
			     has not */
	uint32_t missed;  /* requests in a row that were not found */
	bool cold;        /* nothing is known of where it is: only the index can tell */
	uint32_t plan_thread;
	struct seam_slot_occurrence
		dynamic;     /* the last dynamic one that was asked for; its expected slot may be NULL */
	uint32_t skipped_at; /* the oldest of skipped */
	struct seam_slot_occurrence skipped[SEAM_SKIPPED];
};

#define SEAM_MARKS 32u /* most that are noted */

/* Positions at which the program says that an iteration ends, as far as it is known. */
struct seam_marks {
	uint32_t count;
	uint32_t at[SEAM_MARKS];
	bool all; /* there are no others: the period is one iteration */
};

/* How far the positions have been reached: everything before `at` has. */
struct seam_frontier {
	uint64_t at;       /* base + position */
	uint64_t base;     /* of its repetition, a multiple of `positions` */
	uint32_t position; /* below `positions` */
	uint32_t copy;
};

struct seam_loaded_plan {
	/* What every request reads. */
	struct seam_frontier frontier;
	struct seam_plan_block *instances; /* slot * copies + copy */
	const uint32_t *actions;           /* per position: slot * 2, + 1 for its free */
	struct seam_address_slot *places;  /* address_mask + 1 of them */
	const uint32_t *address_slot_of;   /* per instance */
	uint32_t positions;
	uint32_t copies;
	const struct seam_lifetime *lifetimes; /* per slot */
	const uint32_t *live_at;               /* per position: so many slots are live before what happens there */
	uint32_t address_mask;
	uint32_t index; /* the matcher's number for it */

	struct seam_cursor *cursors;
	uint32_t cursor_count;
	uint32_t slots;
	uint64_t overdue;  /* live blocks of it that are overdue blocks */
	uint32_t least_at; /* the first position where least is live */
	struct seam_marks marks;
	uint64_t unmarked; /* so many repetitions of it have ended since the program said last that an iteration of it
			      did */
	bool retired;      /* forgotten; only instances are left */
	bool used;         /* was current once */

	struct seam_expected_slot *expectations;
	struct seam_run *runs;
	uint64_t sizes[SEAM_SIZE_WORDS];            /* a bit for each size on a stream that it has (seam__loaded_has) */
	struct seam_by_address *by_address_entries; /* of instances with a place, by offset, number */
	uint32_t placed;                            /* of them */
	uint8_t *waited;                            /* per slot: 1: other streams use it, and its end is waited for */
	struct seam_loaded_group *groups;
	struct seam_plan_range *ranges;
	uint32_t group_count;
	uint32_t range_count;
	uint32_t stream_count;
	uint64_t bytes;
};

/* loaded_plan.c */
void seam__loaded_retire(struct seam_meta *meta, struct seam_loaded_plan *loaded); /* frees all but the instances */
const char *seam__loaded_check(const struct seam_loaded_plan *loaded);

/* loaded_peak.c: the first position from the frontier on at which something is asked for, counted from the frontier's
 * repetition. */
uint64_t seam__loaded_next_request(const struct seam_loaded_plan *loaded);

/* loaded_positions.c: positions and what lies on them. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__loaded_count_positions(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_loaded_plan *loaded);

/* loaded_cursors.c: cursors, expected slots, runs. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__loaded_find_cursors(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_loaded_plan *loaded);

/* Where the last sizes of a history may stand in the cursor's expected slots. length 0: nowhere, or it is not decided.
 */
struct seam_guess {
	uint32_t expected; /* of the last size */
	uint32_t length;   /* sizes that agree */
};
/* The longest agreement; of equal ones the nearest to expected slot number `near`. O(SEAM_HITS). */
struct seam_guess seam__cursor_guess(
	const struct seam_cursor *cursor, const struct seam_history *history, uint32_t near);

/* True where the loaded plan has requests of the size (0: dynamic ones) on the stream, and for few other sizes. O(1).
 */
bool seam__loaded_has(const struct seam_loaded_plan *loaded, uint64_t bytes, uint64_t stream);

/* Whether two loaded plans are of one kind of iteration: nearly all runs of sizes that one has the other has too, in
 * cursors of the same streams. */
bool seam__loaded_resembles(const struct seam_loaded_plan *a, const struct seam_loaded_plan *b);

/* How many of the last sizes agree with the expected slots that end at `expected`, at most SEAM_HEARD. With a dynamic
 * expected slot any size does, so it says nothing: `exact` are the others. */
struct seam_agreement {
	uint32_t length;
	uint32_t exact;
};
struct seam_agreement seam__cursor_agrees(
	const struct seam_cursor *cursor, uint32_t expected, const struct seam_history *history);

/* loaded_places.c: instances by address. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__loaded_index_places(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_loaded_plan *loaded);

/* Calls visit() for the instances that overlap [begin, end), in order of address, until it returns true; whether it
 * has. times: units of the circle (seam__loaded_times): instances that are neither due nor live in any of them may be
 * left out. NULL: all. */
bool seam__loaded_overlapping(const struct seam_loaded_plan *loaded, uint64_t begin, uint64_t end,
	const uint64_t *times, bool (*visit)(void *user, uint32_t number), void *user);

/* True: any of the stretch of which this is the middle may reach beyond `at`, and any may be due or live in those units
 * of the circle of copies. */
static inline bool seam__stretch_meets(const struct seam_by_address *middle, uint64_t at, uint64_t times)
{
	const uint64_t both = middle->times & times;
	return middle->reach > at && (uint32_t)both != 0 && both >> 32 != 0;
}

/* A way up through the instances by address. */
struct seam_places_walk {
	const struct seam_by_address *entries;
	uint32_t low, high; /* the stretch that comes next */
	uint32_t depth;
	struct {
		uint32_t middle, high;
	} above[32]; /* later: the entry `middle`, then the stretch from there to `high` */
};

static inline void seam__places_from_lowest(struct seam_places_walk *walk, const struct seam_loaded_plan *loaded)
{
	walk->entries = loaded->by_address_entries;
	walk->low = 0;
	walk->high = loaded->placed;
	walk->depth = 0;
}

/* The next instance; NULL: there is none. Stretches that do not meet `at` and `times` (seam__stretch_meets) are passed
 * over. Each other one takes a step; with no step left there is nothing below those that have been met. */
static inline const struct seam_by_address *seam__places_next(
	struct seam_places_walk *walk, uint64_t at, uint64_t times, uint32_t *steps)
{
	while (walk->low < walk->high && *steps != 0) {
		const uint32_t middle = walk->low + (walk->high - walk->low) / 2;
		if (!seam__stretch_meets(&walk->entries[middle], at, times))
			break;
		--*steps;
		walk->above[walk->depth].middle = middle;
		walk->above[walk->depth++].high = walk->high;
		walk->high = middle;
	}
	if (walk->depth == 0)
		return NULL;
	const uint32_t middle = walk->above[--walk->depth].middle;
	walk->low = middle + 1;
	walk->high = walk->above[walk->depth].high;
	return &walk->entries[middle];
}

/* Offsets are often multiples of large powers of two, hence the upper half. */
static inline uint32_t seam__address_hash(uint32_t key)
{
	return (uint32_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

/* The instance that began at `offset` last and is not free; NULL: none. O(1). */
static inline struct seam_plan_block *seam__loaded_at(const struct seam_loaded_plan *loaded, uint64_t offset)
{
	if (offset % SEAM_PLANNED_BYTES != 0 || offset >> 41 != 0)
		return NULL;
	const uint32_t key = (uint32_t)(offset / SEAM_PLANNED_BYTES);
	uint32_t at = seam__address_hash(key) & loaded->address_mask;
	for (; loaded->places[at].key != key; at = (at + 1) & loaded->address_mask)
		if (loaded->places[at].key == UINT32_MAX)
			return NULL;
	if (loaded->places[at].number == UINT32_MAX)
		return NULL;
	struct seam_plan_block *plan_block = &loaded->instances[loaded->places[at].number];
	return plan_block->state == SEAM_PLANNED_FREE ? NULL : plan_block;
}

/* Instances are counted with the copy fastest. */
static inline uint32_t seam__loaded_number(const struct seam_loaded_plan *loaded, uint32_t slot, uint32_t copy)
{
	return slot * loaded->copies + copy;
}

/* The instance whose free is due at the frontier; UINT32_MAX: an allocation is. */
static inline uint32_t seam__loaded_due(const struct seam_loaded_plan *loaded)
{
	const uint32_t action = loaded->actions[loaded->frontier.position], at_copy = loaded->frontier.copy;
	if ((action & 1) == 0)
		return UINT32_MAX;
	if (loaded->copies == 1)
		return action >> 1;
	const uint32_t lag = loaded->lifetimes[action >> 1].lag;
	const uint32_t copy = at_copy >= lag ? at_copy - lag : at_copy + loaded->copies - lag;
	return seam__loaded_number(loaded, action >> 1, copy);
}

/* Where in the circle of copies the frontier is. */
static inline uint64_t seam__frontier_circle_at(const struct seam_loaded_plan *loaded)
{
	return (uint64_t)loaded->frontier.copy * loaded->positions + loaded->frontier.position;
}

/* Where in the circle an instance is due. */
static inline uint64_t seam__loaded_circle_at(const struct seam_loaded_plan *loaded, uint32_t number)
{
	return (uint64_t)(number % loaded->copies) * loaded->positions +
		loaded->lifetimes[number / loaded->copies].begin;
}

/* Units [from, to] of the 1,024 that the circle of copies is cut into, as bits: in the low half number unit / 32 of
 * each, in the high half number unit % 32. */
static inline uint64_t seam__unit_times(uint64_t from, uint64_t to)
{
	const uint32_t all = UINT32_MAX, begin = all << from % 32, end = all >> (31 - to % 32);
	const uint32_t parts = all << from / 32 & all >> (31 - to / 32);
	const uint32_t rests = to - from >= 31 ? all : from % 32 <= to % 32 ? begin & end : begin | end;
	return (uint64_t)rests << 32 | parts;
}

/* The units of positions [at, at + length]. */
static inline uint64_t seam__loaded_times(const struct seam_loaded_plan *loaded, uint64_t at, uint64_t length)
{
	const uint64_t circle = (uint64_t)loaded->positions * loaded->copies, unit = (circle + 1023) / 1024;
	if (length >= circle)
		return UINT64_MAX;
	const uint64_t end = at + length;
	return end < circle
		? seam__unit_times(at / unit, end / unit)
		: seam__unit_times(at / unit, (circle - 1) / unit) | seam__unit_times(0, (end - circle) / unit);
}

/* The units of the next `length` positions, from the frontier on. */
static inline uint64_t seam__frontier_times(const struct seam_loaded_plan *loaded, uint64_t length)
{
	return seam__loaded_times(loaded, seam__frontier_circle_at(loaded), length);
}

/* Positions from the frontier until an instance that is not live is due next, around the circle of copies. */
static inline uint64_t seam__loaded_due_in(const struct seam_loaded_plan *loaded, uint32_t number)
{
	const uint64_t at = seam__loaded_circle_at(loaded, number), frontier = seam__frontier_circle_at(loaded);
	return at >= frontier ? at - frontier : at + (uint64_t)loaded->positions * loaded->copies - frontier;
}

#endif
