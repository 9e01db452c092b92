/* pinned_ahead.c: see pinned_ahead.h. */
#include "pinned_ahead.h"

#include "change.h"
#include "thread.h"

enum seam_rc seam__pinned_ahead_init(struct seam_pinned_ahead *ahead, struct seam_engine *engine)
{
	*ahead = (struct seam_pinned_ahead){.engine = engine};
	enum seam_rc rc = seam__mutex_init(&ahead->mutex, "pinned ahead", SEAM_RANK_LEAF);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__cond_init(&ahead->condition);
	if (rc != SEAM_OK)
		seam__mutex_fini(&ahead->mutex);
	return rc;
}

/* One chunk more. False: there is what was aimed at, or *ret_rc says why there is not. */
static bool make_one(struct seam_pinned_ahead *ahead, enum seam_rc *ret_rc)
{
	struct seam_engine *engine = ahead->engine;
	struct seam_ppool *large = &engine->common.classes[SEAM_CLASS_LARGE];
	seam__mutex_lock(&engine->change);
	seam__mutex_lock(&engine->lock);
	const uint64_t reserved_bytes = engine->memory.reserved_bytes;
	const uint64_t aim_bytes = atomic_load(&ahead->aim_bytes);
	const bool lacks = reserved_bytes < aim_bytes;
	*ret_rc = SEAM_OK;
	if (lacks) {
		const uint64_t unit_bytes = seam__grow_chunk_bytes(engine, large, aim_bytes - reserved_bytes, 0);
		*ret_rc = seam__grow_units(engine, large, unit_bytes, unit_bytes);
	}
	seam__mutex_unlock(&engine->lock);
	seam__mutex_unlock(&engine->change);
	if (*ret_rc != SEAM_OK)
		atomic_store(&ahead->short_bytes, aim_bytes);
	return lacks && *ret_rc == SEAM_OK;
}

/* Whether one more may be begun, once no request is being served. False: the thread has ended for the others. */
static bool may_go_on(struct seam_pinned_ahead *ahead, bool more)
{
	seam__mutex_lock(&ahead->mutex);
	more = more || ahead->renewed;
	ahead->renewed = false;
	while (more && atomic_load(&ahead->asking) != 0 && atomic_load(&ahead->aim_bytes) != 0)
		seam__cond_wait(&ahead->condition, &ahead->mutex);
	more = more && atomic_load(&ahead->aim_bytes) != 0;
	atomic_store(&ahead->works, more);
	seam__mutex_unlock(&ahead->mutex);
	return more;
}

static void *run(void *argument)
{
	struct seam_pinned_ahead *ahead = argument;
	enum seam_rc ignored = SEAM_OK; /* short_bytes says it */
	while (may_go_on(ahead, make_one(ahead, &ignored)))
		;
	return NULL;
}

static enum seam_rc start(struct seam_pinned_ahead *ahead)
{
	enum seam_rc rc = SEAM_OK;
	seam__mutex_lock(&ahead->mutex);
	ahead->renewed = atomic_load(&ahead->works);
	if (!ahead->renewed) {
		if (ahead->joins)
			(void)pthread_join(ahead->thread, NULL);
		ahead->joins = seam__thread_start(&ahead->thread, run, ahead);
		atomic_store(&ahead->works, ahead->joins);
		rc = ahead->joins ? SEAM_OK : SEAM_OOM_META;
	}
	seam__mutex_unlock(&ahead->mutex);
	return rc;
}

enum seam_rc seam__pinned_ahead_aim(struct seam_pinned_ahead *ahead, uint64_t aim_bytes, bool waits)
{
	enum seam_rc rc = SEAM_OK;
	atomic_store(&ahead->short_bytes, 0);
	atomic_store(&ahead->aim_bytes, aim_bytes);
	if (!waits && aim_bytes != 0)
		return start(ahead);
	while (waits && make_one(ahead, &rc))
		;
	return rc;
}

void seam__pinned_ahead_wake(struct seam_pinned_ahead *ahead)
{
	seam__mutex_lock(&ahead->mutex);
	seam__cond_signal(&ahead->condition);
	seam__mutex_unlock(&ahead->mutex);
}

void seam__pinned_ahead_stop(struct seam_pinned_ahead *ahead)
{
	atomic_store(&ahead->aim_bytes, 0);
	seam__pinned_ahead_wake(ahead);
}

void seam__pinned_ahead_fini(struct seam_pinned_ahead *ahead)
{
	seam__pinned_ahead_stop(ahead);
	if (ahead->joins)
		(void)pthread_join(ahead->thread, NULL);
	seam__cond_fini(&ahead->condition);
	seam__mutex_fini(&ahead->mutex);
}
