/* stream_cache.c: blocks of the cache: found, cut, freed, joined. See stream_cache.h.
 *
 * Not here: growing, shrinking and waiting (stream_cache_request.c), figures and checks (stream_cache_report.c).
 */
#include "stream_cache.h"

#include <stddef.h>

#include "bits.h"
#include "stream_cache_impl.h"
#include "check.h"

static bool is_valid(const struct seam_cache_config *config)
{
	uint64_t granularity = config->granularity_bytes;
	return seam__bits_is_pow2(granularity) && seam__bits_is_pow2(config->round_bytes) &&
		config->round_bytes >= granularity && config->split_bytes >= granularity &&
		config->small_segment_bytes >= config->small_max_bytes &&
		config->segment_bytes >= config->exact_bytes &&
		seam__bits_is_aligned(config->small_segment_bytes, granularity) &&
		seam__bits_is_aligned(config->segment_bytes, granularity) &&
		(config->oom == SEAM_OOM_DEVICE || config->oom == SEAM_OOM_HOST);
}

enum seam_rc seam__cache_init(struct seam_cache *cache, const struct seam_cache_source *source,
	const struct seam_cache_config *config, struct seam_streams *streams, struct seam_meta *meta)
{
	if (!is_valid(config))
		return SEAM_INVALID;
	*cache = (struct seam_cache){.source = *source, .config = *config, .streams = streams};
	seam__range_init(&cache->range, meta, sizeof(struct seam_cache_block));
	seam__slab_init(&cache->use_slab, meta, sizeof(struct seam_cache_use));
	TAILQ_INIT(&cache->pending);
	return SEAM_OK;
}

/* Changes whose a block is; it is not filed. */
static void give_to(struct seam_cache_block *block, struct seam_stream *stream)
{
	struct seam_stream *old = block->stream;
	if (stream == old)
		return;
	if (stream != NULL)
		seam__stream_ref(stream);
	block->stream = stream;
	if (old != NULL)
		seam__stream_unref(old);
}

static void drop_uses(struct seam_cache *cache, struct seam_cache_block *block)
{
	while (block->uses != NULL) {
		struct seam_cache_use *use = block->uses;
		block->uses = use->next;
		seam__stream_unref(use->stream);
		seam__slab_put(&cache->use_slab, use);
	}
}

/* Joins a HELD block with the HELD one on its right; the left one's owner stays. */
static void swallow(struct seam_cache *cache, struct seam_cache_block *left, struct seam_cache_block *right)
{
	if (right->stream != NULL && (left->stamp < right->stamp || left->stream == NULL))
		left->stamp = right->stamp;
	give_to(right, NULL);
	seam__range_join(&cache->range, &left->extent, &right->extent);
}

static bool is_equal_free(const struct seam_extent *extent, const struct seam_cache_block *block)
{
	return extent != NULL && extent->state == SEAM_EXTENT_FREE &&
		((const struct seam_cache_block *)extent)->stream == block->stream;
}

void seam__cache_settle(struct seam_cache *cache, struct seam_cache_block *block)
{
	struct seam_extent *left = seam__range_prev(&block->extent);
	struct seam_extent *right = seam__range_next(&block->extent);
	if (is_equal_free(right, block)) {
		seam__range_pull(&cache->range, right);
		swallow(cache, block, seam__cache_block_of(right));
	}
	if (is_equal_free(left, block)) {
		seam__range_pull(&cache->range, left);
		swallow(cache, seam__cache_block_of(left), block);
		block = seam__cache_block_of(left);
	}
	seam__range_file(&cache->range, &block->extent, seam__cache_shelf(block->extent.segment->kind, block->stream));
}

static void count_live(struct seam_cache *cache, const struct seam_cache_block *block)
{
	struct seam_cache_stats *stats = &cache->stats;
	stats->live_blocks++;
	stats->live_blocks_peak = seam__bits_max(stats->live_blocks_peak, stats->live_blocks);
	stats->live_bytes += block->extent.bytes;
	stats->requested_bytes += block->requested_bytes;
	stats->live_peak_bytes = seam__bits_max(stats->live_peak_bytes, stats->live_bytes);
	stats->requested_peak_bytes = seam__bits_max(stats->requested_peak_bytes, stats->requested_bytes);
	stats->held_blocks_peak = seam__bits_max(stats->held_blocks_peak, stats->live_blocks + stats->pending_blocks);
	stats->held_peak_bytes = seam__bits_max(stats->held_peak_bytes, stats->live_bytes + stats->pending_bytes);
	cache->held_most_bytes = seam__bits_max(cache->held_most_bytes, stats->held_peak_bytes);
	stats->allocs++;
	stats->alloc_bytes += block->extent.bytes;
}

