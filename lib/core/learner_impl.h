/* learner_impl.h: what the files behind learner.h share. With `work`. */
#ifndef SEAM_LEARNER_IMPL_H
#define SEAM_LEARNER_IMPL_H

#include "pool.h"

/* Plans the chosen kind around the residents as they lie now: survey, plan and script are set. Errors: those of seam_plan_make();
 * SEAM_UNSUPPORTED: it would cost more memory than the pool has now. */
SEAM_MUST_USE enum seam_rc seam__learner_plan(struct seam_pool *pool);

/* [both; drops lock] An arena for the script: a stage that is being prepared, or more chunks for the open one. Errors: those of seam__arena_begin(). */
SEAM_MUST_USE enum seam_rc seam__learner_begin(struct seam_pool *pool);

/* The open stage, if the new plan is to become another script of it; else NULL. With the engine's `lock`. */
static inline struct seam_stage *seam__learner_extends(const struct seam_pool *pool)
{
	return pool->planning.open && !pool->learner.replaces ? LIST_FIRST(&pool->planning.stages) : NULL;
}

/* Forgets what was begun, but the stage. */
void seam__learner_reset(struct seam_pool *pool);

#endif
