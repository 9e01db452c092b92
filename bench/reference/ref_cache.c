/* ref_cache.c: requests and frees of the caching models. */
#include "ref_cache.h"

#include "bits.h"
#include "meta.h"

static struct ref_cache *of(struct ref_allocator *allocator)
{
	return (struct ref_cache *)(void *)allocator;
}

bool ref_cache_may_grow(const struct ref_cache *cache, uint64_t bytes)
{
	return bytes <= cache->limit_bytes && cache->stats.reserved_bytes <= cache->limit_bytes - bytes;
}

void ref_cache_add_reserved(struct ref_cache *cache, uint64_t bytes)
{
	struct ref_stats *stats = &cache->stats;
	stats->reserved_bytes += bytes;
	stats->reserved_peak_bytes = seam__bits_max(stats->reserved_peak_bytes, stats->reserved_bytes);
}

void ref_cache_sub_reserved(struct ref_cache *cache, uint64_t bytes)
{
	cache->stats.reserved_bytes -= bytes;
}

static struct ref_pool *get_pool(struct ref_cache *cache, uint64_t private_id, bool small)
{
	struct ref_pool *pool;
	LIST_FOREACH(pool, &cache->pools, link)
	{
		if (pool->private_id != private_id || pool->small != small)
			continue;
		pool->held = private_id != 0;
		return pool;
	}
	pool = seam__meta_alloc(cache->meta, sizeof(*pool));
	if (pool == NULL)
		return NULL;
	pool->private_id = private_id;
	pool->small = small;
	pool->held = private_id != 0;
	RB_INIT(&pool->free);
	RB_INIT(&pool->unmapped);
	LIST_INSERT_HEAD(&cache->pools, pool, link);
	return pool;
}

static void free_block(void *user, struct ref_block *block)
{
	struct ref_cache *cache = user;
	if (!block->allocated) /* its free may have failed after the first event */
		ref_pool_insert(&cache->blocks, block);
}

static enum seam_rc release_cached(struct ref_cache *cache)
{
	enum seam_rc rc = ref_pending_wait(&cache->pending);
	struct ref_pool *pool;
	LIST_FOREACH(pool, &cache->pools, link)
	if (rc == SEAM_OK && !pool->held)
		rc = cache->source->shrink(cache, pool);
	return rc;
}

/* A block in no set that is large enough. */
static enum seam_rc find_block(
	struct ref_cache *cache, struct ref_pool *pool, uint64_t stream, uint64_t bytes, struct ref_block **ret_block)
{
	struct ref_block *block = ref_pool_find(pool, stream, bytes);
	if (block != NULL) {
		block = cache->source->choose(block);
		ref_pool_remove(block);
		cache->stats.states[block->bytes == bytes ? REF_S1 : REF_S2]++;
		*ret_block = block;
		return SEAM_OK;
	}
	enum seam_rc rc = cache->source->grow(cache, pool, stream, bytes, ret_block);
	if (rc == SEAM_OOM_DEVICE) {
		cache->stats.retries++;
		rc = release_cached(cache);
		if (rc == SEAM_OK)
			rc = cache->source->grow(cache, pool, stream, bytes, ret_block);
	}
	if (rc == SEAM_OK)
		cache->stats.states[REF_S4]++;
	else if (rc == SEAM_OOM_DEVICE)
		cache->stats.states[REF_S5]++;
	return rc;
}

static bool should_split(const struct ref_cache *cache, const struct ref_block *block, uint64_t bytes)
{
	uint64_t rest_bytes = block->bytes - bytes;
	return block->pool->small ? rest_bytes >= REF_BLOCK_BYTES : cache->source->splits_large(rest_bytes);
}

static enum seam_rc cache_alloc(struct ref_allocator *allocator, const struct ref_request *request, uint64_t *ret_va)
{
	struct ref_cache *cache = of(allocator);
	enum seam_rc rc = ref_pending_poll(&cache->pending);
	if (rc != SEAM_OK)
		return rc;
	uint64_t bytes;
	if (!seam__bits_try_align_up(request->bytes, REF_BLOCK_BYTES, &bytes))
		return SEAM_OOM_DEVICE;
	bytes = seam__bits_max(bytes, REF_BLOCK_BYTES);
	struct ref_pool *pool = get_pool(cache, request->private_id, bytes <= REF_SMALL_BYTES);
	if (pool == NULL)
		return SEAM_OOM_META;
	struct ref_block *block;
	rc = find_block(cache, pool, request->stream, bytes, &block);
	if (rc != SEAM_OK)
		return rc;
	if (should_split(cache, block, bytes)) {
		struct ref_block *rest = block;
		block = ref_block_cut(&cache->blocks, rest, bytes);
		if (block == NULL) {
			ref_pool_insert(&cache->blocks, rest);
			return SEAM_OOM_META;
		}
		block->allocated = true;
		ref_pool_insert(&cache->blocks, rest);
	}
	block->allocated = true;
	if (ref_blocks_add_live(&cache->blocks, block) != SEAM_OK) {
		block->allocated = false;
		ref_pool_insert(&cache->blocks, block);
		return SEAM_OOM_META;
	}
	cache->stats.live_bytes += block->bytes;
	cache->stats.live_blocks++;
	*ret_va = block->va;
	return SEAM_OK;
}

