/* caching.c: fixed segments out of direct allocations.
 *
 * Small requests share segments of 2 MiB; requests below 10 MiB share segments of 20 MiB; larger ones have a segment of
 * their own size, rounded up to 2 MiB. A segment returns to the driver when one free block covers it.
 */
#include "bits.h"
#include "ref_cache.h"
#include "meta.h"

#define SMALL_SEGMENT_BYTES (2 * REF_MIB)
#define LARGE_SEGMENT_BYTES (20 * REF_MIB)
#define OWN_SEGMENT_BYTES (10 * REF_MIB) /* from here on a request has its own segment */
#define OWN_ROUND_BYTES (2 * REF_MIB)

static bool segment_bytes(const struct ref_pool *pool, uint64_t bytes, uint64_t *ret_bytes)
{
	if (pool->small)
		*ret_bytes = SMALL_SEGMENT_BYTES;
	else if (bytes < OWN_SEGMENT_BYTES)
		*ret_bytes = LARGE_SEGMENT_BYTES;
	else
		return seam__bits_try_align_up(bytes, OWN_ROUND_BYTES, ret_bytes);
	return true;
}

static enum seam_rc grow(
	struct ref_cache *cache, struct ref_pool *pool, uint64_t stream, uint64_t bytes, struct ref_block **ret_block)
{
	uint64_t taken_bytes;
	if (!segment_bytes(pool, bytes, &taken_bytes) || !ref_cache_may_grow(cache, taken_bytes))
		return SEAM_OOM_DEVICE;
	struct ref_range *range = seam__meta_alloc(cache->meta, sizeof(*range));
	struct ref_block *block = ref_block_create(&cache->blocks, 0, taken_bytes);
	enum seam_rc rc = SEAM_OOM_META;
	if (range == NULL || block == NULL)
		goto fail;
	int cu = seam__drv_direct_alloc(cache->base.driver, taken_bytes, &range->va);
	rc = seam__driver_rc(cu);
	if (cu != SEAM_CU_SUCCESS)
		goto fail;
	range->bytes = taken_bytes;
	LIST_INSERT_HEAD(&cache->ranges, range, link);
	block->va = range->va;
	block->pool = pool;
	block->stream = stream;
	block->range = range;
	ref_cache_add_reserved(cache, taken_bytes);
	*ret_block = block;
	return SEAM_OK;

fail:
	if (block != NULL)
		ref_block_delete(&cache->blocks, block);
	seam__meta_free(cache->meta, range, sizeof(*range));
	return rc;
}

static enum seam_rc release(struct ref_cache *cache, struct ref_range *range)
{
	int cu = seam__drv_direct_free(cache->base.driver, range->va);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	ref_cache_sub_reserved(cache, range->bytes);
	LIST_REMOVE(range, link);
	seam__meta_free(cache->meta, range, sizeof(*range));
	return SEAM_OK;
}

static enum seam_rc shrink(struct ref_cache *cache, struct ref_pool *pool)
{
	struct ref_block *next;
	for (struct ref_block *block = ref_pool_first(pool); block != NULL; block = next) {
		next = ref_pool_after(block);
		if (block->prev != NULL || block->next != NULL)
			continue;
		enum seam_rc rc = release(cache, block->range);
		if (rc != SEAM_OK)
			return rc;
		ref_pool_remove(block);
		ref_block_delete(&cache->blocks, block);
	}
	return SEAM_OK;
}

static struct ref_block *choose(struct ref_block *least)
{
	return least;
}

static bool splits_large(uint64_t rest_bytes)
{
	return rest_bytes > REF_SMALL_BYTES;
}

static void fini(struct ref_cache *cache)
{
	struct ref_range *range = LIST_FIRST(&cache->ranges);
	while (range != NULL) {
		struct ref_range *next = LIST_NEXT(range, link);
		if (release(cache, range) != SEAM_OK) { /* stays on the account */
			LIST_REMOVE(range, link);
			seam__meta_free(cache->meta, range, sizeof(*range));
		}
		range = next;
	}
}

static const char *check(const struct ref_cache *cache)
{
	uint64_t bytes = 0;
	const struct ref_range *range;
	LIST_FOREACH(range, &cache->ranges, link)
	bytes += range->bytes;
	return bytes == cache->stats.reserved_bytes ? NULL : "RF3 reserved bytes are those of the segments";
}

const struct ref_source ref_caching_source = {
	.grow = grow,
	.shrink = shrink,
	.choose = choose,
	.splits_large = splits_large,
	.fini = fini,
	.check = check,
};
