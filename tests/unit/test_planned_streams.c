/* test_planned_streams.c: plans of programs whose streams hand memory to each other in no order that the pool sees. */
#include "core_fixture.h"

#include <seam/plan.h>

#include "learner.h"
#include "planned.h"
#include "matcher_state.h"

#define BLOCKS 48u /* of an iteration, on each stream */
#define LIVE 3u    /* of them, at once */
#define USED_ONE_IN 12u
#define BETWEEN 8u /* requests from the last of one stream to the first of the other */
#define WORK_NS UINT64_C(1000000)

static void *streams[2];
static unsigned unexpected;              /* of so many in a row this one is used by both streams, too */
static unsigned second_part = 1;         /* blocks of the second stream are so many times smaller */
static unsigned askers = 2;              /* so many of them ask for memory */
static uint64_t used_bytes = 128 * 1024; /* of a block that both use */

static uint64_t bytes_of(unsigned s, unsigned i)
{
	return i % USED_ONE_IN == 0 ? used_bytes : (MIB(2) + i % 7 * KIB(512)) / (s == 0 ? 1 : second_part);
}

/* The other stream waits for the block's own, and uses it too. */
static void use(void *block, uint64_t bytes, void *own, void *other, uint64_t work_ns)
{
	struct seam_event event;
	cr_assert_ok(seam_record_stream(pool, block, other));
	cr_assert_eq(seam__drv_event_create(driver, &event), SEAM_CU_SUCCESS);
	cr_assert_eq(seam__drv_event_record(driver, event, (uint64_t)(uintptr_t)own), SEAM_CU_SUCCESS);
	cr_assert_eq(seam__drv_stream_wait_event(driver, (uint64_t)(uintptr_t)other, event), SEAM_CU_SUCCESS);
	cr_assert_eq(seam__drv_event_destroy(driver, event), SEAM_CU_SUCCESS);
	launch(other, block, bytes, work_ns);
}

/* Blocks on one stream, then as many on the other. Some are used by the other stream as well. */
static void iterate(uint64_t work_ns)
{
	for (unsigned s = 0; s < askers; s++) {
		void *blocks[BLOCKS];
		for (unsigned i = 0; i < BLOCKS + LIVE; i++) {
			if (i >= LIVE)
				must_free(blocks[i - LIVE]);
			if (i >= BLOCKS)
				continue;
			blocks[i] = must_alloc(bytes_of(s, i), streams[s]);
			if (work_ns != 0)
				launch(streams[s], blocks[i], bytes_of(s, i), work_ns);
			if (i % USED_ONE_IN == 0 || i % USED_ONE_IN == unexpected)
				use(blocks[i], bytes_of(s, i), streams[s], streams[1 - s], work_ns);
		}
		for (unsigned i = 0; i < BETWEEN; i++)
			must_free(must_alloc(KIB(4), streams[s]));
	}
	cr_assert_ok(seam_step(pool));
	check_pool(); /* I3: else the emulator has seen two streams in the same memory */
}

static void open_with_streams(const char *conf)
{
	open_pool(MIB(1024), conf);
	for (unsigned s = 0; s < 2; s++)
		streams[s] = make_stream();
}

static void close_with_streams(void)
{
	for (unsigned s = 0; s < 2; s++) {
		cr_assert_ok(seam_stream_destroyed(pool, streams[s]));
		end_stream(streams[s]);
	}
	close_pool();
}

static void run_until_planned(void)
{
	for (unsigned i = 0; i < 40 && get_plan_stats().adoptions == 0; i++) {
		iterate(0);
		cr_assert_eq(seam__drv_device_sync(driver), SEAM_CU_SUCCESS);
		run_background();
	}
	cr_assert_eq(get_plan_stats().adoptions, 1);
	iterate(0);
	cr_assert_eq(seam__drv_device_sync(driver), SEAM_CU_SUCCESS);
}

/* While the pool learnt, memory of other streams was free at once. So its plan hands memory from stream to stream;
 * where work is pending then, the stream waits for it. */
