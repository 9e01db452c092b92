/* plan_cost.h: whether a plan would take memory that the pool does not take without it.
 *
 * One rule: before a plan comes into use it is known how much the pool holds and how much more the plan needs with the
 * residents as they lie. A plan that would take more than the program does without a plan is not adopted. One that
 * takes as much is adopted: it saves time.
 *
 * A learnt plan is compared with the peak of what the pool has reserved. The part of that peak which plans have added
 * is not the program's own and does not count, so all plans of a pool together add no more than one.
 *
 * A given plan is there before the program has run. It is compared with the most bytes that are live at once by its own
 * account, residents included, and the share that the engine loses of that; if it had to wait, with what the pool has
 * reserved, and that share of it, too.
 *
 * Not here: for what the pool may grow beside an open plan (seam__planned_must_grow).
 *
 * Locks: none inside; `work` guards a cost. Pure.
 */
#ifndef SEAM_PLAN_COST_H
#define SEAM_PLAN_COST_H

#include <stdbool.h>
#include <stdint.h>

/* Of the program's own peak, one part in so many may be added: one chunk more or less decides as much between two runs
 * of one program. */
#define SEAM_COST_NOISE_SHARE 512u

struct seam_plan_cost {
	uint64_t most_bytes;  /* peak of reserved memory, plans included, as far as it is known */
	uint64_t added_bytes; /* of that, by which arenas of plans have raised it */
};

/* The pool's peak is so high now. */
void seam__plan_cost_note(struct seam_plan_cost *cost, uint64_t reserved_peak_bytes);

/* Bytes up to which a plan may have the pool reserve. */
uint64_t seam__plan_cost_limit(const struct seam_plan_cost *cost);

/* An arena was made: the peak was noted before, and the pool reserves so much now. */
void seam__plan_cost_add(struct seam_plan_cost *cost, uint64_t reserved_bytes);

/* Bytes that a pool without a plan needs for blocks of which so many bytes live at once; at least two chunks more. */
uint64_t seam__plan_cost_without(uint64_t live_bytes, uint64_t chunk_bytes);

#endif
