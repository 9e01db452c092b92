/* part.h: a problem cut into parts that share nothing but the address space, each solved by itself.
 *
 * Three cuts lose nothing:
 *   pillars   items that are held from everybody at every position conflict with all others: they stand at the bottom,
 *             one above the other, and the rest above them;
 *   streams   where no stream of one set may ever have the memory of the other set and the reverse, the sets are
 *             stacked: each byte belongs to one of them;
 *   time      where no item is held across a boundary between two positions, what lies before and behind never meets:
 *             the parts use the same addresses. A circle with one such boundary is a line.
 *
 * Not here: solving (pipeline.h). With fixed items only the cut in time is made: the others move things.
 *
 * Invariants: PA1 every item of the whole is a pillar or in exactly one part; PA2 two items in different parts of one
 * stack conflict never, those of different stacks always or by choice; PA3 each part is a valid problem. No locks.
 */
#ifndef SEAM_PART_H
#define SEAM_PART_H

#include "problem.h"
#include "solver.h"

struct seam_part {
	struct seam_problem problem;
	uint32_t *items; /* per item of the part: its number in the whole */
	uint32_t count;  /* items */
	uint32_t stack;  /* parts of one stack share addresses, the stacks stand one above the other */
	uint32_t origin; /* position of the whole that is the part's position 0 */
	uint32_t length; /* positions */
	bool linear;
};

struct seam_parts {
	const struct seam_problem *whole;
	struct seam_part *parts;
	uint32_t count;
	uint32_t capacity;
	uint32_t stacks;
	uint32_t *pillars;
	uint32_t pillar_count;
	uint64_t pillar_bytes; /* the stacks begin here */
	uint64_t *stack_lower; /* per stack: the largest lower bound of its parts */
	uint64_t lower_bytes;  /* pillars and the stacks' bounds: at least the whole's own bound */
};

/* In the region of `whole`, which stays in use. Errors: SEAM_OOM_META. O(count * streams + circle). */
SEAM_MUST_USE enum seam_rc seam__parts_init(const struct seam_problem *whole, struct seam_parts *ret_parts);

/* The placement of the whole from one of each part: `placed` has one per part, all whole; `ret_offsets` room for every
 * item of the whole. */
void seam__parts_join(const struct seam_parts *parts, const struct seam_placement *placed, uint64_t *ret_offsets);

/* Name of the first broken invariant, or NULL. PA2 is O(count^2). */
const char *seam__parts_check(const struct seam_parts *parts);

#endif
