/* layers.h: packs rectangles (a size for a stretch of time) into memory layers, large sizes first.
 *
 * A layer is a strip of addresses as high as one size, in which rectangles of that size follow each other in time: the
 * HomoSize groups of STAlloc, section 5.1. A rectangle goes where the strip became free last before it begins
 * (Algorithm 1); strips are what larger rectangles leave idle, and only where none is free through the rectangle's
 * whole life is a new layer put on top. A strip that is higher than what is put into it splits into a layer of that
 * size and the rest.
 *
 * Time is a circle: the idle window of a new layer reaches from the end of its first rectangle around to that one's
 * begin, so what crosses the end of the period is nothing special. On a line there are two windows, before and behind.
 *
 * Not here: which requests make a rectangle (stalloc.c). Pure; no locks.
 */
#ifndef SEAM_LAYERS_H
#define SEAM_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "solver.h"

struct seam_rect {
	uint64_t size_bytes;
	uint64_t offset_bytes; /* set by seam__layers_pack() */
	uint32_t begin;        /* position, below the circle */
	uint32_t span;         /* positions, at most the circle */
};

struct seam_axis {
	uint32_t circle; /* positions */
	bool linear;     /* nothing crosses the end */
};

/* Gives every rectangle its offset; those that are live together do not overlap. ret_height: the largest offset + size.
 * ret_whole: false when the budget ended, or the height would not have stayed below `below_bytes`: offsets are then
 * meaningless. `rects` keep their order. One node per rectangle. O(count log count).
 * Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__layers_pack(struct seam_meta *meta, struct seam_budget *budget,
	const struct seam_axis *axis, struct seam_rect *rects, uint32_t count, uint64_t below_bytes,
	uint64_t *ret_height, bool *ret_whole);

#endif
