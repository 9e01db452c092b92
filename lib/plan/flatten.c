/* flatten.c: see flatten.h. */
#include "flatten.h"

#include "bits.h"
#include "heirs.h"
#include "idle.h"
#include "make.h"
#include "meta.h"
#include "plan_builder.h"
#include "trace_error.h"

#define BYTES_MAX (UINT64_C(1) << 62)
#define POSITIONS_MAX (UINT64_C(1) << 31)
#define SLOT_POSITIONS                                                                                            \
	16u /* of a slot: its allocation, its free, and frees of dynamic requests that no slot claims. Each takes \
	     * memory here, and the number stands in the header alone */

/* Zeroed members are allowed to be finished. */
struct flattening {
	const struct seam_plan *plan;
	struct seam_plan_options options;
	struct seam_trace_error *error;
	uint32_t *stream_of;    /* per stream of the plan: that of the problem; SEAM__STREAM_NONE: it has no slot with a
				   place */
	uint32_t *group_stream; /* per group: that of all its slots, or SEAM__STREAM_NONE */
	struct seam__problem problem;
	struct seam__placement placed;
	struct seam__search search;
};

static bool is_placed(const struct seam_plan *plan, uint32_t slot)
{
	return (plan->slots[slot].flags & SEAM_PLAN_DYNAMIC) == 0;
}

/* Numbers the streams of slots with a place; *ret_items: how many of these in all copies. */
static enum seam_rc survey(struct flattening *flat, uint64_t *ret_items, uint32_t *ret_streams)
{
	const struct seam_plan *plan = flat->plan;
	uint64_t bytes = 0;
	uint32_t placed = 0;

	*ret_streams = 0;
	for (uint32_t s = 0; s < plan->header.stream_count; s++)
		flat->stream_of[s] = SEAM__STREAM_NONE;
	for (uint32_t i = 0; i < plan->header.slot_count; i++) {
		uint32_t *stream = &flat->stream_of[plan->slots[i].stream];

		if (!is_placed(plan, i))
			continue;
		placed++;
		if (*stream == SEAM__STREAM_NONE)
			*stream = (*ret_streams)++;
		if (__builtin_add_overflow(bytes, plan->slots[i].size_bytes, &bytes) ||
			__builtin_add_overflow(bytes, plan->header.align_bytes, &bytes))
			bytes = BYTES_MAX;
	}
	*ret_items = (uint64_t)placed * plan->header.copies;
	/* Sizes may be rounded up, copied and summed by everyone without a look. */
	if (bytes < BYTES_MAX / plan->header.copies && *ret_items <= POSITIONS_MAX &&
		(uint64_t)plan->header.positions * plan->header.copies <= POSITIONS_MAX &&
		plan->header.positions / SLOT_POSITIONS <= plan->header.slot_count)
		return SEAM_OK;
	return seam__options_refuse(flat->error, "the plan's sizes or positions are too large to be placed again");
}

static enum seam_rc state_problem(struct flattening *flat)
{
	const struct seam_plan *plan = flat->plan;
	const struct seam_plan_header *header = &plan->header;
	uint64_t items;
	uint32_t streams;
	enum seam_rc rc = survey(flat, &items, &streams);

	if (rc == SEAM_OK)
		rc = seam__problem_init(&flat->problem, seam__meta_process(), (uint32_t)items,
			header->copies * header->positions, (header->flags & SEAM_PLAN_LINEAR) != 0,
			streams == 0 ? 1 : streams, header->align_bytes);
	for (uint32_t copy = 0; rc == SEAM_OK && items > 0 && copy < header->copies; copy++) {
		for (uint32_t i = 0; i < header->slot_count; i++) {
			const struct seam_plan_slot *slot = &plan->slots[i];
			struct seam__item *item;

			if (!is_placed(plan, i))
				continue;
			item = seam__problem_add(&flat->problem, slot->size_bytes,
				copy * header->positions + slot->begin, slot->end - slot->begin);
			item->request = i;
			item->copy = copy;
			item->stream = flat->stream_of[slot->stream];
		}
	}
	if (rc == SEAM_OK)
		rc = seam__heirs_hold(plan, &flat->problem);
	return rc == SEAM_OK ? seam__problem_finish(&flat->problem) : rc;
}

static enum seam_rc place(struct flattening *flat)
{
	enum seam_rc rc = seam__placement_init(&flat->placed, &flat->problem);