enum seam_rc seam__cache_take(struct seam_cache_request *request, struct seam_cache_block *block)
{
	struct seam_cache *cache = request->cache;
	/* First, since it alone can fail; the block's start is the same after the cut. */
	enum seam_rc rc = seam__range_publish(&cache->range, &block->extent);
	if (rc != SEAM_OK) {
		seam__cache_settle(cache, block);
		return rc;
	}
	uint64_t least_bytes = request->small ? cache->config.granularity_bytes : cache->config.split_bytes;
	if (block->extent.bytes - request->bytes >= least_bytes) {
		SEAM_ASSERT(request->spare_extents > 0);
		request->spare_extents--;
		struct seam_cache_block *rest =
			seam__cache_block_of(seam__range_split(&cache->range, &block->extent, request->bytes));
		rest->stamp = block->stamp;
		give_to(rest, block->stream);
		seam__cache_settle(cache, rest);
	}
	give_to(block, request->stream);
	block->requested_bytes = request->requested_bytes;
	block->tag = request->tag;
	count_live(cache, block);
	request->va = block->extent.va;
	return SEAM_OK;
}

/* The best fit among what the stream may use at once. */
static struct seam_extent *fit(struct seam_cache_request *request)
{
	struct seam_range *range = &request->cache->range;
	uint64_t kind = request->small ? SEAM_CACHE_SMALL_SEGMENT : SEAM_CACHE_LARGE_SEGMENT;
	struct seam_extent *own = seam__range_best(range, seam__cache_shelf(kind, request->stream), request->bytes);
	struct seam_extent *nobodys = seam__range_best(range, seam__cache_shelf(kind, NULL), request->bytes);
	if (own == NULL)
		return nobodys;
	return nobodys != NULL && nobodys->bytes < own->bytes ? nobodys : own;
}

static bool may_use(const struct seam_extent *extent, const struct seam_stream *stream)
{
	const struct seam_cache_block *block = (const struct seam_cache_block *)extent;
	return extent != NULL && extent->state == SEAM_EXTENT_FREE &&
		(block->stream == NULL || block->stream == stream);
}

/* The lowest extent of the smallest run of usable neighbours that is large enough; NULL: none. */
static struct seam_extent *find_run(struct seam_cache_request *request)
{
	uint64_t kind = request->small ? SEAM_CACHE_SMALL_SEGMENT : SEAM_CACHE_LARGE_SEGMENT;
	uint64_t shelf = seam__cache_shelf(kind, request->stream);
	struct seam_extent *best = NULL;
	uint64_t best_bytes = UINT64_MAX;
	/* Without a nobody's block among them there are no runs: equals are joined. */
	if (seam__range_best(&request->cache->range, seam__cache_shelf(kind, NULL), 1) == NULL)
		return NULL;
	struct seam_extent *extent = seam__range_first(&request->cache->range, shelf);
	for (; extent != NULL && extent->shelf == shelf; extent = seam__range_after(extent)) {
		struct seam_extent *low = extent, *other = NULL;
		uint64_t bytes = extent->bytes;
		while (may_use(other = seam__range_prev(low), request->stream)) {
			low = other;
			bytes += low->bytes;
		}
		for (other = seam__range_next(extent); may_use(other, request->stream); other = seam__range_next(other))
			bytes += other->bytes;
		if (bytes >= request->bytes && (bytes < best_bytes || (bytes == best_bytes && low->va < best->va))) {
			best = low;
			best_bytes = bytes;
		}
	}
	return best;
}

/* Joins the run into one HELD block of the request's stream. */
static struct seam_cache_block *join_run(struct seam_cache_request *request, struct seam_extent *low)
{
	struct seam_cache *cache = request->cache;
	struct seam_cache_block *block = seam__cache_block_of(low);
	seam__range_pull(&cache->range, low);
	if (block->stream == NULL) {
		block->stamp = 0;
		give_to(block, request->stream);
	}
	struct seam_extent *next;
	while (may_use(next = seam__range_next(low), request->stream)) {
		seam__range_pull(&cache->range, next);
		swallow(cache, block, seam__cache_block_of(next));
	}
	return block;
}

