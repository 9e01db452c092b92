/* perturb_world.h: what the ways of perturb.h work on: a schedule with its iterations and blocks found, and a source of
 * numbers.
 *
 * Not here: which ways there are (perturb.def). Places are those of the schedule before the changes of one way are
 * made.
 */
#ifndef TOOLS_PERTURB_WORLD_H
#define TOOLS_PERTURB_WORLD_H

#include <stdbool.h>

#include "edit.h"

#define PERTURB_NOWHERE SIZE_MAX

struct perturb_world {
	struct schedule *schedule;
	struct edit edit;
	size_t *begin;       /* per iteration: the operation that begins it, */
	size_t *end;         /* and that which ends it */
	size_t *alloc_at;    /* per block */
	size_t *free_at;     /* per block; PERTURB_NOWHERE: never */
	uint32_t new_thread; /* one behind those of the schedule */
	uint64_t seed;       /* of this run of this way */
	uint64_t state;      /* of the numbers */
};

/* A number below `below` (at least 1). */
uint64_t perturb_draw(struct perturb_world *world, uint64_t below);

/* A number that depends on the seed and `what` alone. */
uint64_t perturb_hash(const struct perturb_world *world, uint64_t what);

/* Whether the block comes and goes in the iteration. */
bool perturb_passes(const struct perturb_world *world, uint32_t block, uint32_t iteration);

/* The allocation of such a block, drawn; PERTURB_NOWHERE where luck does not find one. */
size_t perturb_pick(struct perturb_world *world, uint32_t iteration);

/* One way each, on one iteration. Errors: as perturb_apply(). */
#define PERTURB(name, text) SEAM_MUST_USE enum seam_rc perturb_##name(struct perturb_world *world, uint32_t iteration);
#include "perturb.def"
#undef PERTURB

#endif
