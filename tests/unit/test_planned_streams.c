/* test_planned_streams.c: plans of programs whose streams hand memory to each other in no order that the pool sees. */
#include "core_fixture.h"

#include <string.h>

#include <seam/plan.h>

#include "learner.h"
#include "meta.h"
#include "planned_impl.h"
#include "matcher_state.h"

#define BLOCKS 48u /* of an iteration, on each stream */
#define LIVE 3u    /* of them, at once */
#define USED_ONE_IN 12u
#define BETWEEN 8u /* requests from the last of one stream to the first of the other */
#define WORK_NS UINT64_C(1000000)

static void *streams[2];
static void *guest;                      /* uses blocks of both in place of the other; NULL: there is none */
static unsigned unexpected;              /* of so many in a row this one is used by both streams, too */
static unsigned second_part = 1;         /* blocks of the second stream are so many times smaller */
static bool shares = true;               /* some blocks are used by both streams */
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
			if (shares && (i % USED_ONE_IN == 0 || i % USED_ONE_IN == unexpected))
				use(blocks[i], bytes_of(s, i), streams[s], guest != NULL ? guest : streams[1 - s],
					work_ns);
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

/* More than the pool has: the rest alone is new, though the work of both streams is pending in what is lent. */
Test(planned_streams, what_is_lent_is_ordered_behind_pending_work)
{
	open_with_streams("plan:inline,chunk_bytes:2M");
	run_until_planned();
	iterate(WORK_NS);
	const struct seam_arena *arena = &LIST_FIRST(&pool->runtime->active_plans)->arena;
	const uint64_t reserved = get_stats().reserved_bytes, bytes = reserved + MIB(2);
	cr_assert(seam__drv_stream_query(driver, (uint64_t)(uintptr_t)streams[1]) == SEAM_CU_NOT_READY);
	void *strange = must_alloc(bytes, streams[0]);
	cr_expect_eq(get_plan_stats().lent_bytes, arena->bytes);
	cr_expect_eq(get_stats().reserved_bytes, reserved + MIB(2));
	cr_expect(seam__drv_stream_query(driver, (uint64_t)(uintptr_t)streams[1]) == SEAM_CU_NOT_READY,
		"nobody has waited");
	launch(streams[0], strange, bytes, WORK_NS);
	check_pool();
	must_free(strange);
	iterate(WORK_NS);
	close_with_streams();
}

/* With reuse:own nobody is made to wait for it: the pool grows. */
Test(planned_streams, nothing_is_lent_to_another_stream_with_reuse_own)
{
	open_with_streams("plan:inline,chunk_bytes:2M,reuse:own");
	run_until_planned();
	iterate(WORK_NS);
	const uint64_t reserved = get_stats().reserved_bytes, bytes = reserved + MIB(2);
	const uint64_t waits = driver->counts[SEAM_DRV_stream_wait_event].calls;
	void *strange = must_alloc(bytes, streams[0]);
	cr_expect_eq(get_plan_stats().lent_bytes, 0);
	cr_expect_eq(driver->counts[SEAM_DRV_stream_wait_event].calls, waits);
	cr_expect_gt(get_stats().reserved_bytes, bytes, "the arena is not in it");
	launch(streams[0], strange, bytes, WORK_NS);
	must_free(strange);
	close_with_streams();
}

/* No block goes while another stream uses it. */
Test(planned_streams, memory_of_streams_that_share_no_block_changes_them_in_order)
{
	shares = false;
	open_with_streams("plan:inline,chunk_bytes:2M");
	run_until_planned();
	for (unsigned i = 0; i < 8; i++)
		iterate(WORK_NS);
	cr_expect(((struct seam_active_plan *)LIST_FIRST(&pool->runtime->active_plans))->notes_uses);
	close_with_streams();
}

static uint32_t number_of(const struct seam_active_plan *active, const struct seam_stream *stream)
{
	uint32_t number = 0;
	while (active->streams[number] != stream)
		number++;
	return number;
}

static struct seam_stream *find_stream(void *handle)
{
	struct seam_stream *found = NULL;
	cr_assert_ok(seam__streams_find(&pool->engine.streams, (uint64_t)(uintptr_t)handle, false, &found));
	return found;
}

