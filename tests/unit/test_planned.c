/* test_planned.c: a pool that learns what a program repeats, and serves it from a plan. */
#include "core_fixture.h"

#include <seam/plan.h>

#include "emu.h"
#include "match_idle.h"
#include "record.h"
#include "learner.h"
#include "planned.h"

/* A plan is open that has not started. */
static bool is_waiting(void)
{
	const struct seam_runtime *runtime = pool->runtime;
	return runtime->open && !LIST_FIRST(&runtime->active_plans)->started;
}

#define LAYERS 12u
#define MOST_BLOCKS 256u

struct range {
	uint64_t begin, end;
};

/* A training loop in small: residents, activations, gradients that live until the next iteration. */
struct loop {
	void *parameters[LAYERS], *states[LAYERS], *gradients[LAYERS];
	void *activations[LAYERS][3];
	unsigned iteration;
	struct range *seen; /* NULL, or where requests are written down */
	unsigned seen_count;
};

static uint64_t layer_bytes(unsigned i)
{
	return MIB(2) + i * 300000u;
}

static void *ask(struct loop *loop, uint64_t bytes)
{
	void *ptr = must_alloc(bytes, NULL);
	if (loop->seen != NULL) {
		cr_assert_lt(loop->seen_count, MOST_BLOCKS);
		loop->seen[loop->seen_count++] =
			(struct range){(uint64_t)(uintptr_t)ptr, (uint64_t)(uintptr_t)ptr + bytes};
	}
	return ptr;
}

static void begin_loop(struct loop *loop)
{
	*loop = (struct loop){0};
	for (unsigned i = 0; i < LAYERS; i++)
		loop->parameters[i] = must_alloc(layer_bytes(i), NULL);
}

static void forward(struct loop *loop)
{
	for (unsigned i = 0; i < LAYERS; i++) {
		loop->activations[i][0] = ask(loop, layer_bytes(i) * 2);
		void *scratch = ask(loop, MIB(7) + i * 512u);
		loop->activations[i][1] = ask(loop, 1000 + i * 700u);
		loop->activations[i][2] = ask(loop, MIB(3));
		must_free(scratch);
	}
}

static void backward(struct loop *loop)
{
	for (unsigned i = 0; i < LAYERS; i++) {
		if (loop->gradients[i] != NULL)
			must_free(loop->gradients[i]);
	}
	for (unsigned i = LAYERS; i-- > 0;) {
		void *scratch = ask(loop, MIB(5) + i * 512u);
		loop->gradients[i] = ask(loop, layer_bytes(i));
		for (unsigned k = 0; k < 3; k++)
			must_free(loop->activations[i][k]);
		must_free(scratch);
	}
}

static void optimize(struct loop *loop)
{
	for (unsigned i = 0; i < LAYERS; i++) {
		void *scratch = ask(loop, layer_bytes(i));
		if (loop->states[i] == NULL)
			loop->states[i] = ask(loop, layer_bytes(i));
		must_free(scratch);
	}
}

static void run_iteration(struct loop *loop)
{
	forward(loop);
	backward(loop);
	optimize(loop);
	loop->iteration++;
}

static void run_until_planned(struct loop *loop)
{
	begin_loop(loop);
	for (unsigned i = 0; i < 40 && get_plan_stats().adoptions == 0; i++) {
		run_iteration(loop);
		run_background();
	}
	check_pool();
	cr_assert_eq(get_plan_stats().adoptions, 1, "made %llu, failures %llu",
		(unsigned long long)get_plan_stats().made, (unsigned long long)get_plan_stats().failures);
}

/* A pool whose plan has what it needs, and no more memory than that. */
static void open_planned(struct loop *loop)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	run_until_planned(loop);
	run_iteration(loop);
	run_iteration(loop);
	cr_assert_ok(seam_trim(pool, 0, NULL));
}

