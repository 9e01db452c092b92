/* upkeep.c: what a program does now and then: give memory back, announce the end of a stream, let a peer in. */
#include <inttypes.h>

#include "log.h"
#include "recording.h"
#include "planned.h"

/* Whether some free or pending memory is held by work that is not known to have passed: then waiting may help a trim.
 */
static bool some_is_held(const struct seam_engine *engine)
{
	if (!TAILQ_EMPTY(&engine->pending))
		return true;
	const struct seam_stream *stream;
	TAILQ_FOREACH(stream, &engine->streams.list, by_index)
	{
		if (!seam__stream_passed(stream, stream->last_stamp))
			return true;
	}
	return false;
}

/* What plans that are gone held for other streams is free behind a wait, but stamped anew: that is waited for in turn.
 * With both locks. */
static enum seam_rc wait_for_all(struct seam_pool *pool)
{
	uint64_t held_bytes = pool->engine.counts.planned_pending_bytes;
	enum seam_rc rc = seam__engine_wait(&pool->engine);
	if (rc != SEAM_OK)
		return rc;
	seam__planned_sweep(pool->runtime, SEAM_SWEEP_ALL);
	return pool->engine.counts.planned_pending_bytes == held_bytes ? SEAM_OK : seam__engine_wait(&pool->engine);
}

/* only: of this group; NULL: of all. With both locks. */
static enum seam_rc trim(
	struct seam_pool *pool, struct seam_group *only, uint64_t target_bytes, uint64_t *released_bytes)
{
	struct seam_engine *engine = &pool->engine;
	enum seam_rc rc = seam__streams_uncaptured(&engine->streams);
	if (rc != SEAM_OK)
		return rc;
	seam__planned_sweep(pool->runtime, SEAM_SWEEP_ALL);
	seam__engine_poll(engine, false);
	rc = seam__engine_trim_group(engine, only, target_bytes, released_bytes);
	if (rc != SEAM_OK || engine->memory.reserved_bytes <= target_bytes || !some_is_held(engine))
		return rc;
	rc = wait_for_all(pool);
	if (rc != SEAM_OK)
		return rc;
	uint64_t more_bytes = 0;
	rc = seam__engine_trim_group(engine, only, target_bytes, &more_bytes);
	*released_bytes += more_bytes;
	return rc;
}

enum seam_rc seam_trim(struct seam_pool *pool, uint64_t target_bytes, uint64_t *ret_released_bytes)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	uint64_t released_bytes = 0;
	struct seam_record record = {.kind = SEAM_TRACE_EMPTY_CACHE};
	seam__mutex_lock(seam__pool_lock(pool));
	seam__recording_draw(pool, &record);
	seam__mutex_unlock(seam__pool_lock(pool));
	seam__recording_add(pool, &record);
	if (pool->plain != NULL) {
		rc = seam__store_trim(pool->plain, target_bytes, false, &released_bytes);
	} else {
		seam__pool_stop(pool);
		rc = trim(pool, NULL, target_bytes, &released_bytes);
		seam__pool_go(pool);
	}
	if (rc != SEAM_OK)
		return rc;
	seam__log(SEAM_LOG_DEBUG, "a trim returned %" PRIu64 " bytes", released_bytes);
	if (ret_released_bytes != NULL)
		*ret_released_bytes = released_bytes;
	return SEAM_OK;
}

enum seam_rc seam_private_trim(struct seam_pool *pool, uint64_t id, uint64_t *ret_released_bytes)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (pool->plain != NULL)
		return SEAM_NOT_FOUND;
	uint64_t released_bytes = 0;
	/* `change` is held throughout, also while the device is waited for: the private pool stays. */
	seam__pool_stop(pool);
	struct seam_private *private = seam__private_find(pool, id);
	rc = private != NULL ? trim(pool, private->group, 0, &released_bytes) : SEAM_NOT_FOUND;
	seam__pool_go(pool);
	if (rc == SEAM_OK && ret_released_bytes != NULL)
		*ret_released_bytes = released_bytes;
	return rc;
}

enum seam_rc seam_stream_destroyed(struct seam_pool *pool, void *stream)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	uint64_t handle = (uint64_t)(uintptr_t)stream;
	struct seam_streams *streams = pool->plain != NULL ? &pool->plain->streams : &pool->engine.streams;
	seam__mutex_lock(seam__pool_lock(pool));
	rc = seam__stream_destroyed(streams, handle);
	seam__mutex_unlock(seam__pool_lock(pool));
	/* Host memory keeps streams of its own. Either may know the stream alone. */
	enum seam_rc host_rc = seam__pool_host_stream_destroyed(pool, handle);
	return rc == SEAM_OK && host_rc != SEAM_NOT_FOUND ? host_rc : rc == SEAM_NOT_FOUND ? host_rc : rc;
}

enum seam_rc seam_peer_enable(struct seam_pool *pool, int peer)
{
	if (peer < 0)
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter_mapped(pool);
	if (rc != SEAM_OK)
		return rc;
	/* `change` alone: no view or mapping comes or goes meanwhile, and hits go on. */
	seam__mutex_lock(&pool->engine.change);
	rc = seam__memory_grant(&pool->engine.memory, (struct seam_location){SEAM_AT_DEVICE, peer});
	seam__mutex_unlock(&pool->engine.change);
	return rc;
}
