/* stream_cache_report.c: what the cache says about itself: figures, walks, checks. See stream_cache.h. */
#include <stddef.h>

#include "bits.h"
#include "stream_cache.h"
#include "stream_cache_impl.h"

const struct seam_cache_block *seam__cache_find(struct seam_cache *cache, uint64_t va)
{
	return seam__cache_block_of(seam__range_find(&cache->range, va));
}

void seam__cache_set_serial(struct seam_cache *cache, uint64_t va, uint64_t serial)
{
	seam__cache_block_of(seam__range_find(&cache->range, va))->serial = serial;
}

const struct seam_cache_block *seam__cache_around(struct seam_cache *cache, uint64_t va)
{
	struct seam_extent *extent = seam__range_around(&cache->range, va);
	return extent != NULL && extent->state == SEAM_EXTENT_LIVE ? seam__cache_block_of(extent) : NULL;
}

void seam__cache_get_stats(const struct seam_cache *cache, struct seam_cache_stats *ret_stats)
{
	*ret_stats = cache->stats;
	ret_stats->free_bytes = cache->range.free_bytes;
	ret_stats->reserved_bytes = cache->range.segment_bytes;
	ret_stats->segments = cache->range.segment_count;
}

void seam__cache_reset_peaks(struct seam_cache *cache)
{
	cache->stats.live_blocks_peak = cache->stats.live_blocks;
	cache->stats.live_peak_bytes = cache->stats.live_bytes;
	cache->stats.requested_peak_bytes = cache->stats.requested_bytes;
	cache->stats.reserved_peak_bytes = cache->range.segment_bytes;
	cache->stats.segments_peak = cache->range.segment_count;
	cache->stats.held_blocks_peak = cache->stats.live_blocks + cache->stats.pending_blocks;
	cache->stats.held_peak_bytes = cache->stats.live_bytes + cache->stats.pending_bytes;
}

static enum seam_cache_state state_of(const struct seam_cache_block *block)
{
	if (block->extent.state == SEAM_EXTENT_LIVE)
		return SEAM_CACHE_LIVE;
	if (block->extent.state == SEAM_EXTENT_FREE)
		return SEAM_CACHE_FREE;
	return block->uses != NULL ? SEAM_CACHE_PENDING : SEAM_CACHE_LEAVING;
}

static struct seam_cache_view view_of(const struct seam_cache_block *block)
{
	const struct seam_segment *segment = block->extent.segment;
	bool live = block->extent.state == SEAM_EXTENT_LIVE;
	return (struct seam_cache_view){
		.segment_va = segment->va,
		.segment_bytes = segment->bytes,
		.va = block->extent.va,
		.bytes = block->extent.bytes,
		.requested_bytes = live ? block->requested_bytes : 0,
		.tag = live ? block->tag : 0,
		.stream = block->stream != NULL ? block->stream->handle : 0,
		.has_stream = block->stream != NULL,
		.small = segment->kind == SEAM_CACHE_SMALL_SEGMENT,
		.state = state_of(block),
	};
}

void seam__cache_walk(
	struct seam_cache *cache, bool (*visit)(void *user, const struct seam_cache_view *view), void *user)
{
	struct seam_segment *segment = seam__range_first_segment(&cache->range);
	for (; segment != NULL; segment = seam__range_next_segment(segment)) {
		struct seam_extent *extent;
		TAILQ_FOREACH(extent, &segment->extents, link)
		{
			struct seam_cache_view view = view_of(seam__cache_block_of(extent));
			if (!visit(user, &view))
				return;
		}
	}
}

/* The sums that a check compares. */
struct sums {
	uint64_t live_blocks, live_bytes, requested_bytes, pending_blocks, pending_bytes, moving_bytes, small_bytes;
};

static const char *check_block(const struct seam_cache_block *block, struct sums *sums)
{
	const struct seam_extent *extent = &block->extent;
	switch (state_of(block)) {
	case SEAM_CACHE_LIVE:
		if (block->stream == NULL || block->requested_bytes == 0 || block->requested_bytes > extent->bytes)
			return "SC1 a live block has a stream and its request";
		sums->live_blocks++;
		sums->live_bytes += extent->bytes;
		sums->requested_bytes += block->requested_bytes;
		break;
	case SEAM_CACHE_FREE:
		if (block->uses != NULL || extent->shelf != seam__cache_shelf(extent->segment->kind, block->stream))
			return "SC1 a free block is on its stream's shelf";
		break;
	case SEAM_CACHE_PENDING:
		if (block->stream == NULL)
			return "SC3 a pending block has a stream";
		sums->pending_blocks++;
		sums->pending_bytes += extent->bytes;
		break;
	case SEAM_CACHE_LEAVING:
		if (extent->bytes != extent->segment->bytes || block->stream != NULL)
			return "SC3 a segment leaves as a whole";
		sums->moving_bytes += extent->bytes;
		break;
	}
	return NULL;
}

static const char *check_segment(const struct seam_cache *cache, struct seam_segment *segment, struct sums *sums)
{
	const struct seam_cache_block *previous = NULL;
	struct seam_extent *extent;
	TAILQ_FOREACH(extent, &segment->extents, link)
	{
		const struct seam_cache_block *block = seam__cache_block_of(extent);
		const char *broken = check_block(block, sums);
		if (broken != NULL)
			return broken;
		if (!seam__bits_is_aligned(extent->bytes | extent->va, cache->config.granularity_bytes))
			return "blocks are multiples of the granularity";
		if (previous != NULL && previous->extent.state == SEAM_EXTENT_FREE &&
			extent->state == SEAM_EXTENT_FREE && previous->stream == block->stream)
			return "SC2 equal free neighbours are joined";
		previous = block;
	}
	sums->small_bytes += segment->kind == SEAM_CACHE_SMALL_SEGMENT ? segment->bytes : 0;
	return NULL;
}

const char *seam__cache_check(const struct seam_cache *constant)
{
	/* The container macros know no const; nothing is written through it. */
	struct seam_cache *cache = (struct seam_cache *)(uintptr_t)constant;
	const char *broken = seam__range_check(&cache->range);
	if (broken != NULL)
		return broken;
	struct sums sums = {0};
	struct seam_segment *segment = seam__range_first_segment(&cache->range);
	for (; segment != NULL; segment = seam__range_next_segment(segment)) {
		broken = check_segment(cache, segment, &sums);
		if (broken != NULL)
			return broken;
	}
	uint64_t pending_bytes = 0;
	const struct seam_cache_block *block;
	TAILQ_FOREACH(block, &cache->pending, link)
	pending_bytes += block->extent.bytes;
	if (pending_bytes != sums.pending_bytes)
		return "SC3 what is pending is in the list";
	const struct seam_cache_stats *stats = &cache->stats;
	if (sums.live_blocks != stats->live_blocks || sums.live_bytes != stats->live_bytes ||
		sums.requested_bytes != stats->requested_bytes || sums.pending_bytes != stats->pending_bytes ||
		sums.pending_blocks != stats->pending_blocks || sums.moving_bytes != cache->moving_bytes ||
		sums.small_bytes != stats->small_reserved_bytes ||
		sums.live_bytes + sums.pending_bytes + sums.moving_bytes + cache->range.free_bytes !=
			cache->range.segment_bytes)
		return "SC4 sums";
	if (cache->config.limit_bytes != 0 &&
		cache->range.segment_bytes + cache->growing_bytes > cache->config.limit_bytes)
		return "SC5 limit";
	return NULL;
}
