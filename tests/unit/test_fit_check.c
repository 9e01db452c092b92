/* test_fit_check.c: what is no schedule, and what is no problem, is found and named. */
#include "fit_fixture.h"

#include <string.h>

static uint8_t treatments[2], comes[2];
static struct seam_fit_recipe recipe = {treatments, comes, 1, 1};
static struct seam_fit_problem problem;
static struct seam_fit_schedule *made;
static struct seam_fit_op ops[64];
static struct seam_fit_schedule changed; /* a copy, of these operations */

/* The first block is swapped, the second one's chunk comes, in two micro-batches. */
static void set_up(void)
{
	problem = small_problem();
	problem.micro_batches = 2;
	treatments[0] = SEAM_FIT_SWAP;
	treatments[1] = SEAM_FIT_KEEP;
	comes[0] = 0;
	comes[1] = 1;
	cr_assert_eq(seam_fit_schedule(&problem, &recipe, &made), SEAM_OK);
	memcpy(ops, made->ops, made->op_count * sizeof(*ops));
	changed = *made;
	changed.ops = ops;
	cr_assert_null(seam_fit_check(&problem, &recipe, &changed));
}

static void clean_up(void)
{
	seam_fit_schedule_free(made);
	tear_down();
}

TestSuite(fit_check, .init = set_up, .fini = clean_up);

static struct seam_fit_op *find(uint32_t kind, uint32_t subject)
{
	for (uint32_t i = 0; i < changed.op_count; i++)
		if (ops[i].kind == kind && ops[i].subject == subject)
			return &ops[i];
	abort();
}

static struct seam_fit_op *find_drop(uint32_t of_kind)
{
	for (uint32_t i = 0; i < changed.op_count; i++)
		if (ops[i].kind == SEAM_FIT_DROP && ops[ops[i].subject].kind == of_kind)
			return &ops[i];
	abort();
}

static void expect(const char *broken)
{
	const char *found = seam_fit_check(&problem, &recipe, &changed);
	cr_expect_not_null(found);
	if (found != NULL)
		cr_expect_str_eq(found, broken, "%s, not %s", found, broken);
}

Test(fit_check, fs1_a_visit_that_is_missing)
{
	find(SEAM_FIT_VISIT, 2)->subject = 1;
	expect("FS1");
}

Test(fit_check, fs1_a_visit_that_takes_another_time)
{
	find(SEAM_FIT_VISIT, 3)->ns++;
	expect("FS1");
}

Test(fit_check, fs1_a_copy_of_other_bytes)
{
	find(SEAM_FIT_OUT, 0)->bytes--;
	expect("FS1");
}

Test(fit_check, fs1_another_lane)
{
	find(SEAM_FIT_LOAD, 1)->lane = SEAM_FIT_DOWN;
	expect("FS1");
}

Test(fit_check, fs1_behind_an_operation_that_is_not_there)
{
	find(SEAM_FIT_LOAD, 1)->after[0] = changed.op_count;
	expect("FS1");
}

Test(fit_check, fs1_a_list_that_ends_early)
{
	changed.op_count = (uint32_t)(find(SEAM_FIT_VISIT, 4) - ops);
	find(SEAM_FIT_LOAD, 1)->after[0] = find(SEAM_FIT_LOAD, 1)->after[1] = SEAM_FIT_NONE;
	expect("FS3");
}

Test(fit_check, fs2_a_visit_before_its_chunk_is_loaded)
{
	find(SEAM_FIT_VISIT, 1)->after[0] = SEAM_FIT_NONE;
	expect("FS2");
}

Test(fit_check, fs2_weights_from_before_the_step)
{
	find(SEAM_FIT_LOAD, 1)->after[1] = SEAM_FIT_NONE;
	expect("FS2");
}

Test(fit_check, fs3_memory_of_a_copy_that_may_go_on)
{
	find_drop(SEAM_FIT_OUT)->after[0] = SEAM_FIT_NONE;
	expect("FS3");
}

