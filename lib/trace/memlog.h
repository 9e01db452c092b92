/* memlog.h: a log of allocator calls, line by line, on its way to become a trace: blocks are told by their addresses.
 *
 * An address that is freed without having been allocated before was live when the log began: its block becomes a
 * resident, in the order of those frees. A free on another stream than the allocation's becomes a use of that stream
 * and a free (RECORD_STREAM, FREE): the block ends when both have passed. Blocks are numbered from 1, residents first.
 * What is done with address 0 is nothing.
 *
 * Not here: the logs' texts (import_stalloc.c, import_rmm.c).
 * Invariant: times of rows never decrease. On the process-wide metadata domain. No locks.
 */
#ifndef SEAM_MEMLOG_H
#define SEAM_MEMLOG_H

#include "grow.h"
#include "lines.h"

/* One call or mark. Kinds other than ALLOC and FREE become events as they stand. */
struct seam_memlog_row {
	struct seam_trace_event event; /* ALLOC, FREE: id is the address */
	uint64_t line;                 /* where it stood */
};

struct seam_memlog {
	struct seam_trace_builder *builder; /* for strings, from the beginning */
	struct seam_grow rows;              /* struct seam_memlog_row */
};

/* source: what made the log. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__memlog_init(struct seam_memlog *memlog, const char *source);
void seam__memlog_fini(struct seam_memlog *memlog); /* a zeroed one is allowed */

/* Appends a copy. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__memlog_add(
	struct seam_memlog *memlog, const struct seam_trace_event *event, uint64_t line);

/* Turns all rows into a trace. Errors: SEAM_CORRUPT with `error` (may be NULL) naming the line: an address allocated
 * twice or freed twice, a free of another size; SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__memlog_finish(
	struct seam_memlog *memlog, struct seam_trace_error *error, struct seam_trace **ret_trace);

#endif