/* Attempts 1 and 2 of stream_cache.h. */
static enum seam_rc try_usable(struct seam_cache_request *request, struct seam_cache_block **ret_block)
{
	struct seam_cache *cache = request->cache;
	struct seam_extent *extent = fit(request);
	struct seam_extent *low = extent == NULL ? find_run(request) : NULL;
	if (extent == NULL && low == NULL)
		return SEAM_OK;
	struct seam_cache_block *block = seam__cache_block_of(extent);
	if (extent != NULL)
		seam__range_pull(&cache->range, extent);
	else
		block = join_run(request, low);
	bool crossed = block->stream != request->stream;
	uint64_t whole_bytes = block->extent.bytes;
	enum seam_rc rc = seam__cache_take(request, block);
	if (rc != SEAM_OK)
		return rc;
	cache->stats.cross_streams += crossed;
	if (low != NULL)
		cache->stats.gathers++;
	else if (block->extent.bytes < whole_bytes)
		cache->stats.splits++;
	else
		cache->stats.hits++;
	*ret_block = block;
	return SEAM_OK;
}

/* The best fit among what other streams have freed, behind an edge from them to the request's stream. A stream that
 * cannot be ordered now (a capture, another thread's, lost) is no error: its memory is just not for this request. */
static enum seam_rc try_ordered(struct seam_cache_request *request, struct seam_cache_block **ret_block)
{
	struct seam_cache *cache = request->cache;
	uint64_t kind = request->small ? SEAM_CACHE_SMALL_SEGMENT : SEAM_CACHE_LARGE_SEGMENT;
	struct seam_extent *best = NULL;
	struct seam_extent *first = seam__range_first(&cache->range, seam__cache_shelf(kind, NULL) + 1);
	while (first != NULL && first->segment->kind == kind) {
		struct seam_extent *extent = seam__range_best(&cache->range, first->shelf, request->bytes);
		if (extent != NULL && (best == NULL || extent->bytes < best->bytes))
			best = extent;
		first = seam__range_first(&cache->range, first->shelf + 1);
	}
	if (best == NULL)
		return SEAM_OK;
	struct seam_cache_block *block = seam__cache_block_of(best);
	enum seam_rc rc = seam__stream_order(block->stream, block->stamp, request->stream);
	if (rc == SEAM_CAPTURING || rc == SEAM_BUSY || rc == SEAM_NOT_FOUND)
		return SEAM_OK;
	if (rc != SEAM_OK)
		return rc;
	seam__range_pull(&cache->range, best);
	rc = seam__cache_take(request, block);
	if (rc != SEAM_OK)
		return rc;
	cache->stats.cross_streams++;
	*ret_block = block;
	return SEAM_OK;
}

enum seam_rc seam__cache_search(struct seam_cache_request *request, struct seam_cache_block **ret_block)
{
	struct seam_cache *cache = request->cache;
	*ret_block = NULL;
	enum seam_rc rc = try_usable(request, ret_block);
	if (rc != SEAM_OK || *ret_block != NULL)
		return rc;
	if (TAILQ_EMPTY(&cache->pending) && cache->range.free_bytes < request->bytes)
		return SEAM_OK;
	if (cache->config.reuse == SEAM_CACHE_REUSE_OWN && request->attempt == 0)
		return SEAM_OK;
	/* What is pending may wait for this very stream; else its own memory is usable as it is, and it need not be
	 * asked. */
	rc = seam__cache_release_passed(cache, TAILQ_EMPTY(&cache->pending) ? request->stream : NULL);
	if (rc == SEAM_OK)
		rc = try_usable(request, ret_block);
	if (rc == SEAM_OK && *ret_block == NULL && cache->config.reuse == SEAM_CACHE_REUSE_WAIT)
		rc = try_ordered(request, ret_block);
	return rc;
}

static bool uses_passed(const struct seam_cache_block *block)
{
	for (const struct seam_cache_use *use = block->uses; use != NULL; use = use->next)
		if (!seam__stream_passed(use->stream, use->stamp))
			return false;
	return true;
}

static void settle_pending(struct seam_cache *cache)
{
	struct seam_cache_block *block, *next;
	TAILQ_FOREACH_SAFE(block, &cache->pending, link, next)
	{
		if (!uses_passed(block))
			continue;
		TAILQ_REMOVE(&cache->pending, block, link);
		cache->stats.pending_blocks--;
		cache->stats.pending_bytes -= block->extent.bytes;
		drop_uses(cache, block);
		seam__cache_settle(cache, block);
	}
}

