/* pairing.h: which slot of a period each of its frees of earlier blocks belongs to; see slots.h.
 *
 * Not here: the slots themselves (slots.h), which call this. No locks.
 */
#ifndef SEAM_PAIRING_H
#define SEAM_PAIRING_H

#include "slots.h"

/* Gives free_event, lag and end to the slots that are not freed in the period, as far as there are frees in it for
 * them. Those of static requests must come out even. Errors: SEAM_INVALID (they do not; `error` may be NULL),
 * SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__pairing_apply(
	const struct seam_tokens *tokens, struct seam_period_slots *slots, struct seam_trace_error *error);

#endif
