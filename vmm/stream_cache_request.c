/* stream_cache_request.c: what a request does when no free block serves it: grow, shrink, wait, give up. See
 * stream_cache.h.
 *
 * A request goes through the attempts below in order, each at most once; after each it first looks for a free block
 * again, since other threads may have freed some while the lock was dropped.
 */
#include <stddef.h>

#include "bits.h"
#include "stream_cache.h"
#include "stream_cache_impl.h"
#include "check.h"

enum attempt {
	SHRINK_IDLE,   /* what is too much beside what was ever held at once */
	GROW_WHOLE,    /* a segment of the usual size */
	GROW_EXACT,    /* a segment just large enough */
	SHRINK_ENOUGH, /* as much as the new segment needs goes back */
	GROW_AFTER_ENOUGH,
	SHRINK_ALL, /* the device may have needed it in one piece */
	GROW_AFTER_ALL,
	WAIT, /* then all pending memory is usable, and what is still unused can go back */
	SHRINK_WAITED,
	GROW_WAITED,
	OTHER_CLASS, /* space among small blocks for a large one, or the reverse */
	GIVE_UP
};

enum trim_attempt { TRIM_SHRINK, TRIM_WAIT, TRIM_SHRINK_WAITED, TRIM_DONE };

static enum seam_rc finish(struct seam_cache_request *request, enum seam_rc rc)
{
	struct seam_cache *cache = request->cache;
	seam__range_unreserve(&cache->range, request->spare_segments, request->spare_extents);
	request->spare_segments = request->spare_extents = 0;
	if (request->stream != NULL) {
		seam__stream_unref(request->stream);
		request->stream = NULL;
		cache->stats.retries += request->retried;
		cache->stats.ooms += rc == cache->config.oom;
	}
	/* BUSY is this interface's own word; a driver that says so is in error. */
	return rc == SEAM_BUSY ? SEAM_DRIVER : rc;
}

static uint64_t exact_segment_bytes(const struct seam_cache_request *request)
{
	return seam__bits_align_up(request->bytes, request->cache->config.round_bytes);
}

static uint64_t usual_segment_bytes(const struct seam_cache_request *request)
{
	const struct seam_cache_config *config = &request->cache->config;
	if (request->small)
		return config->small_segment_bytes;
	return request->bytes < config->exact_bytes ? config->segment_bytes : exact_segment_bytes(request);
}

static uint64_t least_segment_bytes(const struct seam_cache_request *request)
{
	return seam__bits_min(usual_segment_bytes(request), exact_segment_bytes(request));
}

/* Bytes by which the limit would be exceeded; 0: not at all. */
static uint64_t excess(const struct seam_cache *cache, uint64_t bytes)
{
	uint64_t limit = cache->config.limit_bytes;
	uint64_t sum = cache->range.segment_bytes + cache->growing_bytes + bytes;
	return limit == 0 || sum <= limit ? 0 : sum - limit;
}

/* Plans a segment. OK: not possible; BUSY: planned. */
static enum seam_rc plan_grow(struct seam_cache_request *request, uint64_t bytes)
{
	struct seam_cache *cache = request->cache;
	if (excess(cache, bytes) != 0)
		return SEAM_OK;
	if (request->spare_segments == 0) {
		enum seam_rc rc = seam__range_reserve(&cache->range, 1, 1);
		if (rc != SEAM_OK)
			return rc;
		request->spare_segments++;
		request->spare_extents++;
	}
	request->step = SEAM_CACHE_GROW;
	request->segment_bytes = bytes;
	cache->growing_bytes += bytes;
	return SEAM_BUSY;
}

/* Plans to give unused segments of `bytes` or somewhat more back, the lowest first. OK: there are none; BUSY: planned.
 */
static enum seam_rc plan_shrink(struct seam_cache_request *request, uint64_t bytes)
{
	struct seam_cache *cache = request->cache;
	enum seam_rc rc = seam__cache_release_passed(cache, NULL);
	if (rc != SEAM_OK)
		return rc;
	uint64_t found_bytes = 0;
	struct seam_segment *segment = seam__range_first_segment(&cache->range);
	for (; segment != NULL && found_bytes < bytes; segment = seam__range_next_segment(segment)) {
		struct seam_extent *extent = TAILQ_FIRST(&segment->extents);
		if (extent->bytes != segment->bytes || extent->state != SEAM_EXTENT_FREE ||
			seam__cache_block_of(extent)->stream != NULL)
			continue;
		seam__range_pull(&cache->range, extent);
		TAILQ_INSERT_TAIL(&request->leaving, segment, link);
		cache->moving_bytes += segment->bytes;
		found_bytes += segment->bytes;
	}
	if (found_bytes == 0)
		return SEAM_OK;
	request->step = SEAM_CACHE_SHRINK;
	request->retried = true;
	return SEAM_BUSY;
}

