/* test_make.c: from traces in words to plans: what repeats, what crosses the boundary, streams, options, limits; and
 * that no failure leaves anything. That the plans are true is the validator's business, which seam_plan_make() asks
 * itself. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include <seam/plan.h>

#include "make.h"
#include "check.h"
#include "meta.h"
#include "trace_sample.h"
#include "trace_words.h"

static struct seam_plan_options options;
static uint64_t live_before;

static void set_up(void)
{
	live_before = trace_sample_live_bytes();
	options = (struct seam_plan_options){.struct_bytes = sizeof(options), .node_limit = 100000, .align_bytes = 1};
}

static void tear_down(void)
{
	SEAM_VERIFY(trace_sample_live_bytes() == live_before);
}

TestSuite(make, .init = set_up, .fini = tear_down);

static struct seam_plan *make(const char *words)
{
	struct seam_trace *trace = trace_words(words);
	struct seam_trace_error error = {0};
	struct seam_plan *plan = NULL;

	cr_assert_eq(seam_plan_make(trace, &options, &error, &plan), SEAM_OK, "%s: %s", words, error.text);
	cr_expect_null(seam_plan_check(plan, &error), "%s", error.text);
	seam_trace_free(trace);
	return plan;
}

static enum seam_rc refusal(const char *words, char text[200])
{
	struct seam_trace *trace = trace_words(words);
	struct seam_trace_error error = {0};
	struct seam_plan *plan = NULL;
	enum seam_rc rc = seam_plan_make(trace, &options, &error, &plan);

	cr_expect_null(plan);
	cr_expect_neq(error.text[0], '\0', "no reason for %s", seam_rc_name(rc));
	memcpy(text, error.text, 200);
	seam_trace_free(trace);
	return rc;
}

#define STEP "+a100 +b50 -a +c70 -b -c | "

Test(make, steps_that_repeat_are_a_period)
{
	struct seam_plan *plan = make(STEP STEP STEP);

	cr_expect_eq(plan->header.slot_count, 3);
	cr_expect_eq(plan->header.positions, 6);
	cr_expect_eq(plan->header.copies, 1);
	cr_expect_eq(plan->header.lower_bound_bytes, 150);
	cr_expect_eq(plan->header.arena_bytes, 150);
	cr_expect_neq(plan->header.flags & SEAM_PLAN_OPTIMAL, 0);
	cr_expect_eq(plan->header.flags & SEAM_PLAN_LINEAR, 0);
	seam_plan_free(plan);
}

Test(make, residents_stay_outside_of_the_arena)
{
	struct seam_plan *plan = make("+w1000 | " STEP STEP STEP);

	cr_expect_eq(plan->header.resident_bytes, 1000);
	cr_expect_eq(plan->header.arena_bytes, 150);
	seam_plan_free(plan);
}

Test(make, a_whole_trace_has_its_residents_in_the_arena)
{
	options.period = SEAM_PLAN_PERIOD_WHOLE;
	struct seam_plan *plan = make("+w1000 | " STEP STEP);

	cr_expect_eq(plan->header.resident_bytes, 0);
	cr_expect_eq(plan->header.slot_count, 7);
	cr_expect_eq(plan->header.arena_bytes, 1150);
	cr_expect_neq(plan->header.flags & SEAM_PLAN_LINEAR, 0);
	seam_plan_free(plan);
}

/* Gradients: allocated in one step, freed early in the next. */
Test(make, what_crosses_the_boundary_is_not_overlapped)
{
	struct seam_plan *plan = make("+g80 +a100 -a | +b100 -g +h80 -b | +c100 -h +i80 -c | +d100 -i +j80 -d |");

	cr_expect_eq(plan->header.copies, 1);
	cr_expect_eq(plan->header.slot_count, 2);
	cr_expect_eq(plan->header.arena_bytes, 180);
	seam_plan_free(plan);
}

