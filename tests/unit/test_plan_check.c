/* test_plan_check.c: every invariant L0-L4 by name, each broken in one field of a plan that holds them. */
#include <criterion/criterion.h>
#include <string.h>

#include "plan_format.h"
#include "plan_sample.h"
#include "trace_sample.h"

/* A field of a record of a builder: which section, which record, where in it. */
struct change {
	const char *broken; /* the invariant; NULL: the plan stays valid */
	const char *what;
	enum { HEADER, SLOT, OFFSET, WAIT, GROUP, RANGE, PROLOGUE } section;
	size_t record;
	size_t offset;
	size_t bytes;
	uint64_t value;
};

#define FIELD(type, field) offsetof(struct seam_plan_##type, field), sizeof(((struct seam_plan_##type *)0)->field)

static const struct change changes[] = {
	{NULL, "nothing", HEADER, 0, FIELD(header, fingerprint), 1},
	{"L1", "an alignment of 0", HEADER, 0, FIELD(header, align_bytes), 0},
	{"L1", "an alignment of 3", HEADER, 0, FIELD(header, align_bytes), 3},
	{"L1", "a larger alignment", HEADER, 0, FIELD(header, align_bytes), 1024},
	{"L1", "residents of more than 2^62", HEADER, 0, FIELD(header, resident_bytes), ((uint64_t)1 << 62) + 1},
	{NULL, "residents of 2^62", HEADER, 0, FIELD(header, resident_bytes), (uint64_t)1 << 62},
	{"L1", "a lower bound above the arena", HEADER, 0, FIELD(header, lower_bound_bytes), 7169},
	{"L1", "no bytes", SLOT, 0, FIELD(slot, size_bytes), 0},
	{"L1", "2^64 bytes", SLOT, 0, FIELD(slot, size_bytes), UINT64_MAX},
	{"L1", "an address out of the arena", OFFSET, 9, 0, 8, 6656},
	{"L1", "an address above everything", OFFSET, 8, 0, 8, UINT64_MAX - 511},
	{"L1", "an odd address", OFFSET, 0, 0, 8, 256},
	{"L1", "no address", OFFSET, 0, 0, 8, SEAM_PLAN_NO_ADDRESS},
	{"L1", "a dynamic slot with an address", OFFSET, 6, 0, 8, 4096},
	{"L2", "it begins with the next one", SLOT, 0, FIELD(slot, begin), 1},
	{"L2", "it begins behind the period", SLOT, 5, FIELD(slot, begin), 10},
	{"L2", "it ends when it begins", SLOT, 0, FIELD(slot, end), 0},
	{"L2", "it lives longer than the copies", SLOT, 2, FIELD(slot, end), 24},
	{"L2", "two copies of a line", HEADER, 0, FIELD(header, flags), SEAM_PLAN_LINEAR},
	{"L2", "a group ends before it begins", GROUP, 0, FIELD(group, end), 5},
	{"L3", "an unknown flag", HEADER, 0, FIELD(header, flags), 16},
	{"L3", "reserved bytes", HEADER, 0, FIELD(header, reserved[83]), 1},
	{"L3", "a stitched plan", HEADER, 0, FIELD(header, reserved_backing), 7},
	{"L3", "a stretch of events that ends before it begins", HEADER, 0, FIELD(header, last_event), 2},
	{"L3", "a solver that is no string", HEADER, 0, FIELD(header, solver), 1000},
	{"L3", "a solver in the middle of a string", HEADER, 0, FIELD(header, solver), 2},
	{"L3", "an unknown stream", SLOT, 0, FIELD(slot, stream), 2},
	{"L3", "an unknown flag of a slot", SLOT, 0, FIELD(slot, flags), 4},
	{"L3", "reserved bytes of a slot", SLOT, 0, FIELD(slot, reserved), 1},
	{"L3", "a module that is no string", SLOT, 0, FIELD(slot, module), 3},
	{"L3", "a phase that is no string", SLOT, 0, FIELD(slot, phase_begin), 1000},
	{"L3", "a phase of the end that is no string", SLOT, 0, FIELD(slot, phase_end), 1000},
	{"L3", "a static slot in a group", SLOT, 0, FIELD(slot, group), 2},
	{"L3", "an unknown group", SLOT, 3, FIELD(slot, group), 2},
	{"L3", "a group of another copy", SLOT, 3, FIELD(slot, group), 1},
	{"L3", "a group with another copy", GROUP, 1, FIELD(group, copy), 0},
	{"L3", "a group with reserved bytes", GROUP, 1, FIELD(group, reserved), 1},
	{"L3", "a group with more slots", GROUP, 1, FIELD(group, slot_count), 3},
	{"L3", "a group with ranges behind the last", GROUP, 1, FIELD(group, first_range), 3},
	{"L3", "a group with more ranges", GROUP, 1, FIELD(group, range_count), 3},
	{"L3", "a group with ranges that wrap", GROUP, 1, FIELD(group, range_count), UINT32_MAX},
	{"L3", "a group whose ranges descend", GROUP, 1, FIELD(group, range_count), 2},
	{"L3", "a group whose ranges touch", RANGE, 1, FIELD(range, begin_bytes), 1024},
	{"L3", "a group whose module is no string", GROUP, 0, FIELD(group, module_begin), 1000},
	{"L3", "a group whose last module is no string", GROUP, 0, FIELD(group, module_end), 1000},
	{"L3", "an empty range", RANGE, 2, FIELD(range, end_bytes), 512},
	{"L3", "a range out of the arena", RANGE, 2, FIELD(range, end_bytes), 7169},
	{"L1", "a first request of no bytes", PROLOGUE, 1, FIELD(prologue, size_bytes), 0},
	{"L3", "an unknown flag of a first request", PROLOGUE, 1, FIELD(prologue, flags), 4},
	{"L3", "a first request that depends on data and stays", PROLOGUE, 3, FIELD(prologue, flags),
		SEAM_PLAN_STAYS | SEAM_PLAN_DYNAMIC},
	{"L3", "a first request of an unknown slot", PROLOGUE, 1, FIELD(prologue, slot), 6},
	{NULL, "a first request of the last slot", PROLOGUE, 1, FIELD(prologue, slot), 5},
	{"L3", "a first request that stays and has a slot", PROLOGUE, 3, FIELD(prologue, slot), 4},
	{"L3", "a first request that stays and is more than all that does", PROLOGUE, 3, FIELD(prologue, size_bytes),
		23457},
	{"L3", "more stays than is beside the arena", HEADER, 0, FIELD(header, resident_bytes), 123455},
	{"L3", "an unknown slot is waited for", WAIT, 0, FIELD(wait, waited), 6},
	{"L3", "an unknown slot waits", WAIT, 0, FIELD(wait, waiter), 6},
	{"L3", "a wait over three periods", WAIT, 0, FIELD(wait, lag), 3},
	{NULL, "a wait over two periods", WAIT, 0, FIELD(wait, lag), 2},
	{"L3", "a wait with reserved bytes", WAIT, 0, FIELD(wait, reserved2), 1},
	{"L3", "a wait for what has not ended", WAIT, 0, FIELD(wait, waited), 2},
};

