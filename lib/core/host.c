/* host.c: the API's calls on the pool of pinned host memory (pools/host.h). */
#include <seam/host.h>

#include <inttypes.h>
#include <string.h>

#include "host_memory.h"
#include "meta.h"
#include "text.h"

#include "pool.h"

#define LARGEST_HOST_BYTES (UINT64_C(1) << 48) /* more than any machine; keeps sums from overflowing */

_Static_assert(UINTPTR_MAX == SEAM_NO_STREAM_HANDLE, "SEAM_NO_STREAM has one value");

enum seam_rc seam__pool_host_init(struct seam_pool *pool)
{
	const struct seam_config *config = &pool->config;
	const struct seam_host_config plain = {
		.capacity_bytes = config->host_capacity_bytes,
		.deterministic = config->deterministic != 0,
		.verify_streams = config->verify_streams != 0,
	};
	const struct seam_pinned_config stitched = {
		.capacity_bytes = config->host_capacity_bytes,
		.mapping_limit = config->mapping_limit,
		.address_limit_bytes = config->address_limit_bytes,
		.deterministic = config->deterministic != 0,
		.verify_streams = config->verify_streams != 0,
		.root = "",
	};
	enum seam_rc rc = seam__host_init(&pool->host, &plain, pool->driver, pool->meta);
	if (rc != SEAM_OK || config->host_stitch == 0)
		return rc;
	struct seam_pinned *pinned = seam__meta_alloc(pool->meta, sizeof *pinned);
	rc = pinned != NULL ? seam__pinned_init(pinned, &stitched, pool->driver, pool->meta, &pool->why_not_pinned)
			    : SEAM_OOM_META;
	if (rc == SEAM_OK) {
		pool->pinned = pinned;
		return SEAM_OK;
	}
	seam__meta_free(pool->meta, pinned, sizeof *pinned);
	if (rc == SEAM_UNSUPPORTED)
		return SEAM_OK;
	(void)seam__store_fini(&pool->host.store);
	return rc;
}

void seam__pool_host_fini(struct seam_pool *pool)
{
	if (pool->pinned != NULL) {
		seam__pinned_fini(pool->pinned);
		seam__meta_free(pool->meta, pool->pinned, sizeof *pool->pinned);
		pool->pinned = NULL;
	}
	(void)seam__store_fini(&pool->host.store);
}

/* The call of whichever kind it is: their names and arguments are alike. */
#define ON_HOST(pool, name, ...)                                                   \
	((pool)->pinned != NULL ? seam__pinned_##name((pool)->pinned, __VA_ARGS__) \
				: seam__store_##name(&(pool)->host.store, __VA_ARGS__))

void seam__pool_host_stats(struct seam_pool *pool, struct seam_cache_stats *ret_stats)
{
	ON_HOST(pool, get_stats, ret_stats);
}

void seam__pool_host_reset_peaks(struct seam_pool *pool)
{
	if (pool->pinned != NULL)
		seam__pinned_reset_peaks(pool->pinned);
	else
		seam__store_reset_peaks(&pool->host.store);
}

enum seam_rc seam__pool_host_stream_destroyed(struct seam_pool *pool, uint64_t stream)
{
	return ON_HOST(pool, stream_destroyed, stream);
}

enum seam_rc seam__pool_host_range(struct seam_pool *pool, uint64_t va, uint64_t *ret_va, uint64_t *ret_bytes)
{
	return ON_HOST(pool, range, va, ret_va, ret_bytes);
}

const char *seam__pool_host_check(struct seam_pool *pool)
{
	const char *broken = pool->pinned != NULL ? seam__pinned_check(pool->pinned) : NULL;
	return broken != NULL ? broken : seam__store_check(&pool->host.store);
}

static struct seam_host_figures *figures_of(struct seam_pool *pool)
{
	return pool->pinned != NULL ? &pool->pinned->driver.figures : &pool->host.figures;
}

enum seam_rc seam_host_alloc(struct seam_pool *pool, uint64_t bytes, void *stream, void **ret_ptr)
{
	if (bytes == 0 || ret_ptr == NULL)
		return SEAM_INVALID;
	uint64_t va = 0;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (bytes > LARGEST_HOST_BYTES)
		return SEAM_OOM_HOST;
	rc = pool->pinned != NULL
		? seam__pinned_alloc(pool->pinned, bytes, (uint64_t)(uintptr_t)stream, &va)
		: seam__store_alloc(&pool->host.store, bytes, (uint64_t)(uintptr_t)stream, 0, false, &va);
	if (rc == SEAM_OK)
		*ret_ptr = seam__host_pointer(va);
	return rc;
}

enum seam_rc seam_host_free(struct seam_pool *pool, void *ptr)
{
	if (ptr == NULL)
		return SEAM_OK;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	return ON_HOST(pool, free, (uint64_t)(uintptr_t)ptr);
}

enum seam_rc seam_host_record_stream(struct seam_pool *pool, void *ptr, void *stream)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	return ON_HOST(pool, record_stream, (uint64_t)(uintptr_t)ptr, (uint64_t)(uintptr_t)stream);
}

