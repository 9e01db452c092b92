/* placer.h: a placement in the making: what is placed so far, and the gaps that are left.
 *
 * What the solvers that put items into gaps have in common; they differ in the order (order.h).
 *
 * Not here: whether the result is better than what was known (solver.h).
 * No locks: one thread at a time.
 */
#ifndef SEAM_PLACER_H
#define SEAM_PLACER_H

#include "gaps.h"
#include "solver.h"

struct seam_placer {
	const struct seam_problem *problem;
	struct seam_timeline timeline;
	struct seam_gaps gaps;
	struct seam_placement made; /* offsets of what is placed; peak_bytes is not kept */
};

/* Nothing is placed. In the problem's region. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__placer_init(struct seam_placer *placer, const struct seam_problem *problem);

/* From now on only the fixed items are placed. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__placer_start(struct seam_placer *placer);

/* Places `head` and what is linked behind it, from `offset_bytes`. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__placer_put(struct seam_placer *placer, uint32_t head, uint64_t offset_bytes);

/* Finds a place below the ceiling for `head` and what is linked behind it, takes it, and takes the work from the
 * budget. Errors: SEAM_NOT_FOUND (no place, or the budget is spent: look there which), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__placer_drop(
	struct seam_placer *placer, uint32_t head, uint64_t ceiling_bytes, struct seam_budget *budget);

#endif
