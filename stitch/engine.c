/* engine.c: the engine's life, frees, pending blocks, waiting and checks; see engine.h. Allocation is in bestfit.c,
 * groups in group.c. */
#include "engine.h"

#include "bits.h"
#include "change.h"
#include "check.h"
#include "meta.h"
#include "uses.h"

enum seam_rc seam__engine_init(struct seam_engine *engine, struct seam_driver *driver, struct seam_meta *meta,
	const struct seam_policy *policy, const struct seam_phys_props *props)
{
	*engine = (struct seam_engine){.meta = meta, .driver = driver, .policy = *policy};
	enum seam_rc rc = seam__memory_init(&engine->memory, driver, meta, props);
	if (rc != SEAM_OK)
		return rc;
	const bool on_host = props->where.kind != SEAM_AT_DEVICE;
	rc = seam__mutex_init(&engine->change, "change", on_host ? SEAM_RANK_HOST_CHANGE : SEAM_RANK_CHANGE);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__mutex_init(&engine->lock, "pool", on_host ? SEAM_RANK_HOST : SEAM_RANK_DEVICE);
	if (rc != SEAM_OK) {
		seam__mutex_fini(&engine->change);
		return rc;
	}
	seam__streams_init(&engine->streams, driver, meta, policy->deterministic);
	engine->streams.allows_none = on_host;
	seam__slab_init(&engine->block_slab, meta, sizeof(struct seam_block));
	seam__slab_init(&engine->use_slab, meta, sizeof(struct seam_block_use));
	LIST_INIT(&engine->groups);
	TAILQ_INIT(&engine->pending);
	seam__group_init(engine, &engine->common, 0);
	return SEAM_OK;
}

void seam__engine_fini(struct seam_engine *engine)
{
	seam__live_fini(&engine->live, engine->meta);
	struct seam_view *view;
	TAILQ_FOREACH(view, &engine->memory.view_list, all)
	{
		struct seam_block *block;
		while ((block = TAILQ_FIRST(&view->blocks)) != NULL) {
			if (block->is == SEAM_IS_LIVE || block->is == SEAM_IS_PENDING)
				seam__uses_clear(engine, &block->uses);
			seam__block_remove(&engine->block_slab, block);
		}
		if (!view->arena)
			TAILQ_REMOVE(view->stitched ? &view->ppool->spool : &view->ppool->homes, view, link);
	}
	seam__memory_fini(&engine->memory);
	struct seam_group *group;
	while ((group = LIST_FIRST(&engine->groups)) != NULL) {
		LIST_REMOVE(group, link);
		seam__group_fini(engine, group);
		seam__meta_free(engine->meta, group, sizeof *group);
	}
	seam__group_fini(engine, &engine->common);
	uint64_t lost = seam__streams_fini(&engine->streams) + seam__slab_fini(&engine->block_slab) +
		seam__slab_fini(&engine->use_slab);
	SEAM_VERIFY(lost == 0);
	seam__mutex_fini(&engine->lock);
	seam__mutex_fini(&engine->change);
}

struct seam_block *seam__engine_find(struct seam_engine *engine, uint64_t va)
{
	return seam__live_at(&engine->live, va);
}

enum seam_rc seam__make_live(struct seam_engine *engine, const struct seam_ask *ask, struct seam_block *block)
{
	struct seam_view *view = block->view;
	enum seam_rc rc = seam__live_reserve(&engine->live, engine->meta, 1);
	if (__builtin_expect(rc != SEAM_OK, 0)) {
		struct seam_stream *stream = block->stream != NULL ? block->stream : ask->stream;
		block = seam__ppool_put(block, stream, seam__stream_stamp(stream));
		if (view->stitched)
			seam__ppool_settle(block);
		return rc;
	}
	seam__live_insert(&engine->live, block->va, block);
	block->is = SEAM_IS_LIVE;
	seam__block_set_stream(block, ask->stream);
	block->requested_bytes = ask->requested_bytes;
	block->tag = ask->tag;
	block->uses = NULL;
	block->captured = ask->capturing;
	view->live++;
	/* In the common memory the block itself is kept for good, and with it what it lies in. */
	if (ask->group->private_id != 0)
		seam__group_note(ask->group, view, ask->capturing);
	struct seam_engine_counts *counts = &engine->counts;
	counts->allocs++;
	counts->live_requested_bytes += ask->requested_bytes;
	counts->live_requested_bytes_peak =
		seam__bits_max(counts->live_requested_bytes_peak, counts->live_requested_bytes);
	counts->live_bytes += block->bytes;
	counts->live_bytes_peak = seam__bits_max(counts->live_bytes_peak, counts->live_bytes);
	counts->live_blocks++;
	counts->live_blocks_peak = seam__bits_max(counts->live_blocks_peak, counts->live_blocks);
	return SEAM_OK;
}