	if (rc == SEAM_OK)
		rc = seam__search_run(&flat->problem, &flat->options, flat->error, &flat->placed, &flat->search);
	/* No better is possible with what is known here, nor with what the plan's maker knew; he may have had addresses
	 * that were fixed. */
	if (rc == SEAM_OK && flat->plan->header.lower_bound_bytes <= flat->placed.peak_bytes)
		flat->search.lower_bytes = flat->plan->header.lower_bound_bytes;
	return rc;
}

static enum seam_rc copy_string(const struct seam_plan *plan, struct seam__plan_builder *builder, uint32_t *offset)
{
	return *offset == 0 ? SEAM_OK : seam__plan_builder_string(builder, seam_plan_string(plan, *offset), offset);
}

static enum seam_rc copy_slot(
	const struct flattening *flat, struct seam__plan_builder *builder, uint32_t number, const uint64_t *offsets)
{
	struct seam_plan_slot slot = flat->plan->slots[number];
	enum seam_rc rc = copy_string(flat->plan, builder, &slot.module);

	if (rc == SEAM_OK)
		rc = copy_string(flat->plan, builder, &slot.phase_begin);
	if (rc == SEAM_OK)
		rc = copy_string(flat->plan, builder, &slot.phase_end);
	return rc == SEAM_OK ? seam__plan_builder_slot(builder, &slot, is_placed(flat->plan, number) ? offsets : NULL)
			     : rc;
}

static enum seam_rc write_slots(const struct flattening *flat, struct seam__plan_builder *builder)
{
	const uint32_t copies = flat->plan->header.copies;
	const uint32_t count = flat->plan->header.slot_count;
	const size_t places = (size_t)count * copies;
	enum seam_rc rc = seam__plan_builder_reserve(builder, count);
	uint64_t *offsets;

	if (rc != SEAM_OK || count == 0)
		return rc;
	offsets = seam__meta_array(seam__meta_process(), places, sizeof(*offsets));
	if (offsets == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < flat->problem.count; i++) {
		const struct seam__item *item = &flat->problem.items[i];

		offsets[(size_t)item->request * copies + item->copy] = flat->placed.offsets[i];
	}
	for (uint32_t i = 0; i < count && rc == SEAM_OK; i++)
		rc = copy_slot(flat, builder, i, &offsets[(size_t)i * copies]);
	seam__meta_free(seam__meta_process(), offsets, places * sizeof(*offsets));
	return rc;
}

/* Nothing orders a group with slots of several streams, or with one that other streams used, behind what has a place.
 */
static void find_group_streams(struct flattening *flat)
{
	const struct seam_plan *plan = flat->plan;
	uint32_t *found = flat->group_stream;
	const uint32_t unknown = plan->header.stream_count;

	for (uint32_t g = 0; g < plan->header.group_count; g++)
		found[g] = unknown;
	for (uint32_t i = 0; plan->header.group_count > 0 && i < plan->header.slot_count; i++) {
		const struct seam_plan_slot *slot = &plan->slots[i];
		uint32_t stream =
			(slot->flags & SEAM_PLAN_SHARED) != 0 ? SEAM__STREAM_NONE : flat->stream_of[slot->stream];

		if (!is_placed(plan, i))
			found[slot->group] = found[slot->group] == unknown || found[slot->group] == stream
				? stream
				: SEAM__STREAM_NONE;
	}
	for (uint32_t g = 0; g < plan->header.group_count; g++)
		if (found[g] == unknown)
			found[g] = SEAM__STREAM_NONE;
}

static enum seam_rc write_group(
	const struct flattening *flat, struct seam__plan_builder *builder, struct seam__idle *idle, uint32_t number)
{
	const struct seam_plan *plan = flat->plan;
	struct seam_plan_group group = plan->groups[number];
	enum seam_rc rc = copy_string(plan, builder, &group.module_begin);

	if (rc == SEAM_OK)
		rc = copy_string(plan, builder, &group.module_end);
	group.first_range = (uint32_t)builder->ranges.count;
	if (rc == SEAM_OK)
		rc = seam__idle_find(idle, group.copy * plan->header.positions + group.begin, group.end - group.begin,
			flat->group_stream[number - group.copy], &builder->ranges);
	group.range_count = (uint32_t)builder->ranges.count - group.first_range;
	return rc == SEAM_OK ? seam__plan_builder_group(builder, &group) : rc;
}

