/* test_fit_schedule.c: schedules of recipes and their times, by hand for a small problem and by rules for drawn ones.
 */
#include "fit_fixture.h"

#include <string.h>

TestSuite(fit_schedule, .fini = tear_down);

static uint8_t treatments[FIT_DRAW_BLOCKS_MOST + 2], comes[FIT_DRAW_BLOCKS_MOST + 2];
static struct seam_fit_problem problem;
static struct seam_fit_schedule *schedule;
static struct seam_fit_prediction prediction;

static void make(const struct seam_fit_problem *of, uint32_t buffers, uint32_t ahead)
{
	struct seam_fit_recipe recipe = {treatments, comes, buffers, ahead};
	cr_assert_eq(seam_fit_schedule(of, &recipe, &schedule), SEAM_OK);
	const char *broken = seam_fit_check(of, &recipe, schedule);
	cr_expect_null(broken, "%s", broken);
	cr_assert_eq(seam_fit_simulate(of, schedule, NULL, &prediction), SEAM_OK);
}

static void set(uint8_t first, uint8_t second, uint8_t first_comes, uint8_t second_comes)
{
	problem = small_problem();
	treatments[0] = first;
	treatments[1] = second;
	comes[0] = first_comes;
	comes[1] = second_comes;
}

Test(fit_schedule, a_program_as_it_is_computes_alone)
{
	set(SEAM_FIT_KEEP, SEAM_FIT_KEEP, 0, 0);
	make(&problem, 1, 1);
	cr_expect_eq(prediction.ns, 670);
	cr_expect_eq(prediction.compute_ns, 670);
	cr_expect_eq(prediction.busy_ns[SEAM_FIT_COMPUTE], 670);
	cr_expect_eq(schedule->first_bytes, 180);
	cr_expect_eq(schedule->peak_bytes, 330, "both blocks, the head's gradient, the first gradients");
	cr_expect_eq(schedule->host_bytes, 0);
	cr_expect_eq(schedule->op_count, 7);
	seam_fit_schedule_free(schedule);
}

Test(fit_schedule, a_recomputed_block_takes_its_forward_pass_again)
{
	set(SEAM_FIT_RECOMPUTE, SEAM_FIT_KEEP, 0, 0);
	make(&problem, 1, 1);
	cr_expect_eq(prediction.ns, 770);
	cr_expect_eq(prediction.compute_ns, 670);
	cr_expect_eq(prediction.recompute_ns, 100);
	cr_expect_eq(schedule->peak_bytes, 320, "in its own backward pass: 180 + 10 + 30 + 70 + 30");
	seam_fit_schedule_free(schedule);
}

Test(fit_schedule, a_swapped_block_copies_while_others_compute)
{
	set(SEAM_FIT_SWAP, SEAM_FIT_KEEP, 0, 0);
	make(&problem, 1, 1);
	cr_expect_eq(prediction.ns, 670);
	cr_expect_eq(prediction.busy_ns[SEAM_FIT_UP], 50);
	cr_expect_eq(prediction.busy_ns[SEAM_FIT_DOWN], 50);
	cr_expect_eq(schedule->peak_bytes, 330, "it is back one visit ahead");
	cr_expect_eq(schedule->host_bytes, 50);
	seam_fit_schedule_free(schedule);
}

Test(fit_schedule, the_last_block_is_swapped_in_vain)
{
	set(SEAM_FIT_KEEP, SEAM_FIT_SWAP, 0, 0);
	make(&problem, 1, 1);
	cr_expect_eq(prediction.ns, 670 + 50, "it leaves during the head, and comes back when it is given back");
	cr_expect_eq(prediction.copy_wait_ns, 50);
	seam_fit_schedule_free(schedule);
}

