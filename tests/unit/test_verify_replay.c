/* test_verify_replay.c: who may have which byte after whom: pools, groups, and blocks that other streams use.
 * By hand; seeded ones are in test_verify.c.
 */
#include "plan_format.h"
#include "verify_fixture.h"

Test(verify_replay, private_pools_share_nothing)
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

/* A dynamic slot between two static ones: its group's range is free of blocks while it is open. */
Test(verify_replay, ranges_of_open_groups_are_idle)
{
	struct scene scene = {
		.events =
			{
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
		{"over a slot to come", "slot 2 gets byte 127 of the reusable range", {127, 256}, 1, 4},
		{"after it, over the first", NULL, {0, 64}, 2, 4},
		{"before it, over the last", NULL, {64, 128}, 1, 3},
		{"across the end, over the first", "slot 0 gets byte 0", {0, 1}, 4, 7},
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

/* Slot 1 is live across the end; its use by another stream stands before the stretch, and its next one behind the
 * trace. */
Test(verify_replay, a_use_before_the_stretch_counts)
{
	struct scene scene = {
		.events =
			{
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
		.slots = {{.size_bytes = 64, .begin = 1, .end = 2, .event = 3},
			{.size_bytes = 64, .begin = 3, .end = 4, .event = 5}},
		.slot_count = 2,
		.positions = 4,
	};
	expect(&scene, SEAM_NOT_FOUND, "slot 1 is used by another stream", "not in the plan");
	scene.slots[1].flags = SEAM_PLAN_SHARED;
	expect(&scene, SEAM_CORRUPT, "used by another stream with nothing that orders them",
		"in the plan, not in its place");
	scene.offsets[1] = 64;
	expect(&scene, SEAM_OK, NULL, "in the plan");
}

/* A block lives less than a period, another stream uses it, and nothing tells when that has ended: the runtime asks
 * that of a copy before it hands the same one out again. Another copy on the same bytes would be handed out while the
 * first is still in use. */
Test(verify_replay, copies_of_a_shared_slot_are_apart)
{
	struct scene scene = {
		.events =
			{
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
	expect(&scene, SEAM_CORRUPT, "used by another stream with nothing that orders them",
		"two copies on the same bytes");
	scene.events[1].stream = 0;
	scene.slots[0].flags = 0;
	expect(&scene, SEAM_OK, NULL, "used by its own stream only");
}
