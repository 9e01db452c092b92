/* fit_maker.h: makes schedules of recipes of one problem, many of them, without memory for each.
 *
 * Not here: times (fit_timer.h), the independent check (fit_check.c).
 * A maker holds the newest schedule. Positions are the visits of an iteration but the optimizer's, counted through all
 * micro-batches; border p is before position p. No locks: one thread at a time.
 */
#ifndef SEAM_FIT_MAKER_H
#define SEAM_FIT_MAKER_H

#include <seam/fit.h>

#include "region.h"

struct seam_fit_maker {
	const struct seam_fit_problem *problem;
	uint32_t pass_visits; /* of a micro-batch */
	uint32_t positions;
	uint32_t most_ops; /* of a schedule */
	/* Of the problem, made once. */
	uint32_t *first;          /* of each chunk: its first position; SEAM_FIT_NONE: none */
	uint32_t *following;      /* of each visit of a pass: so many positions on, its chunk is visited again */
	uint32_t *last_gradients; /* of each chunk: the last visit of a pass that makes its gradients; SEAM_FIT_NONE */
	uint32_t *backward;       /* of each block: its backward visit */
	/* Of the newest schedule. */
	const struct seam_fit_recipe *recipe;
	uint32_t ahead; /* the recipe's, or all positions */
	struct seam_fit_op *ops;
	uint32_t op_count;
	uint32_t last_compute; /* the newest operation of the compute lane; SEAM_FIT_NONE */
	uint32_t scanned;      /* chunks of positions below are on the device, if they come */
	uint32_t *resident;    /* chunks that come and are on the device */
	uint32_t resident_count;
	uint32_t *load;         /* of each chunk: the operation that loaded it last; SEAM_FIT_NONE: it is not there */
	uint32_t *first_load;   /* of each chunk: the operation that loads it first; SEAM_FIT_NONE */
	uint32_t *next;         /* of each chunk: the next position that visits it; SEAM_FIT_NONE: none */
	uint32_t *out, *in;     /* of each block: its newest such operations; SEAM_FIT_NONE */
	uint32_t *gradient_out; /* of each chunk: its newest such operation; SEAM_FIT_NONE */
	uint8_t *has_gradients; /* of each chunk: they are on the device */
	struct seam_fit_leaving *leaving; /* what copies out, in the order of the list */
	uint32_t leaving_first, leaving_end;
	uint64_t swapped_bytes, most_swapped_bytes; /* that are out */
};

/* Arrays are taken from the region. SEAM_OOM_META; SEAM_INVALID never: the problem is one. */
SEAM_MUST_USE enum seam_rc seam__fit_maker_init(
	struct seam_fit_maker *maker, const struct seam_fit_problem *problem, struct seam_region *region);

/* The recipe is one of the problem. The schedule's operations are the maker's, until the next one. */
void seam__fit_make(
	struct seam_fit_maker *maker, const struct seam_fit_recipe *recipe, struct seam_fit_schedule *ret_schedule);

#endif
