/* live.h: the live blocks of a pool, by address.
 *
 * Every free looks here for a block that was last touched long ago, so that what it takes is how many cache lines it
 * reads: one, as a rule. Addresses and pointers lie in one array; a block's place follows from its address, and it lies
 * there or in one of the next that are taken without a gap. A place that
 * is left is filled by a block that it displaced. The array never becomes smaller.
 *
 * Not here: blocks of plans (lib/runtime), counters (stitch/engine.h).
 *
 * Invariants (seam__live_check)
 *   LV1  a block is at its address, once, and no place from its own to where it lies is empty
 *   LV2  the count is theirs, and at most half of the places are taken
 *
 * Locks: the pool's `lock`.
 */
#ifndef SEAM_LIVE_H
#define SEAM_LIVE_H

#include "block.h"

struct seam_live_place {
	uint64_t va; /* 0: empty */
	struct seam_block *block;
};

struct seam_live {
	struct seam_live_place *places; /* NULL: none yet */
	uint64_t capacity;              /* of places: 0 or a power of 2 */
	uint64_t count;
	unsigned shift; /* valid if there are places */
};

/* The blocks are gone, or nobody asks for them again. */
void seam__live_fini(struct seam_live *live, struct seam_meta *meta);

/* Room for `count` more. O(blocks) where the array grows, which it does to twice its size. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__live_reserve(struct seam_live *live, struct seam_meta *meta, uint64_t count);

/* Room was made for it, and no block is at block->va, which stays as it is until the block leaves. */
void seam__live_insert(struct seam_live *live, struct seam_block *block);

/* The block is there. */
void seam__live_remove(struct seam_live *live, const struct seam_block *block);

/* The block that begins at `va`, or NULL. */
struct seam_block *seam__live_at(const struct seam_live *live, uint64_t va);

/* The next block in an order without meaning; *at is 0 for the first. NULL: there is none left. Nothing comes or goes
 * meanwhile. */
struct seam_block *seam__live_next(const struct seam_live *live, uint64_t *at);

const char *seam__live_check(const struct seam_live *live);

#endif
