/* request.h: what a trace asked for: its blocks, each with where it was allocated, freed and used.
 *
 * Requests stand in the order of their allocations. A request of size 0 is none: there is nothing to place.
 *
 * A stream number stands for one stream of the program in one private pool (0: none). Two numbers may therefore have
 * the same stream; memory of a private pool is used again by no other number, because a captured graph may still need
 * it.
 *
 * Not here: which stretch repeats (period.h); lifetimes in positions (slots.h). Invariants, named by
 * seam__requests_check():
 *   RQ1  allocations ascend; a free comes behind its allocation; of_event says for both which request it was
 *   RQ2  stream and use numbers are below their counts; a request's uses are on other streams
 *   RQ3  sizes are positive
 * Immutable once built; everything on the process-wide metadata domain. No locks.
 */
#ifndef SEAM_REQUEST_H
#define SEAM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/trace.h>

#include "grow.h"

#define SEAM__EVENT_NONE UINT32_MAX
#define SEAM__REQUEST_NONE UINT32_MAX

struct seam_traced_request {
	uint64_t size_bytes;  /* as requested */
	uint32_t alloc;       /* number of the event */
	uint32_t free;        /* number of the event; SEAM__EVENT_NONE: never */
	uint32_t stream;      /* number into streams */
	uint32_t thread;      /* of the allocation, as in the trace */
	uint32_t free_thread; /* 0 where it is never freed */
	uint32_t module;      /* string of the trace: who allocated */
	uint32_t free_module; /* who freed */
	uint32_t phase_begin; /* string of the trace: the innermost open phase's name, at the allocation */
	uint32_t phase_end;   /* at the free */
	uint32_t microbatch;
	uint32_t first_use; /* uses[first_use] and the following: other streams that used it (RECORD_STREAM) */
	uint32_t use_count;
	bool dynamic;
};

struct seam_traced_stream {
	uint64_t stream; /* the program's */
	uint32_t pool;   /* private pool, 0: none */
	uint32_t next;   /* the next number with the same stream, or SEAM__REQUEST_NONE */
};

struct seam_traced_requests {
	const struct seam_trace *trace; /* outlives them */
	struct seam_grow items;         /* struct seam_traced_request */
	struct seam_grow
		of_event; /* uint32_t per event: the request that it allocates, frees or uses, or SEAM__REQUEST_NONE */
	struct seam_grow streams; /* struct seam_traced_stream, in order of appearance */
	struct seam_grow uses;    /* uint32_t: stream numbers, by request; one may stand there twice */
};

/* The trace is a valid one (T1-T6). One pass, O(events). Errors: SEAM_INVALID (2^31 events or more, or
 * 2^62 bytes in all), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__requests_init(
	const struct seam_trace *trace, struct seam_traced_requests *ret_requests);
void seam__requests_fini(struct seam_traced_requests *requests); /* a zeroed one is allowed */

static inline const struct seam_traced_request *seam__request_at(
	const struct seam_traced_requests *requests, uint32_t number)
{
	return (const struct seam_traced_request *)requests->items.items + number;
}

/* The request of an event, or SEAM__REQUEST_NONE. */
static inline uint32_t seam__request_of(const struct seam_traced_requests *requests, uint64_t event)
{
	return ((const uint32_t *)requests->of_event.items)[event];
}

static inline const struct seam_traced_stream *seam__stream_at(
	const struct seam_traced_requests *requests, uint32_t number)
{
	return (const struct seam_traced_stream *)requests->streams.items + number;
}

/* Name of the first broken invariant, or NULL. */
const char *seam__requests_check(const struct seam_traced_requests *requests);

#endif
