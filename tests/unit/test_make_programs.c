/* test_make_programs.c: plans of made-up training programs, from seeds: lifetimes that cross the boundary or outlive a
 * period, streams with and without edges, residents, dynamic requests, warm-up and different endings. The validator
 * replays each plan 2k periods back to back; what the program knows must stand in the plan; and a plan with one address
 * moved onto another's must be refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <seam/plan.h>

#include "analysis.h"
#include "check.h"
#include "make.h"
#include "random_problem.h"
#include "trace_program.h"
#include "trace_sample.h"

static struct program_truth truth;

static void tear_down(void)
{
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
}

TestSuite(make_programs, .fini = tear_down);

static struct program_wish wish_of(uint64_t seed)
{
	return (struct program_wish){
		.seed = seed,
		.slots = 5 + (uint32_t)(seed * 7 % 60),
		.iterations = 5 + (uint32_t)(seed % 3) + 2 * (uint32_t)(seed % 4), /* two periods behind the warm-up */
		.lag = (uint32_t)(seed % 4),
		.sizes = seed % 2 == 0 ? 0 : 5,
		.streams = (uint32_t)(seed % 3),
		.threads = (uint32_t)(seed % 5 == 0) * 2,
		.edges = seed % 3 == 2 ? (uint32_t)(seed / 3 % 4) : 0,
		.users = seed % 3 == 2 ? (uint32_t)(seed / 5 % 3) : 0,
		.residents = (uint32_t)(seed % 4),
		.states = (uint32_t)(seed / 2 % 3),
		.layers = (uint32_t)(seed / 7 % 4),
		.marks = seed % 3 != 0,
	};
}

/* Of the period that the newest program is made of. */
static struct seam_plan_options options_of(enum seam_plan_streams streams)
{
	return (struct seam_plan_options){.struct_bytes = sizeof(struct seam_plan_options),
		.node_limit = 20000,
		.align_bytes = 1,
		.streams = streams,
		.period = SEAM_PLAN_PERIOD_GIVEN,
		.first_event = truth.first_event,
		.last_event = truth.first_event + truth.iteration_events};
}

static struct seam_plan *plan_of(
	const struct seam_trace *trace, const struct program_wish *wish, enum seam_plan_streams streams)
{
	const struct seam_plan_options options = options_of(streams);
	struct seam_trace_error error = {0};
	struct seam_plan *plan = NULL;
	enum seam_rc rc = seam_plan_make(trace, &options, &error, &plan);

	cr_assert_eq(rc, SEAM_OK, "seed %lu: %s: %s", (unsigned long)wish->seed, seam_rc_name(rc), error.text);
	return plan;
}

static void check_seed(uint64_t seed)
{
	struct program_wish wish = wish_of(seed);
	struct seam_trace *trace = trace_program(&wish, &truth);
	uint64_t arena[4];

	for (int streams = SEAM_PLAN_STREAMS_EDGES; streams <= SEAM_PLAN_STREAMS_AUTO; streams++) {
		struct seam_plan *plan = plan_of(trace, &wish, (enum seam_plan_streams)streams);
		struct seam_trace_error error = {0};

		cr_expect_eq(plan->header.copies, truth.copies, "seed %lu: %u copies, not %u", (unsigned long)seed,
			plan->header.copies, truth.copies);
		cr_expect_eq(plan->header.resident_bytes, truth.resident_bytes, "seed %lu: %lu bytes, not %lu",
			(unsigned long)seed, (unsigned long)plan->header.resident_bytes,
			(unsigned long)truth.resident_bytes);
		cr_expect_eq(plan->header.slot_count, truth.slot_count, "seed %lu", (unsigned long)seed);
		cr_expect_eq(seam_plan_verify(trace, plan, &error), SEAM_OK, "seed %lu: %s", (unsigned long)seed,
			error.text);
		cr_expect_leq(plan->header.lower_bound_bytes, plan->header.arena_bytes);
		arena[streams] = plan->header.arena_bytes;
		seam_plan_free(plan);
	}
	/* Who may share more needs no more; solvers are heuristics, so a little is allowed. */
	cr_expect_leq(arena[SEAM_PLAN_STREAMS_EDGES], arena[SEAM_PLAN_STREAMS_APART] * 11 / 10, "seed %lu",
		(unsigned long)seed);
	seam_trace_free(trace);
}

Test(make_programs, plans_of_seeded_programs_are_true)
{
	for (uint64_t seed = 0; seed < 90; seed++)
		check_seed(seed);
}

