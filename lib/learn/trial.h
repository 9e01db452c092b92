/* trial.h: whether a plan serves what the program did after the plan was made.
 *
 * A plan is of iterations that looked alike. Its lifetimes may still not be those of the next iteration: frees of other
 * threads come at other times, sizes depend on data, an iteration is of another kind. Blocks that live longer than
 * planned lie in the way of slots, what is missed is served elsewhere and lies in the way of others, and the pool
 * grows. So a plan may start only after a trial: requests that were recorded lately, and at last since it was made, are
 * asked of a matcher of its own, which has no memory. If that serves all but one request in SEAM_MISSED_SHARE the plan
 * is good; else it is tried on later ones. If the matcher knows all but one in as many, and does not serve them, the
 * program does what the plan is of, and the trial was bad; else it was an iteration of another kind, and says nothing.
 *
 * Not here: when a plan is tried (learner.c), where in a pool's memory it starts (lib/runtime/suspend.c).
 * Pure. No locks.
 */
#ifndef SEAM_TRIAL_H
#define SEAM_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/plan.h>
#include <seam/trace.h>

#include "misses.h"

struct seam_meta;

/* Requests that a plan can serve, of the part of the recording that counts; without those that depend on data and found
 * no place. */
struct seam_trial {
	uint64_t asked;
	uint64_t known;  /* to be ones of the plan's */
	uint64_t served; /* with a place that was free */
};

/* Asks for all requests of the recording; those of its last `events` events count. The matcher learns from those before
 * where the program is. begins_at_mark: the plan's period begins at a mark of a step. Errors: SEAM_OOM_META, those of
 * seam__loaded_create(). O(events log slots), less what unexpected requests take. */
SEAM_MUST_USE enum seam_rc seam__trial_run(struct seam_meta *meta, const struct seam_plan *plan, bool begins_at_mark,
	const struct seam_trace *recording, uint64_t events, struct seam_trial *ret_trial);

/* All but one request in SEAM_MISSED_SHARE. A trial without a request is none. */
static inline bool seam__trial_is_most(const struct seam_trial *trial, uint64_t requests)
{
	return trial->asked != 0 && SEAM_MISSED_SHARE * (trial->asked - requests) <= trial->asked;
}

/* True: the plan may start. */
static inline bool seam__trial_is_good(const struct seam_trial *trial)
{
	return seam__trial_is_most(trial, trial->served);
}

/* True: the program did what the plan is of, and the plan does not serve that. */
static inline bool seam__trial_is_bad(const struct seam_trial *trial)
{
	return seam__trial_is_most(trial, trial->known) && !seam__trial_is_good(trial);
}

#endif
