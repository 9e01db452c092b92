/* bounds.h: what no placement can be smaller than.
 *
 * The most that is live at once; and where streams fall into sets that never share, each set needs the most that it has
 * live at once for itself. Both are the same for every number of copies: the copies of a period live one behind the
 * other. Pure. No locks.
 */
#ifndef SEAM_BOUNDS_H
#define SEAM_BOUNDS_H

#include "problem.h"

struct seam_bounds {
	uint64_t live_bytes;  /* the most that is live at once */
	uint64_t apart_bytes; /* the sum over sets of streams that share with each other only; at least live_bytes */
	uint32_t sets;        /* of streams with items, that never share */
	uint64_t chunks;      /* P*: apart_bytes rounded up to chunks, once */
};

/* The problem need not be finished. Errors: SEAM_OOM_META. O(count * streams + circle * sets). */
SEAM_MUST_USE enum seam_rc seam__bounds_init(
	const struct seam_problem *problem, uint64_t chunk_bytes, struct seam_bounds *ret_bounds);

#endif
