/* solvers.h: the functions that solvers.def names, and their arguments' types. See solver.h for their contract. */
#ifndef SEAM_SOLVERS_H
#define SEAM_SOLVERS_H

#include "chains.h"
#include "fits.h"
#include "objects.h"
#include "solver.h"

/* The worst placement: the sum of all sizes. It bounds the others, and is what a private view per request needs. */
enum seam_rc seam__solve_stack(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument);

/* argument: not NULL for "held", NULL for "apart" (relax.h). For problems with holds. */
enum seam_rc seam__solve_relaxed(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument);

/* Exact search (exact.c): ends when the best placement is proved to be one, or with the budget. Begins at `best`, or
 * with a placement of its own where there is none. */
enum seam_rc seam__solve_exact(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument);

/* SOMAS's Single Object (one range of memory) and Many Objects; see somas.c. argument: struct seam__somas_way. */
struct seam__somas_way {
	const char *name;
	enum seam__chain_order order;
	enum seam__fit fit;
	bool many; /* Many Objects */
};

#define SEAM__SOMAS_WAY(name, order, fit, many) (&(const struct seam__somas_way){name, order, fit, many})

enum seam_rc seam__solve_somas(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument);

/* Those ways one after the other, as many as there seems to be time for. */
enum seam_rc seam__solve_somas_all(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument);

/* After STAlloc: groups of equal phases, then memory layers (stalloc.c). argument: struct seam__stalloc_options. */
enum seam_rc seam__solve_stalloc(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument);

struct seam__stalloc_options {
	const char *name; /* of the solver */
	double least_use; /* groups that use less of their box of size and time are taken apart; above 1: all of them */
};

/* Around fixed items that are there at all times (around_fixed.c). */
enum seam_rc seam__solve_around_fixed(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument);

/* What lives where most is live, by all solvers; then the rest, in the gaps that it leaves (peak_core.c). It needs a
 * placement to begin with. */
enum seam_rc seam__solve_peak_core(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument);

/* What a constructor that takes items in an order does. */
struct seam__recipe {
	const char *name; /* of the solver */
	const char *word; /* the order: see order.h */
	enum seam__fit fit;
};

#define SEAM__RECIPE(name, word, fit) (&(const struct seam__recipe){name, word, fit})

/* The portfolio: items in an order, each into the first or the best gap (greedy.c). argument: struct seam__recipe. */
enum seam_rc seam__solve_greedy(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument);

/* Lowest floor first (floor.c). argument: struct seam__recipe, whose word orders items on equal floors; fit is not
 * used. */
enum seam_rc seam__solve_floor(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument);

/* Rounds of greedy placing, each with what did not fit before moved forward (squeaky_wheel.c). */
enum seam_rc seam__solve_squeaky_wheel(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument);

/* Drops every item to its lowest place, the lowest first, as long as that lowers the peak (compact.c). It needs a
 * placement to begin with. */
enum seam_rc seam__solve_compact(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument);

#endif
