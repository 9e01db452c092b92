/* skyline.h: how high an item must lie to be above everything placed that it conflicts with.
 *
 * The same trees as in gaps.h, but each node keeps only the highest top instead of a set: put and floor take O(log n)
 * per lane. Tops only rise.
 *
 * Not here: the room below (gaps.h).
 * No locks: one thread at a time.
 */
#ifndef SEAM_SKYLINE_H
#define SEAM_SKYLINE_H

#include <stdint.h>

#include <seam/rc.h>

#include "timeline.h"

struct seam_skyline_node {
	uint64_t over_bytes;   /* highest top of the items whose cover was taken apart into this node and others */
	uint64_t inside_bytes; /* and of those that begin in its columns */
};

struct seam_skyline {
	const struct seam_timeline *timeline;
	struct seam_skyline_node *nodes; /* lane l's node v at 2 * lane_starts[l] + v */
};

/* In the region of the timeline's problem. Errors: SEAM_OOM_META. The timeline must outlive it. */
SEAM_MUST_USE enum seam_rc seam__skyline_init(struct seam_skyline *skyline, const struct seam_timeline *timeline);

/* The item's highest byte is below `top_bytes`. */
void seam__skyline_put(struct seam_skyline *skyline, uint32_t item, uint64_t top_bytes);

/* The highest top among what conflicts with the item; 0 if nothing does. */
uint64_t seam__skyline_floor(const struct seam_skyline *skyline, uint32_t item);

#endif