Test(planned, a_loop_is_learned_and_makes_no_driver_call)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	struct loop loop;
	run_until_planned(&loop);
	run_iteration(&loop);
	struct seam_stats before = get_stats();
	struct seam_plan_stats before_plan = get_plan_stats();
	for (unsigned i = 0; i < 3; i++)
		run_iteration(&loop);
	struct seam_stats after = get_stats();
	struct seam_plan_stats after_plan = get_plan_stats();
	cr_expect_eq(after.memory_calls, before.memory_calls);
	cr_expect_gt(pool->learner->work_ns, 0, "it says what it took");
	cr_expect_eq(after_plan.hits - before_plan.hits, after_plan.requests - before_plan.requests,
		"%llu of %llu hits; size %llu lost %llu late %llu gap %llu",
		(unsigned long long)(after_plan.hits - before_plan.hits),
		(unsigned long long)(after_plan.requests - before_plan.requests),
		(unsigned long long)after_plan.miss_size, (unsigned long long)after_plan.miss_lost,
		(unsigned long long)after_plan.miss_late, (unsigned long long)after_plan.miss_gap);
	check_pool();
	close_pool();
}

/* It gets ready between two iterations, and is to serve from the first request on: that one lives longest. */
Test(planned, a_plan_knows_where_the_program_is_when_it_comes_into_use)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	struct loop loop;
	begin_loop(&loop);
	while (!is_waiting() || LIST_FIRST(&pool->runtime->active_plans)->on_trial) {
		cr_assert_lt(loop.iteration, 40u);
		run_iteration(&loop);
		run_background();
	}
	cr_assert_eq(get_plan_stats().adoptions, 0);
	(void)ask(&loop, layer_bytes(0) * 2);
	cr_expect_eq(get_plan_stats().adoptions, 1);
	cr_expect_eq(get_plan_stats().hits, 1, "size %llu lost %llu late %llu gap %llu",
		(unsigned long long)get_plan_stats().miss_size, (unsigned long long)get_plan_stats().miss_lost,
		(unsigned long long)get_plan_stats().miss_late, (unsigned long long)get_plan_stats().miss_gap);
	check_pool();
	close_pool();
}

Test(planned, a_trim_leaves_what_the_plan_needs)
{
	struct loop loop;
	open_planned(&loop);
	check_pool();
	seam_stats_reset_peaks(pool);
	struct seam_stats before = get_stats();
	run_iteration(&loop);
	run_iteration(&loop);
	struct seam_stats after = get_stats();
	cr_expect_eq(after.memory_calls, before.memory_calls);
	cr_expect_geq((double)after.live_requested_bytes_peak / (double)after.reserved_bytes_peak, 0.97);
	close_pool();
}

Test(planned, a_dropped_plan_gives_everything_back)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	struct loop loop;
	run_until_planned(&loop);
	forward(&loop);
	seam_plan_drop(pool);
	check_pool();
	cr_expect_eq(get_plan_stats().arena_bytes, 0);
	backward(&loop);
	optimize(&loop);
	seam_plan_drop(pool);
	run_background();
	check_pool();
	struct seam_plan_stats stats = get_plan_stats();
	cr_expect_eq(stats.live_bytes, 0, "gradients were allocated behind the drop");
	close_pool();
}

Test(planned, memory_that_runs_short_drops_the_plan)
{
	open_pool(MIB(512), "plan:inline,chunk_bytes:2M");
	struct loop loop;
	run_until_planned(&loop);
	run_iteration(&loop);
	uint64_t room = MIB(512) - get_stats().live_bytes - MIB(40); /* what lies beside live blocks is of no use */
	void *large = must_alloc(room, NULL);
	check_pool();
	must_free(large);
	run_iteration(&loop);
	check_pool();
	close_pool();
}

Test(planned, unplanned_requests_borrow_idle_memory)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	struct loop loop;
	run_until_planned(&loop);
	run_iteration(&loop);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	uint64_t reserved = get_stats().reserved_bytes;
	void *extra = must_alloc(MIB(20), NULL);
	check_pool();
	cr_expect_eq(get_stats().reserved_bytes, reserved, "between iterations most of the arena is idle");
	must_free(extra);
	run_iteration(&loop);
	struct seam_plan_stats before = get_plan_stats();
	run_iteration(&loop);
	struct seam_plan_stats after = get_plan_stats();
	cr_expect_eq(after.hits - before.hits, after.requests - before.requests, "what was lent is back");
	check_pool();
	close_pool();
}

Test(planned, blocks_of_other_streams_die_with_the_pool)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	struct loop loop;
	run_until_planned(&loop);
	run_iteration(&loop);
	forward(&loop);
	void *other = make_stream();
	cr_assert_ok(seam_record_stream(pool, loop.activations[0][0], other));
	cr_assert_ok(seam_record_stream(pool, loop.activations[1][0], other));
	launch(other, loop.activations[0][0], MIB(2), 1000000);
	must_free(loop.activations[0][0]); /* held; the other is live */
	cr_assert_gt(get_plan_stats().live_bytes, 0);
	close_pool();
}

