/* record_log.h: where a recorder's events stand: segments of places, one for each number, the oldest of which go.
 *
 * Segments are found by a table that is read without a lock; a segment's memory is never given back before fini, only
 * used again, so who reads a stale entry reads a segment of another number, and sees that. A segment that leaves the
 * log is *retired*: it is used again once every one of its numbers has been written and nobody reads it, which is at
 * once unless a thread stands still between drawing and adding.
 *
 * Not here: threads and phases (record_thread.h); traces (record_trace.c).
 *
 * Invariants (seam__record_log_check): RC1 to RC3 of record.h.
 * Locks: the recorder's `gather` for everything but seam__record_log_slot() and what stands in a place.
 */
#ifndef SEAM_RECORD_LOG_H
#define SEAM_RECORD_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>
#include <seam/trace.h>

#include "list.h"
#include "record_residents.h"

#define SEAM_RECORD_SEGMENT 1024u /* numbers of one segment */

/* One event. Written by whoever drew its number, `order` last; constant from then on. A line of the cache each: threads
 * write side by side. */
struct seam_record_slot {
	_Atomic uint64_t order; /* its number once the rest is written; else anything else */
	uint64_t id;            /* phases: number of the name */
	uint64_t bytes;
	uint64_t stream;
	uint64_t ticks; /* 0: those of the event before */
	uint32_t pool;
	uint32_t thread;
	uint8_t kind; /* enum seam_trace_kind; 0: no event */
	uint8_t flags;
	uint8_t unused[14];
};

struct seam_record_segment {
	_Atomic uint64_t number;              /* its orders begin at number * SEAM_RECORD_SEGMENT + 1 */
	LIST_ENTRY(seam_record_segment) link; /* among the retired */
	uint32_t missing;                     /* retired: numbers not written when it left the log */
	uint32_t readers;                     /* it is not used again while somebody copies it */
	uint8_t unused[32];
	struct seam_record_slot slots[SEAM_RECORD_SEGMENT];
};

_Static_assert(sizeof(struct seam_record_slot) == 64, "a place is a line");

struct seam_record_log {
	struct seam_meta *meta;
	uint64_t segment_limit;
	uint64_t segment_count;                       /* in the log and retired */
	_Atomic(struct seam_record_segment *) *table; /* by number, modulo; NULL: lost */
	uint64_t table_mask;
	uint64_t first;       /* segment: the oldest in the log */
	_Atomic uint64_t end; /* segment: behind the newest one prepared */
	LIST_HEAD(, seam_record_segment) retired;
	struct seam_record_residents residents;
	_Atomic uint64_t lost;
};

/* Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__record_log_init(
	struct seam_record_log *log, struct seam_meta *meta, uint64_t limit_bytes);
void seam__record_log_fini(struct seam_record_log *log);

/* Makes segments up to `number` ready to be written, or has them lost. */
void seam__record_log_prepare(struct seam_record_log *log, uint64_t number);

/* The retired segment of that number, or NULL. */
struct seam_record_segment *seam__record_log_retired(struct seam_record_log *log, uint64_t number);

/* The segment in the log, or NULL. Without a lock it may leave the log meanwhile. */
static inline struct seam_record_segment *seam__record_log_segment(const struct seam_record_log *log, uint64_t number)
{
	struct seam_record_segment *segment =
		atomic_load_explicit(&log->table[number & log->table_mask], memory_order_acquire);
	if (segment == NULL || atomic_load_explicit(&segment->number, memory_order_relaxed) != number)
		return NULL;
	return segment;
}

/* The place of a number that the caller has drawn and not written; NULL: ask seam__record_log_retired(), else it is
 * lost. */
static inline struct seam_record_slot *seam__record_log_slot(const struct seam_record_log *log, uint64_t order)
{
	struct seam_record_segment *segment = seam__record_log_segment(log, (order - 1) / SEAM_RECORD_SEGMENT);
	return segment != NULL ? &segment->slots[(order - 1) % SEAM_RECORD_SEGMENT] : NULL;
}

/* Whether the place holds the event of that number. */
static inline bool seam__record_slot_is(const struct seam_record_slot *slot, uint64_t order)
{
	return atomic_load_explicit(&slot->order, memory_order_acquire) == order;
}

static inline uint64_t seam__record_log_first_order(uint64_t segment)
{
	return segment * SEAM_RECORD_SEGMENT + 1;
}

uint64_t seam__record_log_bytes(const struct seam_record_log *log);

const char *seam__record_log_check(const struct seam_record_log *log);

#endif
