/* lifetimes.h: the blocks of a trace: where each is allocated and freed.
 *
 * Not here: which part of a trace is repeated (stretch.h).
 * Invariant LT1: a lifetime's free comes behind its allocation; lifetimes stand in the order of their allocations.
 * Immutable once built.
 */
#ifndef TOOLS_LIFETIMES_H
#define TOOLS_LIFETIMES_H

#include <stddef.h>
#include <stdint.h>

#include <seam/trace.h>

#define LIFETIME_NONE UINT32_MAX

struct lifetime {
	uint32_t alloc; /* number of the event */
	uint32_t free;  /* number of the event; LIFETIME_NONE: never */
};

struct lifetimes {
	struct lifetime *items;
	uint32_t count;
	uint32_t *of_event; /* per event of the trace: its lifetime, or LIFETIME_NONE for events without a block */
};

/* The trace is valid (T1-T5) and has fewer than 2^32 - 1 events. Errors: SEAM_INVALID (too many), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc lifetimes_build(const struct seam_trace *trace, struct lifetimes *ret_lifetimes);
void lifetimes_fini(struct lifetimes *lifetimes);

/* Name of the first broken invariant, or NULL. */
const char *lifetimes_check(const struct lifetimes *lifetimes);

#endif
