/* plans.c: the calls of include/seam/plan.h that need a pool: a plan comes into use, or goes.
 *
 * Not here: how that is done (lib/learn/learner.h), plans without a pool (lib/plan).
 */
#include <stdio.h>

#include <seam/plan.h>

#include "learner.h"
#include "opts.h"
#include "pool.h"

static enum seam_rc refuse(char *error, enum seam_rc rc, const char *why)
{
	if (error != NULL)
		(void)snprintf(error, SEAM_OPTS_ERROR_BYTES, "%s", why);
	return rc;
}

enum seam_rc seam_plan_use(struct seam_pool *pool, const struct seam_plan *plan, char *error)
{
	enum seam_rc rc = plan == NULL ? SEAM_INVALID : seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return refuse(error, rc, seam_rc_text(rc));
	if (pool->plain != NULL)
		return refuse(error, SEAM_UNSUPPORTED, "the device has no virtual memory management");
	struct seam_trace_error why = {0};
	rc = seam__learner_use(pool->learner, plan, &why);
	return rc == SEAM_OK ? rc : refuse(error, rc, why.text[0] != '\0' ? why.text : seam_rc_text(rc));
}

void seam_plan_drop(struct seam_pool *pool)
{
	if (seam__pool_enter(pool) == SEAM_OK && pool->plain == NULL)
		seam__learner_drop(pool->learner);
}
