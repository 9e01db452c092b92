/* expandable.c: expandable segments: address space for 9/8 of the device, filled with physical memory as it is needed.
 *
 * Each pool and stream has its own segments. Physical memory comes in granules of 2 MiB (small) or 20 MiB (large),
 * mapped at the lowest unmapped address; a free block that ends there is used and extended. Granules are unmapped only
 * when cached memory is returned, after their stream has been waited for, and only whole ones that are free.
 */
#include "bits.h"
#include "ref_cache.h"
#include "check.h"
#include "meta.h"

#define SMALL_GRANULE_BYTES (2 * REF_MIB)
#define LARGE_GRANULE_BYTES (20 * REF_MIB)

/* What a block could grow to: best fit compares these. */
static uint64_t expandable_bytes(const struct ref_block *block)
{
	const struct ref_block *next = block->next;
	return block->bytes + (next != NULL && !next->mapped ? next->bytes : 0);
}

static struct ref_block *choose(struct ref_block *least)
{
	struct ref_block *block = least;
	struct ref_block *next = ref_pool_find_next(block);
	while (next != NULL && expandable_bytes(next) < expandable_bytes(block)) {
		block = next;
		next = ref_pool_find_next(block);
	}
	return block;
}

static bool splits_large(uint64_t rest_bytes)
{
	return rest_bytes >= REF_BLOCK_BYTES;
}

/* A new segment, as one unmapped block in its pool's unmapped set. */
static enum seam_rc reserve(struct ref_cache *cache, struct ref_pool *pool, uint64_t stream)
{
	struct seam_driver *driver = cache->base.driver;
	uint64_t free_bytes = 0;
	uint64_t total_bytes = 0;
	int cu = seam__drv_mem_info(driver, &free_bytes, &total_bytes);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	uint64_t granule_bytes = pool->small ? SMALL_GRANULE_BYTES : LARGE_GRANULE_BYTES;
	uint64_t granules = seam__bits_div_up(total_bytes + total_bytes / 8, granule_bytes);
	struct ref_range *range = seam__meta_alloc(cache->meta, sizeof(*range));
	struct seam_phys *handles = seam__meta_array(cache->meta, granules, sizeof(*handles));
	struct ref_block *block = ref_block_create(&cache->blocks, 0, granules * granule_bytes);
	enum seam_rc rc = SEAM_OOM_META;
	if (range == NULL || handles == NULL || block == NULL)
		goto fail;
	cu = seam__drv_address_reserve(driver, block->bytes, 0, 0, &range->va);
	rc = cu == SEAM_CU_OUT_OF_MEMORY ? SEAM_OOM_VA : seam__driver_rc(cu);
	if (cu != SEAM_CU_SUCCESS)
		goto fail;
	range->bytes = block->bytes;
	range->granule_bytes = granule_bytes;
	range->granules = granules;
	range->handles = handles;
	LIST_INSERT_HEAD(&cache->ranges, range, link);
	block->va = range->va;
	block->pool = pool;
	block->stream = stream;
	block->range = range;
	block->mapped = false;
	ref_pool_insert(&cache->blocks, block);
	return SEAM_OK;

fail:
	if (block != NULL)
		ref_block_delete(&cache->blocks, block);
	seam__meta_free(cache->meta, handles, granules * sizeof(*handles));
	seam__meta_free(cache->meta, range, sizeof(*range));
	return rc;
}

/* Gives granules [begin, end) back, those without memory skipped. */
static enum seam_rc unmap_granules(struct ref_cache *cache, struct ref_range *range, uint64_t begin, uint64_t end)
{
	struct seam_driver *driver = cache->base.driver;
	for (uint64_t i = begin; i < end; i++) {
		if (range->handles[i].id == 0)
			continue;
		int cu = seam__drv_mem_unmap(driver, range->va + i * range->granule_bytes, range->granule_bytes);
		if (cu == SEAM_CU_SUCCESS)
			cu = seam__drv_mem_release(driver, range->handles[i]);
		if (cu != SEAM_CU_SUCCESS)
			return seam__driver_rc(cu);
		range->handles[i].id = 0;
		ref_cache_sub_reserved(cache, range->granule_bytes);
	}
	return SEAM_OK;
}

/* Gives back handles [begin, end), of which none is mapped. */
static void release_granules(struct ref_cache *cache, struct ref_range *range, uint64_t begin, uint64_t end)
{
	for (uint64_t i = begin; i < end; i++) {
		ref_ignore(seam__drv_mem_release(cache->base.driver, range->handles[i]));
		range->handles[i].id = 0;
		ref_cache_sub_reserved(cache, range->granule_bytes);
	}
}

