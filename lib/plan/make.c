/* make.c: seam_plan_make(): from a trace to a plan that the validator has accepted.
 *
 * In order: requests, period, slots, problem; the solvers under the budget; backing and dynamic groups; the draft; its
 * check. Everything is on the process-wide metadata domain and gone at the end, but the plan.
 *
 * Not here: plans of operator graphs (make_graph.c). No locks.
 */
#include <seam/plan.h>

#include <string.h>

#include "backing.h"
#include "beats.h"
#include "clock.h"
#include "draft.h"
#include "dynamic.h"
#include "homolayer.h"
#include "instance.h"
#include "make.h"
#include "meta.h"
#include "period.h"
#include "plan_builder.h"
#include "request.h"
#include "slots.h"
#include "waits.h"

#define STITCH_NS UINT64_C(2000000000) /* most that finding views may take, where it has no node limit */
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
	struct seam__backing backing;
	struct seam__homolayer homolayer;
	struct seam__dynamic dynamic;
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

/* Nothing is stitched where the plan lists waits: those say who waits for whose addresses, not for whose chunks. */
static enum seam_rc stitch(struct making *making)
{
	const struct seam_plan_options *options = &making->options;
	struct seam__budget budget;

	if (options->no_stitch || options->streams == SEAM_PLAN_STREAMS_INSERT)
		return SEAM_OK;
	seam__budget_init(&budget);
	budget.cancel = options->cancel;
	if (options->node_limit != 0)
		budget.nodes_left = options->node_limit;
	else
		budget.deadline_ns = seam__clock_ns() + (options->time_limit_ns < STITCH_NS ? options->time_limit_ns : STITCH_NS);
	return seam__backing_make(&making->problem, &budget, making->placed.offsets, making->placed.peak_bytes,
	                          options->chunk_bytes, &making->backing);
}

/* Groups of dynamic requests and the space that the placement leaves them. */
static enum seam_rc find_space(struct making *making)
{
	struct seam__dynamic_space space = {.problem = &making->problem, .offsets = making->placed.offsets,
	                                    .backing = &making->backing, .arena_bytes = making->placed.peak_bytes,
	                                    .chunk_bytes = making->options.chunk_bytes, .copies = making->slots.copies};
	enum seam_rc rc = seam__homolayer_init(making->trace, &making->requests, &making->slots, making->problem.streams,
	                                       &making->homolayer);

	if (rc != SEAM_OK)
		return rc;
	return seam__dynamic_init(&space, making->homolayer.requests.items, (uint32_t)making->homolayer.requests.count,
	                          &making->dynamic);
}

static enum seam_rc write_groups(struct making *making, struct seam__plan_builder *builder)
{
	const char *names = making->homolayer.names.section.items;
	const struct seam_plan_range *ranges = making->dynamic.ranges.items;
	enum seam_rc rc = SEAM_OK;

	for (size_t g = 0; g < making->dynamic.groups.count && rc == SEAM_OK; g++) {
		struct seam_plan_group group = ((const struct seam_plan_group *)making->dynamic.groups.items)[g];

		rc = seam__plan_builder_string(builder, names + group.module_begin, &group.module_begin);
		if (rc == SEAM_OK)
			rc = seam__plan_builder_string(builder, names + group.module_end, &group.module_end);
		if (rc == SEAM_OK)
			rc = seam__plan_builder_group(builder, &group);
	}
	for (size_t r = 0; r < making->dynamic.ranges.count && rc == SEAM_OK; r++)
		rc = seam__plan_builder_range(builder, &ranges[r]);
	return rc;
}

static enum seam_rc write_slots(struct making *making, struct seam__plan_builder *builder)
{
	const uint64_t *offsets = making->backing.offsets != NULL ? making->backing.offsets : making->placed.offsets;
	const uint32_t *slots = making->homolayer.slots.items;
	size_t count = seam__slots_count(&making->slots);
	uint32_t *groups;
	enum seam_rc rc;

	if (count == 0)
		return seam__draft_slots(builder, making->trace, &making->requests, &making->slots, &making->problem, offsets,
		                         NULL);
	groups = seam__meta_array(seam__meta_process(), count, sizeof(*groups));
	if (groups == NULL)
		return SEAM_OOM_META;
	for (size_t i = 0; i < making->homolayer.slots.count; i++)
		groups[slots[i]] = making->dynamic.group_of[i];
	rc = seam__draft_slots(builder, making->trace, &making->requests, &making->slots, &making->problem, offsets, groups);
	seam__meta_free(seam__meta_process(), groups, count * sizeof(*groups));
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
	const struct seam__backing *backing = &making->backing;
	enum seam_rc rc = write_slots(making, builder);

	if (rc == SEAM_OK)
		rc = write_groups(making, builder);
	if (rc == SEAM_OK)
		rc = seam__plan_builder_string(builder, making->search.solver, &header->solver);
	if (rc == SEAM_OK && making->options.streams == SEAM_PLAN_STREAMS_INSERT)
		rc = list_waits(making, builder);
	seam__search_describe(&making->search, &making->options, &making->placed, header);
	if (rc == SEAM_OK && backing->chunks != NULL) {
		rc = seam__plan_builder_back(builder, backing->chunks, backing->column_count);
		header->arena_bytes = backing->column_count * making->options.chunk_bytes;
	}
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
	seam__dynamic_fini(&making->dynamic);
	seam__homolayer_fini(&making->homolayer);
	seam__backing_fini(&making->backing, &making->problem);
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
		rc = stitch(&making);
	if (rc == SEAM_OK)
		rc = find_space(&making);
	if (rc == SEAM_OK)
		rc = draft(&making, ret_plan);
	making_fini(&making);
	return rc;
}
