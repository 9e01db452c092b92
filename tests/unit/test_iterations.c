/* test_iterations.c: kinds of iterations in made-up programs, with marks and without: as many as there are, as long as
 * they are, and models that can be planned. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "iterations_fixture.h"
#include "trace_program.h"
#include "trace_words.h"

static struct program_truth truth;

TestSuite(iterations, .fini = tear_down);

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

static void expect_program(const struct program_row *row, uint64_t seed, bool marks)
{
	struct program_wish wish = row->wish;
	struct seam_plan *plan;

	wish.seed = seed;
	wish.marks = marks;
	trace = trace_program(&wish, &truth);
	cr_assert_eq(seam__iterations_find(trace, NULL, &iterations), SEAM_OK);
	cr_assert_eq(iterations.count, 1, "%s, seed %lu, marks %d: %u kinds", row->name, (unsigned long)seed, marks,
		iterations.count);
	cr_expect_null(seam__iterations_check(&iterations), "%s, seed %lu: %s", row->name, (unsigned long)seed,
		seam__iterations_check(&iterations));
	plan = plan_of(&iterations.kinds[0], row->name, seed);
	cr_expect_eq(plan->header.positions, truth.positions, "%s, seed %lu, marks %d: %u positions, not %u", row->name,
		(unsigned long)seed, marks, plan->header.positions, truth.positions);
	cr_expect_eq(plan->header.copies, truth.copies, "%s, seed %lu", row->name, (unsigned long)seed);
	cr_expect_eq(plan->header.resident_bytes, truth.resident_bytes, "%s, seed %lu, marks %d: %lu, not %lu",
		row->name, (unsigned long)seed, marks, (unsigned long)plan->header.resident_bytes,
		(unsigned long)truth.resident_bytes);
	for (uint32_t i = 0; marks && wish.dynamics == 0 && i < truth.slot_count; i++)
		cr_expect(plan->slots[i].size_bytes == truth.slots[i].size_bytes &&
				plan->slots[i].begin == truth.slots[i].begin &&
				plan->slots[i].end == truth.slots[i].end,
			"%s, seed %lu, slot %u", row->name, (unsigned long)seed, i);
	seam_plan_free(plan);
	forget();
}

Test(iterations, of_marked_programs_is_theirs)
{
	for (size_t r = 0; r < sizeof(program_rows) / sizeof(program_rows[0]); r++)
		for (uint64_t seed = 0; seed < 15; seed++)
			expect_program(&program_rows[r], seed, true);
}

Test(iterations, of_programs_without_marks_is_as_long)
{
	for (size_t r = 0; r < sizeof(program_rows) / sizeof(program_rows[0]); r++)
		for (uint64_t seed = 0; seed < 15; seed++)
			expect_program(&program_rows[r], seed, false);
}

/* An iteration of fixed sizes and others that come from the caller. */
static char *write_iteration(char *at, const char *end, const uint64_t *sizes)
{
	for (unsigned i = 0; i < 12; i++)
		at += snprintf(at, (size_t)(end - at), "+%c10000 +%c%lu ", 'a' + i, 'm' + i, (unsigned long)sizes[i]);
	for (unsigned i = 0; i < 12; i++)
		at += snprintf(at, (size_t)(end - at), "-%c -%c ", 'a' + i, 'm' + i);
	at += snprintf(at, (size_t)(end - at), "| ");
	return at;
}

/* Sizes of most of the memory differ: another workload, by one factor or each its own way. */
Test(iterations, of_two_shapes_are_two_kinds_though_little_differs)
{
	for (int scaled = 0; scaled < 2; scaled++) {
		char words[8192], *at = words;
		uint64_t sizes[2][12];

		for (unsigned i = 0; i < 12; i++) {
			sizes[0][i] = 1000 + 100 * i;
			sizes[1][i] = scaled == 1 ? sizes[0][i] * 3 / 2 : sizes[0][i] * (12 + i * 7 % 12) / 12 + 8;
		}
		at += snprintf(at, sizeof(words), "| ");
		for (unsigned iteration = 0; iteration < 7; iteration++)
			at = write_iteration(at, words + sizeof(words), sizes[iteration % 2]);
		trace = trace_words(words);
		cr_assert_eq(seam__iterations_find(trace, NULL, &iterations), SEAM_OK);
		cr_expect_eq(iterations.count, 2, "scaled %d: %u kinds", scaled, iterations.count);
		for (uint32_t k = 0; k < iterations.count; k++)
			cr_expect_geq(iterations.kinds[k].seen, 3, "scaled %d", scaled);
		cr_expect_eq(
			iterations.cut_events, 7 * (iterations.kinds[0].last_event - iterations.kinds[0].first_event));
		forget();
	}
}

static uint64_t requests_of(const struct seam_iteration_kind *kind)
{
	uint64_t requests = 0;
	for (uint64_t e = kind->first_event; e < kind->last_event; e++)
		requests += kind->model->events[e].kind == SEAM_TRACE_ALLOC;
	return requests;
}

#define WORDS_MAX 16384u

