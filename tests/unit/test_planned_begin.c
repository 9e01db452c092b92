/* test_planned_begin.c: a plan that is given before the program has built up, and does not say what is asked for first:
 * it waits until all that stays is there, and takes no memory that the program has not taken. */
#include "core_fixture.h"

#include <seam/plan.h>

#include "plan_format.h"
#include "learner.h"
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

/* Peak of what the pool reserves. */
static uint64_t run_without_plan(bool has_states, uint64_t odd_bytes, unsigned iterations)
{
	struct training training;
	open_pool(MIB(2048), "chunk_bytes:2M,plan:off");
	begin_training(&training, has_states, odd_bytes);
	for (unsigned i = 0; i < iterations; i++)
		train(&training);
	const uint64_t bytes = get_stats().reserved_bytes_peak;
	close_pool();
	return bytes;
}

/* Runs iterations; `served` of them at the end without a miss, without growth, and with the whole arena at the plan's
 * disposal. The pool has not much more than it had without the plan. */
static void run_with_plan(const char *conf, bool has_states, uint64_t odd_bytes, unsigned iterations, unsigned served)
{
	struct training training;
	struct seam_plan *plan = make_plan(has_states, odd_bytes);
	const uint64_t without_bytes = run_without_plan(has_states, odd_bytes, iterations);
	open_pool(MIB(2048), conf);
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	begin_training(&training, has_states, odd_bytes);
	for (unsigned i = 0; i < iterations; i++) {
		const struct seam_stats before = get_stats();
		const struct seam_plan_stats before_plan = get_plan_stats();
		train(&training);
		const struct seam_stats after = get_stats();
		const struct seam_plan_stats after_plan = get_plan_stats();
		if (i == 0)
			cr_expect_eq(after_plan.requests, 0, "it is open before all that stays has been made");
		if (i < iterations - served)
			continue;
		cr_expect_gt(after_plan.hits, before_plan.hits, "iteration %u", i);
		cr_expect_eq(after_plan.misses, before_plan.misses, "iteration %u: %llu misses", i,
			(unsigned long long)(after_plan.misses - before_plan.misses));
		cr_expect_eq(after.reserved_bytes, before.reserved_bytes, "iteration %u", i);
		cr_expect_eq(after_plan.lent_bytes, 0);
		const struct seam_arena *arena = &LIST_FIRST(&pool->runtime->active_plans)->arena;
		cr_expect_eq(arena->leased_bytes, arena->bytes, "something that stays is in the plan's way");
	}
	cr_expect_leq(get_stats().reserved_bytes_peak, without_bytes + MIB(4), "two chunks may be begun");
	seam_plan_free(plan);
	close_pool();
}

/* What stays was there before the first iteration, or is made in its midst. */
Test(planned_begin, a_program_is_served_when_all_that_stays_has_been_there_for_a_period)
{
	run_with_plan("chunk_bytes:2M,plan:off", false, 0, 5, 2);
	run_with_plan("chunk_bytes:2M,plan:off,record:off", false, 0, 5, 2);
	run_with_plan("chunk_bytes:2M,plan:off", true, 0, 5, 2);
	run_with_plan("chunk_bytes:2M,plan:off", true, KIB(40), 5, 2);
}

/* Parameters alone, over and over, are no iteration. */
Test(planned_begin, what_only_builds_up_is_not_served)
{
	struct seam_plan *plan = make_plan(true, 0);
	open_pool(MIB(2048), "chunk_bytes:2M,plan:off");
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	cr_expect_eq(get_stats().reserved_bytes, 0);
	for (unsigned i = 0; i < LAYERS; i++)
		(void)must_alloc(parameter_bytes(i), NULL);
	cr_expect_eq(get_plan_stats().loaded_plans, 0);
	check_pool();
	seam_plan_free(plan);
	close_pool();
}

