/* views.h: address space behind the plain part of an arena: lists of chunks that items need one behind the other.
 *
 * Equal lists are one view, and so is a list that is part of another.
 * Not here: which chunks (backing.c). Invariant: a list has at least one chunk.
 */
#ifndef SEAM_VIEWS_H
#define SEAM_VIEWS_H

#include <stdint.h>

#include <seam/rc.h>

#include "grow.h"

struct seam_meta;

struct seam__view {
	const uint32_t *chunks; /* valid after seam__views_share() */
	uint64_t at;            /* in the pool */
	uint32_t count;
	uint32_t item;   /* the caller's: who needs it */
	uint32_t column; /* set by seam__views_share(): where it begins */
};

struct seam__views {
	struct seam_grow pool;  /* uint32_t: chunks of all lists */
	struct seam_grow views; /* struct seam__view */
};

void seam__views_init(struct seam__views *views);
void seam__views_fini(struct seam__views *views);

void seam__views_clear(struct seam__views *views); /* no lists */

/* Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__views_add(
	struct seam__views *views, uint32_t item, const uint32_t *chunks, uint32_t count);

/* Appends the columns that are needed to `columns` (uint32_t) and says where each view begins. All chunks are below
 * `chunk_limit`. Call it once, after the last add. Errors: SEAM_OOM_META. O(chunks of all lists * log lists), and a
 * look at every place where a list's first chunk stands. */
SEAM_MUST_USE enum seam_rc seam__views_share(
	struct seam__views *views, struct seam_meta *meta, uint32_t chunk_limit, struct seam_grow *columns);

#endif
