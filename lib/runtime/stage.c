/* stage.c: how stages come and go; see planned.h. */
#include <inttypes.h>
#include <string.h>

#include "bits.h"
#include "check.h"
#include "log.h"
#include "meta.h"
#include "planned_impl.h"

#define SETTLING_SHARE 512u /* of what the pool needs: so much more, and it has as much as the plan needs */

#define DEAF_SHARE                                                                                                 \
	64u /* with fewer residents to come than one part in so many of the arena, a plan that is given listens at \
	       once */
#define DEAF_PERIODS 4u

enum seam_rc seam__stage_create(struct seam_runtime *runtime, struct seam_stage **ret_stage)
{
	struct seam_stage *stage = seam__meta_alloc(runtime->meta, sizeof *stage);
	if (stage == NULL)
		return SEAM_OOM_META;
	enum seam_rc rc = seam__matcher_create(runtime->meta, &stage->matcher);
	if (rc != SEAM_OK) {
		seam__meta_free(runtime->meta, stage, sizeof *stage);
		return rc;
	}
	*ret_stage = stage;
	return SEAM_OK;
}

static void clear_uses(void *user, struct seam_planned *planned)
{
	struct seam_runtime *runtime = user;
	seam__uses_clear(runtime->engine, &planned->uses);
}

/* What is not the arena's. Blocks that are live or held die with the pool. */
static void destroy(struct seam_runtime *runtime, struct seam_stage *stage)
{
	struct seam_meta *meta = runtime->meta;
	seam__stage_forget_users(runtime, stage);
	seam__matcher_each(stage->matcher, clear_uses, runtime);
	seam__meta_free(meta, stage->held, stage->held_capacity * sizeof(struct seam_planned *));
	seam__meta_free(meta, stage->busy, stage->busy_count * sizeof *stage->busy);
	seam__matcher_destroy(meta, stage->matcher);
	seam__meta_free(meta, stage, sizeof *stage);
}

/* Closes the arena: chunks without live blocks go back. stage->busy counts those of the others. */
static void retire(struct seam_runtime *runtime, struct seam_stage *stage)
{
	seam__arena_close(runtime->engine, &stage->arena, stage->busy, stage->streams, stage->stream_count);
	stage->lent_bytes = 0;
}

static void line_up(struct seam_runtime *runtime, struct seam_stage *stage)
{
	if (runtime->open)
		LIST_INSERT_AFTER(seam__stage_open(runtime), stage, link);
	else
		LIST_INSERT_HEAD(&runtime->stages, stage, link);
}

void seam__stage_abandon(struct seam_runtime *runtime, struct seam_stage *stage)
{
	if (stage->arena.state != SEAM_ARENA_CLOSED)
		retire(runtime, stage);
	line_up(runtime, stage);
}

void seam__stage_discard(struct seam_runtime *runtime, struct seam_stage *stage)
{
	if (runtime->preparing == stage)
		runtime->preparing = NULL;
	if (runtime->waiting == stage) {
		runtime->waiting = NULL;
		seam__script_destroy(runtime->meta, runtime->waiting_script);
		runtime->waiting_script = NULL;
	}
	if (stage->arena.state == SEAM_ARENA_NONE) {
		destroy(runtime, stage);
		return;
	}
	seam__stage_abandon(runtime, stage);
	seam__planned_sweep(runtime, SEAM_SWEEP_ALL);
}

enum seam_rc seam__stage_prepare_fresh(struct seam_runtime *runtime, uint64_t bytes, struct seam_stage **ret_stage)
{
	struct seam_stage *stage = NULL;
	enum seam_rc rc = seam__stage_create(runtime, &stage);
	if (rc != SEAM_OK)
		return rc;
	bytes = (bytes + runtime->engine->memory.granularity_bytes - 1) / runtime->engine->memory.granularity_bytes *
		runtime->engine->memory.granularity_bytes;
	rc = seam__arena_begin(runtime->engine, NULL, 0, bytes, 0, 2 * bytes, &stage->arena);
	if (rc == SEAM_OK) {
		runtime->preparing = stage;
		rc = seam__arena_prepare(runtime->engine, &stage->arena, UINT32_MAX);
		if (runtime->preparing != stage)
			return SEAM_OOM_DEVICE; /* memory was short meanwhile: it is gone */
		runtime->preparing = NULL;
	}
	if (rc != SEAM_OK) {
		seam__stage_discard(runtime, stage);
		return rc;
	}
	*ret_stage = stage;
	return SEAM_OK;
}

