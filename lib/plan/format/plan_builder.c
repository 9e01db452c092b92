/* plan_builder.c: see plan_builder.h. */
#include "plan_builder.h"

#include "bits.h"
#include "check.h"
#include "plan_format.h"
#include "trace_error.h"

enum seam_rc seam__plan_builder_init(struct seam_plan_builder *builder, uint32_t copies)
{
	SEAM_ASSERT(copies > 0);
	*builder = (struct seam_plan_builder){
		.header = {.copies = copies, .align_bytes = 512, .chunk_bytes = (uint64_t)2 << 20},
	};
	seam__grow_init(&builder->slots, sizeof(struct seam_plan_slot));
	seam__grow_init(&builder->offsets, sizeof(uint64_t));
	seam__grow_init(&builder->streams, sizeof(uint64_t));
	seam__grow_init(&builder->waits, sizeof(struct seam_plan_wait));
	seam__grow_init(&builder->groups, sizeof(struct seam_plan_group));
	seam__grow_init(&builder->ranges, sizeof(struct seam_plan_range));
	seam__grow_init(&builder->prologue, sizeof(struct seam_plan_prologue));
	return seam__strings_init(&builder->strings);
}

void seam__plan_builder_fini(struct seam_plan_builder *builder)
{
	seam__strings_fini(&builder->strings);
	seam__grow_fini(&builder->prologue);
	seam__grow_fini(&builder->ranges);
	seam__grow_fini(&builder->groups);
	seam__grow_fini(&builder->waits);
	seam__grow_fini(&builder->streams);
	seam__grow_fini(&builder->offsets);
	seam__grow_fini(&builder->slots);
}

enum seam_rc seam__plan_builder_reserve(struct seam_plan_builder *builder, uint32_t slots)
{
	if (slots > SIZE_MAX / builder->header.copies)
		return SEAM_OOM_META;
	enum seam_rc rc = seam__grow_reserve(&builder->offsets, (size_t)slots * builder->header.copies);
	return rc == SEAM_OK ? seam__grow_reserve(&builder->slots, slots) : rc;
}

enum seam_rc seam__plan_builder_slot(
	struct seam_plan_builder *builder, const struct seam_plan_slot *slot, const uint64_t *offsets)
{
	static const uint64_t no_address = SEAM_PLAN_NO_ADDRESS;
	enum seam_rc rc = seam__plan_builder_reserve(builder, 1);
	for (uint32_t copy = 0; rc == SEAM_OK && copy < builder->header.copies; copy++)
		rc = seam__grow_append(&builder->offsets, offsets == NULL ? &no_address : &offsets[copy], 1);
	return rc == SEAM_OK ? seam__grow_append(&builder->slots, slot, 1) : rc;
}

enum seam_rc seam__plan_builder_stream(struct seam_plan_builder *builder, uint64_t stream, uint32_t *ret_number)
{
	const uint64_t *streams = builder->streams.items;
	size_t number = 0;
	while (number < builder->streams.count && streams[number] != stream)
		number++;
	if (number == builder->streams.count) {
		enum seam_rc rc = seam__grow_append(&builder->streams, &stream, 1);
		if (rc != SEAM_OK)
			return rc;
	}
	*ret_number = (uint32_t)number;
	return SEAM_OK;
}

enum seam_rc seam__plan_builder_string(struct seam_plan_builder *builder, const char *text, uint32_t *ret_offset)
{
	return seam__strings_intern(&builder->strings, text, ret_offset);
}

/* What follows from the sections. False, with `error` filled, when something is too much for its field. */
static int complete_header(struct seam_plan_builder *builder, struct seam_trace_error *error)
{
	struct seam_plan_header *header = &builder->header;
	const struct seam_grow *counted[] = {&builder->slots, &builder->streams, &builder->waits, &builder->groups,
		&builder->ranges, &builder->prologue};
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		if (counted[i]->count > UINT32_MAX) {
			seam__trace_error_set(error, 0, "a plan has more records of a kind than can be numbered");
			return 0;
		}
	}
	const uint64_t arena = seam__bits_div_up(header->arena_bytes, header->chunk_bytes);
	const uint64_t lower = seam__bits_div_up(header->lower_bound_bytes, header->chunk_bytes);
	if (arena > UINT32_MAX || lower > UINT32_MAX) {
		seam__trace_error_set(error, 0,
			"the placement of %llu bytes has too many chunks of %llu bytes to number them",
			(unsigned long long)header->arena_bytes, (unsigned long long)header->chunk_bytes);
		return 0;
	}
	header->slot_count = (uint32_t)builder->slots.count;
	header->stream_count = (uint32_t)builder->streams.count;
	header->wait_count = (uint32_t)builder->waits.count;
	header->group_count = (uint32_t)builder->groups.count;
	header->range_count = (uint32_t)builder->ranges.count;
	header->prologue_count = (uint32_t)builder->prologue.count;
	header->string_bytes = builder->strings.section.count;
	header->arena_chunks = (uint32_t)arena;
	header->lower_bound_chunks = (uint32_t)lower;
	return 1;
}

enum seam_rc seam__plan_builder_finish(
	struct seam_plan_builder *builder, struct seam_trace_error *error, struct seam_plan **ret_plan)
{
	SEAM_ASSERT_DEEP(seam__plan_builder_check(builder));
	if (builder->header.chunk_bytes == 0)
		return seam__trace_error_rc(error, SEAM_INVALID);
	if (!complete_header(builder, error))
		return SEAM_INVALID;
	const void *const sections[SEAM__PLAN_SECTIONS] = {
		[SEAM__PLAN_SLOTS] = builder->slots.items,
		[SEAM__PLAN_OFFSETS] = builder->offsets.items,
		[SEAM__PLAN_STREAMS] = builder->streams.items,
		[SEAM__PLAN_WAITS] = builder->waits.items,
		[SEAM__PLAN_GROUPS] = builder->groups.items,
		[SEAM__PLAN_RANGES] = builder->ranges.items,
		[SEAM__PLAN_PROLOGUE] = builder->prologue.items,
		[SEAM__PLAN_STRINGS] = builder->strings.section.items,
	};
	return seam__plan_create(&builder->header, sections, error, ret_plan);
}

const char *seam__plan_builder_check(const struct seam_plan_builder *builder)
{
	if (builder->offsets.count != builder->slots.count * builder->header.copies)
		return "plan_builder: copies addresses for every slot";
	return NULL;
}
