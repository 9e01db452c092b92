/* solvers.h: the functions that solvers.def names, and their arguments' types. See solver.h for their contract. */
#ifndef SEAM_SOLVERS_H
#define SEAM_SOLVERS_H

#include "solver.h"

/* The worst placement: the sum of all sizes. It bounds the others, and is what a private view per request needs. */
enum seam_rc seam__solve_stack(const struct seam__problem *problem, struct seam__budget *budget,
                               struct seam__placement *best, const void *argument);

/* argument: not NULL for "held", NULL for "apart" (relax.h). Nothing where there are no holds. */
enum seam_rc seam__solve_relaxed(const struct seam__problem *problem, struct seam__budget *budget,
                                 struct seam__placement *best, const void *argument);

#endif