/* Room to count the blocks of so many chunks. */
static enum seam_rc reserve_busy(struct seam_runtime *runtime, struct seam_stage *stage, uint32_t count)
{
	if (count <= stage->busy_count)
		return SEAM_OK;
	uint32_t *busy = seam__meta_array(runtime->meta, count, sizeof *busy);
	if (busy == NULL)
		return SEAM_OOM_META;
	seam__meta_free(runtime->meta, stage->busy, stage->busy_count * sizeof *stage->busy);
	stage->busy = busy;
	stage->busy_count = count;
	return SEAM_OK;
}

static void number_chunks(struct seam_stage *stage, uint32_t first)
{
	for (uint32_t i = first; i < stage->arena.count; i++)
		stage->arena.chunks[i].chunk->kept_at = i;
}

void seam__stage_begin_settling(const struct seam_runtime *runtime, struct seam_stage *stage, uint64_t slots)
{
	const uint64_t needed_bytes = runtime->engine->memory.reserved_bytes + stage->beside_bytes;
	stage->long_positions = seam__bits_max(1, slots);
	stage->settle_bytes = needed_bytes + needed_bytes / SETTLING_SHARE;
}

enum seam_rc seam__planned_add(struct seam_runtime *runtime, struct seam_script *script, bool now)
{
	struct seam_stage *stage = seam__stage_open(runtime);
	SEAM_ASSERT(seam__script_bytes(script) <= seam__stage_usable_bytes(stage));
	enum seam_rc rc = seam__matcher_add(stage->matcher, script, now);
	if (rc != SEAM_OK)
		return rc;
	stage->long_positions = seam__bits_max(stage->long_positions, seam__script_slots(script));
	seam__stage_judge_anew(runtime, stage);
	runtime->counts.adoptions++;
	return SEAM_OK;
}

enum seam_rc seam__planned_open(
	struct seam_runtime *runtime, struct seam_stage *stage, struct seam_script *script, bool from_start)
{
	enum seam_rc rc = reserve_busy(runtime, stage, stage->arena.count);
	if (rc == SEAM_OK && runtime->open)
		seam__planned_drop(runtime);
	if (rc == SEAM_OK)
		rc = seam__arena_open(runtime->engine, &stage->arena);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__stage_block_from(stage, 0);
	seam__matcher_set_bytes(stage->matcher, stage->arena.bytes);
	if (rc == SEAM_OK)
		rc = seam__matcher_add(stage->matcher, script, true);
	SEAM_ASSERT(seam__script_bytes(script) <= stage->arena.bytes);
	if (rc != SEAM_OK) {
		retire(runtime, stage);
		return rc;
	}
	number_chunks(stage, 0);
	LIST_INSERT_HEAD(&runtime->stages, stage, link);
	stage->usable = stage->arena.count;
	runtime->open = true;
	seam__stage_begin_settling(runtime, stage, seam__script_slots(script));
	seam__stage_judge_anew(runtime, stage);
	runtime->opened_requests = runtime->counts.requests;
	runtime->opened_misses = runtime->counts.requests - runtime->counts.hits;
	runtime->opened_displaced = seam__planned_displaced(&runtime->counts);
	runtime->opened_strange = seam__planned_strange(&runtime->counts);
	runtime->counts.adoptions++;
	if (from_start)
		seam__matcher_start(stage->matcher);
	seam__log(SEAM_LOG_INFO, "a plan of %" PRIu32 " requests in %" PRIu64 " bytes is in use",
		seam__script_slots(script), stage->arena.bytes);
	return SEAM_OK;
}

void seam__stage_expect(const struct seam_runtime *runtime, struct seam_stage *stage, uint64_t bytes, uint64_t slots)
{
	const uint64_t requests = runtime->counts.requests;
	stage->beside_bytes = seam__bits_align_up(bytes, runtime->engine->memory.granularity_bytes);
	stage->deaf = bytes >= stage->arena.bytes / DEAF_SHARE;
	stage->building = stage->deaf;
	stage->there_from = requests;
	stage->deaf_until = requests + DEAF_PERIODS * slots;
	stage->built_from = UINT64_MAX;
}

