/* slab.h: many objects of one size: get and put in O(1), out of 64 KiB slabs of a metadata domain.
 *
 * Why not meta.h for each object: an allocator call and its accounting cost more than a whole hit of the pool may.
 * Slabs are returned at fini only, so the number of objects ever needed together bounds them.
 * Invariants: SL1 free + live = the objects of all slabs; SL2 reserved <= free; SL3 every free object lies in a slab,
 * at an object's place. Not thread safe: the lock of the structure that uses the slab guards it.
 */
#ifndef SEAM_BASE_SLAB_H
#define SEAM_BASE_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

struct seam_meta;
struct seam_slab_page;
struct seam_slab_object;

struct seam_slab {
	struct seam_meta *meta;
	struct seam_slab_page *pages;   /* all slabs, newest first */
	struct seam_slab_object *freed; /* objects put back, last in first out */
	size_t object_bytes;            /* rounded up to 16; above 64, to 64 */
	uint32_t page_objects;          /* objects in one slab */
	uint32_t fresh_left;            /* objects of the newest slab that were never handed out */
	uint64_t free_objects;          /* freed and fresh ones */
	uint64_t live_objects;
	uint64_t reserved_objects; /* free ones that only get_reserved may take */
};

/* Allocates nothing. object_bytes: up to 32 KiB. */
void seam__slab_init(struct seam_slab *slab, struct seam_meta *meta, size_t object_bytes);

/* Returns all slabs. Returns the number of objects that were never put back (and are gone now): 0 unless there is a
 * bug. */
uint64_t seam__slab_fini(struct seam_slab *slab);

/* An object, its content undefined, aligned to 16; one of more than 64 bytes to 64 if the domain's memory is
 * (jemalloc's is, but for builds with checks; libc's need not be). NULL: SEAM_OOM_META. Never takes a reserved one. */
__attribute__((warn_unused_result)) void *seam__slab_get(struct seam_slab *slab);

/* Sets `count` objects aside for as many calls of seam__slab_get_reserved(), which then cannot fail: take them before a
 * change begins, and commit without errors. All or nothing: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__slab_reserve(struct seam_slab *slab, uint64_t count);

/* Takes an object that was reserved. Never NULL. */
void *seam__slab_get_reserved(struct seam_slab *slab);

/* Gives up `count` reservations that were not used. */
void seam__slab_unreserve(struct seam_slab *slab, uint64_t count);

/* The object must come from this slab. NULL is allowed. */
void seam__slab_put(struct seam_slab *slab, void *object);

/* Name of a broken invariant, or NULL. O(objects * slabs). */
const char *seam__slab_check(const struct seam_slab *slab);

#endif