/* The period is found without being told, wherever the steps are marked. */
Test(make_programs, periods_are_found)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct program_wish wish = wish_of(seed);
		struct seam_plan_options options = {.struct_bytes = sizeof(options),
			.node_limit = 20000,
			.align_bytes = 1,
			.period = SEAM_PLAN_PERIOD_FIND};
		struct seam_trace_error error = {0};
		struct seam_plan *plan = NULL;

		wish.marks = true;
		wish.iterations = 8;
		wish.partial = seed % 2 == 0;
		wish.tail = (uint32_t)(seed % 4) * 5;
		struct seam_trace *trace = trace_program(&wish, &truth);
		cr_assert_eq(seam_plan_make(trace, &options, &error, &plan), SEAM_OK, "seed %lu: %s",
			(unsigned long)seed, error.text);
		cr_expect_eq(plan->header.slot_count, truth.slot_count, "seed %lu", (unsigned long)seed);
		cr_expect_eq(plan->header.positions, truth.positions, "seed %lu", (unsigned long)seed);
		seam_plan_free(plan);
		seam_trace_free(trace);
	}
}

/* The peak that a search reaches where memory changes streams at once; 0: no waits are needed. */
static uint64_t search_peak(const struct seam_trace *trace, const struct seam_plan_options *options)
{
	struct seam_trace_error error = {0};
	struct seam_plan_options resolved;
	struct seam_analysis analysis = {0};
	struct seam_search search = {0};
	struct seam_placement placed;

	cr_assert_eq(seam__plan_options_resolve(options, 1, &error, &resolved), SEAM_OK);
	cr_assert_eq(seam__analysis_init(trace, &resolved, &error, &analysis), SEAM_OK);
	const uint64_t without_bytes = analysis.problem.lower_bytes;
	cr_assert_eq(seam__analysis_replace(&analysis, &resolved, SEAM_PLAN_STREAMS_INSERT, 0, &error), SEAM_OK);
	cr_assert_eq(seam__placement_init(&placed, &analysis.problem), SEAM_OK);
	cr_assert_eq(seam__search_run(&analysis.problem, &resolved, &error, &placed, &search), SEAM_OK);
	const uint64_t peak_bytes = placed.peak_bytes;
	seam__analysis_fini(&analysis);
	return without_bytes > peak_bytes ? peak_bytes : 0;
}

/* Where the quick constructors find no distance that is small enough, a search may. */
Test(make_programs, plan_that_a_search_can_make_within_a_limit_is_made)
{
	uint32_t needed = 0;
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct program_wish wish = wish_of(seed);
		wish.streams = 2;
		wish.edges = 0;
		struct seam_trace *trace = trace_program(&wish, &truth);
		const struct seam_plan_options options = options_of(SEAM_PLAN_STREAMS_AUTO);
		const uint64_t most_bytes = search_peak(trace, &options);
		struct seam_trace_error error = {0};
		struct seam_plan *plan = NULL;
		uint64_t work_ns;

		if (most_bytes == 0) {
			seam_trace_free(trace);
			continue;
		}
		cr_assert_eq(seam__plan_make(trace, &options, most_bytes, &error, &work_ns, &plan), SEAM_OK,
			"seed %lu: %s", (unsigned long)seed, error.text);
		cr_expect_leq(plan->header.arena_bytes, most_bytes, "seed %lu: %lu, not %lu", (unsigned long)seed,
			plan->header.arena_bytes, most_bytes);
		needed += plan->header.wait_count != 0;
		seam_plan_free(plan);
		seam_trace_free(trace);
	}
	cr_expect_geq(needed, 10, "%u: this tests nothing", needed);
}

/* With one stream, so that the same solvers have the same problem. */
static struct seam_plan *plan_within(const struct seam_trace *trace, double target_gap, uint64_t most_bytes)
{
	struct seam_plan_options options = options_of(SEAM_PLAN_STREAMS_AUTO);
	struct seam_trace_error error = {0};
	struct seam_plan *plan = NULL;
	uint64_t work_ns;

	options.target_gap = target_gap;
	cr_assert_eq(seam__plan_make(trace, &options, most_bytes, &error, &work_ns, &plan), SEAM_OK, "%s", error.text);
	return plan;
}

