/* stage.c: how stages come and go; see planned.h. */
#include <inttypes.h>
#include <string.h>

#include "check.h"
#include "clock.h"
#include "log.h"
#include "meta.h"
#include "planned_impl.h"

enum seam_rc seam__stage_create(struct seam_pool *pool, struct seam_stage **ret_stage)
{
	struct seam_stage *stage = seam__meta_alloc(pool->meta, sizeof *stage);
	if (stage == NULL)
		return SEAM_OOM_META;
	enum seam_rc rc = seam__matcher_create(pool->meta, &stage->matcher);
	if (rc != SEAM_OK) {
		seam__meta_free(pool->meta, stage, sizeof *stage);
		return rc;
	}
	*ret_stage = stage;
	return SEAM_OK;
}

/* What is not the arena's. */
static void destroy(struct seam_pool *pool, struct seam_stage *stage)
{
	struct seam_meta *meta = pool->meta;
	for (uint32_t i = 0; i < stage->stream_count; i++)
		seam__stream_unref(stage->streams[i]);
	for (uint32_t i = 0; i < stage->held_count; i++)
		seam__uses_clear(&pool->engine, &stage->held[i]->uses);
	seam__meta_free(meta, stage->streams, stage->stream_capacity * sizeof(struct seam_stream *));
	seam__meta_free(meta, stage->joined, stage->stream_capacity * sizeof *stage->joined);
	seam__meta_free(meta, stage->held, stage->held_capacity * sizeof(struct seam_planned *));
	seam__meta_free(meta, stage->busy, stage->busy_count * sizeof *stage->busy);
	seam__matcher_destroy(meta, stage->matcher);
	seam__meta_free(meta, stage, sizeof *stage);
}

/* Closes the arena: chunks without live blocks go back. stage->busy counts those of the others. */
static void retire(struct seam_pool *pool, struct seam_stage *stage)
{
	seam__arena_close(&pool->engine, &stage->arena, stage->busy, stage->streams, stage->stream_count);
	stage->lent_bytes = 0;
}

static void line_up(struct seam_planning *planning, struct seam_stage *stage)
{
	if (planning->open)
		LIST_INSERT_AFTER(seam__stage_open(planning), stage, link);
	else
		LIST_INSERT_HEAD(&planning->stages, stage, link);
}

/* A stage that will not be opened (any more) waits to be finished. */
static void abandon(struct seam_pool *pool, struct seam_stage *stage)
{
	if (stage->arena.state != SEAM_ARENA_CLOSED)
		retire(pool, stage);
	line_up(&pool->planning, stage);
}

void seam__stage_discard(struct seam_pool *pool, struct seam_stage *stage)
{
	struct seam_planning *planning = &pool->planning;
	if (planning->preparing == stage)
		planning->preparing = NULL;
	if (planning->waiting == stage) {
		planning->waiting = NULL;
		seam__script_destroy(pool->meta, planning->waiting_script);
		planning->waiting_script = NULL;
	}
	if (stage->arena.state == SEAM_ARENA_NONE) {
		destroy(pool, stage);
		return;
	}
	abandon(pool, stage);
	seam__planned_sweep(pool);
}

/* Room to count the blocks of every chunk. */
static enum seam_rc reserve_busy(struct seam_pool *pool, struct seam_stage *stage)
{
	uint32_t *busy = seam__meta_array(pool->meta, stage->arena.count, sizeof *busy);
	if (busy == NULL)
		return SEAM_OOM_META;
	seam__meta_free(pool->meta, stage->busy, stage->busy_count * sizeof *stage->busy);
	stage->busy = busy;
	stage->busy_count = stage->arena.count;
	return SEAM_OK;
}

static enum seam_rc block_all(struct seam_stage *stage)
{
	for (uint32_t i = 0; i < stage->arena.count; i++) {
		enum seam_rc rc = seam__stage_block(stage, i);
		if (rc == SEAM_OK)
			continue;
		while (i-- > 0)
			seam__stage_unblock(stage, i);
		return rc;
	}
	return SEAM_OK;
}

enum seam_rc seam__planned_open(struct seam_pool *pool, struct seam_stage *stage, struct seam_script *script, bool from_start)
{
	struct seam_planning *planning = &pool->planning;
	uint64_t start_ns = seam__clock_ns();
	enum seam_rc rc = reserve_busy(pool, stage);
	if (rc == SEAM_OK && planning->open)
		seam__planned_drop(pool);
	if (rc == SEAM_OK)
		rc = seam__arena_open(&pool->engine, &stage->arena);
	if (rc != SEAM_OK)
		return rc;
	rc = block_all(stage);
	if (rc == SEAM_OK)
		rc = seam__matcher_add(stage->matcher, script, true);
	if (rc != SEAM_OK) {
		retire(pool, stage);
		return rc;
	}
	LIST_INSERT_HEAD(&planning->stages, stage, link);
	planning->open = true;
	planning->counts.adoptions++;
	planning->counts.adopt_ns += seam__clock_ns() - start_ns;
	if (from_start)
		seam__matcher_start(stage->matcher);
	seam__log(SEAM_LOG_INFO, "a plan of %" PRIu32 " requests in %" PRIu64 " bytes is in use", seam__script_slots(script),
	          stage->arena.bytes);
	return SEAM_OK;
}

