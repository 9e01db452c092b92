/* test_planned_shapes.c: programs of several shapes: plans of all of them in one arena. */
#include "core_fixture.h"

#include "emu.h"
#include "record.h"

#define LAYERS 10u
#define SHAPES 3u

/* A training loop with marked steps. Gradients live into the next iteration, and so does its output, which is larger
 * for longer sequences and goes only when the next one has been made. */
struct loop {
	void *parameters[LAYERS], *gradients[LAYERS], *activations[LAYERS];
	void *output;
	unsigned iteration;
	bool silent; /* it marks no steps, and nothing lives into the next iteration */
};

static const uint64_t lengths[SHAPES] = {4, 7, 5};

static uint64_t layer_bytes(unsigned i)
{
	return MIB(2) + i * 300000u;
}

static void begin_loop(struct loop *loop)
{
	*loop = (struct loop){0};
	for (unsigned i = 0; i < LAYERS; i++)
		loop->parameters[i] = must_alloc(layer_bytes(i), NULL);
}

static void forward(struct loop *loop, uint64_t length)
{
	void *positions = must_alloc(8192, NULL); /* the same in all shapes */
	for (unsigned i = 0; i < LAYERS; i++) {
		loop->activations[i] = must_alloc((MIB(1) + i * 20480u) * length, NULL);
		void *scratch = must_alloc((KIB(600) + i * 512u) * length, NULL);
		must_free(scratch);
	}
	void *output = must_alloc(MIB(2) * length, NULL);
	if (loop->output != NULL)
		must_free(loop->output);
	loop->output = output;
	must_free(positions);
}

static void backward(struct loop *loop, uint64_t length)
{
	for (unsigned i = 0; i < LAYERS; i++) {
		if (loop->gradients[i] != NULL)
			must_free(loop->gradients[i]);
	}
	for (unsigned i = LAYERS; i-- > 0;) {
		void *scratch = must_alloc((KIB(800) + i * 512u) * length, NULL);
		loop->gradients[i] = must_alloc(layer_bytes(i), NULL);
		must_free(loop->activations[i]);
		must_free(scratch);
	}
}

static void forget(struct loop *loop)
{
	for (unsigned i = 0; i < LAYERS; i++) {
		must_free(loop->gradients[i]);
		loop->gradients[i] = NULL;
	}
	must_free(loop->output);
	loop->output = NULL;
}

static void run_length(struct loop *loop, uint64_t length)
{
	forward(loop, length);
	backward(loop, length);
	if (loop->silent)
		forget(loop);
	else
		cr_assert_ok(seam_step(pool));
	loop->iteration++;
}

static void run_iteration(struct loop *loop, unsigned shape)
{
	run_length(loop, lengths[shape]);
}

/* In no order that repeats. */
static unsigned shape_at(unsigned iteration)
{
	return (unsigned)((iteration * UINT32_C(2654435761)) >> 20) % SHAPES;
}

/* The peak of what the program reserves without a plan. */
static uint64_t run_without_plan(unsigned iterations)
{
	struct loop loop;
	open_pool(MIB(2048), "plan:off,chunk_bytes:2M");
	begin_loop(&loop);
	for (unsigned i = 0; i < iterations; i++)
		run_iteration(&loop, shape_at(i));
	uint64_t bytes = get_stats().reserved_bytes_peak;
	close_pool();
	return bytes;
}

static void run_until_planned(struct loop *loop, uint64_t plans)
{
	begin_loop(loop);
	while (loop->iteration < 60 && get_plan_stats().adoptions < plans) {
		run_iteration(loop, shape_at(loop->iteration));
		run_background();
	}
	cr_assert_geq(get_plan_stats().adoptions, plans, "made %llu, failures %llu",
		(unsigned long long)get_plan_stats().made, (unsigned long long)get_plan_stats().failures);
}

Test(planned_shapes, are_all_served_from_one_arena)
{
	uint64_t plain_bytes = run_without_plan(60);
	struct loop loop;
	open_pool(MIB(2048), "plan:inline,chunk_bytes:2M");
	run_until_planned(&loop, SHAPES);
	for (unsigned i = 0; i < 8; i++)
		run_iteration(&loop, shape_at(loop.iteration));
	struct seam_stats before = get_stats();
	struct seam_plan_stats before_plan = get_plan_stats();
	while (loop.iteration < 60)
		run_iteration(&loop, shape_at(loop.iteration));
	struct seam_stats after = get_stats();
	struct seam_plan_stats after_plan = get_plan_stats();
	cr_expect_eq(after.memory_calls, before.memory_calls);
	cr_expect_eq(after_plan.hits - before_plan.hits, after_plan.requests - before_plan.requests,
		"%llu of %llu hits; size %llu lost %llu late %llu gap %llu",
		(unsigned long long)(after_plan.hits - before_plan.hits),
		(unsigned long long)(after_plan.requests - before_plan.requests),
		(unsigned long long)(after_plan.miss_size - before_plan.miss_size),
		(unsigned long long)(after_plan.miss_lost - before_plan.miss_lost),
		(unsigned long long)(after_plan.miss_late - before_plan.miss_late),
		(unsigned long long)(after_plan.miss_gap - before_plan.miss_gap));
	cr_expect_leq(after.reserved_bytes_peak, plain_bytes + plain_bytes / 100, "%llu, without a plan %llu",
		(unsigned long long)after.reserved_bytes_peak, (unsigned long long)plain_bytes);
	cr_expect_eq(after_plan.drops, 0);
	close_pool();
}

