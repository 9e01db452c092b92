/* pinned.c: see pinned.h. */
#include "pinned.h"

#include "bits.h"
#include "uses.h"

#define SMALL_BYTES (UINT64_C(64) << 10) /* requests up to this lie in chunks of their own, as in pools/host.c */

enum seam_rc seam__pinned_init(struct seam_pinned *pinned, const struct seam_pinned_config *config,
	struct seam_driver *driver, struct seam_meta *meta, const char **ret_why)
{
	/* Stitched before it grows: pinned memory is what there is least of, and a mapping costs less than pinning. */
	const struct seam_policy policy = {
		.small_bytes = SMALL_BYTES,
		.stitching = SEAM_STITCH_GROWTH,
		.deterministic = config->deterministic,
		.verify_streams = config->verify_streams,
	};
	*pinned = (struct seam_pinned){0};
	*ret_why = seam__driver_host_init(&pinned->driver, driver, config->root);
	if (*ret_why != NULL)
		return SEAM_UNSUPPORTED;
	const struct seam_phys_props props = seam__driver_host_props(&pinned->driver);
	enum seam_rc rc = seam__engine_init(&pinned->engine, &pinned->driver.base, meta, &policy, &props);
	if (rc == SEAM_OK) {
		rc = seam__pinned_ahead_init(&pinned->ahead, &pinned->engine);
		if (rc != SEAM_OK)
			seam__engine_fini(&pinned->engine);
	}
	if (rc != SEAM_OK)
		return rc;
	struct seam_memory *memory = &pinned->engine.memory;
	memory->capacity_bytes = config->capacity_bytes != 0 ? config->capacity_bytes : UINT64_MAX;
	memory->mapping_limit = config->mapping_limit;
	memory->address_limit_bytes = config->address_limit_bytes;
	return SEAM_OK;
}

void seam__pinned_fini(struct seam_pinned *pinned)
{
	seam__pinned_ahead_fini(&pinned->ahead);
	if (pinned->engine.memory.chunk_count != 0) {
		int ignored = seam__drv_device_sync(pinned->engine.driver);
		(void)ignored;
	}
	seam__engine_fini(&pinned->engine);
}

/* What the engine calls a device's is the host's here. A full table of mappings keeps memory from being had, too. */
static enum seam_rc of_host(enum seam_rc rc)
{
	return rc == SEAM_OOM_DEVICE || rc == SEAM_OOM_VA || rc == SEAM_MAPPINGS ? SEAM_OOM_HOST : rc;
}

static void count(struct seam_pinned *pinned, uint64_t bytes)
{
	const struct seam_engine_counts *counts = &pinned->engine.counts;
	pinned->alloc_bytes += bytes;
	pinned->held_bytes_peak = seam__bits_max(pinned->held_bytes_peak, counts->live_bytes + counts->pending_bytes);
	pinned->held_blocks_peak =
		seam__bits_max(pinned->held_blocks_peak, counts->live_blocks + counts->pending_blocks);
}

enum seam_rc seam__pinned_alloc(struct seam_pinned *pinned, uint64_t bytes, uint64_t stream, uint64_t *ret_va)
{
	struct seam_engine *engine = &pinned->engine;
	struct seam_block *block = NULL;
	struct seam_ask ask = {
		.group = &engine->common,
		.class = bytes <= engine->policy.small_bytes ? SEAM_CLASS_SMALL : SEAM_CLASS_LARGE,
		.bytes = seam__bits_align_up(bytes, SEAM_BLOCK_BYTES),
		.requested_bytes = bytes,
	};
	const bool counted = seam__pinned_ahead_begin(&pinned->ahead);
	seam__mutex_lock(&engine->lock);
	enum seam_rc rc = seam__engine_stream(engine, stream, &ask.stream);
	if (rc == SEAM_OK)
		rc = of_host(seam__engine_alloc(engine, &ask, &block));
	if (rc == SEAM_OK) {
		*ret_va = block->va;
		count(pinned, block->bytes);
	}
	pinned->ooms += rc == SEAM_OOM_HOST;
	seam__mutex_unlock(&engine->lock);
	seam__pinned_ahead_end(&pinned->ahead, counted);
	return rc;
}

