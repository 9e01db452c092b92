/* test_slots.c: lifetimes in periods: of traces made by hand, and of made-up programs against what the program knows.
 */
#include <criterion/criterion.h>

#include "check.h"
#include "meta.h"
#include "slots.h"
#include "trace_program.h"
#include "trace_sample.h"
#include "trace_words.h"

static struct seam_trace *trace;
static struct seam_traced_requests requests;
static struct seam_tokens beats;
static struct seam_period_slots slots;
static struct seam_trace_error error;

static void forget(void)
{
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

TestSuite(slots, .fini = tear_down);

static void read_trace(void)
{
	cr_assert_eq(seam__requests_init(trace, &requests), SEAM_OK);
	cr_assert_eq(seam__tokens_init(&requests, &beats), SEAM_OK);
}

static enum seam_rc slots_of(uint64_t first, uint64_t last)
{
	struct seam_period period;
	enum seam_rc rc = seam__period_given(&beats, first, last, &error, &period);

	return rc != SEAM_OK ? rc : seam__slots_init(&beats, &period, &error, &slots);
}

struct slot_row {
	uint32_t begin;
	uint32_t end;
};

struct words_row {
	const char *name;
	const char *words;
	uint64_t first;
	uint64_t last;
	uint32_t copies;
	uint32_t count;
	uint64_t resident_bytes;
	struct slot_row slots[4];
};

static const struct words_row words_rows[] = {
	{"inside", "+p5 +a10 +b20 -a -b", 1, 5, 1, 2, 5, {{0, 2}, {1, 3}}},
	{"across the end, the trace goes on", "+g7 | +a10 -g -a +g7 | +a10 -g -a +g7 | +a10 -g -a", 7, 12, 1, 2, 0,
		{{0, 2}, {3, 5}}},
	{"across the end, the trace ends", "+g7 | +a10 -g -a +g7 | +a10 -g -a +g7 |", 7, 12, 1, 2, 0, {{0, 2}, {3, 5}}},
	{"the old is freed when the new is there", "+o7 | +n7 -o | +o7 -n | +n7 -o |", 5, 8, 2, 1, 0, {{0, 3}}},
	{"freed two periods later", "+a1 | +b1 | +c1 -a | +a1 -b | +b1 -c | +c1 -a |", 13, 16, 3, 1, 0, {{0, 5}}},
	{"the only period there is: paired by place", "+x7 +y7 +a3 -x +b7 -a -y +c7", 2, 8, 1, 3, 0,
		{{0, 3}, {2, 7}, {5, 10}}},
	{"no place tells: paired in order", "+x7 +w1 +a3 -x +b7 -a", 2, 6, 1, 2, 1, {{0, 3}, {2, 5}}},
	{"an old block of equal size, by accident at the place", "+x7 +q3 -x +b7", 2, 4, 1, 1, 3, {{1, 2}}},
	{"residents with a gap", "+p5 +q6 -p +a1 -a", 3, 5, 1, 1, 6, {{0, 1}}},
	{"marks, edges and nothing are no positions", "+a1 | !e +z0 ?e@1 -z -a +a1 |", 2, 9, 1, 1, 0, {{1, 2}}},
};

Test(slots, of_words)
{
	for (size_t r = 0; r < sizeof(words_rows) / sizeof(words_rows[0]); r++) {
		const struct words_row *row = &words_rows[r];

		trace = trace_words(row->words);
		read_trace();
		cr_assert_eq(slots_of(row->first, row->last), SEAM_OK, "%s: %s", row->name, error.text);
		cr_expect_null(seam__slots_check(&slots), "%s: %s", row->name, seam__slots_check(&slots));
		cr_assert_eq(seam__slots_count(&slots), row->count, "%s", row->name);
		cr_expect_eq(slots.copies, row->copies, "%s: %u", row->name, slots.copies);
		cr_expect_eq(slots.resident_bytes, row->resident_bytes, "%s: %lu", row->name,
			(unsigned long)slots.resident_bytes);
		for (uint32_t i = 0; i < row->count; i++)
			cr_expect(seam__slot_at(&slots, i)->begin == row->slots[i].begin &&
					seam__slot_at(&slots, i)->end == row->slots[i].end,
				"%s: slot %u is [%u, %u)", row->name, i, seam__slot_at(&slots, i)->begin,
				seam__slot_at(&slots, i)->end);
		forget();
	}
}

Test(slots, of_a_whole_trace_end_with_it)
{
	trace = trace_words("+p5 +a10 -a +b20");
	read_trace();
	const struct seam_period period = seam__period_whole(trace);
	cr_assert_eq(seam__slots_init(&beats, &period, &error, &slots), SEAM_OK);
	cr_expect_null(seam__slots_check(&slots));
	cr_expect_eq(seam__slots_count(&slots), 3);
	cr_expect(seam__slot_at(&slots, 0)->end == 4 && seam__slot_at(&slots, 1)->end == 2 &&
		seam__slot_at(&slots, 2)->end == 4);
	cr_expect(slots.copies == 1 && slots.resident_bytes == 0);
}

Test(slots, of_nothing)
{
	trace = trace_words("| |");
	read_trace();
	cr_assert_eq(slots_of(0, 2), SEAM_OK);
	cr_expect(seam__slots_count(&slots) == 0 && slots.copies == 1 && slots.position_count == 0);
	cr_expect_null(seam__slots_check(&slots));
}

/* A free of another thread, module and phase than the allocation is found by the slot. */
Test(slots, know_the_free_that_ends_them)
{
	trace = trace_words("+g7 | +a10 -g -a +g7 | +a10 -g -a +g7 |");
	read_trace();
	cr_assert_eq(slots_of(7, 12), SEAM_OK);
	cr_expect_eq(seam__slot_at(&slots, 1)->free_event, 8);
	cr_expect_eq(seam__slot_at(&slots, 1)->lag, 1);
	cr_expect_eq(seam__slot_freed(&slots, 1), seam__request_at(&requests, 2), "the block of the period before");
	cr_expect_eq(seam__slot_at(&slots, 0)->lag, 0);
}

/* Streams of slots with a place stand before those of users. */
Test(slots, number_the_streams_that_matter)
{
	trace = trace_words("+p1@9 +a10@4 >a@7 -a +b10@5 -b");
	read_trace();
	cr_assert_eq(slots_of(1, 6), SEAM_OK);
	const uint32_t *streams = slots.streams.items;
	cr_assert_eq(slots.streams.count, 3);
	cr_expect_eq(slots.placed_streams, 2);
	cr_expect_eq(seam__stream_at(&requests, streams[0])->stream, 4);
	cr_expect_eq(seam__stream_at(&requests, streams[1])->stream, 5);
	cr_expect_eq(seam__stream_at(&requests, streams[2])->stream, 7);
}

/* A stream that has requests without a place only does not make a problem of several streams. */
Test(slots, without_a_place_have_their_streams_last)
{
	struct seam_trace_builder *builder;

	cr_assert_eq(seam_trace_builder_create("dynamic", 0, &builder), SEAM_OK);
	for (uint64_t i = 0; i < 4; i++) {
		const struct seam_trace_event event = {.kind = i % 2 == 0 ? SEAM_TRACE_ALLOC : SEAM_TRACE_FREE,
			.id = i / 2,
			.size = 5,
			.stream = 3 + i / 2,
			.flags = i == 0 ? SEAM_TRACE_DYNAMIC : 0};

		cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
	}
	cr_assert_eq(seam_trace_builder_finish(builder, &error, &trace), SEAM_OK, "%s", error.text);
	seam_trace_builder_destroy(builder);
	read_trace();
	cr_assert_eq(slots_of(0, 4), SEAM_OK, "%s", error.text);
	cr_expect_null(seam__slots_check(&slots));
	cr_expect_eq(slots.placed_streams, 1);
	cr_expect_eq(seam__stream_at(&requests, ((const uint32_t *)slots.streams.items)[0])->stream, 4);
	cr_expect(seam__slot_at(&slots, 0)->stream == 1 && seam__slot_at(&slots, 1)->stream == 0);
}

static const struct program_wish wishes[] = {
	{.slots = 20, .iterations = 4, .residents = 3, .marks = true},
	{.slots = 20, .iterations = 5, .lag = 1, .residents = 3, .marks = true},
	{.slots = 20, .iterations = 5, .lag = 2, .marks = true},
	{.slots = 20, .iterations = 8, .lag = 3, .states = 5, .marks = true},
	{.slots = 30, .iterations = 6, .lag = 2, .sizes = 2, .marks = true},
	{.slots = 4, .iterations = 6, .lag = 1, .sizes = 2, .layers = 12, .marks = true},
	{.slots = 20, .iterations = 5, .lag = 1, .tail = 10, .partial = true, .marks = true},
	{.slots = 20, .iterations = 5, .lag = 1, .dynamics = 10, .threads = 2, .streams = 3, .marks = true},
};

static void expect_truth(const struct program_truth *truth, size_t row, uint64_t seed)
{
	uint32_t at = 0;

	cr_expect_eq(slots.position_count, truth->positions, "row %zu, seed %lu", row, (unsigned long)seed);
	cr_expect_eq(slots.copies, truth->copies, "row %zu, seed %lu: %u, not %u", row, (unsigned long)seed,
		slots.copies, truth->copies);
	for (uint32_t i = 0; i < seam__slots_count(&slots); i++) {
		const struct seam_period_slot *slot = seam__slot_at(&slots, i);

		if (!seam__slot_is_placed(&slots, i))
			continue;
		cr_assert_lt(at, truth->slot_count);
		cr_expect(slot->begin == truth->slots[at].begin && slot->end == truth->slots[at].end &&
				seam__slot_request(&slots, i)->size_bytes == truth->slots[at].size_bytes,
			"row %zu, seed %lu: slot %u is [%u, %u), not [%u, %u)", row, (unsigned long)seed, i,
			slot->begin, slot->end, truth->slots[at].begin, truth->slots[at].end);
		at++;
	}
	cr_expect_eq(at, truth->slot_count);
}

Test(slots, of_made_up_programs_live_as_the_program_says)
{
	for (size_t row = 0; row < sizeof(wishes) / sizeof(wishes[0]); row++) {
		for (uint64_t seed = 0; seed < 20; seed++) {
			for (int marks = 0; marks < 2; marks++) {
				struct program_wish wish = wishes[row];
				struct program_truth truth;
				struct seam_period period;

				wish.seed = seed;
				wish.marks = marks != 0;
				wish.iterations += marks != 0 ? 0 : 2;
				trace = trace_program(&wish, &truth);
				read_trace();
				cr_assert_eq(seam__period_find(&beats, &error, &period), SEAM_OK,
					"row %zu, seed %lu: %s", row, (unsigned long)seed, error.text);
				cr_assert_eq(seam__slots_init(&beats, &period, &error, &slots), SEAM_OK,
					"row %zu, seed %lu: %s", row, (unsigned long)seed, error.text);
				cr_expect_null(seam__slots_check(&slots), "row %zu, seed %lu: %s", row,
					(unsigned long)seed, seam__slots_check(&slots));
				cr_expect_eq(slots.resident_bytes, truth.resident_bytes, "row %zu, seed %lu, marks %d",
					row, (unsigned long)seed, marks);
				cr_expect_eq(slots.resident_count, truth.resident_count, "row %zu, seed %lu, marks %d",
					row, (unsigned long)seed, marks);
				if (marks != 0)
					expect_truth(&truth, row, seed);
				else
					cr_expect_eq(slots.copies, truth.copies, "row %zu, seed %lu without marks", row,
						(unsigned long)seed);
				forget();
			}
		}
	}
}

/* The first iterations allocate what all do, but free less: blocks of theirs still tell which slot is whose. */
Test(slots, of_a_given_period_need_few_iterations_before_it)
{
	for (uint64_t seed = 0; seed < 30; seed++) {
		const struct program_wish wish = {
			.seed = seed, .slots = 25, .iterations = 4, .lag = 3, .sizes = 3, .streams = 2};
		struct program_truth truth;

		trace = trace_program(&wish, &truth);
		read_trace();
		cr_assert_eq(slots_of(truth.first_event, truth.first_event + truth.iteration_events), SEAM_OK,
			"seed %lu: %s", (unsigned long)seed, error.text);
		cr_expect_null(seam__slots_check(&slots));
		expect_truth(&truth, 100, seed);
		forget();
	}
}

Test(slots, no_memory_leaves_nothing)
{
	enum seam_rc rc = SEAM_OOM_META;

	trace = trace_words("+x7 +y7@1 +a3 >a@2 -x +b7 -a -y +c7@1");
	read_trace();
	uint64_t before = trace_sample_live_bytes();
	for (uint64_t n = 1; rc != SEAM_OK; n++) {
		seam__meta_fail_at(seam__meta_process(), n);
		rc = slots_of(2, 9);
		if (rc != SEAM_OK) {
			cr_expect_eq(rc, SEAM_OOM_META);
			cr_expect_eq(trace_sample_live_bytes(), before, "call %lu", (unsigned long)n);
		}
		cr_assert_lt(n, 100);
	}
	seam__meta_fail_at(seam__meta_process(), 0);
}