static void run_until_preparing(struct loop *loop)
{
	bool did = true;
	begin_loop(loop);
	for (unsigned i = 0; i < 400 && pool->runtime->preparing == NULL; i++) {
		if (!did)
			run_iteration(loop);
		seam__pool_work(pool->learner, &did);
	}
	cr_assert_not_null(pool->runtime->preparing);
}

/* The program's own plan comes while the worker prepares one: that one goes. */
Test(planned, a_plan_that_is_brought_ends_what_is_being_learned)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	struct loop loop;
	run_until_preparing(&loop);
	struct seam_trace *trace = NULL;
	struct seam_plan *plan = NULL;
	struct seam_plan_options options = {.struct_bytes = sizeof options, .node_limit = 10000};
	cr_assert_ok(seam__recorder_trace(pool->recorder, 0, "a loop", &trace));
	cr_assert_ok(seam_plan_make(trace, &options, NULL, &plan));
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	check_pool();
	cr_expect_null(pool->runtime->preparing);
	run_iteration(&loop);
	check_pool();
	run_background();
	seam_plan_free(plan);
	seam_trace_free(trace);
	close_pool();
}

/* What the plan leaves idle serves a stream that it does not know, and then its own stream again: both wait for each
 * other. */
Test(planned, borrowed_memory_changes_streams_in_order)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	struct loop loop;
	run_until_planned(&loop);
	for (unsigned i = 0; i < 4; i++)
		run_iteration(&loop);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	void *other = make_stream();
	uint64_t borrows = get_plan_stats().borrows;
	for (unsigned i = 0; i < 6; i++) {
		void *own = must_alloc(layer_bytes(0) * 2, NULL);
		launch(NULL, own, layer_bytes(0) * 2, 1000000);
		must_free(own);
		void *strange = must_alloc(MIB(9), other);
		launch(other, strange, MIB(9), 1000000);
		must_free(strange);
		forward(&loop);
		for (unsigned k = 0; k < LAYERS; k++)
			launch(NULL, loop.activations[k][0], layer_bytes(k) * 2, 100000);
		backward(&loop);
		optimize(&loop);
		check_pool();
	}
	cr_assert_gt(get_plan_stats().borrows, borrows);
	close_pool();
}

/* Blocks that stay where their slots, and others, are due: those go where nothing is due while they live, as long as
 * there is room beside. */
Test(planned, what_is_displaced_displaces_nothing)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	struct loop loop;
	struct range seen[MOST_BLOCKS], kept[LAYERS / 2];
	void *room = must_alloc(MIB(96), NULL);
	run_until_planned(&loop);
	must_free(room);
	for (unsigned i = 0; i < 4; i++)
		run_iteration(&loop);
	loop.seen = seen;
	uint64_t misses = get_plan_stats().misses;
	run_iteration(&loop); /* gradients alternate: two iterations are all places */
	run_iteration(&loop);
	cr_assert_eq(get_plan_stats().misses, misses);
	loop.seen = NULL;
	forward(&loop);
	for (unsigned i = 0; i < LAYERS / 2; i++) {
		void **place = &loop.activations[LAYERS / 2 + i][0];
		kept[i].begin = (uint64_t)(uintptr_t)*place;
		kept[i].end = kept[i].begin + 2 * layer_bytes(LAYERS / 2 + i);
		*place = must_alloc(512, NULL); /* freed in its stead */
	}
	backward(&loop);
	optimize(&loop);
	unsigned displaced = 0;
	for (unsigned i = 0; i < loop.seen_count; i++) {
		bool meets = false;
		for (unsigned k = 0; k < LAYERS / 2; k++)
			meets |= seen[i].begin < kept[k].end && kept[k].begin < seen[i].end;
		displaced += meets;
	}
	cr_assert_gt(displaced, LAYERS);
	run_iteration(&loop);
	misses = get_plan_stats().misses;
	run_iteration(&loop);
	run_iteration(&loop);
	check_pool();
	cr_expect_eq(get_plan_stats().misses - misses, displaced);
	for (unsigned i = 0; i < LAYERS / 2; i++)
		must_free((void *)(uintptr_t)kept[i].begin);
	close_pool();
}