enum seam_rc seam__stage_shut(struct seam_runtime *runtime, struct seam_stage *stage,
	void (*count)(void *user, struct seam_stage *stage), void *user)
{
	enum seam_rc rc = reserve_busy(runtime, stage, stage->arena.count);
	if (rc == SEAM_OK)
		rc = seam__arena_open(runtime->engine, &stage->arena);
	if (rc != SEAM_OK)
		return rc;
	if (stage->arena.leased_bytes != stage->arena.bytes || stage->arena.join_count != 0)
		return SEAM_BUSY; /* while it was prepared what was free in its chunks was anybody's */
	count(user, stage);
	seam__stage_abandon(runtime, stage);
	return SEAM_OK;
}

enum seam_rc seam__planned_extend(
	struct seam_runtime *runtime, const uint64_t *numbers, uint32_t count, uint64_t fresh_bytes)
{
	struct seam_stage *stage = seam__stage_open(runtime);
	uint32_t before = stage->arena.count;
	uint64_t most_fresh = fresh_bytes / runtime->engine->memory.granularity_bytes;
	if (most_fresh > UINT32_MAX / 2)
		return SEAM_OOM_DEVICE;
	/* Before: whoever closes the arena from here on counts the blocks of all its chunks. */
	enum seam_rc rc = reserve_busy(runtime, stage, before + count + (uint32_t)most_fresh + 1);
	if (rc == SEAM_OK)
		rc = seam__arena_extend(runtime->engine, &stage->arena, numbers, count, fresh_bytes, 0);
	if (rc != SEAM_OK)
		return rc;
	if (!stage->suspended)
		rc = seam__stage_block_from(stage, before);
	if (rc != SEAM_OK)
		seam__planned_drop(runtime);
	return rc;
}

enum seam_rc seam__planned_grown(struct seam_runtime *runtime)
{
	struct seam_stage *stage = seam__stage_open(runtime);
	uint32_t before = stage->usable;
	stage->usable = stage->arena.count;
	number_chunks(stage, before);
	if (!stage->suspended)
		(void)seam__stage_collect(runtime, stage, before, stage->arena.count - before);
	seam__matcher_set_bytes(stage->matcher, stage->arena.bytes);
	return runtime->open ? SEAM_OK : SEAM_OOM_META;
}

static void count_busy(void *user, struct seam_planned *planned)
{
	struct seam_stage *stage = user;
	uint32_t first = seam__arena_chunk_at(&stage->arena, planned->offset);
	uint32_t last = seam__arena_chunk_at(&stage->arena, planned->offset + planned->bytes - 1);
	for (uint32_t i = first; i <= last; i++)
		stage->busy[i]++;
}

static void keep_counts(struct seam_runtime *runtime, const struct seam_stage *stage)
{
	struct seam_match_counts counts;
	seam__matcher_get_counts(stage->matcher, &counts);
	runtime->counts.resyncs += counts.resyncs;
	runtime->counts.switches += counts.switches;
	runtime->counts.dynamic_hits += counts.dynamic_hits;
}

void seam__planned_drop(struct seam_runtime *runtime)
{
	if (!runtime->open)
		return;
	struct seam_stage *stage = seam__stage_open(runtime);
	memset(stage->busy, 0, stage->busy_count * sizeof *stage->busy);
	seam__matcher_each(stage->matcher, count_busy, stage);
	keep_counts(runtime, stage);
	runtime->open = false;
	stage->suspended = false;
	runtime->counts.drops++;
	seam__prelude_end(runtime);
	retire(runtime, stage);
	seam__stage_give_parts(runtime, stage);
}