/* A plan that is near enough to the lower bound and larger than the limit is of no use: the search goes on. */
Test(make_programs, search_ends_at_the_target_only_below_the_limit)
{
	uint32_t needed = 0;
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct program_wish wish = wish_of(seed);
		wish.streams = wish.edges = wish.users = 0;
		struct seam_trace *trace = trace_program(&wish, &truth);
		struct seam_plan *best = plan_within(trace, 0, UINT64_MAX);
		struct seam_plan *first = plan_within(trace, 1000, UINT64_MAX);
		struct seam_plan *within = plan_within(trace, 1000, best->header.arena_bytes);

		cr_expect_leq(within->header.arena_bytes, best->header.arena_bytes, "seed %lu", (unsigned long)seed);
		needed += first->header.arena_bytes > best->header.arena_bytes;
		seam_plan_free(within);
		seam_plan_free(first);
		seam_plan_free(best);
		seam_trace_free(trace);
	}
	cr_expect_geq(needed, 10, "%u: this tests nothing", needed);
}

/* Writes the plan, moves one address, and reads it back with its checksums as they would be: only the meaning is wrong.
 */
static struct seam_plan *moved(const struct seam_plan *plan, size_t place, uint64_t offset)
{
	struct seam_plan *copy = malloc(sizeof(*copy));
	size_t count = (size_t)plan->header.slot_count * plan->header.copies;
	uint64_t *offsets = malloc(count * sizeof(*offsets));

	cr_assert(copy != NULL && offsets != NULL);
	*copy = *plan;
	memcpy(offsets, plan->offsets, count * sizeof(*offsets));
	offsets[place] = offset;
	copy->offsets = offsets;
	return copy;
}

static void unmove(struct seam_plan *copy)
{
	free((uint64_t *)(uintptr_t)copy->offsets);
	free(copy);
}

/* Do slot `i` of copy `c` and slot `j` of copy `d` live together at some position of the circle? Position by position.
 */
static bool live_together(const struct seam_plan *plan, uint32_t i, uint32_t c, uint32_t j, uint32_t d)
{
	const uint64_t positions = plan->header.positions;
	const uint64_t circle = positions * plan->header.copies;
	const struct seam_plan_slot *a = &plan->slots[i];
	const struct seam_plan_slot *b = &plan->slots[j];

	for (uint64_t t = 0; t < a->end - a->begin; t++) {
		uint64_t at = (c * positions + a->begin + t) % circle;
		uint64_t since = (at + circle - (d * positions + b->begin) % circle) % circle;

		if (since < b->end - b->begin)
			return true;
	}
	return false;
}

/* One byte of overlap: the end of one slot laid onto the first byte of another that lives with it. */
static void plant(const struct seam_trace *trace, const struct seam_plan *plan, uint64_t *state, uint32_t *ret_planted)
{
	uint32_t copies = plan->header.copies;
	uint32_t i = (uint32_t)random_below(state, plan->header.slot_count);
	uint32_t j = (uint32_t)random_below(state, plan->header.slot_count);
	uint32_t c = (uint32_t)random_below(state, copies);
	uint32_t d = (uint32_t)random_below(state, copies);
	uint64_t onto = plan->offsets[j * copies + d];
	struct seam_trace_error error = {0};
	struct seam_plan *copy;

	if ((i == j && c == d) || ((plan->slots[i].flags | plan->slots[j].flags) & SEAM_PLAN_DYNAMIC) != 0 ||
		!live_together(plan, i, c, j, d) || onto + 1 < plan->slots[i].size_bytes)
		return;
	copy = moved(plan, (size_t)i * copies + c, onto + 1 - plan->slots[i].size_bytes);
	cr_expect_eq(seam_plan_verify(trace, copy, &error), SEAM_CORRUPT, "slots %u and %u overlap in a byte, and pass",
		i, j);
	cr_expect_neq(error.text[0], '\0');
	cr_expect_not_null(seam_plan_check(copy, &error), "slots %u and %u overlap in a byte, and pass L5", i, j);
	unmove(copy);
	++*ret_planted;
}

Test(make_programs, one_byte_of_overlap_is_refused)
{
	uint32_t planted = 0;

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct program_wish wish = wish_of(seed);
		struct seam_trace *trace = trace_program(&wish, &truth);
		struct seam_plan *plan = plan_of(trace, &wish, SEAM_PLAN_STREAMS_EDGES);
		uint64_t state = seed;

		for (int n = 0; n < 40 && plan->header.slot_count > 0; n++)
			plant(trace, plan, &state, &planted);
		seam_plan_free(plan);
		seam_trace_free(trace);
	}
	cr_expect_gt(planted, 200, "%u", planted);
}
