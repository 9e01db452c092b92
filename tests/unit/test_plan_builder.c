/* test_plan_builder.c: building plans, empty ones too, and builders that fail half-way. */
#include <criterion/criterion.h>
#include <string.h>

#include "meta.h"
#include "plan_sample.h"
#include "trace_sample.h"

Test(plan_builder, an_empty_plan_is_a_plan)
{
	struct seam_plan_builder builder;
	struct seam_plan *plan;
	cr_assert_eq(seam__plan_builder_init(&builder, 3), SEAM_OK);
	cr_assert_eq(seam__plan_builder_finish(&builder, NULL, &plan), SEAM_OK);
	cr_assert_eq(plan->header.slot_count, 0);
	cr_assert_eq(plan->header.copies, 3);
	cr_assert_eq(plan->header.arena_chunks, 0);
	cr_assert_eq(plan->header.string_bytes, 1);
	seam_plan_free(plan);
	seam__plan_builder_fini(&builder);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(plan_builder, counts_chunks)
{
	struct seam_plan_builder builder;
	struct seam_plan *plan;
	const struct seam_plan_slot slot = {.size_bytes = 5, .end = 1};
	const uint64_t offset = (uint64_t)2 << 20;
	uint32_t number;
	cr_assert_eq(seam__plan_builder_init(&builder, 1), SEAM_OK);
	builder.header.positions = 2;
	builder.header.arena_bytes = offset + 5;
	builder.header.lower_bound_bytes = 512;
	cr_assert_eq(seam__plan_builder_stream(&builder, 9, &number), SEAM_OK);
	cr_assert_eq(seam__plan_builder_slot(&builder, &slot, &offset), SEAM_OK);
	cr_assert_eq(seam__plan_builder_finish(&builder, NULL, &plan), SEAM_OK);
	cr_assert_eq(plan->header.arena_chunks, 2);
	cr_assert_eq(plan->header.lower_bound_chunks, 1);
	seam_plan_free(plan);
	seam__plan_builder_fini(&builder);
}

Test(plan_builder, an_impossible_plan_is_refused_and_can_be_mended)
{
	struct seam_plan_builder builder;
	struct seam_plan *plan = NULL;
	struct seam_trace_error error = {0};
	plan_sample_builder(&builder);
	builder.header.arena_bytes = 7167;
	cr_assert_eq(seam__plan_builder_finish(&builder, &error, &plan), SEAM_CORRUPT);
	cr_assert_null(plan);
	cr_assert(strstr(error.text, "slot 4") != NULL && strstr(error.text, "L1") != NULL, "%s", error.text);
	builder.header.arena_bytes = 7168;
	cr_assert_eq(seam__plan_builder_finish(&builder, &error, &plan), SEAM_OK);
	seam_plan_free(plan);
	seam__plan_builder_fini(&builder);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

static enum seam_rc build(struct seam_plan **ret_plan)
{
	struct seam_plan_builder builder;
	const struct seam_plan_slot slot = {.size_bytes = 512, .end = 1};
	const uint64_t offsets[] = {0, 512};
	uint32_t number;
	enum seam_rc rc = seam__plan_builder_init(&builder, 2);
	if (rc != SEAM_OK)
		return rc;
	builder.header.positions = 2;
	builder.header.arena_bytes = 1024;
	rc = seam__plan_builder_stream(&builder, 9, &number);
	if (rc == SEAM_OK)
		rc = seam__plan_builder_string(&builder, "text", &builder.header.solver);
	if (rc == SEAM_OK)
		rc = seam__plan_builder_slot(&builder, &slot, offsets);
	if (rc == SEAM_OK)
		rc = seam__plan_builder_finish(&builder, NULL, ret_plan);
	seam__plan_builder_fini(&builder);
	return rc;
}

Test(plan_builder, every_failed_allocation_is_a_value)
{
	struct seam_meta *meta = seam__meta_process();
	bool fired = true;
	for (uint64_t n = 1; fired; n++) {
		struct seam_plan *plan = NULL;
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = build(&plan);
		fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_assert_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "failure %llu", (unsigned long long)n);
		seam_plan_free(plan);
		cr_assert_eq(trace_sample_live_bytes(), 0, "failure %llu", (unsigned long long)n);
	}
}

Test(plan_builder, check_names_what_is_broken)
{
	struct seam_plan_builder builder;
	plan_sample_builder(&builder);
	cr_assert_null(seam__plan_builder_check(&builder));
	builder.offsets.count--;
	cr_assert_not_null(seam__plan_builder_check(&builder));
	builder.offsets.count++;
	seam__plan_builder_fini(&builder);
}
