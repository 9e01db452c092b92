/* store.c: a cache with its lock, its streams and its waits. See store.h. */
#include "store.h"

#include <stddef.h>

enum seam_rc seam__store_init(struct seam_store *store, const struct seam_cache_source *source,
	const struct seam_store_config *config, struct seam_driver *driver, struct seam_meta *meta)
{
	enum seam_rc rc = seam__cache_init(&store->cache, source, &config->cache, &store->streams, meta);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__mutex_init(&store->lock, config->name, config->rank);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__cond_init(&store->called);
	if (rc != SEAM_OK) {
		seam__mutex_fini(&store->lock);
		return rc;
	}
	store->calling = false;
	seam__streams_init(&store->streams, driver, meta, config->deterministic);
	store->streams.allows_none = config->allows_none;
	store->verify_streams = config->verify_streams;
	return SEAM_OK;
}

uint64_t seam__store_fini(struct seam_store *store)
{
	if (store->cache.range.segment_count != 0) {
		int cu = seam__drv_device_sync(store->streams.driver);
		(void)cu;
	}
	uint64_t live = seam__cache_fini(&store->cache);
	uint64_t references = seam__streams_fini(&store->streams);
	(void)references;
	seam__cond_fini(&store->called);
	seam__mutex_fini(&store->lock);
	return live;
}

/* Drops the lock while the request needs it dropped. */
static enum seam_rc complete_locked(struct seam_store *store, struct seam_cache_request *request, enum seam_rc rc)
{
	while (rc == SEAM_BUSY) {
		while (store->calling)
			seam__cond_wait(&store->called, &store->lock);
		store->calling = true;
		seam__mutex_unlock(&store->lock);
		seam__cache_run(request);
		seam__mutex_lock(&store->lock);
		rc = seam__cache_resume(request);
		store->calling = false;
		seam__cond_signal(&store->called);
	}
	return rc;
}

enum seam_rc seam__store_alloc(
	struct seam_store *store, uint64_t bytes, uint64_t stream, uint64_t tag, bool no_wait, uint64_t *ret_va)
{
	struct seam_cache_request request;
	struct seam_stream *on = NULL;
	seam__mutex_lock(&store->lock);
	enum seam_rc rc = seam__streams_find(&store->streams, stream, store->verify_streams, &on);
	if (rc == SEAM_OK) {
		rc = seam__cache_alloc(&store->cache, bytes, on, tag, no_wait, &request);
		rc = complete_locked(store, &request, rc);
	}
	if (rc == SEAM_OK)
		*ret_va = request.va;
	seam__mutex_unlock(&store->lock);
	return rc;
}

enum seam_rc seam__store_free(struct seam_store *store, uint64_t va)
{
	seam__mutex_lock(&store->lock);
	enum seam_rc rc = seam__cache_free(&store->cache, va);
	seam__mutex_unlock(&store->lock);
	return rc;
}

enum seam_rc seam__store_record_stream(struct seam_store *store, uint64_t va, uint64_t stream)
{
	struct seam_stream *on = NULL;
	seam__mutex_lock(&store->lock);
	enum seam_rc rc = SEAM_NOT_FOUND;
	if (seam__cache_find(&store->cache, va) != NULL)
		rc = seam__streams_find(&store->streams, stream, store->verify_streams, &on);
	if (rc == SEAM_OK)
		rc = seam__cache_record_stream(&store->cache, va, on);
	seam__mutex_unlock(&store->lock);
	return rc;
}

enum seam_rc seam__store_range(struct seam_store *store, uint64_t va, uint64_t *ret_va, uint64_t *ret_bytes)
{
	seam__mutex_lock(&store->lock);
	const struct seam_cache_block *block = seam__cache_around(&store->cache, va);
	if (block != NULL) {
		*ret_va = block->extent.va;
		*ret_bytes = block->extent.bytes;
	}
	seam__mutex_unlock(&store->lock);
	return block != NULL ? SEAM_OK : SEAM_NOT_FOUND;
}

enum seam_rc seam__store_trim(
	struct seam_store *store, uint64_t target_bytes, bool no_wait, uint64_t *ret_released_bytes)
{
	struct seam_cache_request request;
	seam__mutex_lock(&store->lock);
	enum seam_rc rc = seam__cache_trim(&store->cache, target_bytes, no_wait, &request);
	rc = complete_locked(store, &request, rc);
	seam__mutex_unlock(&store->lock);
	if (rc == SEAM_OK)
		*ret_released_bytes = request.released_bytes;
	return rc;
}

enum seam_rc seam__store_stream_destroyed(struct seam_store *store, uint64_t stream)
{
	seam__mutex_lock(&store->lock);
	enum seam_rc rc = seam__stream_destroyed(&store->streams, stream);
	seam__mutex_unlock(&store->lock);
	return rc;
}

void seam__store_walk(
	struct seam_store *store, bool (*visit)(void *user, const struct seam_cache_view *view), void *user)
{
	seam__mutex_lock(&store->lock);
	seam__cache_walk(&store->cache, visit, user);
	seam__mutex_unlock(&store->lock);
}

void seam__store_get_stats(struct seam_store *store, struct seam_cache_stats *ret_stats)
{
	seam__mutex_lock(&store->lock);
	seam__cache_get_stats(&store->cache, ret_stats);
	seam__mutex_unlock(&store->lock);
}

void seam__store_reset_peaks(struct seam_store *store)
{
	seam__mutex_lock(&store->lock);
	seam__cache_reset_peaks(&store->cache);
	seam__mutex_unlock(&store->lock);
}

const char *seam__store_check(struct seam_store *store)
{
	seam__mutex_lock(&store->lock);
	const char *broken = seam__cache_check(&store->cache);
	if (broken == NULL)
		broken = seam__streams_check(&store->streams);
	seam__mutex_unlock(&store->lock);
	return broken;
}