/* Finishes the first that can be, and takes what that unmaps from *mappings. False: there is none, or none is left. */
static bool finish_one(struct seam_runtime *runtime, uint32_t *mappings)
{
	struct seam_stage *stage, *next;
	LIST_FOREACH_SAFE(stage, &runtime->stages, link, next)
	{
		struct seam_match_counts counts;
		seam__matcher_get_counts(stage->matcher, &counts);
		if (stage->arena.state != SEAM_ARENA_CLOSED || counts.live != 0 || stage->held_count != 0 ||
			stage == runtime->prelude.stage)
			continue;
		/* Nobody finds a block in it any more; it leaves the list before the lock is dropped. */
		LIST_REMOVE(stage, link);
		uint32_t mapped = stage->arena.mapped;
		enum seam_rc rc = seam__arena_finish(runtime->engine, &stage->arena, *mappings);
		*mappings -= (uint32_t)seam__bits_min(*mappings, mapped - stage->arena.mapped);
		if (rc == SEAM_OK) {
			destroy(runtime, stage);
			return *mappings != 0;
		}
		line_up(runtime, stage);
		if (rc != SEAM_BUSY || mapped != stage->arena.mapped)
			return false; /* `lock` was dropped: the list may have changed */
	}
	return false;
}

/* A closed stage is not asked for memory any more, so nobody else looks at what it holds. */
static void look_at_closed(struct seam_runtime *runtime)
{
	const struct seam_stage *first = seam__stage_open(runtime);
	if (seam__stages_hold(runtime->open ? LIST_NEXT(first, link) : first))
		seam__planned_poll_streams(runtime);
}

void seam__planned_sweep(struct seam_runtime *runtime, uint32_t mappings)
{
	look_at_closed(runtime);
	while (finish_one(runtime, &mappings))
		;
}

enum seam_rc seam__runtime_create(struct seam_meta *meta, struct seam_engine *engine, enum seam_plan_reuse reuse,
	struct seam_runtime **ret_runtime)
{
	struct seam_runtime *runtime = seam__meta_alloc(meta, sizeof *runtime);
	if (runtime == NULL)
		return SEAM_OOM_META;
	runtime->engine = engine;
	runtime->meta = meta;
	runtime->reuse = reuse;
	LIST_INIT(&runtime->stages);
	*ret_runtime = runtime;
	return SEAM_OK;
}

void seam__runtime_destroy(struct seam_runtime *runtime)
{
	if (runtime == NULL)
		return;
	if (runtime->waiting != NULL) {
		seam__script_destroy(runtime->meta, runtime->waiting_script);
		seam__arena_fini(runtime->engine, &runtime->waiting->arena);
		destroy(runtime, runtime->waiting);
		runtime->waiting = NULL;
	}
	struct seam_stage *stage;
	while ((stage = LIST_FIRST(&runtime->stages)) != NULL) {
		LIST_REMOVE(stage, link);
		seam__arena_fini(runtime->engine, &stage->arena);
		destroy(runtime, stage);
	}
	seam__prelude_forget(runtime);
	seam__meta_free(runtime->meta, runtime, sizeof *runtime);
}

const char *seam__planned_check(struct seam_runtime *runtime)
{
	const struct seam_prelude *prelude = &runtime->prelude;
	if (prelude->stage != NULL &&
		(!runtime->open || prelude->next >= prelude->count || prelude->stage->arena.state != SEAM_ARENA_CLOSED))
		return "Q4: first requests are expected without a plan, or none is left";
	const struct seam_engine_counts *engine_counts = &runtime->engine->counts;
	uint64_t blocks = 0, bytes = 0;
	struct seam_stage *stage;
	LIST_FOREACH(stage, &runtime->stages, link)
	{
		bool first = stage == LIST_FIRST(&runtime->stages);
		if ((stage->arena.state == SEAM_ARENA_OPEN) != (first && runtime->open))
			return "Q1: a stage is open that is not the first, or the first is not";
		if (stage->suspended && (!first || !runtime->open || stage->lent_bytes != 0))
			return "Q5: a suspended stage is not open, or has lent memory";
		const uint64_t gap_bytes = stage->suspended ? 0 : stage->arena.bytes - stage->arena.leased_bytes;
		if (stage->arena.state == SEAM_ARENA_OPEN && seam__matcher_blocked_bytes(stage->matcher) != gap_bytes)
			return "Q2: what is blocked is not the gaps of the arena";
		const char *broken = seam__arena_check(runtime->engine, &stage->arena);
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