/* The block, in no list but its view's, was freed on its own stream at `stamp`. */
static void set_free(struct seam_block *block, uint64_t stamp)
{
	struct seam_view *view = block->view;
	view->live--;
	/* Stamps do not only rise: those of a destroyed stream stand still. */
	view->last_tick = seam__bits_max(view->last_tick, stamp);
	block = seam__ppool_put(block, block->stream, stamp);
	if (view->stitched)
		seam__ppool_settle(block);
}

/* The block, of the table of live ones, is live no longer. */
static void end_life(struct seam_engine *engine, struct seam_block *block)
{
	seam__live_remove(&engine->live, block->va);
	struct seam_engine_counts *counts = &engine->counts;
	counts->frees++;
	counts->live_requested_bytes -= block->requested_bytes;
	counts->live_bytes -= block->bytes;
	counts->live_blocks--;
}

void seam__engine_free(struct seam_engine *engine, struct seam_block *block)
{
	end_life(engine, block);
	if (block->uses == NULL && !(block->captured && block->view->ppool->private_id == 0)) {
		set_free(block, seam__stream_stamp(block->stream));
		return;
	}
	seam__uses_stamp(block->uses);
	block->is = SEAM_IS_PENDING;
	block->stamp = seam__stream_stamp(block->stream);
	engine->counts.pending_bytes += block->bytes;
	engine->counts.pending_blocks++;
	TAILQ_INSERT_TAIL(&engine->pending, block, pending);
}

void seam__engine_free_passed(struct seam_engine *engine, struct seam_block *block)
{
	end_life(engine, block);
	set_free(block, 0);
}

enum seam_rc seam__engine_record(struct seam_engine *engine, struct seam_block *block, struct seam_stream *stream)
{
	if (stream == block->stream)
		return SEAM_OK;
	return seam__uses_add(engine, &block->uses, stream);
}

enum seam_rc seam__engine_find_stream(struct seam_engine *engine, uint64_t handle, struct seam_stream **ret_stream)
{
	struct seam_stream *stream = NULL;
	enum seam_rc rc = seam__streams_find(&engine->streams, handle, engine->policy.verify_streams, &stream);
	if (rc != SEAM_OK)
		return rc;
	if (stream->index >= engine->common.classes[0].stream_capacity) {
		/* Private pools first: the common memory's capacity then says that all have the room. */
		struct seam_group *group;
		LIST_FOREACH(group, &engine->groups, link)
		{
			rc = seam__group_reserve_streams(engine, group, stream->index + 1);
			if (rc != SEAM_OK)
				return rc;
		}
		for (int i = SEAM_CLASS_COUNT; i-- > 0;) {
			rc = seam__ppool_reserve_streams(&engine->common.classes[i], engine->meta, stream->index + 1);
			if (rc != SEAM_OK)
				return rc;
		}
	}
	*ret_stream = stream;
	return SEAM_OK;
}

/* Whether it waits for a capture's end rather than for streams. */
static bool is_kept(const struct seam_block *block)
{
	return block->captured && block->view->ppool->private_id == 0;
}

static bool uses_passed(const struct seam_block *block)
{
	return !is_kept(block) && seam__uses_passed(block->uses);
}

/* The pending block is free: what it waited for has passed. */
static void release(struct seam_engine *engine, struct seam_block *block)
{
	TAILQ_REMOVE(&engine->pending, block, pending);
	engine->counts.pending_bytes -= block->bytes;
	engine->counts.pending_blocks--;
	seam__uses_clear(engine, &block->uses);
	set_free(block, block->stamp);
}

bool seam__engine_look(struct seam_engine *engine, const struct seam_ask *ask)
{
	const struct seam_ppool *ppool = &ask->group->classes[ask->class];
	struct seam_block *block;
	uint32_t looks = 0;
	if (ask->capturing)
		return false;
	TAILQ_FOREACH(block, &engine->pending, pending)
	{
		if (looks++ == SEAM_PENDING_LOOKS)
			return false;
		if (block->bytes == ask->bytes && block->stream == ask->stream && block->view->ppool == ppool &&
			!is_kept(block) && !(ask->no_stitch && block->view->stitched))
			break;
	}
	if (block == NULL)
		return false;
	seam__uses_poll(block->uses);
	const bool passed = uses_passed(block);
	if (passed)
		release(engine, block);
	return passed;
}

static uint64_t collect_group(struct seam_group *group, struct seam_stream *stream)
{
	uint64_t bytes = 0;
	for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
		struct seam_ppool *ppool = &group->classes[i];
		if (stream->index >= ppool->stream_capacity)
			continue;
		struct seam_fit *fit = &ppool->of_stream[stream->index];
		if (fit->count == 0 || fit->collected == stream->passed)
			continue;
		bytes += seam__ppool_collect(ppool, stream);
		fit->collected = stream->passed;
	}
	return bytes;
}

