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
 * Invariants: the store's (seam__store_check()). Locks: the store's; the
 * figures of driver calls are atomic, and may be a call apart from each other.
 */
#ifndef SEAM_POOLS_HOST_H
#define SEAM_POOLS_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "store.h"

#define SEAM_HOST_SIZES 64u /* a bucket for each power of two */

/* Driver calls of one kind, and their time on the host's clock. */
struct seam_host_calls {
	_Atomic uint64_t count, total_ns, least_ns, most_ns; /* least and most: since the last reset; 0: none */
};

struct seam_host {
	struct seam_store store;
	struct seam_driver *driver;
	const char *root; /* of host_memory.h; constant */
	_Atomic int node; /* where pages are wanted, asked of the driver before the first segment; -1: anywhere, or not
			     asked yet */
	bool asked;       /* the one that calls the source */
	_Atomic int refused;     /* errno of the system when it last refused to place pages; 0: it has not */
	_Atomic uint64_t placed; /* segments that were placed on `node` */
	struct seam_host_calls allocs, frees;
	_Atomic uint64_t sizes[SEAM_HOST_SIZES]; /* segments obtained, by the power of two that their size needs */
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

/* The shortest and the longest driver call are of those from here on. */
void seam__host_reset_calls(struct seam_host *host);

static inline void *seam__host_pointer(uint64_t va)
{
	return (void *)(uintptr_t)va;
}

#endif