Test(fit_check, fs3_memory_that_was_not_given_back_yet)
{
	find(SEAM_FIT_IN, 0)->after[0] = find(SEAM_FIT_VISIT, 0)->after[0];
	expect("FS3");
}

Test(fit_check, fs3_memory_of_the_iteration_before)
{
	find(SEAM_FIT_LOAD, 1)->after[0] = SEAM_FIT_NONE;
	expect("FS3");
}

Test(fit_check, fs3_memory_given_back_twice)
{
	struct seam_fit_op *last = &ops[changed.op_count - 1];
	cr_assert_eq(last->kind, SEAM_FIT_DROP);
	*last = *find_drop(SEAM_FIT_OUT);
	expect("FS3");
}

Test(fit_check, fs4_a_backward_pass_before_its_tensors_are_back)
{
	find(SEAM_FIT_VISIT, 4)->after[1] = SEAM_FIT_NONE;
	expect("FS4");
}

Test(fit_check, fs4_tensors_that_leave_before_they_are_made)
{
	find(SEAM_FIT_OUT, 0)->after[0] = SEAM_FIT_NONE;
	expect("FS4");
}

Test(fit_check, fs5_a_step_before_its_gradients_are_there)
{
	find(SEAM_FIT_STEP_HOST, 1)->after[0] = SEAM_FIT_NONE;
	expect("FS5");
}

Test(fit_check, fs5_a_step_during_the_backward_pass)
{
	find(SEAM_FIT_STEP_HOST, 1)->after[1] = SEAM_FIT_NONE;
	expect("FS5");
	problem.flags = SEAM_FIT_OVERLAP_BACKWARD;
	cr_expect_null(seam_fit_check(&problem, &recipe, &changed));
	problem.flags |= SEAM_FIT_CLIPS;
	expect("FS5");
}

Test(fit_check, fs5_gradients_that_leave_before_they_are_made)
{
	find(SEAM_FIT_GRADIENT_OUT, 1)->after[0] = SEAM_FIT_NONE;
	expect("FS5");
}

Test(fit_check, fs6_memory_that_is_never_given_back)
{
	changed.op_count--;
	for (uint32_t i = 0; i < changed.op_count; i++)
		for (uint32_t j = 0; j < 2; j++)
			ops[i].after[j] -= ops[i].after[j] == changed.op_count;
	expect("FS6");
}

Test(fit_check, fs7_a_peak_that_is_too_low)
{
	changed.peak_bytes--;
	expect("FS7");
}

Test(fit_check, fs7_too_little_host_memory)
{
	changed.host_bytes--;
	expect("FS7");
}

Test(fit_check, fs7_wrong_accounts)
{
	find(SEAM_FIT_VISIT, 3)->net_bytes--;
	expect("FS7");
	find(SEAM_FIT_VISIT, 3)->net_bytes++;
	find(SEAM_FIT_VISIT, 3)->top_bytes = 0;
	expect("FS7");
}

Test(fit_check, a_schedule_of_another_recipe)
{
	treatments[1] = SEAM_FIT_RECOMPUTE;
	cr_expect_not_null(seam_fit_check(&problem, &recipe, &changed));
	treatments[1] = SEAM_FIT_KEEP;
	comes[1] = 0;
	cr_expect_not_null(seam_fit_check(&problem, &recipe, &changed));
}

/* A schedule with one changed number is refused, or can be timed. */
Test(fit_check, any_operation_may_be_changed, .timeout = 60)
{
	uint64_t state = 7;
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t number = program_between(&state, 0, made->op_count - 1);
		struct seam_fit_op *op = &ops[number];
		uint32_t *const fields[] = {&op->kind, &op->lane, &op->subject, &op->after[0], &op->after[1]};
		uint32_t *field = fields[program_between(&state, 0, 4)];
		*field = program_chance(&state, 20) ? (uint32_t)program_random(&state)
						    : program_between(&state, 0, made->op_count);
		const char *broken = seam_fit_check(&problem, &recipe, &changed);
		struct seam_fit_prediction prediction;
		enum seam_rc rc = seam_fit_simulate(&problem, &changed, NULL, &prediction);
		cr_expect(rc == SEAM_OK || (rc == SEAM_INVALID && broken != NULL));
		*op = made->ops[number];
	}
}

