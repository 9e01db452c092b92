/* match_idle.h: for how long a matcher's memory is idle, the naive way: every instance is looked at.
 *
 * Not here: what the matcher itself finds (seam__matcher_borrow, seam__matcher_each_idle). For tests.
 */
#ifndef TEST_MATCH_IDLE_H
#define TEST_MATCH_IDLE_H

#include "matcher_state.h"

/* Positions from the frontier until a slot of the current loaded plan is due in [begin, end), at least 1: 0: a block is
 * live or held there; UINT64_MAX: no slot ever lies there. The slot that was missed last does not count. */
static inline uint64_t match_idle(const struct seam_matcher *matcher, uint64_t begin, uint64_t end)
{
	const struct seam_loaded_plan *loaded = matcher->now;
	uint64_t soonest = UINT64_MAX;
	if (seam__off_plan_overlaps(matcher, begin, end))
		return 0;
	for (uint32_t n = 0; loaded != NULL && n < loaded->slots * loaded->copies; n++) {
		const struct seam_plan_block *instance = &loaded->instances[n];
		if (instance->bytes == 0 || instance->offset >= end || begin >= instance->offset + instance->bytes)
			continue;
		if (instance->state != SEAM_PLANNED_FREE)
			return 0;
		const uint64_t due = seam__loaded_due_in(loaded, n);
		if (instance != matcher->missing && due < soonest)
			soonest = due;
	}
	return soonest == 0 ? 1 : soonest;
}

#endif
