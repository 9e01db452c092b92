/* holds.h: for how long each slot of a period is held from each stream, by the trace's edges: the question of
 * safety_trace.h put for slots.
 *
 * Not here: the answer (safety_trace.h); what is made of it (instance.h). Pure. No locks.
 */
#ifndef SEAM_HOLDS_H
#define SEAM_HOLDS_H

#include "slots.h"

struct seam_meta;

/* *ret_holds: on `meta`, [slot * streams + stream] with the slots' stream numbers, as in safety_trace.h. NULL where the
 * trace proves nothing: it has one stream, no edges in the period, or other edges in the period's repetition.
 * Errors: SEAM_OOM_META, SEAM_INVALID (more than 2^16 streams). */
SEAM_MUST_USE enum seam_rc seam__holds_init(struct seam_meta *meta, const struct seam_trace *trace,
	const struct seam_traced_requests *requests, const struct seam_period_slots *slots, uint32_t **ret_holds);
void seam__holds_fini(
	struct seam_meta *meta, const struct seam_period_slots *slots, uint32_t *holds); /* NULL is allowed */

#endif