static struct seam_fit_visit visits[5];
static struct seam_fit_block blocks[2];
static struct seam_fit_chunk chunks[2];

static void expect_no_problem(const char *text)
{
	char error[200] = "";
	cr_expect_eq(seam_fit_problem_check(&problem, error, sizeof(error)), SEAM_INVALID);
	cr_expect_str_eq(error, text);
	struct seam_fit_schedule *schedule;
	cr_expect_eq(seam_fit_schedule(&problem, &recipe, &schedule), SEAM_INVALID);
	memcpy(visits, small_visits, sizeof(visits));
	memcpy(blocks, small_blocks, sizeof(blocks));
	memcpy(chunks, small_chunks, sizeof(chunks));
	problem = small_problem();
	problem.visits = visits;
	problem.blocks = blocks;
	problem.chunks = chunks;
}

Test(fit_check, what_is_no_problem_is_named)
{
	problem.struct_bytes--;
	expect_no_problem("no problem, or one of another version");
	problem.visits = NULL;
	expect_no_problem("an array is missing");
	problem.micro_batches = 0;
	expect_no_problem("no visits, or no micro-batches");
	problem.micro_batches = SEAM_FIT_OPERATIONS_MOST;
	expect_no_problem("too many visits, blocks or chunks");
	problem.flags = 4;
	expect_no_problem("unknown flags");
	problem.machine.up_both = problem.machine.up + 1;
	expect_no_problem("speeds of copies out of range, or both ways faster than one way, or below a 16th of it");
	problem.machine.down = problem.machine.down_both = 0;
	expect_no_problem("speeds of copies out of range, or both ways faster than one way, or below a 16th of it");
	problem.base_bytes = SEAM_FIT_BYTES_MOST + 1;
	expect_no_problem("base_bytes out of range");
	chunks[1].host_bytes = SEAM_FIT_BYTES_MOST;
	expect_no_problem("chunk 1: a number out of range");
	blocks[0].allowed = 16;
	expect_no_problem("block 0: no treatment is allowed, or one that is unknown");
	blocks[1].swap_bytes[2] = UINT64_MAX;
	expect_no_problem("block 1: swap_bytes out of range");
	visits[2].phase = 4;
	expect_no_problem("visit 2: an unknown phase");
	visits[2].block = 0;
	expect_no_problem("visit 2: a pass of no block, or a block outside of passes");
	visits[2].chunk = 2;
	expect_no_problem("visit 2: no such chunk");
	visits[2].gradients = 1;
	expect_no_problem("visit 2: gradients of no chunk, or a chunk while the optimizer steps");
	visits[2].phase = SEAM_FIT_STEPPING;
	expect_no_problem("visit 3: behind the optimizer's");
	visits[0].under[3].net_bytes = 61;
	expect_no_problem("visit 0: a curve out of range, or one that ends above its top");
	visits[0].chunk = 1;
	expect_no_problem("visit 0: chunks are not in the order of their first visits");
	visits[0].chunk = visits[4].chunk = SEAM_FIT_NONE;
	visits[4].gradients = 0;
	expect_no_problem("visit 1: chunks are not in the order of their first visits");
	visits[1].chunk = visits[3].chunk = 0;
	expect_no_problem("chunk 1: comes, and is never visited");
	visits[3].block = 0;
	expect_no_problem("visit 4: a pass out of order, or twice");
	problem.visit_count = 4;
	expect_no_problem("block 0: not both passes");
	cr_expect_eq(seam_fit_problem_check(&problem, NULL, 0), SEAM_OK);
}
