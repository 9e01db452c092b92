/* block.h: blocks: a view's bytes by what they are used for, and their states.
 *
 * A home view's blocks cover it without a gap. A stitched view's cover what it owns; the rest belongs to other views
 * and has no block here. pBlock and sBlock are the papers' names for a block of a home view and of a stitched view.
 *
 * Not here: which free block serves a request (fit.h, stitch/bestfit.h).
 *
 * Invariants (seam__blocks_check, per view)
 *   B1  blocks are in order of address, do not overlap, and are multiples of 512 bytes
 *   B2  home: no gap up to used_bytes; stitched: blocks cover exactly the chunks that the view owns
 *   B3  two free neighbours that touch differ in stream (else they would be one)
 *   B4  a LOST or HOLE block is exactly one slot; LOST: its chunk is owned elsewhere; HOLE: the slot has no chunk
 *   B5  the view's count of live blocks is right
 *   B6  a LEASED block lies in one slot, of a chunk that the view owns, and has no stream; the chunk knows its first;
 *       those of a chunk are one arena's, and two of them that touch are one
 *
 * Locks: the pool's `lock` for everything here.
 */
#ifndef SEAM_BLOCK_H
#define SEAM_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#include "list.h"
#include "memory.h"
#include "stream.h"
#include "tree.h"

#define SEAM_BLOCK_BYTES UINT64_C(512) /* sizes and addresses are multiples of it */

enum seam_block_is {
	SEAM_IS_FREE,    /* in its pPool's fit of its stream */
	SEAM_IS_LIVE,    /* in the table of live blocks */
	SEAM_IS_PENDING, /* in the list of pending blocks: freed, but other streams may still use it */
	SEAM_IS_LOST,    /* its chunk is owned by another view, or in transit */
	SEAM_IS_HOLE,    /* no chunk here */
	SEAM_IS_LEASED,  /* free, but it is for an arena (stitch/arena.h) to use, at the arena's addresses */
};

/* Work on another stream that a block waits for. */
struct seam_block_use {
	struct seam_block_use *next;
	struct seam_stream *stream; /* referenced */
	uint64_t stamp;             /* valid while pending */
};

struct seam_block {
	/* One cache line, where the slab's memory is aligned: all that a search for a fit reads, and a free of a block
	 * beside this one while it is live. */
	uint64_t offset, bytes; /* in the view */
	union {
		RB_ENTRY(seam_block) by_size;    /* free: in its fit; a hole: among the holes of its class */
		TAILQ_ENTRY(seam_block) pending; /* pending */
	};
	struct seam_view *view;
	uint8_t is;     /* enum seam_block_is */
	uint8_t fresh;  /* free: its place in seam_fit.fresh, from 1; 0: not there */
	bool at_border; /* free for every stream, and in the list of those that touch a block of one stream (border.h)
			 */
	bool captured;  /* live: handed out during a capture */
	uint32_t first_slot; /* an extent: its first whole chunk's; else near it: where a search begins */

	TAILQ_ENTRY(seam_block) link; /* in view->blocks */
	struct seam_stream *stream;   /* live, pending: asked for on it. Free: may be used there at once. NULL (free
					 only): anywhere. LOST: as it was when free. Referenced. */
	uint64_t stamp;               /* free, LOST: of its newest free on `stream` */
	union {
		struct {                                /* free */
			TAILQ_ENTRY(seam_block) border; /* valid while at_border */
			RB_ENTRY(seam_block) by_run;    /* an extent (extent.h): among those of its fit */
			RB_ENTRY(seam_block) by_offset; /* an extent: among those of its home view */
			uint64_t whole_sizes; /* an extent: bit per class of size of its whole chunks; too many, never
						 too few */
			uint64_t sizes_below; /* an extent: the bits of all extents in its subtree of by_run */
		};
		struct {                          /* live, pending */
			uint64_t requested_bytes; /* live */
			uint64_t serial;          /* live: its number in the recording; lib/core sets it */
			struct seam_block_use *uses;
			uint64_t tag; /* live: the caller's */
		};
		struct seam_chunk *chunk;       /* LOST: the chunk that is away */
		const struct seam_view *lessee; /* LEASED: the arena's view */
	};
	uint64_t sizes; /* home view: bit per class of size of the chunks that it touches; too many, never too few; 0:
			   not known */
	uint64_t va;    /* its address; the key in live.h while it is live */
	uint32_t slot_count; /* free: its whole chunks if it is an extent, else 0 */
};

_Static_assert(offsetof(struct seam_block, link) == 64, "the first line is what it says");

/* Gives the block a stream (NULL: none), keeping references right. */
static inline void seam__block_set_stream(struct seam_block *block, struct seam_stream *stream)
{
	if (block->stream == stream)
		return;
	if (stream != NULL)
		seam__stream_ref(stream);
	if (block->stream != NULL)
		seam__stream_unref(block->stream);
	block->stream = stream;
}

/* Fills a fresh node and puts it into the view's list behind `after` (NULL: first). It has no stream yet. */
void seam__block_insert(struct seam_block *node, struct seam_view *view, struct seam_block *after, uint64_t offset,
	uint64_t bytes, enum seam_block_is is);

/* Takes it out of the view's list, drops its stream and returns the node to `slab`. */
void seam__block_remove(struct seam_slab *slab, struct seam_block *block);

/* Moves the block's end to `bytes` from its start, or its start to `offset`. The caller has it out of any tree or
 * table. */
void seam__block_resize(struct seam_block *block, uint64_t offset, uint64_t bytes);

/* The block before it in its view's list, or NULL. As libbsd's TAILQ_PREV_FAST, which other libraries lack: TAILQ_PREV
 * reads the block before that, too. */
static inline struct seam_block *seam__block_prev(const struct seam_block *block)
{
	struct seam_block **next_of_prev = block->link.tqe_prev;
	if (next_of_prev == &block->view->blocks.tqh_first)
		return NULL;
	return (struct seam_block *)(void *)((char *)next_of_prev - offsetof(struct seam_block, link.tqe_next));
}

/* The neighbour that touches it, or NULL. */
static inline struct seam_block *seam__block_before(const struct seam_block *block)
{
	struct seam_block *other = seam__block_prev(block);
	return other != NULL && other->offset + other->bytes == block->offset ? other : NULL;
}

static inline struct seam_block *seam__block_after(const struct seam_block *block)
{
	struct seam_block *other = TAILQ_NEXT(block, link);
	return other != NULL && block->offset + block->bytes == other->offset ? other : NULL;
}

/* The order of free blocks: by size, then by view number and offset, never by an address, so that equal traces give
 * equal placements (I8). */
static inline int seam__block_compare(const struct seam_block *a, const struct seam_block *b)
{
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	if (a->view->number != b->view->number)
		return a->view->number < b->view->number ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* How many of the view's chunks lie wholly inside the block, and the first of their slots. O(log of how far that is
 * from block->first_slot). */
uint32_t seam__block_whole_slots(const struct seam_block *block, uint32_t *ret_first);

/* Whether any chunk lies wholly inside the block. */
bool seam__block_has_whole_slot(const struct seam_block *block);

const char *seam__blocks_check(const struct seam_view *view);

#endif
