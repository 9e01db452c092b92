/* test_planned_ends.c: planned memory when something ends: its stream, its plan, the iteration that made it. */
#include <pthread.h>
#include <sched.h>

#include "core_fixture.h"

#include <seam/plan.h>

#include "record.h"
#include "learner_impl.h"
#include "planned.h"

/* A plan is open that has not started. */
static bool is_waiting(void)
{
	const struct seam_runtime *runtime = pool->runtime;
	return runtime->open && !LIST_FIRST(&runtime->active_plans)->started;
}

#define BLOCKS 24u

static uint64_t bytes_of(unsigned i)
{
	return MIB(2) + i * KIB(512);
}

/* One iteration, all of it on one stream, of blocks that are larger by so much; each is in use for a while. */
static void iterate_larger(void *stream, uint64_t work_ns, uint64_t more_bytes)
{
	void *blocks[BLOCKS];
	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i] = must_alloc(bytes_of(i) + more_bytes, stream);
		if (work_ns != 0)
			launch(stream, blocks[i], bytes_of(i), work_ns);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		must_free(blocks[i]);
	cr_assert_ok(seam_step(pool));
}

static void iterate(void *stream, uint64_t work_ns)
{
	iterate_larger(stream, work_ns, 0);
}

static void run_until_planned(void *stream)
{
	uint64_t adoptions = get_plan_stats().adoptions;
	for (unsigned i = 0; i < 100 && get_plan_stats().adoptions == adoptions; i++) {
		iterate(stream, 0);
		run_background();
	}
	cr_assert_gt(get_plan_stats().adoptions, adoptions);
	iterate(stream, 0);
	iterate(stream, 0);
}

static void wait_for_device(void)
{
	cr_assert_eq(seam__drv_device_sync(driver), SEAM_CU_SUCCESS);
}

/* What a closed plan keeps is what of it lives: chunks that hold no more than a few of its blocks serve others too. */
Test(planned_ends, a_closed_plan_keeps_what_lives)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:16M");
	const struct seam_engine_counts *counts = &pool->engine.counts;
	for (unsigned fails = 0; fails < 2; fails++) {
		void *blocks[BLOCKS];
		run_until_planned(NULL);
		uint64_t hits = get_plan_stats().hits;
		for (unsigned i = 0; i < BLOCKS; i++)
			blocks[i] = must_alloc(bytes_of(i), NULL);
		cr_assert_eq(get_plan_stats().hits, hits + BLOCKS);
		for (unsigned i = 0; i < BLOCKS; i += 2)
			must_free(blocks[i]);
		seam__mutex_lock(&pool->engine.lock);
		seam__meta_fail_at(pool->meta, fails);
		seam__planned_drop(pool->runtime);
		seam__meta_fail_at(pool->meta, 0);
		seam__mutex_unlock(&pool->engine.lock);
		check_pool();
		cr_assert_gt(counts->planned_bytes, 0);
		if (fails == 0)
			cr_expect_eq(counts->leased_bytes, counts->planned_bytes);
		else
			cr_expect_gt(counts->leased_bytes, counts->planned_bytes,
				"without metadata it goes with its chunks");
		for (unsigned i = 1; i < BLOCKS; i += 2) {
			must_free(blocks[i]);
			cr_expect_eq(counts->leased_bytes == counts->planned_bytes,
				fails == 0 || counts->planned_bytes == 0);
		}
		check_pool();
	}
	close_pool();
}

/* The driver gives a destroyed stream's handle to the next one. The plan takes that for the stream it knows; the device
 * does not. */
Test(planned_ends, a_stream_under_an_old_handle_waits_for_the_one_before)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	void *old = make_stream();
	run_until_planned(old);
	cr_assert_ok(seam_trim(pool, 0, NULL)); /* what was pending when the arena was opened is known to have passed */
	uint64_t hits = get_plan_stats().hits;
	iterate(old, 1000000);
	cr_assert_gt(get_plan_stats().hits, hits);
	cr_assert_ok(seam_stream_destroyed(pool, old));
	end_stream(old);
	void *new = make_stream();
	cr_assert_eq(new, old, "the handle is another: this tests nothing");
	hits = get_plan_stats().hits;
	iterate(new, 1000);
	check_pool(); /* I3: else the emulator has seen two streams in the same memory */
	cr_expect_gt(get_plan_stats().hits, hits);
	close_pool();
}

