/* analysis.c: see analysis.h. */
#include "analysis.h"

#include <string.h>

#include "instance.h"
#include "meta.h"
#include "trace_error.h"

#define RECORDED_ALIGN_BYTES 512u

uint64_t seam__analysis_align(const struct seam_trace *trace)
{
	const char *source = seam_trace_string(trace, trace->header.source);

	return source != NULL && strncmp(source, "csv", 3) == 0 ? 1 : RECORDED_ALIGN_BYTES;
}

static enum seam_rc find_period(const struct seam_trace *trace, const struct seam_plan_options *options,
	struct seam_trace_error *error, struct seam_analysis *analysis)
{
	struct seam_trace_error none = {0};
	enum seam_rc rc;

	switch (options->period) {
	case SEAM_PLAN_PERIOD_WHOLE:
		analysis->period = seam__period_whole(trace);
		return SEAM_OK;
	case SEAM_PLAN_PERIOD_GIVEN:
		return seam__period_given(
			&analysis->tokens, options->first_event, options->last_event, error, &analysis->period);
	case SEAM_PLAN_PERIOD_FIND:
		return seam__period_find(&analysis->tokens, error, &analysis->period);
	case SEAM_PLAN_PERIOD_AUTO:
	default:
		rc = seam__period_find(&analysis->tokens, &none, &analysis->period);
		if (rc == SEAM_NOT_FOUND) {
			analysis->period = seam__period_whole(trace);
			rc = SEAM_OK;
		}
		return rc;
	}
}

static enum seam_rc make_problem(const struct seam_plan_options *options, enum seam_plan_streams streams,
	uint32_t apart_positions, struct seam_trace_error *error, struct seam_analysis *analysis)
{
	const struct seam_instance_options instance = {.align_bytes = options->align_bytes,
		.streams = streams,
		.apart_positions = apart_positions,
		.fixed = options->fixed,
		.fixed_count = options->fixed_count,
		.taken = options->taken,
		.taken_count = options->taken_count};

	analysis->inserts = streams == SEAM_PLAN_STREAMS_INSERT;
	return seam__instance_init(seam__meta_process(), &analysis->slots, &instance, error, &analysis->problem);
}

/* From the period on. On failure nothing of it is left. */
static enum seam_rc lay_out(
	const struct seam_plan_options *options, struct seam_trace_error *error, struct seam_analysis *analysis)
{
	const enum seam_plan_streams streams =
		options->streams == SEAM_PLAN_STREAMS_AUTO ? SEAM_PLAN_STREAMS_EDGES : options->streams;
	enum seam_rc rc = seam__slots_init(&analysis->tokens, &analysis->period, error, &analysis->slots);

	if (rc != SEAM_OK)
		return rc;
	rc = make_problem(options, streams, 0, error, analysis);
	if (rc != SEAM_OK)
		seam__slots_fini(&analysis->slots);
	return rc;
}

static bool has_steps(const struct seam_trace *trace)
{
	for (uint64_t i = 0; i < trace->header.event_count; i++)
		if (trace->events[i].kind == SEAM_TRACE_STEP)
			return true;
	return false;
}

/* Does more than half of what lives at the peak live all the time, of blocks that come and go? */
static enum seam_rc is_inner_loop(const struct seam_trace *trace, const struct seam_analysis *analysis, bool *ret_is)
{
	const struct seam_problem *problem = &analysis->problem;
	uint64_t least = UINT64_MAX;
	uint64_t most = 0;

	*ret_is = false;
	if (analysis->period.linear || problem->circle == 0 || has_steps(trace))
		return SEAM_OK;
	uint64_t *live = seam__meta_array(problem->meta, problem->circle, sizeof(*live));
	if (live == NULL)
		return SEAM_OOM_META;
	seam__problem_live(problem, live);
	for (uint32_t t = 0; t < problem->circle; t++) {
		least = live[t] < least ? live[t] : least;
		most = live[t] > most ? live[t] : most;
	}
	seam__meta_free(problem->meta, live, (size_t)problem->circle * sizeof(*live));
	*ret_is = least > most / 2;
	return SEAM_OK;
}

/* Replaces what was laid out for an inner loop by the whole of the trace. */
static enum seam_rc reconsider(const struct seam_trace *trace, const struct seam_plan_options *options,
	struct seam_trace_error *error, struct seam_analysis *analysis)
{
	bool inner;
	enum seam_rc rc = is_inner_loop(trace, analysis, &inner);

	if (rc != SEAM_OK || !inner)
		return rc;
	seam__problem_fini(&analysis->problem);
	seam__slots_fini(&analysis->slots);
	analysis->period = seam__period_whole(trace);
	return lay_out(options, error, analysis);
}

enum seam_rc seam__analysis_replace(struct seam_analysis *analysis, const struct seam_plan_options *options,
	enum seam_plan_streams streams, uint32_t apart_positions, struct seam_trace_error *error)
{
	seam__problem_fini(&analysis->problem);
	return make_problem(options, streams, apart_positions, error, analysis);
}

enum seam_rc seam__analysis_init(const struct seam_trace *trace, const struct seam_plan_options *options,
	struct seam_trace_error *error, struct seam_analysis *ret_analysis)
{
	*ret_analysis = (struct seam_analysis){.inserts = false};
	enum seam_rc rc = seam__requests_init(trace, &ret_analysis->requests);
	if (rc == SEAM_INVALID)
		seam__trace_error_set(error, 0, "more events or bytes than a plan can hold");
	if (rc == SEAM_OK)
		rc = seam__tokens_init(&ret_analysis->requests, &ret_analysis->tokens);
	if (rc == SEAM_OK)
		rc = find_period(trace, options, error, ret_analysis);
	if (rc == SEAM_OK)
		rc = lay_out(options, error, ret_analysis);
	if (rc == SEAM_OK && options->period == SEAM_PLAN_PERIOD_AUTO)
		rc = reconsider(trace, options, error, ret_analysis);
	return rc;
}

void seam__analysis_fini(struct seam_analysis *analysis)
{
	seam__problem_fini(&analysis->problem);
	seam__slots_fini(&analysis->slots);
	seam__tokens_fini(&analysis->tokens);
	seam__requests_fini(&analysis->requests);
}
