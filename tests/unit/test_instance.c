/* test_instance.c: the problem made of a period: copies, conflicts as the program's repetitions have them, streams,
 * fixed blocks; and its lower bound. */
#include <criterion/criterion.h>

#include "bounds.h"
#include "check.h"
#include "instance.h"
#include "meta.h"
#include "trace_program.h"
#include "trace_sample.h"
#include "trace_words.h"

static struct seam_trace *trace;
static struct seam_traced_requests requests;
static struct seam_tokens beats;
static struct seam_period_slots slots;
static struct seam_problem problem;
static struct seam_trace_error error;

static void forget(void)
{
	seam__problem_fini(&problem);
	seam__slots_fini(&slots);
	seam__tokens_fini(&beats);
	seam__requests_fini(&requests);
	seam_trace_free(trace);
	trace = NULL;
}

static void tear_down(void)
{
	forget();
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
}

TestSuite(instance, .fini = tear_down);

static void read_trace(uint64_t first, uint64_t last)
{
	struct seam_period period;

	cr_assert_eq(seam__requests_init(trace, &requests), SEAM_OK);
	cr_assert_eq(seam__tokens_init(&requests, &beats), SEAM_OK);
	if (last == 0)
		period = seam__period_whole(trace);
	else
		cr_assert_eq(seam__period_given(&beats, first, last, &error, &period), SEAM_OK, "%s", error.text);
	cr_assert_eq(seam__slots_init(&beats, &period, &error, &slots), SEAM_OK, "%s", error.text);
}

static enum seam_rc make(const struct seam_instance_options *options)
{
	return seam__instance_init(seam__meta_process(), &slots, options, &error, &problem);
}

static void make_plain(enum seam_plan_streams streams)
{
	const struct seam_instance_options options = {.align_bytes = 1, .streams = streams};

	cr_assert_eq(make(&options), SEAM_OK, "%s", error.text);
	cr_expect_null(seam__problem_check(&problem), "%s", seam__problem_check(&problem));
}

/* Do the two live together in any of the repetitions of a long run of the program? */
static bool meet(const struct program_truth *truth, uint32_t i, uint32_t i_copy, uint32_t j, uint32_t j_copy)
{
	uint64_t period = truth->positions;

	for (uint64_t a = i_copy; a < 6 * truth->copies; a += truth->copies) {
		for (uint64_t b = j_copy; b < 6 * truth->copies; b += truth->copies) {
			if ((i != j || a != b) &&
				a * period + truth->slots[i].begin < b * period + truth->slots[j].end &&
				b * period + truth->slots[j].begin < a * period + truth->slots[i].end)
				return true;
		}
	}
	return false;
}

Test(instance, items_conflict_when_repetitions_of_them_live_together)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		const struct program_wish wish = {.seed = seed,
			.slots = 14,
			.iterations = 8,
			.lag = (uint32_t)(seed % 4),
			.residents = 2,
			.marks = true,
			.dynamics = (uint32_t)(seed % 3)};
		struct program_truth truth;

		trace = trace_program(&wish, &truth);
		read_trace(truth.first_event, truth.first_event + truth.iteration_events);
		make_plain(SEAM_PLAN_STREAMS_EDGES);
		cr_assert_eq(problem.count, truth.slot_count * truth.copies, "seed %lu", (unsigned long)seed);
		cr_expect_eq(problem.circle, truth.positions * truth.copies);
		for (uint32_t i = 0; i < problem.count; i++) {
			for (uint32_t j = 0; j < problem.count; j++) {
				bool expected = meet(&truth, i % truth.slot_count, i / truth.slot_count,
					j % truth.slot_count, j / truth.slot_count);

				cr_expect(i == j || seam__problem_conflict(&problem, i, j) == expected,
					"seed %lu: items %u and %u", (unsigned long)seed, i, j);
				cr_expect(i != j || !expected, "seed %lu: item %u meets itself: too few copies",
					(unsigned long)seed, i);
			}
		}
		forget();
	}
}

Test(instance, has_the_smallest_number_of_copies_that_works)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		const struct program_wish wish = {.seed = seed, .slots = 10, .iterations = 8, .lag = 3, .marks = true};
		struct program_truth truth;
		bool meets_itself = false;

		trace = trace_program(&wish, &truth);
		read_trace(truth.first_event, truth.first_event + truth.iteration_events);
		truth.copies = slots.copies - 1;
		for (uint32_t i = 0; truth.copies > 0 && i < truth.slot_count; i++)
			meets_itself = meets_itself || meet(&truth, i, 0, i, 0);
		cr_expect(truth.copies == 0 || meets_itself, "seed %lu: %u copies are one too many",
			(unsigned long)seed, slots.copies);
		forget();
	}
}