/* Memory that other streams still use when its plan goes is given back once they have passed. */
Test(planned_ends, a_trim_finds_what_was_held_by_a_plan_that_is_gone)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	void *other = make_stream();
	run_until_planned(NULL);
	void *block = must_alloc(bytes_of(0), NULL);
	cr_assert_ok(seam_record_stream(pool, block, other));
	launch(other, block, bytes_of(0), 1000000);
	must_free(block);
	cr_assert_gt(pool->engine.counts.planned_pending_bytes, 0, "nothing is held: this tests nothing");
	seam_plan_drop(pool);
	check_pool();
	wait_for_device();
	cr_assert_ok(seam_trim(pool, 0, NULL));
	check_pool();
	cr_expect_eq(pool->engine.counts.planned_pending_bytes, 0);
	cr_expect_eq(get_stats().reserved_bytes, 0);
	close_pool();
}

/* A plan of a few iterations. */
static struct seam_plan *make_plan(void)
{
	struct seam_trace *trace = NULL;
	struct seam_plan *plan = NULL;
	for (unsigned i = 0; i < 6; i++)
		iterate(NULL, 0);
	struct seam_plan_options options = {.struct_bytes = sizeof options, .node_limit = 10000};
	cr_assert_ok(seam__recorder_trace(pool->recorder, 0, "iterations", &trace));
	cr_assert_ok(seam_plan_make(trace, &options, NULL, &plan));
	seam_trace_free(trace);
	return plan;
}

Test(planned_ends, all_closed_plans_that_nobody_uses_are_finished)
{
	void *live[3];
	open_pool(MIB(1024), "chunk_bytes:2M");
	struct seam_plan *plan = make_plan();
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
		iterate(NULL, 0);
		iterate(NULL, 0);
		live[i] = must_alloc(bytes_of(0), NULL);
		seam_plan_drop(pool);
		check_pool();
	}
	cr_assert_eq(get_plan_stats().live_bytes, 3 * bytes_of(0), "not all are of plans: this tests nothing");
	for (unsigned i = 0; i < 3; i++)
		must_free(live[i]);
	seam_plan_drop(pool);
	check_pool();
	cr_expect(LIST_EMPTY(&pool->runtime->active_plans));
	seam_plan_free(plan);
	close_pool();
}

/* In either order. */
Test(planned_ends, closed_plan_that_work_still_uses_keeps_no_other_one)
{
	open_pool(MIB(1024), "chunk_bytes:2M");
	struct seam_plan *plan = make_plan();
	for (unsigned busy = 0; busy < 2; busy++) {
		void *live[2];
		for (unsigned i = 0; i < 2; i++) {
			cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
			iterate(NULL, 0);
			iterate(NULL, 0);
			live[i] = must_alloc(bytes_of(0), NULL);
			seam_plan_drop(pool);
		}
		must_free(live[1 - busy]);
		wait_for_device();
		seam__mutex_lock(&pool->engine.lock);
		seam__engine_poll(&pool->engine, false);
		seam__mutex_unlock(&pool->engine.lock);
		launch(NULL, live[busy], bytes_of(0), 1000000000);
		must_free(live[busy]);
		seam_plan_drop(pool);
		const struct seam_active_plan *left = LIST_FIRST(&pool->runtime->active_plans);
		cr_assert_not_null(left);
		cr_expect_null(LIST_NEXT(left, link));
		cr_expect_eq(left, seam__active_at(pool->runtime, (uint64_t)(uintptr_t)live[busy]));
		wait_for_device();
		seam_plan_drop(pool);
		cr_expect(LIST_EMPTY(&pool->runtime->active_plans));
	}
	seam_plan_free(plan);
	close_pool();
}

