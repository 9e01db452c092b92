/* test_planned_begin.c: a plan that is there before the program has built up, and does not say what is asked for first:
 * what it serves, from when on, and that nothing that stays gets in its way. */
#include "core_fixture.h"

#include <seam/plan.h>

#include "plan_format.h"
#include "record.h"
#include "planned.h"

#define LAYERS 24u
#define LARGE_BYTES MIB(9)    /* a workspace that needs chunks of its own */
#define SMALL_BYTES KIB(1280) /* one that fits behind an activation in the last of its chunks */

struct training {
	void *parameters[LAYERS], *states[LAYERS], *gradients[LAYERS], *activations[LAYERS];
	void *workspaces[2];
	bool is_first;      /* iteration */
	bool has_states;    /* that are made at the end of the first iteration, and workspaces in its midst */
	uint64_t odd_bytes; /* so much larger are activations of the first iteration, and states */
};

static uint64_t parameter_bytes(unsigned i)
{
	return MIB(3) + i * KIB(512);
}

static void begin_training(struct training *training, bool has_states, uint64_t odd_bytes)
{
	*training = (struct training){.is_first = true, .has_states = has_states, .odd_bytes = odd_bytes};
	for (unsigned i = 0; i < LAYERS; i++)
		training->parameters[i] = must_alloc(parameter_bytes(i), NULL);
}

static void go_forward(struct training *training)
{
	for (unsigned i = 0; i < LAYERS; i++) {
		if (training->has_states && training->is_first && i == LAYERS - 2) {
			training->workspaces[0] = must_alloc(LARGE_BYTES, NULL);
			training->workspaces[1] = must_alloc(SMALL_BYTES, NULL);
		}
		must_free(must_alloc(MIB(1) + i * KIB(64), NULL));
		training->activations[i] =
			must_alloc(MIB(9) + i * KIB(256) + (training->is_first ? training->odd_bytes : 0), NULL);
	}
}

static void go_back(struct training *training)
{
	for (unsigned i = LAYERS; i-- > 0;) {
		void *temporary = must_alloc(MIB(2) + i * KIB(128), NULL);
		training->gradients[i] = must_alloc(parameter_bytes(i), NULL);
		must_free(training->activations[i]);
		must_free(temporary);
	}
}

/* A temporary for each parameter, of its size. */
static void optimize(struct training *training)
{
	for (unsigned i = 0; i < LAYERS; i++) {
		if (training->has_states && training->is_first)
			training->states[i] = must_alloc(parameter_bytes(i) + training->odd_bytes, NULL);
		must_free(must_alloc(parameter_bytes(i), NULL));
	}
}

static void train(struct training *training)
{
	for (unsigned i = 0; i < LAYERS && !training->is_first; i++)
		must_free(training->gradients[i]);
	go_forward(training);
	go_back(training);
	optimize(training);
	training->is_first = false;
	cr_assert_ok(seam_step(pool));
	check_pool();
}

/* A plan of the program's iterations, from a run of it, as if it had been recorded from the second iteration on:
 * without what is asked for first. */
static struct seam_plan *make_plan(bool has_states, uint64_t odd_bytes)
{
	struct training training;
	struct seam_trace *trace = NULL;
	struct seam_plan *plan = NULL;
	const struct seam_plan_options options = {.struct_bytes = sizeof options,
		.node_limit = 100000,
		.align_bytes = 512,
		.period = SEAM_PLAN_PERIOD_FIND};
	open_pool(MIB(2048), "plan:inline,chunk_bytes:2M");
	begin_training(&training, has_states, odd_bytes);
	for (unsigned i = 0; i < 4; i++)
		train(&training);
	cr_assert_ok(seam__recorder_trace(pool->recorder, 0, "training", &trace));
	cr_assert_ok(seam_plan_make(trace, &options, NULL, &plan));
	cr_assert_gt(plan->header.resident_bytes, 0);
	plan->header.prologue_count = 0;
	seam__plan_seal(&plan->header);
	seam_trace_free(trace);
	close_pool();
	return plan;
}

static uint64_t residents_bytes(bool has_states, uint64_t odd_bytes)
{
	uint64_t bytes = has_states ? LARGE_BYTES + SMALL_BYTES : 0;
	for (unsigned i = 0; i < LAYERS; i++)
		bytes += parameter_bytes(i) * (has_states ? 2 : 1) + odd_bytes;
	return bytes;
}

/* Runs iterations; `served` of them at the end without a miss, without growth, and with the whole arena at the plan's
 * disposal. */
static void run_with_plan(bool has_states, uint64_t odd_bytes, unsigned iterations, unsigned served)
{
	struct training training;
	struct seam_plan *plan = make_plan(has_states, odd_bytes);
	open_pool(MIB(2048), "chunk_bytes:2M,plan:off");
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	begin_training(&training, has_states, odd_bytes);
	for (unsigned i = 0; i < iterations; i++) {
		const struct seam_stats before = get_stats();
		const struct seam_plan_stats before_plan = get_plan_stats();
		train(&training);
		const struct seam_stats after = get_stats();
		const struct seam_plan_stats after_plan = get_plan_stats();
		if (i < iterations - served)
			continue;
		cr_expect_eq(after_plan.misses, before_plan.misses, "iteration %u: %llu misses", i,
			(unsigned long long)(after_plan.misses - before_plan.misses));
		cr_expect_eq(after.reserved_bytes, before.reserved_bytes, "iteration %u", i);
		cr_expect_eq(after_plan.lent_bytes, 0);
		const struct seam_arena *arena = &LIST_FIRST(&pool->runtime->active_plans)->arena;
		cr_expect_eq(arena->leased_bytes, arena->bytes, "something that stays is in the plan's way");
	}
	cr_assert_ok(seam_trim(pool, 0, NULL));
	const uint64_t needed_bytes = plan->header.arena_bytes + residents_bytes(has_states, odd_bytes);
	const uint64_t reserved_bytes = get_stats().reserved_bytes;
	cr_expect_leq(reserved_bytes, needed_bytes + needed_bytes / 32, "%llu bytes, %llu are needed",
		(unsigned long long)reserved_bytes, (unsigned long long)needed_bytes);
	seam_plan_free(plan);
	close_pool();
}