/* Memory for granules [begin, end): all or nothing. */
static int create_granules(struct ref_cache *cache, struct ref_range *range, uint64_t begin, uint64_t end)
{
	struct seam_driver *driver = cache->base.driver;
	struct seam_phys_props props = {.where = {.kind = SEAM_AT_DEVICE, .id = driver->ordinal}};
	for (uint64_t i = begin; i < end; i++) {
		int cu = seam__drv_mem_create(driver, range->granule_bytes, &props, &range->handles[i]);
		if (cu != SEAM_CU_SUCCESS) {
			release_granules(cache, range, begin, i);
			return cu;
		}
		ref_cache_add_reserved(cache, range->granule_bytes);
	}
	return SEAM_CU_SUCCESS;
}

/* Maps granules that have memory, with access: all or nothing, and then without memory too. */
static int show_granules(struct ref_cache *cache, struct ref_range *range, uint64_t begin, uint64_t end)
{
	struct seam_driver *driver = cache->base.driver;
	struct seam_access access = {
		.where = {.kind = SEAM_AT_DEVICE, .id = driver->ordinal}, .mode = SEAM_ACCESS_READWRITE};
	uint64_t bytes = range->granule_bytes;
	uint64_t mapped = begin;
	int cu = SEAM_CU_SUCCESS;
	while (mapped < end && cu == SEAM_CU_SUCCESS) {
		cu = seam__drv_mem_map(driver, range->va + mapped * bytes, bytes, 0, range->handles[mapped], 0);
		mapped += cu == SEAM_CU_SUCCESS;
	}
	if (cu == SEAM_CU_SUCCESS)
		cu = seam__drv_mem_set_access(driver, range->va + begin * bytes, (end - begin) * bytes, &access, 1);
	if (cu == SEAM_CU_SUCCESS)
		return cu;
	release_granules(cache, range, mapped, end);
	(void)unmap_granules(cache, range, begin, mapped);
	return cu;
}

/* All or nothing. Nothing is mapped before all of it is there. */
static enum seam_rc map_granules(struct ref_cache *cache, struct ref_range *range, uint64_t begin, uint64_t end)
{
	if (!ref_cache_may_grow(cache, (end - begin) * range->granule_bytes))
		return SEAM_OOM_DEVICE;
	uint64_t peak_bytes = cache->stats.reserved_peak_bytes;
	int cu = create_granules(cache, range, begin, end);
	if (cu == SEAM_CU_SUCCESS)
		cu = show_granules(cache, range, begin, end);
	if (cu == SEAM_CU_SUCCESS)
		return SEAM_OK;
	cache->stats.reserved_peak_bytes = peak_bytes;
	return seam__driver_rc(cu);
}

/* Puts memory behind the first `bytes` (rounded up to granules) of an unmapped block. The result, in its pool's free
 * set, is that part together with the free memory around it. */
static enum seam_rc map_block(
	struct ref_cache *cache, struct ref_block *block, uint64_t bytes, struct ref_block **ret_block)
{
	struct ref_range *range = block->range;
	SEAM_ASSERT(!block->mapped && bytes <= block->bytes);
	uint64_t first = (block->va - range->va) / range->granule_bytes;
	uint64_t count = seam__bits_div_up(bytes, range->granule_bytes);
	uint64_t mapped_bytes = count * range->granule_bytes;
	struct ref_block *rest = NULL;
	ref_pool_remove(block);
	if (mapped_bytes < block->bytes) {
		rest = block;
		block = ref_block_cut(&cache->blocks, rest, mapped_bytes);
		if (block == NULL) {
			ref_pool_insert(&cache->blocks, rest);
			return SEAM_OOM_META;
		}
		block->mapped = true;
		ref_pool_insert(&cache->blocks, rest);
	}
	enum seam_rc rc = map_granules(cache, range, first, first + count);
	block->mapped = rc == SEAM_OK;
	ref_pool_insert(&cache->blocks, block);
	*ret_block = block;
	return rc;
}

/* Whether free and unmapped blocks from here on cover `bytes`. */
static bool has_room(const struct ref_block *block, uint64_t bytes)
{
	uint64_t room_bytes = 0;
	while (room_bytes < bytes && block != NULL && ref_block_is_usable(block)) {
		room_bytes += block->bytes;
		block = block->next;
	}
	return room_bytes >= bytes;
}

/* The lowest place with room: an unmapped block, or the free block right before it. NULL: in no segment. */
static struct ref_block *find_room(struct ref_pool *pool, uint64_t stream, uint64_t bytes)
{
	for (struct ref_block *block = ref_pool_unmapped(pool, stream); block != NULL;
		block = ref_pool_unmapped_next(block)) {
		struct ref_block *prev = block->prev;
		struct ref_block *start = prev != NULL && ref_block_is_usable(prev) ? prev : block;
		if (has_room(start, bytes))
			return start;
	}
	return NULL;
}

