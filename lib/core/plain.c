/* plain.c: a pool without virtual memory management: the API's calls on the caching allocator of fallback/.
 *
 * Nothing is stitched; private pools, peers and exports do not exist. A chunk of the API is here a segment, one direct
 * allocation. Counters: s1 is a whole free block, s2 a part of one, s3 neighbours joined, s4 a new segment.
 *
 * Locks: that of the store, which has the engine's rank and guards what the engine's lock guards elsewhere.
 */
#include "plain.h"

#include "bits.h"
#include "caching.h"
#include "meta.h"
#include "recording.h"

enum seam_rc seam__plain_create(struct seam_pool *pool)
{
	const struct seam_config *config = &pool->config;
	struct seam_caching_config caching = {
		.capacity_bytes = config->capacity_bytes,
		.reuse = (enum seam_cache_reuse)config->reuse,
		.deterministic = config->deterministic != 0,
		.verify_streams = config->verify_streams != 0,
	};
	struct seam_store *store = seam__meta_alloc(pool->meta, sizeof *store);
	if (store == NULL)
		return SEAM_OOM_META;
	enum seam_rc rc = seam__caching_init(store, &caching, pool->driver, pool->meta);
	if (rc != SEAM_OK) {
		seam__meta_free(pool->meta, store, sizeof *store);
		return rc;
	}
	pool->plain = store;
	return SEAM_OK;
}

void seam__plain_destroy(struct seam_pool *pool)
{
	uint64_t live = seam__store_fini(pool->plain);
	(void)live; /* live blocks die with the pool */
	seam__meta_free(pool->meta, pool->plain, sizeof *pool->plain);
	pool->plain = NULL;
}

/* A segment may have to be obtained, which no capture allows. */
static enum seam_rc refuse_capture(struct seam_pool *pool, uint64_t stream)
{
	if (pool->config.watch_captures == 0)
		return SEAM_OK;
	enum seam_capture_state state = SEAM_CAPTURE_NONE;
	uint64_t capture_id = 0;
	int cu = seam__drv_stream_capture(pool->driver, stream, &state, &capture_id);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	return state == SEAM_CAPTURE_NONE ? SEAM_OK : SEAM_CAPTURING;
}

/* The block is nobody's but the caller's yet. va: 0 if there is none. */
static void note_alloc(struct seam_pool *pool, const struct seam_request *request, uint64_t va)
{
	struct seam_store *store = pool->plain;
	struct seam_record record = {0};
	seam__mutex_lock(&store->lock);
	if (va != 0) {
		seam__cache_set_serial(&store->cache, va, seam__recording_alloc(pool, &record, request));
	} else {
		seam__oom_note(pool, request, false);
		seam__recording_oom(pool, &record, request);
	}
	seam__mutex_unlock(&store->lock);
	seam__recording_add(pool, &record);
}

static void note_block(struct seam_pool *pool, uint64_t va, enum seam_trace_kind kind, uint64_t stream)
{
	struct seam_store *store = pool->plain;
	struct seam_record record = {0};
	seam__mutex_lock(&store->lock);
	const struct seam_cache_block *block = seam__cache_find(&store->cache, va);
	if (block != NULL)
		seam__recording_block(pool, &record, kind, block->serial, stream);
	seam__mutex_unlock(&store->lock);
	seam__recording_add(pool, &record);
}

enum seam_rc seam__plain_alloc(struct seam_pool *pool, const struct seam_request *request, void **ret_ptr)
{
	struct seam_store *store = pool->plain;
	uint64_t stream = (uint64_t)(uintptr_t)request->stream, va = 0;
	if (request->private_id != 0)
		return SEAM_NOT_FOUND;
	enum seam_rc rc = refuse_capture(pool, stream);
	if (rc == SEAM_OK)
		rc = seam__store_alloc(
			store, request->bytes, stream, request->tag, (request->flags & SEAM_NO_WAIT) != 0, &va);
	if (rc == SEAM_OK)
		*ret_ptr = (void *)(uintptr_t)va;
	if (rc == SEAM_OK || rc == SEAM_OOM_DEVICE)
		note_alloc(pool, request, va);
	return rc;
}

