/* test_schedule.c: what is repeated, and as what, in examples worked out by hand.
 *
 * A schedule is compared as a line: +N.BYTES and -N for blocks, with /POOL behind those of a private pool, >N for a use
 * on another stream, !N ?N for events, (N )N ~N for a private pool's beginning, end and release, [ and ] around the
 * last iteration; marks of steps and of other iterations are left out.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "schedule.h"
#include "trace_words.h"

struct row {
	const char *name;
	const char *words;
	uint32_t iterations;
	const char *expected;
	uint64_t peak_live_bytes;
};

static const struct row rows[] = {
	{"one iteration is the trace", "+a10 +b20 -a +c5 -b -c", 1, "[ +0.10 +1.20 -0 +2.5 -1 -2 ]", 30},
	{"transients repeat as new blocks", "+a10 -a", 3, "+0.10 -0 +1.10 -1 [ +2.10 -2 ]", 10},
	{"residents are allocated once, at their place", "+a10 +r7 -a +s1", 2, "+0.10 +1.7 -0 +2.1 [ +3.10 -3 ]", 18},
	{"one step is no period", "+r7 +a10 -a | +b1 -b", 2, "+0.7 +1.10 -1 +2.1 -2 [ +3.10 -3 +4.1 -4 ]", 17},
	{"equal steps: the last one repeats", "+r7 +a10 -a | +a10 -a | +a10 -a |", 2,
		"+0.7 +1.10 -1 +2.10 -2 +3.10 -3 [ +4.10 -4 ]", 17},
	{"what stands behind the last step comes at the end", "+a10 -a | +a10 -a | +z3 -z", 2,
		"+0.10 -0 +1.10 -1 [ +2.10 -2 ] +3.3 -3", 10},
	{"steps that differ: all but the first repeat", "+a1 -a | +a2 -a | +a3 -a |", 2,
		"+0.1 -0 +1.2 -1 +2.3 -2 [ +3.2 -3 +4.3 -4 ]", 3},
	{"a block across the end is freed in the next repetition", "+g9 | -g +h9 | -h +g9 |", 3,
		"+0.9 -0 +1.9 -1 +2.9 -2 +3.9 [ -3 +4.9 ]", 9},
	{"the old one is freed behind the new one", "+g9 | +h9 -g | +g9 -h |", 3,
		"+0.9 +1.9 -0 +2.9 -1 +3.9 -2 [ +4.9 -3 ]", 18},
	{"partners are of equal size where there is one", "+p3 +q5 | -p -q +b5 +a3 |", 2,
		"+0.3 +1.5 -0 -1 +2.5 +3.3 [ -3 -2 +4.5 +5.3 ]", 8},
	{"a partner of another size frees what it stands for", "+g4 | -g +a2 -a +h5 | -h +b3 -b +g6 |", 2,
		"+0.4 -0 +1.2 -1 +2.5 -2 +3.3 -3 +4.6 [ -4 +5.2 -5 +6.5 -6 +7.3 -7 +8.6 ]", 6},
	{"what comes in alone is freed once", "+x8 | +a2 -a -x | +b1 -b |", 3,
		"+0.8 +1.2 -1 -0 +2.1 -2 +3.2 -3 +4.1 -4 [ +5.2 -5 +6.1 -6 ]", 10},
	{"a use on another stream follows the block", "+a10 >a@3 -a", 2, "+0.10 >0 -0 [ +1.10 >1 -1 ]", 10},
	{"events keep their number", "!e@1 ?e@2 !f@1", 2, "!0 ?0 !1 [ !0 ?0 !1 ]", 0},
	{"private pools go with their requests, not with the stream's others",
		"(7 +a10 )7 +b5 (8@1 +c3@1 )8@1 -a -c ~7 ~8 -b", 2,
		"(7 +0.10/7 )7 +1.5 (8 +2.3/8 )8 -0 -2 ~7 ~8 -1 [ (7 +3.10/7 )7 +4.5 (8 +5.3/8 )8 -3 -5 ~7 ~8 -4 ]",
		18},
	{"a block of size 0 is one", "+a0 -a", 1, "[ +0.0 -0 ]", 0},
	{"nothing", "", 2, "[ ]", 0},
	{"steps as recorded: nothing is repeated, a block keeps its end", "+r7 +g9 | -g +h8 | -h +g9 -r |",
		SCHEDULE_STEPS, "+0.7 +1.9 -1 +2.8 -2 +3.9 -0", 16},
};

static void write_op(char *line, size_t line_bytes, const struct schedule_op *op, uint32_t last)
{
	size_t used = strlen(line);
	char *at = line + used;
	size_t room = line_bytes - used;
	const char *blank = used > 0 ? " " : "";
	switch ((enum schedule_kind)op->kind) {
	case SCHEDULE_ALLOC:
		used += (size_t)snprintf(at, room, "%s+%" PRIu32 ".%" PRIu64, blank, op->target, op->bytes);
		if (op->private_id != 0)
			(void)snprintf(line + used, line_bytes - used, "/%" PRIu32, op->private_id);
		return;
	case SCHEDULE_FREE:
		(void)snprintf(at, room, "%s-%" PRIu32, blank, op->target);
		return;
	case SCHEDULE_RECORD_STREAM:
		(void)snprintf(at, room, "%s>%" PRIu32, blank, op->target);
		return;
	case SCHEDULE_EVENT_RECORD:
		(void)snprintf(at, room, "%s!%" PRIu32, blank, op->target);
		return;
	case SCHEDULE_EVENT_WAIT:
		(void)snprintf(at, room, "%s?%" PRIu32, blank, op->target);
		return;
	case SCHEDULE_POOL_BEGIN:
	case SCHEDULE_POOL_END:
	case SCHEDULE_POOL_RELEASE:
		(void)snprintf(at, room, "%s%c%" PRIu32, blank, "()~"[op->kind - SCHEDULE_POOL_BEGIN], op -> target);
		return;
	case SCHEDULE_BEGIN:
	case SCHEDULE_END:
		if (op->target == last)
			(void)snprintf(at, room, "%s%c", blank, op->kind == SCHEDULE_BEGIN ? '[' : ']');
		return;
	case SCHEDULE_STEP:
		return;
	default:
		(void)snprintf(at, room, "%s(kind %" PRIu32 ")", blank, op->kind);
	}
}

Test(schedule, repeats_as_worked_out)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct seam_trace *trace = trace_words(row->words);
		struct schedule schedule;
		cr_assert_eq(schedule_build(trace, row->iterations, &schedule), SEAM_OK, "%s", row->name);
		char line[600] = "";
		for (size_t k = 0; k < schedule.op_count; k++)
			write_op(line, sizeof(line), &schedule.ops[k], row->iterations - 1);
		cr_expect_str_eq(line, row->expected, "%s: %s", row->name, line);
		cr_expect_eq(schedule.peak_live_bytes, row->peak_live_bytes, "%s: peak %" PRIu64, row->name,
			schedule.peak_live_bytes);
		cr_expect_null(schedule_check(&schedule), "%s", row->name);
		schedule_fini(&schedule);
		seam_trace_free(trace);
	}
}

Test(schedule, streams_are_numbered_from_the_default_one)
{
	struct seam_trace *trace = trace_words("+a1@7 +b1@5 +c1@7 -a -b -c");
	struct schedule schedule;
	cr_assert_eq(schedule_build(trace, 1, &schedule), SEAM_OK);
	cr_assert_eq(schedule.stream_count, 3);
	cr_assert_eq(schedule.streams[0], 0);
	cr_assert_eq(schedule.streams[1], 7);
	cr_assert_eq(schedule.streams[2], 5);
	cr_assert_eq(schedule.ops[3].stream, 1, "the third allocation is on stream 7");
	schedule_fini(&schedule);
	seam_trace_free(trace);
}

/* The kinds of a schedule's operations that are marks, one letter each: { } iterations, | steps, < > phases. */
static void write_marks(char *line, size_t line_bytes, const struct schedule *schedule)
{
	static const char letters[] = {[SCHEDULE_BEGIN] = '{',
		[SCHEDULE_END] = '}',
		[SCHEDULE_STEP] = '|',
		[SCHEDULE_PHASE_BEGIN] = '<',
		[SCHEDULE_PHASE_END] = '>'};
	size_t used = 0;
	for (size_t i = 0; i < schedule->op_count && used + 1 < line_bytes; i++) {
		uint32_t kind = schedule->ops[i].kind;
		if (kind < sizeof(letters) && letters[kind] != '\0')
			line[used++] = letters[kind];
		else if (kind == SCHEDULE_ALLOC)
			line[used++] = '+';
	}
	line[used] = '\0';
}