Test(planned_streams, memory_changes_streams_behind_what_used_it_last)
{
	open_with_streams("plan:inline,chunk_bytes:2M");
	run_until_planned();
	const struct seam_stats before = get_stats();
	const struct seam_plan_stats before_plan = get_plan_stats();
	cr_expect_lt(before.reserved_bytes, 2 * LIVE * MIB(5), "hardly more than lives at once");
	for (unsigned i = 0; i < 8; i++)
		iterate(WORK_NS);
	const struct seam_plan_stats after_plan = get_plan_stats();
	cr_expect_eq(get_stats().reserved_bytes, before.reserved_bytes);
	cr_expect_eq(get_stats().memory_calls, before.memory_calls);
	cr_expect_eq(after_plan.hits - before_plan.hits, after_plan.requests - before_plan.requests,
		"%llu of %llu hits; size %llu lost %llu late %llu gap %llu order %llu",
		(unsigned long long)(after_plan.hits - before_plan.hits),
		(unsigned long long)(after_plan.requests - before_plan.requests),
		(unsigned long long)after_plan.miss_size, (unsigned long long)after_plan.miss_lost,
		(unsigned long long)after_plan.miss_late, (unsigned long long)after_plan.miss_gap,
		(unsigned long long)after_plan.miss_order);
	close_with_streams();
}

/* Only one stream asks for memory, but the other uses it: it is held for that, and no longer than need be. */
Test(planned_streams, memory_that_another_stream_uses_is_waited_for)
{
	askers = 1;
	used_bytes = MIB(2);
	open_with_streams("plan:inline,chunk_bytes:2M");
	run_until_planned();
	const struct seam_stats before = get_stats();
	const struct seam_plan_stats before_plan = get_plan_stats();
	for (unsigned i = 0; i < 8; i++)
		iterate(WORK_NS);
	cr_expect_eq(get_stats().reserved_bytes, before.reserved_bytes);
	cr_expect_eq(get_plan_stats().hits - before_plan.hits, get_plan_stats().requests - before_plan.requests);
	close_with_streams();
}

static void forget_last_users(struct seam_matcher *matcher)
{
	for (uint32_t i = 0; i < matcher->loaded_count; i++) {
		const struct seam_loaded_plan *loaded = matcher->loaded_plans[i];
		for (uint32_t n = 0; n < loaded->slots * loaded->copies; n++) {
			if (loaded->instances[n].state == SEAM_PLANNED_FREE)
				loaded->instances[n].stamp = loaded->instances[n].used_by = 0;
		}
	}
	matcher->forgotten++;
}

/* As where a loaded plan goes, and with it who had its memory last. */
Test(planned_streams, what_is_forgotten_is_waited_for_by_all)
{
	open_with_streams("plan:inline,chunk_bytes:2M");
	run_until_planned();
	for (unsigned i = 0; i < 8; i++) {
		iterate(WORK_NS);
		forget_last_users(LIST_FIRST(&pool->runtime->active_plans)->matcher);
	}
	close_with_streams();
}

/* Blocks are used by the other stream of which the plan does not say so. */
Test(planned_streams, what_is_used_unexpectedly_is_held)
{
	second_part = 2; /* the two have only a part of the memory in common */
	open_with_streams("plan:inline,chunk_bytes:2M");
	run_until_planned();
	for (unexpected = 2; unexpected < USED_ONE_IN; unexpected++) {
		iterate(WORK_NS);
		iterate(WORK_NS);
	}
	close_with_streams();
}

/* What the plan gave away comes back to the engine, and another plan has it: while work is pending all the time. */
Test(planned_streams, a_plan_that_goes_leaves_nothing_unordered)
{
	open_with_streams("plan:inline,chunk_bytes:2M");
	for (unsigned round = 0; round < 4; round++) {
		const uint64_t adoptions = get_plan_stats().adoptions;
		for (unsigned i = 0; i < 60 && get_plan_stats().adoptions == adoptions; i++) {
			iterate(WORK_NS);
			run_background();
		}
		cr_assert_gt(get_plan_stats().adoptions, adoptions);
		iterate(WORK_NS);
		seam_plan_drop(pool);
		iterate(WORK_NS);
	}
	close_with_streams();
}

/* reuse:own asks for no wait: then streams share nothing. */
Test(planned_streams, where_streams_are_to_share_nothing_they_do_not_wait)
{
	open_with_streams("plan:inline,chunk_bytes:2M,reuse:own");
	for (unsigned i = 0; i < 40; i++) {
		iterate(0);
		cr_assert_eq(seam__drv_device_sync(driver), SEAM_CU_SUCCESS);
		run_background();
	}
	struct seam_active_plan *active = LIST_FIRST(&pool->runtime->active_plans);
	for (uint32_t i = 0; active != NULL && i < seam__matcher_loaded_count(active->matcher); i++) {
		const struct seam_loaded_plan *loaded = seam__matcher_loaded(active->matcher, i);
		for (uint32_t slot = 0; slot < loaded->slots; slot++)
			cr_expect_eq(loaded->waited[slot], 0);
	}
	close_with_streams();
}
