/* stats.c: the figures of a pool, and the walk behind those that are not kept. */
#include <string.h>

#include "bits.h"
#include "meta.h"
#include "plain.h"
#include "pool.h"

/* Free bytes of fits. */
struct unused {
	uint64_t bytes, whole_bytes;               /* whole: of these, in wholly free chunks */
	uint64_t stream_bytes, stream_whole_bytes; /* of these, bound to a stream */
};

static void add_fit(struct unused *unused, struct seam_fit *fit, bool of_stream)
{
	seam__fit_index(fit);
	unused->bytes += fit->bytes;
	unused->whole_bytes += fit->extents.whole_bytes;
	unused->stream_bytes += of_stream ? fit->bytes : 0;
	unused->stream_whole_bytes += of_stream ? fit->extents.whole_bytes : 0;
}

static struct unused sum_group(struct seam_group *group)
{
	struct unused unused = {0};
	for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
		struct seam_ppool *ppool = &group->classes[i];
		add_fit(&unused, &ppool->any, false);
		for (uint32_t s = 0; s < ppool->stream_capacity; s++)
			add_fit(&unused, &ppool->of_stream[s], true);
	}
	return unused;
}

static void fill_unused(struct seam_engine *engine, struct seam_stats *stats)
{
	const struct unused common = sum_group(&engine->common);
	stats->unused_whole_bytes = common.whole_bytes;
	stats->unused_partial_bytes = common.bytes - common.whole_bytes;
	stats->unused_stream_bytes = common.stream_bytes;
	stats->unused_stream_whole_bytes = common.stream_whole_bytes;
	struct seam_group *group;
	LIST_FOREACH(group, &engine->groups, link)
	stats->unused_private_bytes += sum_group(group).bytes;
}

/* Chunks whose home is a view for small requests. */
static uint64_t small_bytes(const struct seam_group *group)
{
	uint64_t bytes = 0;
	const struct seam_view *view;
	TAILQ_FOREACH(view, &group->classes[SEAM_CLASS_SMALL].homes, link)
	{
		bytes += view->used_bytes;
		for (uint32_t i = 0; view->holes != 0 && i < view->slot_count; i++)
			bytes -= view->slots[i].mapping == NULL ? view->slots[i].bytes : 0;
	}
	return bytes;
}

static void fill_counts(struct seam_stats *stats, const struct seam_engine_counts *counts)
{
	stats->live_requested_bytes = counts->live_requested_bytes;
	stats->live_requested_bytes_peak = counts->live_requested_bytes_peak;
	stats->live_bytes = counts->live_bytes;
	stats->live_bytes_peak = counts->live_bytes_peak;
	stats->live_blocks = counts->live_blocks;
	stats->live_blocks_peak = counts->live_blocks_peak;
	stats->unused_pending_bytes = counts->pending_bytes;
	stats->unused_leased_bytes = counts->leased_bytes - counts->planned_bytes - counts->planned_pending_bytes;
	stats->allocs = counts->allocs;
	stats->frees = counts->frees;
	stats->s1 = counts->s1;
	stats->s1r = counts->s1r;
	stats->s2 = counts->s2;
	stats->s3 = counts->s3;
	stats->scattered = counts->scattered;
	stats->s4 = counts->s4;
	stats->s5 = counts->s5;
	stats->retries = counts->retries;
	stats->stitch_frees = counts->stitch_frees;
	stats->cross_stream_reuses = counts->cross_stream_reuses;
}

static void fill_memory(struct seam_stats *stats, const struct seam_memory *memory)
{
	stats->reserved_bytes = memory->reserved_bytes;
	stats->reserved_bytes_peak = memory->reserved_peak_bytes;
	stats->chunks = memory->chunk_count;
	stats->chunks_peak = memory->chunk_peak;
	stats->chunks_made = memory->listed_count;
	stats->chunks_made_bytes = memory->listed_bytes;
	stats->views = memory->view_count;
	stats->stitched_views = memory->stitched_count;
	stats->stitched_bytes = memory->stitched_bytes;
	stats->address_bytes = memory->address_bytes;
	stats->mappings = memory->mapping_count;
	stats->mappings_peak = memory->mapping_peak;
	stats->mappings_stale = memory->mapping_count - memory->chunk_count; /* every chunk has one that is not */
}