static enum seam_rc cache_free(struct ref_allocator *allocator, uint64_t va)
{
	struct ref_cache *cache = of(allocator);
	struct ref_block *block = ref_blocks_find_live(&cache->blocks, va);
	if (block == NULL)
		return SEAM_NOT_FOUND;
	if (block->uses != NULL) {
		enum seam_rc rc = ref_pending_add(&cache->pending, &cache->blocks, block);
		if (rc != SEAM_OK)
			return rc;
	}
	ref_blocks_remove_live(&cache->blocks, block);
	block->allocated = false;
	cache->stats.live_bytes -= block->bytes;
	cache->stats.live_blocks--;
	if (block->events == 0)
		ref_pool_insert(&cache->blocks, block);
	return SEAM_OK;
}

static enum seam_rc cache_record_stream(struct ref_allocator *allocator, uint64_t va, uint64_t stream)
{
	struct ref_cache *cache = of(allocator);
	struct ref_block *block = ref_blocks_find_live(&cache->blocks, va);
	if (block == NULL)
		return SEAM_NOT_FOUND;
	return stream == block->stream ? SEAM_OK : ref_block_use(&cache->blocks, block, stream);
}

static enum seam_rc cache_empty(struct ref_allocator *allocator)
{
	return release_cached(of(allocator));
}

static enum seam_rc cache_release_private(struct ref_allocator *allocator, uint64_t private_id)
{
	struct ref_cache *cache = of(allocator);
	struct ref_pool *pool;
	LIST_FOREACH(pool, &cache->pools, link)
	if (pool->private_id == private_id)
		pool->held = false;
	return SEAM_OK;
}

static void cache_get_stats(const struct ref_allocator *allocator, struct ref_stats *ret_stats)
{
	*ret_stats = ((const struct ref_cache *)(const void *)allocator)->stats;
}

static const char *cache_check(const struct ref_allocator *allocator)
{
	const struct ref_cache *cache = (const void *)allocator;
	const char *broken = ref_blocks_check(&cache->blocks);
	const struct ref_pool *pool;
	LIST_FOREACH(pool, &cache->pools, link)
	if (broken == NULL)
		broken = ref_pool_check(pool);
	if (broken == NULL && cache->stats.live_bytes > cache->stats.reserved_bytes)
		broken = "RF1 live memory is reserved memory";
	if (broken == NULL && cache->stats.reserved_bytes > cache->stats.reserved_peak_bytes)
		broken = "RF2 the peak is the highest value";
	return broken != NULL ? broken : cache->source->check(cache);
}

static uint64_t cache_destroy(struct ref_allocator *allocator)
{
	struct ref_cache *cache = of(allocator);
	ref_ignore(seam__drv_device_sync(cache->base.driver));
	ref_pending_fini(&cache->pending);
	cache->source->fini(cache);
	while (!LIST_EMPTY(&cache->pools)) {
		struct ref_pool *pool = LIST_FIRST(&cache->pools);
		LIST_REMOVE(pool, link);
		seam__meta_free(cache->meta, pool, sizeof(*pool));
	}
	ref_blocks_fini(&cache->blocks);
	uint64_t lost_bytes = cache->stats.reserved_bytes;
	struct seam_meta *meta = cache->meta;
	seam__meta_free(meta, cache, sizeof(*cache));
	return lost_bytes + seam__meta_destroy(meta);
}

static const struct ref_ops cache_ops = {
	.alloc = cache_alloc,
	.free = cache_free,
	.record_stream = cache_record_stream,
	.empty_cache = cache_empty,
	.release_private = cache_release_private,
	.get_stats = cache_get_stats,
	.check = cache_check,
	.destroy = cache_destroy,
};

enum seam_rc ref_cache_create(const struct ref_source *source, struct seam_driver *driver,
	const struct ref_options *options, struct ref_allocator **ret_allocator)
{
	struct seam_meta *meta = seam__meta_create(0);
	if (meta == NULL)
		return SEAM_OOM_META;
	struct ref_cache *cache = seam__meta_alloc(meta, sizeof(*cache));
	if (cache == NULL) {
		(void)seam__meta_destroy(meta);
		return SEAM_OOM_META;
	}
	cache->base = (struct ref_allocator){.ops = &cache_ops, .driver = driver};
	cache->source = source;
	cache->meta = meta;
	cache->limit_bytes = options != NULL && options->limit_bytes != 0 ? options->limit_bytes : UINT64_MAX;
	ref_blocks_init(&cache->blocks, meta);
	ref_pending_init(&cache->pending, driver, meta, free_block, cache);
	LIST_INIT(&cache->pools);
	LIST_INIT(&cache->ranges);
	*ret_allocator = &cache->base;
	return SEAM_OK;
}