/* Plans to wait for the device. OK: that would not help, or is not possible now; BUSY: planned. */
static enum seam_rc plan_wait(struct seam_cache_request *request)
{
	struct seam_streams *streams = request->cache->streams;
	const struct seam_cache *cache = request->cache;
	bool has_unused = cache->range.free_bytes + cache->stats.pending_bytes + cache->moving_bytes != 0;
	if (request->no_wait || !has_unused || seam__streams_all_passed(streams, streams->tick))
		return SEAM_OK;
	enum seam_rc rc = seam__streams_wait_all_begin(streams, &request->wait);
	if (rc != SEAM_OK)
		return rc == SEAM_CAPTURING ? SEAM_OK : rc;
	request->step = SEAM_CACHE_WAIT;
	request->retried = true;
	return SEAM_BUSY;
}

/* Plans to give back what would be idle beyond config.idle_share of the most that was held, this request included. */
static enum seam_rc plan_shrink_idle(struct seam_cache_request *request)
{
	const struct seam_cache *cache = request->cache;
	const struct seam_cache_stats *stats = &cache->stats;
	if (cache->config.idle_share == 0 || request->small)
		return SEAM_OK;
	const uint64_t most_bytes =
		seam__bits_max(cache->held_most_bytes, stats->live_bytes + stats->pending_bytes + request->bytes);
	const uint64_t allowed_bytes = most_bytes + most_bytes / cache->config.idle_share;
	const uint64_t grown_bytes =
		cache->range.segment_bytes + cache->growing_bytes + usual_segment_bytes(request) - cache->moving_bytes;
	return grown_bytes > allowed_bytes ? plan_shrink(request, grown_bytes - allowed_bytes) : SEAM_OK;
}

static enum seam_rc plan_attempt(struct seam_cache_request *request, enum attempt attempt)
{
	uint64_t least_bytes = least_segment_bytes(request);
	uint64_t too_much = excess(request->cache, least_bytes);
	enum seam_rc rc = SEAM_OK;
	switch (attempt) {
	case SHRINK_IDLE:
		return plan_shrink_idle(request);
	case GROW_WHOLE:
		return plan_grow(request, usual_segment_bytes(request));
	case GROW_EXACT:
		return least_bytes < usual_segment_bytes(request) ? plan_grow(request, least_bytes) : SEAM_OK;
	case SHRINK_ENOUGH:
	case SHRINK_ALL:
	case SHRINK_WAITED:
		if (attempt == SHRINK_ENOUGH)
			rc = plan_shrink(request, too_much != 0 ? too_much : least_bytes);
		else
			rc = plan_shrink(request, UINT64_MAX);
		/* Where nothing went back, growing has no better prospects than before. */
		request->attempt += rc == SEAM_OK;
		return rc;
	case WAIT:
		return plan_wait(request);
	case GROW_AFTER_ENOUGH:
	case GROW_AFTER_ALL:
	case GROW_WAITED:
		return plan_grow(request, least_bytes);
	case OTHER_CLASS:
	case GIVE_UP:
		break;
	}
	return request->cache->config.oom;
}

static enum seam_rc advance_alloc(struct seam_cache_request *request)
{
	struct seam_cache_block *block = NULL;
	enum seam_rc rc = seam__cache_search(request, &block);
	if (rc != SEAM_OK || block != NULL)
		return finish(request, rc);
	while (rc == SEAM_OK) {
		if (request->attempt == OTHER_CLASS) {
			request->attempt++;
			request->small = !request->small;
			rc = seam__cache_search(request, &block);
			if (rc != SEAM_OK || block != NULL)
				return finish(request, rc);
		}
		rc = plan_attempt(request, (enum attempt)request->attempt++);
	}
	return request->step != SEAM_CACHE_NOTHING ? SEAM_BUSY : finish(request, rc);
}

static enum seam_rc advance_trim(struct seam_cache_request *request)
{
	struct seam_cache *cache = request->cache;
	while (request->attempt < TRIM_DONE) {
		uint64_t staying_bytes = cache->range.segment_bytes - cache->moving_bytes;
		if (staying_bytes <= request->bytes)
			break;
		unsigned attempt = request->attempt++;
		enum seam_rc rc = attempt == TRIM_WAIT ? plan_wait(request)
						       : plan_shrink(request, staying_bytes - request->bytes);
		if (rc != SEAM_OK)
			return request->step != SEAM_CACHE_NOTHING ? SEAM_BUSY : finish(request, rc);
	}
	return finish(request, SEAM_OK);
}

enum seam_rc seam__cache_alloc(struct seam_cache *cache, uint64_t bytes, struct seam_stream *stream, uint64_t tag,
	bool no_wait, struct seam_cache_request *request)
{
	*request =
		(struct seam_cache_request){.cache = cache, .requested_bytes = bytes, .tag = tag, .no_wait = no_wait};
	TAILQ_INIT(&request->leaving);
	TAILQ_INIT(&request->gone);
	if (bytes == 0)
		return SEAM_INVALID;
	/* So that no sum of sizes below overflows. */
	if (bytes > UINT64_MAX / 8) {
		cache->stats.ooms++;
		return cache->config.oom;
	}
	request->bytes = seam__bits_align_up(bytes, cache->config.granularity_bytes);
	request->small = request->bytes <= cache->config.small_max_bytes;
	enum seam_rc rc = seam__range_reserve(&cache->range, 0, 1);
	if (rc != SEAM_OK)
		return rc;
	request->spare_extents = 1;
	request->stream = stream;
	seam__stream_ref(stream);
	return advance_alloc(request);
}

