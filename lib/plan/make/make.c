/* make.c: seam_plan_make(): from a trace to a plan that the validator has accepted.
 *
 * In order: the analysis of the trace (analysis.h); the solvers under the budget; dynamic groups; the assembly of the
 * plan; its check. Everything is on the process-wide metadata domain and gone at the end, but the plan.
 *
 * Not here: plans of operator graphs (make_graph.c). No locks.
 */
#include <seam/plan.h>

#include "plan_assembly.h"
#include "dynamic.h"
#include "homolayer.h"
#include "cluster_crossing.h"
#include "make.h"
#include "plan_builder.h"
#include "prologue.h"
#include "region.h"
#include "analysis.h"
#include "trace_error.h"
#include "wait_distance.h"
#include "waits.h"

#define EVENT_NS UINT64_C(1250) /* for each event: all but the solvers, at most, measured as solvers.def says */

/* What is found out on the way. Zeroed members are allowed to be finished. */
struct making {
	const struct seam_trace *trace;
	struct seam_plan_options options; /* every default filled in */
	struct seam_trace_error *error;
	struct seam_analysis analysis;
	struct seam_placement placed;
	struct seam_search search;
	struct seam_homolayer homolayer;
	struct seam_dynamic dynamic;
};

/* Groups of dynamic requests and the space that the placement leaves them. */
static enum seam_rc find_space(struct making *making)
{
	struct seam_dynamic_space space = {.problem = &making->analysis.problem,
		.offsets = making->placed.offsets,
		.arena_bytes = making->placed.peak_bytes,
		.copies = making->analysis.slots.copies};
	enum seam_rc rc =
		seam__homolayer_init(&making->analysis.slots, making->analysis.problem.streams, &making->homolayer);

	if (rc != SEAM_OK)
		return rc;
	return seam__dynamic_init(
		&space, making->homolayer.requests.items, (uint32_t)making->homolayer.requests.count, &making->dynamic);
}

static enum seam_rc write_groups(struct making *making, struct seam_plan_builder *builder)
{
	const char *names = making->homolayer.names.section.items;
	enum seam_rc rc = SEAM_OK;

	for (size_t g = 0; g < making->dynamic.groups.count && rc == SEAM_OK; g++) {
		struct seam_plan_group group = ((const struct seam_plan_group *)making->dynamic.groups.items)[g];

		rc = seam__plan_builder_string(builder, names + group.module_begin, &group.module_begin);
		if (rc == SEAM_OK)
			rc = seam__plan_builder_string(builder, names + group.module_end, &group.module_end);
		if (rc == SEAM_OK)
			rc = seam__grow_append(&builder->groups, &group, 1);
	}
	if (rc == SEAM_OK && making->dynamic.ranges.count > 0)
		rc = seam__grow_append(&builder->ranges, making->dynamic.ranges.items, making->dynamic.ranges.count);
	return rc;
}

static enum seam_rc write_slots(struct making *making, struct seam_plan_builder *builder)
{
	const uint32_t *slots = making->homolayer.slots.items;
	size_t count = seam__slots_count(&making->analysis.slots);
	uint32_t *groups = seam__region_array(making->analysis.problem.region, count, sizeof(*groups));

	if (groups == NULL)
		return SEAM_OOM_META;
	for (size_t i = 0; i < making->homolayer.slots.count; i++)
		groups[slots[i]] = making->dynamic.group_of[i];
	return seam__plan_assembly_slots(
		builder, &making->analysis.slots, &making->analysis.problem, making->placed.offsets, groups);
}

static enum seam_rc list_waits(struct making *making, struct seam_plan_builder *builder)
{
	struct seam_grow waits;
	enum seam_rc rc =
		seam__waits_list(&making->analysis.slots, &making->analysis.problem, making->placed.offsets, &waits);

	if (rc != SEAM_OK)
		return rc;
	if (waits.count > 0)
		rc = seam__grow_append(&builder->waits, waits.items, waits.count);
	seam__grow_fini(&waits);
	return rc;
}

static enum seam_rc write_down(struct making *making, struct seam_plan_builder *builder)
{
	struct seam_plan_header *header = &builder->header;
	enum seam_rc rc = write_slots(making, builder);

	if (rc == SEAM_OK)
		rc = write_groups(making, builder);
	if (rc == SEAM_OK)
		rc = seam__plan_builder_string(builder, making->search.solver, &header->solver);
	if (rc == SEAM_OK)
		rc = seam__prologue_add(making->analysis.problem.region, &making->analysis.slots, builder);
	if (rc == SEAM_OK && making->analysis.inserts)
		rc = list_waits(making, builder);
	seam__search_describe(&making->search, &making->options, &making->placed, header);
	return rc;
}

static enum seam_rc assemble(struct making *making, struct seam_plan **ret_plan)
{
	struct seam_plan_builder builder;
	struct seam_plan *plan = NULL;
	enum seam_rc rc = seam__plan_builder_init(&builder, making->analysis.slots.copies);

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
	seam__analysis_fini(&making->analysis);
}

enum seam_rc seam__plan_make(const struct seam_trace *trace, const struct seam_plan_options *options,
	uint64_t most_bytes, struct seam_trace_error *error, uint64_t *ret_work_ns, struct seam_plan **ret_plan)
{
	struct making making = {.trace = trace, .error = error, .search = {.solver = ""}};
	enum seam_rc rc = seam__plan_options_resolve(options, seam__analysis_align(trace), error, &making.options);

	*ret_work_ns = 0;
	uint64_t work_ns = 0;
	if (rc != SEAM_OK)
		return rc;
	rc = seam__analysis_init(trace, &making.options, error, &making.analysis);
	if (rc == SEAM_OK && making.options.streams == SEAM_PLAN_STREAMS_AUTO)
		rc = seam__wait_distance_choose(&making.options, most_bytes, error, &making.analysis, &work_ns);
	if (rc == SEAM_OK && making.analysis.problem.lower_bytes > most_bytes)
		rc = SEAM_UNSUPPORTED;
	if (rc == SEAM_OK) {
		const double most_gap = seam__search_gap(making.analysis.problem.lower_bytes, most_bytes);
		if (making.options.target_gap > most_gap) /* near the lower bound, and too large all the same */
			making.options.target_gap = most_gap;
		rc = seam__placement_init(&making.placed, &making.analysis.problem);
	}
	if (rc == SEAM_OK)
		rc = seam__search_run(&making.analysis.problem, &making.options, error, &making.placed, &making.search);
	if (rc == SEAM_OK && making.options.solver == NULL)
		rc = seam__cluster_crossing(&making.analysis.problem, &making.placed);
	if (rc == SEAM_OK)
		rc = find_space(&making);
	if (rc == SEAM_OK)
		rc = assemble(&making, ret_plan);
	*ret_work_ns = work_ns + making.search.work_ns + trace->header.event_count * EVENT_NS;
	making_fini(&making);
	return rc;
}

enum seam_rc seam_plan_make(const struct seam_trace *trace, const struct seam_plan_options *options,
	struct seam_trace_error *error, struct seam_plan **ret_plan)
{
	uint64_t ignored_ns;

	if (trace == NULL || ret_plan == NULL)
		return seam__trace_error_rc(error, SEAM_INVALID);
	return seam__plan_make(trace, options, UINT64_MAX, error, &ignored_ns, ret_plan);
}
