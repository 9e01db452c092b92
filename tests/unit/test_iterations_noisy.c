/* test_iterations_noisy.c: kinds of iterations in made-up programs that are disturbed, of several lengths, or whose
 * sizes depend on data; and where memory is short. */
#include <stdio.h>

#include "meta.h"
#include "noisy_program.h"
#include "iterations_fixture.h"

TestSuite(iterations_noisy, .fini = tear_down);

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

static struct line line_of_kind(const struct seam_iteration_kind *kind, uint32_t thread)
{
	struct line line = {.count = 0};

	for (uint64_t e = kind->first_event; e < kind->last_event && line.count < NOISY_SLOTS; e++) {
		const struct seam_trace_event *event = &kind->model->events[e];

		if (event->kind == SEAM_TRACE_ALLOC && event->thread == thread)
			line.items[line.count++] = (struct noisy_request){
				.size_bytes = (event->flags & SEAM_TRACE_DYNAMIC) != 0 ? 0 : event->size,
				.stream = event->stream};
	}
	return line;
}

/* Is the line the truth, which begins at `shift`, but for so many requests? */
static bool is_line(const struct line *truth, const struct line *line, uint32_t shift, uint32_t missing)
{
	uint32_t next = 0; /* of the line */

	for (uint32_t i = 0; i < truth->count; i++) {
		const struct noisy_request *wanted = &truth->items[(i + shift) % truth->count];
		const struct noisy_request *found = &line->items[next];

		if (next < line->count && wanted->size_bytes == found->size_bytes && wanted->stream == found->stream)
			next++;
		else if (missing-- == 0)
			return false;
	}
	return next == line->count;
}

/* Does the kind ask for what the program asks for without noise, but for so many requests that the newest iteration
 * lacks or has in another order; from the same beginning or another one? */
static bool is_program(const struct seam_iteration_kind *kind, uint32_t length, bool same_beginning, uint32_t missing)
{
	/* Which requests of the racing thread belong to an iteration nobody can say where nothing marks its end. */
	const uint32_t threads[] = {0, 1, 7};
	const uint32_t count = same_beginning ? 3 : 2;

	for (uint32_t t = 0; t < count; t++) {
		struct line truth_line = line_of_truth(threads[t], length);
		struct line line = line_of_kind(kind, threads[t]);
		bool equal = truth_line.count == 0 && line.count == 0;

		for (uint32_t shift = 0; shift < truth_line.count && !equal && (shift == 0 || !same_beginning); shift++)
			equal = is_line(&truth_line, &line, shift, missing);
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
	cr_assert_eq(seam__iterations_find(trace, NULL, &iterations), SEAM_OK);
	cr_expect_null(seam__iterations_check(&iterations), "%s, %s, seed %lu, marks %d: %s", row->name,
		noisy_name(noise), (unsigned long)seed, marks, seam__iterations_check(&iterations));
	for (uint32_t k = 0; k < iterations.count; k++) {
		seam_plan_free(plan_of(&iterations.kinds[k], row->name, seed));
		found |= is_program(&iterations.kinds[k], 0, marks,
			noise == NOISE_DROP || noise == NOISE_SWAP || noise == NOISE_ALL);
	}
	forget();
	return found;
}

#define SEEDS 20u

/* Noise may hit the same place of most iterations, and then it is none; a few of these programs are so small that it
 * does. */
static void expect_noisy(const struct noisy_row *row, enum noise noise, bool marks, uint32_t least)
{
	uint32_t found = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++)
		found += find_noisy(row, noise, seed, marks);
	cr_expect_geq(found, least, "%s, %s, marks %d: the iteration is found with %u seeds of %u", row->name,
		noisy_name(noise), marks, found, SEEDS);
}

Test(iterations_noisy, of_noisy_programs_is_what_they_would_be_without_noise)
{
	for (size_t r = 0; r < sizeof(noisy_rows) / sizeof(noisy_rows[0]); r++)
		for (int noise = NOISE_NONE; noise < NOISE_KINDS; noise++)
			expect_noisy(
				&noisy_rows[r], (enum noise)noise, true, noise == NOISE_NONE ? SEEDS : SEEDS * 3 / 4);
}

Test(iterations_noisy, of_noisy_programs_is_found_without_marks)
{
	for (size_t r = 0; r < sizeof(noisy_rows) / sizeof(noisy_rows[0]); r++)
		for (int noise = NOISE_NONE; noise < NOISE_KINDS; noise++)
			expect_noisy(&noisy_rows[r], (enum noise)noise, false,
				noise == NOISE_NONE           ? SEEDS
					: noise == NOISE_RACE ? SEEDS / 4
							      : SEEDS * 3 / 4);
}

/* Every length that comes often enough is a kind, and no other is. */
static void expect_lengths(uint64_t seed, bool marks, uint32_t *ret_expected, uint32_t *ret_found)
{
	struct noisy_wish wish = {
		.seed = seed, .layers = 8, .singles = 20, .iterations = 20, .lengths = 4, .marks = marks};

	trace = noisy_program(&wish, &noisy);
	cr_assert_eq(seam__iterations_find(trace, NULL, &iterations), SEAM_OK);
	for (uint32_t length = 0; length < wish.lengths; length++) {
		*ret_expected += noisy.seen[length] >= 3;
		for (uint32_t k = 0; k < iterations.count && noisy.seen[length] >= 3; k++)
			*ret_found += is_program(&iterations.kinds[k], length, marks, 0);
	}
	for (uint32_t k = 0; k < iterations.count; k++)
		seam_plan_free(plan_of(&iterations.kinds[k], "lengths", seed));
	if (marks)
		cr_expect_leq(
			iterations.count, wish.lengths, "seed %lu: %u kinds", (unsigned long)seed, iterations.count);
	forget();
}

