/* edges.h: what orders streams in a stretch of a trace: event records and waits, and synchronisations by the host.
 *
 * Not here: what follows from them (safety_trace.h). Pure. No locks.
 */
#ifndef SEAM_EDGES_H
#define SEAM_EDGES_H

#include "tokens.h"

/* Is the event one of those kinds? */
static inline bool seam__edges_is_one(const struct seam_trace_event *event)
{
	return event->kind >= SEAM_TRACE_EVENT_RECORD && event->kind <= SEAM_TRACE_DEVICE_SYNC;
}

/* Whether events [first, last) hold any. */
bool seam__edges_any(const struct seam_trace *trace, uint64_t first_event, uint64_t last_event);

/* A hash of the edges in [first, last): equal for two stretches of equal tokens if the same edges stand at the same
 * places in both. A wait for a record from before the stretch equals any other such wait of that stream.
 * Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__edges_hash(
	const struct seam_tokens *tokens, uint64_t first_event, uint64_t last_event, uint64_t *ret_hash);

#endif
