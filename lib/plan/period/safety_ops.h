/* safety_ops.h: what happens in a period that matters for the order of streams: frees, and the edges that the trace
 * shows, as a row.
 *
 * Which record a wait is for is found here, once: that before it in the trace. If it stands before the period, it is
 * the corresponding one of the repetition before: as many events earlier, of the same stream, with as many positions up
 * to the period's end; where the trace has no such record there is no edge. Events that were captured into a graph
 * order nothing when they are recorded.
 *
 * Not here: what follows from them (safety_trace.h). Pure. No locks.
 */
#ifndef SEAM_SAFETY_OPS_H
#define SEAM_SAFETY_OPS_H

#include "idmap.h"
#include "safety_trace.h"

struct seam_safety_op {
	uint8_t kind;     /* enum seam_trace_kind: FREE, EVENT_RECORD, EVENT_WAIT, STREAM_SYNC or DEVICE_SYNC */
	bool before;      /* a wait: its record is that of the repetition before */
	uint32_t subject; /* FREE: the slot; else the stream's place */
	uint32_t record;  /* a wait: number of the record's op; SEAM__ITEM_NONE: none */
	uint32_t position;
	uint32_t rows[2]; /* a record: for the walk over the ops; 0 at first */
};

struct seam_safety_ops {
	struct seam_safety_op *items; /* in the order of the trace */
	size_t count;
	size_t capacity;
	uint32_t *place_of;        /* per stream number: its place; equal streams have one */
	uint32_t places;           /* streams in all: the numbered ones and those that occur in edges only */
	struct seam_idmap streams; /* stream: 1 + its place */
};

/* Those of the period, with the frees of its slots. *ret_ops is to be given to _fini() after a failure too.
 * Errors: SEAM_OOM_META, SEAM_INVALID (more streams than 2^16). O(events before the period's end). */
SEAM_MUST_USE enum seam_rc seam__safety_ops_init(
	struct seam_region *region, const struct seam_period_slots *slots, struct seam_safety_ops *ret_ops);
void seam__safety_ops_fini(struct seam_safety_ops *ops);

#endif
