/* test_verify_acts.c: plans that are not of the trace, and what the validator knows of traces: pools, groups, lifetimes that
 * the trace shows, plans of a line. By hand; seeded ones are in test_verify.c.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "plan_builder.h"
#include "trace_sample.h"

#define A SEAM_TRACE_ALLOC
#define F SEAM_TRACE_FREE
#define MOST 24

/* A trace and a plan under construction; every slot has 64 bytes unless it says otherwise. */
struct scene {
	struct seam_trace_event events[MOST];
	size_t event_count;
	uint64_t first;
	uint64_t last;
	uint32_t copies;
	uint32_t flags;
	struct seam_plan_slot slots[6];
	uint64_t offsets[6];  /* of every copy: plus 1024 for the second */
	bool stacked;         /* the second copy stands where the first does */
	size_t slot_count;
	struct seam_plan_group group; /* if it has slots */
	struct seam_plan_range range;
	uint32_t positions;
};

/* A period of two slots, three times; slot 1 crosses the end and is freed in the next. */
static const struct scene base = {
	.events = {
		{.kind = A, .id = 9, .size = 1000},
		{.kind = A, .id = 1, .size = 64},
		{.kind = A, .id = 2, .size = 64},
		{.kind = F, .id = 1, .size = 64},
		{.kind = A, .id = 3, .size = 64},
		{.kind = F, .id = 2, .size = 64},
		{.kind = A, .id = 4, .size = 64},
		{.kind = F, .id = 3, .size = 64},
		{.kind = A, .id = 5, .size = 64},
		{.kind = F, .id = 4, .size = 64},
		{.kind = A, .id = 6, .size = 64},
		{.kind = F, .id = 5, .size = 64},
	},
	.event_count = 12,
	.first = 4,
	.last = 8,
	.copies = 1,
	.slots = {{.size_bytes = 64, .begin = 0, .end = 3, .event = 4}, {.size_bytes = 64, .begin = 2, .end = 5, .event = 6}},
	.offsets = {0, 64},
	.slot_count = 2,
	.positions = 4,
};

static struct seam_trace *tell(const struct scene *scene)
{
	struct seam_trace_builder *builder;
	struct seam_trace *trace;
	struct seam_trace_error error = {0};
	cr_assert_eq(seam_trace_builder_create("test", 0, &builder), SEAM_OK);
	for (size_t i = 0; i < scene->event_count; i++)
		cr_assert_eq(seam_trace_builder_add(builder, &scene->events[i]), SEAM_OK);
	cr_assert_eq(seam_trace_builder_finish(builder, &error, &trace), SEAM_OK, "%s", error.text);
	seam_trace_builder_destroy(builder);
	return trace;
}

static struct seam_plan *plan_of(const struct scene *scene, const struct seam_trace *trace, const char *what)
{
	struct seam__plan_builder builder;
	struct seam_plan *plan;
	struct seam_trace_error error = {0};
	uint32_t number;
	cr_assert_eq(seam__plan_builder_init(&builder, scene->copies), SEAM_OK);
	builder.header.positions = scene->positions;
	builder.header.flags = scene->flags;
	builder.header.align_bytes = 1;
	builder.header.arena_bytes = 2048;
	builder.header.first_event = scene->first;
	builder.header.last_event = scene->last;
	cr_assert_eq(seam_plan_fingerprint(trace, scene->first, scene->last, &builder.header.fingerprint), SEAM_OK);
	cr_assert_eq(seam__plan_builder_stream(&builder, 0, &number), SEAM_OK);
	cr_assert_eq(seam__plan_builder_stream(&builder, 5, &number), SEAM_OK);
	for (size_t i = 0; i < scene->slot_count; i++) {
		const uint64_t offsets[] = {scene->offsets[i], scene->offsets[i] + (scene->stacked ? 0 : 1024)};
		const bool dynamic = (scene->slots[i].flags & SEAM_PLAN_DYNAMIC) != 0;
		cr_assert_eq(seam__plan_builder_slot(&builder, &scene->slots[i], dynamic ? NULL : offsets), SEAM_OK);
	}
	if (scene->group.slot_count > 0) {
		cr_assert_eq(seam__plan_builder_group(&builder, &scene->group), SEAM_OK);
		cr_assert_eq(seam__plan_builder_range(&builder, &scene->range), SEAM_OK);
	}
	cr_assert_eq(seam__plan_builder_finish(&builder, &error, &plan), SEAM_OK, "%s: %s", what, error.text);
	seam__plan_builder_fini(&builder);
	return plan;
}

