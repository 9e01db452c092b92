/* record.h: the recorder: what a program asks of a pool, as it asks, and traces made of it.
 *
 * Every thread writes into a ring of its own, without a lock: 32 bytes and a time stamp counter for each event. What orders events of
 * different threads is a number that the pool draws under its lock anyway. When a ring is full its writer empties all rings into the *log*,
 * in order of those numbers; a number that is still missing (its thread has drawn it but not written yet) ends what can be taken.
 * The log is bounded: beyond its limit the oldest events go, and of them only the blocks that are still live are kept, as residents.
 *
 * Here too: what a thread says about itself: its number, the phases it is in, whether its requests depend on data.
 * Not here: the format (trace.h), periods (lib/plan/rhythm.h).
 *
 * Invariants (seam__recorder_check)
 *   R1  the log's events have rising numbers without a gap, but where it says that one was lost
 *   R2  every block that the log frees is allocated in it before, or is a resident
 *   R3  log and residents stay under the limit
 *
 * Locks: `gather`, rank SEAM_RANK_TRACE (may be taken under the pool's locks), guards the log and the list
 * of rings. A ring has one writer; its reader holds `gather`. Thread-local: the ring of the recorder used last.
 */
#ifndef SEAM_RECORD_H
#define SEAM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/trace.h>

struct seam_meta;
struct seam_recorder;

/* Of the calling thread, for one recorder. */
struct seam_voice {
	uint32_t thread;        /* number, by order of first appearance */
	uint32_t dynamic_depth; /* seam_dynamic_begin() not ended */
	uint32_t phase_depth;
};

/* limit_bytes: of rings and log together; at least 1 MiB. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__recorder_create(struct seam_meta *meta, uint64_t limit_bytes, struct seam_recorder **ret_recorder);

/* No thread writes any more. */
void seam__recorder_destroy(struct seam_recorder *recorder); /* NULL is allowed */

/* The calling thread's. Never NULL: without memory for a ring, a shared one of a thread without number (UINT32_MAX), whose events are lost. */
const struct seam_voice *seam__recorder_voice(struct seam_recorder *recorder);

/* For replays and tests: the calling thread speaks as thread `number` from here on. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__recorder_act_as(struct seam_recorder *recorder, uint32_t number);

/* An event. order: drawn under the pool's lock, from 1 on, each number once (seam__recorder_draw); written by the thread that drew it,
 * soon, with or without the pool's lock. id: a block's serial, unique for ever. Never fails: what finds no memory is lost and counted. */
struct seam_record {
	uint64_t order;
	uint64_t id;
	uint64_t bytes;
	uint64_t stream;      /* the driver's handle */
	uint8_t kind;         /* enum seam_trace_kind: ALLOC, FREE, RECORD_STREAM, STEP, POOL_RELEASE, EMPTY_CACHE, OOM */
	uint8_t flags;        /* SEAM_TRACE_DYNAMIC is added from the voice */
	uint32_t pool;        /* private pool */
};
void seam__recorder_add(struct seam_recorder *recorder, const struct seam_record *record);

/* The next number. With the pool's lock. */
uint64_t seam__recorder_draw(struct seam_recorder *recorder);

/* Phases and dynamic requests of the calling thread; phases are events too (PHASE_BEGIN, PHASE_END with the name). name is copied (cut at 63 bytes). order: drawn.
 * Errors: SEAM_INVALID (an end without its begin, or of another name), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__recorder_phase_begin(struct seam_recorder *recorder, uint64_t order, const char *name);
SEAM_MUST_USE enum seam_rc seam__recorder_phase_end(struct seam_recorder *recorder, uint64_t order, const char *name);
SEAM_MUST_USE enum seam_rc seam__recorder_dynamic_begin(struct seam_recorder *recorder);
SEAM_MUST_USE enum seam_rc seam__recorder_dynamic_end(struct seam_recorder *recorder);

struct seam_recorder_counts {
	uint64_t events;      /* ever */
	uint64_t log_events;  /* now */
	uint64_t lost;        /* for want of memory */
	uint64_t steps;       /* ever */
	uint64_t bytes;       /* of rings and log */
};
void seam__recorder_get_counts(struct seam_recorder *recorder, struct seam_recorder_counts *ret_counts);

/* A trace of the log: blocks live when it begins as residents first (flag SEAM_TRACE_RESIDENT, in order of serial), then the newest `events`
 * events (0: all). Valid by T1-T6: frees of unknown blocks are left out, phases that are open at the start begin there. Ids are the serials.
 * May be called at any time from any thread. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__recorder_trace(struct seam_recorder *recorder, uint64_t events, const char *source,
                                                struct seam_trace **ret_trace);

const char *seam__recorder_check(struct seam_recorder *recorder);

#endif
