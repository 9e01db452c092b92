/* active_plan.c: how active plans come and go; see planned.h. */
#include <inttypes.h>
#include <string.h>

#include "bits.h"
#include "check.h"
#include "log.h"
#include "meta.h"
#include "planned_impl.h"

enum seam_rc seam__active_create(struct seam_runtime *runtime, struct seam_active_plan **ret_active)
{
	struct seam_active_plan *active = seam__meta_alloc(runtime->meta, sizeof *active);
	if (active == NULL)
		return SEAM_OOM_META;
	seam__last_uses_init(&active->last_uses, runtime->meta);
	active->made_at = UINT64_MAX;
	enum seam_rc rc = seam__matcher_create(runtime->meta, &active->matcher);
	if (rc != SEAM_OK) {
		seam__meta_free(runtime->meta, active, sizeof *active);
		return rc;
	}
	*ret_active = active;
	return SEAM_OK;
}

static void clear_uses(void *user, struct seam_plan_block *plan_block)
{
	struct seam_runtime *runtime = user;
	seam__uses_clear(runtime->engine, &plan_block->uses);
}

/* Frees all but the arena. Live and held blocks die with the pool. */
static void destroy(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	struct seam_meta *meta = runtime->meta;
	seam__active_forget_users(runtime, active);
	seam__matcher_each(active->matcher, clear_uses, runtime);
	seam__meta_free(meta, active->held, active->held_capacity * sizeof(struct seam_plan_block *));
	seam__meta_free(meta, active->busy, active->busy_count * sizeof *active->busy);
	seam__meta_free(meta, active->gaps, active->gap_capacity * sizeof *active->gaps);
	seam__matcher_destroy(meta, active->matcher);
	seam__meta_free(meta, active, sizeof *active);
}

/* Closes the arena: chunks without live blocks go back. active->busy counts those of the others. */
static void retire(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	seam__arena_close(runtime->engine, &active->arena, active->busy, active->streams, active->stream_count);
}

static void line_up(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	if (runtime->open)
		LIST_INSERT_AFTER(seam__active_open(runtime), active, link);
	else
		LIST_INSERT_HEAD(&runtime->active_plans, active, link);
}

/* An active plan that will not be opened is closed and waits to be finished. */
static void abandon(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	if (active->arena.state != SEAM_ARENA_CLOSED)
		retire(runtime, active);
	line_up(runtime, active);
}

void seam__active_discard(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	if (runtime->preparing == active)
		runtime->preparing = NULL;
	if (active->arena.state == SEAM_ARENA_NONE) {
		destroy(runtime, active);
		return;
	}
	abandon(runtime, active);
	seam__planned_sweep(runtime, SEAM_SWEEP_ALL);
}

void seam__given_forget(struct seam_runtime *runtime)
{
	seam__loaded_destroy(runtime->meta, runtime->given.loaded);
	runtime->given.loaded = NULL;
}

enum seam_rc seam__active_prepare_fresh(
	struct seam_runtime *runtime, uint64_t bytes, struct seam_active_plan **ret_active)
{
	struct seam_active_plan *active = NULL;
	enum seam_rc rc = seam__active_create(runtime, &active);
	if (rc != SEAM_OK)
		return rc;
	bytes = (bytes + runtime->engine->memory.granularity_bytes - 1) / runtime->engine->memory.granularity_bytes *
		runtime->engine->memory.granularity_bytes;
	rc = seam__arena_begin(runtime->engine, NULL, 0, bytes, 0, 2 * bytes, &active->arena);
	if (rc == SEAM_OK) {
		runtime->preparing = active;
		rc = seam__arena_prepare(runtime->engine, &active->arena, UINT32_MAX);
		if (runtime->preparing != active)
			return SEAM_OOM_DEVICE; /* memory was short meanwhile: it is gone */
		runtime->preparing = NULL;
	}
	if (rc != SEAM_OK) {
		seam__active_discard(runtime, active);
		return rc;
	}
	*ret_active = active;
	return SEAM_OK;
}

/* Room to count the blocks of so many chunks. */
static enum seam_rc reserve_busy(struct seam_runtime *runtime, struct seam_active_plan *active, uint32_t count)
{
	if (count <= active->busy_count)
		return SEAM_OK;
	uint32_t *busy = seam__meta_array(runtime->meta, count, sizeof *busy);
	if (busy == NULL)
		return SEAM_OOM_META;
	seam__meta_free(runtime->meta, active->busy, active->busy_count * sizeof *active->busy);
	active->busy = busy;
	active->busy_count = count;
	return SEAM_OK;
}

static void number_chunks(struct seam_active_plan *active, uint32_t first)
{
	for (uint32_t i = first; i < active->arena.count; i++)
		active->arena.chunks[i].chunk->kept_at = i;
}

