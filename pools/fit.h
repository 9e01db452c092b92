/* fit.h: the free blocks of one pPool that may be used on one stream (or, in one more set, on any), in order of size.
 *
 * Ties go to the lower view number and then the lower offset, never to an address, so that equal traces give equal placements (I8).
 * One balanced tree and no allocation: a free must not fail. Best fit is one descent.
 *
 * Invariants (seam__fit_check): F1 the tree holds free blocks only, in order; F2 count and bytes are theirs.
 * Locks: the pool's `lock`.
 */
#ifndef SEAM_FIT_H
#define SEAM_FIT_H

#include "block.h"

static inline int seam__fit_compare(const struct seam_block *a, const struct seam_block *b)
{
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	if (a->view->number != b->view->number)
		return a->view->number < b->view->number ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

SEAM_TREE_HEAD(seam_fit_tree, struct seam_block);

struct seam_fit {
	struct seam_fit_tree tree;
	uint64_t count;
	uint64_t bytes;
	uint64_t collected; /* the stream's `passed` when its blocks were last looked through */
};

void seam__fit_insert(struct seam_fit *fit, struct seam_block *block);
void seam__fit_remove(struct seam_fit *fit, struct seam_block *block);

/* The smallest block of at least `bytes`, or NULL. */
struct seam_block *seam__fit_find(struct seam_fit *fit, uint64_t bytes);

/* Bytes of the largest block; 0 if there is none. */
uint64_t seam__fit_largest(struct seam_fit *fit);

/* The next block in order. NULL gives the first; NULL after the last. */
struct seam_block *seam__fit_next(struct seam_fit *fit, struct seam_block *block);

/* The first block behind `key` in order; only key's bytes, view and offset count. NULL: none. */
struct seam_block *seam__fit_behind(struct seam_fit *fit, const struct seam_block *key);

const char *seam__fit_check(struct seam_fit *fit);

#endif
