/* safety_trace.h: for how long a request of a trace is held from each stream, by the edges that the trace shows.
 *
 * The host asks for memory and frees it ahead of the device: a free only says that its stream's work so far is the last
 * that uses the block. A stream may have the block once its own later work is ordered behind that of every stream that
 * used it. What orders work: a stream is a queue; an event recorded on one stream and waited for by another; a
 * synchronisation of a stream or the device, behind which the host issues everything later on any stream. The default
 * stream is a stream like any other (that CUDA may order it before others is not counted on). Edges of work that the
 * trace does not show do not exist here, so without events nothing is ever shared between streams.
 *
 * A period repeats, and so do its edges: a wait at its beginning may be for a record of the period before.
 *
 * Not here: operator graphs (safety.h); which requests there are and when they live (request.h, period.h).
 * Pure. No locks.
 */
#ifndef SEAM_SAFETY_TRACE_H
#define SEAM_SAFETY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>
#include <seam/trace.h>

#include "problem.h"

#define SEAM__SAFETY_NO_FREE UINT64_MAX /* it is never freed */

struct seam_safety_request {
	uint64_t free_event; /* number of its free in the trace, within the period; or SEAM__SAFETY_NO_FREE */
	uint32_t lag;        /* how many periods after its allocation's that free happens */
	uint32_t begin;      /* position of its allocation in the period */
	uint32_t stream;     /* number of its own stream */
	uint32_t first_user; /* other streams that used it (RECORD_STREAM): users[first_user], ... */
	uint32_t user_count; /* ... as many */
};

struct seam_safety_period {
	struct seam_meta *meta; /* account of what is needed while at work */
	const struct seam_trace *trace;
	uint64_t first_event; /* the period: events [first, last) of the trace, repeated for ever */
	uint64_t last_event;
	const uint32_t *positions; /* [event - first_event]: how many positions of the period lie before the event */
	uint32_t position_count;   /* positions of one period */
	uint32_t copies;           /* the circle is copies * position_count */
	bool linear;               /* the stretch happens once; copies is 1 and every lag 0 */
	const uint64_t *streams;   /* the trace's stream of each stream number; others may occur in edges */
	uint32_t stream_count;
	const uint32_t *users; /* stream numbers, see struct seam_safety_request */
};

/* ret_holds: room for count * stream_count values. ret_holds[i * stream_count + s] becomes for how many positions from
 * its begin request i is held from stream s, as in problem.h: a request of s that begins there or later, around the
 * circle, is ordered behind everything that used i. At least 1. For its own stream that is its lifetime, and more where
 * other streams used it. What lasts longer than the circle, or for ever, is SEAM__HOLD_ALWAYS, for the own stream too;
 * on a line it is until the end of the line, circle - begin.
 * The same for every copy of the request. O((copies + 1) * edges * streams + count * streams).
 * Errors: SEAM_OOM_META, SEAM_INVALID (more streams than 2^16 in the trace). */
SEAM_MUST_USE enum seam_rc seam__safety_holds(const struct seam_safety_period *period,
	const struct seam_safety_request *requests, uint32_t count, uint32_t *ret_holds);

#endif
