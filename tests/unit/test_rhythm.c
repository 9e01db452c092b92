/* test_rhythm.c: kinds of iterations in made-up programs, with marks and without: as many as there are, as long as they are,
 * and models that can be planned. */
#include <criterion/criterion.h>
#include <stdio.h>

#include <seam/plan.h>

#include "check.h"
#include "meta.h"
#include "noisy_program.h"
#include "rhythm.h"
#include "trace_program.h"
#include "trace_sample.h"
#include "trace_words.h"

static struct seam_trace *trace;
static struct seam__rhythm rhythm;
static struct program_truth truth;

static void forget(void)
{
	seam__rhythm_fini(&rhythm);
	seam_trace_free(trace);
	trace = NULL;
}

static void tear_down(void)
{
	forget();
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
}

TestSuite(rhythm, .fini = tear_down);

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
	{"two threads and three streams", {.slots = 20, .iterations = 5, .lag = 1, .threads = 2, .streams = 3, .users = 5, .edges = 3}},
};

/* The plan of a model, which the validator has accepted. */
static struct seam_plan *plan_of(const struct seam__rhythm_kind *kind, const char *name, uint64_t seed)
{
	const struct seam_plan_options options = {
		.struct_bytes = sizeof(options), .node_limit = 2000, .no_stitch = 1, .period = SEAM_PLAN_PERIOD_GIVEN,
		.first_event = kind->first_event, .last_event = kind->last_event};
	struct seam_trace_error error = {0};
	struct seam_plan *plan = NULL;

	cr_assert_eq(seam_plan_make(kind->model, &options, &error, &plan), SEAM_OK, "%s, seed %lu: %s", name, (unsigned long)seed,
	             error.text);
	return plan;
}

static void expect_program(const struct program_row *row, uint64_t seed, bool marks)
{
	struct program_wish wish = row->wish;
	struct seam_plan *plan;

	wish.seed = seed;
	wish.marks = marks;
	trace = trace_program(&wish, &truth);
	cr_assert_eq(seam__rhythm_find(trace, NULL, &rhythm), SEAM_OK);
	cr_assert_eq(rhythm.count, 1, "%s, seed %lu, marks %d: %u kinds", row->name, (unsigned long)seed, marks, rhythm.count);
	cr_expect_null(seam__rhythm_check(&rhythm), "%s, seed %lu: %s", row->name, (unsigned long)seed, seam__rhythm_check(&rhythm));
	plan = plan_of(&rhythm.kinds[0], row->name, seed);
	cr_expect_eq(plan->header.positions, truth.positions, "%s, seed %lu, marks %d: %u positions, not %u", row->name,
	             (unsigned long)seed, marks, plan->header.positions, truth.positions);
	cr_expect_eq(plan->header.copies, truth.copies, "%s, seed %lu", row->name, (unsigned long)seed);
	cr_expect_eq(plan->header.resident_bytes, truth.resident_bytes, "%s, seed %lu, marks %d: %lu, not %lu", row->name,
	             (unsigned long)seed, marks, (unsigned long)plan->header.resident_bytes, (unsigned long)truth.resident_bytes);
	for (uint32_t i = 0; marks && wish.dynamics == 0 && i < truth.slot_count; i++)
		cr_expect(plan->slots[i].size_bytes == truth.slots[i].size_bytes && plan->slots[i].begin == truth.slots[i].begin &&
		          plan->slots[i].end == truth.slots[i].end,
		          "%s, seed %lu, slot %u", row->name, (unsigned long)seed, i);
	seam_plan_free(plan);
	forget();
}

Test(rhythm, of_marked_programs_is_theirs)
{
	for (size_t r = 0; r < sizeof(program_rows) / sizeof(program_rows[0]); r++)
		for (uint64_t seed = 0; seed < 15; seed++)
			expect_program(&program_rows[r], seed, true);
}

Test(rhythm, of_programs_without_marks_is_as_long)
{
	for (size_t r = 0; r < sizeof(program_rows) / sizeof(program_rows[0]); r++)
		for (uint64_t seed = 0; seed < 15; seed++)
			expect_program(&program_rows[r], seed, false);
}

static struct noisy_truth noisy;

/* The requests of one thread, of the truth or of a model's period. */
struct line {
	struct noisy_request items[NOISY_SLOTS + 16];
	uint32_t count;
};

static struct line line_of_truth(uint32_t thread, uint32_t length)
{
	struct line line = {.count = 0};

