/* test_period.c: what repeats in traces made by hand and in made-up programs: with marks and without, with other
 * beginnings and endings, and what is no period. */
#include <criterion/criterion.h>

#include "check.h"
#include "meta.h"
#include "period.h"
#include "trace_program.h"
#include "trace_sample.h"
#include "trace_words.h"

static struct seam_trace *trace;
static struct seam_traced_requests requests;
static struct seam_tokens beats;
static struct seam_period period;
static struct seam_trace_error error;

static void forget(void)
{
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

TestSuite(period, .fini = tear_down);

static void read_trace(void)
{
	cr_assert_eq(seam__requests_init(trace, &requests), SEAM_OK);
	cr_assert_eq(seam__tokens_init(&requests, &beats), SEAM_OK);
}

static enum seam_rc find_in(const char *words)
{
	trace = trace_words(words);
	read_trace();
	return seam__period_find(&beats, &error, &period);
}

struct words_row {
	const char *name;
	const char *words;
	uint64_t first; /* the period that must be found; last 0: none */
	uint64_t last;
};

static const struct words_row words_rows[] = {
	{"equal steps", "+a10 -a | +a10 -a | +a10 -a |", 6, 9},
	{"one whole step, equal to the end of what was before it", "+p5 +a10 -a | +a10 -a |", 4, 7},
	{"one step", "+a10 -a |", 0, 0},
	{"steps of other sizes", "+a10 -a | +a10 -a | +a20 -a | +a30 -a |", 0, 0},
	{"steps of another order", "+a10 -a +b20 -b | +a10 +b20 -a -b | +b20 +a10 -a -b |", 0, 0},
	{"blocks that stay", "+a10 | +b10 | +c10 | +d10 |", 0, 0},
	{"other streams", "+a10 -a | +a10 -a | +a10@1 -a |", 0, 0},
	{"other frees, same sizes", "+a10 +b10 -a -b | +a10 +b10 -b -a | +a10 +b10 -a -b | +a10 -a +b10 -b |", 0, 0},
	{"used elsewhere in one of them", "+a10 -a | +a10 -a | +a10 >a@1 -a |", 0, 0},
	{"a partial step behind", "+a10 -a +b5 -b | +a10 -a +b5 -b | +a10 -a +b5 -b | +a10 -a", 10, 15},
	{"an evaluation behind", "+a10 -a | +a10 -a | +a10 -a | +x7 +y8 -x -y |", 6, 9},
	{"two steps make a period", "+p1 | +a10 -a | +b20 -b | +a10 -a | +b20 -b |", 8, 14},
	{"the first step allocates what the others find", "+g10 +s99 | -g +g10 | -g +g10 |", 6, 9},
	{"empty steps", "| | | |", 0, 0},
	{"nothing", "", 0, 0},
	{"no marks", "+p9 +a10 +b20 -a -b +a10 +b20 -a -b +a10 +b20 -a -b", 5, 9},
	{"no marks, begins where the least is live", "+a10 +b20 -b -a +a10 +b20 -b -a +a10 +b20 -b -a +a10 +b20", 8,
		12},
	{"no marks, no equal frees", "+a10 +b10 -a -b +a10 +b10 -b -a +c30 +d40 -c +c30 -d -c", 0, 0},
	{"no marks, half of the requests repeat", "+c1 -c +d2 -d +a10 -a +a10 -a", 4, 6},
	{"no marks, less than half of them", "+c1 -c +d2 -d +a10 -a +a10 -a +e3 -e", 0, 0},
	{"no marks, beside much that stays for good",
		"+A1 +B2 +C3 +D4 +E5 +F6 +G7 +H8 +I9 +J1 +K2 +L3 +M4 +N5 +O6 +P7 +Q8 +R9 +S1 +T2 +U3 +V4 +W5 +X6 +Y7 +Z8 "
		"+a10 -a +a10 -a +a10 -a +a10 -a",
		30, 32},
	{"no marks, beside much that goes behind it",
		"+A1 +B2 +C3 +D4 +E5 +F6 +G7 +H8 +a10 -a +a10 -a +a10 -a -A -B -C -D -E -F -G -H", 10, 12},
	{"no marks, behind much that came before it and went",
		"+A1 +B2 +C3 +D4 +E5 +F6 -A -B -C -D -E -F +a10 -a +a10 -a +a10 -a +a10 -a", 0, 0},
	{"no marks, a loop in something larger",
		"+a1 +b2 +c3 +d4 -a -c +e5 -e +e5 -e +f6 -f +g7 +h8 -b -d +i9 +j11 +k12 -g -h -i -j -k +l13 -l", 0, 0},
};

Test(period, is_found_in_words)
{
	for (size_t r = 0; r < sizeof(words_rows) / sizeof(words_rows[0]); r++) {
		const struct words_row *row = &words_rows[r];
		enum seam_rc rc = find_in(row->words);

		cr_expect_eq(rc, row->last == 0 ? SEAM_NOT_FOUND : SEAM_OK, "%s: %s", row->name, seam_rc_name(rc));
		if (rc == SEAM_OK)
			cr_expect(period.first_event == row->first && period.last_event == row->last, "%s: [%lu, %lu)",
				row->name, (unsigned long)period.first_event, (unsigned long)period.last_event);
		else
			cr_expect_neq(error.text[0], '\0', "%s", row->name);
		forget();
	}
}

struct program_row {
	const char *name;
	struct program_wish wish;
};

static const struct program_row program_rows[] = {
	{"plain", {.slots = 20, .iterations = 4, .residents = 3}},
	{"lifetimes across the end", {.slots = 20, .iterations = 5, .lag = 1, .residents = 3}},
	{"lifetimes of several periods", {.slots = 20, .iterations = 8, .lag = 3}},
	{"a first iteration with states", {.slots = 20, .iterations = 5, .lag = 1, .states = 10, .residents = 3}},
	{"equal layers", {.slots = 4, .iterations = 4, .layers = 12, .sizes = 2}},
	{"equal layers, lifetimes across the end", {.slots = 6, .iterations = 6, .layers = 12, .sizes = 2, .lag = 1}},
	{"few sizes", {.slots = 30, .iterations = 5, .sizes = 3, .lag = 1}},
	{"a part of an iteration behind", {.slots = 20, .iterations = 5, .lag = 1, .partial = true}},
	{"an evaluation behind", {.slots = 20, .iterations = 5, .lag = 1, .tail = 15}},
	{"both", {.slots = 20, .iterations = 5, .lag = 1, .tail = 15, .partial = true, .residents = 5, .states = 4}},
	{"sizes that depend on data", {.slots = 20, .iterations = 5, .lag = 1, .dynamics = 12}},
	{"two threads and three streams",
		{.slots = 20, .iterations = 5, .lag = 1, .threads = 2, .streams = 3, .users = 5, .edges = 3}},
};

/* With marks: exactly the program's. Without: as long, anywhere. */
static void expect_program(const struct program_row *row, uint64_t seed, bool marks)
{
	struct program_wish wish = row->wish;
	struct program_truth truth;
	enum seam_rc rc;

	wish.seed = seed;
	wish.marks = marks;
	trace = trace_program(&wish, &truth);
	read_trace();
	rc = seam__period_find(&beats, &error, &period);
	cr_assert_eq(rc, SEAM_OK, "%s, seed %lu, marks %d: %s", row->name, (unsigned long)seed, marks, error.text);
	cr_expect_eq(period.last_event - period.first_event, truth.iteration_events,
		"%s, seed %lu, marks %d: %lu, not %u", row->name, (unsigned long)seed, marks,
		(unsigned long)(period.last_event - period.first_event), truth.iteration_events);
	if (marks)
		cr_expect_eq(period.first_event, truth.first_event, "%s, seed %lu", row->name, (unsigned long)seed);
	cr_expect(period.same_edges, "%s, seed %lu", row->name, (unsigned long)seed);
	cr_expect_eq(seam__period_given(&beats, period.first_event, period.last_event, &error, &period), SEAM_OK,
		"%s, seed %lu: %s", row->name, (unsigned long)seed, error.text);
	forget();
}

Test(period, of_made_up_programs_is_theirs)
{
	for (size_t r = 0; r < sizeof(program_rows) / sizeof(program_rows[0]); r++) {
		for (uint64_t seed = 0; seed < 15; seed++) {
			expect_program(&program_rows[r], seed, true);
			expect_program(&program_rows[r], seed, false);
		}
	}
}

/* Iterations that all differ have none. */
Test(period, is_not_found_where_lengths_vary)
{
	struct program_wish wish = {.slots = 40, .iterations = 1, .layers = 6};
	struct seam_trace_builder *builder;
	struct program_truth truth;

	cr_assert_eq(seam_trace_builder_create("varying", 0, &builder), SEAM_OK);
	for (uint64_t i = 0; i < 6; i++) {
		wish.seed = 7; /* the same program, every time with other sizes */
		struct seam_trace *one = trace_program(&wish, &truth);
		for (uint64_t e = 0; e < one->header.event_count; e++) {
			struct seam_trace_event event = one->events[e];
			event.size += 100 * i;
			event.id += 100000 * i;
			event.time_ns = 0;
			cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
		}
		seam_trace_free(one);
		cr_assert_eq(
			seam_trace_builder_add(builder, &(struct seam_trace_event){.kind = SEAM_TRACE_STEP, .id = i}),
			SEAM_OK);
	}
	cr_assert_eq(seam_trace_builder_finish(builder, &error, &trace), SEAM_OK, "%s", error.text);
	seam_trace_builder_destroy(builder);
	read_trace();
	cr_expect_eq(seam__period_find(&beats, &error, &period), SEAM_NOT_FOUND);
}

struct given_row {
	const char *name;
	uint64_t first;
	uint64_t last;
	enum seam_rc rc;
};

static const struct given_row given_rows[] = {
	{"two whole ones", 1, 9, SEAM_OK},
	{"all of it", 0, 13, SEAM_INVALID},
	{"what leaves a block", 1, 4, SEAM_INVALID},
	{"empty", 4, 4, SEAM_INVALID},
	{"reversed", 9, 5, SEAM_INVALID},
	{"behind the end", 5, 14, SEAM_INVALID},
	{"shifted", 2, 6, SEAM_OK},
};

Test(period, given_is_taken_as_it_is_or_refused)
{
	trace = trace_words("+p9 +a10 +b20 -a -b +a10 +b20 -a -b +a10 +b20 -a -b");
	read_trace();
	for (size_t r = 0; r < sizeof(given_rows) / sizeof(given_rows[0]); r++) {
		const struct given_row *row = &given_rows[r];

		error.text[0] = '\0';
		cr_expect_eq(
			seam__period_given(&beats, row->first, row->last, &error, &period), row->rc, "%s", row->name);
		if (row->rc != SEAM_OK)
			cr_expect_neq(error.text[0], '\0', "%s", row->name);
		else
			cr_expect(period.first_event == row->first && period.last_event == row->last && !period.linear,
				"%s", row->name);
	}
	period = seam__period_whole(trace);
	cr_expect(period.linear && period.first_event == 0 && period.last_event == 13);
}

struct edges_row {
	const char *name;
	const char *words;
	bool same;
};

static const struct edges_row edges_rows[] = {
	{"the same", "+a10 !e ?e@1 -a | +a10 !e ?e@1 -a | +a10 !e ?e@1 -a |", true},
	{"no wait in one", "+a10 !e ?e@1 -a | +a10 !e -a | +a10 !e ?e@1 -a |", false},
	{"at another place", "+a10 !e ?e@1 -a | +a10 !e ?e@1 -a | +a10 !e -a ?e@1 |", false},
	{"another stream", "+a10 !e ?e@1 -a | +a10 !e ?e@1 -a | +a10 !e ?e@2 -a |", false},
	{"other names", "+a10 !e ?e@1 -a | +a10 !e ?e@1 -a | +a10 !f ?f@1 -a |", true},
	{"an older record", "+a10 !e !f ?f@1 -a | +a10 !e !f ?f@1 -a | +a10 !e !f ?e@1 -a |", false},
	{"without marks, the same", "+a10 !e ?e@1 -a +a10 !e ?e@1 -a +a10 !e ?e@1 -a", true},
	{"without marks, another", "+a10 !e ?e@1 -a +a10 !e ?e@2 -a +a10 !e ?e@1 -a", false},
};

Test(period, edges_that_do_not_repeat_prove_nothing)
{
	for (size_t r = 0; r < sizeof(edges_rows) / sizeof(edges_rows[0]); r++) {
		cr_assert_eq(find_in(edges_rows[r].words), SEAM_OK, "%s: %s", edges_rows[r].name, error.text);
		cr_expect_eq(period.same_edges, edges_rows[r].same, "%s", edges_rows[r].name);
		forget();
	}
}

Test(period, no_memory_leaves_nothing)
{
	static const char *const words[] = {"+a10 !e ?e@1 -a | +a10 !e ?e@1 -a | +a10 !e ?e@1 -a |",
		"+p9 +a10 +b20 -a -b +a10 +b20 -a -b +a10 +b20 -a -b"};

	for (size_t w = 0; w < 2; w++) {
		enum seam_rc rc = SEAM_OOM_META;

		trace = trace_words(words[w]);
		read_trace();
		uint64_t before = trace_sample_live_bytes();
		for (uint64_t n = 1; rc != SEAM_OK; n++) {
			seam__meta_fail_at(seam__meta_process(), n);
			rc = seam__period_find(&beats, &error, &period);
			cr_expect(rc == SEAM_OK || rc == SEAM_OOM_META);
			cr_expect_eq(trace_sample_live_bytes(), before, "words %zu, call %lu", w, (unsigned long)n);
			cr_assert_lt(n, 100);
		}
		seam__meta_fail_at(seam__meta_process(), 0);
		forget();
	}
}
