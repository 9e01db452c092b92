/* analysis.h: what a trace asks of a plan: its requests, its period, their lifetimes, and the problem that follows.
 *
 * Not here: placing (make.h); each of the steps, which has a header of its own.
 * Immutable once made; on the process-wide metadata domain. No locks.
 */
#ifndef SEAM_ANALYSIS_H
#define SEAM_ANALYSIS_H

#include <seam/plan.h>

#include "tokens.h"
#include "period.h"
#include "problem.h"
#include "request.h"
#include "slots.h"

struct seam_analysis {
	struct seam_traced_requests requests;
	struct seam_tokens tokens;
	struct seam_period period;
	struct seam_period_slots slots;
	struct seam_problem problem;
	bool inserts; /* the problem is one with inserted waits */
};

/* options: resolved. With SEAM_PLAN_PERIOD_AUTO a loop inside of an iteration is no period, unless steps are marked:
 * most of what lives in it lives on across its boundary (micro-batches in a pipeline), and a plan of it would be of no
 * use. The problem is that of the trace's edges for SEAM_PLAN_STREAMS_AUTO. ret_analysis: stays where it is, as its
 * parts name each other, and the trace as long; for seam__analysis_fini(), after a failure too. Errors: those of
 * seam_plan_make() but for solvers, with `error` (may be NULL) filled. */
SEAM_MUST_USE enum seam_rc seam__analysis_init(const struct seam_trace *trace, const struct seam_plan_options *options,
	struct seam_trace_error *error, struct seam_analysis *ret_analysis);

/* Another problem of the same slots, in the place of the one that is there: see instance.h. Errors: SEAM_OOM_META:
 * there is none then. */
SEAM_MUST_USE enum seam_rc seam__analysis_replace(struct seam_analysis *analysis,
	const struct seam_plan_options *options, enum seam_plan_streams streams, uint32_t apart_positions,
	struct seam_trace_error *error);

void seam__analysis_fini(struct seam_analysis *analysis); /* a zeroed one is allowed */

/* What sizes are rounded up to where nobody says: as allocators do it, but interval instances are taken as they are. */
uint64_t seam__analysis_align(const struct seam_trace *trace);

#endif
