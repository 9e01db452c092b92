/* cluster_crossing.h: what lives from one period into the next lies together.
 *
 * A search looks for a low peak, and puts what is small wherever there is room. But what crosses the end of the period
 * (gradients, as a rule) is still there when a program does something else between two periods, an evaluation say.
 * Spread over the arena it is in the way of most that is asked for then, and what it displaces leaves holes around it
 * that are of no use for anything large. So it is moved into as few pieces as are found at once, at no cost: the peak
 * does not rise, and everything else stays.
 *
 * Not here: the search (search.h), which knows nothing of this.
 * Pure and deterministic. No locks.
 */
#ifndef SEAM_CLUSTER_CROSSING_H
#define SEAM_CLUSTER_CROSSING_H

#include "solver.h"

/* Changes a whole placement, unless nothing is gained. What is large, fixed or linked stays where it is. Of a linear
 * problem nothing crosses the end. Errors: SEAM_OOM_META: the placement is as before. O(n log n) for each of a few
 * rounds. */
SEAM_MUST_USE enum seam_rc seam__cluster_crossing(const struct seam_problem *problem, struct seam_placement *placed);

#endif