static uint64_t idle_positions(const struct seam_active_plan *active, uint32_t i)
{
	const struct seam_arena_chunk *chunk = &active->arena.chunks[i];
	return chunk->leased_bytes != chunk->bytes
		? 0
		: match_idle(active->matcher, chunk->offset, chunk->offset + chunk->bytes);
}

/* So often the time that a chunk is to be idle for has to become a quarter of what it was. */
static unsigned tries_for(uint64_t idle, uint64_t least)
{
	unsigned count = 0;
	for (; idle < least; least = least >= 4 ? least / 4 : 1)
		count++;
	return count;
}

/* For a request of which nothing is known: chunks that are idle for half a period before those that are so for less. */
Test(planned, what_is_idle_for_long_is_lent_first)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	struct loop loop;
	run_until_planned(&loop);
	run_iteration(&loop);
	must_free(must_alloc(4567, NULL)); /* no plan knows it */
	const struct seam_active_plan *active = LIST_FIRST(&pool->runtime->active_plans);
	const uint64_t half = active->matcher->now->positions / 2;
	uint64_t idle[1024], least_lent = UINT64_MAX, most_left = 0;
	cr_assert_leq(active->arena.count, 1024);
	for (uint32_t i = 0; i < active->arena.count; i++)
		idle[i] = idle_positions(active, i);
	seam__pool_stop(pool);
	struct seam_ask ask = {.group = &pool->engine.common, .class = SEAM_CLASS_LARGE, .bytes = MIB(8)};
	cr_assert_eq(seam__engine_stream(&pool->engine, 0, &ask.stream), SEAM_OK);
	cr_expect_eq(seam__planned_spare(pool->runtime, &ask, MIB(8), SEAM_SPARE_IDLE), MIB(8));
	seam__pool_go(pool);
	check_pool();
	for (uint32_t i = 0; i < active->arena.count; i++) {
		if (active->arena.chunks[i].lent)
			least_lent = idle[i] < least_lent ? idle[i] : least_lent;
		else
			most_left = idle[i] > most_left ? idle[i] : most_left;
	}
	cr_assert_gt(least_lent, 0, "a chunk that is not idle was lent");
	cr_assert_gt(most_left, 0, "all was lent: this tests nothing");
	cr_expect_leq(tries_for(least_lent, half), tries_for(most_left, half), "%llu and %llu of %llu positions",
		(unsigned long long)least_lent, (unsigned long long)most_left, (unsigned long long)half);
	close_pool();
}

/* It has chunks of the arena to itself, and never gives them back: what is planned then goes elsewhere. */
Test(planned, what_stays_in_lent_chunks_is_planned_around)
{
	struct loop loop;
	open_planned(&loop);
	const struct seam_active_plan *active = LIST_FIRST(&pool->runtime->active_plans);
	uint64_t idle_bytes = 0;
	for (uint32_t i = 0; i < active->arena.count; i++)
		idle_bytes += idle_positions(active, i) != 0 ? active->arena.chunks[i].bytes : 0;
	void *stays = must_alloc(idle_bytes, NULL); /* not in one piece */
	cr_assert_geq(get_plan_stats().lent_bytes, MIB(24), "%llu of %llu bytes: this tests nothing",
		(unsigned long long)get_plan_stats().lent_bytes, (unsigned long long)idle_bytes);
	for (unsigned i = 0; i < 40; i++) {
		run_iteration(&loop);
		run_background();
	}
	struct seam_stats before = get_stats();
	struct seam_plan_stats before_plan = get_plan_stats();
	run_iteration(&loop);
	struct seam_stats after = get_stats();
	struct seam_plan_stats after_plan = get_plan_stats();
	cr_expect_eq(after_plan.hits - before_plan.hits, after_plan.requests - before_plan.requests);
	cr_expect_eq(after.memory_calls, before.memory_calls);
	must_free(stays);
	close_pool();
}

/* Memory that is short while an arena is being prepared: the arena goes, not the request. */
Test(planned, what_is_being_prepared_fails_no_request)
{
	open_pool(MIB(512), "plan:inline,chunk_bytes:2M");
	struct loop loop;
	run_until_preparing(&loop);
	const struct seam_stats stats = get_stats();
	void *large = must_alloc(
		MIB(512) - stats.reserved_bytes + stats.unused_whole_bytes, NULL); /* all that is in whole chunks */
	check_pool();
	must_free(large);
	run_background();
	run_iteration(&loop);
	check_pool();
	close_pool();
}