/* A program in a pool that was given the plan, which waits. */
static void open_with_plan(const struct seam_plan *plan, struct training *training)
{
	open_pool(MIB(2048), "chunk_bytes:2M,plan:off");
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	begin_training(training, false, 0);
}

/* Trains until the plan's arena is about to be made, and makes it with the Nth call failed. Returns whether there was
 * such a call. */
static bool place_with_failure(const struct seam_plan *plan, uint64_t n, bool of_driver)
{
	struct training training;
	open_with_plan(plan, &training);
	pool->runtime->given.from_allocs = UINT64_MAX; /* it is not made before */
	train(&training);
	train(&training);
	cr_assert_eq(get_plan_stats().requests, 0);
	cr_assert_not_null(pool->runtime->given.loaded);
	for (unsigned i = 0; i < LAYERS; i++)
		must_free(training.gradients[i]);
	training.is_first = true; /* there are no gradients */
	if (of_driver)
		seam__driver_fail_at(driver, n, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	else
		seam__meta_fail_at(pool->meta, n);
	pool->runtime->given.from_allocs = 0;
	seam__learner_place(pool->learner);
	const bool failed = of_driver ? driver->fail_countdown == 0 : seam__meta_fail_left(pool->meta) == 0;
	seam__driver_fail_at(driver, 0, 0, 0);
	seam__meta_fail_at(pool->meta, 0);
	check_pool();
	for (unsigned i = 0; i < 3; i++)
		train(&training);
	const struct seam_plan_stats before = get_plan_stats();
	train(&training);
	const struct seam_plan_stats after = get_plan_stats();
	cr_expect(pool->runtime->open || pool->runtime->given.loaded == NULL, "call %llu", (unsigned long long)n);
	cr_expect_eq(after.hits != before.hits, pool->runtime->open);
	close_pool();
	return failed;
}

/* What fails is tried again a period later; without metadata to open it, it goes. */
Test(planned_begin, every_failure_while_its_arena_is_made_leaves_a_whole_pool)
{
	struct seam_plan *plan = make_plan(false, 0);
	unsigned failures = 0;
	for (uint64_t n = 1; place_with_failure(plan, n, false); n++)
		failures++;
	cr_expect_gt(failures, 2);
	for (uint64_t n = 1; place_with_failure(plan, n, true); n++)
		failures += 100;
	cr_expect_gt(failures, 200, "of the driver's, or not of metadata: %u", failures);
	seam_plan_free(plan);
}

/* The worker has begun something by then: that goes. */
Test(planned_begin, what_is_being_learnt_makes_room_for_its_arena)
{
	static const enum seam_learning states[] = {SEAM_LEARN_PLAN, SEAM_LEARN_BEGIN, SEAM_LEARN_PREPARE};
	struct seam_plan *plan = make_plan(false, 0);
	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		struct training training;
		open_pool(MIB(2048), "chunk_bytes:2M,plan:inline");
		cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
		begin_training(&training, false, 0);
		pool->runtime->given.from_allocs = UINT64_MAX; /* it is not made before */
		for (unsigned iterations = 0; iterations < 12 && pool->learner->state != states[i]; iterations++) {
			bool did = true;
			train(&training);
			while (did && pool->learner->state != states[i])
				seam__pool_work(pool->learner, &did);
		}
		cr_assert_eq(pool->learner->state, states[i]);
		pool->runtime->given.from_allocs = 0;
		seam__learner_place(pool->learner);
		cr_expect_eq(pool->learner->state, SEAM_LEARN_IDLE);
		cr_expect_null(pool->runtime->preparing);
		train(&training);
		train(&training);
		cr_expect(pool->runtime->open && get_plan_stats().hits != 0);
		close_pool();
	}
	seam_plan_free(plan);
}

