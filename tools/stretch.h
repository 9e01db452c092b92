/* stretch.h: which part of a trace is repeated for more iterations, and what a block of one repetition is in the next.
 *
 * A trace without marks of steps is repeated as a whole. So is one with a single step. Of a trace with several, the
 * last complete step is repeated if it asks for the same sizes in the same order as the one before; else (sizes that
 * vary from step to step) all complete steps but the first.
 *
 * Blocks and repetitions:
 *   - what is allocated and freed inside the stretch is allocated and freed anew in each repetition; - what is
 *   allocated inside and not freed inside *goes out*, what was allocated before and is freed inside *comes in*. A
 *     block that goes out is freed in the next repetition where its partner that comes in is freed (gradients, the last
 *     output). Partners are paired by equal size, stream and private pool in order, then the rest in order;
 *   - what goes out and has no partner is a resident: it is allocated in the first repetition and stays; - what comes
 *   in and has no partner is freed in the first repetition only.
 * For a whole trace nothing comes in, so the blocks that it never frees are its residents.
 */
#ifndef TOOLS_STRETCH_H
#define TOOLS_STRETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "lifetimes.h"

struct stretch {
	uint32_t begin; /* events [begin, end) are repeated */
	uint32_t end;
	uint32_t *partner; /* per lifetime: who comes in for who goes out and the reverse, or LIFETIME_NONE */
};

/* Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc stretch_find(
	const struct seam_trace *trace, const struct lifetimes *lifetimes, struct stretch *ret_stretch);
void stretch_fini(struct stretch *stretch);

static inline bool stretch_has(const struct stretch *stretch, uint32_t event)
{
	return event >= stretch->begin && event < stretch->end;
}

/* Allocated inside, not freed inside. */
static inline bool stretch_goes_out(const struct stretch *stretch, const struct lifetime *lifetime)
{
	return stretch_has(stretch, lifetime->alloc) && !stretch_has(stretch, lifetime->free);
}

/* Freed inside, allocated before. */
static inline bool stretch_comes_in(const struct stretch *stretch, const struct lifetime *lifetime)
{
	return lifetime->alloc < stretch->begin && stretch_has(stretch, lifetime->free);
}

#endif