__attribute__((format(printf, 2, 3))) static void add_words(char *words, const char *format, ...)
{
	const size_t length = strlen(words);
	va_list arguments;
	va_start(arguments, format);
	cr_assert_lt((size_t)vsnprintf(words + length, WORDS_MAX - length, format, arguments), WORDS_MAX - length);
	va_end(arguments);
}

/* The n-th iteration of a shape without a size in common with others: a stack of layers. What ends some comes a little
 * late, so that they end in different ways. overlaps: its output is made when all else is gone, and goes when the next
 * one has begun. */
static void add_shape(char *words, size_t n, unsigned scale, bool overlaps)
{
	const char now = n % 2 == 0 ? 'w' : 'x', before = n % 2 == 0 ? 'x' : 'w';

	add_words(words, "+%c%u ", now, scale * 11);
	if (overlaps && n > 0)
		add_words(words, "-%c ", n % 2 == 0 ? 'v' : 'u');
	if (n % 3 == 1)
		add_words(words, "-%c ", before);
	add_words(words, "+y%u -y ", scale * 13);
	if (n % 3 == 2)
		add_words(words, "-%c ", before);
	for (unsigned i = 0; i < 8; i++)
		add_words(words, "+%c%u +z%u -z ", 'a' + i, scale * 7, scale * 9);
	for (unsigned i = 8; i-- > 0;)
		add_words(words, i == 0 && n % 2 == 1 ? "+z%u -z -%c " : "+z%u -%c -z ", scale * 5, 'a' + i);
	if (n % 3 == 2)
		add_words(words, "-%c ", now);
	if (overlaps)
		add_words(words, "+%c%u ", n % 2 == 0 ? 'u' : 'v', scale * 17);
}

/* In no order that repeats; one of them once. */
Test(iterations, of_shapes_without_a_common_size_is_found_by_form)
{
	static const unsigned order[] = {0, 0, 1, 2, 1, 0, 2, 2, 1, 0, 1, 2, 3};
	const struct seam_iterations_options options = {.by_form = true};

	for (int overlaps = 0; overlaps < 2; overlaps++) {
		char words[WORDS_MAX] = "";

		for (size_t n = 0; n < sizeof order / sizeof *order; n++)
			add_shape(words, n, 1000 + 640 * order[n], overlaps == 1);
		trace = trace_words(words);
		cr_assert_eq(seam__iterations_find(trace, &options, &iterations), SEAM_OK);
		cr_assert_eq(iterations.count, 3, "overlaps %d: %u kinds", overlaps, iterations.count);
		for (uint32_t k = 0; k < iterations.count; k++) {
			const struct seam_trace_event *first =
				&iterations.kinds[k].model->events[iterations.kinds[k].first_event];

			cr_expect_geq(iterations.kinds[k].seen, 3, "overlaps %d, kind %u: %u", overlaps, k,
				iterations.kinds[k].seen);
			first += first->kind == SEAM_TRACE_FREE; /* the output before, perhaps */
			cr_expect(first->size % 11 == 0 && (first->size / 11 - 1000) % 640 == 0,
				"overlaps %d: kind %u begins with %lu", overlaps, k, (unsigned long)first->size);
			cr_expect_eq(requests_of(&iterations.kinds[k]), 26 + (uint64_t)overlaps, "overlaps %d, kind %u",
				overlaps, k);
		}
		cr_expect_geq(iterations.cut_events, 12 * 51,
			"the shape that came once, but not what stands before the first: %lu",
			(unsigned long)iterations.cut_events);
		forget();
	}
}

/* Shapes take turns, so no iteration frees what one of its own kind left. The output outlives the iteration that
 * follows up to the next output; what was asked for behind it goes before it does. */
Test(iterations, of_shapes_that_take_turns_ends_blocks_where_the_other_shape_does)
{
	char words[8192], *at = words + snprintf(words, sizeof(words), "| ");

	for (unsigned iteration = 0; iteration < 7; iteration++) {
		unsigned scale = 2 + iteration % 2 * 3;
		char output = iteration % 2 == 0 ? 'y' : 'z', gradient = iteration % 2 == 0 ? 'w' : 'x';

		if (iteration > 0)
			at += snprintf(at, (size_t)(words + sizeof(words) - at), "-%c ", gradient == 'w' ? 'x' : 'w');
		for (unsigned i = 0; i < 16; i++)
			at += snprintf(
				at, (size_t)(words + sizeof(words) - at), "+%c%u ", 'a' + i, scale * (1000 + 100 * i));
		at += snprintf(at, (size_t)(words + sizeof(words) - at), "+%c%u ", output, scale * 5000);
		if (iteration > 0)
			at += snprintf(at, (size_t)(words + sizeof(words) - at), "-%c ", output == 'y' ? 'z' : 'y');
		at += snprintf(at, (size_t)(words + sizeof(words) - at), "+%c%u ", gradient, scale * 7000);
		for (unsigned i = 0; i < 16; i++)
			at += snprintf(at, (size_t)(words + sizeof(words) - at), "-%c ", 'a' + i);
		at += snprintf(at, (size_t)(words + sizeof(words) - at), "| ");
	}
	trace = trace_words(words);
	cr_assert_eq(seam__iterations_find(trace, NULL, &iterations), SEAM_OK);
	cr_assert_eq(iterations.count, 2, "%u kinds", iterations.count);
	for (uint32_t k = 0; k < 2; k++) {
		struct seam_plan *plan = plan_of(&iterations.kinds[k], "turns", k);
		const struct seam_plan_slot *slots = plan->slots;

		cr_assert_eq(plan->header.slot_count, 18);
		cr_expect_gt(slots[16].end - slots[16].begin, plan->header.positions, "kind %u: the output", k);
		cr_expect_lt(slots[17].end - slots[17].begin, plan->header.positions, "kind %u: the gradient", k);
		seam_plan_free(plan);
	}
	forget();
}