/* out = model(x) in a loop: the new one is made while the old one lives. */
Test(make, what_outlives_its_period_gets_copies)
{
	struct seam_plan *plan = make("+a100 | +b100 -a | +c100 -b | +d100 -c | +e100 -d |");

	cr_expect_eq(plan->header.copies, 2);
	cr_expect_eq(plan->header.slot_count, 1);
	cr_expect_eq(plan->header.arena_bytes, 200);
	cr_expect_neq(plan->offsets[0], plan->offsets[1]);
	seam_plan_free(plan);
}

/* Micro-batches of a pipeline: 400 of 500 bytes live on across the boundary of the inner loop. */
Test(make, a_loop_inside_of_an_iteration_is_no_period)
{
	static const char words[] =
		"+a100 +b100 +c100 +d100 +e100 -a +f100 -b +g100 -c +h100 -d +i100 -e +j100 -f +k100 -g +l100 -h +m100 -i +n100 -j +o100 -k +p100"
		" -l +q100 -m +r100 -n +s100 -o +t100 -p +u100 -q +v100 -r +w100 -s +x100 -t +y100 -u +z100 -v -w -x -y -z";
	struct seam_plan *plan = make(words);

	cr_expect_neq(plan->header.flags & SEAM_PLAN_LINEAR, 0);
	cr_expect_eq(plan->header.slot_count, 26);
	seam_plan_free(plan);
	options.period = SEAM_PLAN_PERIOD_FIND;
	plan = make(words);
	cr_expect_eq(plan->header.slot_count, 1);
	seam_plan_free(plan);
}

/* A network as a table of lifetimes: four inverted residual blocks of equal sizes, and other layers before and behind
 * them. */
Test(make, a_network_whose_middle_repeats_is_planned_whole)
{
	static const char words[] =
		"+a150 +b32 -a +c33 -b +d16 -c +e96 -d +f97 -e +g24 -f +h144 -g +i145 -h +p10 -i "
		"+e60 +d61 -e +q10 -d -p +e60 +d61 -e +p10 -d -q +e60 +d61 -e +q10 -d -p +e60 +d61 -e +p10 -d -q "
		"+a70 -p +b71 -a +c12 -b +d80 -c +e81 -d +f14 -e +g90 -f +h91 -g +i16 -h +j17 -i -j";
	struct seam_plan *plan = make(words);

	cr_expect_neq(plan->header.flags & SEAM_PLAN_LINEAR, 0);
	cr_expect_eq(plan->header.slot_count, 32, "%u requests are planned", plan->header.slot_count);
	cr_expect_eq(plan->header.resident_bytes, 0);
	seam_plan_free(plan);
}

#define TWO_STREAMS "+a100@1 -a +b90@2 -b | "
#define ORDERED "+a100@1 -a !e@1 ?e@2 +b90@2 -b !f@2 ?f@1 | "

Test(make, streams_share_only_what_edges_order)
{
	struct seam_plan *plan = make(TWO_STREAMS TWO_STREAMS TWO_STREAMS);

	cr_expect_eq(plan->header.arena_bytes, 190);
	seam_plan_free(plan);
	plan = make(ORDERED ORDERED ORDERED);
	cr_expect_eq(plan->header.arena_bytes, 100);
	seam_plan_free(plan);
	options.streams = SEAM_PLAN_STREAMS_APART;
	plan = make(ORDERED ORDERED ORDERED);
	cr_expect_eq(plan->header.arena_bytes, 190);
	seam_plan_free(plan);
}

Test(make, waits_are_listed_where_they_are_to_be_inserted)
{
	options.streams = SEAM_PLAN_STREAMS_INSERT;
	struct seam_plan *plan = make(TWO_STREAMS TWO_STREAMS TWO_STREAMS);

	cr_expect_eq(plan->header.arena_bytes, 100);
	cr_expect_eq(plan->header.wait_count, 2); /* b behind a, and a behind the b of the repetition before */
	seam_plan_free(plan);
}

#define FAR "+a100@1 -a +c1@1 -c +d1@1 -d +e1@1 -e +f1@1 -f +b90@2 -b +g1@1 -g +h1@1 -h +i1@1 -i +j1@1 -j | "

