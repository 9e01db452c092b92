/* verify_fixture.h: a small trace and a plan of it, written down by hand, for the tests of the validator.
 *
 * One program is one test suite: everything is static.
 */
#ifndef SEAM_TESTS_VERIFY_FIXTURE_H
#define SEAM_TESTS_VERIFY_FIXTURE_H

#include <criterion/criterion.h>
#include <string.h>

#include "plan_builder.h"
#include "trace_sample.h"

#define UNUSED __attribute__((unused))
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
	uint64_t offsets[6]; /* of every copy: plus 1024 for the second */
	bool stacked;        /* the second copy stands where the first does */
	size_t slot_count;
	struct seam_plan_group group; /* if it has slots */
	struct seam_plan_range range;
	uint32_t positions;
};

/* A period of two slots, three times; slot 1 crosses the end and is freed in the next. */
UNUSED static const struct scene base = {
	.events =
		{
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
	.slots = {{.size_bytes = 64, .begin = 0, .end = 3, .event = 4},
		{.size_bytes = 64, .begin = 2, .end = 5, .event = 6}},
	.offsets = {0, 64},
	.slot_count = 2,
	.positions = 4,
};

UNUSED static struct seam_trace *tell(const struct scene *scene)
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

UNUSED static struct seam_plan *plan_of(const struct scene *scene, const struct seam_trace *trace, const char *what)
{
	struct seam_plan_builder builder;
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
		cr_assert_eq(seam__grow_append(&builder.groups, &scene->group, 1), SEAM_OK);
		cr_assert_eq(seam__grow_append(&builder.ranges, &scene->range, 1), SEAM_OK);
	}
	cr_assert_eq(seam__plan_builder_finish(&builder, &error, &plan), SEAM_OK, "%s: %s", what, error.text);
	seam__plan_builder_fini(&builder);
	return plan;
}

UNUSED static void expect(const struct scene *scene, enum seam_rc expected, const char *text, const char *what)
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

#endif