static uint64_t load(const _Atomic uint64_t *figure)
{
	return atomic_load_explicit(figure, memory_order_relaxed);
}

static struct seam_host_stats stats_of(struct seam_pool *pool)
{
	struct seam_cache_stats cache;
	const struct seam_host_figures *figures = figures_of(pool);
	seam__pool_host_stats(pool, &cache);
	return (struct seam_host_stats){
		.size = sizeof(struct seam_host_stats),
		.version = SEAM_HOST_STATS_VERSION,
		.live_blocks = cache.live_blocks,
		.live_bytes = cache.live_bytes,
		.live_bytes_peak = cache.live_peak_bytes,
		.requested_bytes = cache.requested_bytes,
		.requested_bytes_peak = cache.requested_peak_bytes,
		.held_blocks = cache.live_blocks + cache.pending_blocks,
		.held_blocks_peak = cache.held_blocks_peak,
		.held_bytes = cache.live_bytes + cache.pending_bytes,
		.held_bytes_peak = cache.held_peak_bytes,
		.reserved_bytes = cache.reserved_bytes,
		.reserved_bytes_peak = cache.reserved_peak_bytes,
		.segments = cache.segments,
		.segments_peak = cache.segments_peak,
		.allocs = cache.allocs,
		.alloc_bytes = cache.alloc_bytes,
		.grows = cache.grows,
		.grown_bytes = cache.grown_bytes,
		.shrinks = cache.shrinks,
		.ooms = cache.ooms,
		.alloc_calls = load(&figures->allocs.count),
		.alloc_ns = load(&figures->allocs.total_ns),
		.alloc_ns_least = load(&figures->allocs.least_ns),
		.alloc_ns_most = load(&figures->allocs.most_ns),
		.free_calls = load(&figures->frees.count),
		.free_ns = load(&figures->frees.total_ns),
		.free_ns_least = load(&figures->frees.least_ns),
		.free_ns_most = load(&figures->frees.most_ns),
		.placed = load(&figures->placed),
	};
}

enum seam_rc seam_host_stats_get(struct seam_pool *pool, struct seam_host_stats *stats)
{
	enum seam_rc rc = stats == NULL ? SEAM_INVALID : seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (!seam__stats_known(stats->size, sizeof *stats, stats->version, SEAM_HOST_STATS_VERSION))
		return SEAM_VERSION;
	struct seam_host_stats all = stats_of(pool);
	all.size = stats->size;
	memcpy(stats, &all, stats->size);
	return SEAM_OK;
}

void seam_host_reset_peaks(struct seam_pool *pool)
{
	if (seam__pool_enter(pool) != SEAM_OK)
		return;
	seam__pool_host_reset_peaks(pool);
	seam__host_figures_reset(figures_of(pool));
}

enum seam_rc seam_host_sizes(struct seam_pool *pool, uint64_t *counts, size_t capacity)
{
	enum seam_rc rc = counts == NULL ? SEAM_INVALID : seam__pool_enter(pool);
	for (size_t i = 0; rc == SEAM_OK && i < capacity && i < SEAM_HOST_SIZES; i++)
		counts[i] = load(&figures_of(pool)->sizes[i]);
	return rc;
}

/* The blocks that a caller wants, and how many there are. */
struct copied {
	struct seam_block_info *blocks;
	size_t capacity, count;
};

static bool copy_block(void *user, const struct seam_cache_view *view)
{
	static const enum seam_block_state states[] = {
		[SEAM_CACHE_LIVE] = SEAM_BLOCK_LIVE,
		[SEAM_CACHE_PENDING] = SEAM_BLOCK_PENDING,
		[SEAM_CACHE_FREE] = SEAM_BLOCK_FREE,
		[SEAM_CACHE_LEAVING] = SEAM_BLOCK_TRANSIT,
	};
	struct copied *copied = user;
	if (copied->count < copied->capacity)
		copied->blocks[copied->count] = (struct seam_block_info){
			.va = view->va,
			.bytes = view->bytes,
			.requested_bytes = view->requested_bytes,
			.state = states[view->state],
			.stream = view->stream,
			.tag = view->tag,
		};
	copied->count++;
	return true;
}

