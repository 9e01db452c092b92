/* plan_world.h: seeded periodic programs: a trace, a plan that is right, and a naive judge of every other one.
 *
 * A program has a handful of slots on one to three streams; lifetimes cross the period's end and may be longer than it;
 * edges order streams; blocks are used by other streams. The judge unrolls 2k
 * repetitions into a graph of everything that happens and asks for reachability.
 */
#ifndef TEST_PLAN_WORLD_H
#define TEST_PLAN_WORLD_H

#include <stdbool.h>

#include <seam/plan.h>

#define WORLD_SLOTS 8
#define WORLD_COPIES 3
#define WORLD_EDGES 6
#define WORLD_CHUNK 32
#define WORLD_CHUNKS 128
#define WORLD_ARENA (WORLD_CHUNK * WORLD_CHUNKS)
#define WORLD_WAITS 4

struct world_slot {
	uint32_t size_bytes;
	uint32_t begin;
	uint32_t end; /* as in plans */
	uint32_t stream;
	uint32_t touch;  /* another stream that uses it, or its own */
	bool touch_late; /* used just before its free, else just after its allocation */
};

/* A record in the gap before one position and a wait for it in another, or a synchronisation. */
struct world_edge {
	uint32_t record_gap;
	uint32_t wait_gap; /* before the record: that of the repetition before is waited for */
	uint32_t from;     /* stream */
	uint32_t to;       /* stream; same as from: the host waits for it in the record's gap; WORLD_DEVICE: for all */
	bool fresh_ids;    /* another event in every repetition */
	bool previous;     /* the repetition before is waited for although this one's record came first */
};

/* How many repetitions lie between the record and the wait. */
static inline uint32_t world_edge_lag(const struct world_edge *edge)
{
	return edge->wait_gap < edge->record_gap || edge->previous ? 1 : 0;
}
#define WORLD_DEVICE 99u

struct world {
	uint32_t slots;
	uint32_t positions;
	uint32_t copies;
	uint32_t streams;
	uint32_t edges;
	uint32_t waits;
	bool warm;            /* whole repetitions come before the first one of the trace */
	uint32_t repetitions; /* in the trace */
	uint32_t stretch;     /* the one that the plan names */
	struct world_slot slot[WORLD_SLOTS];
	struct world_edge edge[WORLD_EDGES];
	struct seam_plan_wait wait[WORLD_WAITS];
	uint64_t offset[WORLD_SLOTS * WORLD_COPIES]; /* [slot * copies + copy] */
	/* Computed: */
	uint64_t event[WORLD_SLOTS]; /* of the allocations in the stretch */
	uint64_t first_event;
	uint64_t last_event;
	bool unsafe[WORLD_SLOTS * WORLD_COPIES]
		   [WORLD_SLOTS * WORLD_COPIES]; /* may not share a byte, in this order of time */
};

/* A program and a right placement of it. */
void world_make(struct world *world, uint64_t seed);

/* Its trace. Sets what is computed of events. */
struct seam_trace *world_trace(struct world *world);

/* A plan with the world's addresses as they stand now; NULL with `error` filled where the builder refuses it. */
struct seam_plan *world_plan(const struct world *world, const struct seam_trace *trace, struct seam_trace_error *error);

/* Is the placement right? NULL, or what is not. */
const char *world_judge(const struct world *world);

/* Do the two (slot * copies + copy) overlap in time, whatever their streams? */
bool world_meet(const struct world *world, uint32_t a, uint32_t b);

uint64_t world_next(uint64_t *state);

#endif