/* The edge lets x go to stream 2 and nothing else: the bound is that of one stream, and no plan is near it. */
#define LITTLE "+x1@1 -x !e@1 ?e@2 +y1@2 -y +a100@1 -a +b90@2 -b | "

Test(make, waits_are_inserted_where_a_plan_would_be_too_large)
{
	static const struct {
		const char *words;
		uint64_t most_bytes, arena_bytes; /* 0: there is no plan */
		bool waits;
	} rows[] = {
		{TWO_STREAMS TWO_STREAMS TWO_STREAMS, UINT64_MAX, 100, true},
		{TWO_STREAMS TWO_STREAMS TWO_STREAMS, 190, 190, false},
		{TWO_STREAMS TWO_STREAMS TWO_STREAMS, 150, 100, true},
		{TWO_STREAMS TWO_STREAMS TWO_STREAMS, 99, 0, false},
		{LITTLE LITTLE LITTLE, UINT64_MAX, 100, true},
		{LITTLE LITTLE LITTLE, 190, 190, false},
		{LITTLE LITTLE LITTLE, 150, 100, true},
		{ORDERED ORDERED ORDERED, UINT64_MAX, 100, false},
		{FAR FAR FAR, UINT64_MAX, 100, true},
		{FAR FAR FAR, 190, 190, false},
		{FAR FAR FAR, 150, 100, true},
		{FAR FAR FAR, 99, 0, false},
	};

	options.streams = SEAM_PLAN_STREAMS_AUTO;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct seam_trace *trace = trace_words(rows[r].words);
		struct seam_trace_error error = {0};
		struct seam_plan *plan = NULL;
		uint64_t work_ns;
		enum seam_rc rc = seam__plan_make(trace, &options, rows[r].most_bytes, &error, &work_ns, &plan);

		cr_expect_eq(rc, rows[r].arena_bytes != 0 ? SEAM_OK : SEAM_UNSUPPORTED, "row %zu: %s", r, error.text);
		if (rc == SEAM_OK) {
			cr_expect_eq(plan->header.arena_bytes, rows[r].arena_bytes, "row %zu: %lu", r,
				(unsigned long)plan->header.arena_bytes);
			cr_expect_eq(plan->header.wait_count != 0, rows[r].waits, "row %zu", r);
		}
		seam_plan_free(plan);
		seam_trace_free(trace);
	}
}

Test(make, the_same_nodes_give_the_same_plan)
{
	struct seam_plan *first = make(STEP STEP STEP);
	struct seam_plan *second = make(STEP STEP STEP);

	cr_expect_eq(memcmp(first->offsets, second->offsets, first->header.slot_count * sizeof(uint64_t)), 0);
	seam_plan_free(second);
	seam_plan_free(first);
}

Test(make, every_solver_can_be_asked_for_by_name)
{
	size_t placed = 0;

	for (size_t i = 0; seam_plan_solver_name(i) != NULL; i++) {
		struct seam_trace *trace = trace_words(STEP STEP STEP);
		struct seam_trace_error error = {0};
		struct seam_plan *plan = NULL;

		options.solver = seam_plan_solver_name(i);
		enum seam_rc rc = seam_plan_make(trace, &options, &error, &plan);
		cr_expect(rc == SEAM_OK || (error.text[0] != '\0' && (rc == SEAM_UNSUPPORTED || rc == SEAM_NOT_FOUND)),
			"%s: %s", options.solver, seam_rc_name(rc));
		cr_expect_neq(seam_plan_solver_text(i)[0], '\0');
		placed += rc == SEAM_OK;
		seam_plan_free(plan);
		seam_trace_free(trace);
	}
	cr_expect_geq(placed, 3);
	cr_expect_null(seam_plan_solver_text(10000));
}