/* The iterations that a plan is made of first do not come for a while, and it goes; in the end all share an arena. */
Test(planned_shapes, that_come_later_share_an_arena_in_the_end)
{
	struct loop loop;
	open_pool(MIB(2048), "plan:inline,chunk_bytes:2M");
	begin_loop(&loop);
	while (loop.iteration < 48) {
		const unsigned shape = loop.iteration % 4 == 0 ? 2 : 0;
		run_iteration(&loop, loop.iteration < 6 ? 1 : loop.iteration < 24 ? shape : shape_at(loop.iteration));
		run_background();
		if (loop.iteration == 6)
			cr_assert_eq(get_plan_stats().adoptions, 1);
	}
	const struct seam_stats before = get_stats();
	const struct seam_plan_stats before_plan = get_plan_stats();
	cr_expect_eq(before_plan.loaded_plans, SHAPES);
	while (loop.iteration < 72) {
		run_iteration(&loop, shape_at(loop.iteration));
		run_background();
	}
	const struct seam_stats after = get_stats();
	const struct seam_plan_stats after_plan = get_plan_stats();
	cr_expect_eq(after_plan.hits - before_plan.hits, after_plan.requests - before_plan.requests);
	cr_expect_eq(after.memory_calls, before.memory_calls);
	cr_expect_eq(after_plan.adoptions, before_plan.adoptions);
	cr_expect_eq(after_plan.drops, before_plan.drops);
	close_pool();
}

/* What comes in turn is no further shape. */
Test(planned_shapes, are_told_apart_without_marks)
{
	struct loop loop;
	open_pool(MIB(2048), "plan:inline,chunk_bytes:2M");
	begin_loop(&loop);
	loop.silent = true;
	while (loop.iteration < 200) {
		run_iteration(&loop, loop.iteration < 40 ? 1 : shape_at(loop.iteration));
		run_background();
	}
	const struct seam_stats before = get_stats();
	const struct seam_plan_stats before_plan = get_plan_stats();
	cr_expect_eq(before_plan.loaded_plans, SHAPES);
	while (loop.iteration < 260) {
		run_iteration(&loop, shape_at(loop.iteration));
		run_background();
	}
	const struct seam_stats after = get_stats();
	const struct seam_plan_stats after_plan = get_plan_stats();
	const uint64_t misses = after_plan.misses - before_plan.misses;
	cr_expect_leq(misses, (after_plan.requests - before_plan.requests) / 100, "%lu", misses);
	cr_expect_eq(after.memory_calls, before.memory_calls);
	cr_expect_eq(after_plan.loaded_plans, SHAPES);
	cr_expect_eq(after_plan.drops, before_plan.drops);
	close_pool();
}

/* Every size depends on the length. */
static void run_scaled(struct loop *loop, uint64_t length)
{
	for (unsigned i = 0; i < LAYERS; i++) {
		loop->activations[i] = must_alloc((KIB(900) + i * 20480u) * length, NULL);
		must_free(must_alloc((KIB(600) + i * 512u) * length, NULL));
	}
	for (unsigned i = LAYERS; i-- > 0;) {
		void *scratch = must_alloc((KIB(800) + i * 512u) * length, NULL);
		must_free(loop->activations[i]);
		must_free(scratch);
	}
	loop->iteration++;
}

/* They have no size in common, and hardly any follows itself: by its sizes nothing repeats for long. */
Test(planned_shapes, of_which_none_follows_itself_are_told_apart_without_marks)
{
	struct loop loop;
	unsigned shape = 0;
	struct seam_stats before = {0};
	struct seam_plan_stats before_plan = {0};
	open_pool(MIB(2048), "plan:inline,chunk_bytes:2M");
	begin_loop(&loop);
	while (loop.iteration < 240) {
		shape = (shape + (shape_at(loop.iteration / 3) == 0 ? 0 : 1 + shape_at(loop.iteration) % 2)) % SHAPES;
		run_scaled(&loop, lengths[shape]);
		run_background();
		if (loop.iteration == 200)
			before = get_stats(), before_plan = get_plan_stats();
	}
	const struct seam_stats after = get_stats();
	const struct seam_plan_stats after_plan = get_plan_stats();
	cr_expect_eq(before_plan.loaded_plans, SHAPES);
	cr_expect_eq(after_plan.hits - before_plan.hits, after_plan.requests - before_plan.requests);
	cr_expect_eq(after.memory_calls, before.memory_calls);
	close_pool();
}

