/* iterations.h: what a running program repeats, though not exactly: from a recording to periods that are worth a plan
 * each.
 *
 * period.h finds exact repetitions. A program that runs has a warm-up, an evaluation now and then, a checkpoint, a
 * request more or less, sizes that depend on the data, another sequence length. So a recording is first cut into
 * iterations: at its marks of steps where it has enough of them, else at the places that a repetition shows by itself:
 * runs of requests that come again at equal distances, robust to requests that come in between. A stack of equal layers
 * is no period: behind an iteration the multiset of live blocks returns, but for what differs. Iterations that are
 * alike (a diff of their requests) form a *kind*; a kind that was seen twice or more is worth a plan. Its *model* is
 * what most of its iterations do: a request that only a minority has is left out, one whose size differs from iteration
 * to iteration while its neighbours stay is marked as depending on data (SEAM_TRACE_DYNAMIC).
 *
 * Not here: lifetimes, plans. Pure and deterministic. No locks.
 */
#ifndef SEAM_ITERATIONS_H
#define SEAM_ITERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/trace.h>

struct seam_iterations_options {
	uint64_t least_requests; /* of an iteration: shorter ones are not worth it; 0: 16 */
	bool by_form; /* without marks: iterations may be of several shapes, with hardly a size in common. Only where it
		       * is known that there are iterations, or is not believed yet for good reasons: a loop inside of
		       * one has a form as well */
};

#define SEAM__ITERATION_KINDS_MAX 8u
#define SEAM__ITERATIONS_LEAST 2u /* of a kind, before it counts */

struct seam_iteration_kind {
	struct seam_trace
		*model; /* residents, then at least two equal repetitions of the period, valid by T1-T6; blocks that
			 * lived before them keep their ids (also those that the period frees). The kind's */
	uint64_t first_event; /* the last repetition in the model: events [first, last), for SEAM_PLAN_PERIOD_GIVEN */
	uint64_t last_event;
	uint64_t stays_bytes; /* of the residents that the model never frees */
	uint32_t seen;        /* iterations of this kind in the recording */
	uint64_t newest;      /* event of the recording behind the newest one */
	uint64_t run_begin;   /* event of the recording where those begin that follow one another, with others that are
				 worth a plan, up to it */
	uint32_t run;         /* how many those are */
	double lacking;       /* requests of an iteration that the model has not, or in another size, on average */
	bool marked;          /* it begins and ends at marks of steps */
};

struct seam_iterations {
	struct seam_iteration_kind kinds[SEAM__ITERATION_KINDS_MAX]; /* what covers most of the recording first */
	uint32_t count;
	uint64_t cut_events; /* of all iterations of the recording, whatever their kind */
};

/* options: NULL for defaults. No kind at all is no error. O(events log events), but for diffs: O(events * differences).
 * Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__iterations_find(const struct seam_trace *recording,
	const struct seam_iterations_options *options, struct seam_iterations *ret_iterations);
void seam__iterations_fini(struct seam_iterations *iterations);

const char *seam__iterations_check(const struct seam_iterations *iterations);

#endif
