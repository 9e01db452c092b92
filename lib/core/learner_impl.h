/* learner_impl.h: what the files behind learner.h share. With `work`. */
#ifndef SEAM_LEARNER_IMPL_H
#define SEAM_LEARNER_IMPL_H

#include "pool.h"

/* Plans the chosen kind around the residents as they lie now: survey, plan and script are set. Errors: those of seam_plan_make();
 * SEAM_UNSUPPORTED: it would cost more memory than the pool has now. */
SEAM_MUST_USE enum seam_rc seam__learner_plan(struct seam_pool *pool);

/* [both; drops lock] An arena for the script: a stage that is being prepared, or more chunks for the open one. Errors: those of seam__arena_begin(). */
SEAM_MUST_USE enum seam_rc seam__learner_begin(struct seam_pool *pool);

/* Forgets what was begun, but the stage. */
void seam__learner_reset(struct seam_pool *pool);

#endif
