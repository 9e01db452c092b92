/* test_waits.c: the waits of random placements, held against a naive replay with clocks; and that they are few. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "instance.h"
#include "meta.h"
#include "random_problem.h"
#include "trace_program.h"
#include "trace_sample.h"
#include "trace_words.h"
#include "waits.h"

#define STREAMS 3u
#define REPETITIONS 10u
#define ADDRESSES 4096u

static struct seam_trace *trace;
static struct seam_traced_requests requests;
static struct seam_tokens beats;
static struct seam_period_slots slots;
static struct seam_problem problem;
static struct seam_grow waits;
static uint64_t *offsets;
static struct seam_trace_error error;

static void forget(void)
{
	if (waits.item_bytes != 0)
		seam__grow_fini(&waits);
	free(offsets);
	offsets = NULL;
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

TestSuite(waits, .fini = tear_down);

/* Each item in a random order at the lowest address where it meets nobody. */
static void place(uint64_t seed)
{
	uint64_t state = seed;

	offsets = malloc(((size_t)problem.count + 1) * sizeof(*offsets));
	for (uint32_t i = 0; i < problem.count; i++)
		offsets[i] = UINT64_MAX;
	for (uint32_t placed = 0; placed < problem.count;) {
		uint32_t i = (uint32_t)random_below(&state, problem.count);
		bool moved = true;

		if (offsets[i] != UINT64_MAX)
			continue;
		for (offsets[i] = 0; moved;) {
			moved = false;
			for (uint32_t j = 0; j < problem.count; j++) {
				if (j == i || offsets[j] == UINT64_MAX || !seam__problem_conflict(&problem, i, j) ||
					offsets[i] >= offsets[j] + problem.items[j].size_bytes ||
					offsets[j] >= offsets[i] + problem.items[i].size_bytes)
					continue;
				offsets[i] = offsets[j] + problem.items[j].size_bytes;
				moved = true;
			}
		}
		placed++;
	}
}

static void solve(uint64_t first, uint64_t last, uint64_t seed)
{
	const struct seam_instance_options options = {.align_bytes = 1, .streams = SEAM_PLAN_STREAMS_INSERT};
	struct seam_period period = seam__period_whole(trace);

	cr_assert_eq(seam__requests_init(trace, &requests), SEAM_OK);
	cr_assert_eq(seam__tokens_init(&requests, &beats), SEAM_OK);
	if (last != 0)
		cr_assert_eq(seam__period_given(&beats, first, last, &error, &period), SEAM_OK, "%s", error.text);
	cr_assert_eq(seam__slots_init(&beats, &period, &error, &slots), SEAM_OK, "%s", error.text);
	cr_assert_eq(seam__instance_init(seam__meta_process(), &slots, &options, &error, &problem), SEAM_OK, "%s",
		error.text);
	place(seed);
	cr_assert_null(seam__problem_check_placement(&problem, offsets, ADDRESSES));
	cr_assert_eq(seam__waits_list(&slots, &problem, offsets, &waits), SEAM_OK);
}

/* A clock says of every stream up to which tick its work is known to have passed. */
struct naive {
	uint64_t known[STREAMS][STREAMS];
	uint64_t ended[REPETITIONS][TRACE_PROGRAM_SLOTS]
		      [STREAMS];                          /* clock of its stream at each slot's end, itself included */
	uint64_t freed[REPETITIONS][TRACE_PROGRAM_SLOTS]; /* tick */
	uint32_t last_slot[ADDRESSES];                    /* 1 + who had the byte last */
	uint32_t last_repetition[ADDRESSES];
	uint64_t tick;
};

static uint64_t offset_of(uint32_t slot, uint32_t repetition)
{
	return offsets[(repetition % slots.copies) * seam__slots_count(&slots) + slot];
}

static bool take(struct naive *naive, uint32_t slot, uint32_t repetition, size_t without)
{
	const struct seam_plan_wait *list = waits.items;
	uint32_t stream = seam__slot_at(&slots, slot)->stream;
	uint64_t begin = offset_of(slot, repetition);

	for (size_t w = 0; w < waits.count; w++) {
		if (w == without || list[w].waiter != slot || list[w].lag > repetition)
			continue;
		for (uint32_t s = 0; s < STREAMS; s++)
			if (naive->ended[repetition - list[w].lag][list[w].waited][s] > naive->known[stream][s])
				naive->known[stream][s] = naive->ended[repetition - list[w].lag][list[w].waited][s];
	}
	for (uint64_t byte = begin; byte < begin + seam__slot_request(&slots, slot)->size_bytes; byte++) {
		uint32_t last = naive->last_slot[byte];

		if (last != 0 && seam__slot_at(&slots, last - 1)->stream != stream &&
			naive->known[stream][seam__slot_at(&slots, last - 1)->stream] <
				naive->freed[naive->last_repetition[byte]][last - 1])
			return false;
		naive->last_slot[byte] = slot + 1;
		naive->last_repetition[byte] = repetition;
	}
	return true;
}

static void give(struct naive *naive, uint32_t slot, uint32_t repetition)
{
	uint32_t stream = seam__slot_at(&slots, slot)->stream;

	naive->freed[repetition][slot] = naive->tick;
	naive->known[stream][stream] = naive->tick;
	memcpy(naive->ended[repetition][slot], naive->known[stream], sizeof(naive->known[stream]));
}

