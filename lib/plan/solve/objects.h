/* objects.h: memory objects: address ranges, what stands in them by address, and where a chain fits.
 *
 * The Single Object solver has one object without an upper end; Many Objects has as many as it needs, one behind the
 * other, each as large as the chain that it was made for, which spans it. (Papers: SOMAS section 4 and appendix D:
 * Avoid, Merge and Fit.)
 *
 * Where the papers give the conflicting ranges, this gives the forbidden starts of the chain's first item: with a start
 * x forbidden in [left, right) one rule covers chains of one and of several items, and a chain of several is never kept
 * from a place that is free (the papers' Fit asks for room for the whole first item in front of what is forbidden). For
 * one item the placed ones are met in the order of their addresses, so nothing is sorted.
 *
 * Not here: the order of the chains (chains.h); what to do when nothing fits (somas.c). Invariants, named by
 * seam__objects_check():
 *   O1  objects stand behind each other without gaps, and so do their parts of `order`
 *   O2  within an object items stand by offset, and lie inside it
 * No locks: one thread at a time.
 */
#ifndef SEAM_OBJECTS_H
#define SEAM_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "chains.h"
#include "fits.h"
#include "problem.h"

struct seam__object {
	uint64_t low_bytes;
	uint64_t high_bytes; /* UINT64_MAX: no end */
	uint32_t spanning;   /* the item that spans it: who conflicts with that need not look; or SEAM__ITEM_NONE */
	uint32_t first;      /* its items are order[first .. first + count) */
	uint32_t count;
};

/* Starts x with left <= x < right are forbidden. */
struct seam__forbidden {
	uint64_t left_bytes;
	uint64_t right_bytes;
};

/* What decides conflicts, kept close together: items and their holds are spread over more memory than caches hold. */
struct seam__lane {
	uint32_t begin;
	uint32_t stream;
};

struct seam__objects {
	const struct seam__problem *problem;
	struct seam__lane *lanes; /* per item */
	uint32_t *holds;          /* [stream * count + item]: one stream's are together */
	uint64_t *offsets;        /* per item, the caller's; set when it is placed */
	uint32_t *order;          /* items that are placed, by object and offset; room for all */
	uint32_t placed;
	struct seam__object *list; /* room for one more than items: each holds at least one, but for the first */
	uint32_t count;
	struct seam__forbidden *forbidden; /* for chains of several items; grows */
	size_t forbidden_capacity;
};

/* No objects. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__objects_init(
	struct seam__objects *objects, const struct seam__problem *problem, uint64_t *offsets);
void seam__objects_fini(struct seam__objects *objects); /* a zeroed one is allowed */

/* A further object behind the last, of `size_bytes` (UINT64_MAX: without end). Returns its number. There is room for
 * one per item and one more. */
uint32_t seam__objects_open(struct seam__objects *objects, uint64_t size_bytes, uint32_t spanning);

/* Finds a start for the chain in object `number`: the lowest, or that in the smallest gap (the lowest of equal ones).
 * ret_offset: set if there is one, else it stays. Errors: SEAM_NOT_FOUND, SEAM_OOM_META.
 * O(items of the object), times the chain's length and a logarithm for chains of several. */
SEAM_MUST_USE enum seam_rc seam__objects_find(struct seam__objects *objects, uint32_t number,
	const struct seam__chain *chain, enum seam__fit fit, uint64_t *ret_offset);

/* Puts the chain's items into object `number`, the first at `offset`: SetOffsets. */
void seam__objects_put(struct seam__objects *objects, uint32_t number, uint32_t head, uint64_t offset);

/* Name of the first broken invariant, or NULL. */
const char *seam__objects_check(const struct seam__objects *objects);

#endif