enum seam_rc seam__cache_release_passed(struct seam_cache *cache, const struct seam_stream *except)
{
	enum seam_rc rc = seam__streams_poll_all(cache->streams, except);
	if (rc != SEAM_OK)
		return rc;
	settle_pending(cache);
	struct seam_extent *extent = seam__range_first(&cache->range, 0), *next = NULL;
	for (; extent != NULL; extent = next) {
		struct seam_cache_block *block = seam__cache_block_of(extent);
		if (block->stream == NULL || block->stream == except) {
			next = seam__range_first(&cache->range, extent->shelf + 1);
			continue;
		}
		/* Stays valid: what becomes nobody's joins nobody's neighbours only, whose shelf comes before this one.
		 */
		next = seam__range_after(extent);
		if (!seam__stream_passed(block->stream, block->stamp))
			continue;
		seam__range_pull(&cache->range, extent);
		give_to(block, NULL);
		seam__cache_settle(cache, block);
	}
	return SEAM_OK;
}

enum seam_rc seam__cache_free(struct seam_cache *cache, uint64_t va)
{
	struct seam_cache_block *block = seam__cache_block_of(seam__range_find(&cache->range, va));
	if (block == NULL)
		return SEAM_NOT_FOUND;
	struct seam_cache_stats *stats = &cache->stats;
	stats->live_blocks--;
	stats->live_bytes -= block->extent.bytes;
	stats->requested_bytes -= block->requested_bytes;
	stats->frees++;
	seam__range_withdraw(&cache->range, &block->extent);
	block->stamp = seam__stream_stamp(block->stream);
	for (struct seam_cache_use *use = block->uses; use != NULL; use = use->next) {
		use->stamp = seam__stream_stamp(use->stream);
		/* Where it fails (a capture, say) the next poll does it. */
		enum seam_rc ignored = cache->config.covers_frees ? seam__stream_cover(use->stream) : SEAM_OK;
		(void)ignored;
	}
	if (block->uses == NULL) {
		seam__cache_settle(cache, block);
	} else {
		TAILQ_INSERT_TAIL(&cache->pending, block, link);
		stats->pending_blocks++;
		stats->pending_bytes += block->extent.bytes;
	}
	return SEAM_OK;
}

enum seam_rc seam__cache_record_stream(struct seam_cache *cache, uint64_t va, struct seam_stream *stream)
{
	struct seam_cache_block *block = seam__cache_block_of(seam__range_find(&cache->range, va));
	if (block == NULL)
		return SEAM_NOT_FOUND;
	if (stream == block->stream)
		return SEAM_OK;
	for (const struct seam_cache_use *use = block->uses; use != NULL; use = use->next)
		if (use->stream == stream)
			return SEAM_OK;
	struct seam_cache_use *use = seam__slab_get(&cache->use_slab);
	if (use == NULL)
		return SEAM_OOM_META;
	*use = (struct seam_cache_use){.next = block->uses, .stream = stream};
	seam__stream_ref(stream);
	block->uses = use;
	return SEAM_OK;
}

/* Makes one HELD extent of whatever a segment holds. */
static void clear_segment(struct seam_cache *cache, struct seam_segment *segment)
{
	struct seam_extent *extent, *first = TAILQ_FIRST(&segment->extents);
	TAILQ_FOREACH(extent, &segment->extents, link)
	{
		struct seam_cache_block *block = seam__cache_block_of(extent);
		if (extent->state == SEAM_EXTENT_FREE)
			seam__range_pull(&cache->range, extent);
		else if (extent->state == SEAM_EXTENT_LIVE)
			seam__range_withdraw(&cache->range, extent);
		drop_uses(cache, block);
		give_to(block, NULL);
	}
	while (seam__range_next(first) != NULL)
		seam__range_join(&cache->range, first, seam__range_next(first));
}

uint64_t seam__cache_fini(struct seam_cache *cache)
{
	uint64_t live = cache->stats.live_blocks;
	struct seam_segment *segment;
	TAILQ_INIT(&cache->pending);
	while ((segment = seam__range_first_segment(&cache->range)) != NULL) {
		clear_segment(cache, segment);
		/* A driver that has shut down has taken the memory with it. */
		enum seam_rc rc = cache->source.segment_free(cache->source.user, segment->va, segment->bytes);
		(void)rc;
		seam__range_remove(&cache->range, segment);
	}
	seam__range_fini(&cache->range);
	seam__slab_fini(&cache->use_slab);
	return live;
}