Test(instance, items_stand_copy_by_copy)
{
	trace = trace_words(
		"+o7 | +n7 -o | +o7 -n | +n7 -o |"); /* two copies of one slot, that ends in the next period */
	read_trace(5, 8);
	make_plain(SEAM_PLAN_STREAMS_EDGES);
	cr_assert_eq(problem.count, 2);
	cr_expect(problem.items[1].copy == 1 && problem.items[1].request == 0 && problem.items[1].begin == 2);
}

struct stream_row {
	const char *name;
	const char *words;
	uint64_t last; /* the period is [0, last); 0: the whole trace, once */
	bool edges;    /* may the first two slots share a byte, by each choice? */
	bool apart;
	bool insert;
};

static const struct stream_row stream_rows[] = {
	{"one stream", "+a10 -a +b10 -b", 0, true, true, true},
	{"two streams, no edge", "+a10 -a +b10@1 -b", 0, false, false, true},
	{"two streams, an edge", "+a10 -a !e ?e@1 +b10@1 -b", 0, true, false, true},
	{"the edge is too early", "+a10 !e ?e@1 -a +b10@1 -b", 0, false, false, true},
	{"two streams, no edge, periodic", "+a10 -a +b10@1 -b", 4, false, false, true},
	{"only one way ordered, periodic", "+a10 -a !e ?e@1 +b10@1 -b", 6, false, false, true},
	{"both ways ordered, periodic", "+a10 -a !e ?e@1 +b10@1 -b !f@1 ?f", 8, true, false, true},
	{"used elsewhere, the own stream", "+a10 >a@1 -a +b10 -b", 0, false, false, true},
	{"used elsewhere, no edge from there", "+a10 >a@1 -a !e ?e@1 +b10 -b", 0, false, false, true},
	{"used elsewhere, an edge from there later", "+a10 >a@1 -a +b10 -b !e@1 ?e +c1 -c", 0, false, false, true},
	{"used elsewhere, no edge, periodic", "+a10 >a@1 -a +b10 -b", 5, false, false, true},
	{"used elsewhere, an edge from there first", "+a10 >a@1 -a !e@1 ?e +b10 -b", 0, true, true, true},
};

static const struct {
	enum seam_plan_streams choice;
	const char *name;
} choices[] = {
	{SEAM_PLAN_STREAMS_EDGES, "edges"}, {SEAM_PLAN_STREAMS_APART, "apart"}, {SEAM_PLAN_STREAMS_INSERT, "insert"}};

Test(instance, streams_share_what_they_may)
{
	for (size_t r = 0; r < sizeof(stream_rows) / sizeof(stream_rows[0]); r++) {
		const struct stream_row *row = &stream_rows[r];
		const bool expected[] = {row->edges, row->apart, row->insert};

		for (size_t c = 0; c < 3; c++) {
			trace = trace_words(row->words);
			read_trace(0, row->last);
			make_plain(choices[c].choice);
			cr_expect_eq(!seam__problem_conflict(&problem, 0, 1), expected[c], "%s, %s", row->name,
				choices[c].name);
			forget();
		}
	}
}

/* Blocks 1 and 2: of the named pools and streams, one after the other. */
static void make_pools(const uint32_t pools[2], const uint64_t streams[2], enum seam_plan_streams choice)
{
	struct seam_trace_builder *builder;

	cr_assert_eq(seam_trace_builder_create("pools", 0, &builder), SEAM_OK);
	for (uint64_t b = 0; b < 2; b++) {
		struct seam_trace_event event = {
			.kind = SEAM_TRACE_ALLOC, .id = b, .size = 8, .pool = pools[b], .stream = streams[b]};

		cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
		event.kind = SEAM_TRACE_FREE;
		cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
	}
	cr_assert_eq(seam_trace_builder_finish(builder, &error, &trace), SEAM_OK, "%s", error.text);
	seam_trace_builder_destroy(builder);
	read_trace(0, 0);
	make_plain(choice);
}

Test(instance, a_private_pool_shares_with_itself_only)
{
	for (size_t c = 0; c < 3; c++) {
		make_pools((uint32_t[]){0, 1}, (uint64_t[]){0, 0}, choices[c].choice);
		cr_expect(seam__problem_conflict(&problem, 0, 1), "%s", choices[c].name);
		forget();
		make_pools((uint32_t[]){1, 1}, (uint64_t[]){0, 0}, choices[c].choice);
		cr_expect_not(seam__problem_conflict(&problem, 0, 1), "%s", choices[c].name);
		forget();
		make_pools((uint32_t[]){1, 1}, (uint64_t[]){0, 5}, choices[c].choice);
		cr_expect_eq(!seam__problem_conflict(&problem, 0, 1), choices[c].choice == SEAM_PLAN_STREAMS_INSERT,
			"%s", choices[c].name);
		forget();
		make_pools((uint32_t[]){1, 2}, (uint64_t[]){0, 0}, choices[c].choice);
		cr_expect(seam__problem_conflict(&problem, 0, 1), "%s", choices[c].name);
		forget();
	}
}

