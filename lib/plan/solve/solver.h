/* solver.h: what every solver of a placement problem is, and the budget that it works under.
 *
 * A solver takes a problem and the best placement known so far, and replaces that by a better one if it finds one. It
 * works on a copy until it has a whole placement that is better, so `best` is complete at every moment: whoever stops
 * a solver keeps what was found.
 *
 * Not here: the solvers (one file each, listed in solvers.def); their order (pipeline.h).
 * Pure: the same problem, the same best and the same budget in nodes give the same answer; only a deadline or a
 * cancellation makes a difference. No locks; one thread per problem and budget, several problems at once.
 */
#ifndef SEAM_SOLVER_H
#define SEAM_SOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#include "problem.h"

#define SEAM__PEAK_NONE UINT64_MAX /* no placement yet */

struct seam_budget;
struct seam_placement;

/* Replaces `best` when better placements are found. What it needs beside is the problem's region's.
 * Errors: SEAM_OOM_META (`best` is whole all the same). A spent budget is no error. */
typedef enum seam_rc (*seam__solve)(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument);

struct seam_placement {
	uint64_t *offsets;   /* per item of the problem; meaningless while peak_bytes is SEAM__PEAK_NONE */
	uint64_t peak_bytes; /* largest offset + size */
};

struct seam_budget {
	uint64_t deadline_ns;  /* on seam__clock_thread_ns(), of the thread that solves; UINT64_MAX: none */
	uint64_t nodes_left;   /* steps of work, each about a microsecond; UINT64_MAX: no limit */
	uint64_t target_bytes; /* a placement of this peak or less is good enough: solvers stop there */
	const int *cancel;     /* stop once it is not 0; read as an atomic. NULL: never */
	uint64_t *work_ns; /* what is done under it and its copies is added here: time on one core, estimated from items
			    * and nodes (solvers.def), and so the same on every machine. NULL: nobody asks */
	uint32_t node_ns;  /* private: of the solver at work */
	uint32_t until_look; /* private: nodes until the clock is read again */
	bool spent;          /* set once it is, and stays */
	const char *solver;  /* the one at work, for progress: set by seam__solver_run() */
	/* All solvers, one after the other, for those that have a smaller problem solved; the pipeline says so, not
	 * they. NULL: such a solver does nothing. */
	seam__solve inner;
	/* Called whenever the clock is read. NULL allowed. */
	void (*tick)(void *context);
	void *tick_context;
	/* Called when `best` has become better. NULL allowed. */
	void (*progress)(void *context, const char *solver, uint64_t peak_bytes);
	void *progress_context;
};

/* No limit at all; target 0. */
void seam__budget_init(struct seam_budget *budget);

/* Takes `nodes` from the budget and says whether to go on. Cheap: reads the clock once in about 1000 nodes, or at once
 * for a call with 1000 nodes or more. */
bool seam__budget_spend(struct seam_budget *budget, uint64_t nodes);

/* What a problem may have that not every solver can do. A problem has WRAP when some item crosses the end of the circle
 * or lives all around it, FIXED when one has an address, HOLDS when some hold differs from the span, LINKS when one has
 * a successor. */
#define SEAM__HAS_WRAP 0x1u
#define SEAM__HAS_FIXED 0x2u
#define SEAM__HAS_HOLDS 0x4u
#define SEAM__HAS_LINKS 0x8u
#define SEAM__HAS_ALL 0xFu

unsigned seam__problem_features(const struct seam_problem *problem); /* O(count * streams) */

struct seam_solver {
	const char *name; /* as on the command line */
	const char *text; /* one line */
	unsigned can;     /* SEAM__HAS_...: what it copes with */
	uint32_t item_ns; /* what it takes on one core, for each item and each node */
	uint32_t node_ns;
	seam__solve solve;
	const void *argument; /* what distinguishes solvers of one function */
};

/* Can the solver do something about a problem with these features? */
bool seam__solver_can(const struct seam_solver *solver, unsigned features);

/* All of solvers.def in order; *ret_count of them. */
const struct seam_solver *seam__solver_list(size_t *ret_count);

/* NULL when there is none of that name. */
const struct seam_solver *seam__solver_find(const char *name);

/* Runs one solver: refuses what it cannot do (SEAM_UNSUPPORTED, `best` untouched), and places nothing when the problem
 * has no items (peak 0). What comes back is not checked here. Gives back what the solver took from the problem's
 * region. */
SEAM_MUST_USE enum seam_rc seam__solver_run(const struct seam_solver *solver, const struct seam_problem *problem,
	struct seam_budget *budget, struct seam_placement *best);

/* offsets for every item of the problem, in its region; peak SEAM__PEAK_NONE. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__placement_init(struct seam_placement *placement, const struct seam_problem *problem);

/* The largest offset + size. */
uint64_t seam__placement_peak(const struct seam_problem *problem, const uint64_t *offsets);

/* Called by solvers: if the candidate's peak (computed here) is below that of `best`, copies it there and reports
 * progress. Returns whether it did. */
bool seam__placement_improve(struct seam_placement *best, const struct seam_problem *problem,
	struct seam_budget *budget, const uint64_t *offsets);

#endif