enum seam_rc seam__cache_trim(
	struct seam_cache *cache, uint64_t target_bytes, bool no_wait, struct seam_cache_request *request)
{
	*request = (struct seam_cache_request){.cache = cache, .bytes = target_bytes, .no_wait = no_wait};
	TAILQ_INIT(&request->leaving);
	TAILQ_INIT(&request->gone);
	return advance_trim(request);
}

static enum seam_rc give_back(struct seam_cache_request *request)
{
	struct seam_cache_source *source = &request->cache->source;
	struct seam_segment *segment;
	while ((segment = TAILQ_FIRST(&request->leaving)) != NULL) {
		enum seam_rc rc = source->segment_free(source->user, segment->va, segment->bytes);
		if (rc != SEAM_OK)
			return rc;
		TAILQ_REMOVE(&request->leaving, segment, link);
		TAILQ_INSERT_TAIL(&request->gone, segment, link);
	}
	return SEAM_OK;
}

void seam__cache_run(struct seam_cache_request *request)
{
	struct seam_cache *cache = request->cache;
	switch (request->step) {
	case SEAM_CACHE_GROW:
		request->rc =
			cache->source.segment_alloc(cache->source.user, request->segment_bytes, &request->segment_va);
		break;
	case SEAM_CACHE_SHRINK:
		request->rc = give_back(request);
		break;
	case SEAM_CACHE_WAIT:
		request->rc = seam__wait_all_run(cache->streams->driver, &request->wait);
		break;
	case SEAM_CACHE_NOTHING:
		break;
	}
}

/* The new segment's block is the request's, whatever others wait for: so that nobody starves. */
static enum seam_rc commit_grow(struct seam_cache_request *request)
{
	struct seam_cache *cache = request->cache;
	cache->growing_bytes -= request->segment_bytes;
	if (request->rc != SEAM_OK)
		return request->rc;
	uint64_t kind = request->small ? SEAM_CACHE_SMALL_SEGMENT : SEAM_CACHE_LARGE_SEGMENT;
	request->spare_segments--;
	request->spare_extents--;
	struct seam_cache_block *block =
		seam__cache_block_of(seam__range_add(&cache->range, request->segment_va, request->segment_bytes, kind));
	block->stream = request->stream;
	seam__stream_ref(block->stream);
	cache->stats.grows++;
	cache->stats.grown_bytes += request->segment_bytes;
	cache->stats.segments_peak = seam__bits_max(cache->stats.segments_peak, cache->range.segment_count);
	cache->stats.small_reserved_bytes += request->small ? request->segment_bytes : 0;
	cache->stats.reserved_peak_bytes = seam__bits_max(cache->stats.reserved_peak_bytes, cache->range.segment_bytes);
	return seam__cache_take(request, block);
}

static void commit_shrink(struct seam_cache_request *request)
{
	struct seam_cache *cache = request->cache;
	struct seam_segment *segment;
	while ((segment = TAILQ_FIRST(&request->gone)) != NULL) {
		TAILQ_REMOVE(&request->gone, segment, link);
		cache->moving_bytes -= segment->bytes;
		cache->stats.shrinks++;
		cache->stats.small_reserved_bytes -= segment->kind == SEAM_CACHE_SMALL_SEGMENT ? segment->bytes : 0;
		request->released_bytes += segment->bytes;
		seam__range_remove(&cache->range, segment);
	}
	while ((segment = TAILQ_FIRST(&request->leaving)) != NULL) {
		TAILQ_REMOVE(&request->leaving, segment, link);
		cache->moving_bytes -= segment->bytes;
		seam__cache_settle(cache, seam__cache_block_of(TAILQ_FIRST(&segment->extents)));
	}
}

enum seam_rc seam__cache_resume(struct seam_cache_request *request)
{
	enum seam_cache_step step = request->step;
	request->step = SEAM_CACHE_NOTHING;
	SEAM_ASSERT(step != SEAM_CACHE_NOTHING);
	if (step == SEAM_CACHE_GROW) {
		enum seam_rc rc = commit_grow(request);
		if (rc != SEAM_OOM_DEVICE && rc != SEAM_OOM_HOST)
			return finish(request, rc);
	} else if (step == SEAM_CACHE_SHRINK) {
		commit_shrink(request);
	} else {
		seam__streams_wait_all_end(request->cache->streams, &request->wait);
	}
	if (step != SEAM_CACHE_GROW && request->rc != SEAM_OK)
		return finish(request, request->rc);
	return request->stream == NULL ? advance_trim(request) : advance_alloc(request);
}
