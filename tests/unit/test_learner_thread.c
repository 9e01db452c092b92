/* test_learner_thread.c: the worker's thread: it sleeps where there is nothing to do, goes on by itself where it waits
 * for a moment, and leaves the program's signals alone.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "core_fixture.h"
#include "planned_impl.h"
#include "worker_share.h"

#define LEAST_STEPS 3u
#define TRIES 10000u /* looks at what another thread does, a millisecond apart */
#define SPIN_NS UINT64_C(30000000)

static struct seam_active_plan active; /* nothing of it is looked at but whether it has started */

static void pause_shortly(void)
{
	const struct timespec shortly = {.tv_nsec = 1000000};
	(void)nanosleep(&shortly, NULL);
}

/* It has been told, and knows. */
static void wait_until_it_sleeps(void)
{
	bool wake = true;
	for (unsigned i = 0; i < TRIES && wake; i++) {
		pause_shortly();
		seam__mutex_lock(&pool->learner->sleep);
		wake = pool->learner->wake;
		seam__mutex_unlock(&pool->learner->sleep);
	}
	cr_assert_not(wake, "it never sleeps");
	pause_shortly();
}

static void start(void)
{
	open_pool(MIB(256), "plan:auto,chunk_bytes:2M");
	for (unsigned i = 0; i < LEAST_STEPS; i++)
		cr_assert_ok(seam_step(pool));
	cr_assert(pool->learner->running);
	wait_until_it_sleeps();
}

static uint64_t used_ns(clockid_t clock)
{
	struct timespec used;
	cr_assert_eq(clock_gettime(clock, &used), 0);
	return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

/* Time of the processor, of both threads. */
static void expect_no_time_used(void)
{
	clockid_t clock;
	cr_assert_eq(pthread_getcpuclockid(pool->learner->thread, &clock), 0);
	const uint64_t before_ns = used_ns(clock), until_ns = used_ns(CLOCK_THREAD_CPUTIME_ID) + SPIN_NS;
	while (used_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		;
	cr_expect_lt(used_ns(clock) - before_ns, SPIN_NS / 8);
}

Test(learner_thread, it_uses_no_time_where_there_is_nothing_to_do)
{
	start();
	expect_no_time_used();
	close_pool();
}

/* Of a program that runs when nothing else does. */
Test(learner_thread, its_share_of_the_processor_is_the_programs)
{
	struct sched_param param = {0};
	int policy = SCHED_OTHER;
	cr_assert_eq(sched_setscheduler(0, SCHED_IDLE, &param), 0);
	open_pool(MIB(256), "plan:auto,chunk_bytes:2M");
	for (unsigned i = 0; i < LEAST_STEPS; i++)
		cr_assert_ok(seam_step(pool));
	cr_assert_eq(pthread_getschedparam(pool->learner->thread, &policy, &param), 0);
	cr_expect_eq(policy, SCHED_IDLE);
	close_pool();
}

static void set_state(enum seam_learning state, bool open)
{
	seam__mutex_lock(&pool->learner->work);
	seam__mutex_lock(&pool->engine.lock);
	pool->learner->state = state;
	pool->runtime->open = open;
	if (open)
		LIST_INSERT_HEAD(&pool->runtime->active_plans, &active, link);
	else
		LIST_REMOVE(&active, link);
	seam__mutex_unlock(&pool->engine.lock);
	seam__mutex_unlock(&pool->learner->work);
}

/* Nobody tells it that the plan has started. */
Test(learner_thread, it_looks_again_by_itself_while_it_waits_for_a_plan_to_start)
{
	start();
	set_state(SEAM_LEARN_WAIT, true);
	seam__learner_wake(pool->learner);
	wait_until_it_sleeps();
	expect_no_time_used();
	cr_assert_eq(pool->learner->state, SEAM_LEARN_WAIT);
	seam__mutex_lock(&pool->engine.lock);
	active.started = true;
	seam__mutex_unlock(&pool->engine.lock);
	for (unsigned i = 0; i < TRIES && pool->learner->state == SEAM_LEARN_WAIT; i++)
		pause_shortly();
	cr_expect_eq(pool->learner->state, SEAM_LEARN_IDLE);
	set_state(SEAM_LEARN_IDLE, false);
	close_pool();
}

/* The counted time is found by asking with less and less: five times of it and less is not enough. */
Test(learner_thread, its_work_is_counted)
{
	clockid_t clock;
	start();
	cr_assert_eq(pthread_getcpuclockid(pool->learner->thread, &clock), 0);
	uint64_t asked_ns = 8 * used_ns(clock);
	while (asked_ns > 100 && seam__workers_may_go_on(asked_ns))
		asked_ns /= 2;
	cr_expect_gt(asked_ns, 100, "nothing is counted");
	close_pool();
}

/* A third of the time is more than a quarter of the rest. */
Test(learner_thread, it_waits_where_its_share_of_processor_time_is_used)
{
	start();
	const uint64_t begun_ns = used_ns(CLOCK_PROCESS_CPUTIME_ID);
	seam__workers_add(begun_ns / 3);
	const uint64_t looked = pool->learner->looked.steps;
	for (unsigned i = 0; i < LEAST_STEPS; i++)
		cr_assert_ok(seam_step(pool));
	wait_until_it_sleeps();
	cr_expect_eq(pool->learner->looked.steps, looked);
	while (used_ns(CLOCK_PROCESS_CPUTIME_ID) < 2 * begun_ns)
		;
	for (unsigned i = 0; i < TRIES && pool->learner->looked.steps == looked; i++) {
		cr_assert_ok(seam_step(pool));
		wait_until_it_sleeps();
	}
	cr_expect_neq(pool->learner->looked.steps, looked, "the program has earned a look since");
	close_pool();
}

static volatile sig_atomic_t handled;

static void handle(int number)
{
	(void)number;
	handled = 1;
}

/* One that the program blocks waits for it, for nobody else takes it. */
Test(learner_thread, the_programs_signals_are_not_for_it)
{
	const struct sigaction action = {.sa_handler = handle};
	sigset_t blocked, now;
	start();
	cr_assert_eq(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	cr_assert_eq(sigismember(&now, SIGUSR1), 0, "the program takes its signals as before");
	cr_assert_eq(sigaction(SIGUSR1, &action, NULL), 0);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	cr_assert_eq(pthread_sigmask(SIG_BLOCK, &blocked, NULL), 0);
	cr_assert_eq(pthread_kill(pool->learner->thread, 0), 0);
	cr_assert_eq(kill(getpid(), SIGUSR1), 0);
	seam__learner_wake(pool->learner);
	wait_until_it_sleeps();
	cr_assert_eq(sigpending(&now), 0);
	cr_expect_eq(sigismember(&now, SIGUSR1), 1);
	cr_expect_eq(handled, 0);
	close_pool();
}
