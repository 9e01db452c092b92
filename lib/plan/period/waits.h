/* waits.h: which edges a program must insert so that a placement is safe that let streams share which nothing orders.
 *
 * When a request gets bytes that another stream's request had last, its stream must wait for the end of that one
 * (struct seam_plan_wait of seam/plan.h). Who had the bytes before that needs no wait of its own: the last user has
 * waited for it. Of several such requests of one stream only the one that ends last is waited for, in whichever copy of
 * the period (the stream is a queue), and beside it those of later periods, which count while the former has not
 * happened yet. One that other streams used is always waited for, by its own stream as well: a wait for a block is one
 * for all that used it.
 *
 * This holds for a program that takes every slot as planned. Who leaves one out must order the next user of its bytes
 * behind the one before.
 *
 * Not here: the problem (instance.h); who shares (the solver). Pure. No locks.
 */
#ifndef SEAM_WAITS_H
#define SEAM_WAITS_H

#include <seam/plan.h>

#include "problem.h"
#include "slots.h"

/* offsets: of the problem's items, a valid placement. ret_waits: initialised here, struct seam_plan_wait in order of
 * waiters and then of the waited's streams; the caller finis it, on success only. O(n log n), n being the pieces that
 * items are cut into by later ones. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__waits_list(const struct seam_period_slots *slots, const struct seam_problem *problem,
	const uint64_t *offsets, struct seam_grow *ret_waits);

#endif
