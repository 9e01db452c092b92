/* pinned.h: pinned host memory that is stitched: the engine once more, over the node of the host next to the device.
 *
 * Where the driver makes such memory (vmm/driver_host.h) it takes the place of pools/host.h, with the same rules of
 * blocks: stream-ordered reuse, record_stream, memory of no stream; a free records events on the streams that were
 * recorded, so that what they are given later is not waited for. What differs: a block may lie over the borders of
 * chunks and beside others, so that what is pinned is exact by the chunk, whatever sizes come; and a trim gives back
 * chunk by chunk.
 *
 * Not here: the API (lib/core/host.c); memory that cuMemHostAlloc gives (pools/host.h).
 *
 * Invariants: the engine's (seam__engine_check()).
 *
 * Locks: the engine's two. `lock` guards the fields that say so. Every function but init and fini may be called from
 * any thread.
 */
#ifndef SEAM_STITCH_PINNED_H
#define SEAM_STITCH_PINNED_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "driver_host.h"
#include "engine.h"
#include "pinned_ahead.h"
#include "stream_cache.h"

struct seam_pinned_config {
	uint64_t capacity_bytes; /* most that is pinned; 0: no limit */
	uint64_t mapping_limit, address_limit_bytes;
	bool deterministic;
	bool verify_streams;
	const char *root; /* of host_memory.h; "" but in tests. Outlives it */
};

struct seam_pinned {
	struct seam_driver_host driver;
	struct seam_engine engine;
	struct seam_pinned_ahead ahead;
	uint64_t alloc_bytes, ooms;                 /* lock */
	uint64_t held_bytes_peak, held_blocks_peak; /* lock. Live and pending, since creation or reset */
};

/* *ret_why: why there is no such memory, for a person, if the result is SEAM_UNSUPPORTED. driver and meta outlive
 * it. Errors: SEAM_UNSUPPORTED, SEAM_OOM_META, SEAM_DRIVER. */
SEAM_MUST_USE enum seam_rc seam__pinned_init(struct seam_pinned *pinned, const struct seam_pinned_config *config,
	struct seam_driver *driver, struct seam_meta *meta, const char **ret_why);

/* Waits for the device and gives everything back, live blocks included. Nobody else uses it. */
void seam__pinned_fini(struct seam_pinned *pinned);

/* Errors: SEAM_OOM_HOST, SEAM_OOM_META, SEAM_DRIVER; those of seam__streams_find(). */
SEAM_MUST_USE enum seam_rc seam__pinned_alloc(
	struct seam_pinned *pinned, uint64_t bytes, uint64_t stream, uint64_t *ret_va);

/* Errors: SEAM_NOT_FOUND; of record_stream those of seam__streams_find(), too. */
SEAM_MUST_USE enum seam_rc seam__pinned_free(struct seam_pinned *pinned, uint64_t va);
SEAM_MUST_USE enum seam_rc seam__pinned_record_stream(struct seam_pinned *pinned, uint64_t va, uint64_t stream);

/* The live block that contains va: O(1) at its start, else O(live). SEAM_NOT_FOUND. */
SEAM_MUST_USE enum seam_rc seam__pinned_range(
	struct seam_pinned *pinned, uint64_t va, uint64_t *ret_va, uint64_t *ret_bytes);

/* Pins ahead until bytes are pinned in all, in place of what was to be pinned ahead before: before it returns if
 * `waits` or if the pool is deterministic, else by a thread, which a trim ends. Errors: SEAM_OOM_META; of a wait
 * SEAM_OOM_HOST, SEAM_DRIVER: what was pinned by then stays. */
SEAM_MUST_USE enum seam_rc seam__pinned_prepare(struct seam_pinned *pinned, uint64_t bytes, bool waits);

/* Gives unused chunks back until at most target_bytes are pinned, and waits for pending work where that helps and no
 * stream is captured. Errors: the driver's, SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__pinned_trim(
	struct seam_pinned *pinned, uint64_t target_bytes, uint64_t *ret_released_bytes);

SEAM_MUST_USE enum seam_rc seam__pinned_stream_destroyed(struct seam_pinned *pinned, uint64_t stream);

/* Every block, in order of address, as of one moment, until `visit` answers false. */
void seam__pinned_walk(
	struct seam_pinned *pinned, bool (*visit)(void *user, const struct seam_cache_view *view), void *user);

/* A segment is a chunk here. */
void seam__pinned_get_stats(struct seam_pinned *pinned, struct seam_cache_stats *ret_stats);
void seam__pinned_reset_peaks(struct seam_pinned *pinned);

/* Name of the first broken invariant, or NULL. Takes both locks. */
const char *seam__pinned_check(struct seam_pinned *pinned);

#endif
