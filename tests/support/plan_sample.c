/* plan_sample.c: see plan_sample.h. */
#include "plan_sample.h"

#include "check.h"

#define NONE SEAM_PLAN_NO_ADDRESS

static uint32_t string(struct seam_plan_builder *builder, const char *text)
{
	uint32_t offset;
	SEAM_VERIFY(seam__plan_builder_string(builder, text, &offset) == SEAM_OK);
	return offset;
}

/* The arena has seven chunks of 1024 bytes. The circle is that of two copies, 20 positions; live:
 *
 *   slot 0  [0, 2) at 0      [10, 12) at 512
 *   slot 1  [1, 4) at 1024   [11, 14) at 1024
 *   slot 2  [3, 16) at 2048  [13, 26) at 3072     longer than a period
 *   slot 3  dynamic          slot 5 dynamic       both in the group of [5, 9) and [15, 19)
 *   slot 4  [6, 11) at 6144  [16, 21) at 6144     crosses the end
 */
static void add_slots(struct seam_plan_builder *builder)
{
	const uint32_t forward = string(builder, "forward");
	const uint32_t layer = string(builder, "layer 1");
	const uint32_t backward = string(builder, "backward");
	const struct {
		struct seam_plan_slot slot;
		uint64_t offsets[2];
	} rows[] = {
		{{.size_bytes = 500, .begin = 0, .end = 2, .phase_begin = forward, .event = 3}, {0, 512}},
		{{.size_bytes = 1024, .begin = 1, .end = 4, .stream = 1, .module = layer, .event = 4}, {1024, 1024}},
		{{.size_bytes = 1000, .begin = 3, .end = 16, .phase_end = backward, .event = 7}, {2048, 3072}},
		{{.size_bytes = 77, .begin = 5, .end = 8, .flags = SEAM_PLAN_DYNAMIC, .event = 9}, {NONE, NONE}},
		{{.size_bytes = 1024, .begin = 6, .end = 11, .flags = SEAM_PLAN_SHARED, .event = 10}, {6144, 6144}},
		{{.size_bytes = 99, .begin = 7, .end = 9, .flags = SEAM_PLAN_DYNAMIC, .event = 11}, {NONE, NONE}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		SEAM_VERIFY(seam__plan_builder_slot(builder, &rows[i].slot, rows[i].offsets) == SEAM_OK);
}

static void add_groups(struct seam_plan_builder *builder)
{
	const uint32_t layer = string(builder, "layer 1");
	const struct seam_plan_range ranges[] = {{0, 1024}, {4096, 6144}, {512, 1024}};
	for (uint32_t i = 0; i < 3; i++)
		SEAM_VERIFY(seam__grow_append(&builder->ranges, &ranges[i], 1) == SEAM_OK);
	for (uint32_t copy = 0; copy < 2; copy++) {
		const struct seam_plan_group group = {
			.module_begin = layer,
			.module_end = layer,
			.begin = 5,
			.end = 9,
			.copy = copy,
			.first_range = copy == 0 ? 0 : 1,
			.range_count = copy == 0 ? 2 : 1,
			.planned_bytes = 176,
			.slot_count = 2,
		};
		SEAM_VERIFY(seam__grow_append(&builder->groups, &group, 1) == SEAM_OK);
	}
}

/* Two requests that stay, around one that is slot 4 and one that depends on data. */
static void add_prologue(struct seam_plan_builder *builder)
{
	static const struct seam_plan_prologue requests[] = {
		{.size_bytes = 100000, .flags = SEAM_PLAN_STAYS, .slot = SEAM_PLAN_NO_SLOT},
		{.size_bytes = 1024, .slot = 4},
		{.size_bytes = 77, .flags = SEAM_PLAN_DYNAMIC, .slot = SEAM_PLAN_NO_SLOT},
		{.size_bytes = 23456, .flags = SEAM_PLAN_STAYS, .slot = SEAM_PLAN_NO_SLOT},
	};
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		SEAM_VERIFY(seam__grow_append(&builder->prologue, &requests[i], 1) == SEAM_OK);
}

void plan_sample_builder(struct seam_plan_builder *builder)
{
	static const struct seam_plan_wait wait = {.waited = 1, .waiter = 4, .lag = 0};
	uint32_t number;
	SEAM_VERIFY(seam__plan_builder_init(builder, 2) == SEAM_OK);
	builder->header.positions = 10;
	builder->header.fingerprint = 0x1234;
	builder->header.first_event = 3;
	builder->header.last_event = 15;
	builder->header.chunk_bytes = 1024;
	builder->header.arena_bytes = 7168;
	builder->header.lower_bound_bytes = 4000;
	builder->header.resident_bytes = 123456;
	builder->header.solver = string(builder, "by hand");
	SEAM_VERIFY(seam__plan_builder_stream(builder, 0, &number) == SEAM_OK && number == 0);
	SEAM_VERIFY(seam__plan_builder_stream(builder, 0xabcd, &number) == SEAM_OK && number == 1);
	SEAM_VERIFY(seam__plan_builder_stream(builder, 0, &number) == SEAM_OK && number == 0);
	add_slots(builder);
	add_groups(builder);
	add_prologue(builder);
	SEAM_VERIFY(seam__grow_append(&builder->waits, &wait, 1) == SEAM_OK);
}

struct seam_plan *plan_sample_create(void)
{
	struct seam_plan_builder builder;
	struct seam_plan *plan;
	struct seam_trace_error error = {0};
	plan_sample_builder(&builder);
	enum seam_rc rc = seam__plan_builder_finish(&builder, &error, &plan);
	if (rc != SEAM_OK)
		seam__check_failed(error.text, __FILE__, __LINE__);
	seam__plan_builder_fini(&builder);
	return plan;
}
