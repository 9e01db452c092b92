/* learner.c: the steps of the background worker; see learner.h. Its looks are in learner_look.c, its plans in
 * learner_plan.c, its thread in learner_thread.c. */
#include "learner.h"

#include "bits.h"
#include "check.h"
#include "learner_impl.h"
#include "meta.h"
#include "planned_impl.h"
#include "trial.h"

#define PLACE_NS UINT64_C(60000000)
#define MOST_PLACE_NS UINT64_C(240000000) /* sixteen times PLACE_NS placed no more of 67 programs than four times */
#define PLACE_NODES UINT64_C(100000)
#define TRIAL_PERIODS 3u /* of which the last one counts: from the others the matcher knows where the program is */
#define BAD_TRIALS 2u    /* then the plan goes. After one: 269 instead of 275 of 700 programs had a plan in use */
#define MOST_OUTGROWN 4u /* plans in a row; then another look, later */

static enum seam_rc init_locks(struct seam_learner *learner)
{
	enum seam_rc rc = seam__mutex_init(&learner->work, "learner", SEAM_RANK_PLAN);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__mutex_init(&learner->sleep, "learner's sleep", SEAM_RANK_LEAF);
	if (rc == SEAM_OK) {
		rc = seam__cond_init(&learner->condition);
		if (rc != SEAM_OK)
			seam__mutex_fini(&learner->sleep);
	}
	if (rc != SEAM_OK)
		seam__mutex_fini(&learner->work);
	return rc;
}

enum seam_rc seam__learner_create(const struct seam_learner_parts *parts, struct seam_learner **ret_learner)
{
	struct seam_learner *learner = seam__meta_alloc(parts->meta, sizeof *learner);
	if (learner == NULL)
		return SEAM_OOM_META;
	const enum seam_rc rc = init_locks(learner);
	if (rc != SEAM_OK) {
		seam__meta_free(parts->meta, learner, sizeof *learner);
		return rc;
	}
	learner->runtime = parts->runtime;
	learner->engine = parts->engine;
	learner->maps = parts->maps;
	learner->meta = parts->meta;
	learner->recorder = parts->recorder;
	learner->mode = parts->mode;
	learner->deterministic = parts->deterministic;
	seam__looks_init(&learner->looks);
	learner->place_ns = PLACE_NS;
	learner->place_nodes = PLACE_NODES;
	*ret_learner = learner;
	return SEAM_OK;
}

/* Forgets what was begun, but the active plan. */
void seam__learner_reset(struct seam_learner *learner)
{
	seam__iterations_fini(&learner->rhythm);
	learner->rhythm = (struct seam_iterations){0};
	seam__survey_fini(learner->engine, &learner->survey);
	learner->survey = (struct seam_survey){0};
	seam_plan_free(learner->plan);
	learner->plan = NULL;
	seam__loaded_destroy(learner->meta, learner->loaded);
	learner->loaded = NULL;
	learner->state = SEAM_LEARN_IDLE;
}

/* The plan was good, or was not made, but there was no memory for it, or the driver failed: its kind may be planned
 * again. */
static void forget_refusal(struct seam_learner *learner)
{
	if (learner->refused_count != 0)
		learner->refused[--learner->refused_count % SEAM_LEARNER_REFUSED] = 0;
}

void seam__learner_give_up(struct seam_learner *learner)
{
	learner->failures++;
	if (learner->state == SEAM_LEARN_BEGIN || learner->state == SEAM_LEARN_PREPARE)
		forget_refusal(learner);
	seam__looks_fail(&learner->looks, learner->looked);
	seam__learner_reset(learner);
}

static void plan(struct seam_learner *learner)
{
	enum seam_rc rc = seam__learner_plan(learner);
	if (rc == SEAM_OK) {
		learner->plans++;
		learner->state = SEAM_LEARN_BEGIN;
		seam__mutex_lock(&learner->engine->lock);
		const struct seam_active_plan *open = seam__learner_extends(learner);
		learner->fits = open != NULL && seam__loaded_bytes(learner->loaded) <= seam__active_usable_bytes(open);
		seam__mutex_unlock(&learner->engine->lock);
		return;
	}
	/* It may have been made in too short a time: other iterations may come, or the machine may have more time. */
	if (rc == SEAM_UNSUPPORTED)
		learner->place_ns = seam__bits_min(learner->place_ns * 4, MOST_PLACE_NS);
	if (rc == SEAM_UNSUPPORTED || rc == SEAM_OOM_META)
		forget_refusal(learner);
	if (rc != SEAM_OOM_META && seam__learner_choose(learner))
		return; /* another kind may do */
	seam__learner_give_up(learner);
}

/* A plan is in use: on to the next kind, of which a plan may lie in the same arena. */
static void go_on(struct seam_learner *learner)
{
	learner->replaces = false;
	learner->serves = true;
	if (seam__learner_choose(learner))
		learner->state = SEAM_LEARN_PLAN;
	else
		seam__learner_reset(learner);
}

