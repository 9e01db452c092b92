/* change.h: the parts of the slow path: gather, revive, stitch, grow, give up views. Shared by the files of stitch/
 * only.
 *
 * Every function here is called with `change`; "locked" ones with `lock` too. Those that call the driver drop `lock`
 * around the call and return with it, so that what was read before may be stale.
 */
#ifndef SEAM_CHANGE_H
#define SEAM_CHANGE_H

#include "engine.h"

/* Which extents a request may have chunks of. */
struct seam_usable {
	const struct seam_ask *ask;
	unsigned classes;     /* bit per class of its group */
	uint64_t least_bytes; /* of an extent's whole chunks */
};

/* A list of chunks, in the order in which they will lie behind one address. Its memory comes from the engine's
 * metadata. */
struct seam_gathered {
	struct seam_chunk **chunks;
	struct seam_mapping **mappings; /* scratch of the same length for mapping them */
	uint32_t count, capacity;
	uint64_t bytes;
};

void seam__gathered_fini(struct seam_engine *engine, struct seam_gathered *gathered);

/* Bytes of all wholly free chunks that `ask` could have: of its own class, then of the others, class by class until it
 * is enough. Those classes are in *ret_usable, and all their extents are indexed. all: also what the fragmentation
 * limit would leave out. O(1). Locked. */
uint64_t seam__gather_bytes(
	const struct seam_engine *engine, const struct seam_ask *ask, bool all, struct seam_usable *ret_usable);

/* Whether the extent may give chunks. */
static inline bool seam__is_usable(const struct seam_usable *usable, const struct seam_block *extent)
{
	return (usable->classes >> extent->view->ppool->class & 1) != 0 &&
		(extent->stream == NULL || extent->stream == usable->ask->stream) &&
		seam__extent_bytes(extent) >= usable->least_bytes;
}

/* Chunks that cover the request with little left over: of its class first, then of the others; in a class by extent,
 * the smallest first, so that large extents stay whole; the last is the smallest chunk that covers the rest. There are
 * enough (seam__gather_bytes). O(log extents) for each extent and each size of chunks that it looks at. Pure: depends
 * on the free blocks only. Locked. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__gather(
	struct seam_engine *engine, const struct seam_usable *usable, struct seam_gathered *gathered);

/* S1r: a run of chunks of one of the class's stitched views, all wholly free and usable, that covers the request with
 * little left over, comes back to the view: no driver call. Returns the block, in no fit, or NULL: there is none, or no
 * memory for it. Locked. */
struct seam_block *seam__revive(struct seam_engine *engine, const struct seam_usable *usable);

/* S3: the gathered chunks behind a view: one that maps them so already (then *ret_revived), or a new one. Locked.
 * Errors: SEAM_OOM_META, SEAM_OOM_VA, SEAM_MAPPINGS, SEAM_DRIVER: the chunks are free where they were. */
SEAM_MUST_USE enum seam_rc seam__stitch(struct seam_engine *engine, const struct seam_ask *ask,
	struct seam_gathered *gathered, struct seam_block **ret_block, bool *ret_revived);

/* Alloc: new chunks of `bytes` in all (rounded up to the granularity), free for all streams: in holes of the class's
 * home views first, then at the end; or, at_end, all there, so that they extend the free block that ends there; or,
 * at_end and all of the request, in a run of holes that fits. request_bytes: what they are for. Locked. Errors:
 * SEAM_OOM_DEVICE, SEAM_OOM_VA, SEAM_OOM_META, SEAM_MAPPINGS, SEAM_DRIVER: of what is at the end nothing was taken. */
SEAM_MUST_USE enum seam_rc seam__grow(
	struct seam_engine *engine, struct seam_ppool *ppool, uint64_t bytes, uint64_t request_bytes, bool at_end);

/* The same at the end, in chunks of unit_bytes (a multiple of the granularity, as is `bytes`), the last of what is left
 * over. */
SEAM_MUST_USE enum seam_rc seam__grow_units(
	struct seam_engine *engine, struct seam_ppool *ppool, uint64_t bytes, uint64_t unit_bytes);

/* Bytes of each chunk, but for the last, that growth by `bytes` for a request creates. request_bytes 0: for no request
 * in particular. */
uint64_t seam__grow_chunk_bytes(
	const struct seam_engine *engine, const struct seam_ppool *ppool, uint64_t bytes, uint64_t request_bytes);

/* Free bytes at the end of the class's last home view that `stream` may use: what growth at the end would extend to
 * `bytes` (at most these; 0 if the view has no room for the rest). Locked. */
uint64_t seam__grow_tail(struct seam_ppool *ppool, const struct seam_stream *stream, uint64_t bytes);

/* StitchFree: gives up stitched views that own nothing and whose use has passed, least recently used first, until
 * `mappings` more fit under the limit and `address_bytes` more address space. Locked. True if they do. */
bool seam__stitch_free(struct seam_engine *engine, uint64_t mappings, uint64_t address_bytes);

/* Gives up all that can be. For when the driver's own tables are full. Locked. Returns how many views went. */
uint64_t seam__stitch_free_all(struct seam_engine *engine);

/* Gives up one view that owns nothing and whose use has passed. Locked. False: the driver refused; the view stays. */
bool seam__stitch_drop(struct seam_engine *engine, struct seam_view *view);

/* An empty group. The engine's memory is set up. */
void seam__group_init(struct seam_engine *engine, struct seam_group *group, uint64_t id);

/* Room for blocks of streams with an index below `streams` in all classes. Locked. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__group_reserve_streams(
	struct seam_engine *engine, struct seam_group *group, uint32_t streams);

/* A private pool has served a request with a block of the view: what a capture may use from now on is pinned (I12).
 * Locked. */
void seam__group_note(struct seam_group *group, struct seam_view *view, bool capturing);

/* Its views and blocks are gone. */
void seam__group_fini(struct seam_engine *engine, struct seam_group *group);

/* Makes a free block (in no fit) live. Locked. Errors: SEAM_OOM_META: it is free as before. */
SEAM_MUST_USE enum seam_rc seam__make_live(
	struct seam_engine *engine, const struct seam_ask *ask, struct seam_block *block);

#endif
