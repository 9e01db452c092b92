/* test_rhythm.c: kinds of iterations in made-up programs, with marks and without: as many as there are, as long as they are,
 * and models that can be planned. */
#include <criterion/criterion.h>

#include <seam/plan.h>

#include "meta.h"
#include "rhythm.h"
#include "trace_program.h"
#include "trace_sample.h"

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
	cr_expect_eq(trace_sample_live_bytes(), 0, "metadata left");
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