	for (uint32_t i = 0; i < noisy.count; i++) {
		struct noisy_request request = noisy.requests[i];

		if (request.thread != thread)
			continue;
		request.size_bytes = noisy_size(&noisy.requests[i], length);
		line.items[line.count++] = request;
	}
	return line;
}

static struct line line_of_kind(const struct seam__rhythm_kind *kind, uint32_t thread)
{
	struct line line = {.count = 0};

	for (uint64_t e = kind->first_event; e < kind->last_event && line.count < NOISY_SLOTS; e++) {
		const struct seam_trace_event *event = &kind->model->events[e];

		if (event->kind == SEAM_TRACE_ALLOC && event->thread == thread)
			line.items[line.count++] = (struct noisy_request){
				.size_bytes = (event->flags & SEAM_TRACE_DYNAMIC) != 0 ? 0 : event->size, .stream = event->stream};
	}
	return line;
}

/* Are they equal when the second begins at `shift`? */
static bool lines_equal(const struct line *a, const struct line *b, uint32_t shift)
{
	for (uint32_t i = 0; i < a->count; i++) {
		const struct noisy_request *left = &a->items[i];
		const struct noisy_request *right = &b->items[(i + shift) % b->count];

		if (left->size_bytes != right->size_bytes || left->stream != right->stream)
			return false;
	}
	return true;
}

/* Does the kind ask for what the program asks for without noise, from the same beginning or another one? */
static bool is_program(const struct seam__rhythm_kind *kind, uint32_t length, bool same_beginning)
{
	/* Which requests of the racing thread belong to an iteration nobody can say where nothing marks its end. */
	const uint32_t threads[] = {0, 1, 7};
	const uint32_t count = same_beginning ? 3 : 2;

	for (uint32_t t = 0; t < count; t++) {
		struct line truth_line = line_of_truth(threads[t], length);
		struct line line = line_of_kind(kind, threads[t]);
		bool equal = truth_line.count == 0;

		if (line.count != truth_line.count)
			return false;
		for (uint32_t shift = 0; shift < line.count && !equal && (shift == 0 || !same_beginning); shift++)
			equal = lines_equal(&truth_line, &line, shift);
		if (!equal)
			return false;
	}
	return true;
}

struct noisy_row {
	const char *name;
	struct noisy_wish wish;
};

static const struct noisy_row noisy_rows[] = {
	{"few layers", {.layers = 4, .singles = 10, .iterations = 8}},
	{"more layers", {.layers = 12, .singles = 40, .iterations = 7}},
	{"four streams", {.layers = 8, .singles = 60, .iterations = 7, .streams = 4}},
	{"micro-batches", {.layers = 6, .singles = 20, .iterations = 7, .micro_batches = 3}},
	{"from the middle", {.layers = 8, .singles = 20, .iterations = 7, .middle = true}},
};

/* Plans every kind. Returns whether one is the program's iteration. */
static bool find_noisy(const struct noisy_row *row, enum noise noise, uint64_t seed, bool marks)
{
	struct noisy_wish wish = row->wish;
	bool found = false;

	wish.seed = seed;
	wish.noise = noise;
	wish.marks = marks;
	trace = noisy_program(&wish, &noisy);
	cr_assert_eq(seam__rhythm_find(trace, NULL, &rhythm), SEAM_OK);
	cr_expect_null(seam__rhythm_check(&rhythm), "%s, %s, seed %lu, marks %d: %s", row->name, noisy_name(noise), (unsigned long)seed,
	               marks, seam__rhythm_check(&rhythm));
	for (uint32_t k = 0; k < rhythm.count; k++) {
		seam_plan_free(plan_of(&rhythm.kinds[k], row->name, seed));
		found |= is_program(&rhythm.kinds[k], 0, marks);
	}
	forget();
	return found;
}

#define SEEDS 20u

/* Noise may hit the same place of most iterations, and then it is none; a few of these programs are so small that it does. */
static void expect_noisy(const struct noisy_row *row, enum noise noise, bool marks, uint32_t least)
{
	uint32_t found = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++)
		found += find_noisy(row, noise, seed, marks);
	cr_expect_geq(found, least, "%s, %s, marks %d: the iteration is found with %u seeds of %u", row->name, noisy_name(noise), marks,
	              found, SEEDS);
}

Test(rhythm, of_noisy_programs_is_what_they_would_be_without_noise)
{
	for (size_t r = 0; r < sizeof(noisy_rows) / sizeof(noisy_rows[0]); r++)
		for (int noise = NOISE_NONE; noise < NOISE_KINDS; noise++)
			expect_noisy(&noisy_rows[r], (enum noise)noise, true, noise == NOISE_NONE ? SEEDS : SEEDS * 3 / 4);
}