static void fill_shared(struct seam_pool *pool, struct seam_stats *stats)
{
	struct seam_cache_stats host;
	seam__pool_host_stats(pool, &host);
	stats->host_live_bytes = host.live_bytes;
	stats->host_reserved_bytes = host.reserved_bytes;
	stats->host_reserved_bytes_peak = host.reserved_peak_bytes;
	struct seam_meta_stats meta;
	seam__meta_get_stats(pool->meta, &meta);
	stats->metadata_bytes = meta.live_bytes;
	stats->metadata_bytes_peak = meta.peak_bytes;
	stats->ooms_device = atomic_load_explicit(&pool->ooms.device, memory_order_relaxed);
	stats->ooms_mappings = atomic_load_explicit(&pool->ooms.mappings, memory_order_relaxed);
	stats->ooms_address = atomic_load_explicit(&pool->ooms.address, memory_order_relaxed);
	stats->ooms_metadata = atomic_load_explicit(&pool->ooms.metadata, memory_order_relaxed);
	stats->memory_calls = seam__driver_calls(pool->driver, SEAM_DRV_MEMORY);
	stats->memory_ns = seam__driver_ns(pool->driver, SEAM_DRV_MEMORY);
	stats->event_calls = seam__driver_calls(pool->driver, SEAM_DRV_EVENT);
	stats->event_ns = seam__driver_ns(pool->driver, SEAM_DRV_EVENT);
}

static void fill_engine(struct seam_pool *pool, struct seam_stats *stats)
{
	struct seam_engine *engine = &pool->engine;
	fill_counts(stats, &engine->counts);
	fill_memory(stats, &engine->memory);
	stats->reserved_small_bytes = small_bytes(&engine->common);
	struct seam_group *group;
	LIST_FOREACH(group, &engine->groups, link)
	stats->reserved_small_bytes += small_bytes(group);
	fill_unused(engine, stats);
}

void seam__pool_stats(struct seam_pool *pool, struct seam_stats *ret_stats)
{
	*ret_stats = (struct seam_stats){.size = sizeof *ret_stats, .version = SEAM_STATS_VERSION};
	if (pool->plain != NULL)
		seam__plain_stats(pool, ret_stats);
	else
		fill_engine(pool, ret_stats);
	fill_shared(pool, ret_stats);
}

enum seam_rc seam_stats_get(struct seam_pool *pool, struct seam_stats *stats)
{
	if (stats == NULL)
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (!seam__stats_known(stats->size, sizeof *stats, stats->version, SEAM_STATS_VERSION))
		return SEAM_VERSION;
	struct seam_stats all;
	seam__mutex_lock(seam__pool_lock(pool));
	seam__pool_stats(pool, &all);
	seam__mutex_unlock(seam__pool_lock(pool));
	all.size = stats->size;
	memcpy(stats, &all, stats->size);
	return SEAM_OK;
}

void seam_stats_reset_peaks(struct seam_pool *pool)
{
	if (seam__pool_enter(pool) != SEAM_OK)
		return;
	seam__mutex_lock(seam__pool_lock(pool));
	if (pool->plain != NULL)
		seam__cache_reset_peaks(&pool->plain->cache);
	else
		seam__engine_reset_peaks(&pool->engine);
	seam__meta_reset_peak(pool->meta);
	seam__mutex_unlock(seam__pool_lock(pool));
	seam__pool_host_reset_peaks(pool);
}

enum seam_rc seam_stats_driver(
	struct seam_pool *pool, uint32_t index, const char **ret_name, uint64_t *ret_calls, uint64_t *ret_ns)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (index >= SEAM_DRV_COUNT)
		return SEAM_NOT_FOUND;
	const struct seam_drv_count *count = &pool->driver->counts[index];
	if (ret_name != NULL)
		*ret_name = seam__driver_call_name((enum seam_drv_call)index);
	if (ret_calls != NULL)
		*ret_calls = atomic_load_explicit(&count->calls, memory_order_relaxed);
	if (ret_ns != NULL)
		*ret_ns = atomic_load_explicit(&count->ns, memory_order_relaxed);
	return SEAM_OK;
}