Test(make, senseless_options_are_refused_with_a_reason)
{
	char text[200];
	struct seam_plan_options good = options;

	options.solver = "no such solver";
	cr_expect_eq(refusal(STEP STEP, text), SEAM_NOT_FOUND);
	cr_expect_not_null(strstr(text, "no such solver"));
	options = good;
	options.align_bytes = 3;
	cr_expect_eq(refusal(STEP STEP, text), SEAM_INVALID);
	options = good;
	options.target_gap = -1;
	cr_expect_eq(refusal(STEP STEP, text), SEAM_INVALID);
	options = good;
	options.struct_bytes = 3;
	cr_expect_eq(refusal(STEP STEP, text), SEAM_INVALID);
	options = good;
	options.period = SEAM_PLAN_PERIOD_FIND;
	cr_expect_eq(refusal("+a100 +b20 -a -b", text), SEAM_NOT_FOUND);
	options = good;
	options.period = SEAM_PLAN_PERIOD_GIVEN;
	options.first_event = 0;
	options.last_event = 1;
	cr_expect_eq(refusal(STEP STEP, text), SEAM_INVALID);
	options = good;
	options.fixed_count = 1;
	cr_expect_eq(refusal(STEP STEP, text), SEAM_INVALID);
}

/* Fourteen sizes of which no first placement reaches the bound. */
#define ODD \
	"+a93 +b71 +c37 -b +d53 +e29 -a +f83 -d +g61 -c +h97 -e +i43 -g +j89 -f +k31 -i +l67 -h +m73 -j +n41 -k -l -m -n"

Test(make, any_gap_that_is_a_number_is_understood)
{
	static const double wrong[] = {-1, -1e-300, -1e308, NAN, INFINITY, -INFINITY};
	static const double wide[] = {10, 1e9, 1e18, 1e19, 1e20, 1e100, 1e308, DBL_MAX};
	char text[200];
	uint64_t arena_bytes = 0;

	options.period = SEAM_PLAN_PERIOD_WHOLE;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		options.target_gap = wrong[i];
		cr_expect_eq(refusal(ODD, text), SEAM_INVALID, "%g", wrong[i]);
		cr_expect_not_null(strstr(text, "target_gap"), "%g: %s", wrong[i], text);
	}
	options.target_gap = -0.0;
	seam_plan_free(make(ODD));
	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
		options.target_gap = wide[i];
		struct seam_plan *plan = make(ODD);
		arena_bytes = i == 0 ? plan->header.arena_bytes : arena_bytes;
		cr_expect_gt(plan->header.arena_bytes, plan->header.lower_bound_bytes,
			"%g: the first placement is good enough", wide[i]);
		cr_expect_eq(plan->header.arena_bytes, arena_bytes, "%g means another gap than %g", wide[i], wide[0]);
		seam_plan_free(plan);
	}
}

