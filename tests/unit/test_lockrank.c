/* test_lockrank.c: mutexes exclude, conditions wake, and a checked build refuses locks out of order. */
#include <criterion/criterion.h>
#include <signal.h>

#include "check.h"
#include "clock.h"
#include "lockrank.h"

static struct seam_mutex outer = SEAM_MUTEX_INIT("outer", SEAM_RANK_REGISTRY);
static struct seam_mutex inner = SEAM_MUTEX_INIT("inner", SEAM_RANK_LEAF);

static uint64_t counter;

static void *count(void *argument)
{
	for (int i = 0; i < 20000; i++) {
		seam__mutex_lock(argument);
		counter++;
		seam__mutex_unlock(argument);
	}
	return NULL;
}

Test(lockrank, a_mutex_excludes)
{
	struct seam_mutex mutex;
	pthread_t threads[4];
	const uint64_t before = seam__locks_alive();
	cr_assert_eq(seam__mutex_init(&mutex, "counter", SEAM_RANK_DEVICE), SEAM_OK);
	cr_assert_eq(seam__locks_alive(), before + (SEAM_CHECKS >= 1));
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, count, &mutex), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	cr_assert_eq(counter, 80000);
	seam__mutex_fini(&mutex);
	cr_assert_eq(seam__locks_alive(), before);
}

Test(lockrank, ascending_order_is_fine_in_any_order_of_release)
{
	seam__mutex_lock(&outer);
	seam__mutex_lock(&inner);
	seam__mutex_assert_held(&outer);
	seam__mutex_assert_held(&inner);
	seam__mutex_unlock(&outer);
	seam__mutex_assert_held(&inner);
	seam__mutex_unlock(&inner);
	seam__mutex_lock(&outer);
	seam__mutex_unlock(&outer);
	cr_assert(true);
}

Test(lockrank, try_lock_says_whether_it_has_it)
{
	cr_assert(seam__mutex_try_lock(&inner));
	cr_assert_not(seam__mutex_try_lock(&inner));
	seam__mutex_unlock(&inner);
	cr_assert(seam__mutex_try_lock(&inner));
	seam__mutex_unlock(&inner);
}

struct handover {
	struct seam_mutex mutex;
	struct seam_cond cond;
	int turn;
};

static void *answer(void *argument)
{
	struct handover *handover = argument;
	seam__mutex_lock(&handover->mutex);
	while (handover->turn != 1)
		seam__cond_wait(&handover->cond, &handover->mutex);
	handover->turn = 2;
	seam__cond_broadcast(&handover->cond);
	seam__mutex_unlock(&handover->mutex);
	return NULL;
}

Test(lockrank, conditions_wake, .timeout = 60)
{
	struct handover handover = {.turn = 0};
	pthread_t thread;
	cr_assert_eq(seam__mutex_init(&handover.mutex, "handover", SEAM_RANK_PLAN), SEAM_OK);
	cr_assert_eq(seam__cond_init(&handover.cond), SEAM_OK);
	cr_assert_eq(pthread_create(&thread, NULL, answer, &handover), 0);
	seam__mutex_lock(&handover.mutex);
	handover.turn = 1;
	seam__cond_signal(&handover.cond);
	while (handover.turn != 2)
		seam__cond_wait(&handover.cond, &handover.mutex);
	cr_assert_not(seam__cond_wait_until(&handover.cond, &handover.mutex, seam__clock_ns()), "the time has passed");
	seam__mutex_unlock(&handover.mutex);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	seam__cond_fini(&handover.cond);
	seam__mutex_fini(&handover.mutex);
}

#if SEAM_CHECKS >= 1
Test(lockrank, descending_order_aborts, .signal = SIGABRT)
{
	seam__mutex_lock(&inner);
	seam__mutex_lock(&outer);
}

Test(lockrank, equal_ranks_abort, .signal = SIGABRT)
{
	static struct seam_mutex twin = SEAM_MUTEX_INIT("twin", SEAM_RANK_LEAF);
	seam__mutex_lock(&inner);
	seam__mutex_lock(&twin);
}

Test(lockrank, a_lock_not_held_is_noticed, .signal = SIGABRT)
{
	seam__mutex_assert_held(&inner);
}

Test(lockrank, releasing_what_is_not_held_aborts, .signal = SIGABRT)
{
	seam__mutex_unlock(&inner);
}
#endif