/* Each block is used by its own stream, and some by the guest: those that go before he has done so, too. */
Test(planned_streams, memory_is_waited_for_by_its_users_alone)
{
	open_with_streams("plan:inline,chunk_bytes:2M");
	guest = make_stream();
	run_until_planned();
	struct seam_active_plan *active = LIST_FIRST(&pool->runtime->active_plans);
	for (unsigned i = 0; i < 8; i++)
		iterate(WORK_NS);
	uint64_t own = 0, guests = UINT64_C(1) << number_of(active, find_stream(guest)), seen = 0;
	for (unsigned s = 0; s < 2; s++)
		own |= UINT64_C(1) << number_of(active, find_stream(streams[s]));
	for (const struct seam_last_use *use = seam__last_uses_behind(&active->last_uses, 0); use != NULL;
		use = seam__last_uses_next(use)) {
		cr_expect_neq(use->streams & own, own, "both at once");
		seen |= use->streams & guests;
	}
	cr_expect_eq(seen, guests);
	cr_assert_ok(seam_stream_destroyed(pool, guest));
	end_stream(guest);
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

/* Where it cannot be noted who used memory every stream waits for that. */
Test(planned_streams, what_is_not_noted_is_waited_for_by_all)
{
	open_with_streams("plan:inline,chunk_bytes:2M");
	run_until_planned();
	struct seam_active_plan *active = LIST_FIRST(&pool->runtime->active_plans);
	struct seam_slab *slab = &active->last_uses.slab;
	for (unsigned i = 0; i < 8; i++) {
		const uint64_t before = active->arena.join_version, left = slab->free_objects;
		cr_assert(active->notes_uses);
		cr_assert_ok(seam__slab_reserve(slab, left));
		seam__meta_set_limit(pool->meta, 1);
		iterate(WORK_NS);
		seam__meta_set_limit(pool->meta, 0);
		cr_expect_gt(active->arena.join_version, before, "nothing was left out");
		seam__slab_unreserve(slab, left);
	}
	close_with_streams();
}

/* Nobody will ask who used it. */
Test(planned_streams, of_one_stream_that_asks_nothing_is_noted)
{
	askers = 1;
	open_with_streams("plan:inline,chunk_bytes:2M,reuse:own");
	run_until_planned();
	for (unsigned i = 0; i < 8; i++)
		iterate(WORK_NS);
	const struct seam_active_plan *active = LIST_FIRST(&pool->runtime->active_plans);
	cr_expect_eq(active->stream_count, 2);
	cr_expect(!active->notes_uses);
	cr_expect_null(seam__last_uses_behind(&active->last_uses, 0));
	close_with_streams();
}

/* Its own stream gets no more work, so its stamp is of before: the other's is not. */
Test(planned_streams, users_of_a_block_whose_stream_is_gone_are_waited_for)
{
	void *handles[3];
	struct seam_stream *found[3];
	open_with_streams("plan:inline,chunk_bytes:2M");
	run_until_planned();
	iterate(WORK_NS);
	struct seam_active_plan *active = LIST_FIRST(&pool->runtime->active_plans);
	memcpy(handles, (void *[]){streams[0], streams[1], make_stream()}, sizeof handles);
	for (unsigned i = 0; i < 3; i++)
		found[i] = find_stream(handles[i]);
	struct seam_plan_block block = {.bytes = 512, .stream = found[0]};
	for (unsigned i = 0; i < 3; i++) {
		cr_assert(seam__active_order(pool->runtime, active, 0, 512, found[i]));
		(void)seam__stream_stamp(found[i]);
	}
	const uint64_t *behind = active->behind + (size_t)number_of(active, found[2]) * active->stream_capacity;
	for (unsigned i = 0; i < 2; i++)
		cr_expect_eq(behind[number_of(active, found[i])], found[i]->last_stamp, "it asks for the first time");
	cr_assert_ok(seam_stream_destroyed(pool, handles[0]));
	const uint64_t gone = seam__stream_stamp(found[0]), others = UINT64_C(1) << number_of(active, found[1]);
	cr_assert_gt(seam__stream_stamp(found[1]), gone);
	seam__active_note_use(pool->runtime, active, &block, others);
	cr_assert(seam__active_order(pool->runtime, active, 0, 512, found[2]));
	cr_expect_eq(behind[number_of(active, found[0])], gone);
	cr_expect_eq(behind[number_of(active, found[1])], found[1]->last_stamp);
	cr_assert_ok(seam_stream_destroyed(pool, handles[1]));
	cr_assert_ok(seam_stream_destroyed(pool, handles[2]));
	for (unsigned i = 0; i < 3; i++)
		end_stream(handles[i]);
	close_pool();
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
		for (unsigned i = 0; i < 120 && get_plan_stats().adoptions == adoptions; i++) {
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

/* A block that was freed while another stream used it is the plan's when it goes on, if that stream has passed. */
Test(planned_streams, what_waited_for_other_streams_is_not_in_the_way_of_slots)
{
	open_with_streams("plan:inline,chunk_bytes:2M");
	run_until_planned();
	struct seam_active_plan *open = LIST_FIRST(&pool->runtime->active_plans);
	seam__mutex_lock(&pool->engine.lock);
	seam__active_suspend(pool->runtime, open);
	open->price_steps = INT64_MAX; /* it does not go on by itself at the mark */
	seam__mutex_unlock(&pool->engine.lock);
	void *block = must_alloc(MIB(5), streams[0]);
	use(block, MIB(5), streams[0], streams[1], 0);
	must_free(block);
	cr_assert_eq(pool->engine.counts.pending_bytes, MIB(5), "nothing waits: this tests nothing");
	seam__mutex_lock(&pool->engine.lock);
	cr_expect_eq(seam__planned_start(pool->runtime), SEAM_OK);
	cr_expect_eq(pool->engine.counts.pending_bytes, 0);
	cr_expect_eq(open->arena.leased_bytes, open->arena.bytes);
	seam__mutex_unlock(&pool->engine.lock);
	close_with_streams();
}
