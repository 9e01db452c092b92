/* make.c: seam_plan_make(): from a trace to a plan that the validator has accepted.
 *
 * In order: requests, period, slots, problem; the solvers under the budget; backing and dynamic groups; the draft; its
 * check. Everything is on the process-wide metadata domain and gone at the end, but the plan.
 *
 * Not here: plans of operator graphs (make_graph.c). No locks.
 */
#include <seam/plan.h>

#include <string.h>

#include "beats.h"
#include "draft.h"
#include "instance.h"
#include "make.h"
#include "meta.h"
#include "period.h"
#include "plan_builder.h"
#include "request.h"
#include "slots.h"
#include "waits.h"

#define RECORDED_ALIGN_BYTES 512u /* what allocators round to; instances are given as they are */

/* What is found out on the way. Zeroed members are allowed to be finished. */
struct making {
	const struct seam_trace *trace;
	struct seam_plan_options options; /* every default filled in */
	struct seam_trace_error *error;
	struct seam__requests requests;
	struct seam__beats beats;
	struct seam__period period;
	struct seam__slots slots;
	struct seam__problem problem;
	struct seam__placement placed;
	struct seam__search search;
};

/* Interval instances come as they are; what a program asked for is rounded as allocators do. */
static uint64_t default_align(const struct seam_trace *trace)
{
	const char *source = seam_trace_string(trace, trace->header.source);

	return source != NULL && strncmp(source, "csv", 3) == 0 ? 1 : RECORDED_ALIGN_BYTES;
}

static enum seam_rc find_period(struct making *making)
{
	const struct seam_plan_options *options = &making->options;
	struct seam_trace_error none = {0};
	enum seam_rc rc;

	switch (options->period) {
	case SEAM_PLAN_PERIOD_WHOLE:
		making->period = seam__period_whole(making->trace);
		return SEAM_OK;
	case SEAM_PLAN_PERIOD_GIVEN:
		return seam__period_given(making->trace, &making->requests, &making->beats, options->first_event,
		                          options->last_event, making->error, &making->period);
	case SEAM_PLAN_PERIOD_FIND:
		return seam__period_find(making->trace, &making->beats, making->error, &making->period);
	case SEAM_PLAN_PERIOD_AUTO:
	default:
		rc = seam__period_find(making->trace, &making->beats, &none, &making->period);
		if (rc != SEAM_NOT_FOUND)
			return rc;
		making->period = seam__period_whole(making->trace);
		return SEAM_OK;
	}
}

static enum seam_rc understand(struct making *making)
{
	const struct seam_plan_options *options = &making->options;
	struct seam__instance_options instance = {.align_bytes = options->align_bytes, .streams = options->streams,
	                                          .fixed = options->fixed, .fixed_count = options->fixed_count};
	enum seam_rc rc = seam__requests_init(making->trace, &making->requests);

	if (rc == SEAM_OK)
		rc = seam__beats_init(making->trace, &making->requests, &making->beats);
	if (rc == SEAM_OK)
		rc = find_period(making);
	if (rc == SEAM_OK)
		rc = seam__slots_init(making->trace, &making->requests, &making->beats, &making->period, making->error,
		                      &making->slots);
	if (rc == SEAM_OK)
		rc = seam__instance_init(seam__meta_process(), making->trace, &making->requests, &making->slots, &instance,
		                         making->error, &making->problem);
	return rc;
}

static enum seam_rc list_waits(struct making *making, struct seam__plan_builder *builder)
{
	struct seam_grow waits;
	enum seam_rc rc = seam__waits_list(&making->slots, &making->problem, making->placed.offsets, &waits);

	if (rc != SEAM_OK)
		return rc;
	for (size_t i = 0; i < waits.count && rc == SEAM_OK; i++)
		rc = seam__plan_builder_wait(builder, (const struct seam_plan_wait *)waits.items + i);
	seam__grow_fini(&waits);
	return rc;
}

static enum seam_rc write_down(struct making *making, struct seam__plan_builder *builder)
{
	struct seam_plan_header *header = &builder->header;
	enum seam_rc rc = seam__draft_slots(builder, making->trace, &making->requests, &making->slots, &making->problem,
	                                    making->placed.offsets, NULL);

	if (rc == SEAM_OK)
		rc = seam__plan_builder_string(builder, making->search.solver, &header->solver);
	if (rc == SEAM_OK && making->options.streams == SEAM_PLAN_STREAMS_INSERT)
		rc = list_waits(making, builder);
	seam__search_describe(&making->search, &making->options, &making->placed, header);
	return rc;
}

static enum seam_rc draft(struct making *making, struct seam_plan **ret_plan)
{
	struct seam__plan_builder builder;
	struct seam_plan *plan = NULL;
	enum seam_rc rc = seam__plan_builder_init(&builder, making->slots.copies);

	if (rc != SEAM_OK)
		return rc;
	rc = write_down(making, &builder);
	if (rc == SEAM_OK)
		rc = seam__plan_builder_finish(&builder, making->error, &plan);
	seam__plan_builder_fini(&builder);
	/* I10: what the validator refuses is never used. It knows nothing of the above. */
	if (rc == SEAM_OK)
		rc = seam_plan_verify(making->trace, plan, making->error);
	if (rc == SEAM_OK)
		*ret_plan = plan;
	else
		seam_plan_free(plan);
	return rc;
}

static void making_fini(struct making *making)
{
	seam__placement_fini(&making->placed, &making->problem);
	seam__problem_fini(&making->problem);
	seam__slots_fini(&making->slots);
	seam__beats_fini(&making->beats);
	seam__requests_fini(&making->requests);
}

enum seam_rc seam_plan_make(const struct seam_trace *trace, const struct seam_plan_options *options,
                            struct seam_trace_error *error, struct seam_plan **ret_plan)
{
	struct making making = {.trace = trace, .error = error, .search = {.solver = ""}};
	enum seam_rc rc = seam__plan_options_resolve(options, default_align(trace), error, &making.options);

	if (rc != SEAM_OK)
		return rc;
	rc = understand(&making);
	if (rc == SEAM_OK)
		rc = seam__placement_init(&making.placed, &making.problem);
	if (rc == SEAM_OK)
		rc = seam__search_run(&making.problem, &making.options, error, &making.placed, &making.search);
	if (rc == SEAM_OK)
		rc = draft(&making, ret_plan);
	making_fini(&making);
	return rc;
}
