/* wait_distance.h: whether a plan has waits inserted between streams, and how long after what they wait for.
 *
 * Where nothing orders streams, what one of them freed may go to another only behind a wait. A wait for what has passed
 * costs nothing; one for what is pending takes concurrency from the program. So there are waits only where a plan would
 * be too large without, and then memory changes streams as many positions after its free as the plan can afford: the
 * distance. Where none can be afforded memory changes streams at once: a pool that needs no more than that without a
 * plan has found the memory of other streams passed. One that had to wait long for it has taken more meanwhile, so its
 * plan can afford a distance.
 *
 * Whether edges alone or a distance can be afforded is tried with the quick constructors, for the lower bound says
 * little of it, and that of the least distance with a search, too.
 *
 * Pure. No locks.
 */
#ifndef SEAM_WAIT_DISTANCE_H
#define SEAM_WAIT_DISTANCE_H

#include "analysis.h"

/* Of what lives at once, one part in so many more is what a plan may need where nobody says. */
#define SEAM_WAIT_SHARE 128u

/* Replaces the problem, which is that of the trace's edges, by one with waits where it is needed. most_bytes: what a
 * plan may need; UINT64_MAX: hardly more than what lives at once, at any distance. *ret_work_ns: as in struct
 * seam_search. Errors: those of seam__search_run(). */
SEAM_MUST_USE enum seam_rc seam__wait_distance_choose(const struct seam_plan_options *options, uint64_t most_bytes,
	struct seam_trace_error *error, struct seam_analysis *analysis, uint64_t *ret_work_ns);

#endif
