/* extent.h: the free blocks of home views that hold at least one whole chunk: all that stitching can use.
 *
 * An *extent* is such a block. It stands in two trees: among those of its fit by size, the order in which a gathering
 * takes them, and among those of its home view by address, which answers whether a given chunk is free. Each of both is
 * O(log extents); what holds no whole chunk costs nothing here.
 *
 * To find a chunk of a certain size without looking at every extent, each extent has a bit for every class of size
 * among its chunks, and the tree by size has the union of each subtree. Bits are inherited when blocks split and merge,
 * so that a free touches no chunk; those that are too many go when a search finds no such chunk.
 *
 * Not here: blocks without a whole chunk (fit.h); which extents a request may use (stitch/gather.c).
 *
 * Invariants (seam__extents_check, seam__home_extents_check)
 *   X1  by size: extents only, in order, with the slots that they have
 *   X2  the bits of an extent include its chunks'; those of a subtree are the union
 *   X3  whole_bytes and long_bytes are theirs
 *   X4  a home view's tree holds its extents, all of them, in order of address
 *
 * Locks: the pool's `lock`.
 */
#ifndef SEAM_EXTENT_H
#define SEAM_EXTENT_H

#include "block.h"

SEAM_TREE_HEAD(seam_extent_order, struct seam_block);

struct seam_extents {
	struct seam_extent_order tree; /* by seam__block_compare() */
	uint64_t count;
	uint64_t whole_bytes; /* of their whole chunks */
	uint64_t long_bytes;  /* of those whose whole chunks have at least limit_bytes */
	uint64_t limit_bytes; /* the policy's fragmentation limit */
};

/* The class of a chunk's size: units of 2 MiB, rounded up, 0 for the first; the last is for all that are larger. */
static inline unsigned seam__extent_size_class(uint64_t bytes)
{
	uint64_t class = (bytes - 1) >> 21;
	return class < 63 ? (unsigned)class : 63;
}

/* Bytes of an extent's whole chunks. */
static inline uint64_t seam__extent_bytes(const struct seam_block *extent)
{
	const struct seam_slot *first = &extent->view->slots[extent->first_slot];
	const struct seam_slot *last = first + (extent->slot_count - 1);
	return last->offset + last->bytes - first->offset;
}

/* Whether the free block is large enough to hold a whole chunk. */
static inline bool seam__extent_may_be(const struct seam_block *block)
{
	return !block->view->stitched && block->bytes >= block->view->least_slot_bytes;
}

/* Finds the slots of a free block that may be an extent. True: it is one. */
bool seam__extent_measure(struct seam_block *block);

/* The extent was measured and does not change while it is in. */
void seam__extents_insert(struct seam_extents *extents, struct seam_block *extent);
void seam__extents_remove(struct seam_extents *extents, struct seam_block *extent);

/* The first extent of at least `bytes` (of all its bytes), or NULL. */
struct seam_block *seam__extents_find(struct seam_extents *extents, uint64_t bytes);

/* The largest, or NULL. */
struct seam_block *seam__extents_largest(struct seam_extents *extents);

/* The next in order. NULL gives the first; NULL after the last. */
struct seam_block *seam__extents_next(struct seam_extents *extents, struct seam_block *extent);

/* The first behind `key` in order; only key's bytes, view and offset count. NULL: none. */
struct seam_block *seam__extents_behind(struct seam_extents *extents, const struct seam_block *key);

/* The first behind `key` with the bit of a size class, or NULL. */
struct seam_block *seam__extents_with(struct seam_extents *extents, const struct seam_block *key, unsigned size_class);

/* The bits of all. */
static inline uint64_t seam__extents_sizes(const struct seam_extents *extents)
{
	const struct seam_block *root = extents->tree.rbh_root;
	return root == NULL ? 0 : root->sizes_below;
}

/* Looks at all its chunks and drops the bits that are too many. For one in which a search for a size was in vain.
 * O(chunks). */
void seam__extent_tighten(struct seam_block *extent);

/* The extent of a home view that holds a slot's chunk, or NULL: the chunk is not wholly free, or not at home. */
struct seam_block *seam__extent_find(const struct seam_view *home, uint32_t slot);

/* The block of the view at the start of a slot whose chunk it owns. Searched from what is known near it, an extent, a
 * LOST or a LEASED block: O(log extents + blocks between). */
struct seam_block *seam__block_at(const struct seam_view *view, uint32_t slot);

const char *seam__extents_check(struct seam_extents *extents);
const char *seam__home_extents_check(const struct seam_view *home);

#endif
