/* checkpoint.h: what is live in a private pool's group, and how the group goes back to what was live in it before.
 *
 * Everything live is given back first. Then every chunk is at home, stitched views own none of them, and each block
 * that is to be live is cut out of the free memory at its address: a stitched view takes the chunks of its slots back,
 * as a revival does. No driver call: mappings of a private pool that a capture has used stay, and where one is gone the
 * block is refused.
 *
 * Not here: waiting for the device, which must be done before: no free memory of the group may be bound to a stream, or
 * what is given back beside it would be, too. The API (lib/core/checkpoint.c).
 *
 * Invariants: those of the engine; a failed restore leaves the same blocks live as before (I7).
 *
 * With `change` and `lock`.
 */
#ifndef SEAM_CHECKPOINT_H
#define SEAM_CHECKPOINT_H

#include "engine.h"

/* A block that was live, or is to be. */
struct seam_kept {
	uint64_t va;
	uint64_t requested_bytes;
	uint64_t tag;
	struct seam_stream *stream;
	uint64_t serial;             /* that was live: its number in the recording */
	bool captured;               /* that was live */
	struct seam_block_use *uses; /* while it is given back and may have to return */
};

/* All that is live in the group. The streams are referenced. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__checkpoint_take(
	struct seam_engine *engine, const struct seam_group *group, struct seam_kept **ret_kept, uint64_t *ret_count);

/* Drops the array and its references. NULL is allowed. */
void seam__checkpoint_drop(struct seam_engine *engine, struct seam_kept *kept, uint64_t count);

/* `before`, which is all that is live in the group, is live no longer; `after` is. Counted as frees and allocations,
 * but as no state. Those do not overlap, and their addresses and sizes are not 0. Errors: SEAM_NOT_FOUND, SEAM_INVALID,
 * SEAM_BUSY, SEAM_OOM_META; as seam_private_restore(). */
SEAM_MUST_USE enum seam_rc seam__checkpoint_restore(struct seam_engine *engine, struct seam_group *group,
	struct seam_kept *before, uint64_t before_count, const struct seam_kept *after, uint64_t after_count);

#endif
