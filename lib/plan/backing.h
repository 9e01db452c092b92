/* backing.h: fewer physical chunks than addresses: which chunk backs each column of an arena, for a placement that is
 * higher than what is ever live. The problem, its bounds and the way are stated in README.md.
 *
 * Not here: the placement (solver.h); mapping (core).
 * Invariants of a backing, named by seam__backing_check(): B1 chunk numbers are below physical_chunks, and all occur;
 * B2 every item stands within the columns, aligned, fixed ones at their address and linked ones behind each other; B3
 * items that conflict share no physical byte. Pure; no locks.
 */
#ifndef SEAM_BACKING_H
#define SEAM_BACKING_H

#include <stdint.h>

#include <seam/rc.h>

#include "solver.h"

struct seam__backing {
	uint64_t *offsets;     /* per item; NULL: those of the placement */
	uint32_t *chunks;      /* per column of the arena; NULL: column i is backed by chunk i */
	uint32_t column_count; /* M: chunks of address space; 0 is allowed, when there are no items */
	uint32_t physical_chunks;
};

/* A backing for the placement: offsets of `peak_bytes`. The plain one where the height in chunks is the lower bound's,
 * where nothing better is found, where there are too many columns to look at, and when the budget ends; chunk_bytes is
 * a multiple of the alignment, else it is plain too. O(items that move * (what they conflict with + chunks)). Errors:
 * SEAM_OOM_META, SEAM_INVALID (chunk_bytes is 0, or the placement has more than 2^32 chunks). */
SEAM_MUST_USE enum seam_rc seam__backing_make(const struct seam__problem *problem, struct seam__budget *budget,
	const uint64_t *offsets, uint64_t peak_bytes, uint64_t chunk_bytes, struct seam__backing *ret_backing);
void seam__backing_fini(struct seam__backing *backing, const struct seam__problem *problem);

/* Name of the first broken invariant, or NULL. `offsets`: the placement's. O(columns of all items, sorted): for tests.
 */
const char *seam__backing_check(const struct seam__backing *backing, const struct seam__problem *problem,
	const uint64_t *offsets, uint64_t chunk_bytes);

#endif
