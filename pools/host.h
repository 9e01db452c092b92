/* host.h: a pool of pinned (page-locked) host memory, for copies to and from a device.
 *
 * Sizes are exact: rounded up to 512 bytes, not to powers of two; pinned memory is scarce, and offloaded tensors have
 * any size. It is a store (vmm/store.h) over the driver's host_alloc and host_free: stream-ordered reuse,
 * record_stream, trim and limits are those of blocks on the device, and memory may be of no stream, for the host alone
 * (SEAM_NO_STREAM). A free records events on the streams that used the block: what they are given later is not waited
 * for. After init, use seam__store_*() on `store`, fini included; addresses are host pointers.
 *
 * It grows only into what the control groups of the process leave: memory that is pinned beyond that would have the
 * process killed. New memory lies on the device's NUMA node, where the system allows it.
 *
 * Not here: registering memory that others allocated; copies.
 *
 * Invariants: the store's (seam__store_check()). Locks: the store's.
 */
#ifndef SEAM_POOLS_HOST_H
#define SEAM_POOLS_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "host_figures.h"
#include "store.h"

struct seam_host {
	struct seam_store store;
	struct seam_driver *driver;
	const char *root; /* of host_memory.h; constant */
	bool asked;       /* the one that calls the source: for the node of `figures`, before the first segment */
	struct seam_host_figures figures;
};

struct seam_host_config {
	uint64_t capacity_bytes; /* most that is pinned; 0: no limit */
	bool deterministic;
	bool verify_streams;
	const char *root; /* a folder that stands for "/" where the limits of control groups are read; NULL but in
			     tests. Outlives the pool */
};

/* The lock has rank SEAM_RANK_HOST. Running out is SEAM_OOM_HOST. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__host_init(struct seam_host *host, const struct seam_host_config *config,
	struct seam_driver *driver, struct seam_meta *meta);

static inline void *seam__host_pointer(uint64_t va)
{
	return (void *)(uintptr_t)va;
}

#endif
