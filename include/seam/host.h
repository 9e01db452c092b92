/* host.h: a pool's pinned host memory: its figures, its blocks, trims, and words for when it runs out.
 *
 * The memory itself: seam_host_alloc() and its like in seam.h. Pinned memory is never taken beyond host_capacity_bytes,
 * nor beyond what the control groups of the process leave (their limit less what they hold, cached files aside): there
 * a request fails with SEAM_OOM_HOST, where the system would kill the process. New memory lies on the NUMA node of the
 * pool's device, unless the calling thread has a memory policy of its own, or the system refuses. With the option
 * host_stitch it is made of chunks on that node, where the driver makes such memory and lets the CPU in: then the
 * segments of the figures are chunks, calls are those that map them too, and seam_host_text() says "stitched", or
 * why it is not.
 *
 * Thread safety: every function may be called from any thread. SEAM_FORKED after a fork, SEAM_INVALID for NULL.
 */
#ifndef SEAM_HOST_H
#define SEAM_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#ifdef __cplusplus
extern "C" {
#endif

struct seam_pool;
struct seam_block_info;

#define SEAM_HOST_STATS_VERSION 1u

struct seam_host_stats {
	uint32_t size;    /* set by the caller: sizeof(struct seam_host_stats) */
	uint32_t version; /* set by the caller: SEAM_HOST_STATS_VERSION */
#define SEAM_HOST_STAT(name, kind, text) uint64_t name;
#include <seam/host_stats.def>
#undef SEAM_HOST_STAT
};

/* Copies the figures into *stats, whose size and version the caller has set: those of blocks and segments as of one
 * moment, those of driver calls a call later at most. Errors: SEAM_VERSION (a size or version that this library does
 * not know). */
SEAM_API SEAM_MUST_USE enum seam_rc seam_host_stats_get(struct seam_pool *pool, struct seam_host_stats *stats);

/* Sets every peak to its gauge; the shortest and the longest driver call are of those from here on. */
SEAM_API void seam_host_reset_peaks(struct seam_pool *pool);

/* How many segments were obtained so far, by the power of two that their size needs: counts[i] are those above 2^(i-1)
 * up to 2^i bytes. Writes at most `capacity` counts; there are 64. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_host_sizes(struct seam_pool *pool, uint64_t *counts, size_t capacity);

/* Every block of the pinned memory (snapshot.h: live, pending, free, or on its way back to the driver, which is shown
 * as SEAM_BLOCK_TRANSIT) in order of address, as of one moment: copies at most `capacity` of them and sets *ret_count
 * to how many there are. blocks may be NULL if capacity is 0. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_host_blocks(
	struct seam_pool *pool, struct seam_block_info *blocks, size_t capacity, size_t *ret_count);

/* Gives unused segments back to the driver until at most `target_bytes` are pinned; waits for pending work where that
 * helps. ret_released_bytes may be NULL. Succeeds also when live blocks forbid the target. Errors: the driver's. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_host_trim(
	struct seam_pool *pool, uint64_t target_bytes, uint64_t *ret_released_bytes);

/* Pins ahead until `bytes` are pinned in all, in place of what was to be pinned ahead before (0: nothing): for a
 * program that will want much while it does other things. Returns at once: a thread pins chunk after chunk, and lets
 * requests in between, which wait for one chunk at most. Where memory runs out it ends, and seam_host_text() says so; a
 * trim ends it too. With `wait`, or if the pool is deterministic, the calling thread pins before it returns. Errors:
 * SEAM_UNSUPPORTED where pinned memory is not stitched, unless so much is pinned (a block of what the driver pins is
 * of one call, whatever was pinned before); SEAM_OOM_META; of a wait SEAM_OOM_HOST and the driver's: what was pinned by
 * then stays. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_host_prepare(struct seam_pool *pool, uint64_t bytes, bool wait);

/* Pinned memory in words, a line without its end: how much is pinned, its limits, its NUMA node, and
 * what is pinned ahead. Writes at most
 * text_bytes, with a final zero unless that is 0, and returns the length of all of it. */
SEAM_API size_t seam_host_text(struct seam_pool *pool, char *text, size_t text_bytes);

#ifdef __cplusplus
}
#endif
#endif
