/* test_verify_acts.c: plans that are not of the trace, and what the validator knows of traces: lifetimes that the trace
 * shows, plans of a line. By hand; seeded ones are in test_verify.c.
 */
#include "plan_format.h"
#include "verify_fixture.h"

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
		{"an end", "freed at position 3; the plan says 2", {.size_bytes = 64, .begin = 0, .end = 2, .event = 4},
			0},
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

/* What its maker would have said of it. */
static enum seam_rc verify_sealed(
	const struct seam_trace *trace, struct seam_plan *plan, struct seam_trace_error *error)
{
	seam__plan_seal(&plan->header);
	return seam_plan_verify(trace, plan, error);
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
	cr_assert_eq(verify_sealed(trace, &changed, &error), SEAM_NOT_FOUND);
	cr_assert(strstr(error.text, "fingerprint") != NULL, "%s", error.text);
	changed.header.last_event = 13;
	cr_assert_eq(verify_sealed(trace, &changed, &error), SEAM_NOT_FOUND);
	cr_assert(strstr(error.text, "event 13 of 12") != NULL, "%s", error.text);
	changed = *plan;
	changed.header.flags = SEAM_PLAN_GRAPH;
	cr_assert_eq(verify_sealed(trace, &changed, &error), SEAM_INVALID);
	changed = *plan;
	changed.header.slot_count = 1;
	cr_assert_eq(verify_sealed(trace, &changed, &error), SEAM_NOT_FOUND);
	cr_assert(strstr(error.text, "behind the plan's last slot") != NULL, "%s", error.text);
	changed = *plan;
	changed.header.positions = 3;
	cr_assert_eq(verify_sealed(trace, &changed, &error), SEAM_NOT_FOUND);
	changed.header.positions = 5;
	cr_assert_eq(verify_sealed(trace, &changed, &error), SEAM_NOT_FOUND);
	cr_assert_eq(seam_plan_verify(NULL, plan, &error), SEAM_INVALID);
	cr_assert_eq(seam_plan_verify(trace, NULL, &error), SEAM_INVALID);
	seam_plan_free(plan);
	seam_trace_free(trace);
}

/* Two equal slots cross the end. A plan that takes the one's end for the other's would hand out live bytes; sizes say
 * nothing, but the repetition behind the stretch, or before it, does. */
static const struct scene crossing = {
	.events =
		{
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
		bool alone; /* what is before the stretch is another beginning */
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
			scene.slots[k] = (struct seam_plan_slot){.size_bytes = 64,
				.begin = whole ? k : 2 + k,
				.end = rows[i].ends[k],
				.event = scene.first + (whole ? k : 2 + k)};
		expect(&scene, rows[i].right ? SEAM_OK : SEAM_NOT_FOUND,
			rows[i].right ? NULL : "in the trace; the plan says", rows[i].what);
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
	const struct seam_plan_slot slots[] = {{.size_bytes = 1000, .begin = 0, .end = 6, .event = 0},
		{.size_bytes = 64, .begin = 1, .end = 3, .event = 1},
		{.size_bytes = 64, .begin = 2, .end = 5, .event = 2},
		{.size_bytes = 64, .begin = 4, .end = 6, .event = 4}};
	memcpy(scene.slots, slots, sizeof(slots));
	const uint64_t offsets[] = {0, 1000, 1064, 1000};
	memcpy(scene.offsets, offsets, sizeof(offsets));
	expect(&scene, SEAM_OK, NULL, "right");
	scene.slots[3].end = 5;
	expect(&scene, SEAM_NOT_FOUND, "where nothing frees it", "an end before the line's");
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
