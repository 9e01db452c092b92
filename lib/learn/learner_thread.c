/* learner_thread.c: the callers of the learner: a thread of the pool's, or the program. */
#include "clock.h"
#include "learner.h"
#include "learner_impl.h"
#include "meta.h"
#include "planned_impl.h"
#include "record.h"
#include "thread.h"
#include "worker_share.h"

#define PAUSE_NS UINT64_C(20000000) /* while it waits for a capture to end, or for a moment to open an active plan */

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

/* The same, as long as the thread's share lasts. The rest is done when it is woken next. */
static void work_within_share(struct seam_learner *learner)
{
	bool did = true;
	while (did && !must_stop(learner) && seam__workers_may_go_on(seam__clock_process_ns())) {
		const uint64_t start_ns = seam__clock_thread_ns();
		seam__pool_work(learner, &did);
		seam__workers_add(seam__clock_thread_ns() - start_ns);
	}
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
		work_within_share(learner);
	} while (sleep_until_told(learner));
	return NULL;
}

/* Whether the recording is long enough for a first look. */
static bool has_something_to_learn(const struct seam_learner *learner)
{
	struct seam_look_schedule first;
	seam__looks_init(&first);
	return seam__looks_are_due(&first, seam__learner_time(learner));
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
		learner->running = seam__thread_start(&learner->thread, run, learner);
	learner->wake = true;
	seam__cond_signal(&learner->condition);
	seam__mutex_unlock(&learner->sleep);
}

void seam__learner_give_way(struct seam_learner *learner)
{
	struct seam_runtime *runtime = learner->runtime;
	if (runtime->preparing != NULL)
		seam__active_discard(learner->runtime, runtime->preparing);
	if (runtime->open && !seam__active_open(runtime)->started)
		seam__planned_drop(runtime);
	seam__given_forget(runtime);
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
		seam__learner_give_way(learner);
		seam__learner_go(learner);
	}
	seam__learner_reset(learner);
	seam__cond_fini(&learner->condition);
	seam__mutex_fini(&learner->sleep);
	seam__mutex_fini(&learner->work);
	seam__meta_free(learner->meta, learner, sizeof *learner);
}

void seam__learner_drop(struct seam_learner *learner)
{
	seam__mutex_lock(&learner->work);
	seam__learner_stop(learner);
	seam__planned_drop(learner->runtime);
	seam__learner_give_way(learner);
	seam__learner_reset(learner);
	learner->refused_count = 0; /* what was given up here was not refused */
	seam__planned_sweep(learner->runtime, SEAM_SWEEP_ALL);
	seam__learner_go(learner);
	seam__mutex_unlock(&learner->work);
}