Test(fit_schedule, a_chunk_that_comes_is_stepped_by_the_host_behind_the_backward_pass)
{
	set(SEAM_FIT_KEEP, SEAM_FIT_KEEP, 0, 1);
	make(&problem, 1, 1);
	cr_expect_eq(prediction.ns, 660);
	cr_expect_eq(prediction.busy_ns[SEAM_FIT_UP], 30, "it stays from its forward to its backward pass");
	cr_expect_eq(prediction.busy_ns[SEAM_FIT_DOWN], 30);
	cr_expect_eq(prediction.busy_ns[SEAM_FIT_HOST], 40);
	cr_expect_eq(schedule->host_bytes, 200);
	cr_expect_eq(schedule->first_bytes, 90);
	seam_fit_schedule_free(schedule);
}

Test(fit_schedule, with_one_buffer_each_chunk_waits_for_the_other)
{
	set(SEAM_FIT_KEEP, SEAM_FIT_KEEP, 1, 1);
	make(&problem, 1, 1);
	cr_expect_eq(
		prediction.busy_ns[SEAM_FIT_UP], 30 + 30 + 60, "chunk 1 once; chunk 0 again, while gradients leave");
	cr_expect_eq(prediction.host_wait_ns, 40, "the first step");
	cr_expect_eq(prediction.copy_wait_ns, 30 + 30 + 60 + 30, "the loads, and the last gradients");
	cr_expect_eq(prediction.ns, 650 + 40 + 150);
	seam_fit_schedule_free(schedule);
	make(&problem, 2, 1);
	cr_expect_eq(prediction.busy_ns[SEAM_FIT_UP], 60);
	cr_expect_eq(prediction.copy_wait_ns, 30 + 30);
	seam_fit_schedule_free(schedule);
}

Test(fit_schedule, with_clipping_every_step_waits_for_all_gradients)
{
	set(SEAM_FIT_KEEP, SEAM_FIT_KEEP, 1, 0);
	problem.flags = SEAM_FIT_CLIPS;
	make(&problem, 1, 1);
	for (uint32_t i = 0; i < schedule->op_count; i++)
		if (schedule->ops[i].kind == SEAM_FIT_STEP_DEVICE)
			cr_expect_eq(schedule->ops[schedule->ops[i].after[0]].kind, SEAM_FIT_GRADIENT_OUT);
	seam_fit_schedule_free(schedule);
}

Test(fit_schedule, with_overlap_a_chunk_is_stepped_during_the_backward_pass)
{
	struct seam_fit_span spans[32];
	set(SEAM_FIT_KEEP, SEAM_FIT_KEEP, 0, 1);
	problem.flags = SEAM_FIT_OVERLAP_BACKWARD;
	make(&problem, 1, 1);
	cr_assert_eq(seam_fit_simulate(&problem, schedule, spans, &prediction), SEAM_OK);
	for (uint32_t i = 0; i < schedule->op_count; i++)
		if (schedule->ops[i].kind == SEAM_FIT_STEP_HOST)
			cr_expect_eq(spans[i].begin_ns, 450 + 30);
	seam_fit_schedule_free(schedule);
}

Test(fit_schedule, gradients_leave_once_a_micro_batch)
{
	set(SEAM_FIT_KEEP, SEAM_FIT_KEEP, 0, 1);
	problem.micro_batches = 3;
	make(&problem, 1, 1);
	uint32_t outs = 0, steps = 0, loads = 0;
	for (uint32_t i = 0; i < schedule->op_count; i++) {
		outs += schedule->ops[i].kind == SEAM_FIT_GRADIENT_OUT;
		steps += schedule->ops[i].kind == SEAM_FIT_STEP_HOST;
		loads += schedule->ops[i].kind == SEAM_FIT_LOAD;
	}
	cr_expect_eq(outs, 3);
	cr_expect_eq(steps, 1);
	cr_expect_eq(loads, 1, "its buffer is wanted by no other");
	seam_fit_schedule_free(schedule);
}

static const struct seam_fit_op both_ways[] = {
	{.kind = SEAM_FIT_LOAD, .lane = SEAM_FIT_UP, .after = {SEAM_FIT_NONE, SEAM_FIT_NONE}, .bytes = 100},
	{.kind = SEAM_FIT_OUT, .lane = SEAM_FIT_DOWN, .after = {SEAM_FIT_NONE, SEAM_FIT_NONE}, .bytes = 50},
	{.kind = SEAM_FIT_VISIT, .lane = SEAM_FIT_COMPUTE, .after = {0, 1}, .ns = 100},
};