static enum seam_rc grow(
	struct ref_cache *cache, struct ref_pool *pool, uint64_t stream, uint64_t bytes, struct ref_block **ret_block)
{
	struct ref_block *block = find_room(pool, stream, bytes);
	if (block == NULL) {
		enum seam_rc rc = reserve(cache, pool, stream);
		if (rc != SEAM_OK)
			return rc;
		block = find_room(pool, stream, bytes);
		if (block == NULL) /* more than the device has */
			return SEAM_OOM_DEVICE;
	}
	if (!block->mapped) {
		enum seam_rc rc = map_block(cache, block, seam__bits_min(block->bytes, bytes), &block);
		if (rc != SEAM_OK)
			return rc;
	}
	while (block->bytes < bytes) {
		struct ref_block *next = block->next;
		uint64_t missing_bytes = seam__bits_min(bytes - block->bytes, next->bytes);
		enum seam_rc rc = map_block(cache, next, missing_bytes, &block);
		if (rc != SEAM_OK)
			return rc;
	}
	ref_pool_remove(block);
	*ret_block = block;
	return SEAM_OK;
}

/* Address space and books of a segment without memory. */
static enum seam_rc release_range(struct ref_cache *cache, struct ref_range *range)
{
	int cu = seam__drv_address_free(cache->base.driver, range->va, range->bytes);
	LIST_REMOVE(range, link);
	seam__meta_free(cache->meta, range->handles, range->granules * sizeof(*range->handles));
	seam__meta_free(cache->meta, range, sizeof(*range));
	return seam__driver_rc(cu);
}

/* Cuts the granules [begin, end) out of a free block, which is taken out of its set; what is left of it goes back
 * there. NULL: out of metadata, and nothing has changed. */
static struct ref_block *cut_granules(
	struct ref_cache *cache, struct ref_block *block, uint64_t begin_va, uint64_t end_va)
{
	if (seam__slab_reserve(&cache->blocks.slab, 2) != SEAM_OK)
		return NULL;
	seam__slab_unreserve(&cache->blocks.slab, 2);
	ref_pool_remove(block);
	struct ref_block *before = NULL;
	struct ref_block *after = NULL;
	if (begin_va > block->va)
		before = ref_block_cut(&cache->blocks, block, begin_va - block->va);
	if (end_va < block->va + block->bytes) {
		after = block;
		block = ref_block_cut(&cache->blocks, after, end_va - begin_va);
	}
	block->mapped = false;
	if (before != NULL)
		ref_pool_insert(&cache->blocks, before);
	if (after != NULL)
		ref_pool_insert(&cache->blocks, after);
	return block;
}

static enum seam_rc unmap_block(struct ref_cache *cache, struct ref_block *block)
{
	struct ref_range *range = block->range;
	uint64_t granule_bytes = range->granule_bytes;
	uint64_t begin = seam__bits_div_up(block->va - range->va, granule_bytes);
	uint64_t end = (block->va + block->bytes - range->va) / granule_bytes;
	if (begin >= end)
		return SEAM_OK;
	int cu = seam__drv_stream_sync(cache->base.driver, block->stream);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	block = cut_granules(cache, block, range->va + begin * granule_bytes, range->va + end * granule_bytes);
	if (block == NULL)
		return SEAM_OOM_META;
	enum seam_rc rc = unmap_granules(cache, range, begin, end);
	ref_pool_insert(&cache->blocks, block);
	if (rc == SEAM_OK && block->prev == NULL && block->next == NULL) {
		ref_pool_remove(block);
		ref_block_delete(&cache->blocks, block);
		rc = release_range(cache, range);
	}
	return rc;
}

static enum seam_rc shrink(struct ref_cache *cache, struct ref_pool *pool)
{
	/* What is left of a block is smaller than it and so sorts before the next one, which stays valid. */
	struct ref_block *next;
	for (struct ref_block *block = ref_pool_first(pool); block != NULL; block = next) {
		next = ref_pool_after(block);
		enum seam_rc rc = unmap_block(cache, block);
		if (rc != SEAM_OK)
			return rc;
	}
	return SEAM_OK;
}

static void fini(struct ref_cache *cache)
{
	while (!LIST_EMPTY(&cache->ranges)) {
		struct ref_range *range = LIST_FIRST(&cache->ranges);
		(void)unmap_granules(cache, range, 0, range->granules);
		(void)release_range(cache, range);
	}
}

static const char *check(const struct ref_cache *cache)
{
	uint64_t bytes = 0;
	const struct ref_range *range;
	LIST_FOREACH(range, &cache->ranges, link)
	for (uint64_t i = 0; i < range->granules; i++)
		bytes += range->handles[i].id != 0 ? range->granule_bytes : 0;
	return bytes == cache->stats.reserved_bytes ? NULL : "RF3 reserved bytes are those of the granules";
}

const struct ref_source ref_expandable_source = {
	.grow = grow,
	.shrink = shrink,
	.choose = choose,
	.splits_large = splits_large,
	.fini = fini,
	.check = check,
};
