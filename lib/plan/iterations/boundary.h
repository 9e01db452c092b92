/* boundary.h: where an iteration ends and the next one begins, which may be of another shape, to the request.
 *
 * A boundary candidate's places (boundary_candidates.h) stand at one place of every iteration, but hardly ever where
 * it begins. Where all have one shape that does not matter: any place of a circle will do. Else what is cut off is of
 * one shape at its beginning and of another at its end, and nothing that comes again.
 *
 * Sizes tell: those that belong to an iteration are equal in all of its shape, whatever came before it. Where they tell
 * nothing (all are of one shape, or these are the same in all shapes) an iteration ends where least is live.
 *
 * Not here: which places there are. Pure. No locks.
 */
#ifndef SEAM_BOUNDARY_H
#define SEAM_BOUNDARY_H

#include "thread_sequences.h"

/* places: events, ascending, at least one request between any two: each is moved to before a request, or to the end,
 * all by as many requests and by no more than half the shortest distance. live_bytes: behind each event. O(events).
 * Errors: SEAM_OOM_META: nothing is moved. */
SEAM_MUST_USE enum seam_rc seam__boundary_settle(
	const struct seam_sequences *sequences, const uint64_t *live_bytes, uint32_t *places, size_t count);

#endif