uint64_t seam__engine_poll(struct seam_engine *engine, bool quick)
{
	if (!quick) {
		/* What cannot be asked now (a capture, a stream that is gone) is not usable now: that is all the error
		 * would tell. */
		enum seam_rc ignored = seam__streams_poll_all(&engine->streams, NULL);
		(void)ignored;
	}
	uint64_t bytes = 0;
	struct seam_block *block, *next;
	TAILQ_FOREACH_SAFE(block, &engine->pending, pending, next)
	{
		if (!uses_passed(block))
			continue;
		bytes += block->bytes;
		release(engine, block);
	}
	struct seam_stream *stream, *next_stream;
	TAILQ_FOREACH_SAFE(stream, &engine->streams.list, by_index, next_stream)
	{
		seam__stream_ref(stream); /* a dead one may go with its last block */
		bytes += collect_group(&engine->common, stream);
		struct seam_group *group;
		LIST_FOREACH(group, &engine->groups, link)
		bytes += collect_group(group, stream);
		next_stream = TAILQ_NEXT(stream, by_index);
		seam__stream_unref(stream);
	}
	return bytes;
}

enum seam_rc seam__engine_wait(struct seam_engine *engine)
{
	struct seam_wait_all wait;
	enum seam_rc rc = seam__streams_wait_all_begin(&engine->streams, &wait);
	if (rc != SEAM_OK)
		return rc;
	seam__mutex_unlock(&engine->lock);
	rc = seam__wait_all_run(engine->driver, &wait);
	seam__mutex_lock(&engine->lock);
	seam__streams_wait_all_end(&engine->streams, &wait);
	seam__engine_poll(engine, true);
	return rc;
}

void seam__engine_reset_peaks(struct seam_engine *engine)
{
	struct seam_engine_counts *counts = &engine->counts;
	counts->live_requested_bytes_peak = counts->live_requested_bytes;
	counts->live_bytes_peak = counts->live_bytes;
	counts->live_blocks_peak = counts->live_blocks;
	engine->memory.reserved_peak_bytes = engine->memory.reserved_bytes;
	engine->memory.mapping_peak = engine->memory.mapping_count;
	engine->memory.chunk_peak = engine->memory.chunk_count;
}

static const char *check_group(struct seam_group *group)
{
	for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
		const char *broken = seam__ppool_check(&group->classes[i]);
		if (broken != NULL)
			return broken;
	}
	return NULL;
}

static const char *check_live(struct seam_engine *engine)
{
	uint64_t blocks = 0, bytes = 0, requested = 0;
	const char *broken = seam__live_check(&engine->live);
	if (broken != NULL)
		return broken;
	uint64_t at = 0;
	struct seam_block *live;
	while ((live = seam__live_next(&engine->live, &at)) != NULL) {
		if (live->is != SEAM_IS_LIVE || seam__live_at(&engine->live, live->va) != live)
			return "EN1: a block in the live table is not live, or not at its address";
		blocks++;
		bytes += live->bytes;
		requested += live->requested_bytes;
	}
	const struct seam_engine_counts *counts = &engine->counts;
	if (blocks != counts->live_blocks - counts->planned_blocks ||
		bytes != counts->live_bytes - counts->planned_bytes ||
		requested != counts->live_requested_bytes - counts->planned_requested_bytes)
		return "EN1: the account of live blocks";
	uint64_t pending = 0, pending_blocks = 0;
	const struct seam_block *block;
	TAILQ_FOREACH(block, &engine->pending, pending)
	{
		pending += block->bytes;
		pending_blocks++;
	}
	return pending == counts->pending_bytes - counts->planned_pending_bytes &&
			pending_blocks == counts->pending_blocks
		? NULL
		: "EN2: the account of pending blocks";
}

/* LEASED blocks exist in the common memory only. */
static const char *check_leased(const struct seam_engine *engine)
{
	uint64_t bytes = 0;
	const struct seam_view *view;
	TAILQ_FOREACH(view, &engine->memory.view_list, all)
	{
		const struct seam_block *block;
		TAILQ_FOREACH(block, &view->blocks, link)
		{
			if (block->is != SEAM_IS_LEASED)
				continue;
			if (view->ppool->private_id != 0 || view->arena || !block->lessee->arena)
				return "EN3: a LEASED block is not of the common memory, or is no arena's";
			bytes += block->bytes;
		}
	}
	return bytes == engine->counts.leased_bytes ? NULL : "EN3: the account of leased bytes";
}

const char *seam__engine_check(struct seam_engine *engine)
{
	const char *broken = seam__memory_check(&engine->memory);
	if (broken == NULL)
		broken = check_group(&engine->common);
	struct seam_group *group;
	LIST_FOREACH(group, &engine->groups, link)
	{
		if (broken == NULL)
			broken = check_group(group);
	}
	if (broken == NULL)
		broken = check_live(engine);
	if (broken == NULL)
		broken = check_leased(engine);
	if (broken == NULL)
		broken = seam__slab_check(&engine->block_slab);
	return broken != NULL ? broken : seam__streams_check(&engine->streams);
}
