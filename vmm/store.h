/* store.h: a cache that stands alone: with a lock, with streams of its own, and with the waits done for the caller.
 *
 * What a pool of pinned host memory (pools/host.h) and the allocator of devices without virtual memory
 * (fallback/caching.h) are, each over its own source. Streams are given as handles.
 *
 * Not here: blocks and segments (stream_cache.h), what streams have passed (stream.h).
 *
 * Locks: `lock`, whose rank the owner chooses, guards everything below it. It is not held while the source is called or
 * the device is waited for, except in deterministic mode, where polls wait. Every function but init and fini may be
 * called from any thread. One request at a time is between such a call and its commit (`calling`): an address that the
 * source has taken back leaves the books before the source can give it out again.
 */
#ifndef SEAM_VMM_STORE_H
#define SEAM_VMM_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "stream_cache.h"
#include "lockrank.h"
#include "stream.h"

struct seam_store {
	struct seam_mutex lock;
	struct seam_cond called;     /* signalled when `calling` ends */
	bool calling;                /* lock. A request calls the source, or waits for the device */
	struct seam_streams streams; /* lock */
	struct seam_cache cache;     /* lock */
	bool verify_streams;         /* ask the driver for the id of every handle; constant */
};

struct seam_store_config {
	const char *name; /* of the lock; outlives the store */
	enum seam_rank rank;
	bool deterministic;
	bool verify_streams;
	bool allows_none; /* memory of no stream: SEAM_NO_STREAM_HANDLE of stream.h */
	struct seam_cache_config cache;
};

/* driver and meta outlive the store. Errors: SEAM_INVALID (configuration), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__store_init(struct seam_store *store, const struct seam_cache_source *source,
	const struct seam_store_config *config, struct seam_driver *driver, struct seam_meta *meta);

/* Waits for the device and gives everything back, live blocks included; errors of a driver that has shut down are
 * ignored. Nobody else uses the store. Returns the number of blocks that were live. */
uint64_t seam__store_fini(struct seam_store *store);

/* As seam__cache_alloc(); waits as needed. no_wait: never for device work. Errors: the same, and those of
 * seam__streams_find(). */
SEAM_MUST_USE enum seam_rc seam__store_alloc(
	struct seam_store *store, uint64_t bytes, uint64_t stream, uint64_t tag, bool no_wait, uint64_t *ret_va);

/* As seam__cache_free(). */
SEAM_MUST_USE enum seam_rc seam__store_free(struct seam_store *store, uint64_t va);

/* As seam__cache_record_stream(). Errors: also those of seam__streams_find(). */
SEAM_MUST_USE enum seam_rc seam__store_record_stream(struct seam_store *store, uint64_t va, uint64_t stream);

/* The live block that contains va. SEAM_NOT_FOUND. */
SEAM_MUST_USE enum seam_rc seam__store_range(
	struct seam_store *store, uint64_t va, uint64_t *ret_va, uint64_t *ret_bytes);

/* As seam__cache_trim(). */
SEAM_MUST_USE enum seam_rc seam__store_trim(
	struct seam_store *store, uint64_t target_bytes, bool no_wait, uint64_t *ret_released_bytes);

/* As seam__stream_destroyed(). */
SEAM_MUST_USE enum seam_rc seam__store_stream_destroyed(struct seam_store *store, uint64_t stream);

/* As seam__cache_walk(), with the lock. */
void seam__store_walk(
	struct seam_store *store, bool (*visit)(void *user, const struct seam_cache_view *view), void *user);

void seam__store_get_stats(struct seam_store *store, struct seam_cache_stats *ret_stats);
void seam__store_reset_peaks(struct seam_store *store);

/* Name of the first broken invariant, or NULL. Takes the lock. */
const char *seam__store_check(struct seam_store *store);

#endif
