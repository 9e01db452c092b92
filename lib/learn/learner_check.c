/* learner_check.c: the invariants of a learner between two pieces of work.
 *
 * Invariants
 *   LN1 what was seen at a look is no more than there was
 *   LN2 a plan is proven only until a look sees that it went
 */
#include "learner_impl.h"

const char *seam__learner_check(const struct seam_learner *learner)
{
	const struct seam_planned_counts *counts = &learner->runtime->counts;
	if (learner->seen_requests > counts->requests || learner->seen_misses > counts->requests - counts->hits ||
		learner->seen_displaced > seam__planned_displaced(counts) ||
		learner->seen_strange > seam__planned_strange(counts) || learner->seen_drops > counts->drops)
		return "LN1";
	if (learner->proven && !learner->runtime->open && learner->seen_drops == counts->drops)
		return "LN2";
	return NULL;
}
