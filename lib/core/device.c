/* device.c: the device as a whole: how much memory it has, how much of it the pool may take, and waiting for it.
 *
 * The capacity is not the configuration's: that is constant, and says what the pool was made with.
 */
#include "recording.h"

uint64_t seam__pool_capacity(const struct seam_pool *pool)
{
	if (pool->plain != NULL)
		return pool->plain->cache.config.limit_bytes;
	return pool->engine.memory.capacity_bytes == UINT64_MAX ? 0 : pool->engine.memory.capacity_bytes;
}

enum seam_rc seam_pool_set_capacity(struct seam_pool *pool, uint64_t capacity_bytes)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	/* `change` too: nobody is between a look at the capacity and a driver call. */
	seam__pool_stop(pool);
	if (pool->plain != NULL)
		pool->plain->cache.config.limit_bytes = capacity_bytes;
	else
		pool->engine.memory.capacity_bytes = capacity_bytes == 0 ? UINT64_MAX : capacity_bytes;
	seam__pool_go(pool);
	return SEAM_OK;
}

enum seam_rc seam_device_memory(struct seam_pool *pool, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	uint64_t free_bytes = 0, total_bytes = 0;
	int cu = seam__drv_mem_info(pool->driver, &free_bytes, &total_bytes);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	if (ret_free_bytes != NULL)
		*ret_free_bytes = free_bytes;
	if (ret_total_bytes != NULL)
		*ret_total_bytes = total_bytes;
	return SEAM_OK;
}

static enum seam_rc wait_for_store(struct seam_pool *pool)
{
	struct seam_store *store = pool->plain;
	struct seam_wait_all wait;
	seam__mutex_lock(&store->lock);
	enum seam_rc rc = seam__streams_wait_all_begin(&store->streams, &wait);
	seam__mutex_unlock(&store->lock);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__wait_all_run(pool->driver, &wait);
	seam__mutex_lock(&store->lock);
	seam__streams_wait_all_end(&store->streams, &wait);
	seam__mutex_unlock(&store->lock);
	return rc;
}

enum seam_rc seam_device_wait(struct seam_pool *pool)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (pool->plain != NULL)
		return wait_for_store(pool);
	seam__pool_stop(pool);
	rc = seam__engine_wait(&pool->engine);
	seam__pool_go(pool);
	return rc;
}
