/* fit.h: the free blocks of one pPool that may be used on one stream (or, in one more set, on any), in order of size.
 *
 * Ties go to the lower view number and then the lower offset: see seam__block_compare(). Balanced trees and no
 * allocation: a free must not fail. Best fit is one descent.
 *
 * Those that hold a whole chunk are in a second index too (extent.h), for stitching. Most free blocks are taken or
 * merged again before anybody stitches, so the newest are *fresh*: not looked at for whole chunks yet. Who wants the
 * extents calls seam__fit_index() first; there are at most as many fresh ones as there are places for them, which
 * bounds that call.
 *
 * Invariants (seam__fit_check): F1 the tree holds free blocks only, in order; F2 count and bytes are theirs; F3 those
 * with a whole chunk are fresh or extents, and fresh ones are where they say; those of the extents, X1-X3. Locks: the
 * pool's `lock`.
 */
#ifndef SEAM_FIT_H
#define SEAM_FIT_H

#include "block.h"
#include "extent.h"

#define SEAM_FIT_FRESH 32u

SEAM_TREE_HEAD(seam_fit_tree, struct seam_block);

struct seam_fit {
	struct seam_fit_tree tree;
	uint64_t count;
	uint64_t bytes;
	struct seam_extents extents;
	uint32_t fresh_next;                      /* the oldest place */
	struct seam_block *fresh[SEAM_FIT_FRESH]; /* NULL: a free place */
	struct seam_blocks borders; /* any stream's: those that touch, or once touched, a free block that is bound to a
				       stream (border.h) */
	uint64_t collected;         /* the stream's `passed` when its blocks were last looked through */
};

void seam__fit_insert(struct seam_fit *fit, struct seam_block *block);
void seam__fit_remove(struct seam_fit *fit, struct seam_block *block);

/* The block, in the fit, is fresh no longer: it stands among the extents if it is one. */
void seam__fit_look(struct seam_fit *fit, struct seam_block *block);

/* Looks at all fresh ones: the extents are complete. */
void seam__fit_index(struct seam_fit *fit);

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