enum seam_rc seam__planned_add(struct seam_runtime *runtime, struct seam_loaded_plan *loaded, bool now)
{
	struct seam_active_plan *active = seam__active_open(runtime);
	SEAM_ASSERT(seam__loaded_bytes(loaded) <= seam__active_usable_bytes(active));
	enum seam_rc rc = seam__matcher_add(active->matcher, loaded, now);
	if (rc != SEAM_OK)
		return rc;
	active->long_positions = seam__bits_max(active->long_positions, seam__loaded_slots(loaded));
	active->idle_from = runtime->recent.count;
	seam__active_judge_anew(runtime, active);
	runtime->counts.adoptions++;
	return SEAM_OK;
}

enum seam_rc seam__planned_open(struct seam_runtime *runtime, struct seam_active_plan *active,
	struct seam_loaded_plan *loaded, uint64_t low_bytes)
{
	SEAM_ASSERT(seam__loaded_bytes(loaded) <= active->arena.bytes);
	enum seam_rc rc = reserve_busy(runtime, active, active->arena.count);
	if (rc == SEAM_OK && runtime->open)
		seam__planned_drop(runtime);
	if (rc == SEAM_OK)
		rc = seam__matcher_add(active->matcher, loaded, true);
	if (rc != SEAM_OK)
		return rc;
	seam__matcher_set_bytes(active->matcher, active->arena.bytes);
	seam__arena_open(&active->arena);
	LIST_INSERT_HEAD(&runtime->active_plans, active, link);
	active->usable = active->arena.count;
	active->long_positions = seam__bits_max(1, seam__loaded_slots(loaded));
	active->suspended = true;
	active->low_bytes = low_bytes;
	active->compare_from = active->idle_from = runtime->recent.count;
	runtime->open = true;
	return SEAM_OK;
}

/* What it misses counts from here on. */
static void note_start(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	active->started = true;
	active->on_trial = false;
	number_chunks(active, 0);
	seam__active_judge_anew(runtime, active);
	runtime->started_requests = runtime->counts.requests;
	runtime->started_misses = runtime->counts.requests - runtime->counts.hits;
	runtime->started_displaced = seam__planned_displaced(&runtime->counts);
	runtime->started_strange = seam__planned_strange(&runtime->counts);
	runtime->counts.adoptions++;
	seam__log(SEAM_LOG_INFO, "a plan of %" PRIu64 " requests in %" PRIu64 " bytes is in use",
		active->long_positions, active->arena.bytes);
}

enum seam_rc seam__planned_start(struct seam_runtime *runtime)
{
	struct seam_active_plan *active = seam__active_open(runtime);
	SEAM_ASSERT(active->suspended);
	active->suspended = false;
	if (!TAILQ_EMPTY(&runtime->engine->pending))
		(void)seam__engine_poll(runtime->engine, false); /* passed blocks are free before they are leased */
	(void)seam__arena_collect(runtime->engine, &active->arena, 0, active->arena.count);
	enum seam_rc rc = seam__active_block_from(runtime, active, 0);
	if (rc == SEAM_OK && !seam__matcher_choose_copy(active->matcher))
		rc = SEAM_OOM_META;
	if (rc != SEAM_OK)
		seam__planned_drop(runtime);
	else if (!active->started)
		note_start(runtime, active);
	return rc;
}

enum seam_rc seam__active_shut(struct seam_runtime *runtime, struct seam_active_plan *active,
	void (*count)(void *user, struct seam_active_plan *active), void *user)
{
	const enum seam_rc rc = reserve_busy(runtime, active, active->arena.count);
	if (rc != SEAM_OK)
		return rc;
	seam__arena_open(&active->arena);
	(void)seam__arena_collect(runtime->engine, &active->arena, 0, active->arena.count);
	if (active->arena.leased_bytes != active->arena.bytes || active->arena.join_count != 0)
		return SEAM_BUSY; /* while it was prepared what was free in its chunks was anybody's */
	count(user, active);
	abandon(runtime, active);
	return SEAM_OK;
}

enum seam_rc seam__planned_extend(
	struct seam_runtime *runtime, const uint64_t *numbers, uint32_t count, uint64_t fresh_bytes)
{
	struct seam_active_plan *active = seam__active_open(runtime);
	uint32_t before = active->arena.count;
	uint64_t most_fresh = fresh_bytes / runtime->engine->memory.granularity_bytes;
	if (most_fresh > UINT32_MAX / 2)
		return SEAM_OOM_DEVICE;
	/* Before: whoever closes the arena from here on counts the blocks of all its chunks. */
	enum seam_rc rc = reserve_busy(runtime, active, before + count + (uint32_t)most_fresh + 1);
	if (rc == SEAM_OK)
		rc = seam__arena_extend(runtime->engine, &active->arena, numbers, count, fresh_bytes, 0);
	if (rc != SEAM_OK)
		return rc;
	if (!active->suspended)
		rc = seam__active_block_from(runtime, active, before);
	if (rc != SEAM_OK)
		seam__planned_drop(runtime);
	return rc;
}

