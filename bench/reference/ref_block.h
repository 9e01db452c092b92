/* ref_block.h: what the models keep about a piece of device memory, and the pools of free ones.
 *
 * A segment is what was taken from the driver at once (or, expandable, a reserved range); its blocks are linked in
 * order of address and cover it. A block is in exactly one place:
 *
 *   allocated            in the index of live blocks
 *   waiting (events)     nowhere: its events hold it
 *   free, mapped         in its pool's free set, by (stream, size, address)
 *   free, not mapped     in its pool's unmapped set, by (stream, address); expandable segments only
 *
 * Not here: where segments come from (caching.c, expandable.c), the order of attempts (ref_cache.c). Invariants
 * (ref_blocks_check, ref_pool_check):
 *   RB1  neighbours point at each other, touch, and share segment, pool and stream
 *   RB2  two free neighbours of the same kind (mapped or not) do not exist: they would have been merged
 *   RB3  sizes are multiples of 512
 *   RB4  a block in a set is in the state that the set is for
 */
#ifndef REF_BLOCK_H
#define REF_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "hash.h"
#include "list.h"
#include "slab.h"
#include "tree.h"

#define REF_MIB (UINT64_C(1) << 20)
#define REF_BLOCK_BYTES UINT64_C(512) /* least block, and unit of sizes */

struct ref_pool;
struct ref_range;

/* For driver calls of a clean-up, where nothing better can be done about a failure. */
static inline void ref_ignore(int result)
{
	(void)result;
}

/* Another stream that uses a block. */
struct ref_use {
	struct ref_use *next;
	uint64_t stream;
};

struct ref_block {
	RB_ENTRY(ref_block) by_order; /* in its pool's free or unmapped set */
	UT_hash_handle by_va;         /* in the index of live blocks */
	struct ref_block *prev;       /* neighbours in the segment, NULL at its ends */
	struct ref_block *next;
	struct ref_pool *pool;   /* NULL: direct */
	struct ref_range *range; /* the segment that it lies in; direct: NULL */
	struct ref_use *uses;    /* streams recorded since the allocation */
	uint64_t va;
	uint64_t bytes;
	uint64_t stream;
	uint32_t events; /* of its last free, not passed yet */
	bool allocated;
	bool mapped;
};

SEAM_TREE_HEAD(ref_free_set, struct ref_block);
SEAM_TREE_HEAD(ref_unmapped_set, struct ref_block);

struct ref_pool {
	LIST_ENTRY(ref_pool) link;
	uint64_t private_id; /* 0: the common one */
	bool small;
	bool held; /* private, and not released since its newest request: its memory stays */
	struct ref_free_set free;
	struct ref_unmapped_set unmapped;
};

/* Where blocks come from, and the index of those that are live. */
struct ref_blocks {
	struct seam_meta *meta;
	struct seam_slab slab;
	struct seam_slab use_slab;
	struct ref_block *live;
};

void ref_blocks_init(struct ref_blocks *blocks, struct seam_meta *meta);
void ref_blocks_fini(struct ref_blocks *blocks);

/* A block without neighbours, free and in no set. NULL: out of metadata. */
struct ref_block *ref_block_create(struct ref_blocks *blocks, uint64_t va, uint64_t bytes);
void ref_block_delete(struct ref_blocks *blocks, struct ref_block *block);

/* Index of live blocks. add: SEAM_OOM_META leaves it as it was. find: NULL if no live block begins there. */
SEAM_MUST_USE enum seam_rc ref_blocks_add_live(struct ref_blocks *blocks, struct ref_block *block);
void ref_blocks_remove_live(struct ref_blocks *blocks, struct ref_block *block);
struct ref_block *ref_blocks_find_live(const struct ref_blocks *blocks, uint64_t va);

/* Remembers a use on `stream`; twice is once. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc ref_block_use(struct ref_blocks *blocks, struct ref_block *block, uint64_t stream);

/* Cuts `bytes` off the front into a new block (the returned one), in no set; `block`, in no set either, keeps the rest.
 * NULL: out of metadata, nothing changed. */
struct ref_block *ref_block_cut(struct ref_blocks *blocks, struct ref_block *block, uint64_t bytes);

/* Puts a free block into the set of its state, after merging it with free neighbours of the same state, which vanish.
 */
void ref_pool_insert(struct ref_blocks *blocks, struct ref_block *block);
/* Only merges: the block stays in no set. */
void ref_pool_merge(struct ref_blocks *blocks, struct ref_block *block);
void ref_pool_remove(struct ref_block *block);

/* The least free block of the stream with at least `bytes`, or NULL. */
struct ref_block *ref_pool_find(struct ref_pool *pool, uint64_t stream, uint64_t bytes);
/* The next larger one of the same stream, or NULL. */
struct ref_block *ref_pool_find_next(struct ref_block *block);
/* The lowest unmapped block of the stream, or NULL; and the next one. */
struct ref_block *ref_pool_unmapped(struct ref_pool *pool, uint64_t stream);
struct ref_block *ref_pool_unmapped_next(struct ref_block *block);

/* For going over a set that is being changed: any free block after (stream, bytes, va), or NULL. */
struct ref_block *ref_pool_first(struct ref_pool *pool);
struct ref_block *ref_pool_after(struct ref_block *block);

/* Whether a request of any size could have the block now, apart from its size. */
static inline bool ref_block_is_usable(const struct ref_block *block)
{
	return !block->allocated && block->events == 0 && block->uses == NULL;
}

/* Name of the first broken invariant, or NULL. */
const char *ref_pool_check(const struct ref_pool *pool);
const char *ref_blocks_check(const struct ref_blocks *blocks);

#endif