static enum seam_rc write_groups(struct flattening *flat, struct seam__plan_builder *builder)
{
	const struct seam_plan *plan = flat->plan;
	const struct seam__backing plain = {0};
	const struct seam__dynamic_space space = {.problem = &flat->problem,
		.offsets = flat->placed.offsets,
		.backing = &plain,
		.arena_bytes = flat->placed.peak_bytes,
		.chunk_bytes = plan->header.chunk_bytes,
		.copies = plan->header.copies};
	struct seam__idle idle;
	enum seam_rc rc;

	if (plan->header.group_count == 0)
		return SEAM_OK;
	find_group_streams(flat);
	rc = seam__idle_init(&idle, &space);
	if (rc != SEAM_OK)
		return rc;
	for (uint32_t g = 0; g < plan->header.group_count && rc == SEAM_OK; g++)
		rc = write_group(flat, builder, &idle, g);
	seam__idle_fini(&idle);
	return rc;
}

static enum seam_rc write_down(struct flattening *flat, struct seam__plan_builder *builder)
{
	const struct seam_plan *plan = flat->plan;
	struct seam_plan_header *header = &builder->header;
	enum seam_rc rc = write_slots(flat, builder);

	if (rc == SEAM_OK)
		rc = write_groups(flat, builder);
	if (rc == SEAM_OK && plan->header.stream_count > 0)
		rc = seam__grow_append(&builder->streams, plan->streams, plan->header.stream_count);
	if (rc == SEAM_OK && plan->header.wait_count > 0) /* whoever waited still does */
		rc = seam__grow_append(&builder->waits, plan->waits, plan->header.wait_count);
	if (rc == SEAM_OK && plan->header.prelude_count > 0)
		rc = seam__grow_append(&builder->prelude, plan->prelude, plan->header.prelude_count);
	if (rc == SEAM_OK)
		rc = seam__plan_builder_string(builder, flat->search.solver, &header->solver);
	header->flags = plan->header.flags & SEAM_PLAN_LINEAR;
	header->fingerprint = plan->header.fingerprint;
	header->first_event = plan->header.first_event;
	header->last_event = plan->header.last_event;
	header->positions = plan->header.positions;
	header->resident_bytes = plan->header.resident_bytes;
	header->unplaced_bytes = plan->header.unplaced_bytes;
	seam__search_describe(&flat->search, &flat->options, &flat->placed, header);
	return rc;
}

static enum seam_rc draft(struct flattening *flat, struct seam_plan **ret_plan)
{
	struct seam__plan_builder builder;
	enum seam_rc rc = seam__plan_builder_init(&builder, flat->plan->header.copies);

	if (rc != SEAM_OK)
		return rc;
	rc = write_down(flat, &builder);
	if (rc == SEAM_OK)
		rc = seam__plan_builder_finish(&builder, flat->error, ret_plan);
	seam__plan_builder_fini(&builder);
	return rc;
}

enum seam_rc seam__plan_flatten(const struct seam_plan *plan, const struct seam_plan_options *options,
	struct seam_trace_error *error, struct seam_plan **ret_plan)
{
	struct flattening flat = {.plan = plan, .error = error};
	struct seam_meta *meta = seam__meta_process();
	const size_t streams = (size_t)plan->header.stream_count + 1;
	const size_t groups = (size_t)plan->header.group_count + 1;
	enum seam_rc rc = seam__plan_options_resolve(options, plan->header.align_bytes, error, &flat.options);

	if (rc != SEAM_OK)
		return rc;
	flat.options.align_bytes = plan->header.align_bytes;
	flat.options.chunk_bytes = plan->header.chunk_bytes;
	if ((plan->header.flags & SEAM_PLAN_GRAPH) != 0)
		return seam__options_refuse(
			error, "a plan of a graph cannot be placed again: its positions order nothing");
	flat.stream_of = seam__meta_array(meta, streams, sizeof(*flat.stream_of));
	flat.group_stream = seam__meta_array(meta, groups, sizeof(*flat.group_stream));
	rc = flat.stream_of == NULL || flat.group_stream == NULL ? SEAM_OOM_META : state_problem(&flat);
	if (rc == SEAM_OK)
		rc = place(&flat);
	if (rc == SEAM_OK)
		rc = draft(&flat, ret_plan);
	seam__placement_fini(&flat.placed, &flat.problem);
	seam__problem_fini(&flat.problem);
	seam__meta_free(meta, flat.group_stream, groups * sizeof(*flat.group_stream));
	seam__meta_free(meta, flat.stream_of, streams * sizeof(*flat.stream_of));
	return rc;
}
