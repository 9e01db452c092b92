/* lockrank.h: mutexes that know the order in which they may be taken.
 *
 * A thread may take a lock only if its rank is higher than that of every lock it holds; two locks of one rank are never
 * held together. Builds with SEAM_CHECKS >= 1 verify this at every lock and abort with the names; others cost nothing
 * beyond the pthread mutex.
 *
 * Not here: the list of what each lock guards; that stands beside the field.
 */
#ifndef SEAM_BASE_LOCKRANK_H
#define SEAM_BASE_LOCKRANK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "check.h"

/* In the order of taking: outermost first. Gaps leave room. */
enum seam_rank {
	SEAM_RANK_REGISTRY = 10,    /* the process's list of pools */
	SEAM_RANK_PLAN = 20,        /* the planner's hand-over to the pool */
	SEAM_RANK_CHANGE = 25,      /* changes of one device's views and mappings, held across driver calls */
	SEAM_RANK_DEVICE = 30,      /* one device's pool: blocks, views, chunks, streams, accounts */
	SEAM_RANK_SWAP = 35,        /* tickets of a swap engine */
	SEAM_RANK_HOST_CHANGE = 38, /* as CHANGE, of stitched host memory */
	SEAM_RANK_HOST = 40,        /* the pool of pinned host memory */
	SEAM_RANK_DRIVER = 50,      /* inside a backend of the driver table (the emulated device) */
	SEAM_RANK_TRACE = 60,       /* the recorder */
	SEAM_RANK_LEAF = 90,        /* under which nothing is taken but the log */
	SEAM_RANK_LOG = 95          /* one line to the callback */
};

struct seam_mutex {
	pthread_mutex_t mutex;
	const char *name; /* a literal */
	enum seam_rank rank;
};

/* The static form of init. */
#define SEAM_MUTEX_INIT(lock_name, lock_rank)                       \
	{                                                           \
		PTHREAD_MUTEX_INITIALIZER, (lock_name), (lock_rank) \
	}

/* `name` must outlive the mutex. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__mutex_init(struct seam_mutex *mutex, const char *name, enum seam_rank rank);
void seam__mutex_fini(struct seam_mutex *mutex); /* not held by anyone */

/* How many mutexes and conditions were made by init and have not ended; 0 where SEAM_CHECKS is 0. */
uint64_t seam__locks_alive(void);

#if SEAM_CHECKS >= 1
void seam__mutex_lock(struct seam_mutex *mutex);
void seam__mutex_unlock(struct seam_mutex *mutex);
#else
static inline void seam__mutex_lock(struct seam_mutex *mutex)
{
	SEAM_VERIFY(pthread_mutex_lock(&mutex->mutex) == 0);
}

static inline void seam__mutex_unlock(struct seam_mutex *mutex)
{
	SEAM_VERIFY(pthread_mutex_unlock(&mutex->mutex) == 0);
}
#endif

/* True if it was free and is held now. The order does not matter: this cannot wait. */
__attribute__((warn_unused_result)) bool seam__mutex_try_lock(struct seam_mutex *mutex);

/* Aborts unless the calling thread holds the mutex; does nothing where SEAM_CHECKS is 0. For _locked functions. */
void seam__mutex_assert_held(const struct seam_mutex *mutex);

/* A condition that goes with a mutex; time by CLOCK_MONOTONIC. */
struct seam_cond {
	pthread_cond_t cond;
};

SEAM_MUST_USE enum seam_rc seam__cond_init(struct seam_cond *cond); /* SEAM_OOM_META */
void seam__cond_fini(struct seam_cond *cond);                       /* nobody waits */
void seam__cond_signal(struct seam_cond *cond);                     /* wakes one */
void seam__cond_broadcast(struct seam_cond *cond);                  /* wakes all */

/* Holds the mutex again on return. It must be the innermost lock held. May wake without cause. */
void seam__cond_wait(struct seam_cond *cond, struct seam_mutex *mutex);

/* The same until seam__clock_ns() reaches deadline_ns: then false. */
bool seam__cond_wait_until(struct seam_cond *cond, struct seam_mutex *mutex, uint64_t deadline_ns);

#endif
