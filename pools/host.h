/* host.h: a pool of pinned (page-locked) host memory, for copies to and from a device.
 *
 * Sizes are exact: rounded up to 512 bytes, not to powers of two; pinned memory is scarce, and offloaded tensors have
 * any size. It is a store (vmm/store.h) over the driver's host_alloc and host_free: stream-ordered reuse,
 * record_stream, trim and limits are those of blocks on the device. After init, use seam__store_*(); addresses are host
 * pointers.
 *
 * Not here: registering memory that others allocated; copies.
 */
#ifndef SEAM_POOLS_HOST_H
#define SEAM_POOLS_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "store.h"

struct seam_host_config {
	uint64_t capacity_bytes; /* most that is pinned; 0: no limit */
	bool deterministic;
	bool verify_streams;
};

/* The lock has rank SEAM_RANK_HOST. Running out is SEAM_OOM_HOST. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__host_init(struct seam_store *store, const struct seam_host_config *config,
	struct seam_driver *driver, struct seam_meta *meta);

static inline void *seam__host_pointer(uint64_t va)
{
	return (void *)(uintptr_t)va;
}

#endif