/* A plan that serves one iteration in many holds its memory together for nothing. */
Test(planned_shapes, of_which_none_comes_again_lose_the_plan)
{
	struct loop loop;
	open_pool(MIB(2048), "plan:inline,chunk_bytes:2M");
	begin_loop(&loop);
	while (loop.iteration < 6) {
		run_length(&loop, 40);
		run_background();
	}
	cr_assert_eq(get_plan_stats().loaded_plans, 1);
	while (loop.iteration < 100 && get_plan_stats().drops == 0) {
		run_length(&loop, loop.iteration);
		run_background();
	}
	cr_expect_eq(get_plan_stats().drops, 1);
	close_pool();
}

#define REQUESTS 24u

/* Behind its first request of an iteration two blocks live at any time, each of which gives way to the next but one.
 * The long iterations have an odd number of them: a plan needs a third place, for which there is no room. Without a
 * plan they have two. */
static void run_turns(unsigned iterations, bool (*is_long)(unsigned iteration))
{
	void *last = must_alloc(MIB(40), NULL);
	for (unsigned n = 0; n < iterations; n++) {
		must_free(must_alloc(MIB(60), NULL));
		for (unsigned i = 0; i < REQUESTS + is_long(n); i++) {
			void *next = must_alloc(MIB(is_long(n) ? 41 : 40) + i * 4096u, NULL);
			must_free(last);
			last = next;
		}
		cr_assert_ok(seam_step(pool));
		run_background();
	}
	must_free(last);
}

static bool is_mostly_long(unsigned iteration)
{
	return iteration % 3 != 0;
}

static bool is_mostly_short(unsigned iteration)
{
	return iteration < 3 || iteration % 8 == 0;
}

/* What there is no room for comes again: a plan of the others would hold its memory for the few of them. */
Test(planned_shapes, that_are_few_are_not_planned_alone)
{
	open_pool(MIB(2048), "plan:inline,chunk_bytes:2M");
	run_turns(40, is_mostly_long);
	const struct seam_plan_stats after = get_plan_stats();
	cr_expect_gt(after.failures, 0, "none was tried");
	cr_expect_eq(after.adoptions, 0);
	close_pool();
}

Test(planned_shapes, that_are_most_are_planned_though_there_is_no_room_for_all)
{
	open_pool(MIB(2048), "plan:inline,chunk_bytes:2M");
	run_turns(240, is_mostly_short);
	const struct seam_plan_stats after = get_plan_stats();
	cr_expect_eq(after.loaded_plans, 1);
	cr_expect_geq(after.hits, REQUESTS * 10, "%lu", (unsigned long)after.hits);
	close_pool();
}

#define HELD 200u

/* Requests that live together, and behind them some that no plan has: an evaluation. Then the program marks a step. */
static void run_evaluated(unsigned evaluations)
{
	void *held[HELD];
	for (unsigned i = 0; i < HELD; i++)
		held[i] = must_alloc(MIB(1) + i * KIB(8), NULL);
	for (unsigned i = 0; i < HELD; i++)
		must_free(held[i]);
	for (unsigned i = 0; i < evaluations; i++)
		must_free(must_alloc(MIB(3) + (i % 7) * KIB(100), NULL));
	cr_assert_ok(seam_step(pool));
	run_background();
}

/* Nothing before the mark tells that the next iteration is the plan's. */
Test(planned_shapes, behind_an_evaluation_an_iteration_is_served_from_its_mark_on)
{
	open_pool(MIB(2048), "plan:inline,chunk_bytes:2M");
	for (unsigned i = 0; i < 30; i++)
		run_evaluated(0);
	for (unsigned round = 0; round < 2; round++) { /* no more: then there is a plan of that too */
		run_evaluated(3 * HELD);
		cr_assert(LIST_FIRST(&pool->runtime->active_plans)->suspended, "it serves all: this tests nothing");
		const uint64_t hits = get_plan_stats().hits;
		run_evaluated(0);
		cr_expect_eq(get_plan_stats().hits - hits, HELD, "%lu", (unsigned long)(get_plan_stats().hits - hits));
	}
	close_pool();
}

static uint64_t process_bytes(void)
{
	struct seam_meta_stats now;
	seam__meta_get_stats(seam__meta_process(), &now);
	return now.live_bytes;
}

/* Every failure of metadata while the plans are made leaves a pool that is whole; the plans come later. */
Test(planned_shapes, a_lack_of_metadata_only_costs_time, .timeout = 120)
{
	for (uint64_t n = 1; n < 400; n += n < 40 ? 1 : 37) {
		uint64_t before_bytes = process_bytes();
		struct loop loop;
		open_pool(MIB(2048), "plan:inline,chunk_bytes:2M");
		begin_loop(&loop);
		while (loop.iteration < 10) {
			run_iteration(&loop, shape_at(loop.iteration));
			seam__meta_fail_at(seam__meta_process(), n);
			run_background();
			seam__meta_fail_at(seam__meta_process(), 0);
			check_pool();
		}
		close_pool();
		cr_expect_eq(process_bytes(), before_bytes, "call %llu", (unsigned long long)n);
	}
}
