/* spool.h: the idle stitched views of a class, by size: those that a request may revive as a whole.
 *
 * A view is *idle* while it owns no chunk and maps one in every slot. The list of all stitched views, in order of use,
 * is ppool.spool.
 *
 * Not here: whether the chunks of an idle view are free now (stitch/revive.c).
 *
 * Invariants (seam__spool_check): SP1 the tree holds the class's idle views, all of them, in order of size and then of
 * number. Locks: the pool's `lock`.
 */
#ifndef SEAM_SPOOL_H
#define SEAM_SPOOL_H

#include "memory.h"

SEAM_TREE_HEAD(seam_spool, struct seam_view);

/* To be called when the view's count of owned chunks or of holes has changed, or its size: it enters or leaves the
 * tree. */
void seam__spool_update(struct seam_spool *spool, struct seam_view *view);

/* Takes the view out, if it is in: it is about to go, or to move to another class. */
void seam__spool_remove(struct seam_spool *spool, struct seam_view *view);

/* The first view of at least `bytes`: the smallest, and of equals that with the lowest number. NULL: none. */
struct seam_view *seam__spool_find(struct seam_spool *spool, uint64_t bytes);

/* The next in order, or NULL. */
struct seam_view *seam__spool_next(struct seam_view *view);

/* views: all stitched views of the class. */
const char *seam__spool_check(const struct seam_spool *spool, const struct seam_views *views);

#endif
