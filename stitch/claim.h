/* claim.h: chunks on their way from their homes into a stitched view. For the files of stitch/ only; all with `change`
 * and `lock`.
 *
 * Order of a change: claim, (driver calls), own_run or undo.
 */
#ifndef SEAM_CLAIM_H
#define SEAM_CLAIM_H

#include "change.h"

/* Takes wholly free chunks out of the extents around them: in transit. Reserves what seam__own_run() needs.
 * O(log extents) for each run of chunks that lie side by side at home.
 * Errors: SEAM_OOM_META: nothing has changed. */
SEAM_MUST_USE enum seam_rc seam__claim(struct seam_engine *engine, struct seam_chunk *const *chunks, uint32_t count);

/* They are free again where and as they were. */
void seam__claim_undo(struct seam_engine *engine, struct seam_chunk *const *chunks, uint32_t count);

/* The claimed chunks, which the view maps from slot `first` on, are the view's now; their first ask->bytes are a block
 * in no fit, the rest is free. */
struct seam_block *seam__own_run(
	struct seam_engine *engine, const struct seam_ask *ask, struct seam_view *view, uint32_t first, uint32_t count);

/* S1r: the view, if any, that maps exactly the gathered chunks takes them. NULL: there is none, or no memory. */
struct seam_block *seam__revive_exact(
	struct seam_engine *engine, const struct seam_ask *ask, const struct seam_gathered *gathered);

#endif
