/* border.h: where free memory of one stream touches free memory that every stream may use.
 *
 * Such neighbours are not one block while there are several streams and the latter holds a whole chunk
 * (pools/README.md); where a stream needs both together they are joined. The block that every stream may use is in a
 * list, seam_fit.borders of its pPool, so that a request need not search for such places. The list may hold blocks
 * whose neighbour is gone: they leave it at the next search.
 *
 * Invariant: PP3 (ppool.h). Locks: the pool's `lock`.
 */
#ifndef SEAM_BORDER_H
#define SEAM_BORDER_H

#include "ppool.h"

/* Whether a free block that is bound to a stream touches the block. */
bool seam__border_touches(const struct seam_block *block);

/* For one that touches free blocks, whatever their streams. */
void seam__border_note_slow(struct seam_block *block);

/* A free block has entered its fit: notes the borders around it. */
static inline void seam__border_note(struct seam_block *block)
{
	const struct seam_block *before = seam__block_prev(block), *after = TAILQ_NEXT(block, link);
	if ((before != NULL && before->is == SEAM_IS_FREE) || (after != NULL && after->is == SEAM_IS_FREE))
		seam__border_note_slow(block);
}

/* Free bytes that every stream may use and those of `stream` that touch them become one block of `stream`, if that
 * block then has `bytes`. True if there was such a place, in a home view; the smallest is taken. O(borders). */
bool seam__border_join(struct seam_ppool *ppool, struct seam_stream *stream, uint64_t bytes);

#endif
