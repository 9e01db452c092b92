/* upkeep.c: what a program does now and then: give memory back, announce the end of a stream, let a peer in. */
#include "pool.h"

/* Whether some free or pending memory is held by work that is not known to have passed: then waiting may help a trim. */
static bool some_is_held(const struct seam_engine *engine)
{
	if (!TAILQ_EMPTY(&engine->pending))
		return true;
	const struct seam_stream *stream;
	TAILQ_FOREACH(stream, &engine->streams.list, by_index) {
		if (!seam__stream_passed(stream, stream->last_stamp))
			return true;
	}
	return false;
}

/* With both locks. */
static enum seam_rc trim(struct seam_engine *engine, uint64_t target_bytes, uint64_t *released_bytes)
{
	enum seam_rc rc = seam__streams_uncaptured(&engine->streams);
	if (rc != SEAM_OK)
		return rc;
	seam__engine_poll(engine, false);
	rc = seam__engine_trim(engine, target_bytes, released_bytes);
	if (rc != SEAM_OK || engine->memory.reserved_bytes <= target_bytes || !some_is_held(engine))
		return rc;
	rc = seam__engine_wait(engine);
	if (rc != SEAM_OK)
		return rc;
	uint64_t more_bytes = 0;
	rc = seam__engine_trim(engine, target_bytes, &more_bytes);
	*released_bytes += more_bytes;
	return rc;
}

enum seam_rc seam_trim(struct seam_pool *pool, uint64_t target_bytes, uint64_t *ret_released_bytes)
{
	if (pool == NULL)
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	struct seam_engine *engine = &pool->engine;
	uint64_t released_bytes = 0;
	seam__mutex_lock(&engine->change);
	seam__mutex_lock(&engine->lock);
	rc = trim(engine, target_bytes, &released_bytes);
	seam__mutex_unlock(&engine->lock);
	seam__mutex_unlock(&engine->change);
	if (rc == SEAM_OK && ret_released_bytes != NULL)
		*ret_released_bytes = released_bytes;
	return rc;
}

enum seam_rc seam_stream_destroyed(struct seam_pool *pool, void *stream)
{
	if (pool == NULL)
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	seam__mutex_lock(&pool->engine.lock);
	rc = seam__stream_destroyed(&pool->engine.streams, (uint64_t)(uintptr_t)stream);
	seam__mutex_unlock(&pool->engine.lock);
	return rc;
}

enum seam_rc seam_peer_enable(struct seam_pool *pool, int peer)
{
	if (pool == NULL || peer < 0)
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	/* `change` alone: no view or mapping comes or goes meanwhile, and hits go on. */
	seam__mutex_lock(&pool->engine.change);
	rc = seam__memory_grant(&pool->engine.memory, (struct seam_location){SEAM_AT_DEVICE, peer});
	seam__mutex_unlock(&pool->engine.change);
	return rc;
}
