/* chains.h: what is placed as one piece, in the order in which it is placed.
 *
 * A chain is an item and its successors (contiguous constraint), which stand one behind the other; mostly it is one
 * item alone. Items with a fixed address are in no chain. (Papers: SOMAS section 4, where a chain is a block of
 * tensors.)
 *
 * Not here: placing (objects.h). Invariants, named by seam__chains_check():
 *   C1  every item without a fixed address is in exactly one chain
 *   C2  keys never decrease; equal keys stand by size, larger first, then by number
 * No locks: one thread at a time.
 */
#ifndef SEAM_CHAINS_H
#define SEAM_CHAINS_H

#include <stdint.h>

#include "problem.h"

enum seam__chain_order {
	SEAM__CHAIN_SIZE,    /* large sizes first */
	SEAM__CHAIN_BREADTH, /* first what begins where most is live */
	SEAM__CHAIN_SOURCE,  /* by begin */
	SEAM__CHAIN_UNSAFE   /* first what conflicts with most others */
};

struct seam__chain {
	uint64_t key;        /* small first; what it is depends on the order */
	uint64_t size_bytes; /* of all items */
	uint32_t head;       /* first item; the others by items[].next */
	uint32_t length;     /* items */
};

struct seam__chains {
	const struct seam__problem *problem;
	struct seam__chain *list; /* room for problem->count */
	uint32_t count;
};

/* All chains of the problem in `order`. The key of several items is the sum of their sizes, the earliest begin, the
 * greatest breadth, the most conflicts. Errors: SEAM_OOM_META. O(count log count + streams * circle). */
SEAM_MUST_USE enum seam_rc seam__chains_init(
	struct seam__chains *chains, const struct seam__problem *problem, enum seam__chain_order order);
void seam__chains_fini(struct seam__chains *chains); /* a zeroed one is allowed */

/* How many others each item conflicts with: problem->count values. A pair that meets twice around the circle counts
 * twice. Errors: SEAM_OOM_META. O(streams * (count + circle)). */
SEAM_MUST_USE enum seam_rc seam__chains_conflicts(const struct seam__problem *problem, uint64_t *ret_counts);

/* Name of the first broken invariant, or NULL. */
const char *seam__chains_check(const struct seam__chains *chains);

#endif