static void expect(const struct scene *scene, enum seam_rc expected, const char *text, const char *what)
{
	struct seam_trace *trace = tell(scene);
	struct seam_plan *plan = plan_of(scene, trace, what);
	struct seam_trace_error error = {0};
	enum seam_rc rc = seam_plan_verify(trace, plan, &error);
	cr_assert_eq(rc, expected, "%s: %s: %s", what, seam_rc_name(rc), error.text);
	if (text != NULL)
		cr_assert(strstr(error.text, text) != NULL, "%s: %s", what, error.text);
	seam_plan_free(plan);
	seam_trace_free(trace);
	cr_assert_eq(trace_sample_live_bytes(), 0, "%s", what);
}

Test(verify_acts, every_difference_is_named)
{
	static const struct {
		const char *what;
		const char *text;
		struct seam_plan_slot slot;
		uint32_t number;
	} rows[] = {
		{"the base", NULL, {.size_bytes = 64, .begin = 0, .end = 3, .event = 4}, 0},
		{"a size", "has 63 bytes", {.size_bytes = 63, .begin = 0, .end = 3, .event = 4}, 0},
		{"a stream", "stream 5", {.size_bytes = 64, .begin = 0, .end = 3, .event = 4, .stream = 1}, 0},
		{"a thread", "thread 7", {.size_bytes = 64, .begin = 0, .end = 3, .event = 4, .thread = 7}, 0},
		{"an event", "slot 0 is event 5", {.size_bytes = 64, .begin = 0, .end = 3, .event = 5}, 0},
		{"a begin", "at position 1", {.size_bytes = 64, .begin = 1, .end = 3, .event = 4}, 0},
		{"an end", "freed at position 3; the plan says 2", {.size_bytes = 64, .begin = 0, .end = 2, .event = 4}, 0},
		{"an end in the period", "ends at position 3, where nothing frees it",
		 {.size_bytes = 64, .begin = 2, .end = 3, .event = 6}, 1},
		{"an end where nothing is freed", "ends at position 0 of a later repetition",
		 {.size_bytes = 64, .begin = 2, .end = 4, .event = 6}, 1},
		{"an end at the free of another", "ends at position 3 of a later repetition",
		 {.size_bytes = 64, .begin = 2, .end = 7, .event = 6}, 1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene scene = base;
		scene.slots[rows[i].number] = rows[i].slot;
		scene.offsets[1] = 512;
		scene.copies = rows[i].slot.end > 6 ? 2 : 1;
		expect(&scene, rows[i].text == NULL ? SEAM_OK : SEAM_NOT_FOUND, rows[i].text, rows[i].what);
	}
}

Test(verify_acts, a_plan_of_other_events_is_refused)
{
	struct scene scene = base;
	struct seam_trace *trace = tell(&scene);
	struct seam_plan *plan = plan_of(&scene, trace, "base");
	struct seam_trace_error error = {0};
	struct seam_plan changed = *plan;
	cr_assert_eq(seam_plan_verify(trace, plan, NULL), SEAM_OK);
	changed.header.fingerprint++;
	cr_assert_eq(seam_plan_verify(trace, &changed, &error), SEAM_NOT_FOUND);
	cr_assert(strstr(error.text, "fingerprint") != NULL, "%s", error.text);
	changed.header.last_event = 13;
	cr_assert_eq(seam_plan_verify(trace, &changed, &error), SEAM_NOT_FOUND);
	cr_assert(strstr(error.text, "event 13 of 12") != NULL, "%s", error.text);
	changed = *plan;
	changed.header.flags = SEAM_PLAN_GRAPH;
	cr_assert_eq(seam_plan_verify(trace, &changed, &error), SEAM_INVALID);
	changed = *plan;
	changed.header.slot_count = 1;
	cr_assert_eq(seam_plan_verify(trace, &changed, &error), SEAM_NOT_FOUND);
	cr_assert(strstr(error.text, "behind the plan's last slot") != NULL, "%s", error.text);
	changed = *plan;
	changed.header.positions = 3;
	cr_assert_eq(seam_plan_verify(trace, &changed, &error), SEAM_NOT_FOUND);
	changed.header.positions = 5;
	cr_assert_eq(seam_plan_verify(trace, &changed, &error), SEAM_NOT_FOUND);
	cr_assert_eq(seam_plan_verify(NULL, plan, &error), SEAM_INVALID);
	cr_assert_eq(seam_plan_verify(trace, NULL, &error), SEAM_INVALID);
	seam_plan_free(plan);
	seam_trace_free(trace);
}

/* Two equal slots cross the end. A plan that takes the one's end for the other's would hand out live bytes; sizes say
 * nothing, but the repetition behind the stretch, or before it, does. */
static const struct scene crossing = {
	.events = {
		{.kind = A, .id = 1, .size = 64},
		{.kind = A, .id = 2, .size = 64},
		{.kind = F, .id = 1, .size = 64},
		{.kind = F, .id = 2, .size = 64},
		{.kind = A, .id = 3, .size = 64},
		{.kind = A, .id = 4, .size = 64},
		{.kind = F, .id = 3, .size = 64},
		{.kind = F, .id = 4, .size = 64},
		{.kind = A, .id = 5, .size = 64},
		{.kind = A, .id = 6, .size = 64},
	},
	.event_count = 10,
	.copies = 1,
	.offsets = {0, 64},
	.slot_count = 2,
	.positions = 4,
};

Test(verify_acts, lifetimes_that_the_trace_shows_are_believed)
{
	static const struct {
		const char *what;
		uint64_t first;
		size_t events;
		uint32_t ends[2];
		bool alone;  /* what is before the stretch is another beginning */
		bool right;
	} rows[] = {
		{"inside, right", 0, 10, {2, 3}, false, true},
		{"behind, right", 2, 10, {4, 5}, true, true},
		{"behind, swapped", 2, 10, {5, 4}, true, false},
		{"before, right", 6, 10, {4, 5}, false, true},
		{"before, swapped", 6, 10, {5, 4}, false, false},
		{"both, swapped", 2, 10, {5, 4}, false, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene scene = crossing;
		const bool whole = rows[i].first == 0;
		scene.event_count = rows[i].events;
		scene.events[1].thread = rows[i].alone ? 3 : 0;
		scene.first = rows[i].first;
		scene.last = rows[i].first + 4;
		for (uint32_t k = 0; k < 2; k++)
			scene.slots[k] = (struct seam_plan_slot){.size_bytes = 64, .begin = whole ? k : 2 + k, .end = rows[i].ends[k],
			                                         .event = scene.first + (whole ? k : 2 + k)};
		expect(&scene, rows[i].right ? SEAM_OK : SEAM_NOT_FOUND, rows[i].right ? NULL : "in the trace; the plan says",
		       rows[i].what);
	}
}

/* Where no repetition is to be seen the plan's word is taken, as long as each free ends one slot. */
Test(verify_acts, lifetimes_that_the_trace_does_not_show)
{
	struct scene scene = crossing;
	scene.events[0].size = scene.events[2].size = 32; /* no repetition before */
	scene.event_count = 6;                            /* nor behind */
	scene.first = 2;
	scene.last = 6;
	scene.slots[0] = (struct seam_plan_slot){.size_bytes = 64, .begin = 2, .end = 5, .event = 4};
	scene.slots[1] = (struct seam_plan_slot){.size_bytes = 64, .begin = 3, .end = 4, .event = 5};
	expect(&scene, SEAM_NOT_FOUND, "where no such block is freed", "the other free is of another size");
	scene.events[0].size = scene.events[2].size = 64;
	scene.events[1].thread = 3;
	expect(&scene, SEAM_OK, NULL, "swapped");
	scene.event_count = 10;
	scene.events[6].thread = 3;
	expect(&scene, SEAM_OK, NULL, "swapped, and what follows is another end");
	scene.slots[1].end = 5;
	expect(&scene, SEAM_NOT_FOUND, "both end with it", "twice");
}

/* A block that nobody frees, or that nobody has a slot for, is no part of a period. */
Test(verify_acts, what_is_live_must_return)
{
	struct scene scene = base;
	scene.events[5] = (struct seam_trace_event){.kind = F, .id = 9, .size = 1000};
	scene.event_count = 8;
	scene.slots[1].end = 5;
	expect(&scene, SEAM_NOT_FOUND, "where no such block is freed", "a resident is freed instead");
}

Test(verify_acts, a_line_has_residents_and_ends)
{
	struct scene scene = base;
	scene.flags = SEAM_PLAN_LINEAR;
	scene.first = 0;
	scene.last = 6;
	scene.positions = 6;
	scene.slot_count = 4;
	const struct seam_plan_slot slots[] = {
		{.size_bytes = 1000, .begin = 0, .end = 6, .event = 0}, {.size_bytes = 64, .begin = 1, .end = 3, .event = 1},
		{.size_bytes = 64, .begin = 2, .end = 5, .event = 2}, {.size_bytes = 64, .begin = 4, .end = 6, .event = 4}};
	memcpy(scene.slots, slots, sizeof(slots));
	const uint64_t offsets[] = {0, 1000, 1064, 1000};
	memcpy(scene.offsets, offsets, sizeof(offsets));
	expect(&scene, SEAM_OK, NULL, "right");
	scene.slots[3].end = 5;
	expect(&scene, SEAM_NOT_FOUND, "where nothing frees it", "an end before the line's");
}

Test(verify_acts, private_pools_share_nothing)
{
	struct scene scene = base;
	scene.slots[0].end = 3;
	scene.first = 4;
	scene.copies = 1;
	/* Slot 0 lives in [0, 3), slot 1 from 2 on to 1: they always meet. A third one makes a reuse. */
	const struct seam_trace_event events[] = {{.kind = A, .id = 1, .size = 64}, {.kind = F, .id = 1, .size = 64},
	                                          {.kind = A, .id = 2, .size = 64, .pool = 1}, {.kind = F, .id = 2, .size = 64}};
	memcpy(scene.events, events, sizeof(events));
	scene.event_count = 4;
	scene.first = 0;
	scene.last = 4;
	scene.slots[0] = (struct seam_plan_slot){.size_bytes = 64, .begin = 0, .end = 1, .event = 0};
	scene.slots[1] = (struct seam_plan_slot){.size_bytes = 64, .begin = 2, .end = 3, .event = 2};
	expect(&scene, SEAM_OK, NULL, "apart");
	scene.offsets[1] = 63;
	expect(&scene, SEAM_CORRUPT, "private pool", "one byte of a pool's block");
	scene.events[2].pool = 0;
	expect(&scene, SEAM_OK, NULL, "no pool");
}

Test(verify_acts, a_use_by_another_stream_is_in_the_plan)
{
	struct scene scene = base;
	memmove(&scene.events[6], &scene.events[5], 7 * sizeof(scene.events[0]));
	scene.events[5] = (struct seam_trace_event){.kind = SEAM_TRACE_RECORD_STREAM, .id = 3, .stream = 5};
	scene.event_count++;
	scene.last++;
	scene.slots[1].event = 7;
	expect(&scene, SEAM_NOT_FOUND, "slot 0 is used by another stream", "not in the plan");
	scene.slots[0].flags = SEAM_PLAN_SHARED;
	expect(&scene, SEAM_OK, NULL, "in the plan");
}

/* A dynamic slot between two static ones: its group's range is free of blocks while it is open. */
Test(verify_acts, ranges_of_open_groups_are_idle)
{
	struct scene scene = {
		.events = {
			{.kind = A, .id = 1, .size = 64},
			{.kind = A, .id = 2, .size = 7, .flags = SEAM_TRACE_DYNAMIC},
			{.kind = F, .id = 1, .size = 64},
			{.kind = A, .id = 3, .size = 64},
			{.kind = F, .id = 2, .size = 7},
			{.kind = F, .id = 3, .size = 64},
		},
		.event_count = 6,
		.last = 6,
		.copies = 1,
		.positions = 6,
		.slot_count = 3,
		.slots = {{.size_bytes = 64, .begin = 0, .end = 2, .event = 0},
		          {.size_bytes = 7, .begin = 1, .end = 4, .event = 1, .flags = SEAM_PLAN_DYNAMIC},
		          {.size_bytes = 64, .begin = 3, .end = 5, .event = 3}},
		.offsets = {0, 0, 64},
		.group = {.begin = 1, .end = 4, .range_count = 1, .slot_count = 1},
		.range = {128, 256},
	};
	static const struct {
		const char *what;
		const char *text;
		struct seam_plan_range range;
		uint32_t begin;
		uint32_t end;
	} rows[] = {
		{"right", NULL, {128, 256}, 1, 4},
		{"over a live slot", "group 0 opens over a live slot, number 0", {63, 64}, 1, 4},
		{"over a slot to come", "slot 2 gets physical byte 127 of the reusable range", {127, 256}, 1, 4},
		{"after it, over the first", NULL, {0, 64}, 2, 4},
		{"before it, over the last", NULL, {64, 128}, 1, 3},
		{"across the end, over the first", "slot 0 gets physical byte 0", {0, 1}, 4, 7},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seam_trace *trace = tell(&scene);
		struct seam_plan *plan = plan_of(&scene, trace, rows[i].what);
		struct seam_plan changed = *plan;
		struct seam_plan_group group = scene.group;
		struct seam_trace_error error = {0};
		group.begin = rows[i].begin;
		group.end = rows[i].end;
		changed.groups = &group;
		changed.ranges = &rows[i].range;
		enum seam_rc rc = seam_plan_verify(trace, &changed, &error);
		cr_assert_eq(rc, rows[i].text == NULL ? SEAM_OK : SEAM_CORRUPT, "%s: %s", rows[i].what, error.text);
		if (rows[i].text != NULL)
			cr_assert(strstr(error.text, rows[i].text) != NULL, "%s: %s", rows[i].what, error.text);
		seam_plan_free(plan);
		seam_trace_free(trace);
	}
}

/* Two chunks of the arena with one memory: a slot over both meets itself. */
Test(verify_acts, a_slot_may_not_meet_itself)
{
	struct scene scene = base;
	static const uint32_t backing[] = {0, 0};
	struct seam_trace *trace = tell(&scene);
	struct seam_plan *plan = plan_of(&scene, trace, "base");
	struct seam_plan changed = *plan;
	struct seam_trace_error error = {0};
	/* 961 to 1024 lies over two large chunks, then over three small ones. */
	static const uint64_t offsets[] = {961, 512};
	static const uint32_t small[64] = {[16] = 1, [17] = 2, [30] = 5, [31] = 5, [32] = 7};
	changed.header.chunk_bytes = 1024;
	changed.header.backing_count = 2;
	changed.backing = backing;
	changed.offsets = offsets;
	cr_assert_eq(seam_plan_verify(trace, &changed, &error), SEAM_OK, "%s", error.text);
	changed.header.chunk_bytes = 32;
	changed.header.backing_count = 64;
	changed.backing = small;
	cr_assert_eq(seam_plan_verify(trace, &changed, &error), SEAM_CORRUPT);
	cr_assert(strstr(error.text, "of slot 0 (event 4), twice") != NULL, "%s", error.text);
	seam_plan_free(plan);
	seam_trace_free(trace);
}

/* Slot 1 is live across the end; its use by another stream stands before the stretch, and its next one behind the trace. */
Test(verify_acts, a_use_before_the_stretch_counts)
{
	struct scene scene = {
		.events = {
			{.kind = A, .id = 1, .size = 64},
			{.kind = SEAM_TRACE_RECORD_STREAM, .id = 1, .stream = 5},
			{.kind = F, .id = 1, .size = 64},
			{.kind = A, .id = 2, .size = 64},
			{.kind = F, .id = 2, .size = 64},
			{.kind = A, .id = 3, .size = 64},
		},
		.event_count = 6,
		.first = 2,
		.last = 6,
		.copies = 1,
		.slots = {{.size_bytes = 64, .begin = 1, .end = 2, .event = 3}, {.size_bytes = 64, .begin = 3, .end = 4, .event = 5}},
		.slot_count = 2,
		.positions = 4,
	};
	expect(&scene, SEAM_NOT_FOUND, "slot 1 is used by another stream", "not in the plan");
	scene.slots[1].flags = SEAM_PLAN_SHARED;
	expect(&scene, SEAM_CORRUPT, "used by another stream with nothing that orders them", "in the plan, not in its place");
	scene.offsets[1] = 64;
	expect(&scene, SEAM_OK, NULL, "in the plan");
}

/* A block lives less than a period, another stream uses it, and nothing tells when that has ended: the runtime asks that of a copy before it
 * hands the same one out again. Another copy on the same bytes would be handed out while the first is still in use. */
Test(verify_acts, copies_of_a_shared_slot_are_apart)
{
	struct scene scene = {
		.events = {
			{.kind = A, .id = 1, .size = 64},
			{.kind = SEAM_TRACE_RECORD_STREAM, .id = 1, .stream = 5},
			{.kind = F, .id = 1, .size = 64},
		},
		.event_count = 3,
		.last = 3,
		.copies = 1,
		.slots = {{.size_bytes = 64, .begin = 0, .end = 1, .event = 0, .flags = SEAM_PLAN_SHARED}},
		.slot_count = 1,
		.positions = 2,
	};
	expect(&scene, SEAM_OK, NULL, "one copy, again and again");
	scene.copies = 2;
	expect(&scene, SEAM_OK, NULL, "two copies apart");
	scene.stacked = true;
	expect(&scene, SEAM_CORRUPT, "used by another stream with nothing that orders them", "two copies on the same bytes");
	scene.events[1].stream = 0;
	scene.slots[0].flags = 0;
	expect(&scene, SEAM_OK, NULL, "used by its own stream only");
}
