/* lockrank.c: the mutexes, and in checked builds the stack of those that a thread holds. */
#include "lockrank.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#if SEAM_CHECKS >= 1

#define HELD_MAX 16

/* global-dynamic: a library that is loaded late finds no room in the static block, and dlopen would fail. */
static _Thread_local struct {
	const struct seam_mutex *locks[HELD_MAX];
	unsigned count;
} held __attribute__((tls_model("global-dynamic")));

static _Atomic uint64_t alive;

static void note_made(void)
{
	atomic_fetch_add(&alive, 1);
}

static void note_ended(void)
{
	SEAM_VERIFY(atomic_fetch_sub(&alive, 1) != 0);
}

uint64_t seam__locks_alive(void)
{
	return atomic_load(&alive);
}

static void note_order(const struct seam_mutex *mutex)
{
	for (unsigned i = 0; i < held.count; i++) {
		if (held.locks[i]->rank >= mutex->rank)
			seam__check_failed(
				"locks are taken in the order of their ranks", held.locks[i]->name, (int)mutex->rank);
	}
}

static void note_held(const struct seam_mutex *mutex)
{
	SEAM_VERIFY(held.count < HELD_MAX);
	held.locks[held.count++] = mutex;
}

static void note_released(const struct seam_mutex *mutex)
{
	unsigned i = held.count;
	while (i > 0 && held.locks[i - 1] != mutex)
		i--;
	SEAM_VERIFY(i > 0);
	held.count--;
	memmove(&held.locks[i - 1], &held.locks[i], (held.count - (i - 1)) * sizeof(held.locks[0]));
}

void seam__mutex_assert_held(const struct seam_mutex *mutex)
{
	for (unsigned i = 0; i < held.count; i++) {
		if (held.locks[i] == mutex)
			return;
	}
	seam__check_failed("the lock is held", mutex->name, (int)mutex->rank);
}

void seam__mutex_lock(struct seam_mutex *mutex)
{
	note_order(mutex);
	SEAM_VERIFY(pthread_mutex_lock(&mutex->mutex) == 0);
	note_held(mutex);
}

void seam__mutex_unlock(struct seam_mutex *mutex)
{
	note_released(mutex);
	SEAM_VERIFY(pthread_mutex_unlock(&mutex->mutex) == 0);
}

#else

static void note_made(void)
{
}

static void note_ended(void)
{
}

uint64_t seam__locks_alive(void)
{
	return 0;
}

static void note_held(const struct seam_mutex *mutex)
{
	(void)mutex;
}

void seam__mutex_assert_held(const struct seam_mutex *mutex)
{
	(void)mutex;
}

#endif

enum seam_rc seam__mutex_init(struct seam_mutex *mutex, const char *name, enum seam_rank rank)
{
	pthread_mutex_t fresh;
	if (pthread_mutex_init(&fresh, NULL) != 0)
		return SEAM_OOM_META;
	/* Moving an unused pthread mutex is fine on Linux, and keeps *mutex untouched on failure. */
	*mutex = (struct seam_mutex){.mutex = fresh, .name = name, .rank = rank};
	note_made();
	return SEAM_OK;
}

void seam__mutex_fini(struct seam_mutex *mutex)
{
	SEAM_VERIFY(pthread_mutex_destroy(&mutex->mutex) == 0);
	note_ended();
}

bool seam__mutex_try_lock(struct seam_mutex *mutex)
{
	if (pthread_mutex_trylock(&mutex->mutex) != 0)
		return false;
	note_held(mutex);
	return true;
}

enum seam_rc seam__cond_init(struct seam_cond *cond)
{
	pthread_condattr_t attributes;
	if (pthread_condattr_init(&attributes) != 0)
		return SEAM_OOM_META;
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	int error = pthread_cond_init(&cond->cond, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	if (error != 0)
		return SEAM_OOM_META;
	note_made();
	return SEAM_OK;
}

void seam__cond_fini(struct seam_cond *cond)
{
	SEAM_VERIFY(pthread_cond_destroy(&cond->cond) == 0);
	note_ended();
}

void seam__cond_signal(struct seam_cond *cond)
{
	(void)pthread_cond_signal(&cond->cond);
}

void seam__cond_broadcast(struct seam_cond *cond)
{
	(void)pthread_cond_broadcast(&cond->cond);
}

void seam__cond_wait(struct seam_cond *cond, struct seam_mutex *mutex)
{
	seam__mutex_assert_held(mutex);
	SEAM_VERIFY(pthread_cond_wait(&cond->cond, &mutex->mutex) == 0);
}

bool seam__cond_wait_until(struct seam_cond *cond, struct seam_mutex *mutex, uint64_t deadline_ns)
{
	seam__mutex_assert_held(mutex);
	struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / UINT64_C(1000000000)),
		.tv_nsec = (long)(deadline_ns % UINT64_C(1000000000)),
	};
	return pthread_cond_timedwait(&cond->cond, &mutex->mutex, &deadline) == 0;
}