enum seam_rc seam__planned_grown(struct seam_pool *pool)
{
	struct seam_stage *stage = seam__stage_open(&pool->planning);
	uint32_t before = stage->busy_count;
	enum seam_rc rc = reserve_busy(pool, stage);
	for (uint32_t i = before; i < stage->arena.count && rc == SEAM_OK; i++)
		rc = seam__stage_block(stage, i); /* nothing of it is leased yet */
	if (rc != SEAM_OK) {
		seam__planned_drop(pool);
		return rc;
	}
	(void)seam__stage_collect(pool, stage, before, stage->arena.count - before);
	return pool->planning.open ? SEAM_OK : SEAM_OOM_META;
}

static void count_busy(void *user, struct seam_planned *planned)
{
	struct seam_stage *stage = user;
	uint32_t first = seam__arena_chunk_at(&stage->arena, planned->offset);
	uint32_t last = seam__arena_chunk_at(&stage->arena, planned->offset + planned->bytes - 1);
	for (uint32_t i = first; i <= last; i++)
		stage->busy[i]++;
}

static void keep_counts(struct seam_planning *planning, const struct seam_stage *stage)
{
	struct seam_match_counts counts;
	seam__matcher_get_counts(stage->matcher, &counts);
	planning->counts.resyncs += counts.resyncs;
	planning->counts.switches += counts.switches;
	planning->counts.dynamic_hits += counts.dynamic_hits;
}

void seam__planned_drop(struct seam_pool *pool)
{
	struct seam_planning *planning = &pool->planning;
	if (!planning->open)
		return;
	struct seam_stage *stage = seam__stage_open(planning);
	memset(stage->busy, 0, stage->busy_count * sizeof *stage->busy);
	seam__matcher_each(stage->matcher, count_busy, stage);
	keep_counts(planning, stage);
	planning->open = false;
	planning->counts.drops++;
	retire(pool, stage);
}

void seam__planned_sweep(struct seam_pool *pool)
{
	struct seam_planning *planning = &pool->planning;
	struct seam_stage *stage, *next;
	LIST_FOREACH_SAFE(stage, &planning->stages, link, next) {
		struct seam_match_counts counts;
		seam__matcher_get_counts(stage->matcher, &counts);
		if (stage->arena.state != SEAM_ARENA_CLOSED || counts.live != 0 || stage->held_count != 0)
			continue;
		/* Nobody finds a block in it any more; it leaves the list before the lock is dropped. */
		LIST_REMOVE(stage, link);
		if (seam__arena_finish(&pool->engine, &stage->arena) == SEAM_OK) {
			destroy(pool, stage);
		} else {
			line_up(planning, stage);
		}
		return; /* the list may have changed meanwhile: the rest waits for the next sweep */
	}
}

void seam__planned_try_open(struct seam_pool *pool, bool at_step)
{
	struct seam_planning *planning = &pool->planning;
	const struct seam_engine_counts *counts = &pool->engine.counts;
	if (planning->waiting == NULL)
		return;
	bool late = counts->allocs >= planning->open_by_allocs;
	if (counts->live_requested_bytes > planning->open_below_bytes && !late)
		return;
	struct seam_stage *stage = planning->waiting;
	struct seam_script *script = planning->waiting_script;
	planning->waiting = NULL;
	planning->waiting_script = NULL;
	if (seam__planned_open(pool, stage, script, at_step && planning->open_at_step) == SEAM_OK)
		return;
	seam__script_destroy(pool->meta, script);
	abandon(pool, stage);
}

void seam__planned_step(struct seam_pool *pool)
{
	struct seam_planning *planning = &pool->planning;
	seam__planned_try_open(pool, true);
	if (planning->open)
		seam__matcher_step(seam__stage_open(planning)->matcher);
}

/* Called before the engine is taken down: streams and uses are its own. */
void seam__planned_fini(struct seam_pool *pool)
{
	struct seam_planning *planning = &pool->planning;
	if (planning->waiting != NULL) {
		seam__script_destroy(pool->meta, planning->waiting_script);
		seam__arena_fini(&pool->engine, &planning->waiting->arena);
		destroy(pool, planning->waiting);
		planning->waiting = NULL;
	}
	struct seam_stage *stage;
	while ((stage = LIST_FIRST(&planning->stages)) != NULL) {
		LIST_REMOVE(stage, link);
		seam__arena_fini(&pool->engine, &stage->arena);
		destroy(pool, stage);
	}
	planning->open = false;
}

const char *seam__planned_check(struct seam_pool *pool)
{
	struct seam_planning *planning = &pool->planning;
	const struct seam_engine_counts *engine_counts = &pool->engine.counts;
	uint64_t blocks = 0, bytes = 0;
	struct seam_stage *stage;
	LIST_FOREACH(stage, &planning->stages, link) {
		bool first = stage == LIST_FIRST(&planning->stages);
		if ((stage->arena.state == SEAM_ARENA_OPEN) != (first && planning->open))
			return "Q1: a stage is open that is not the first, or the first is not";
		const char *broken = seam__arena_check(&pool->engine, &stage->arena);
		if (broken == NULL)
			broken = seam__matcher_check(stage->matcher);
		if (broken != NULL)
			return broken;
		struct seam_match_counts counts;
		seam__matcher_get_counts(stage->matcher, &counts);
		blocks += counts.live - stage->held_count;
		bytes += counts.live_bytes;
		for (uint32_t i = 0; i < stage->held_count; i++)
			bytes -= stage->held[i]->bytes;
	}
	if (blocks != engine_counts->planned_blocks || bytes != engine_counts->planned_bytes)
		return "Q3: the account of planned blocks";
	return NULL;
}
