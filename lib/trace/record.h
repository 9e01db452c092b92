/* record.h: the recorder: what a program asks of a pool, as it asks, and traces made of it.
 *
 * Every event has a number, its *order*, which the pool draws under its lock anyway, and a place of its own in a *log*
 * that all threads share: whoever drew the number writes there, without a lock, 64 bytes, and at every fourth request
 * and whatever is none the time stamp counter (requests in between have the time of the one before). The log is made of
 * segments, which are prepared ahead; beyond its limit the oldest segment goes, and of its events only the blocks that
 * are still live are kept, as residents. A number that is still missing (its thread has drawn it but not written yet)
 * ends what can be read.
 *
 * Why not a ring for each thread that is emptied into a log: the number already gives every event a place that nobody
 * else writes, so the copy, the merge and rings that outlive their threads would buy nothing.
 *
 * Here too: what a thread says about itself: its number, the phases it is in, whether its requests depend on data.
 * Not here: the format (trace.h), periods (lib/plan/iterations/iterations.h).
 *
 * Invariants (seam__recorder_check)
 *   RC1  the log's events stand at the places of their numbers; a number without an event is one that is being written,
 *        or was lost
 *   RC2  every block that the log frees is allocated in it before, or is a resident, unless events were lost
 *   RC3  log and residents stay under the limit
 *
 * Locks: `gather`, rank SEAM_RANK_TRACE (may be taken under the pool's locks), guards everything but the places of
 * events. Thread-local: the thread's contexts in the recorders used last. A list of all recorders (SEAM_RANK_REGISTRY)
 * lets a thread that ends give its contexts back: create and destroy take it.
 *
 * Fork: a child must not call anything here on a recorder of its parent.
 */
#ifndef SEAM_RECORD_H
#define SEAM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/trace.h>

#define SEAM_RECORD_LEAST_BYTES (UINT64_C(512) << 10) /* least limit of a recorder */
#define SEAM_RECORD_NAME_BYTES 64u                    /* of a phase's name, with the final zero */

struct seam_meta;
struct seam_recorder;

/* Of the calling thread, for one recorder. */
struct seam_thread_context {
	uint32_t thread;        /* number, by order of first appearance */
	uint32_t dynamic_depth; /* seam_dynamic_begin() not ended */
	uint32_t phase_depth;
};

/* limit_bytes: of the log and the residents together; at least SEAM_RECORD_LEAST_BYTES. meta outlives the recorder.
 * device: ordinal, for the traces. Errors: SEAM_INVALID, SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__recorder_create(
	struct seam_meta *meta, uint64_t limit_bytes, uint32_t device, struct seam_recorder **ret_recorder);

/* No thread writes any more. */
void seam__recorder_destroy(struct seam_recorder *recorder); /* NULL is allowed */

/* The calling thread's. Never NULL: without memory for one, that of thread UINT32_MAX, which has no phases and is never
 * dynamic. Valid until the thread ends, or acts as another. */
const struct seam_thread_context *seam__recorder_thread(struct seam_recorder *recorder);

/* For replays and tests: the calling thread speaks as thread `number` from here on. No two threads speak as one at a
 * time. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__recorder_act_as(struct seam_recorder *recorder, uint32_t number);

/* The next number, from 1 on. With the pool's lock. Whoever draws one must add its event, soon, with or without the
 * pool's lock. */
uint64_t seam__recorder_draw(struct seam_recorder *recorder);

/* An event. Each number is added once, by the thread that drew it. Never fails: what finds no memory is lost and
 * counted. */
struct seam_record {
	uint64_t order;
	uint64_t id; /* a block's serial, which is the order of its allocation: of ALLOC it is `order`. STEP: its number
			from 0 */
	uint64_t bytes;  /* as requested; 0 will do for a FREE, which has those of its block, as it has the stream */
	uint64_t stream; /* the driver's handle */
	uint8_t kind;  /* enum seam_trace_kind: ALLOC, FREE, RECORD_STREAM, STEP, POOL_RELEASE, EMPTY_CACHE, OOM; 0: no
			  event, after all */
	uint8_t flags; /* SEAM_TRACE_DYNAMIC is added from the thread context to an ALLOC */
	uint32_t pool; /* private pool */
	const struct seam_thread_context
		*context; /* of the calling thread, if it has been asked for already; else NULL */
};
void seam__recorder_add(struct seam_recorder *recorder, const struct seam_record *record);

/* Phases and dynamic requests of the calling thread; phases are events too (PHASE_BEGIN, PHASE_END with the name). name
 * is copied, cut to SEAM_RECORD_NAME_BYTES; beyond 255 different ones the others share one. order: drawn, and used up
 * in any case. A phase that its thread never ends stays open. Errors: SEAM_INVALID (an end without its begin, or of
 * another name; more than 32 inside each other), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__recorder_phase_begin(struct seam_recorder *recorder, uint64_t order, const char *name);
SEAM_MUST_USE enum seam_rc seam__recorder_phase_end(struct seam_recorder *recorder, uint64_t order, const char *name);
SEAM_MUST_USE enum seam_rc seam__recorder_dynamic_begin(struct seam_recorder *recorder);
SEAM_MUST_USE enum seam_rc seam__recorder_dynamic_end(struct seam_recorder *recorder);

struct seam_recorder_counts {
	uint64_t events;     /* numbers drawn, ever */
	uint64_t log_events; /* of these, in the log */
	uint64_t lost;       /* for want of memory */
	uint64_t steps;      /* ever */
	uint64_t residents;  /* live blocks from before the log */
	uint64_t bytes;      /* of log and residents */
};
void seam__recorder_get_counts(struct seam_recorder *recorder, struct seam_recorder_counts *ret_counts);

/* A trace of the log: blocks live when it begins as residents first (flag SEAM_TRACE_RESIDENT, in order of serial),
 * then the newest `events` events (0: all). Valid by T1-T6: frees of unknown blocks are left out, phases that are open
 * at the start begin there, and where phases of different threads overlap, inner ones end and begin again. Ids are the
 * serials, times those since the first event. May be called at any time from any thread; others wait for it only while
 * residents, or a segment of the log, are copied. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__recorder_trace(
	struct seam_recorder *recorder, uint64_t events, const char *source, struct seam_trace **ret_trace);

/* No thread writes meanwhile. */
const char *seam__recorder_check(struct seam_recorder *recorder);

#endif