static void *section_of(struct seam_plan_builder *builder, const struct change *change)
{
	switch (change->section) {
	case HEADER:
		return &builder->header;
	case SLOT:
		return (struct seam_plan_slot *)builder->slots.items + change->record;
	case OFFSET:
		return (uint64_t *)builder->offsets.items + change->record;
	case WAIT:
		return (struct seam_plan_wait *)builder->waits.items + change->record;
	case GROUP:
		return (struct seam_plan_group *)builder->groups.items + change->record;
	case RANGE:
		return (struct seam_plan_range *)builder->ranges.items + change->record;
	default:
		return (struct seam_plan_prologue *)builder->prologue.items + change->record;
	}
}

Test(plan_check, every_invariant_is_named)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const struct change *change = &changes[i];
		struct seam_plan_builder builder;
		struct seam_plan *plan = NULL;
		struct seam_trace_error error = {0};
		plan_sample_builder(&builder);
		memcpy((char *)section_of(&builder, change) + change->offset, &change->value, change->bytes);
		enum seam_rc rc = seam__plan_builder_finish(&builder, &error, &plan);
		cr_assert_eq(rc, change->broken == NULL ? SEAM_OK : SEAM_CORRUPT, "%s: %s %s", change->what,
			seam_rc_name(rc), error.text);
		if (change->broken != NULL)
			cr_assert(strstr(error.text, change->broken) != NULL, "%s: %s", change->what, error.text);
		seam_plan_free(plan);
		seam__plan_builder_fini(&builder);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

