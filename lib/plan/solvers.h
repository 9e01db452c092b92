/* solvers.h: the functions that solvers.def names, and their arguments' types. See solver.h for their contract. */
#ifndef SEAM_SOLVERS_H
#define SEAM_SOLVERS_H

#include "chains.h"
#include "objects.h"
#include "solver.h"

/* The worst placement: the sum of all sizes. It bounds the others, and is what a private view per request needs. */
enum seam_rc seam__solve_stack(const struct seam__problem *problem, struct seam__budget *budget,
                               struct seam__placement *best, const void *argument);

/* argument: not NULL for "held", NULL for "apart" (relax.h). For problems with holds. */
enum seam_rc seam__solve_relaxed(const struct seam__problem *problem, struct seam__budget *budget,
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
	const char *name;  /* of the solver */
	double least_use;  /* groups that use less of their box of size and time are taken apart; above 1: all of them */
};

#endif