/* Every option that is a number, at its ends: served, or refused with a reason. */
Test(make, numbers_of_options_are_served_or_refused)
{
	static const struct seam_plan_range backwards = {1024, 512}, endless = {0, UINT64_MAX - 511};
	static const struct seam_plan_fixed at_the_end = {.offset_bytes = UINT64_MAX - 511},
					    all_room = {.room_bytes = UINT64_MAX};
	static const struct seam_plan_fixed no_copy = {.copy = UINT32_MAX}, no_event = {.event = UINT64_MAX};
	static const struct {
		const char *name;
		struct seam_plan_options given;
		bool good;
	} rows[] = {
		{"no time", {.time_limit_ns = 1}, true},
		{"all time", {.time_limit_ns = UINT64_MAX, .target_gap = 1}, true},
		{"one step", {.node_limit = 1}, true},
		{"all steps", {.node_limit = UINT64_MAX, .target_gap = 1}, true},
		{"aligned to the most", {.align_bytes = UINT64_C(1) << 62, .chunk_bytes = UINT64_C(1) << 62}, false},
		{"aligned to more", {.align_bytes = UINT64_C(1) << 63, .chunk_bytes = UINT64_C(1) << 63}, false},
		{"aligned to no power", {.align_bytes = UINT64_MAX}, false},
		{"chunks of a byte", {.align_bytes = 1, .chunk_bytes = 1}, true},
		{"the largest chunk", {.chunk_bytes = UINT64_C(1) << 62}, true},
		{"a larger chunk", {.chunk_bytes = UINT64_MAX - 511}, false},
		{"a chunk of no multiple", {.align_bytes = 512, .chunk_bytes = 513}, false},
		{"a period behind all",
			{.period = SEAM_PLAN_PERIOD_GIVEN, .first_event = UINT64_MAX - 1, .last_event = UINT64_MAX},
			false},
		{"a period backwards", {.period = SEAM_PLAN_PERIOD_GIVEN, .first_event = 2, .last_event = 1}, false},
		{"no such period", {.period = (enum seam_plan_period)99}, false},
		{"no such streams", {.streams = (enum seam_plan_streams)99}, false},
		{"taken and none", {.taken_count = SIZE_MAX}, false},
		{"fixed and none", {.fixed_count = SIZE_MAX}, false},
		{"taken backwards", {.taken = &backwards, .taken_count = 1}, false},
		{"taken up to the end", {.taken = &endless, .taken_count = 1}, false},
		{"fixed at the end", {.fixed = &at_the_end, .fixed_count = 1}, false},
		{"fixed with all room", {.fixed = &all_room, .fixed_count = 1}, false},
		{"fixed in no copy", {.fixed = &no_copy, .fixed_count = 1}, false},
		{"fixed by no event", {.fixed = &no_event, .fixed_count = 1}, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seam_trace *trace = trace_words(STEP STEP STEP);
		struct seam_trace_error error = {0};
		struct seam_plan *plan = NULL;
		struct seam_plan_options given = rows[i].given;
		given.struct_bytes = sizeof(given);
		enum seam_rc rc = seam_plan_make(trace, &given, &error, &plan);
		cr_expect_eq(rc, rows[i].good ? SEAM_OK : SEAM_INVALID, "%s: %s: %s", rows[i].name, seam_rc_name(rc),
			error.text);
		cr_expect_eq(error.text[0] != '\0', rc != SEAM_OK, "%s: a refusal has a reason", rows[i].name);
		seam_plan_free(plan);
		seam_trace_free(trace);
	}
}

Test(make, nothing_to_plan_is_an_empty_plan)
{
	struct seam_plan *plan = make("|");

	cr_expect_eq(plan->header.slot_count, 0);
	cr_expect_eq(plan->header.arena_bytes, 0);
	seam_plan_free(plan);
}

Test(make, a_fixed_block_keeps_its_address)
{
	struct seam_plan_fixed fixed = {.event = 7, .offset_bytes = 30}; /* the second step's a */

	options.fixed = &fixed;
	options.fixed_count = 1;
	options.period = SEAM_PLAN_PERIOD_GIVEN;
	options.first_event = 7;
	options.last_event = 14;
	struct seam_plan *plan = make(STEP STEP STEP);
	cr_expect_eq(plan->offsets[0], 30);
	cr_expect_geq(plan->header.arena_bytes, 150);
	seam_plan_free(plan);
}

static void stop_at_once(void *context, const struct seam_plan_progress *progress)
{
	cr_expect_leq(progress->lower_bound_bytes, progress->peak_bytes);
	*(int *)context = 1;
}

Test(make, a_cancelled_search_keeps_the_best_so_far)
{
	int cancel = 0;

	options.cancel = &cancel;
	options.progress = stop_at_once;
	options.progress_context = &cancel;
	struct seam_plan *plan = make(STEP STEP STEP);
	cr_expect_neq(plan->header.flags & SEAM_PLAN_CANCELLED, 0);
	seam_plan_free(plan);
}

Test(make, no_memory_leaves_nothing)
{
	struct seam_trace *trace = trace_words("+w1000 | " ORDERED ORDERED ORDERED);
	uint64_t fired = 0;

	for (uint64_t n = 1;; n++) {
		struct seam_plan *plan = NULL;

		seam__meta_fail_at(seam__meta_process(), n);
		struct seam_trace_error error = {0};
		enum seam_rc rc = seam_plan_make(trace, &options, &error, &plan);
		bool left = seam__meta_fail_left(seam__meta_process()) != 0;
		seam__meta_fail_at(seam__meta_process(), 0);
		cr_expect(rc == SEAM_OK || rc == SEAM_OOM_META, "%lu: %s: %s", (unsigned long)n, seam_rc_name(rc),
			error.text);
		cr_expect_eq(plan != NULL, rc == SEAM_OK);
		seam_plan_free(plan);
		if (left)
			break;
		fired++;
	}
	cr_expect_gt(fired, 20);
	seam_trace_free(trace);
}

/* The last step's own blocks live on behind the trace's end, and so do their uses: those that they end with show them.
 */
Test(make, uses_behind_the_end_of_the_trace_are_known)
{
	static const char *const rows[] = {
		"+a100 +x50 -x | +b100 >a@5 -a +x50 -x | +c100 >b@5 -b +x50 -x | +d100 >c@5 -c +x50 -x | ",
		"+a100 +x50 -x | +b100 >a@5 +x50 -x | +c100 >b@5 -a +x50 -x | +d100 >c@5 -b +x50 -x | +e100 >d@5 -c +x50 -x | "
		"+f100 >e@5 -d +x50 -x | ",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seam_plan *plan = make(rows[i]);

		cr_expect_eq(plan->header.flags & SEAM_PLAN_LINEAR, 0, "row %zu: no period", i);
		for (uint32_t s = 0; s < plan->header.slot_count; s++)
			cr_expect_eq(plan->slots[s].flags, plan->slots[s].size_bytes == 100 ? SEAM_PLAN_SHARED : 0,
				"row %zu: slot %u", i, s);
		seam_plan_free(plan);
	}
}

Test(make, uses_of_nothing_are_no_uses)
{
	options.period = SEAM_PLAN_PERIOD_WHOLE;
	struct seam_plan *plan = make("+a100 +z0 >z@5 -z -a");

	cr_expect_eq(plan->header.slot_count, 1);
	cr_expect_eq(plan->slots[0].flags, 0);
	seam_plan_free(plan);
}

Test(make, more_chunks_than_can_be_numbered_are_refused)
{
	char text[200];

	options.period = SEAM_PLAN_PERIOD_WHOLE;
	options.chunk_bytes = 1;
	cr_expect_eq(refusal("+a4294967296 -a", text), SEAM_INVALID);
	cr_expect_not_null(strstr(text, "too many chunks"), "%s", text);
}

Test(make, no_slot_touches_what_is_taken)
{
	static const struct seam_plan_range taken[] = {{10, 20}, {20, 60}, {130, 140}};
	options.taken = taken;
	options.taken_count = sizeof(taken) / sizeof(taken[0]);
	struct seam_plan *plan = make(STEP STEP STEP);

	for (uint32_t i = 0; i < plan->header.slot_count; i++) {
		for (size_t t = 0; t < options.taken_count; t++)
			cr_expect(plan->offsets[i] >= taken[t].end_bytes ||
					plan->offsets[i] + plan->slots[i].size_bytes <= taken[t].begin_bytes,
				"slot %u", i);
	}
	cr_expect_geq(plan->header.lower_bound_bytes, 150 + 60, "what is taken counts in the bound");
	seam_plan_free(plan);
}

Test(make, taken_ranges_must_be_in_order)
{
	static const struct seam_plan_range wrong[][2] = {
		{{10, 10}, {20, 30}}, {{10, 30}, {20, 40}}, {{20, 30}, {0, 10}}};
	char text[200];

	options.taken_count = 2;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		options.taken = wrong[i];
		cr_expect_eq(refusal(STEP STEP STEP, text), SEAM_INVALID, "%zu", i);
	}
	options.taken = NULL;
	cr_expect_eq(refusal(STEP STEP STEP, text), SEAM_INVALID);
}