/* The plan fits into the arena that is open: one more loaded plan. */
static void add_loaded(struct seam_learner *learner)
{
	seam__mutex_lock(&learner->engine->lock);
	enum seam_rc rc = SEAM_BUSY;
	if (learner->runtime->open)
		rc = seam__planned_add(learner->runtime, learner->loaded, false);
	seam__mutex_unlock(&learner->engine->lock);
	if (rc != SEAM_OK) {
		seam__learner_reset(learner);
		return;
	}
	learner->loaded = NULL; /* the matcher's */
	go_on(learner);
}

/* Addresses of the plan are those of the arena that it was made for; if that was dropped since, what stays lies
 * elsewhere. With both locks. */
static enum seam_rc try_begin(struct seam_learner *learner)
{
	const bool same = learner->extends == (seam__learner_extends(learner) != NULL);
	return same ? seam__learner_begin(learner) : SEAM_NOT_FOUND;
}

static void begin(struct seam_learner *learner)
{
	seam__learner_stop(learner);
	enum seam_rc rc = try_begin(learner);
	if (rc == SEAM_MAPPINGS) {
		seam__planned_sweep(learner->runtime, SEAM_SWEEP_ALL);
		rc = try_begin(learner);
	}
	/* Views that the engine stitched when it had no plan are in the way: one goes a step. */
	const bool goes_on = rc == SEAM_MAPPINGS && seam__engine_free_view(learner->engine);
	seam__learner_go(learner);
	if (goes_on)
		return;
	const bool is_full = rc == SEAM_OOM_VA && learner->extends && !learner->replaces;
	learner->replaces |= is_full; /* no addresses are left behind the open arena: in one of its own */
	learner->outgrown = rc == SEAM_NOT_FOUND ? learner->outgrown + 1 : 0;
	if (rc == SEAM_OK)
		learner->state = SEAM_LEARN_PREPARE;
	else if (is_full)
		learner->state = SEAM_LEARN_PLAN;
	else if (rc == SEAM_NOT_FOUND && learner->outgrown % MOST_OUTGROWN != 0)
		learner->state = SEAM_LEARN_PLAN; /* a chunk or the arena is gone: once more from the survey on */
	else
		seam__learner_give_up(learner);
}

enum seam_rc seam__learner_open(struct seam_learner *learner, struct seam_active_plan *active,
	struct seam_loaded_plan **loaded, uint64_t low_bytes)
{
	struct seam_runtime *runtime = learner->runtime;
	const bool serves = runtime->open && !seam__active_open(runtime)->suspended;
	const enum seam_rc rc = seam__planned_open(runtime, active, *loaded, low_bytes);
	if (rc != SEAM_OK) {
		seam__active_discard(runtime, active);
		return rc;
	}
	*loaded = NULL;
	return serves ? seam__planned_start(runtime) : SEAM_OK;
}

/* The next trial: in so many marked steps, or in a period. */
static void set_trial(struct seam_learner *learner, struct seam_look_time now, uint64_t steps)
{
	learner->trial = (struct seam_look_time){now.events + learner->period_events, now.steps + steps};
}

/* With both locks. The arena is ready. */
static enum seam_rc open_new(struct seam_learner *learner)
{
	learner->runtime->preparing = NULL;
	seam__given_forget(learner->runtime); /* its program has not come */
	learner->state = SEAM_LEARN_WAIT;
	learner->active->on_trial = true;
	learner->bad_trials = 0;
	learner->active->made_at = learner->surveyed_at;
	set_trial(learner, seam__learner_time(learner), 2); /* a whole iteration lies between two marks */
	return seam__learner_open(learner, learner->active, &learner->loaded, learner->open_below_bytes);
}

/* The open arena has grown, and holds the new loaded plan too. With both locks. */
static void take_grown(struct seam_learner *learner)
{
	if (learner->runtime->open && seam__planned_grown(learner->runtime) == SEAM_OK &&
		seam__planned_add(learner->runtime, learner->loaded, false) == SEAM_OK)
		learner->loaded = NULL;
}

static bool prepare(struct seam_learner *learner)
{
	struct seam_runtime *runtime = learner->runtime;
	enum seam_rc rc = SEAM_NOT_FOUND;
	seam__learner_stop(learner);
	struct seam_active_plan *active = learner->active;
	if (active == NULL && runtime->open && !learner->replaces)
		active = seam__active_open(runtime);
	else if (active != runtime->preparing)
		active = learner->active = NULL; /* memory was short: it is gone */
	if (active != NULL)
		rc = seam__streams_uncaptured(&learner->engine->streams);
	bool captured = rc == SEAM_CAPTURING;
	if (captured)
		rc = SEAM_BUSY; /* nothing is mapped while a stream is captured */
	else if (rc == SEAM_OK)
		rc = seam__arena_prepare(learner->engine, &active->arena, 1);
	if (rc == SEAM_OK && learner->active != NULL)
		rc = open_new(learner);
	else if (rc == SEAM_OK)
		take_grown(learner);
	else if (rc != SEAM_BUSY && learner->active != NULL)
		seam__active_discard(learner->runtime, learner->active);
	seam__learner_go(learner);
	if (rc == SEAM_BUSY)
		return !captured;
	learner->active = NULL;
	if (rc == SEAM_OK && learner->state != SEAM_LEARN_WAIT)
		go_on(learner);
	else if (rc != SEAM_OK)
		seam__learner_give_up(learner);
	return true;
}

