/* iterations_return.h: whether behind a stretch the same is live as before it, but for what differs from time to time.
 *
 * A stack of layers keeps its activations, the first micro-batch its gradients, and they do so each time. A block that
 * is freed late now and then is no such thing, nor is a little that is kept for ever (a list of losses), nor one that
 * takes the place of another (the output for a longer sequence).
 *
 * Not here: what stretches there are. Pure. No locks.
 */
#ifndef SEAM_ITERATIONS_RETURN_H
#define SEAM_ITERATIONS_RETURN_H

#include "thread_sequences.h"

/* How what is live behind a stretch differs from what was before it, as multisets of size and stream. */
struct seam_change {
	uint64_t hash; /* 0: not at all; equal changes have equal ones */
	uint32_t blocks;
	int64_t more; /* blocks live behind it than before it */
	uint64_t bytes;
};

/* Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__change_of(const struct seam_sequences *sequences,
	const struct seam_thread_stretch *stretch, struct seam_change *ret_change);

#endif