Test(rhythm, of_noisy_programs_is_found_without_marks)
{
	for (size_t r = 0; r < sizeof(noisy_rows) / sizeof(noisy_rows[0]); r++)
		for (int noise = NOISE_NONE; noise < NOISE_KINDS; noise++)
			expect_noisy(&noisy_rows[r], (enum noise)noise, false, noise == NOISE_NONE ? SEEDS : noise == NOISE_RACE ? SEEDS / 4 : SEEDS * 3 / 4);
}

/* Every length that comes often enough is a kind, and no other is. */
static void expect_lengths(uint64_t seed, bool marks, uint32_t *ret_expected, uint32_t *ret_found)
{
	struct noisy_wish wish = {.seed = seed, .layers = 8, .singles = 20, .iterations = 20, .lengths = 4, .marks = marks};

	trace = noisy_program(&wish, &noisy);
	cr_assert_eq(seam__rhythm_find(trace, NULL, &rhythm), SEAM_OK);
	for (uint32_t length = 0; length < wish.lengths; length++) {
		*ret_expected += noisy.seen[length] >= 3;
		for (uint32_t k = 0; k < rhythm.count && noisy.seen[length] >= 3; k++)
			*ret_found += is_program(&rhythm.kinds[k], length, marks);
	}
	for (uint32_t k = 0; k < rhythm.count; k++)
		seam_plan_free(plan_of(&rhythm.kinds[k], "lengths", seed));
	if (marks)
		cr_expect_leq(rhythm.count, wish.lengths, "seed %lu: %u kinds", (unsigned long)seed, rhythm.count);
	forget();
}

Test(rhythm, of_each_length_is_a_kind)
{
	for (int marks = 1; marks >= 0; marks--) {
		uint32_t expected = 0;
		uint32_t found = 0;

		for (uint64_t seed = 0; seed < 20; seed++)
			expect_lengths(seed, marks == 1, &expected, &found);
		cr_expect_geq(found, marks == 1 ? expected : expected * 9 / 10, "marks %d: %u of %u", marks, found, expected);
	}
}

/* No two iterations are of one length: nothing is worth a plan. */
Test(rhythm, of_many_lengths_is_none)
{
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct noisy_wish wish = {.seed = seed, .layers = 10, .singles = 20, .iterations = 10, .lengths = 100000};

		wish.marks = seed % 2 == 0;
		trace = noisy_program(&wish, &noisy);
		cr_assert_eq(seam__rhythm_find(trace, NULL, &rhythm), SEAM_OK);
		cr_expect_eq(rhythm.count, 0, "seed %lu: %u kinds", (unsigned long)seed, rhythm.count);
		forget();
	}
}

/* A few requests that always differ depend on data. */
Test(rhythm, of_sizes_that_always_differ_says_so)
{
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct noisy_wish wish = {.seed = seed, .layers = 10, .singles = 20, .iterations = 7, .drift = 4};

		wish.marks = seed % 2 == 0;
		trace = noisy_program(&wish, &noisy);
		cr_assert_eq(seam__rhythm_find(trace, NULL, &rhythm), SEAM_OK);
		cr_assert_eq(rhythm.count, 1, "seed %lu: %u kinds", (unsigned long)seed, rhythm.count);
		cr_expect(is_program(&rhythm.kinds[0], 0, wish.marks), "seed %lu", (unsigned long)seed);
		seam_plan_free(plan_of(&rhythm.kinds[0], "drift", seed));
		forget();
	}
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

/* Where all sizes that differ do so by one factor it is another shape; where each goes its own way they depend on data. */
Test(rhythm, of_two_shapes_are_two_kinds_though_little_differs)
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
		cr_assert_eq(seam__rhythm_find(trace, NULL, &rhythm), SEAM_OK);
		cr_expect_eq(rhythm.count, scaled == 1 ? 2 : 1, "scaled %d: %u kinds", scaled, rhythm.count);
		for (uint32_t k = 0; k < rhythm.count; k++)
			cr_expect_geq(rhythm.kinds[k].seen, 3, "scaled %d", scaled);
		cr_expect_eq(rhythm.cut_events, rhythm.count == 0 ? 0 : 7 * (rhythm.kinds[0].last_event - rhythm.kinds[0].first_event));
		forget();
	}
}

/* Shapes take turns, so no iteration frees what one of its own kind left. The output outlives the iteration that follows up to the next output; what
 * was asked for behind it goes before it does. */
