/* idle.h: the addresses of an arena that nothing uses during a stretch of positions.
 *
 * Not here: who asks (dynamic.h). No locks: one thread at a time.
 */
#ifndef SEAM_IDLE_H
#define SEAM_IDLE_H

#include "dynamic.h"

struct seam_idle {
	const struct seam_dynamic_space *space;
	uint32_t *longest; /* per item: for how many positions some stream is kept from it, at most the circle */
	struct seam_plan_range *used; /* scratch, room for every item: bytes in use */
};

/* In the problem's region. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__idle_init(struct seam_idle *idle, const struct seam_dynamic_space *space);

/* Appends to `ranges` (struct seam_plan_range) what no item uses during [begin, begin + span) of the circle, ascending,
 * none touching the next. Items of other streams than `stream` count at all times: nothing orders them behind this use.
 * Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__idle_find(
	struct seam_idle *idle, uint32_t begin, uint32_t span, uint32_t stream, struct seam_grow *ranges);

#endif