/* All blocks of an iteration; so many of them stay live, the others are freed. Those may be in use on a stream. */
static void keep_every(unsigned nth, void *user)
{
	void *blocks[BLOCKS];
	const uint64_t hits = get_plan_stats().hits;
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i] = must_alloc(bytes_of(i), NULL);
	cr_assert_eq(get_plan_stats().hits, hits + BLOCKS);
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (i % nth == 1)
			continue;
		if (user != NULL) {
			cr_assert_ok(seam_record_stream(pool, blocks[i], user));
			launch(user, blocks[i], bytes_of(i), 1000000000);
		}
		must_free(blocks[i]);
	}
}

/* What a closed plan held comes back in pieces, beside what lives. It is no loan: whoever cannot use it is lent what is
 * idle, and the pool does not grow. */
Test(planned_ends, what_was_held_in_pieces_is_no_loan)
{
	open_pool(MIB(2048), "plan:inline,chunk_bytes:16M");
	void *other = make_stream();
	struct seam_plan *plan = make_plan();
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	iterate(NULL, 0);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	keep_every(2, other);
	seam_plan_drop(pool);
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	iterate(NULL, 0);
	keep_every(BLOCKS / 3, NULL);
	const uint64_t reserved_bytes = get_stats().reserved_bytes;
	cr_assert_geq(pool->engine.counts.planned_pending_bytes, MIB(80),
		"less than is asked for is held: this tests nothing");
	wait_for_device();
	(void)must_alloc(MIB(80), NULL);
	check_pool();
	cr_expect_eq(get_stats().reserved_bytes, reserved_bytes);
	cr_expect_gt(get_plan_stats().lent_bytes, 0);
	seam_plan_free(plan);
	close_pool();
}

/* I8: a thread would adopt its plans when it happens to run. */
Test(planned_ends, a_deterministic_pool_learns_without_a_thread)
{
	uint64_t adopted[2] = {0};
	for (unsigned run = 0; run < 2; run++) {
		open_pool(MIB(1024), "plan:auto,deterministic:1,chunk_bytes:2M");
		while (adopted[run] < 100 && get_plan_stats().adoptions == 0) {
			iterate(NULL, 0);
			adopted[run]++;
		}
		cr_expect_eq(get_plan_stats().adoptions, 1, "after %llu iterations", (unsigned long long)adopted[run]);
		cr_expect_not(pool->learner->running);
		close_pool();
	}
	cr_expect_eq(adopted[0], adopted[1]);
}

Test(planned_ends, no_thread_runs_before_two_iterations_are_recorded)
{
	open_pool(MIB(1024), "plan:auto,chunk_bytes:2M");
	for (unsigned step = 1; step <= 3; step++) {
		cr_assert_ok(seam_step(pool));
		cr_expect_eq(pool->learner->running, step == 3, "after %u steps", step);
	}
	struct sched_param param, ours;
	int policy, our_policy;
	cr_assert_eq(pthread_getschedparam(pool->learner->thread, &policy, &param), 0);
	cr_assert_eq(pthread_getschedparam(pthread_self(), &our_policy, &ours), 0);
	cr_expect_eq(policy, our_policy == SCHED_OTHER ? SCHED_BATCH : our_policy, "else who wakes it is stopped");
	cr_expect_eq(param.sched_priority, ours.sched_priority);
	close_pool();
}

/* A plan around what lies in an arena says nothing about another arena. */
Test(planned_ends, a_plan_for_an_arena_that_is_gone_is_made_again)
{
	bool did = true;
	open_pool(MIB(4096), "plan:inline,chunk_bytes:2M");
	run_until_planned(NULL);
	for (unsigned i = 0; i < 4000 && pool->learner->state != SEAM_LEARN_BEGIN; i++) {
		if (!did)
			iterate_larger(NULL, 0, MIB(3) + i % 2 * KIB(512));
		seam__pool_work(pool->learner, &did);
	}
	cr_assert_eq(pool->learner->state, SEAM_LEARN_BEGIN);
	cr_assert(pool->runtime->open && pool->learner->extends && !pool->learner->fits,
		"no open arena is extended: this tests nothing");
	seam__pool_stop(pool);
	seam__planned_drop(pool->runtime); /* as where memory is short */
	seam__pool_go(pool);
	seam__pool_work(pool->learner, &did);
	cr_expect_eq(pool->learner->state, SEAM_LEARN_PLAN);
	run_background();
	check_pool();
	close_pool();
}