/* What is freed goes to another stream, or from the other streams that used it to its own, so many positions later. */
Test(instance, inserted_waits_keep_their_distance)
{
	static const struct {
		const char *words;
		uint32_t most; /* the longest distance at which the first two may share */
	} rows[] = {
		{"+a10 -a +b10@1 -b", 1},
		{"+a10 -a +c1 -c +b10@1 -b", 3},
		{"+a10 >a@1 -a +c1 -c +b10 -b", 3},
		{"+a10 -a !e ?e@1 +b10@1 -b", UINT32_MAX},
		{"+a10 -a +b10 -b", UINT32_MAX},
	};

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		for (uint32_t positions = 0; positions < 8; positions++) {
			const struct seam_instance_options options = {
				.align_bytes = 1, .streams = SEAM_PLAN_STREAMS_INSERT, .apart_positions = positions};
			uint32_t last;

			trace = trace_words(rows[r].words);
			read_trace(0, 0);
			cr_assert_eq(seam__instance_init(seam__meta_process(), &slots, &options, &error, &problem),
				SEAM_OK, "%s", error.text);
			last = problem.count - 1;
			cr_expect_eq(!seam__problem_conflict(&problem, 0, last), positions <= rows[r].most,
				"%s, %u positions", rows[r].words, positions);
			forget();
		}
	}
}

Test(instance, the_bound_adds_up_what_never_shares)
{
	uint32_t sets[3];

	trace = trace_words("+a10 -a +b20@1 -b +c5@2 -c");
	read_trace(0, 0);
	make_plain(SEAM_PLAN_STREAMS_EDGES);
	cr_expect_eq(seam__bounds_sets(&problem, sets), 3);
	cr_expect_eq(problem.lower_bytes, 35);
	forget();
	trace = trace_words("+a10 -a !e ?e@1 +b20@1 -b +c5@2 -c");
	read_trace(0, 0);
	make_plain(SEAM_PLAN_STREAMS_EDGES);
	cr_expect_eq(seam__bounds_sets(&problem, sets), 2);
	cr_expect(sets[0] == sets[1] && sets[2] != sets[0]);
	cr_expect_eq(problem.lower_bytes, 25);
	forget();
	trace = trace_words("+a10 -a +b20@1 -b +c5@2 -c");
	read_trace(0, 0);
	make_plain(SEAM_PLAN_STREAMS_INSERT);
	cr_expect_eq(seam__bounds_sets(&problem, sets), 1);
	cr_expect_eq(problem.lower_bytes, 20);
	forget();
}

struct fixed_row {
	const char *name;
	struct seam_plan_fixed fixed[2];
	size_t count;
	enum seam_rc rc;
};

/* Of "+p8 +g8 | +a16 -a +b8 -g +g8 -b | (again)": p is a resident, g lives across the end, a and b inside. */
static const struct fixed_row fixed_rows[] = {
	{"a slot", {{.event = 3, .offset_bytes = 64}}, 1, SEAM_OK},
	{"a resident", {{.event = 0, .offset_bytes = 0}}, 1, SEAM_OK},
	{"both", {{.event = 0, .offset_bytes = 0}, {.event = 3, .offset_bytes = 8}}, 2, SEAM_OK},
	{"a slot over a resident", {{.event = 0, .offset_bytes = 0}, {.event = 3, .offset_bytes = 0}}, 2, SEAM_INVALID},
	{"two that never meet", {{.event = 3, .offset_bytes = 0}, {.event = 5, .offset_bytes = 8}}, 2, SEAM_OK},
	{"two that meet across the end", {{.event = 3, .offset_bytes = 0}, {.event = 7, .offset_bytes = 8}}, 2,
		SEAM_INVALID},
	{"one twice", {{.event = 3, .offset_bytes = 0}, {.event = 3, .offset_bytes = 64}}, 2, SEAM_INVALID},
	{"not aligned", {{.event = 3, .offset_bytes = 4}}, 1, SEAM_INVALID},
	{"a copy that is not", {{.event = 3, .copy = 1}}, 1, SEAM_INVALID},
	{"a resident's copy", {{.event = 0, .copy = 1}}, 1, SEAM_INVALID},
	{"a free", {{.event = 4}}, 1, SEAM_INVALID},
	{"a mark", {{.event = 2}}, 1, SEAM_INVALID},
	{"before the period, and freed in it", {{.event = 1}}, 1, SEAM_INVALID},
	{"behind the period", {{.event = 10}}, 1, SEAM_INVALID},
	{"behind the trace", {{.event = 1000}}, 1, SEAM_INVALID},
};