/* Before the block is free, so that whoever is given its memory comes behind. */
enum seam_rc seam__plain_free(struct seam_pool *pool, uint64_t va)
{
	note_block(pool, va, SEAM_TRACE_FREE, 0);
	return seam__store_free(pool->plain, va);
}

enum seam_rc seam__plain_record_stream(struct seam_pool *pool, uint64_t va, uint64_t stream)
{
	enum seam_rc rc = seam__store_record_stream(pool->plain, va, stream);
	if (rc == SEAM_OK)
		note_block(pool, va, SEAM_TRACE_RECORD_STREAM, stream);
	return rc;
}

enum seam_rc seam__plain_usable(struct seam_pool *pool, uint64_t va, uint64_t *ret_bytes)
{
	struct seam_store *store = pool->plain;
	seam__mutex_lock(&store->lock);
	const struct seam_cache_block *block = seam__cache_find(&store->cache, va);
	if (block != NULL)
		*ret_bytes = block->extent.bytes;
	seam__mutex_unlock(&store->lock);
	return block != NULL ? SEAM_OK : SEAM_NOT_FOUND;
}

enum seam_rc seam__plain_segment(struct seam_pool *pool, uint64_t va, struct seam_block_chunk *ret_chunk)
{
	struct seam_store *store = pool->plain;
	seam__mutex_lock(&store->lock);
	const struct seam_cache_block *block = seam__cache_find(&store->cache, va);
	if (block != NULL) {
		const struct seam_segment *segment = block->extent.segment;
		*ret_chunk = (struct seam_block_chunk){
			.va = segment->va,
			.bytes = segment->bytes,
			.first_bytes = va - segment->va,
			.used_bytes = block->extent.bytes,
			.chunk = segment->va / SEAM_BLOCK_BYTES,
		};
	}
	seam__mutex_unlock(&store->lock);
	return block != NULL ? SEAM_OK : SEAM_NOT_FOUND;
}

/* What a walk sums up: free bytes of segments that are wholly free, and of others; of these, what is bound to a stream.
 */
struct sums {
	uint64_t segment_va;
	uint64_t segment_free_bytes, segment_stream_bytes, segment_bytes;
	uint64_t whole_bytes, partial_bytes, largest_bytes;
	uint64_t stream_bytes, stream_whole_bytes;
};

static void end_segment(struct sums *sums)
{
	bool whole = sums->segment_free_bytes == sums->segment_bytes;
	*(whole ? &sums->whole_bytes : &sums->partial_bytes) += sums->segment_free_bytes;
	sums->stream_bytes += sums->segment_stream_bytes;
	sums->stream_whole_bytes += whole ? sums->segment_stream_bytes : 0;
	sums->segment_free_bytes = sums->segment_stream_bytes = 0;
}

static bool add_view(void *user, const struct seam_cache_view *view)
{
	struct sums *sums = user;
	if (view->segment_va != sums->segment_va)
		end_segment(sums);
	sums->segment_va = view->segment_va;
	sums->segment_bytes = view->segment_bytes;
	if (view->state == SEAM_CACHE_FREE || view->state == SEAM_CACHE_LEAVING)
		sums->segment_free_bytes += view->bytes;
	if (view->state == SEAM_CACHE_FREE && view->has_stream)
		sums->segment_stream_bytes += view->bytes;
	if (view->state == SEAM_CACHE_FREE)
		sums->largest_bytes = seam__bits_max(sums->largest_bytes, view->bytes);
	return true;
}

static struct sums sum_up(struct seam_store *store)
{
	struct sums sums = {0};
	seam__cache_walk(&store->cache, add_view, &sums);
	end_segment(&sums);
	return sums;
}

uint64_t seam__plain_largest(struct seam_pool *pool)
{
	return sum_up(pool->plain).largest_bytes;
}