enum seam_rc seam__pinned_free(struct seam_pinned *pinned, uint64_t va)
{
	struct seam_engine *engine = &pinned->engine;
	seam__mutex_lock(&engine->lock);
	struct seam_block *block = seam__engine_find(engine, va);
	if (block != NULL) {
		const struct seam_block_use *uses = block->uses;
		seam__engine_free(engine, block);
		/* Where it fails (a capture, say) the next poll does it. */
		for (; uses != NULL; uses = uses->next) {
			enum seam_rc ignored = seam__stream_cover(uses->stream);
			(void)ignored;
		}
	}
	seam__mutex_unlock(&engine->lock);
	return block != NULL ? SEAM_OK : SEAM_NOT_FOUND;
}

enum seam_rc seam__pinned_record_stream(struct seam_pinned *pinned, uint64_t va, uint64_t stream)
{
	struct seam_engine *engine = &pinned->engine;
	struct seam_stream *other = NULL;
	seam__mutex_lock(&engine->lock);
	struct seam_block *block = seam__engine_find(engine, va);
	enum seam_rc rc = block != NULL ? seam__engine_stream(engine, stream, &other) : SEAM_NOT_FOUND;
	if (rc == SEAM_OK)
		rc = seam__engine_record(engine, block, other);
	seam__mutex_unlock(&engine->lock);
	return rc;
}

static const struct seam_block *find_around(struct seam_engine *engine, uint64_t va)
{
	const struct seam_block *block = seam__engine_find(engine, va);
	uint64_t at = 0;
	if (block != NULL)
		return block;
	while ((block = seam__live_next(&engine->live, &at)) != NULL)
		if (va - block->va < block->bytes)
			return block;
	return NULL;
}

enum seam_rc seam__pinned_range(struct seam_pinned *pinned, uint64_t va, uint64_t *ret_va, uint64_t *ret_bytes)
{
	seam__mutex_lock(&pinned->engine.lock);
	const struct seam_block *block = find_around(&pinned->engine, va);
	if (block != NULL) {
		*ret_va = block->va;
		*ret_bytes = block->bytes;
	}
	seam__mutex_unlock(&pinned->engine.lock);
	return block != NULL ? SEAM_OK : SEAM_NOT_FOUND;
}

static void stop(struct seam_engine *engine)
{
	seam__mutex_lock(&engine->change);
	seam__mutex_lock(&engine->lock);
}

static void go(struct seam_engine *engine)
{
	seam__mutex_unlock(&engine->lock);
	seam__mutex_unlock(&engine->change);
}

/* With both locks. */
static enum seam_rc trim_waiting(struct seam_engine *engine, uint64_t target_bytes, uint64_t *released_bytes)
{
	uint64_t more_bytes = 0;
	seam__engine_poll(engine, false);
	enum seam_rc rc = seam__engine_trim(engine, target_bytes, released_bytes);
	if (rc != SEAM_OK || engine->memory.reserved_bytes <= target_bytes ||
		(engine->counts.pending_blocks == 0 &&
			seam__streams_all_passed(&engine->streams, engine->streams.tick)))
		return rc;
	rc = seam__engine_wait(engine);
	if (rc != SEAM_OK)
		return rc == SEAM_CAPTURING ? SEAM_OK : rc;
	rc = seam__engine_trim(engine, target_bytes, &more_bytes);
	*released_bytes += more_bytes;
	return rc;
}

enum seam_rc seam__pinned_trim(struct seam_pinned *pinned, uint64_t target_bytes, uint64_t *ret_released_bytes)
{
	uint64_t released_bytes = 0;
	seam__pinned_ahead_stop(&pinned->ahead);
	stop(&pinned->engine);
	enum seam_rc rc = trim_waiting(&pinned->engine, target_bytes, &released_bytes);
	go(&pinned->engine);
	if (rc == SEAM_OK)
		*ret_released_bytes = released_bytes;
	return rc;
}

enum seam_rc seam__pinned_prepare(struct seam_pinned *pinned, uint64_t bytes, bool waits)
{
	return of_host(seam__pinned_ahead_aim(&pinned->ahead, bytes, waits || pinned->engine.policy.deterministic));
}

enum seam_rc seam__pinned_stream_destroyed(struct seam_pinned *pinned, uint64_t stream)
{
	seam__mutex_lock(&pinned->engine.lock);
	enum seam_rc rc = seam__stream_destroyed(&pinned->engine.streams, stream);
	seam__mutex_unlock(&pinned->engine.lock);
	return rc;
}

