/* caching.h: the caching allocator that serves everything where the device has no virtual memory management.
 *
 * It is a store (vmm/store.h) over plain device memory (direct_source.h) with the sizes below: blocks are multiples of
 * 512 bytes; requests up to 1 MiB share segments of 2 MiB, those below 10 MiB segments of 20 MiB, larger ones have
 * segments of their own in multiples of 2 MiB. Those sizes are the ones that programs on GPUs are tuned to; each can be
 * changed. After init, use seam__store_*().
 *
 * Not here: stitching, which needs what the device lacks; fragmentation is what it is.
 */
#ifndef SEAM_FALLBACK_CACHING_H
#define SEAM_FALLBACK_CACHING_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "store.h"

/* All-zero is valid: the default stands behind each field. */
struct seam_caching_config {
	uint64_t small_max_bytes;     /* 1 MiB */
	uint64_t small_segment_bytes; /* 2 MiB */
	uint64_t segment_bytes;       /* 20 MiB */
	uint64_t exact_bytes;         /* 10 MiB */
	uint64_t capacity_bytes;      /* no limit */
	enum seam_cache_reuse reuse;
	bool deterministic;
	bool verify_streams;
};

/* The sizes alone, for a cache over another source: segments out of views, for example. */
struct seam_cache_config seam__caching_cache_config(const struct seam_caching_config *config);

/* The lock has rank SEAM_RANK_DEVICE. Errors: SEAM_INVALID (sizes that contradict each other), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__caching_init(struct seam_store *store, const struct seam_caching_config *config,
	struct seam_driver *driver, struct seam_meta *meta);

#endif
