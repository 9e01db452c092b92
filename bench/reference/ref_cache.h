/* ref_cache.h: PyTorch's caching allocator, without the part that takes memory from the driver.
 *
 * The order of attempts for a request: pending events are polled; the least free block of the same pool and stream that
 * is large enough; new memory; everything cached is returned to the driver, and new memory once more; out of memory.
 *
 * Rules (default settings): sizes are rounded up to 512. Requests up to 1 MiB and larger ones have separate pools. A
 * block is split when the rest is at least 512 bytes (small, and all of expandable) or more than 1 MiB (large). Free
 * neighbours of a segment merge. A block serves the stream that it was first asked for, and no other. What is cached in
 * a private pool is returned only after the pool's release.
 *
 * Not here: sizes and kinds of segments (caching.c, expandable.c).
 *
 * Invariants: RF1 live memory is reserved memory; RF2 a peak is the highest value of its figure; RF3 reserved bytes are
 * those of the segments, or granules.
 */
#ifndef REF_CACHE_H
#define REF_CACHE_H

#include "allocator.h"
#include "ref_block.h"
#include "driver.h"
#include "ref_pending.h"

#define REF_SMALL_BYTES REF_MIB /* largest request of the small pool */

struct ref_cache;

/* A segment: one direct allocation, or (expandable) a reservation of addresses with physical memory behind some of it.
 */
struct ref_range {
	LIST_ENTRY(ref_range) link;
	uint64_t va;
	uint64_t bytes;
	/* expandable only: */
	uint64_t granule_bytes;
	uint64_t granules;         /* bytes / granule_bytes */
	struct seam_phys *handles; /* per granule; id 0: not mapped */
};

/* How the cache takes and returns memory. */
struct ref_source {
	/* A free block of at least `bytes` in no set, of that pool and stream. Errors: SEAM_OOM_DEVICE, SEAM_OOM_META,
	 * the driver's. */
	enum seam_rc (*grow)(struct ref_cache *cache, struct ref_pool *pool, uint64_t stream, uint64_t bytes,
		struct ref_block **ret_block);
	/* Returns what is wholly free of the pool. Errors: the driver's. */
	enum seam_rc (*shrink)(struct ref_cache *cache, struct ref_pool *pool);
	/* Which of the blocks that fit is taken, given the least one. */
	struct ref_block *(*choose)(struct ref_block *least);
	/* Whether a block of the large pool is split for a rest of so many bytes. */
	bool (*splits_large)(uint64_t rest_bytes);
	/* Returns everything, live or not. Called once, at the end. */
	void (*fini)(struct ref_cache *cache);
	const char *(*check)(const struct ref_cache *cache);
};

LIST_HEAD(ref_pools, ref_pool);
LIST_HEAD(ref_ranges, ref_range);

struct ref_cache {
	struct ref_allocator base;
	const struct ref_source *source;
	struct seam_meta *meta; /* of its own */
	uint64_t limit_bytes;   /* UINT64_MAX: none */
	struct ref_blocks blocks;
	struct ref_pending pending;
	struct ref_pools pools;
	struct ref_ranges ranges; /* all segments, newest first */
	struct ref_stats stats;
};

SEAM_MUST_USE enum seam_rc ref_cache_create(const struct ref_source *source, struct seam_driver *driver,
	const struct ref_options *options, struct ref_allocator **ret_allocator);

/* For sources: whether `bytes` more stay under the limit; and the account of what was taken or returned. */
bool ref_cache_may_grow(const struct ref_cache *cache, uint64_t bytes);
void ref_cache_add_reserved(struct ref_cache *cache, uint64_t bytes);
void ref_cache_sub_reserved(struct ref_cache *cache, uint64_t bytes);

extern const struct ref_source ref_caching_source;
extern const struct ref_source ref_expandable_source;

#endif
