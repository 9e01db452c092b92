/* given_plan.c: a plan that the program brings.
 *
 * It comes into use as one that was learnt does: its arena is made, it is open, and it starts when the program does
 * what the plan is of (lib/runtime/suspend.c). But it is given before the program has done anything, and does not say
 * where what stays lies. So it waits until all that stays has been there for a period, and few bytes are live: its
 * arena gets chunks that are free then. Where it says what the program asks for first, and nothing is live, or where
 * nothing stays, there is nothing to wait for: it starts at once (planned_prologue.c).
 *
 * It never takes more than the pool would have without it: by its own account when it is given, by what the pool has
 * had when its arena is made.
 *
 * Locks: `work`, then the engine's.
 */
#include <inttypes.h>

#include "bits.h"
#include "learner.h"
#include "learner_impl.h"
#include "loaded_plan.h"
#include "plan_cost.h"
#include "plan_format.h"
#include "planned_impl.h"
#include "trace_error.h"

#define SPARE_SHARE                                                                                                   \
	1024u /* of the arena of a plan that was given, beside it: for those requests that depend on data and find no \
		 idle place in it */

/* The arena has that much more than the slots need: displaced requests would get memory from the driver instead, time
 * and again. */
static uint64_t spare_bytes(const struct seam_learner *learner, const struct seam_plan *plan)
{
	return plan->header.group_count != 0 && learner->runtime->reuse == SEAM_PLAN_REUSE_STITCH
		? plan->header.arena_bytes / SPARE_SHARE
		: 0;
}

/* [both; drops lock] An arena for a plan that was given, ready to be opened. Errors: those of
 * seam__learner_begin_given() and seam__arena_prepare(). */
static enum seam_rc make_arena(struct seam_learner *learner, uint64_t limit_bytes, struct seam_active_plan **ret_active)
{
	struct seam_runtime *runtime = learner->runtime;
	enum seam_rc rc = seam__learner_begin_given(learner, limit_bytes);
	struct seam_active_plan *active = learner->active;
	learner->active = NULL;
	seam__learner_reset(learner);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__arena_prepare(learner->engine, &active->arena, UINT32_MAX);
	if (runtime->preparing != active)
		return SEAM_OOM_DEVICE; /* memory was short meanwhile: it is gone */
	if (rc == SEAM_OK) {
		runtime->preparing = NULL;
		*ret_active = active;
	} else
		seam__active_discard(runtime, active);
	return rc;
}

/* So few bytes are live between two iterations, what stays included. */
static uint64_t few_bytes(const struct seam_loaded_plan *loaded, const struct seam_plan *plan)
{
	const struct seam_loaded_range range = seam__loaded_find_range(plan, loaded);
	return plan->header.resident_bytes + range.least_bytes +
		(range.most_bytes - range.least_bytes) / SEAM_REST_SHARE;
}

/* [both; drops lock] The program is at its beginning, and the plan knows it. *loaded: NULL once it is somebody
 * else's. */
static enum seam_rc open_at_once(
	struct seam_learner *learner, struct seam_loaded_plan **loaded, const struct seam_plan *plan)
{
	struct seam_runtime *runtime = learner->runtime;
	struct seam_active_plan *active = NULL;
	enum seam_rc rc = make_arena(learner, UINT64_MAX, &active);
	if (rc != SEAM_OK)
		return rc;
	const bool has_prologue = seam__prologue_is_due(runtime, plan);
	rc = seam__learner_open(learner, active, loaded, few_bytes(*loaded, plan));
	if (rc != SEAM_OK)
		return rc;
	if (!seam__active_open(runtime)->started)
		rc = seam__planned_start(runtime);
	if (rc == SEAM_OK && has_prologue)
		rc = seam__prologue_begin(runtime, plan);
	else if (rc == SEAM_OK && learner->engine->counts.live_blocks == 0)
		seam__matcher_start(active->matcher);
	if (rc != SEAM_OK) {
		seam__planned_drop(runtime);
		seam__planned_sweep(runtime, SEAM_SWEEP_ALL);
	}
	return rc;
}

/* The arena of what was given is not made before so many more requests. */
static void put_off(struct seam_runtime *runtime, uint64_t requests)
{
	runtime->given.from_allocs = runtime->engine->counts.allocs + requests;
}

/* With both locks. The arena is made when what stays has been there for a period. */
static void let_wait(struct seam_learner *learner, struct seam_loaded_plan *loaded, const struct seam_plan *plan)
{
	struct seam_runtime *runtime = learner->runtime;
	const uint64_t resident_bytes = plan->header.resident_bytes;
	runtime->given = (struct seam_given){
		.loaded = loaded,
		.above_bytes = resident_bytes -
			seam__bits_min(resident_bytes, seam__loaded_bytes(loaded) / SEAM_MISSING_SHARE),
		.below_bytes = few_bytes(loaded, plan),
	};
	put_off(runtime, seam__loaded_slots(loaded));
}

bool seam__given_is_due(struct seam_runtime *runtime)
{
	const struct seam_engine_counts *counts = &runtime->engine->counts;
	const struct seam_given *given = &runtime->given;
	if (counts->live_requested_bytes < given->above_bytes)
		put_off(runtime, seam__loaded_slots(given->loaded));
	return counts->allocs >= given->from_allocs && counts->live_requested_bytes <= given->below_bytes;
}

