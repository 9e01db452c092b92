/* learner_thread.c: who calls the learner: a thread of the pool's, or the program that brings a plan of its own. */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>

#include "bits.h"
#include "check.h"
#include "clock.h"
#include "learner.h"
#include "learner_impl.h"
#include "log.h"
#include "meta.h"
#include "plan_format.h"
#include "planned_impl.h"
#include "record.h"
#include "loaded_plan.h"
#include "trace_error.h"

#define PAUSE_NS UINT64_C(20000000) /* while it waits for a capture to end, or for a moment to open an active plan */
#define SPARE_SHARE                                                                                                   \
	1024u /* of the arena of a plan that was given, beside it: for those requests that depend on data and find no \
		 idle place in it */

static bool must_stop(struct seam_learner *learner)
{
	return __atomic_load_n(&learner->stop, __ATOMIC_RELAXED) != 0;
}

static void work_until_idle(struct seam_learner *learner)
{
	bool did = true;
	while (did && !must_stop(learner))
		seam__pool_work(learner, &did);
}

/* Sleeps until there may be something to do. False: it is to end. */
static bool sleep_until_told(struct seam_learner *learner)
{
	seam__mutex_lock(&learner->sleep);
	bool in_work = learner->state != SEAM_LEARN_IDLE;
	uint64_t until_ns = seam__clock_ns() + PAUSE_NS;
	bool in_time = true;
	while (!learner->wake && !must_stop(learner) && in_time) {
		if (in_work)
			in_time = seam__cond_wait_until(&learner->condition, &learner->sleep, until_ns);
		else
			seam__cond_wait(&learner->condition, &learner->sleep);
	}
	learner->wake = false;
	seam__mutex_unlock(&learner->sleep);
	return !must_stop(learner);
}

static void *run(void *argument)
{
	struct seam_learner *learner = argument;
	do {
		work_until_idle(learner);
	} while (sleep_until_told(learner));
	return NULL;
}

/* Woken while the program runs, the thread waits for the end of its turn: else every wake stops who wakes it. Its share
 * of the processor is the same as before. */
static void take_turns(pthread_t thread)
{
	struct sched_param param;
	int policy, ignored = pthread_getschedparam(thread, &policy, &param);
	if (ignored == 0 && policy == SCHED_OTHER)
		ignored = pthread_setschedparam(thread, SCHED_BATCH, &param);
	(void)ignored;
}

/* The program's signals are not for this thread. */
static bool start(struct seam_learner *learner)
{
	sigset_t all, before;
	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
		return false;
	bool started = pthread_create(&learner->thread, NULL, run, learner) == 0;
	if (started)
		take_turns(learner->thread);
	int ignored = pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)ignored;
	return started;
}

/* Whether the recording is long enough for a first look. */
static bool has_something_to_learn(const struct seam_learner *learner)
{
	struct seam_recorder_counts counts;
	struct seam_look_schedule first;
	seam__recorder_get_counts(learner->recorder, &counts);
	seam__looks_init(&first);
	return seam__looks_are_due(&first, (struct seam_look_time){counts.events, counts.steps});
}

void seam__learner_wake(struct seam_learner *learner)
{
	if (learner->mode != SEAM_PLAN_AUTO || learner->recorder == NULL || !learner->maps)
		return;
	if (learner->deterministic != 0) {
		work_until_idle(learner); /* I8: when a thread gets to run depends on the machine */
		return;
	}
	const bool learns = has_something_to_learn(learner);
	seam__mutex_lock(&learner->sleep);
	if (learns && !learner->running && !must_stop(learner))
		learner->running = start(learner);
	learner->wake = true;
	seam__cond_signal(&learner->condition);
	seam__mutex_unlock(&learner->sleep);
}

/* [both] The active plan that the learner prepares, or that waits, goes. */
static void give_way(struct seam_learner *learner)
{
	struct seam_runtime *runtime = learner->runtime;
	if (runtime->preparing != NULL)
		seam__active_discard(learner->runtime, runtime->preparing);
	if (runtime->waiting != NULL)
		seam__active_discard(learner->runtime, runtime->waiting);
	learner->active = NULL; /* if it was not that one, it is gone for want of memory */
}

