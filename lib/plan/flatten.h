/* flatten.h: from a stitched plan to one of the same requests whose arena backs itself.
 *
 * Sizes, positions, groups, names and the prelude stay; the addresses, the ranges of groups and what the header says
 * about them are made anew. Slots of one stream share what their lifetimes allow. Slots of different streams share what
 * the stitched plan's own addresses prove that they may (heirs.h), which can be less than what its maker knew: the plan
 * may need more memory than one that is made of the trace without stitching. Which requests were of private pools, and
 * which addresses were fixed or taken, a plan does not say: neither is kept apart. What a slot of a private pool has
 * may go to others of its stream: this is for pools, which serve private requests from no plan.
 *
 * Not here: making plans of traces (seam_plan_make()). Pure but for deadlines. No locks.
 */
#ifndef SEAM_FLATTEN_H
#define SEAM_FLATTEN_H

#include <seam/plan.h>

/* Of the options the solver, the limits, target_gap, cancel and progress count. A plan that is not stitched is placed
 * again all the same. Everything is on the process-wide metadata domain. Errors: SEAM_INVALID (options; a plan of a
 * graph, whose positions order nothing; sizes or positions too large), SEAM_NOT_FOUND, SEAM_UNSUPPORTED (the one
 * solver), with `error` (may be NULL) filled; SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__plan_flatten(const struct seam_plan *plan, const struct seam_plan_options *options,
	struct seam_trace_error *error, struct seam_plan **ret_plan);

#endif