/* The plan may start, or goes: it would fail again. */
static void end_trial(struct seam_learner *learner, const struct seam_trial *trial)
{
	learner->bad_trials += seam__trial_is_bad(trial);
	if (!seam__trial_is_good(trial) && learner->bad_trials < BAD_TRIALS)
		return;
	seam__mutex_lock(&learner->engine->lock);
	const bool is_on_trial = learner->runtime->open && seam__active_open(learner->runtime)->on_trial;
	if (is_on_trial && seam__trial_is_good(trial))
		seam__planned_pass_trial(learner->runtime);
	else if (is_on_trial)
		seam__planned_drop(learner->runtime);
	seam__mutex_unlock(&learner->engine->lock);
}

/* The plan that waits is tried on the newest period, if that is due: once a period; where iterations are marked, when
 * each ends, for only one of several kinds is the plan's. It is tried again where metadata is lacking. */
static void try_plan(struct seam_learner *learner)
{
	const bool marked = learner->rhythm.kinds[learner->kind].marked;
	const struct seam_look_time now = seam__learner_time(learner);
	struct seam_trial trial = {0};
	struct seam_trace *recording = NULL;
	if (marked ? now.steps < learner->trial.steps : now.events < learner->trial.events)
		return;
	set_trial(learner, now, 1);
	enum seam_rc rc = seam__recorder_trace(
		learner->recorder, TRIAL_PERIODS * learner->period_events, "recorded by seam", &recording);
	if (rc == SEAM_OK)
		rc = seam__trial_run(learner->meta, learner->plan, marked, recording, learner->period_events, &trial);
	seam_trace_free(recording);
	if (rc == SEAM_OK)
		end_trial(learner, &trial);
}

/* Until the plan has started: further ones are for its arena. */
static bool wait(struct seam_learner *learner)
{
	seam__mutex_lock(&learner->engine->lock);
	const bool open = learner->runtime->open;
	const bool started = open && seam__active_open(learner->runtime)->started;
	const bool is_on_trial = open && seam__active_open(learner->runtime)->on_trial;
	seam__mutex_unlock(&learner->engine->lock);
	if (is_on_trial)
		try_plan(learner);
	if (started) {
		go_on(learner);
	} else if (!open) {
		forget_refusal(learner);
		seam__looks_fail(&learner->looks, learner->looked); /* its mappings were made in vain */
		seam__learner_reset(learner);
	}
	return started || !open;
}

static bool sweep(struct seam_learner *learner)
{
	seam__mutex_lock(&learner->engine->lock);
	const struct seam_active_plan *first = LIST_FIRST(&learner->runtime->active_plans);
	bool closed = first != NULL && (!learner->runtime->open || LIST_NEXT(first, link) != NULL);
	seam__mutex_unlock(&learner->engine->lock);
	if (!closed)
		return false;
	seam__learner_stop(learner);
	uint64_t mappings = learner->engine->memory.mapping_count;
	seam__planned_sweep(learner->runtime, 1);
	bool did = mappings != learner->engine->memory.mapping_count;
	seam__learner_go(learner);
	return did;
}

static bool look(struct seam_learner *learner)
{
	const bool did = learner->recorder != NULL && learner->mode != SEAM_PLAN_OFF && seam__learner_look(learner);
	if (did && learner->state == SEAM_LEARN_IDLE)
		seam__learner_reset(learner); /* it found nothing to be planned */
	return did;
}

static bool step(struct seam_learner *learner)
{
	enum seam_learning state = learner->state;
	switch (state) {
	case SEAM_LEARN_IDLE:
		return look(learner);
	case SEAM_LEARN_PLAN:
		plan(learner);
		return true;
	case SEAM_LEARN_BEGIN:
		if (learner->fits)
			add_loaded(learner);
		else
			begin(learner);
		return true;
	case SEAM_LEARN_PREPARE:
		return prepare(learner);
	case SEAM_LEARN_WAIT:
		return wait(learner);
	}
	return false;
}

void seam__pool_work(struct seam_learner *learner, bool *ret_did)
{
	*ret_did = false;
	if (!learner->maps)
		return;
	seam__mutex_lock(&learner->work);
	*ret_did = sweep(learner);
	*ret_did |= step(learner);
	seam__mutex_unlock(&learner->work);
}