/* An iteration of equal parts, of which only the end is its own: allocations of so many blocks, freed one by one behind
 * the next. */
static void add_blocks(struct seam_trace_builder *builder, uint64_t *ids, uint32_t count, uint64_t bytes)
{
	for (uint32_t i = 0; i <= count; i++) {
		struct seam_trace_event event = {.kind = SEAM_TRACE_ALLOC, .id = *ids + 1, .size = bytes + 64 * i};

		if (i < count)
			cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
		event = (struct seam_trace_event){.kind = SEAM_TRACE_FREE, .id = *ids, .size = bytes + 64 * (i - 1)};
		if (i > 0)
			cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
		*ids += i < count;
	}
}

Test(iterations, of_equal_parts_is_found_at_its_second_end)
{
	struct seam_trace_builder *builder;
	uint64_t ids = 0;

	cr_assert_eq(seam_trace_builder_create("equal parts", 0, &builder), SEAM_OK);
	for (uint32_t iteration = 0; iteration < 2; iteration++) {
		for (uint32_t part = 0; part < 8; part++)
			add_blocks(builder, &ids, 40, 4096);
		add_blocks(builder, &ids, 20, 1 << 20);
	}
	cr_assert_eq(seam_trace_builder_finish(builder, NULL, &trace), SEAM_OK);
	seam_trace_builder_destroy(builder);
	cr_assert_eq(seam__iterations_find(trace, NULL, &iterations), SEAM_OK);
	cr_assert_geq(iterations.count, 1);
	cr_expect_eq(requests_of(&iterations.kinds[0]), 8 * 40 + 20);
	cr_expect_eq(iterations.kinds[0].run, 2);
	forget();
}

/* Evaluations come between iterations: those behind the last one follow one another. */
Test(iterations, counts_those_that_follow_one_another)
{
	const struct seam_iterations_options options = {.least_requests = 1};

	trace = trace_words(
		"+w9 | +a10 -a | +a10 -a | +b20 +c30 +d40 +e50 +f60 +g70 -b -c -d -e -f -g | +a10 -a | +a10 -a | +a10 -a |");
	cr_assert_eq(seam__iterations_find(trace, &options, &iterations), SEAM_OK);
	cr_assert_eq(iterations.count, 1);
	cr_expect_eq(iterations.kinds[0].seen, 5);
	cr_expect_eq(iterations.kinds[0].run, 3);
	cr_expect_eq(iterations.kinds[0].run_begin, 21);
	cr_expect_eq(iterations.kinds[0].newest, 30);
	cr_expect_eq(iterations.kinds[0].stays_bytes, 9);
	forget();
}

/* Requests that stay for good, and those of another size than most have: no plan of the kind would serve them. */
static const struct {
	const char *name, *words;
	double lacking;
} lacking_rows[] = {
	{"nothing", "| +a100 +b50 -b -a | +a100 +b50 -b -a | +a100 +b50 -b -a |", 0},
	{"one of three stays", "| +a100 +b50 +c7 -b -a | +a100 +b50 +d7 -b -a | +a100 +b50 +e7 -b -a |", 1},
	{"one in three iterations has another size", "| +a100 +b50 -b -a | +a100 +b60 -b -a | +a100 +b50 -b -a |",
		1 / 3.0},
	{"one in three iterations has a request more",
		"| +a100 +b50 -b -a | +a100 +c9 -c +b50 -b -a | +a100 +b50 -b -a |", 1 / 3.0},
};

Test(iterations, says_what_a_plan_of_them_would_lack)
{
	const struct seam_iterations_options options = {.least_requests = 1};

	for (size_t r = 0; r < sizeof(lacking_rows) / sizeof(lacking_rows[0]); r++) {
		trace = trace_words(lacking_rows[r].words);
		cr_assert_eq(seam__iterations_find(trace, &options, &iterations), SEAM_OK);
		cr_assert_geq(iterations.count, 1, "%s: %u kinds", lacking_rows[r].name, iterations.count);
		cr_expect_float_eq(iterations.kinds[0].lacking, lacking_rows[r].lacking, 1e-9, "%s: %f",
			lacking_rows[r].name, iterations.kinds[0].lacking);
		forget();
	}
}
