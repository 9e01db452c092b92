/* schedule.h: what a replay does, operation by operation: a trace with its repetitions written out.
 *
 * Ids are resolved: every allocation of every repetition is a block of its own, numbered from 0; streams, events and
 * private pools are small numbers too. So the replay itself looks nothing up.
 *
 * Not here: which part is repeated and what crosses its ends (stretch.h); doing it (replay.h).
 * Invariant O1: a block is allocated once, and freed or used only between its allocation and its free.
 * Immutable once built.
 */
#ifndef TOOLS_SCHEDULE_H
#define TOOLS_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/trace.h>

enum schedule_kind {
	SCHEDULE_ALLOC,         /* target: block */
	SCHEDULE_FREE,          /* target: block */
	SCHEDULE_RECORD_STREAM, /* target: block; stream: the other stream */
	SCHEDULE_EVENT_RECORD,  /* target: event */
	SCHEDULE_EVENT_WAIT,    /* target: event */
	SCHEDULE_STREAM_SYNC,
	SCHEDULE_DEVICE_SYNC,
	SCHEDULE_POOL_BEGIN,   /* target: private pool */
	SCHEDULE_POOL_END,     /* target: private pool */
	SCHEDULE_POOL_RELEASE, /* target: private pool */
	SCHEDULE_EMPTY_CACHE,
	SCHEDULE_BEGIN,       /* an iteration begins; target: its number from 0 */
	SCHEDULE_END,         /* and ends */
	SCHEDULE_STEP,        /* a mark of the program: its iteration ends here */
	SCHEDULE_PHASE_BEGIN, /* target: the phase's name, a string of the trace */
	SCHEDULE_PHASE_END,   /* target: likewise */
};

/* flags of an operation */
#define SCHEDULE_DYNAMIC 0x1u /* allocations: the size depends on data */

struct schedule_op {
	uint32_t kind; /* enum schedule_kind */
	uint32_t target;
	uint32_t stream;     /* index in streams */
	uint32_t private_id; /* allocations: 0, or a private pool */
	uint64_t bytes;      /* allocations: as requested */
	uint32_t thread;     /* who asks, as in the trace */
	uint32_t gap_ns;     /* that the program took before it, where the trace's times are real; else 0 */
	uint32_t flags;
};

struct schedule {
	struct schedule_op *ops;
	size_t op_count;
	uint64_t *streams; /* the trace's numbers of streams; the first is 0, the default stream */
	uint32_t stream_count;
	uint32_t block_count; /* allocations */
	uint32_t event_count;
	uint32_t iterations;      /* never SCHEDULE_STEPS */
	bool timed;               /* gap_ns is valid: the trace's times are those of a program that ran */
	uint64_t peak_live_bytes; /* highest sum of the requested bytes of live blocks */
};

#define SCHEDULE_STEPS 0u /* instead of a number of iterations */

/* iterations: so many repetitions of the stretch; SCHEDULE_STEPS: nothing is repeated, each step that the trace marks
 * is an iteration, and the whole trace is one where none is marked. Errors: SEAM_INVALID (more than 2^32 blocks in
 * all), SEAM_CORRUPT (a free of nothing), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc schedule_build(
	const struct seam_trace *trace, uint32_t iterations, struct schedule *ret_schedule);
void schedule_fini(struct schedule *schedule);

/* Highest sum of the requested bytes of live blocks, for one whose operations were changed. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc schedule_measure(struct schedule *schedule);

/* Name of the first broken invariant, or NULL. SEAM_OOM_META cannot be told from a sound one. */
const char *schedule_check(const struct schedule *schedule);

#endif
