/* test_schedule_trace.c: a schedule turned into a trace and back is itself. */
#include <criterion/criterion.h>
#include <string.h>

#include "schedule_trace.h"
#include "trace_words.h"

static bool same_op(const struct schedule_op *a, const struct schedule_op *b)
{
	return a->kind == b->kind && a->target == b->target && a->stream == b->stream &&
		a->private_id == b->private_id && a->bytes == b->bytes && a->thread == b->thread &&
		a->flags == b->flags;
}

Test(schedule_trace, what_was_repeated_is_in_the_trace)
{
	static const char *const programs[] = {
		"+a10 +b20 -a +c5 -b -c",
		"+r7 +a10@3 -a +s1 >s@3",
		"(7 +a10 )7 +b5 (8@1 +c3@1 )8@1 -a -c ~7 ~8 -b",
		"!e@1 ?e@2 +a1@2 -a !f@1",
	};
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct seam_trace *trace = trace_words(programs[i]);
		struct seam_trace *repeated;
		struct schedule schedule;
		struct schedule again;
		cr_assert_eq(schedule_build(trace, 3, &schedule), SEAM_OK);
		cr_assert_eq(schedule_trace(&schedule, "test", &repeated), SEAM_OK, "%s", programs[i]);
		cr_expect_str_eq(seam_trace_string(repeated, repeated->header.source), "test");
		cr_assert_eq(schedule_build(repeated, 1, &again), SEAM_OK);
		cr_expect_eq(again.peak_live_bytes, schedule.peak_live_bytes, "%s", programs[i]);
		size_t k = 0;
		for (size_t n = 0; n < schedule.op_count; n++) {
			if (schedule.ops[n].kind == SCHEDULE_BEGIN || schedule.ops[n].kind == SCHEDULE_END)
				continue;
			while (again.ops[k].kind == SCHEDULE_BEGIN || again.ops[k].kind == SCHEDULE_END)
				k++;
			cr_expect(same_op(&schedule.ops[n], &again.ops[k]), "%s: operation %zu", programs[i], n);
			k++;
		}
		schedule_fini(&schedule);
		schedule_fini(&again);
		seam_trace_free(trace);
		seam_trace_free(repeated);
	}
}

Test(schedule_trace, marks_times_threads_and_flags_are_kept)
{
	struct schedule_op ops[] = {
		{.kind = SCHEDULE_ALLOC, .target = 0, .bytes = 9, .gap_ns = 5, .thread = 2, .flags = SCHEDULE_DYNAMIC},
		{.kind = SCHEDULE_STEP, .gap_ns = 6},
		{.kind = SCHEDULE_FREE, .target = 0, .gap_ns = 7, .thread = 1},
		{.kind = SCHEDULE_STEP},
	};
	uint64_t streams[] = {0};
	struct schedule schedule = {.ops = ops,
		.op_count = 4,
		.streams = streams,
		.stream_count = 1,
		.block_count = 1,
		.iterations = 1,
		.timed = true};
	struct seam_trace *trace;
	cr_assert_eq(schedule_trace(&schedule, "pytorch snapshot", &trace), SEAM_OK);
	cr_assert_eq(trace->header.event_count, 4);
	cr_expect_eq(trace->events[0].flags, SEAM_TRACE_DYNAMIC);
	cr_expect_eq(trace->events[0].thread, 2);
	cr_expect_eq(trace->events[1].kind, SEAM_TRACE_STEP);
	cr_expect_eq(trace->events[1].time_ns, 11);
	cr_expect_eq(trace->events[2].time_ns, 18);
	cr_expect_eq(trace->events[2].thread, 1);
	cr_expect_eq(trace->events[2].size, 9);
	cr_expect_eq(trace->events[3].id, 1, "steps are numbered");
	seam_trace_free(trace);
}
