/* plans.c: the calls of include/seam/plan.h that need a pool: a plan comes into use, or goes.
 *
 * Not here: how that is done (lib/learn/learner.h), plans without a pool (lib/plan).
 */
#include <seam/plan.h>

#include "learner.h"
#include "pool.h"
#include "text.h"

static enum seam_rc refuse(char *error, size_t error_bytes, enum seam_rc rc, const char *why)
{
	seam__text_line(error, error_bytes, "%s", why);
	return rc;
}

enum seam_rc seam_plan_use(struct seam_pool *pool, const struct seam_plan *plan, char *error, size_t error_bytes)
{
	enum seam_rc rc = plan == NULL ? SEAM_INVALID : seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return refuse(error, error_bytes, rc, seam_rc_text(rc));
	if (pool->plain != NULL)
		return refuse(error, error_bytes, SEAM_UNSUPPORTED, "the device has no virtual memory management");
	struct seam_trace_error why = {0};
	rc = seam__learner_use(pool->learner, plan, &why);
	return rc == SEAM_OK ? rc : refuse(error, error_bytes, rc, why.text[0] != '\0' ? why.text : seam_rc_text(rc));
}

void seam_plan_drop(struct seam_pool *pool)
{
	if (seam__pool_enter(pool) == SEAM_OK && pool->plain == NULL)
		seam__learner_drop(pool->learner);
}
