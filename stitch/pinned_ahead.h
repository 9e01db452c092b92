/* pinned_ahead.h: stitched host memory that is made before it is asked for.
 *
 * Pinning takes time by the page: a program that will want tens of GiB has them made while it loads its weights. One
 * chunk is made after the other, each under one hold of `change`, and none is begun while a request is being served:
 * a request waits for one chunk at most. The result is free memory of the common group like any other.
 *
 * Not here: which memory, and its pool (pinned.h).
 *
 * Locks: `mutex` (SEAM_RANK_LEAF) guards the fields that say so; it is never held across a driver call.
 */
#ifndef SEAM_STITCH_PINNED_AHEAD_H
#define SEAM_STITCH_PINNED_AHEAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "engine.h"
#include "lockrank.h"

struct seam_pinned_ahead {
	struct seam_engine *engine;
	struct seam_mutex mutex;
	struct seam_cond condition;   /* no request is being served any more, or the aim is another */
	pthread_t thread;             /* mutex; if `joins` */
	bool joins;                   /* mutex; a thread was started and is to be joined */
	bool works;                   /* mutex; the thread makes chunks */
	bool renewed;                 /* mutex; the aim is another than the thread has seen */
	_Atomic uint32_t makers;      /* who make chunks: the thread, and callers that wait; written under mutex */
	_Atomic uint32_t asking;      /* requests that are being served, of those that came while there are makers */
	_Atomic uint64_t aim_bytes;   /* so much is to be reserved; 0: nothing is to be made; written under mutex */
	_Atomic uint64_t short_bytes; /* the aim, if memory did not suffice for it; else 0; written under mutex */
};

/* engine outlives it. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__pinned_ahead_init(struct seam_pinned_ahead *ahead, struct seam_engine *engine);

/* Ends the thread. Nobody else uses it. */
void seam__pinned_ahead_fini(struct seam_pinned_ahead *ahead);

/* Makes chunks until the engine has reserved aim_bytes; instead of what was aimed at before. waits: before it returns,
 * else by a thread. Errors: SEAM_OOM_META (of a thread, too); of a wait SEAM_OOM_DEVICE, SEAM_OOM_VA, SEAM_MAPPINGS,
 * SEAM_DRIVER: what was made by then stays. */
SEAM_MUST_USE enum seam_rc seam__pinned_ahead_aim(struct seam_pinned_ahead *ahead, uint64_t aim_bytes, bool waits);

/* No chunk is begun from here on until the next aim. */
void seam__pinned_ahead_stop(struct seam_pinned_ahead *ahead);

/* Around all that a request does. The result of begin is for end. */
static inline bool seam__pinned_ahead_begin(struct seam_pinned_ahead *ahead)
{
	const bool counts = atomic_load_explicit(&ahead->makers, memory_order_relaxed) != 0;
	if (counts)
		atomic_fetch_add(&ahead->asking, 1);
	return counts;
}

void seam__pinned_ahead_wake(struct seam_pinned_ahead *ahead);

static inline void seam__pinned_ahead_end(struct seam_pinned_ahead *ahead, bool counts)
{
	if (counts && atomic_fetch_sub(&ahead->asking, 1) == 1)
		seam__pinned_ahead_wake(ahead);
}

#endif