/* All that stays was there before the first iteration: that is known to the byte. */
Test(planned_begin, a_program_that_is_built_up_is_served_from_its_first_iteration)
{
	run_with_plan(false, 0, 4, 4);
}

/* States have the sizes of the gradients and of temporaries, and workspaces are made when much of the arena is lent. */
Test(planned_begin, what_is_made_in_the_first_iteration_and_stays_is_in_nobodys_way)
{
	run_with_plan(true, 0, 5, 4);
}

/* Nothing of the first iteration is recognised: gradients lie beside the arena too when the last states are made, which
 * are what the plan does not know. */
Test(planned_begin, a_first_iteration_that_is_not_recognised_is_in_nobodys_way_either)
{
	run_with_plan(true, KIB(40), 5, 2);
}

/* Parameters alone, over and over, are no iteration. */
Test(planned_begin, what_only_builds_up_is_not_served)
{
	struct seam_plan *plan = make_plan(true, 0);
	open_pool(MIB(2048), "chunk_bytes:2M,plan:off");
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	for (unsigned i = 0; i < LAYERS; i++)
		(void)must_alloc(parameter_bytes(i), NULL);
	cr_expect_eq(get_plan_stats().hits, 0);
	cr_expect_eq(get_plan_stats().lent_bytes, 0);
	check_pool();
	seam_plan_free(plan);
	close_pool();
}

static void do_something_else(void)
{
	void *blocks[LAYERS];
	for (unsigned i = 0; i < LAYERS; i++)
		blocks[i] = must_alloc(MIB(5) + i * KIB(300), NULL);
	for (unsigned i = LAYERS; i-- > 0;)
		must_free(blocks[i]);
	cr_assert_ok(seam_step(pool));
}

/* What is learnt lies in the arena of the plan that waits for its program, and no memory is needed beside it. */
Test(planned_begin, a_plan_whose_program_does_not_come_makes_room_for_one_that_is_learnt)
{
	struct seam_plan *plan = make_plan(false, 0);
	open_pool(MIB(2048), "chunk_bytes:2M,plan:inline");
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	const uint64_t reserved_bytes = get_stats().reserved_bytes;
	for (unsigned i = 0; i < 24; i++) {
		do_something_else();
		run_background();
	}
	const uint64_t hits = get_plan_stats().hits;
	do_something_else();
	cr_expect_eq(get_plan_stats().hits - hits, LAYERS);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_expect_leq(get_stats().reserved_bytes, reserved_bytes);
	check_pool();
	seam_plan_free(plan);
	close_pool();
}

/* A block, and two whose sizes depend on data, inside of a phase. */
static void load_experts(uint64_t bytes)
{
	void *block = must_alloc(MIB(64), NULL);
	void *loads[2];
	cr_assert_ok(seam_phase_begin(pool, "experts"));
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_ok(seam_dynamic_begin(pool));
		loads[i] = must_alloc(bytes + i * KIB(64), NULL);
		cr_assert_ok(seam_dynamic_end(pool));
	}
	for (unsigned i = 0; i < 2; i++)
		must_free(loads[i]);
	cr_assert_ok(seam_phase_end(pool, "experts"));
	must_free(block);
	cr_assert_ok(seam_step(pool));
}

/* The plan's one block leaves nothing idle while they live. They get what the arena has to spare, so that no driver
 * call is made for them. */
static void run_with_experts(const char *conf, bool has_spare)
{
	struct seam_trace *trace = NULL;
	struct seam_plan *plan = NULL;
	const struct seam_plan_options options = {.struct_bytes = sizeof options,
		.node_limit = 1000,
		.align_bytes = 512,
		.period = SEAM_PLAN_PERIOD_FIND};
	open_pool(MIB(2048), "plan:inline,chunk_bytes:2M");
	for (unsigned i = 0; i < 4; i++)
		load_experts(KIB(16));
	cr_assert_ok(seam__recorder_trace(pool->recorder, 0, "experts", &trace));
	cr_assert_ok(seam_plan_make(trace, &options, NULL, &plan));
	cr_assert_gt(plan->header.group_count, 0);
	seam_trace_free(trace);
	close_pool();
	open_pool(MIB(2048), conf);
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	cr_expect_eq(get_plan_stats().arena_bytes > plan->header.arena_bytes, has_spare);
	load_experts(KIB(16));
	const struct seam_stats before = get_stats();
	const struct seam_plan_stats before_plan = get_plan_stats();
	load_experts(KIB(20));
	const struct seam_stats after = get_stats();
	const struct seam_plan_stats after_plan = get_plan_stats();
	cr_expect_eq(after_plan.borrows - before_plan.borrows, has_spare ? 2 : 0);
	cr_expect_eq(after.reserved_bytes, before.reserved_bytes);
	check_pool();
	seam_plan_free(plan);
	close_pool();
}

Test(planned_begin, what_depends_on_data_has_memory_to_spare)
{
	run_with_experts("chunk_bytes:2M,plan:off", true);
	run_with_experts("chunk_bytes:2M,plan:off,plan_reuse:fit", false);
}