Test(instance, fixed_blocks_keep_their_addresses)
{
	for (size_t r = 0; r < sizeof(fixed_rows) / sizeof(fixed_rows[0]); r++) {
		const struct fixed_row *row = &fixed_rows[r];
		const struct seam_instance_options options = {
			.align_bytes = 8, .fixed = row->fixed, .fixed_count = row->count};

		trace = trace_words("+p8 +g8 | +a16 -a +b8 -g +g8 -b | +a16 -a +b8 -g +g8 -b |");
		read_trace(3, 10);
		error.text[0] = '\0';
		cr_expect_eq(make(&options), row->rc, "%s: %s", row->name, error.text);
		if (row->rc == SEAM_OK) {
			uint32_t found = 0;

			cr_expect_null(
				seam__problem_check(&problem), "%s: %s", row->name, seam__problem_check(&problem));
			for (uint32_t i = 0; i < problem.count; i++)
				for (size_t f = 0; f < row->count; f++)
					found += problem.items[i].fixed_bytes == row->fixed[f].offset_bytes &&
						(problem.items[i].request == SEAM__ITEM_NONE) ==
							(row->fixed[f].event == 0);
			cr_expect_eq(found, row->count, "%s", row->name);
		} else {
			cr_expect_neq(error.text[0], '\0', "%s", row->name);
		}
		forget();
	}
}

Test(instance, a_fixed_block_may_have_more_room_than_it_needs)
{
	struct seam_plan_fixed fixed = {.event = 3, .offset_bytes = 64, .room_bytes = 24};
	const struct seam_instance_options options = {.align_bytes = 8, .fixed = &fixed, .fixed_count = 1};

	for (uint64_t room = 4; room <= 24; room += 4) {
		trace = trace_words("+p8 +g8 | +a16 -a +b8 -g +g8 -b | +a16 -a +b8 -g +g8 -b |");
		read_trace(3, 10);
		fixed.room_bytes = room;
		cr_expect_eq(make(&options), room % 8 == 0 ? SEAM_OK : SEAM_INVALID, "%lu", (unsigned long)room);
		if (room % 8 == 0) {
			cr_expect_eq(problem.items[0].fixed_bytes, 64);
			cr_expect_eq(problem.items[0].size_bytes, room > 16 ? room : 16, "%lu", (unsigned long)room);
		}
		forget();
	}
}

Test(instance, a_fixed_resident_is_in_the_way_all_around)
{
	const struct seam_plan_fixed fixed = {.event = 0, .offset_bytes = 16};
	const struct seam_instance_options options = {.align_bytes = 8, .fixed = &fixed, .fixed_count = 1};

	trace = trace_words("+p8 | +a16 -a +b8@1 -b |");
	read_trace(2, 7);
	cr_assert_eq(make(&options), SEAM_OK);
	cr_assert_eq(problem.count, 3);
	cr_expect_null(seam__problem_check(&problem));
	cr_expect(seam__problem_conflict(&problem, 0, 2) && seam__problem_conflict(&problem, 1, 2));
	cr_expect_eq(problem.lower_bytes, 32, "%lu", (unsigned long)problem.lower_bytes);
}

Test(instance, no_memory_leaves_nothing)
{
	const struct seam_plan_fixed fixed = {.event = 2, .offset_bytes = 16};
	const struct seam_instance_options options = {.align_bytes = 8, .fixed = &fixed, .fixed_count = 1};
	enum seam_rc rc = SEAM_OOM_META;

	trace = trace_words("+p8 | +a16 !e ?e@1 >a@2 -a +b8@1 -b |");
	read_trace(2, 10);
	uint64_t before = trace_sample_live_bytes();
	for (uint64_t n = 1; rc != SEAM_OK; n++) {
		seam__meta_fail_at(seam__meta_process(), n);
		rc = make(&options);
		if (rc != SEAM_OK) {
			cr_expect_eq(rc, SEAM_OOM_META);
			cr_expect_eq(trace_sample_live_bytes(), before, "call %lu", (unsigned long)n);
		}
		cr_assert_lt(n, 100);
	}
	seam__meta_fail_at(seam__meta_process(), 0);
}