/* What the builder would not let through, set in a plan that was finished. */
Test(plan_check, the_header_agrees_with_the_chunks)
{
	static const struct {
		size_t offset;
		uint32_t value;
		const char *broken;
	} rows[] = {
		{offsetof(struct seam_plan_header, arena_bytes) + 4, 1u << 31, "L1"},
		{offsetof(struct seam_plan_header, lower_bound_chunks), 3, "L4"},
		{offsetof(struct seam_plan_header, arena_chunks), 8, "L4"},
		{offsetof(struct seam_plan_header, arena_chunks), 6, "L4"},
		{offsetof(struct seam_plan_header, reserved_backing), 1, "L3"},
		{offsetof(struct seam_plan_header, group_count), 1, "L3"},
		{offsetof(struct seam_plan_header, string_bytes), 0, "L3"},
		{offsetof(struct seam_plan_header, chunk_bytes), 0, "L1"},
		{offsetof(struct seam_plan_header, positions), 7, "L2"},
	};
	struct seam_plan *plan = plan_sample_create();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seam_plan changed = *plan;
		memcpy((char *)&changed.header + rows[i].offset, &rows[i].value, sizeof(rows[i].value));
		const char *broken = seam_plan_check(&changed, NULL);
		cr_assert(broken != NULL && strcmp(broken, "L0") == 0, "row %zu: %s", i, broken);
		seam__plan_seal(&changed.header);
		broken = seam_plan_check(&changed, NULL);
		cr_assert(broken != NULL && strcmp(broken, rows[i].broken) == 0, "row %zu: %s", i, broken);
	}
	cr_assert_null(seam_plan_check(plan, NULL));
	seam_plan_free(plan);
}

Test(plan_check, an_optimal_plan_is_at_its_bound)
{
	struct seam_plan_builder builder;
	struct seam_plan *plan = NULL;
	struct seam_trace_error error = {0};
	cr_assert_eq(seam__plan_builder_init(&builder, 1), SEAM_OK);
	builder.header.flags = SEAM_PLAN_OPTIMAL;
	builder.header.arena_bytes = 1024;
	builder.header.lower_bound_bytes = 512;
	cr_assert_eq(seam__plan_builder_finish(&builder, &error, &plan), SEAM_CORRUPT);
	cr_assert(strstr(error.text, "optimal") != NULL, "%s", error.text);
	builder.header.lower_bound_bytes = 1024;
	cr_assert_eq(seam__plan_builder_finish(&builder, &error, &plan), SEAM_OK);
	seam_plan_free(plan);
	seam__plan_builder_fini(&builder);
}

/* Dynamic slots need no group where the plan has none. */
Test(plan_check, a_plan_may_have_no_groups)
{
	struct seam_plan_builder builder;
	struct seam_plan *plan = NULL;
	struct seam_trace_error error = {0};
	plan_sample_builder(&builder);
	builder.groups.count = 0;
	cr_assert_eq(seam__plan_builder_finish(&builder, &error, &plan), SEAM_OK, "%s", error.text);
	seam_plan_free(plan);
	((struct seam_plan_slot *)builder.slots.items)[3].group = 2;
	cr_assert_eq(seam__plan_builder_finish(&builder, &error, &plan), SEAM_CORRUPT);
	seam__plan_builder_fini(&builder);
}

/* On a line nothing ends behind the last position; in a graph several slots may begin at one operator. */
Test(plan_check, lines_and_graphs)
{
	struct seam_plan_builder builder;
	struct seam_plan *plan = NULL;
	uint32_t number;
	const struct seam_plan_slot slots[] = {
		{.size_bytes = 512, .begin = 1, .end = 4}, {.size_bytes = 512, .begin = 1, .end = 2}};
	const uint64_t offsets[] = {0, 512};
	cr_assert_eq(seam__plan_builder_init(&builder, 1), SEAM_OK);
	builder.header.positions = 4;
	builder.header.arena_bytes = 1024;
	cr_assert_eq(seam__plan_builder_stream(&builder, 0, &number), SEAM_OK);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(seam__plan_builder_slot(&builder, &slots[i], &offsets[i]), SEAM_OK);
	cr_assert_eq(seam__plan_builder_finish(&builder, NULL, &plan), SEAM_CORRUPT, "two begin at once");
	builder.header.flags = SEAM_PLAN_GRAPH | SEAM_PLAN_LINEAR;
	cr_assert_eq(seam__plan_builder_finish(&builder, NULL, &plan), SEAM_OK);
	seam_plan_free(plan);
	builder.header.positions = 3;
	cr_assert_eq(
		seam__plan_builder_finish(&builder, NULL, &plan), SEAM_CORRUPT, "it ends behind the end of the line");
	builder.header.positions = 4;
	cr_assert_eq(seam__grow_append(&builder.prologue, &(struct seam_plan_prologue){.size_bytes = 1}, 1), SEAM_OK);
	cr_assert_eq(seam__plan_builder_finish(&builder, NULL, &plan), SEAM_CORRUPT, "something comes before a line");
	builder.prologue.count = 0;
	builder.header.positions = 3;
	builder.header.flags = SEAM_PLAN_GRAPH;
	cr_assert_eq(seam__plan_builder_finish(&builder, NULL, &plan), SEAM_OK);
	seam_plan_free(plan);
	seam__plan_builder_fini(&builder);
}
