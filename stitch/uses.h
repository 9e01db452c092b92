/* uses.h: the other streams that a block is used on: seam_record_stream().
 *
 * A list hangs on a live block, the engine's or a plan's. At the free each use is stamped; the block's memory waits
 * until all have passed. With the pool's `lock`.
 */
#ifndef SEAM_USES_H
#define SEAM_USES_H

#include "engine.h"

/* The block is used on `stream` too, which is not its own. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__uses_add(
	struct seam_engine *engine, struct seam_block_use **uses, struct seam_stream *stream);

/* The block is freed: what its streams were given so far is what it waits for. */
void seam__uses_stamp(struct seam_block_use *uses);

/* Whether all have passed, as far as is known. No driver call. */
bool seam__uses_passed(const struct seam_block_use *uses);

/* Asks the driver about those that are not known to have passed. */
void seam__uses_poll(struct seam_block_use *uses);

/* Forgets them: *uses is NULL afterwards. */
void seam__uses_clear(struct seam_engine *engine, struct seam_block_use **uses);

#endif