void seam__learner_destroy(struct seam_learner *learner)
{
	if (learner == NULL)
		return;
	seam__mutex_lock(&learner->sleep);
	__atomic_store_n(&learner->stop, 1, __ATOMIC_RELAXED);
	bool running = learner->running;
	seam__cond_signal(&learner->condition);
	seam__mutex_unlock(&learner->sleep);
	if (running)
		(void)pthread_join(learner->thread, NULL);
	if (learner->active != NULL) {
		seam__learner_stop(learner);
		give_way(learner);
		seam__learner_go(learner);
	}
	seam__learner_reset(learner);
	seam__cond_fini(&learner->condition);
	seam__mutex_fini(&learner->sleep);
	seam__mutex_fini(&learner->work);
	seam__meta_free(learner->meta, learner, sizeof *learner);
}

/* The arena has that much more than the slots need. What is displaced would get memory from the driver in its place,
 * time and again. */
static uint64_t spare_bytes(const struct seam_learner *learner, const struct seam_plan *plan)
{
	return plan->header.group_count != 0 && learner->runtime->reuse == SEAM_PLAN_REUSE_STITCH
		? plan->header.arena_bytes / SPARE_SHARE
		: 0;
}

/* What lives into the next period. */
static uint64_t crossing_bytes(const struct seam_plan *plan)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < plan->header.slot_count; i++) {
		if (plan->slots[i].end >= plan->header.positions && (plan->slots[i].flags & SEAM_PLAN_DYNAMIC) == 0)
			bytes += plan->slots[i].size_bytes;
	}
	return bytes;
}

/* [both] *loaded: NULL once it is somebody else's. */
static enum seam_rc use(struct seam_learner *learner, struct seam_loaded_plan **loaded, const struct seam_plan *plan)
{
	struct seam_runtime *runtime = learner->runtime;
	struct seam_loaded_plan *mine = *loaded;
	enum seam_rc rc;
	if (runtime->open && seam__loaded_bytes(mine) <= seam__active_usable_bytes(seam__active_open(runtime))) {
		seam__prologue_end(learner->runtime); /* it is of another plan */
		rc = seam__planned_add(learner->runtime, mine, true);
		*loaded = rc == SEAM_OK ? NULL : mine;
		return rc;
	}
	/* The program's own plan comes first: what is being learned would replace it. */
	give_way(learner);
	seam__learner_reset(learner);
	struct seam_active_plan *active = NULL;
	rc = seam__active_prepare_fresh(
		learner->runtime, seam__loaded_bytes(mine) + spare_bytes(learner, plan), &active);
	if (rc != SEAM_OK)
		return rc;
	uint64_t resident_bytes = plan->header.resident_bytes;
	seam__active_expect(learner->runtime, active, resident_bytes, seam__loaded_slots(mine));
	active->crossing_bytes = crossing_bytes(plan);
	active->resident_bytes = resident_bytes;
	active->staying_bytes = resident_bytes - resident_bytes / 32;
	const bool from_start =
		seam__active_from_start(learner->runtime, active) && !seam__prologue_is_due(learner->runtime, plan);
	rc = seam__planned_open(learner->runtime, active, mine, from_start);
	if (rc != SEAM_OK) {
		seam__active_discard(learner->runtime, active);
		return rc;
	}
	*loaded = NULL;
	return seam__prologue_begin(learner->runtime, plan);
}

/* A given plan costs nothing if it takes no more than the pool would without it. */
static enum seam_rc judge_cost(const struct seam_learner *learner, const struct seam_plan *plan,
	const struct seam_loaded_plan *loaded, struct seam_trace_error *error)
{
	const uint64_t resident_bytes = plan->header.resident_bytes;
	const uint64_t live_bytes = resident_bytes + seam__loaded_find_peak(plan, loaded);
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
		rc = seam__loaded_find_valleys(learner->meta, plan, *ret_loaded);
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

void seam__learner_drop(struct seam_learner *learner)
{
	seam__mutex_lock(&learner->work);
	seam__learner_stop(learner);
	seam__planned_drop(learner->runtime);
	give_way(learner);
	seam__learner_reset(learner);
	learner->refused_count = 0; /* what was given up here was not refused */
	seam__planned_sweep(learner->runtime, SEAM_SWEEP_ALL);
	seam__learner_go(learner);
	seam__mutex_unlock(&learner->work);
}