void seam__plain_stats(struct seam_pool *pool, struct seam_stats *stats)
{
	struct seam_cache_stats cache;
	struct sums sums = sum_up(pool->plain);
	seam__cache_get_stats(&pool->plain->cache, &cache);
	stats->live_requested_bytes = cache.requested_bytes;
	stats->live_requested_bytes_peak = cache.requested_peak_bytes;
	stats->live_bytes = cache.live_bytes;
	stats->live_bytes_peak = cache.live_peak_bytes;
	stats->live_blocks = cache.live_blocks;
	stats->live_blocks_peak = cache.live_blocks_peak;
	stats->reserved_bytes = cache.reserved_bytes;
	stats->reserved_bytes_peak = cache.reserved_peak_bytes;
	stats->reserved_small_bytes = cache.small_reserved_bytes;
	stats->unused_partial_bytes = sums.partial_bytes;
	stats->unused_pending_bytes = cache.pending_bytes;
	stats->unused_whole_bytes = sums.whole_bytes;
	stats->unused_stream_bytes = sums.stream_bytes;
	stats->unused_stream_whole_bytes = sums.stream_whole_bytes;
	stats->chunks = cache.segments;
	stats->chunks_peak = cache.segments_peak;
	stats->chunks_made = cache.grows;
	stats->chunks_made_bytes = cache.grown_bytes;
	stats->allocs = cache.allocs;
	stats->frees = cache.frees;
	stats->s1 = cache.hits;
	stats->s2 = cache.splits;
	stats->s3 = cache.gathers;
	stats->s4 = cache.grows;
	stats->s5 = cache.ooms;
	stats->retries = cache.retries;
	stats->cross_stream_reuses = cache.cross_streams;
}

/* A walk that shows every segment as a view with one slot. */
struct show {
	const struct seam_visitor *visitor;
	void *user;
	uint64_t segment_va;
	bool stopped;
};

static int show_segment(struct show *show, const struct seam_cache_view *view)
{
	struct seam_view_info info = {.va = view->segment_va, .bytes = view->segment_bytes, .small = view->small};
	struct seam_slot_info slot = {
		.va = view->segment_va,
		.bytes = view->segment_bytes,
		.chunk = view->segment_va / SEAM_BLOCK_BYTES,
		.owned = true,
	};
	int stop = show->visitor->view != NULL ? show->visitor->view(show->user, &info) : 0;
	if (stop == 0 && show->visitor->slot != NULL)
		stop = show->visitor->slot(show->user, &slot);
	return stop;
}

static bool show_view(void *user, const struct seam_cache_view *view)
{
	static const enum seam_block_state states[] = {
		[SEAM_CACHE_LIVE] = SEAM_BLOCK_LIVE,
		[SEAM_CACHE_PENDING] = SEAM_BLOCK_PENDING,
		[SEAM_CACHE_FREE] = SEAM_BLOCK_FREE,
		[SEAM_CACHE_LEAVING] = SEAM_BLOCK_TRANSIT,
	};
	struct show *show = user;
	int stop = 0;
	if (view->segment_va != show->segment_va)
		stop = show_segment(show, view);
	show->segment_va = view->segment_va;
	struct seam_block_info info = {
		.va = view->va,
		.bytes = view->bytes,
		.requested_bytes = view->requested_bytes,
		.state = states[view->state],
		.stream = view->has_stream ? view->stream : 0,
		.tag = view->tag,
	};
	if (stop == 0 && show->visitor->block != NULL)
		stop = show->visitor->block(show->user, &info);
	show->stopped = stop != 0;
	return stop == 0;
}

enum seam_rc seam__plain_visit(struct seam_pool *pool, const struct seam_visitor *visitor, void *user)
{
	struct show show = {.visitor = visitor, .user = user};
	seam__cache_walk(&pool->plain->cache, show_view, &show);
	return show.stopped ? SEAM_BUSY : SEAM_OK;
}