Test(rhythm, of_shapes_that_take_turns_ends_blocks_where_the_other_shape_does)
{
	char words[8192], *at = words + snprintf(words, sizeof(words), "| ");

	for (unsigned iteration = 0; iteration < 7; iteration++) {
		unsigned scale = 2 + iteration % 2 * 3;
		char output = iteration % 2 == 0 ? 'y' : 'z', gradient = iteration % 2 == 0 ? 'w' : 'x';

		if (iteration > 0)
			at += snprintf(at, (size_t)(words + sizeof(words) - at), "-%c ", gradient == 'w' ? 'x' : 'w');
		for (unsigned i = 0; i < 16; i++)
			at += snprintf(at, (size_t)(words + sizeof(words) - at), "+%c%u ", 'a' + i, scale * (1000 + 100 * i));
		at += snprintf(at, (size_t)(words + sizeof(words) - at), "+%c%u ", output, scale * 5000);
		if (iteration > 0)
			at += snprintf(at, (size_t)(words + sizeof(words) - at), "-%c ", output == 'y' ? 'z' : 'y');
		at += snprintf(at, (size_t)(words + sizeof(words) - at), "+%c%u ", gradient, scale * 7000);
		for (unsigned i = 0; i < 16; i++)
			at += snprintf(at, (size_t)(words + sizeof(words) - at), "-%c ", 'a' + i);
		at += snprintf(at, (size_t)(words + sizeof(words) - at), "| ");
	}
	trace = trace_words(words);
	cr_assert_eq(seam__rhythm_find(trace, NULL, &rhythm), SEAM_OK);
	cr_assert_eq(rhythm.count, 2, "%u kinds", rhythm.count);
	for (uint32_t k = 0; k < 2; k++) {
		struct seam_plan *plan = plan_of(&rhythm.kinds[k], "turns", k);
		const struct seam_plan_slot *slots = plan->slots;

		cr_assert_eq(plan->header.slot_count, 18);
		cr_expect_gt(slots[16].end - slots[16].begin, plan->header.positions, "kind %u: the output", k);
		cr_expect_lt(slots[17].end - slots[17].begin, plan->header.positions, "kind %u: the gradient", k);
		seam_plan_free(plan);
	}
	forget();
}

/* Blocks that live now have the ids that they have in the recording: weights, states, and what the last iteration leaves. */
Test(rhythm, residents_keep_their_ids)
{
	struct noisy_wish wish = {.seed = 3, .layers = 6, .singles = 10, .iterations = 6, .marks = true};
	const struct seam_trace *model;
	uint64_t live = 0;
	uint64_t kept = 0;

	trace = noisy_program(&wish, &noisy);
	cr_assert_eq(seam__rhythm_find(trace, NULL, &rhythm), SEAM_OK);
	cr_assert_eq(rhythm.count, 1);
	model = rhythm.kinds[0].model;
	for (uint64_t e = 0; e < trace->header.event_count; e++)
		live += trace->events[e].kind == SEAM_TRACE_ALLOC ? 1 : trace->events[e].kind == SEAM_TRACE_FREE ? UINT64_MAX : 0;
	for (uint64_t e = 0; e < model->header.event_count && (model->events[e].flags & SEAM_TRACE_RESIDENT) != 0; e++)
		for (uint64_t r = 0; r < trace->header.event_count; r++)
			kept += trace->events[r].kind == SEAM_TRACE_ALLOC && trace->events[r].id == model->events[e].id &&
			        trace->events[r].size == model->events[e].size;
	cr_expect_eq(kept, live, "%lu blocks live at the end, %lu are residents", (unsigned long)live, (unsigned long)kept);
	cr_expect_eq(rhythm.kinds[0].newest, trace->header.event_count);
	cr_expect(rhythm.kinds[0].marked);
	cr_expect_eq(rhythm.kinds[0].seen, 5);
}

/* An iteration of equal parts, of which only the end is its own: allocations of so many blocks, freed one by one behind the next. */
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