enum seam_rc seam_host_blocks(
	struct seam_pool *pool, struct seam_block_info *blocks, size_t capacity, size_t *ret_count)
{
	if (ret_count == NULL || (blocks == NULL && capacity != 0))
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	struct copied copied = {.blocks = blocks, .capacity = capacity};
	ON_HOST(pool, walk, copy_block, &copied);
	*ret_count = copied.count;
	return SEAM_OK;
}

enum seam_rc seam_host_trim(struct seam_pool *pool, uint64_t target_bytes, uint64_t *ret_released_bytes)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	uint64_t released_bytes = 0;
	rc = pool->pinned != NULL ? seam__pinned_trim(pool->pinned, target_bytes, &released_bytes)
				  : seam__store_trim(&pool->host.store, target_bytes, false, &released_bytes);
	if (rc == SEAM_OK && ret_released_bytes != NULL)
		*ret_released_bytes = released_bytes;
	return rc;
}

enum seam_rc seam_host_prepare(struct seam_pool *pool, uint64_t bytes, bool wait)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (pool->pinned != NULL)
		return seam__pinned_prepare(pool->pinned, bytes, wait);
	struct seam_cache_stats stats;
	seam__store_get_stats(&pool->host.store, &stats);
	return stats.reserved_bytes >= bytes ? SEAM_OK : SEAM_UNSUPPORTED;
}

static void put_ahead(struct seam_text *text, const struct seam_pinned_ahead *ahead)
{
	char size[24];
	const uint64_t short_bytes = atomic_load(&ahead->short_bytes), aim_bytes = atomic_load(&ahead->aim_bytes);
	if (short_bytes != 0)
		seam__text_printf(
			text, ", and ran short of the %s to be pinned ahead", seam__text_size(size, short_bytes));
	else if (aim_bytes != 0 && atomic_load(&ahead->makers) != 0)
		seam__text_printf(text, ", being pinned ahead up to %s", seam__text_size(size, aim_bytes));
}

static void put_limits(struct seam_text *text, struct seam_pool *pool)
{
	char size[2][24];
	struct seam_host_memory memory;
	seam__host_memory_get("", &memory);
	if (pool->config.host_capacity_bytes != 0)
		seam__text_printf(text, "; host_capacity_bytes allows %s",
			seam__text_size(size[0], pool->config.host_capacity_bytes));
	if (memory.limit_bytes != UINT64_MAX)
		seam__text_printf(text, "; of the %s that the control group may have %s are left",
			seam__text_size(size[0], memory.limit_bytes), seam__text_size(size[1], memory.room_bytes));
}

void seam__pool_put_host(struct seam_pool *pool, struct seam_text *text)
{
	char size[3][24];
	const struct seam_host_figures *figures = figures_of(pool);
	const struct seam_host_stats stats = stats_of(pool);
	const int node = atomic_load_explicit(&figures->node, memory_order_relaxed);
	const int refused = atomic_load_explicit(&figures->refused, memory_order_relaxed);
	seam__text_printf(text, "%s pinned, %s in use, peak %s", seam__text_size(size[0], stats.reserved_bytes),
		seam__text_size(size[1], stats.held_bytes), seam__text_size(size[2], stats.reserved_bytes_peak));
	put_limits(text, pool);
	if (pool->pinned != NULL) {
		seam__text_printf(text, "; stitched");
		put_ahead(text, &pool->pinned->ahead);
	} else if (pool->why_not_pinned != NULL) {
		seam__text_printf(text, "; not stitched: %s", pool->why_not_pinned);
	}
	if (stats.placed != 0)
		seam__text_printf(text, "; on NUMA node %d", node);
	else if (refused != 0)
		seam__text_printf(text, "; not placed on NUMA node %d: %s", node, strerror(refused));
}

size_t seam_host_text(struct seam_pool *pool, char *text, size_t text_bytes)
{
	struct seam_text out;
	seam__text_init_fixed(&out, text, text != NULL ? text_bytes : 0);
	if (seam__pool_enter(pool) == SEAM_OK)
		seam__pool_put_host(pool, &out);
	return out.length_bytes;
}