/* [both; drops lock] *loaded: NULL once it is somebody else's. */
static enum seam_rc use(struct seam_learner *learner, struct seam_loaded_plan **loaded, const struct seam_plan *plan)
{
	struct seam_runtime *runtime = learner->runtime;
	struct seam_loaded_plan *mine = *loaded;
	if (runtime->open && seam__active_open(runtime)->started &&
		seam__loaded_bytes(mine) <= seam__active_usable_bytes(seam__active_open(runtime))) {
		seam__prologue_end(runtime); /* it is of another plan */
		const enum seam_rc rc = seam__planned_add(runtime, mine, true);
		*loaded = rc == SEAM_OK ? NULL : mine;
		return rc;
	}
	/* The program's own plan comes first: one that is being learnt would replace it. */
	seam__learner_give_way(learner);
	seam__learner_reset(learner);
	learner->given_arena_bytes = seam__loaded_bytes(mine) + spare_bytes(learner, plan);
	if (seam__prologue_missing(runtime, plan) < seam__loaded_bytes(mine) / SEAM_MISSING_SHARE)
		return open_at_once(learner, loaded, plan);
	let_wait(learner, mine, plan);
	*loaded = NULL;
	return SEAM_OK;
}

/* [both; drops lock] The arena is made, and opened. */
static enum seam_rc place(struct seam_learner *learner)
{
	struct seam_runtime *runtime = learner->runtime;
	const struct seam_memory *memory = &learner->engine->memory;
	struct seam_active_plan *active = NULL;
	enum seam_rc rc = seam__streams_uncaptured(&learner->engine->streams);
	if (rc != SEAM_OK)
		return rc; /* nothing is mapped while a stream is captured */
	if (runtime->preparing != NULL)
		seam__active_discard(runtime, runtime->preparing);
	learner->active = NULL;
	seam__learner_reset(learner);
	rc = make_arena(
		learner, seam__plan_cost_without(memory->reserved_peak_bytes, memory->granularity_bytes), &active);
	if (rc != SEAM_OK)
		return rc;
	struct seam_loaded_plan *loaded = runtime->given.loaded;
	runtime->given.loaded = NULL;
	rc = seam__learner_open(learner, active, &loaded, runtime->given.below_bytes);
	runtime->given.loaded = loaded;
	return rc;
}

void seam__learner_place(struct seam_learner *learner)
{
	struct seam_runtime *runtime = learner->runtime;
	if (!seam__mutex_try_lock(&learner->work))
		return;
	seam__learner_stop(learner);
	const bool is_placed =
		runtime->given.loaded == NULL || place(learner) == SEAM_OK; /* another thread was first */
	if (!is_placed && runtime->given.loaded != NULL)
		put_off(runtime, seam__loaded_slots(runtime->given.loaded));
	seam__learner_go(learner);
	seam__mutex_unlock(&learner->work);
}

/* A given plan costs nothing if it takes no more than the pool would without it. */
static enum seam_rc judge_cost(const struct seam_learner *learner, const struct seam_plan *plan,
	const struct seam_loaded_plan *loaded, struct seam_trace_error *error)
{
	const uint64_t resident_bytes = plan->header.resident_bytes;
	const uint64_t live_bytes = resident_bytes + seam__loaded_find_range(plan, loaded).most_bytes;
	const uint64_t bytes = resident_bytes + seam__loaded_bytes(loaded);
	if (bytes <= seam__plan_cost_without(live_bytes, learner->engine->memory.granularity_bytes))
		return SEAM_OK;
	seam__trace_error_set(error, 0,
		"the plan needs %" PRIu64 " bytes for blocks of which %" PRIu64
		" live at once, residents included: without it the pool needs less",
		bytes, live_bytes);
	return SEAM_INVALID;
}

/* With what only plans that are given are asked for. With `work`. */
static enum seam_rc create_loaded(struct seam_learner *learner, const struct seam_plan *plan,
	struct seam_trace_error *error, struct seam_loaded_plan **ret_loaded)
{
	enum seam_rc rc = seam__loaded_create(learner->meta, plan, ret_loaded);
	if (rc == SEAM_INVALID)
		seam__trace_error_set(error, 0,
			"the plan is of a stretch that happens once, of a graph, of nothing, or its addresses are no multiples of %u below 2 TiB",
			SEAM_PLANNED_BYTES);
	if (rc == SEAM_OK)
		rc = judge_cost(learner, plan, *ret_loaded, error);
	if (rc == SEAM_OK)
		return rc;
	seam__loaded_destroy(learner->meta, *ret_loaded);
	*ret_loaded = NULL;
	return rc;
}

enum seam_rc seam__learner_use(
	struct seam_learner *learner, const struct seam_plan *plan, struct seam_trace_error *error)
{
	struct seam_loaded_plan *loaded = NULL;
	const char *broken;
	enum seam_rc rc = seam__plan_check(plan, error, &broken); /* I10 */
	if (rc != SEAM_OK)
		return rc;
	seam__mutex_lock(&learner->work);
	rc = create_loaded(learner, plan, error, &loaded);
	if (rc == SEAM_OK) {
		seam__learner_stop(learner);
		rc = use(learner, &loaded, plan);
		seam__learner_go(learner);
	}
	seam__mutex_unlock(&learner->work);
	if (rc != SEAM_OK)
		seam__loaded_destroy(learner->meta, loaded);
	return rc;
}