Test(fit_schedule, copies_both_ways_share_the_bus)
{
	struct seam_fit_schedule made = {.op_count = 3, .ops = both_ways};
	struct seam_fit_span spans[3];
	problem = small_problem();
	cr_assert_eq(seam_fit_simulate(&problem, &made, spans, &prediction), SEAM_OK);
	cr_expect_eq(spans[1].end_ns, 100, "at half its speed");
	cr_expect_eq(spans[0].end_ns, 150, "half of it at half its speed");
	cr_expect_eq(prediction.ns, 250);
	cr_expect_eq(prediction.copy_wait_ns, 150);
}

Test(fit_schedule, an_operation_that_waits_for_none_is_no_schedule)
{
	const struct seam_fit_op ops[] = {
		{.kind = SEAM_FIT_VISIT, .lane = SEAM_FIT_COMPUTE, .after = {SEAM_FIT_NONE, 1}, .ns = 100},
		{.kind = SEAM_FIT_LOAD, .lane = SEAM_FIT_UP, .after = {2, 0}, .bytes = 100},
		{.kind = SEAM_FIT_VISIT, .lane = SEAM_FIT_COMPUTE, .after = {1, 3}, .ns = 100},
	};
	struct seam_fit_schedule made = {.op_count = 3, .ops = ops};
	problem = small_problem();
	cr_expect_eq(seam_fit_simulate(&problem, &made, NULL, &prediction), SEAM_INVALID, "operation 3 is not there");
}

/* Lanes do one thing at a time, and nothing begins before what it is after has ended. */
static void check_spans(const struct seam_fit_span *spans)
{
	int64_t free_ns[SEAM_FIT_LANES] = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
	for (uint32_t i = 0; i < schedule->op_count; i++) {
		const struct seam_fit_op *op = &schedule->ops[i];
		cr_assert(spans[i].begin_ns >= free_ns[op->lane] && spans[i].end_ns >= spans[i].begin_ns);
		free_ns[op->lane] = spans[i].end_ns;
		for (uint32_t j = 0; j < 2; j++)
			cr_assert(op->after[j] == SEAM_FIT_NONE || op->after[j] >= i ||
				spans[op->after[j]].end_ns <= spans[i].begin_ns);
	}
}

Test(fit_schedule, recipes_of_drawn_problems_keep_every_invariant, .timeout = 60)
{
	static struct fit_draw draw;
	for (uint64_t seed = 1; seed <= 600; seed++) {
		uint64_t state = seed;
		fit_draw(seed, program_between(&state, 1, 12), &draw);
		char error[200] = "";
		cr_assert_eq(seam_fit_problem_check(&draw.problem, error, sizeof(error)), SEAM_OK, "seed %zu: %s",
			(size_t)seed, error);
		struct seam_fit_recipe recipe = draw_recipe(&state, &draw.problem, treatments, comes);
		cr_assert_eq(seam_fit_schedule(&draw.problem, &recipe, &schedule), SEAM_OK);
		const char *broken = seam_fit_check(&draw.problem, &recipe, schedule);
		cr_assert_null(broken, "seed %zu: %s", (size_t)seed, broken);
		struct seam_fit_span *spans = calloc(schedule->op_count, sizeof(*spans));
		cr_assert_eq(seam_fit_simulate(&draw.problem, schedule, spans, &prediction), SEAM_OK);
		check_spans(spans);
		cr_expect_eq(prediction.ns,
			prediction.compute_ns + prediction.recompute_ns + prediction.copy_wait_ns +
				prediction.host_wait_ns,
			"seed %zu: the causes of the time", (size_t)seed);
		cr_expect_eq(prediction.busy_ns[SEAM_FIT_COMPUTE], prediction.compute_ns + prediction.recompute_ns);
		free(spans);
		seam_fit_schedule_free(schedule);
	}
}

