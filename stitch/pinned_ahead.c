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

/* Makes one chunk more. False: there are so many bytes, or *ret_rc says why there are not. */
static bool make_one(struct seam_engine *engine, uint64_t aim_bytes, enum seam_rc *ret_rc)
{
	struct seam_ppool *large = &engine->common.classes[SEAM_CLASS_LARGE];
	seam__mutex_lock(&engine->change);
	seam__mutex_lock(&engine->lock);
	const uint64_t reserved_bytes = engine->memory.reserved_bytes;
	const bool lacks = reserved_bytes < aim_bytes;
	*ret_rc = SEAM_OK;
	if (lacks) {
		const uint64_t unit_bytes = seam__grow_chunk_bytes(engine, large, aim_bytes - reserved_bytes, 0);
		*ret_rc = seam__grow_units(engine, large, unit_bytes, unit_bytes);
	}
	seam__mutex_unlock(&engine->lock);
	seam__mutex_unlock(&engine->change);
	return lacks && *ret_rc == SEAM_OK;
}

/* Waits until no request is being served. Returns the aim. With the mutex. */
static uint64_t wait_for_turn(struct seam_pinned_ahead *ahead)
{
	while (atomic_load(&ahead->asking) != 0 && atomic_load(&ahead->aim_bytes) != 0)
		seam__cond_wait(&ahead->condition, &ahead->mutex);
	return atomic_load(&ahead->aim_bytes);
}

/* Makes chunks while there is an aim that is not reached. With the mutex, which it leaves for each chunk. */
static enum seam_rc make(struct seam_pinned_ahead *ahead)
{
	enum seam_rc rc = SEAM_OK;
	uint64_t aim_bytes;
	bool more = true;
	while (more && (aim_bytes = wait_for_turn(ahead)) != 0) {
		ahead->renewed = false;
		seam__mutex_unlock(&ahead->mutex);
		more = make_one(ahead->engine, aim_bytes, &rc);
		seam__mutex_lock(&ahead->mutex);
		if (rc != SEAM_OK && atomic_load(&ahead->aim_bytes) == aim_bytes)
			atomic_store(&ahead->short_bytes, aim_bytes);
		more = more || ahead->renewed;
	}
	return rc;
}

static void *run(void *argument)
{
	struct seam_pinned_ahead *ahead = argument;
	seam__mutex_lock(&ahead->mutex);
	enum seam_rc ignored = make(ahead); /* short_bytes says it */
	(void)ignored;
	ahead->works = false;
	(void)atomic_fetch_sub(&ahead->makers, 1);
	seam__mutex_unlock(&ahead->mutex);
	return NULL;
}

/* With the mutex. */
static enum seam_rc start(struct seam_pinned_ahead *ahead)
{
	if (ahead->works)
		return SEAM_OK;
	if (ahead->joins)
		(void)pthread_join(ahead->thread, NULL);
	ahead->joins = ahead->works = seam__thread_start(&ahead->thread, run, ahead);
	(void)atomic_fetch_add(&ahead->makers, ahead->works);
	return ahead->works ? SEAM_OK : SEAM_OOM_META;
}

enum seam_rc seam__pinned_ahead_aim(struct seam_pinned_ahead *ahead, uint64_t aim_bytes, bool waits)
{
	enum seam_rc rc = SEAM_OK;
	seam__mutex_lock(&ahead->mutex);
	atomic_store(&ahead->short_bytes, 0);
	atomic_store(&ahead->aim_bytes, aim_bytes);
	ahead->renewed = true;
	if (waits) {
		(void)atomic_fetch_add(&ahead->makers, 1);
		rc = make(ahead);
		(void)atomic_fetch_sub(&ahead->makers, 1);
	} else if (aim_bytes != 0) {
		rc = start(ahead);
	}
	seam__mutex_unlock(&ahead->mutex);
	return rc;
}

void seam__pinned_ahead_wake(struct seam_pinned_ahead *ahead)
{
	seam__mutex_lock(&ahead->mutex);
	seam__cond_broadcast(&ahead->condition);
	seam__mutex_unlock(&ahead->mutex);
}

void seam__pinned_ahead_stop(struct seam_pinned_ahead *ahead)
{
	seam__mutex_lock(&ahead->mutex);
	atomic_store(&ahead->aim_bytes, 0);
	seam__cond_broadcast(&ahead->condition);
	seam__mutex_unlock(&ahead->mutex);
}

void seam__pinned_ahead_fini(struct seam_pinned_ahead *ahead)
{
	seam__pinned_ahead_stop(ahead);
	if (ahead->joins)
		(void)pthread_join(ahead->thread, NULL);
	seam__cond_fini(&ahead->condition);
	seam__mutex_fini(&ahead->mutex);
}
