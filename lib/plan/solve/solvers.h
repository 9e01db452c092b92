/* solvers.h: the functions that solvers.def names. See solver.h for their contract. */
#ifndef SEAM_SOLVERS_H
#define SEAM_SOLVERS_H

#include "solver.h"

/* The worst placement: the sum of all sizes. It bounds the others, and is what a private view per request needs. */
enum seam_rc seam__solve_stack(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument);

/* Exact search (exact.c): ends when the best placement is proved to be one, or with the budget. Begins at `best`, or
 * with a placement of its own where there is none. */
enum seam_rc seam__solve_exact(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument);

/* Memory layers after STAlloc (layers.c). */
enum seam_rc seam__solve_layers(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument);

/* Around fixed items that are there at all times (around_fixed.c). */
enum seam_rc seam__solve_around_fixed(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument);

/* What lives where most is live, by all solvers; then the rest, in the gaps that it leaves (peak_core.c). It needs a
 * placement to begin with. */
enum seam_rc seam__solve_peak_core(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument);

/* The portfolio: items in an order, each into the lowest gap (greedy.c). argument: the order's word, see order.h. */
enum seam_rc seam__solve_greedy(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument);

/* Lowest floor first (floor.c). */
enum seam_rc seam__solve_floor(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument);

/* Rounds of greedy placing, each with what did not fit before moved forward (squeaky_wheel.c). */
enum seam_rc seam__solve_squeaky_wheel(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument);

#endif
