/* random_problem.h: placement problems for tests, from a seed, with the features that a test asks for.
 *
 * Small enough for the naive checks beside them. The same seed and wishes give the same problem on every machine.
 */
#ifndef RANDOM_PROBLEM_H
#define RANDOM_PROBLEM_H

#include <stdint.h>

#include "solver.h"

struct random_wish {
	uint64_t seed;
	uint32_t count;       /* items */
	unsigned features;    /* SEAM__HAS_...: what the problem may have; it is a line without SEAM__HAS_WRAP */
	uint32_t sizes;       /* distinct sizes; 0: any */
	uint64_t align_bytes; /* 0: 1 */
};

/* splitmix64: the next of a sequence. */
uint64_t random_next(uint64_t *state);
uint64_t random_below(uint64_t *state, uint64_t limit); /* limit > 0 */

/* Valid by seam__problem_check() and finished. Aborts when there is no memory. */
void random_problem(const struct random_wish *wish, struct seam_meta *meta, struct seam_problem *ret_problem);

/* NULL when `offsets` is a placement: every pair of items looked at, by the meaning of a lifetime position by position
 * (no formula of the library). O(n^2 * circle): for problems of up to a few hundred items. */
const char *naive_check_placement(const struct seam_problem *problem, const uint64_t *offsets, uint64_t peak_bytes);

#endif
