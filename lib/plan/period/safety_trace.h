/* safety_trace.h: for how long a slot of a period is held from each stream, by the edges that the trace shows.
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
 * Not here: operator graphs (graph_problem.h); when slots live (slots.h); what is made of the answer (instance.h).
 * Pure. No locks.
 */
#ifndef SEAM_SAFETY_TRACE_H
#define SEAM_SAFETY_TRACE_H

#include "slots.h"

struct seam_region;

/* region: for scratch memory, which stays in it. ret_holds: room for slots * streams values. ret_holds[i * streams +
 * s] becomes for how many positions from its begin slot i is held from stream s, as in problem.h: a request of s that
 * begins there or later, around the circle, is ordered behind everything that used i. At least 1. For its own stream
 * that is its lifetime, and more where other streams used it. What lasts longer than the circle, or for ever, is
 * SEAM__HOLD_ALWAYS, for the own stream too; on a line it is until the end of the line, circle - begin. The same for
 * every copy of the slot. O((copies + 1) * edges * streams + slots * streams). Errors: SEAM_OOM_META, SEAM_INVALID
 * (more streams than 2^16 in the trace). */
SEAM_MUST_USE enum seam_rc seam__safety_holds(
	struct seam_region *region, const struct seam_period_slots *slots, uint32_t *ret_holds);

#endif
