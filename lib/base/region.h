/* region.h: arrays of one computation, given back together.
 *
 * A computation that makes many arrays and needs none of them afterwards takes them from a region and never frees one:
 * whoever made the region gives all back, or those made since a mark.
 *
 * Not here: objects that come and go one by one (slab.h).
 * Invariant: RG1 an array's bytes are those that it was made with. No locks: one thread at a time.
 */
#ifndef SEAM_BASE_REGION_H
#define SEAM_BASE_REGION_H

#include <stddef.h>

struct seam_meta;
struct seam_region;

/* An empty region on the account `meta`. NULL: SEAM_OOM_META. */
__attribute__((warn_unused_result)) struct seam_region *seam__region_create(struct seam_meta *meta);

/* Gives all arrays back, and the region itself. NULL is allowed. */
void seam__region_destroy(struct seam_region *region);

/* `count` zeroed elements, aligned for any object; count may be 0. NULL: SEAM_OOM_META. O(1) beside the zeroing. */
__attribute__((warn_unused_result)) void *seam__region_array(
	struct seam_region *region, size_t count, size_t element_bytes);

/* The newest array; NULL: there is none. */
void *seam__region_mark(const struct seam_region *region);

/* Gives back what was made since the mark was taken, newest first. */
void seam__region_release(struct seam_region *region, const void *mark);

#endif