/* Is every byte handed to another stream ordered behind its last user? */
static bool is_safe(size_t without)
{
	struct naive *naive = calloc(1, sizeof(*naive));
	bool safe = true;

	for (uint32_t repetition = 0; safe && repetition < (slots.period.linear ? 1u : REPETITIONS); repetition++) {
		for (uint32_t position = 0; safe && position < slots.position_count; position++) {
			naive->tick++;
			for (uint32_t i = 0; safe && i < seam__slots_count(&slots); i++) {
				const struct seam_period_slot *slot = seam__slot_at(&slots, i);

				if (slot->begin == position)
					safe = take(naive, i, repetition, without);
				else if (slot->free_event != SEAM__EVENT_NONE &&
					slot->end % slots.position_count == position && slot->lag <= repetition)
					give(naive, i, repetition - slot->lag);
			}
		}
	}
	free(naive);
	return safe;
}

Test(waits, make_random_placements_safe)
{
	size_t needed = 0;

	for (uint64_t seed = 0; seed < 60; seed++) {
		const struct program_wish wish = {.seed = seed,
			.slots = 12,
			.iterations = 6,
			.lag = (uint32_t)(seed % 3),
			.sizes = 1 + (uint32_t)(seed % 4),
			.streams = 1 + (uint32_t)(seed % STREAMS),
			.marks = true};
		struct program_truth truth;
		struct seam_trace *whole = trace_program(&wish, &truth);
		struct seam_trace_builder *builder;

		/* Sizes of some bytes, so that every byte can be looked at. */
		cr_assert_eq(seam_trace_builder_create("small", 0, &builder), SEAM_OK);
		for (uint64_t e = 0; e < whole->header.event_count; e++) {
			struct seam_trace_event event = whole->events[e];
			event.size = event.size / 512;
			cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
		}
		cr_assert_eq(seam_trace_builder_finish(builder, &error, &trace), SEAM_OK, "%s", error.text);
		seam_trace_builder_destroy(builder);
		seam_trace_free(whole);
		solve(truth.first_event, truth.first_event + truth.iteration_events, seed);
		cr_expect(is_safe(SIZE_MAX), "seed %lu", (unsigned long)seed);
		for (size_t w = 0; w < waits.count; w++)
			needed += !is_safe(w);
		forget();
	}
	cr_expect_gt(needed, 50, "waits without which something was unsafe: %zu", needed);
}

struct words_row {
	const char *name;
	const char *words;
	uint64_t last; /* the period is [0, last); 0: the whole, once */
	size_t count;
	struct seam_plan_wait waits[2];
};

static const struct words_row words_rows[] = {
	{"one stream", "+a9 -a +b9 -b", 0, 0, {{0}}},
	{"one after the other", "+a9 -a +b9@1 -b", 0, 1, {{.waited = 0, .waiter = 1}}},
	{"around", "+a9 -a +b9@1 -b", 4, 2, {{.waited = 1, .waiter = 0, .lag = 1}, {.waited = 0, .waiter = 1}}},
	{"a chain needs its links only", "+a9 -a +b9@1 -b +c9@2 -c", 0, 2,
		{{.waited = 0, .waiter = 1}, {.waited = 1, .waiter = 2}}},
	{"two of one stream: the later", "+a4 +b5 -a -b +c9@1 -c", 0, 1, {{.waited = 1, .waiter = 2}}},
	{"two of two streams", "+a4 +b5@2 -a -b +c9@1 -c", 0, 2,
		{{.waited = 0, .waiter = 2}, {.waited = 1, .waiter = 2}}},
	{"used elsewhere: its own stream waits too", "+a9 >a@1 -a +b9 -b", 0, 1, {{.waited = 0, .waiter = 1}}},
	{"used elsewhere: not for itself", "+a9 >a@1 -a", 3, 0, {{0}}},
	{"used elsewhere: beside the later", "+a4 +b5 >a@2 -a -b +c9@1 -c", 0, 2,
		{{.waited = 1, .waiter = 2}, {.waited = 0, .waiter = 2}}},
	{"together: no sharing", "+a9 +b9@1 -a -b", 0, 0, {{0}}},
};

Test(waits, of_words)
{
	for (size_t r = 0; r < sizeof(words_rows) / sizeof(words_rows[0]); r++) {
		const struct words_row *row = &words_rows[r];

		trace = trace_words(row->words);
		solve(0, row->last, 1);
		cr_assert_eq(waits.count, row->count, "%s: %zu", row->name, waits.count);
		for (size_t w = 0; w < row->count; w++) {
			const struct seam_plan_wait *wait = (const struct seam_plan_wait *)waits.items + w;

			cr_expect(wait->waited == row->waits[w].waited && wait->waiter == row->waits[w].waiter &&
					wait->lag == row->waits[w].lag,
				"%s: %u waits for %u, %u periods before", row->name, wait->waiter, wait->waited,
				wait->lag);
		}
		forget();
	}
}

Test(waits, no_memory_leaves_nothing)
{
	enum seam_rc rc = SEAM_OOM_META;

	trace = trace_words("+a4 +b5@2 -a -b +c9@1 -c");
	solve(0, 0, 1);
	seam__grow_fini(&waits);
	uint64_t before = trace_sample_live_bytes();
	for (uint64_t n = 1; rc != SEAM_OK; n++) {
		seam__meta_fail_at(seam__meta_process(), n);
		rc = seam__waits_list(&slots, &problem, offsets, &waits);
		if (rc != SEAM_OK)
			cr_expect(rc == SEAM_OOM_META && trace_sample_live_bytes() == before, "call %lu",
				(unsigned long)n);
		cr_assert_lt(n, 100);
	}
	seam__meta_fail_at(seam__meta_process(), 0);
}