Test(rhythm, of_equal_parts_is_found_at_its_second_end)
{
	struct seam_trace_builder *builder;
	uint64_t ids = 0;
	uint64_t requests = 0;

	cr_assert_eq(seam_trace_builder_create("equal parts", 0, &builder), SEAM_OK);
	for (uint32_t iteration = 0; iteration < 2; iteration++) {
		for (uint32_t part = 0; part < 8; part++)
			add_blocks(builder, &ids, 40, 4096);
		add_blocks(builder, &ids, 20, 1 << 20);
	}
	cr_assert_eq(seam_trace_builder_finish(builder, NULL, &trace), SEAM_OK);
	seam_trace_builder_destroy(builder);
	cr_assert_eq(seam__rhythm_find(trace, NULL, &rhythm), SEAM_OK);
	cr_assert_geq(rhythm.count, 1);
	for (uint64_t e = rhythm.kinds[0].first_event; e < rhythm.kinds[0].last_event; e++)
		requests += rhythm.kinds[0].model->events[e].kind == SEAM_TRACE_ALLOC;
	cr_expect_eq(requests, 8 * 40 + 20);
	cr_expect_eq(rhythm.kinds[0].run, 2);
	forget();
}

/* Evaluations come between iterations: those behind the last one follow one another. */
Test(rhythm, counts_those_that_follow_one_another)
{
	const struct seam__rhythm_options options = {.least_requests = 1};

	trace = trace_words("+w9 | +a10 -a | +a10 -a | +b20 +c30 +d40 +e50 +f60 +g70 -b -c -d -e -f -g | +a10 -a | +a10 -a | +a10 -a |");
	cr_assert_eq(seam__rhythm_find(trace, &options, &rhythm), SEAM_OK);
	cr_assert_eq(rhythm.count, 1);
	cr_expect_eq(rhythm.kinds[0].seen, 5);
	cr_expect_eq(rhythm.kinds[0].run, 3);
	cr_expect_eq(rhythm.kinds[0].run_begin, 21);
	cr_expect_eq(rhythm.kinds[0].newest, 30);
	cr_expect_eq(rhythm.kinds[0].stays_bytes, 9);
	forget();
}

struct overlap_row {
	const char *name;
	const char *words;
	uint64_t overlap_bytes;
};

static const struct overlap_row overlap_rows[] = {
	{"nothing lives across", "+w9 | +a20 -a | +a20 -a | +a20 -a |", 0},
	{"gradients live until the next iteration makes others", "+g10 | +a20 -g +g10 -a | +a20 -g +g10 -a | +a20 -g +g10 -a |", 0},
	{"the next iteration begins before this one ends", "+h10 | +g10 -h | +h10 -g | +g10 -h | +h10 -g |", 10},
	{"it ends in the one after", "+g10 +h10 | +i10 -g | +g10 -h | +h10 -i | +i10 -g | +g10 -h | +h10 -i |", 10},
};

Test(rhythm, says_what_lives_longer_than_an_iteration)
{
	const struct seam__rhythm_options options = {.least_requests = 1};

	for (size_t r = 0; r < sizeof(overlap_rows) / sizeof(overlap_rows[0]); r++) {
		trace = trace_words(overlap_rows[r].words);
		cr_assert_eq(seam__rhythm_find(trace, &options, &rhythm), SEAM_OK);
		cr_assert_eq(rhythm.count, 1, "%s: %u kinds", overlap_rows[r].name, rhythm.count);
		cr_expect_eq(rhythm.kinds[0].overlap_bytes, overlap_rows[r].overlap_bytes, "%s: %lu", overlap_rows[r].name,
		             (unsigned long)rhythm.kinds[0].overlap_bytes);
		forget();
	}
}

/* With the n-th allocation failing: nothing is left, and it says so; until there is enough. */
Test(rhythm, survives_a_lack_of_memory)
{
	for (int marks = 0; marks < 2; marks++) {
		struct noisy_wish wish = {.seed = 1, .layers = 4, .singles = 10, .iterations = 6, .noise = NOISE_ALL, .marks = marks == 1};
		enum seam_rc rc = SEAM_OOM_META;
		uint64_t live_bytes;
		uint64_t n;

		trace = noisy_program(&wish, &noisy);
		live_bytes = trace_sample_live_bytes();
		for (n = 1; rc != SEAM_OK; n++) {
			seam__meta_fail_at(seam__meta_process(), n);
			rc = seam__rhythm_find(trace, NULL, &rhythm);
			if (rc == SEAM_OK)
				break;
			cr_assert_eq(rc, SEAM_OOM_META, "allocation %lu: %s", (unsigned long)n, seam_rc_name(rc));
			cr_assert_eq(trace_sample_live_bytes(), live_bytes, "allocation %lu", (unsigned long)n);
		}
		seam__meta_fail_at(seam__meta_process(), 0);
		cr_expect_gt(n, 30);
		cr_expect_eq(rhythm.count, 1);
		forget();
	}
}