enum seam_rc seam__planned_grown(struct seam_runtime *runtime)
{
	struct seam_active_plan *active = seam__active_open(runtime);
	uint32_t before = active->usable;
	active->usable = active->arena.count;
	number_chunks(active, before);
	if (!active->suspended)
		(void)seam__active_collect(runtime, active, before, active->arena.count - before);
	seam__matcher_set_bytes(active->matcher, active->arena.bytes);
	return runtime->open ? SEAM_OK : SEAM_OOM_META;
}

static void count_busy(void *user, struct seam_plan_block *plan_block)
{
	struct seam_active_plan *active = user;
	uint32_t first = seam__arena_chunk_at(&active->arena, plan_block->offset);
	uint32_t last = seam__arena_chunk_at(&active->arena, plan_block->offset + plan_block->bytes - 1);
	for (uint32_t i = first; i <= last; i++)
		active->busy[i]++;
}

static void keep_counts(struct seam_runtime *runtime, const struct seam_active_plan *active)
{
	struct seam_match_counts counts;
	seam__matcher_get_counts(active->matcher, &counts);
	runtime->counts.resyncs += counts.resyncs;
	runtime->counts.switches += counts.switches;
	runtime->counts.dynamic_hits += counts.dynamic_hits;
}

void seam__active_pay(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	const struct seam_earnings now = {
		.requests = runtime->engine->counts.allocs,
		.hits = runtime->counts.hits,
		.calls = seam__driver_calls(runtime->engine->driver, SEAM_DRV_MEMORY),
	};
	struct seam_match_counts counts;
	seam__matcher_get_counts(active->matcher, &counts);
	seam__account_add(&runtime->account, &now, seam__active_is_charged(active), counts.steps - active->paid_steps,
		active->long_positions);
	active->paid_steps = counts.steps;
}

void seam__planned_drop(struct seam_runtime *runtime)
{
	if (!runtime->open)
		return;
	struct seam_active_plan *active = seam__active_open(runtime);
	memset(active->busy, 0, active->busy_count * sizeof *active->busy);
	seam__matcher_each(active->matcher, count_busy, active);
	keep_counts(runtime, active);
	seam__active_pay(runtime, active);
	if (runtime->account.steps < 0)
		runtime->account.steps = 0; /* the next one has not spent it */
	runtime->open = false;
	active->suspended = false;
	runtime->counts.drops += active->started;
	seam__prologue_end(runtime);
	retire(runtime, active);
	seam__active_give_parts(runtime, active);
}

/* Finishes the first that can be, and takes what that unmaps from *mappings. False: there is none, or none is left. */
static bool finish_one(struct seam_runtime *runtime, uint32_t *mappings)
{
	struct seam_active_plan *active, *next;
	LIST_FOREACH_SAFE(active, &runtime->active_plans, link, next)
	{
		struct seam_match_counts counts;
		seam__matcher_get_counts(active->matcher, &counts);
		if (active->arena.state != SEAM_ARENA_CLOSED || counts.live != 0 || active->held_count != 0 ||
			active == runtime->prologue.active)
			continue;
		/* Nobody finds a block in it any more; it leaves the list before the lock is dropped. */
		LIST_REMOVE(active, link);
		uint32_t mapped = active->arena.mapped;
		enum seam_rc rc = seam__arena_finish(runtime->engine, &active->arena, *mappings);
		*mappings -= (uint32_t)seam__bits_min(*mappings, mapped - active->arena.mapped);
		if (rc == SEAM_OK) {
			destroy(runtime, active);
			return *mappings != 0;
		}
		line_up(runtime, active);
		if (rc != SEAM_BUSY || mapped != active->arena.mapped)
			return false; /* `lock` was dropped: the list may have changed */
	}
	return false;
}

/* A closed active plan is not asked for memory any more, so nobody else looks at what it holds. */
static void look_at_closed(struct seam_runtime *runtime)
{
	const struct seam_active_plan *first = seam__active_open(runtime);
	if (seam__active_hold(runtime->open ? LIST_NEXT(first, link) : first))
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
	runtime->account = seam__account_make();
	LIST_INIT(&runtime->active_plans);
	*ret_runtime = runtime;
	return SEAM_OK;
}

void seam__runtime_destroy(struct seam_runtime *runtime)
{
	if (runtime == NULL)
		return;
	seam__given_forget(runtime);
	struct seam_active_plan *active;
	while ((active = LIST_FIRST(&runtime->active_plans)) != NULL) {
		LIST_REMOVE(active, link);
		seam__arena_fini(runtime->engine, &active->arena);
		destroy(runtime, active);
	}
	seam__prologue_forget(runtime);
	seam__meta_free(runtime->meta, runtime, sizeof *runtime);
}
