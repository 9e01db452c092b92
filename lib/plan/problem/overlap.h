/* overlap.h: which items of a problem are held at some time during a stretch of positions.
 *
 * An item counts for as long as any stream is kept from its memory (its longest hold), around the circle.
 * Not here: what stands where in the address space (arena.h).
 * Invariants, named by seam__overlap_check(): V1 stays stand in order of begin; V2 every inner node of the tree knows
 * the latest end below it. Reads a problem, which must stay as it is. No locks: one thread at a time (find has scratch
 * memory).
 */
#ifndef SEAM_OVERLAP_H
#define SEAM_OVERLAP_H

#include <stdint.h>

#include <seam/rc.h>

#include "problem.h"

struct seam__stay;

struct seam__overlap {
	const struct seam__problem *problem;
	struct seam__stay *stays; /* in order of begin; an item that crosses the end of the circle has two */
	uint32_t count;
	uint32_t capacity; /* stays that fit */
	uint32_t leaves;   /* of the tree: a power of two, at least count */
	uint32_t *latest;  /* per node of the tree, from 1: the latest end of the stays below it */
	uint32_t *seen;    /* per item: the last find that returned it */
	uint32_t finds;
};

/* Errors: SEAM_OOM_META. O(count log count + count * streams). */
SEAM_MUST_USE enum seam_rc seam__overlap_init(struct seam__overlap *overlap, const struct seam__problem *problem);
void seam__overlap_fini(struct seam__overlap *overlap); /* a zeroed one is allowed */

/* The items that are held somewhere in [begin, begin + span), each once; ret_items has room for all items. Returns how
 * many. O(found * log count). */
uint32_t seam__overlap_find(struct seam__overlap *overlap, uint32_t begin, uint32_t span, uint32_t *ret_items);

/* Name of the first broken invariant, or NULL. */
const char *seam__overlap_check(const struct seam__overlap *overlap);

#endif
