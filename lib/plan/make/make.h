/* make.h: what making a plan from a trace and from an operator graph have in common: options, and the search under
 * them.
 *
 * Not here: the two ways themselves (seam_plan_make(), make_graph.h). No locks.
 */
#ifndef SEAM_MAKE_H
#define SEAM_MAKE_H

#include <seam/plan.h>

#include "solver.h"

/* Fills in every default and refuses what makes no sense. given: may be NULL. align_bytes: where the options leave it
 * open. Errors: SEAM_INVALID, SEAM_NOT_FOUND (solver), with `error` (may be NULL) filled. */
SEAM_MUST_USE enum seam_rc seam__plan_options_resolve(const struct seam_plan_options *given, uint64_t align_bytes,
	struct seam_trace_error *error, struct seam_plan_options *ret_options);

/* SEAM_INVALID, with one line in `error` (may be NULL). */
enum seam_rc seam__options_refuse(struct seam_trace_error *error, const char *why);

/* seam_plan_make(), and how long it takes on one core: estimated from what was done, the same on every machine.
 * *ret_work_ns is set where it fails, too. most_bytes: SEAM_UNSUPPORTED, before any search, where the lower bound is
 * more: no plan would be small enough. */
SEAM_MUST_USE enum seam_rc seam__plan_make(const struct seam_trace *trace, const struct seam_plan_options *options,
	uint64_t most_bytes, struct seam_trace_error *error, uint64_t *ret_work_ns, struct seam_plan **ret_plan);

/* What a search found. */
struct seam_search {
	const char *solver; /* whose placement it is; "" when there was nothing to place */
	uint64_t lower_bytes;
	uint64_t solve_ns;
	uint64_t work_ns; /* the same, estimated: see seam_budget */
	bool cancelled;
};

/* Places the problem by the options' solver or all of them, under their limits, telling their progress.
 * placed: initialised; whole on success.
 * Errors: SEAM_UNSUPPORTED, SEAM_NOT_FOUND (the one solver found nothing in its time), with `error` filled;
 * SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__search_run(const struct seam_problem *problem, const struct seam_plan_options *options,
	struct seam_trace_error *error, struct seam_placement *placed, struct seam_search *ret_search);

/* The target_gap of a search that is content with any peak of at most most_bytes, which is lower_bytes or more. */
double seam__search_gap(uint64_t lower_bytes, uint64_t most_bytes);

/* Sets what the header says about the search: align_bytes, chunk_bytes, arena_bytes, lower_bound_bytes, solve_ns, and
 * the flags for an optimal plan and a cancelled search. */
void seam__search_describe(const struct seam_search *search, const struct seam_plan_options *options,
	const struct seam_placement *placed, struct seam_plan_header *header);

#endif
