/* test_schedule.c: what is repeated, and as what, in examples worked out by hand.
 *
 * A schedule is compared as a line: +N.BYTES and -N for blocks, with /POOL behind those of a private pool, >N for a use on
 * another stream, !N ?N for events, (N )N ~N for a private pool's beginning, end and release, [ and ] around the last iteration.
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
	{"residents are allocated once, at their place", "+a10 +r7 -a +s1", 2,
	 "+0.10 +1.7 -0 +2.1 [ +3.10 -3 ]", 18},
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
	{"private pools go with their requests, not with the stream's others", "(7 +a10 )7 +b5 (8@1 +c3@1 )8@1 -a -c ~7 ~8 -b", 2,
	 "(7 +0.10/7 )7 +1.5 (8 +2.3/8 )8 -0 -2 ~7 ~8 -1 [ (7 +3.10/7 )7 +4.5 (8 +5.3/8 )8 -3 -5 ~7 ~8 -4 ]", 18},
	{"a block of size 0 is one", "+a0 -a", 1, "[ +0.0 -0 ]", 0},
	{"nothing", "", 2, "[ ]", 0},
};

static void write_op(char *line, size_t line_bytes, const struct schedule_op *op)
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
		(void)snprintf(at, room, "%s%c%" PRIu32, blank, "()~"[op->kind - SCHEDULE_POOL_BEGIN], op->target);
		return;
	case SCHEDULE_LAST_BEGIN:
		(void)snprintf(at, room, "%s[", blank);
		return;
	case SCHEDULE_LAST_END:
		(void)snprintf(at, room, "%s]", blank);
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
			write_op(line, sizeof(line), &schedule.ops[k]);
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
