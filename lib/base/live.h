/* live.h: live things by their addresses: a table from the address of a block to the caller's node.
 *
 * Every free looks here for a block that was last touched long ago, so that what it takes is how many cache lines it
 * reads: one, as a rule. Addresses and pointers lie in one array; a block's place follows from its address, and it lies
 * there or in one of the next that are taken without a gap. A place that is left is filled by a block that it
 * displaced. The array never becomes smaller.
 *
 * Not here: the nodes. Blocks of plans (lib/runtime).
 *
 * Invariants (seam__live_check)
 *   LV1  an address is there once, and no place from its own to where it lies is empty
 *   LV2  the count is theirs, and at most half of the places are taken
 *
 * Locks: none inside; the owner's.
 */
#ifndef SEAM_BASE_LIVE_H
#define SEAM_BASE_LIVE_H

#include <stdint.h>

#include <seam/rc.h>

struct seam_meta;

struct seam_live_place {
	uint64_t va; /* 0: empty */
	void *node;
};

struct seam_live {
	struct seam_live_place *places; /* NULL: none yet */
	uint64_t capacity;              /* of places: 0 or a power of 2 */
	uint64_t count;
	unsigned shift; /* valid if there are places */
};

/* The nodes are gone, or nobody asks for them again. */
void seam__live_fini(struct seam_live *live, struct seam_meta *meta);

/* Room for `count` more. O(nodes) where the array grows, which it does to twice its size. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__live_reserve(struct seam_live *live, struct seam_meta *meta, uint64_t count);

/* Room was made for it, and nothing is at `va`, which is not 0. */
void seam__live_insert(struct seam_live *live, uint64_t va, void *node);

/* Something is there. */
void seam__live_remove(struct seam_live *live, uint64_t va);

/* The node at `va`, or NULL. */
void *seam__live_at(const struct seam_live *live, uint64_t va);

/* The next node in an order without meaning; *at is 0 for the first. NULL: there is none left. Nothing comes or goes
 * meanwhile. */
void *seam__live_next(const struct seam_live *live, uint64_t *at);

const char *seam__live_check(const struct seam_live *live);

#endif