/* The worker has its lock as long as it plans. */
Test(planned_begin, no_request_waits_for_the_worker)
{
	struct training training;
	struct seam_plan *plan = make_plan(false, 0);
	open_with_plan(plan, &training);
	seam__mutex_lock(&pool->learner->work); /* taken once more by this thread it would never be free */
	for (unsigned i = 0; i < 4; i++)
		train(&training);
	cr_expect_not(pool->runtime->open);
	cr_expect_not_null(pool->runtime->given.loaded);
	seam__mutex_unlock(&pool->learner->work);
	for (unsigned i = 0; i < 2; i++)
		train(&training);
	cr_expect(pool->runtime->open);
	check_pool();
	seam_plan_free(plan);
	close_pool();
}

/* Residents with holes of the same size between them, in which an iteration has room. */
static void begin_with_holes(void *residents[LAYERS])
{
	void *holes[LAYERS];
	for (unsigned i = 0; i < LAYERS; i++) {
		residents[i] = must_alloc(MIB(1), NULL);
		holes[i] = must_alloc(MIB(1), NULL);
	}
	for (unsigned i = 0; i < LAYERS; i++)
		must_free(holes[i]);
}

static void iterate_in_holes(void)
{
	void *blocks[LAYERS];
	for (unsigned i = 0; i < LAYERS; i++)
		blocks[i] = must_alloc(MIB(1) - i * KIB(4), NULL);
	for (unsigned i = 0; i < LAYERS; i++)
		must_free(blocks[i]);
	cr_assert_ok(seam_step(pool));
	check_pool();
}

/* No chunk is free as a whole: an arena would be added to all that there is. */
Test(planned_begin, a_plan_that_would_take_memory_is_not_opened)
{
	void *residents[LAYERS];
	struct seam_trace *trace = NULL;
	struct seam_plan *plan = NULL;
	const struct seam_plan_options options = {.struct_bytes = sizeof options,
		.node_limit = 100000,
		.align_bytes = 512,
		.period = SEAM_PLAN_PERIOD_FIND};
	for (unsigned with_plan = 0; with_plan < 2; with_plan++) {
		open_pool(MIB(2048), with_plan ? "chunk_bytes:2M,plan:off" : "chunk_bytes:2M,plan:inline");
		if (with_plan)
			cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
		begin_with_holes(residents);
		for (unsigned i = 0; i < 6; i++)
			iterate_in_holes();
		if (!with_plan) {
			cr_assert_ok(seam__recorder_trace(pool->recorder, 0, "holes", &trace));
			cr_assert_ok(seam_plan_make(trace, &options, NULL, &plan));
			cr_assert_gt(plan->header.resident_bytes, plan->header.arena_bytes / 2);
			plan->header.prologue_count = 0;
			seam__plan_seal(&plan->header);
			seam_trace_free(trace);
		} else {
			cr_expect_not_null(pool->runtime->given.loaded);
			cr_expect_eq(get_plan_stats().requests, 0);
		}
		cr_expect_eq(get_stats().reserved_bytes_peak, 2 * LAYERS * MIB(1));
		close_pool();
	}
	seam_plan_free(plan);
}

/* It has nothing yet, and is gone without a trace. */
Test(planned_begin, a_plan_that_waits_can_be_dropped)
{
	struct training training;
	struct seam_plan *plan = make_plan(false, 0);
	open_pool(MIB(2048), "chunk_bytes:2M,plan:off");
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	cr_assert_not_null(pool->runtime->given.loaded);
	seam_plan_drop(pool);
	cr_expect_null(pool->runtime->given.loaded);
	begin_training(&training, false, 0);
	for (unsigned i = 0; i < 4; i++)
		train(&training);
	cr_expect_eq(get_plan_stats().requests, 0);
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

/* What is learnt takes the place of the plan that waits for its program. */
Test(planned_begin, a_plan_whose_program_does_not_come_makes_room_for_one_that_is_learnt)
{
	struct seam_plan *plan = make_plan(false, 0);
	open_pool(MIB(2048), "chunk_bytes:2M,plan:inline");
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	do_something_else();
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