static void run_until_preparing(void)
{
	bool did = true;
	for (unsigned i = 0; i < 4000 && pool->learner->state != SEAM_LEARN_PREPARE; i++) {
		if (!did)
			iterate(NULL, 0);
		seam__pool_work(pool->learner, &did);
	}
	cr_assert_eq(pool->learner->state, SEAM_LEARN_PREPARE);
}

static void run_until_waiting(void)
{
	run_until_preparing();
	run_background();
	cr_assert(is_waiting());
}

static void give_way(void)
{
	seam__pool_stop(pool);
	seam__learner_give_way(pool->learner);
	seam__pool_go(pool);
	check_pool();
	cr_expect_null(pool->runtime->preparing);
	cr_expect_null(pool->learner->active);
}

/* One that is given comes first; but one that serves goes on until that has its arena. */
Test(planned_ends, a_plan_that_is_learnt_gives_way_until_it_has_started)
{
	for (unsigned i = 0; i < 3; i++) {
		open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
		if (i == 0)
			run_until_preparing();
		else if (i == 1)
			run_until_waiting();
		else
			run_until_planned(NULL);
		give_way();
		cr_expect_eq(pool->runtime->open, i == 2);
		run_background();
		close_pool();
	}
}

/* What was begun is forgotten with the plan that is in use. */
Test(planned_ends, nothing_that_was_begun_is_left_where_plans_are_dropped)
{
	bool did = true;
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	for (unsigned i = 0; i < 4000 && pool->learner->state != SEAM_LEARN_BEGIN; i++) {
		if (!did)
			iterate(NULL, 0);
		seam__pool_work(pool->learner, &did);
	}
	cr_assert_eq(pool->learner->state, SEAM_LEARN_BEGIN);
	cr_assert_not_null(pool->learner->loaded);
	seam_plan_drop(pool);
	cr_expect_eq(pool->learner->state, SEAM_LEARN_IDLE);
	cr_expect_null(pool->learner->loaded);
	cr_expect_eq(pool->learner->refused_count, 0);
	close_pool();
}

/* A plan that only waits for its moment would be in use behind the drop. */
Test(planned_ends, a_plan_that_waits_is_dropped_too)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	run_until_waiting();
	seam_plan_drop(pool);
	check_pool();
	iterate(NULL, 0);
	iterate(NULL, 0);
	cr_expect_eq(get_plan_stats().adoptions, 0);
	cr_expect_eq(get_stats().unused_leased_bytes, 0);
	run_until_planned(NULL); /* it may learn again */
	close_pool();
}

static uint64_t count_mappings(void)
{
	return pool->engine.memory.mapping_count;
}

/* A program that changes mappings waits for the worker no longer than for a few of its own. */
Test(planned_ends, what_is_closed_is_unmapped_a_few_at_a_time)
{
	bool did = true;
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	run_until_planned(NULL);
	run_background();
	const uint64_t before = count_mappings();
	seam__pool_stop(pool);
	seam__planned_drop(pool->runtime);
	seam__pool_go(pool);
	cr_assert_eq(count_mappings(), before);
	while (!LIST_EMPTY(&pool->runtime->active_plans)) {
		const uint64_t mappings = count_mappings();
		seam__pool_work(pool->learner, &did);
		check_pool();
		cr_assert(did);
		cr_expect_leq(mappings - count_mappings(), 4);
	}
	cr_expect_lt(count_mappings(), before - 8, "it was no more than a few: this tests nothing");
	close_pool();
}