Test(fit_schedule, what_is_no_recipe_is_refused)
{
	set(SEAM_FIT_KEEP, SEAM_FIT_KEEP, 0, 0);
	struct seam_fit_recipe recipe = {treatments, comes, 1, 1};
	struct seam_fit_chunk chunks[2];
	struct seam_fit_block blocks[2];
	memcpy(chunks, small_chunks, sizeof(chunks));
	memcpy(blocks, small_blocks, sizeof(blocks));
	problem.chunks = chunks;
	problem.blocks = blocks;
	schedule = NULL;
	recipe.buffers = 0;
	cr_expect_eq(seam_fit_schedule(&problem, &recipe, &schedule), SEAM_INVALID);
	recipe = (struct seam_fit_recipe){treatments, comes, 1, 0};
	cr_expect_eq(seam_fit_schedule(&problem, &recipe, &schedule), SEAM_INVALID);
	recipe.ahead = 1;
	treatments[1] = SEAM_FIT_TREATMENTS;
	cr_expect_eq(seam_fit_schedule(&problem, &recipe, &schedule), SEAM_INVALID);
	treatments[1] = SEAM_FIT_SWAP;
	blocks[1].allowed = 1u << SEAM_FIT_KEEP;
	cr_expect_eq(seam_fit_schedule(&problem, &recipe, &schedule), SEAM_INVALID, "it may not be swapped");
	blocks[1].allowed = 15;
	problem.machine = (struct seam_fit_machine){0};
	cr_expect_eq(seam_fit_schedule(&problem, &recipe, &schedule), SEAM_INVALID, "nothing can be copied");
	treatments[1] = SEAM_FIT_KEEP;
	comes[0] = 1;
	cr_expect_eq(seam_fit_schedule(&problem, &recipe, &schedule), SEAM_INVALID, "likewise");
	problem.machine = small_problem().machine;
	chunks[0].must_stay = 1;
	cr_expect_eq(seam_fit_schedule(&problem, &recipe, &schedule), SEAM_INVALID, "it must stay");
	cr_expect_null(schedule);
}

Test(fit_schedule, without_memory_nothing_is_made)
{
	set(SEAM_FIT_SWAP, SEAM_FIT_KEEP, 0, 1);
	struct seam_fit_recipe recipe = {treatments, comes, 1, 1};
	enum seam_rc rc = SEAM_OOM_META;
	uint64_t n;
	for (n = 1; rc == SEAM_OOM_META; n++) {
		schedule = NULL;
		seam__meta_fail_at(seam__meta_process(), n);
		rc = seam_fit_schedule(&problem, &recipe, &schedule);
		cr_expect((rc == SEAM_OOM_META) == (schedule == NULL));
	}
	cr_expect_gt(n, 5);
	for (n = 1, rc = SEAM_OOM_META; rc == SEAM_OOM_META; n++) {
		seam__meta_fail_at(seam__meta_process(), n);
		rc = seam_fit_simulate(&problem, schedule, NULL, &prediction);
	}
	cr_expect_gt(n, 4);
	const char *broken = "";
	for (n = 1; broken != NULL; n++) {
		seam__meta_fail_at(seam__meta_process(), n);
		broken = seam_fit_check(&problem, &recipe, schedule);
		if (broken != NULL)
			cr_expect_str_eq(broken, "no memory for the check");
	}
	seam__meta_fail_at(seam__meta_process(), 0);
	cr_expect_eq(rc, SEAM_OK);
	seam_fit_schedule_free(schedule);
}

Test(fit_schedule, treatments_and_kinds_have_names)
{
	cr_expect_str_eq(seam_fit_treatment_name(SEAM_FIT_FROM_HOST), "recompute-from-host");
	cr_expect_null(seam_fit_treatment_name(SEAM_FIT_TREATMENTS));
	cr_expect_str_eq(seam_fit_kind_name(SEAM_FIT_GRADIENT_OUT), "GRADIENT_OUT");
	cr_expect_null(seam_fit_kind_name(SEAM_FIT_KINDS));
}