/* False: it is nobody's memory, or is shown where its chunk is. */
static bool show(const struct seam_block *block, struct seam_cache_view *ret_view)
{
	static const enum seam_cache_state states[] = {
		[SEAM_IS_FREE] = SEAM_CACHE_FREE,
		[SEAM_IS_LIVE] = SEAM_CACHE_LIVE,
		[SEAM_IS_PENDING] = SEAM_CACHE_PENDING,
	};
	if (block->is > SEAM_IS_PENDING)
		return false;
	const bool live = block->is == SEAM_IS_LIVE;
	*ret_view = (struct seam_cache_view){
		.segment_va = block->view->va,
		.segment_bytes = block->view->used_bytes,
		.va = block->va,
		.bytes = block->bytes,
		.requested_bytes = live ? block->requested_bytes : 0,
		.tag = live ? block->tag : 0,
		.stream = block->stream != NULL ? block->stream->handle : 0,
		.has_stream = block->stream != NULL,
		.state = states[block->is],
	};
	return true;
}

/* The view that comes next in order of address; NULL: none. O(views): a walk looks at every block anyway. */
static const struct seam_view *view_behind(const struct seam_memory *memory, uint64_t va)
{
	const struct seam_view *view, *next = NULL;
	TAILQ_FOREACH(view, &memory->view_list, all)
	if (view->va > va && (next == NULL || view->va < next->va))
		next = view;
	return next;
}

void seam__pinned_walk(
	struct seam_pinned *pinned, bool (*visit)(void *user, const struct seam_cache_view *view), void *user)
{
	struct seam_cache_view shown;
	bool more = true;
	const bool counted = seam__pinned_ahead_begin(&pinned->ahead);
	stop(&pinned->engine);
	const struct seam_view *view = view_behind(&pinned->engine.memory, 0);
	for (; view != NULL && more; view = view_behind(&pinned->engine.memory, view->va)) {
		const struct seam_block *block;
		TAILQ_FOREACH(block, &view->blocks, link)
		{
			if (!show(block, &shown))
				continue;
			more = visit(user, &shown);
			if (!more)
				break;
		}
	}
	go(&pinned->engine);
	seam__pinned_ahead_end(&pinned->ahead, counted);
}

void seam__pinned_get_stats(struct seam_pinned *pinned, struct seam_cache_stats *ret_stats)
{
	const struct seam_engine *engine = &pinned->engine;
	seam__mutex_lock(&pinned->engine.lock);
	const struct seam_engine_counts *counts = &engine->counts;
	const struct seam_memory *memory = &engine->memory;
	*ret_stats = (struct seam_cache_stats){
		.live_blocks = counts->live_blocks,
		.live_bytes = counts->live_bytes,
		.requested_bytes = counts->live_requested_bytes,
		.pending_blocks = counts->pending_blocks,
		.pending_bytes = counts->pending_bytes,
		.free_bytes = memory->reserved_bytes - counts->live_bytes - counts->pending_bytes,
		.reserved_bytes = memory->reserved_bytes,
		.segments = memory->chunk_count,
		.live_blocks_peak = counts->live_blocks_peak,
		.live_peak_bytes = counts->live_bytes_peak,
		.requested_peak_bytes = counts->live_requested_bytes_peak,
		.reserved_peak_bytes = memory->reserved_peak_bytes,
		.segments_peak = memory->chunk_peak,
		.held_blocks_peak = pinned->held_blocks_peak,
		.held_peak_bytes = pinned->held_bytes_peak,
		.allocs = counts->allocs,
		.frees = counts->frees,
		.alloc_bytes = pinned->alloc_bytes,
		.grows = memory->listed_count,
		.grown_bytes = memory->listed_bytes,
		.shrinks = memory->listed_count - memory->chunk_count,
		.retries = counts->retries,
		.ooms = pinned->ooms,
	};
	seam__mutex_unlock(&pinned->engine.lock);
}

void seam__pinned_reset_peaks(struct seam_pinned *pinned)
{
	seam__mutex_lock(&pinned->engine.lock);
	seam__engine_reset_peaks(&pinned->engine);
	const struct seam_engine_counts *counts = &pinned->engine.counts;
	pinned->held_bytes_peak = counts->live_bytes + counts->pending_bytes;
	pinned->held_blocks_peak = counts->live_blocks + counts->pending_blocks;
	seam__mutex_unlock(&pinned->engine.lock);
}

const char *seam__pinned_check(struct seam_pinned *pinned)
{
	stop(&pinned->engine);
	const char *broken = seam__engine_check(&pinned->engine);
	go(&pinned->engine);
	return broken;
}
