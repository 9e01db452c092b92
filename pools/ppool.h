/* ppool.h: a pPool and its sPool: the views and free blocks of one class of requests.
 *
 * A class is (private pool or common memory) x (small, large, contiguous requests). Each has views of its own, so that
 * a small block never pins a large chunk. A class's stitched views (its sPool) may borrow wholly free chunks from home
 * views of other classes of the same private pool; the chunks go home when they are wholly free again, at once. So
 * between requests the state depends on the live blocks, not on how it came about: equal iterations make equal choices,
 * and after the first few every choice finds its view mapped.
 *
 * Here: the block operations that keep lists, fits and neighbours consistent: take a free block, split it, give it back
 * and merge. Not here: driver calls; which block to take.
 *
 * Invariants (seam__ppool_check)
 *   PP1  every free block of the class's views is in exactly one fit: its stream's, or the common one
 *   PP2  a stitched view has no free block that contains a whole chunk: it went home; and none that every stream may
 *        use touches a bound one
 *   PP3  a free block of a home view that every stream may use is at a border (border.h) where it touches a bound one
 *   PP4  the lists hold the class's views; blocks keep B1-B6, extents X1-X4, idle views SP1, holes HO1
 *
 * Locks: the pool's `lock`.
 */
#ifndef SEAM_PPOOL_H
#define SEAM_PPOOL_H

#include "block.h"
#include "fit.h"
#include "spool.h"

enum seam_class { SEAM_CLASS_SMALL, SEAM_CLASS_LARGE, SEAM_CLASS_CONTIGUOUS, SEAM_CLASS_COUNT };

SEAM_TREE_HEAD(seam_holes, struct seam_block);

struct seam_ppool {
	enum seam_class class;
	uint64_t private_id;          /* 0: common memory */
	struct seam_slab *block_slab; /* the pool's */
	struct seam_fit any;          /* free blocks that every stream may use */
	struct seam_fit *of_stream;   /* by stream index; stream_capacity of them */
	uint32_t stream_capacity;
	struct seam_views homes;     /* by number */
	struct seam_views spool;     /* stitched views, least recently used first */
	struct seam_spool idle;      /* those that own nothing, by size */
	struct seam_holes holes;     /* of the home views (hole.h) */
	uint64_t limit_bytes;        /* the policy's fragmentation limit */
	uint64_t home_reserve_bytes; /* address space of the next home view */
};

/* limit_bytes: what seam_extents.long_bytes counts from. */
void seam__ppool_init(struct seam_ppool *ppool, enum seam_class class, uint64_t private_id, uint64_t limit_bytes,
	struct seam_slab *block_slab);

/* Frees its own arrays; views and blocks are gone. */
void seam__ppool_fini(struct seam_ppool *ppool, struct seam_meta *meta);

/* Room for blocks of streams with an index below `streams`. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__ppool_reserve_streams(
	struct seam_ppool *ppool, struct seam_meta *meta, uint32_t streams);

/* The fit that a free block with this stream belongs in. */
static inline struct seam_fit *seam__ppool_fit(struct seam_ppool *ppool, const struct seam_stream *stream)
{
	return stream == NULL ? &ppool->any : &ppool->of_stream[stream->index];
}

/* Makes a node free with `stream` and `stamp` (kept as the newer where it merges; none where they have passed), merges
 * it with what touches it and may be used where it may, and puts the result in its fit. The node is in its view's list
 * and in no fit, table or other list. Returns the block that contains it now. Never fails. */
struct seam_block *seam__ppool_put(struct seam_block *node, struct seam_stream *stream, uint64_t stamp);

/* Takes `bytes` from the start of a free block: out of its fit, the rest back in. With bytes < block->bytes it needs a
 * node that the caller reserved in the slab. Returns the block, in no fit, its state still FREE. */
struct seam_block *seam__ppool_take(struct seam_block *block, uint64_t bytes);

/* Takes [offset, offset + bytes) of its view out of a free block: out of its fit, what is left on either side back in.
 * Needs as many reserved nodes as there are such sides. Returns the block, in no fit, its state still FREE. */
struct seam_block *seam__ppool_cut(struct seam_block *block, uint64_t offset, uint64_t bytes);

/* Cuts `count` whole slots out of a free block of a home view and makes each LOST: their chunks are in transit (owner
 * NULL). Needs count + 1 reserved nodes. LOST blocks keep the stream and the stamp. A free block in front of them keeps
 * its node. */
void seam__ppool_lend(struct seam_block *block, uint32_t slot, uint32_t count);

/* Chunks come home: `count` LOST blocks side by side, of which this is the first, are one free block again, with stream
 * and stamp, and merged. Needs nothing. */
void seam__ppool_return(struct seam_block *lost, uint32_t count, struct seam_stream *stream, uint64_t stamp);

/* Puts a free block over [offset, offset + bytes) of a view, where there is none. `node` is fresh. */
struct seam_block *seam__ppool_add_free(struct seam_view *view, struct seam_block *node, uint64_t offset,
	uint64_t bytes, struct seam_stream *stream, uint64_t stamp);

/* A block of a stitched view was freed and merged into `block` (in its fit): chunks that lie wholly in it go home. */
void seam__ppool_settle(struct seam_block *block);

/* Free blocks of `stream` that have passed may be used everywhere: they move to the common fit. Returns their bytes. */
uint64_t seam__ppool_collect(struct seam_ppool *ppool, struct seam_stream *stream);

/* Free blocks of `from` are used on `to` from now on (after the caller ordered it). */
void seam__ppool_adopt(struct seam_ppool *ppool, struct seam_stream *from, struct seam_stream *to, uint64_t stamp);

const char *seam__ppool_check(struct seam_ppool *ppool);

#endif
