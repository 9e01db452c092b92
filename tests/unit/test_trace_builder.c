/* test_trace_builder.c: building a trace, interned strings, and builders that fail half-way. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "meta.h"
#include "trace_sample.h"

Test(trace_builder, equal_strings_have_one_place)
{
	struct seam_trace_builder *builder;
	cr_assert_eq(seam_trace_builder_create("source", 0, &builder), SEAM_OK);
	uint32_t first;
	uint32_t again;
	uint32_t other;
	uint32_t empty = 99;
	cr_assert_eq(seam_trace_builder_string(builder, "layer", &first), SEAM_OK);
	cr_assert_eq(seam_trace_builder_string(builder, "lay", &other), SEAM_OK);
	cr_assert_eq(seam_trace_builder_string(builder, "layer", &again), SEAM_OK);
	cr_assert_eq(seam_trace_builder_string(builder, "", &empty), SEAM_OK);
	cr_assert_eq(first, again);
	cr_assert_neq(first, other);
	cr_assert_eq(empty, 0);
	struct seam_trace *trace;
	cr_assert_eq(seam_trace_builder_finish(builder, NULL, &trace), SEAM_OK);
	cr_assert_str_eq(seam_trace_string(trace, first), "layer");
	cr_assert_str_eq(seam_trace_string(trace, other), "lay");
	cr_assert_str_eq(seam_trace_string(trace, trace->header.source), "source");
	cr_assert_null(seam_trace_string(trace, first + 1), "the middle of a string is no string");
	cr_assert_null(seam_trace_string(trace, (uint32_t)trace->header.string_bytes));
	seam_trace_free(trace);
	seam_trace_builder_destroy(builder);
}

Test(trace_builder, is_empty_and_usable_after_finish)
{
	struct seam_trace_builder *builder = trace_sample_builder();
	struct seam_trace *first;
	struct seam_trace *second;
	cr_assert_eq(seam_trace_builder_finish(builder, NULL, &first), SEAM_OK);
	cr_assert_eq(seam_trace_builder_finish(builder, NULL, &second), SEAM_OK);
	cr_assert_gt(first->header.event_count, 0);
	cr_assert_eq(second->header.event_count, 0);
	cr_assert_eq(second->header.device, 3);
	seam_trace_free(first);
	seam_trace_free(second);
	seam_trace_builder_destroy(builder);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(trace_builder, a_broken_trace_is_refused_and_kept)
{
	struct seam_trace_builder *builder = trace_sample_builder();
	const struct seam_trace_event again = {.kind = SEAM_TRACE_ALLOC, .id = 1, .size = 1, .time_ns = 60};
	cr_assert_eq(seam_trace_builder_add(builder, &again), SEAM_OK);
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};
	for (int attempt = 0; attempt < 2; attempt++) {
		cr_assert_eq(seam_trace_builder_finish(builder, &error, &trace), SEAM_CORRUPT, "attempt %d", attempt);
		cr_assert_null(trace);
		cr_assert(strstr(error.text, "T1") != NULL, "%s", error.text);
	}
	seam_trace_builder_destroy(builder);
}

Test(trace_builder, every_failed_allocation_is_a_value_and_leaks_nothing)
{
	struct seam_meta *meta = seam__meta_process();
	const uint64_t before = trace_sample_live_bytes();
	for (uint64_t n = 1;; n++) {
		struct seam_trace_builder *builder = NULL;
		struct seam_trace *trace = NULL;
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam_trace_builder_create("source", 0, &builder);
		for (uint64_t i = 0; rc == SEAM_OK && i < 100; i++) {
			char name[32];
			(void)snprintf(name, sizeof(name), "module %llu", (unsigned long long)i);
			struct seam_trace_event event = {.kind = SEAM_TRACE_ALLOC, .id = i, .size = i};
			rc = seam_trace_builder_string(builder, name, &event.module);
			if (rc == SEAM_OK)
				rc = seam_trace_builder_add(builder, &event);
		}
		if (rc == SEAM_OK)
			rc = seam_trace_builder_finish(builder, NULL, &trace);
		const bool fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_assert_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "failure %llu", (unsigned long long)n);
		cr_assert_eq(trace != NULL, rc == SEAM_OK);
		seam_trace_free(trace);
		seam_trace_builder_destroy(builder);
		cr_assert_eq(trace_sample_live_bytes(), before, "failure %llu", (unsigned long long)n);
		if (!fired)
			break;
	}
}