/* What is closed and not unmapped yet is in nobody's way. */
Test(planned_ends, mappings_that_are_short_are_taken_from_what_is_closed)
{
	bool did = true;
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	run_until_planned(NULL);
	run_background();
	seam__pool_stop(pool);
	seam__planned_drop(pool->runtime);
	seam__pool_go(pool);
	seam__pool_work(pool->learner, &did); /* it sees that the plan went */
	for (unsigned i = 0; i < 200; i++)
		iterate(NULL, 0);
	for (unsigned i = 0; i < 8 && pool->learner->state != SEAM_LEARN_BEGIN; i++)
		seam__pool_work(pool->learner, &did);
	cr_assert_eq(pool->learner->state, SEAM_LEARN_BEGIN);
	cr_assert_not(LIST_EMPTY(&pool->runtime->active_plans), "it is unmapped already: this tests nothing");
	const uint32_t closed = LIST_FIRST(&pool->runtime->active_plans)->arena.mapped;
	pool->engine.memory.mapping_limit = count_mappings() + closed - 4;
	seam__pool_work(pool->learner, &did);
	cr_expect_eq(pool->learner->state, SEAM_LEARN_PREPARE);
	cr_expect(LIST_EMPTY(&pool->runtime->active_plans));
	check_pool();
	close_pool();
}

/* So long may a request have to wait that makes some itself. */
Test(planned_ends, the_worker_makes_one_mapping_at_a_time)
{
	bool did = true;
	unsigned steps = 0;
	open_pool(MIB(4096), "plan:inline,chunk_bytes:2M");
	run_until_preparing();
	for (; pool->learner->state == SEAM_LEARN_PREPARE; steps++) {
		const uint64_t before = count_mappings();
		seam__pool_work(pool->learner, &did);
		cr_expect_leq(count_mappings() - before, 1);
	}
	cr_expect_gt(steps, 4);
	close_pool();
}

/* A plan waits, and what nobody planned is asked for while so much lives that it is not opened. */
static void do_something_else(unsigned requests)
{
	run_until_preparing();
	void *large = must_alloc(MIB(4), NULL);
	run_background();
	cr_assert(is_waiting());
	while (LIST_FIRST(&pool->runtime->active_plans)->on_trial) {
		iterate(NULL, 0);
		run_background();
		cr_assert(is_waiting());
	}
	for (unsigned i = 0; i < requests && is_waiting(); i++)
		must_free(must_alloc(MIB(1) + i % 1000 * 512u, NULL));
	must_free(large);
	check_pool();
}

Test(planned_ends, a_plan_waits_until_the_program_does_what_is_planned)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	do_something_else(BLOCKS / 8);
	iterate(NULL, 0);
	cr_expect_eq(get_plan_stats().adoptions, 1, "a few requests are no reason: this tests nothing");
	seam_plan_drop(pool);
	do_something_else(BLOCKS);
	cr_expect_eq(get_plan_stats().adoptions, 1);
	cr_expect(is_waiting());
	for (unsigned i = 0; i < 30 && is_waiting(); i++)
		iterate(NULL, 0);
	cr_expect_eq(get_plan_stats().adoptions, 2);
	close_pool();
}

Test(planned_ends, a_plan_for_which_no_moment_comes_is_given_up)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	do_something_else(1000);
	cr_expect_not(is_waiting());
	cr_expect_eq(get_plan_stats().adoptions, 0);
	run_background();
	cr_expect_eq(get_stats().unused_leased_bytes, 0);
	run_until_planned(NULL); /* it may learn again */
	close_pool();
}

/* What was held when memory ran short has passed once that was waited for: no plan has to go for it. */
Test(planned_ends, what_a_closed_plan_held_is_enough_after_waiting)
{
	open_pool(MIB(440), "plan:inline,chunk_bytes:16M");
	void *other = make_stream(), *blocks[BLOCKS];
	struct seam_plan *plan = make_plan();
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	iterate(NULL, 0);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	keep_every(1000, other);
	seam_plan_drop(pool);
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	iterate(NULL, 0);
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i] = must_alloc(bytes_of(i), NULL);
	cr_assert_gt(pool->engine.counts.planned_pending_bytes, MIB(80), "nothing is held: this tests nothing");
	must_free(must_alloc(MIB(80), NULL));
	cr_expect_eq(pool->engine.counts.planned_pending_bytes, 0);
	cr_expect(pool->runtime->open);
	for (unsigned i = 0; i < BLOCKS; i++)
		must_free(blocks[i]);
	seam_plan_free(plan);
	close_pool();
}
