/* test_trace_check.c: each of T1-T6 is noticed under its name. */
#include <criterion/criterion.h>
#include <string.h>

#include "trace_sample.h"

/* What is appended to the sample, where block 1 is live with 4096 bytes on stream 0, and the time is 50. */
struct row {
	const char *name;
	const char *broken; /* NULL: the trace stays valid */
	struct seam_trace_event event;
};

static const struct row rows[] = {
	{"a further step", NULL, {.kind = SEAM_TRACE_STEP, .id = 1, .time_ns = 50}},
	{"free of the live block", NULL, {.kind = SEAM_TRACE_FREE, .id = 1, .size = 4096, .time_ns = 50}},
	{"second allocation", "T1", {.kind = SEAM_TRACE_ALLOC, .id = 1, .size = 1, .time_ns = 50}},
	{"free of nothing", "T1", {.kind = SEAM_TRACE_FREE, .id = 77, .size = 1, .time_ns = 50}},
	{"second free", "T1", {.kind = SEAM_TRACE_FREE, .id = 3, .size = 0, .stream = 7, .time_ns = 50}},
	{"record of nothing", "T1", {.kind = SEAM_TRACE_RECORD_STREAM, .id = 77, .stream = 7, .time_ns = 50}},
	{"free of another size", "T2", {.kind = SEAM_TRACE_FREE, .id = 1, .size = 4095, .time_ns = 50}},
	{"free of another stream", "T2", {.kind = SEAM_TRACE_FREE, .id = 1, .size = 4096, .stream = 7, .time_ns = 50}},
	{"earlier time", "T3", {.kind = SEAM_TRACE_STEP, .id = 1, .time_ns = 49}},
	{"module inside a string", "T4", {.kind = SEAM_TRACE_STEP, .module = 2, .time_ns = 50}},
	{"module outside", "T4", {.kind = SEAM_TRACE_STEP, .module = 1u << 30, .time_ns = 50}},
	{"phase named outside", "T4", {.kind = SEAM_TRACE_PHASE_BEGIN, .aux = 1u << 30, .phase = 3, .time_ns = 50}},
	{"wrong phase", "T5", {.kind = SEAM_TRACE_STEP, .phase = 1, .time_ns = 50}},
	{"phase number out of order", "T5", {.kind = SEAM_TRACE_PHASE_BEGIN, .aux = 1, .phase = 9, .time_ns = 50}},
	{"phase end without begin", "T5", {.kind = SEAM_TRACE_PHASE_END, .aux = 1, .phase = 0, .time_ns = 50}},
	{"wait for nothing", "T5", {.kind = SEAM_TRACE_EVENT_WAIT, .id = 41, .time_ns = 50}},
	{"kind 0", "T6", {.kind = 0, .time_ns = 50}},
	{"kind 18", "T6", {.kind = 18, .time_ns = 50}},
	{"unknown flag", "T6", {.kind = SEAM_TRACE_STEP, .flags = 0x80, .time_ns = 50}},
};

Test(trace_check, names_what_is_broken)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seam_trace_builder *builder = trace_sample_builder();
		struct seam_trace *trace = NULL;
		struct seam_trace_error error = {0};
		cr_assert_eq(seam_trace_builder_add(builder, &rows[i].event), SEAM_OK);
		enum seam_rc rc = seam_trace_builder_finish(builder, &error, &trace);
		if (rows[i].broken == NULL) {
			cr_assert_eq(rc, SEAM_OK, "%s: %s", rows[i].name, error.text);
			cr_assert_null(seam_trace_check(trace, &error), "%s: %s", rows[i].name, error.text);
		} else {
			cr_assert_eq(rc, SEAM_CORRUPT, "%s", rows[i].name);
			cr_assert(strstr(error.text, rows[i].broken) != NULL, "%s: %s", rows[i].name, error.text);
		}
		seam_trace_free(trace);
		seam_trace_builder_destroy(builder);
	}
}

Test(trace_check, phases_must_nest)
{
	struct seam_trace_builder *builder;
	uint32_t outer;
	uint32_t inner;
	cr_assert_eq(seam_trace_builder_create("", 0, &builder), SEAM_OK);
	cr_assert_eq(seam_trace_builder_string(builder, "outer", &outer), SEAM_OK);
	cr_assert_eq(seam_trace_builder_string(builder, "inner", &inner), SEAM_OK);
	const struct seam_trace_event begins[] = {
		{.kind = SEAM_TRACE_PHASE_BEGIN, .aux = outer, .phase = 1},
		{.kind = SEAM_TRACE_PHASE_BEGIN, .aux = inner, .phase = 2},
	};
	seam_trace_builder_destroy(builder);
	const struct seam_trace_event wrong_ends[] = {
		{.kind = SEAM_TRACE_PHASE_END, .aux = outer, .phase = 1},
		{.kind = SEAM_TRACE_PHASE_END, .aux = outer, .phase = 2},
		{.kind = SEAM_TRACE_PHASE_END, .aux = inner, .phase = 1},
	};
	for (size_t i = 0; i < sizeof(wrong_ends) / sizeof(wrong_ends[0]); i++) {
		struct seam_trace *trace = NULL;
		struct seam_trace_error error = {0};
		uint32_t again;
		cr_assert_eq(seam_trace_builder_create("", 0, &builder), SEAM_OK);
		cr_assert_eq(seam_trace_builder_string(builder, "outer", &again), SEAM_OK);
		cr_assert_eq(seam_trace_builder_string(builder, "inner", &again), SEAM_OK);
		cr_assert_eq(seam_trace_builder_add(builder, &begins[0]), SEAM_OK);
		cr_assert_eq(seam_trace_builder_add(builder, &begins[1]), SEAM_OK);
		cr_assert_eq(seam_trace_builder_add(builder, &wrong_ends[i]), SEAM_OK);
		cr_assert_eq(seam_trace_builder_finish(builder, &error, &trace), SEAM_CORRUPT, "end %zu", i);
		cr_assert(strstr(error.text, "T5") != NULL, "end %zu: %s", i, error.text);
		cr_assert_eq(error.offset, 2, "end %zu", i);
		seam_trace_builder_destroy(builder);
	}
}