Test(iterations_noisy, of_each_length_is_a_kind)
{
	for (int marks = 1; marks >= 0; marks--) {
		uint32_t expected = 0;
		uint32_t found = 0;

		for (uint64_t seed = 0; seed < 20; seed++)
			expect_lengths(seed, marks == 1, &expected, &found);
		cr_expect_geq(
			found, marks == 1 ? expected : expected * 9 / 10, "marks %d: %u of %u", marks, found, expected);
	}
}

/* No two iterations are of one length: nothing is worth a plan. */
Test(iterations_noisy, of_many_lengths_is_none)
{
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct noisy_wish wish = {
			.seed = seed, .layers = 10, .singles = 20, .iterations = 10, .lengths = 100000};

		wish.marks = seed % 2 == 0;
		trace = noisy_program(&wish, &noisy);
		cr_assert_eq(seam__iterations_find(trace, NULL, &iterations), SEAM_OK);
		cr_expect_eq(iterations.count, 0, "seed %lu: %u kinds", (unsigned long)seed, iterations.count);
		forget();
	}
}

/* A few requests that always differ depend on data. */
Test(iterations_noisy, of_sizes_that_always_differ_says_so)
{
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct noisy_wish wish = {.seed = seed, .layers = 10, .singles = 20, .iterations = 7, .drift = 4};

		wish.marks = seed % 2 == 0;
		trace = noisy_program(&wish, &noisy);
		cr_assert_eq(seam__iterations_find(trace, NULL, &iterations), SEAM_OK);
		cr_assert_eq(iterations.count, 1, "seed %lu: %u kinds", (unsigned long)seed, iterations.count);
		cr_expect(is_program(&iterations.kinds[0], 0, wish.marks, 0), "seed %lu", (unsigned long)seed);
		seam_plan_free(plan_of(&iterations.kinds[0], "drift", seed));
		forget();
	}
}

/* Blocks that live now have the ids that they have in the recording: weights, states, and what the last iteration
 * leaves. */
Test(iterations_noisy, residents_keep_their_ids)
{
	struct noisy_wish wish = {.seed = 3, .layers = 6, .singles = 10, .iterations = 6, .marks = true};
	const struct seam_trace *model;
	uint64_t live = 0;
	uint64_t kept = 0;

	trace = noisy_program(&wish, &noisy);
	cr_assert_eq(seam__iterations_find(trace, NULL, &iterations), SEAM_OK);
	cr_assert_eq(iterations.count, 1);
	model = iterations.kinds[0].model;
	for (uint64_t e = 0; e < trace->header.event_count; e++)
		live += trace->events[e].kind == SEAM_TRACE_ALLOC  ? 1
			: trace->events[e].kind == SEAM_TRACE_FREE ? UINT64_MAX
								   : 0;
	for (uint64_t e = 0; e < model->header.event_count && (model->events[e].flags & SEAM_TRACE_RESIDENT) != 0; e++)
		for (uint64_t r = 0; r < trace->header.event_count; r++)
			kept += trace->events[r].kind == SEAM_TRACE_ALLOC &&
				trace->events[r].id == model->events[e].id &&
				trace->events[r].size == model->events[e].size;
	cr_expect_eq(
		kept, live, "%lu blocks live at the end, %lu are residents", (unsigned long)live, (unsigned long)kept);
	cr_expect_eq(iterations.kinds[0].newest, trace->header.event_count);
	cr_expect(iterations.kinds[0].marked);
	cr_expect_eq(iterations.kinds[0].seen, 5);
}

/* With the n-th allocation failing: nothing is left, and it says so; until there is enough. */
Test(iterations_noisy, survives_a_lack_of_memory)
{
	for (int marks = 0; marks < 2; marks++) {
		struct noisy_wish wish = {.seed = 1,
			.layers = 4,
			.singles = 10,
			.iterations = 6,
			.noise = NOISE_ALL,
			.marks = marks == 1};
		enum seam_rc rc = SEAM_OOM_META;
		uint64_t live_bytes;
		uint64_t n;

		trace = noisy_program(&wish, &noisy);
		live_bytes = trace_sample_live_bytes();
		for (n = 1; rc != SEAM_OK; n++) {
			seam__meta_fail_at(seam__meta_process(), n);
			rc = seam__iterations_find(trace, NULL, &iterations);
			if (rc == SEAM_OK)
				break;
			cr_assert_eq(rc, SEAM_OOM_META, "allocation %lu: %s", (unsigned long)n, seam_rc_name(rc));
			cr_assert_eq(trace_sample_live_bytes(), live_bytes, "allocation %lu", (unsigned long)n);
		}
		seam__meta_fail_at(seam__meta_process(), 0);
		cr_expect_gt(n, 30);
		cr_expect_eq(iterations.count, 1);
		forget();
	}
}
