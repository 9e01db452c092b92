/* hole.h: the holes of a class's home views, in order of address: where growth puts chunks again after a trim.
 *
 * Invariant (seam__holes_check): HO1 the tree holds the HOLE blocks of the class's home views, all of them, in order.
 * Locks: the pool's `lock`; holes come and go with `change` too.
 */
#ifndef SEAM_HOLE_H
#define SEAM_HOLE_H

#include "ppool.h"

/* A LOST block whose chunk is gone becomes a hole. */
void seam__hole_make(struct seam_block *lost);

/* The hole leaves the tree: it is about to take a chunk, to go, or to move to another class. */
void seam__hole_remove(struct seam_block *hole);

/* It enters that of its view's class. */
void seam__hole_insert(struct seam_block *hole);

/* The next in order. NULL gives the first; NULL after the last. */
struct seam_block *seam__hole_next(struct seam_ppool *ppool, struct seam_block *hole);

const char *seam__holes_check(const struct seam_ppool *ppool);

#endif