Test(schedule, marks_stand_where_the_program_made_them)
{
	static const struct {
		const char *words;
		uint32_t iterations;
		const char *expected;
		uint32_t made; /* iterations */
	} cases[] = {
		{"+a1 -a", 2, "{+}{+}", 2},
		{"+a1 -a | +b1 -b | +c1 -c |", 2, "+|+|{+|}{+|}", 2},
		{"+a1 -a | +b2 -b | +c1 -c |", 2, "+|{+|+|}{+|+|}", 2},
		{"+a1 -a | +b1 -b +c1 -c | +d1 -d", SCHEDULE_STEPS, "{+|}{++|}+", 2},
		{"+a1 -a +b1 -b", SCHEDULE_STEPS, "{++}", 1},
		{"|", SCHEDULE_STEPS, "{|}", 1},
		{"", SCHEDULE_STEPS, "", 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seam_trace *trace = trace_words(cases[i].words);
		struct schedule schedule;
		char line[100];
		cr_assert_eq(schedule_build(trace, cases[i].iterations, &schedule), SEAM_OK);
		write_marks(line, sizeof(line), &schedule);
		cr_expect_str_eq(line, cases[i].expected, "%s: %s", cases[i].words, line);
		cr_expect_eq(schedule.iterations, cases[i].made);
		schedule_fini(&schedule);
		seam_trace_free(trace);
	}
}

/* Two allocations, of which the second depends on data and comes from thread 3, 7 us later. */
static struct seam_trace *timed_trace(const char *source)
{
	struct seam_trace_builder *builder;
	struct seam_trace *trace;
	struct seam_trace_event event = {.kind = SEAM_TRACE_ALLOC, .id = 1, .size = 512, .time_ns = 1000};
	cr_assert_eq(seam_trace_builder_create(source, 0, &builder), SEAM_OK);
	cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
	event = (struct seam_trace_event){.kind = SEAM_TRACE_ALLOC,
		.flags = SEAM_TRACE_DYNAMIC,
		.id = 2,
		.size = 512,
		.thread = 3,
		.time_ns = 8000};
	cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
	cr_assert_eq(seam_trace_builder_finish(builder, NULL, &trace), SEAM_OK);
	seam_trace_builder_destroy(builder);
	return trace;
}

Test(schedule, times_threads_and_flags_are_the_programs)
{
	static const struct {
		const char *source;
		bool timed;
	} cases[] = {{"pytorch snapshot, device 0", true}, {"trace_model --model gpt2", false}, {"lifetimes", false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seam_trace *trace = timed_trace(cases[i].source);
		struct schedule schedule;
		cr_assert_eq(schedule_build(trace, 1, &schedule), SEAM_OK);
		const struct schedule_op *second = &schedule.ops[2];
		cr_expect_eq(schedule.timed, cases[i].timed, "%s", cases[i].source);
		cr_expect_eq(
			second->gap_ns, cases[i].timed ? 7000 : 0, "%s: %" PRIu32, cases[i].source, second->gap_ns);
		cr_expect_eq(second->thread, 3);
		cr_expect_eq(second->flags, SCHEDULE_DYNAMIC);
		cr_expect_eq(schedule.ops[1].flags, 0);
		schedule_fini(&schedule);
		seam_trace_free(trace);
	}
}

Test(schedule, check_names_a_block_used_after_its_free)
{
	struct seam_trace *trace = trace_words("+a1 -a +b1 -b");
	struct schedule schedule;
	cr_assert_eq(schedule_build(trace, 1, &schedule), SEAM_OK);
	schedule.ops[4].target = 0;
	cr_assert_str_eq(schedule_check(&schedule), "O1 used while live");
	schedule_fini(&schedule);
	seam_trace_free(trace);
}
