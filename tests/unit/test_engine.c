/* test_engine.c: free, record_stream, pending blocks, dead streams, private groups. */
#include "engine_fixture.h"

static void set_up(void)
{
	open_engine(&(struct seam_policy){.chunk_bytes = MIB(2), .small_bytes = MIB(1)});
}

TestSuite(engine, .init = set_up, .fini = close_engine);

static uint64_t poll(void)
{
	seam__mutex_lock(&engine.lock);
	uint64_t bytes = seam__engine_poll(&engine, false);
	seam__mutex_unlock(&engine.lock);
	expect_whole();
	return bytes;
}

static void record(struct seam_block *block, uint64_t handle)
{
	struct seam_stream *stream = NULL;
	cr_assert_eq(seam__engine_stream(&engine, handle, &stream), SEAM_OK);
	cr_assert_eq(seam__engine_record(&engine, block, stream), SEAM_OK);
}

Test(engine, a_recorded_block_waits_for_the_other_stream)
{
	struct seam_block *block = alloc(4);
	uint64_t va = block->va;
	record(block, stream_b);
	work_on(block, stream_b, LONG_NS);
	give(block);
	cr_expect_eq(engine.counts.live_blocks, 0);
	cr_expect_eq(engine.counts.pending_bytes, MIB(4));
	cr_expect_neq(alloc(4)->va, va, "its own stream got it while another still uses it");
	seam__emu_advance(driver, LONG_NS);
	poll();
	cr_expect_eq(engine.counts.pending_bytes, 0);
	cr_expect_eq(alloc(4)->va, va);
}

/* A pending block of 2 MiB, its work on stream_b not done, and free memory beside it that would serve an equal request.
 */
static uint64_t leave_pending(void)
{
	struct seam_block *block = alloc(2), *apart = alloc(2), *large = alloc(16);
	const uint64_t va = block->va;
	record(block, stream_b);
	work_on(block, stream_b, LONG_NS);
	give(block);
	give(large);
	(void)apart; /* what is free touches nothing that was pending */
	return va;
}

Test(engine, what_has_passed_is_used_again_before_a_larger_block_is_split)
{
	const uint64_t va = leave_pending();
	cr_expect_neq(alloc(2)->va, va, "its own stream got it while another still uses it");
	seam__emu_advance(driver, LONG_NS);
	cr_expect_eq(alloc(2)->va, va);
	cr_expect_eq(engine.counts.pending_bytes, 0);
}

static uint64_t event_calls(void)
{
	return seam__driver_calls(driver, SEAM_DRV_EVENT);
}

Test(engine, only_a_request_that_the_pending_block_would_serve_asks_about_it)
{
	const uint64_t va = leave_pending(), before = event_calls();
	seam__emu_advance(driver, LONG_NS);
	alloc(4); /* of another size */
	struct seam_ask captured = ask_of(MIB(2), stream_a);
	captured.capturing = true;
	struct seam_block *block = NULL;
	cr_assert_eq(try_ask(&captured, &block), SEAM_OK);
	cr_expect_neq(block->va, va);
	cr_expect_eq(event_calls(), before);
	cr_expect_eq(engine.counts.pending_bytes, MIB(2));
	cr_expect_eq(alloc(2)->va, va);
}

Test(engine, a_request_asks_once_and_an_event_is_recorded_for_the_first_only)
{
	leave_pending();
	uint64_t before = event_calls();
	alloc(2);
	cr_expect_eq(event_calls(), before + 3, "created, recorded, asked");
	before = event_calls();
	alloc(2);
	alloc(2);
	cr_expect_eq(event_calls(), before + 2);
}

Test(engine, a_driver_that_cannot_tell_what_has_passed_leaves_it_pending)
{
	static const uint64_t nth[] = {1, 2, 2}; /* create; record; record again, then query */
	const uint64_t va = leave_pending();
	seam__emu_advance(driver, LONG_NS);
	for (unsigned i = 0; i < sizeof nth / sizeof *nth; i++) {
		seam__driver_fail_at(driver, nth[i], 1u << SEAM_DRV_EVENT, SEAM_CU_UNKNOWN);
		cr_expect_neq(alloc(2)->va, va, "failure %u", i);
		cr_expect_eq(engine.counts.pending_bytes, MIB(2));
	}
	seam__driver_fail_at(driver, 0, 0, 0);
	cr_expect_eq(alloc(2)->va, va);
}

Test(engine, recording_for_its_own_stream_or_twice_is_nothing)
{
	struct seam_block *block = alloc(2);
	record(block, stream_a);
	cr_expect_null(block->uses);
	record(block, stream_b);
	record(block, stream_b);
	cr_assert_not_null(block->uses);
	cr_expect_null(block->uses->next);
}

Test(engine, after_a_wait_pending_blocks_are_everybodys)
{
	struct seam_block *block = alloc(4);
	record(block, stream_b);
	work_on(block, stream_b, LONG_NS);
	give(block);
	wait_for_all();
	cr_expect_eq(engine.counts.pending_bytes, 0);
	cr_expect_eq(engine.common.classes[SEAM_CLASS_LARGE].any.bytes, MIB(4), "its free has passed with the wait");
}

Test(engine, memory_of_a_destroyed_stream_is_everybodys_when_it_has_passed)
{
	struct seam_block *freed = alloc(2), *kept = alloc(2);
	give(freed);
	seam__mutex_lock(&engine.lock);
	cr_expect_eq(seam__stream_destroyed(&engine.streams, stream_a), SEAM_OK);
	seam__mutex_unlock(&engine.lock);
	poll();
	give(kept); /* long after its stream has gone */
	cr_expect_eq(engine.common.classes[SEAM_CLASS_LARGE].any.bytes, MIB(4));
}

Test(engine, a_late_free_on_a_dead_stream_does_not_hide_newer_work) /* I4 */
{
	struct seam_block *blocks[5];
	make_row(blocks, 5);
	give(blocks[0]);
	give(blocks[2]);
	struct seam_block *both = alloc(4); /* stitched */
	struct seam_view *view = both->view;
	give(both);
	wait_for_all();
	struct seam_block *on_a = alloc_on(MIB(3), stream_a);
	cr_assert_eq(on_a->view, view);
	wait_for_all(); /* the rest of its last chunk is everybody's now */
	struct seam_block *on_b = alloc_on(MIB(1), stream_b);
	cr_assert_eq(on_b->view, view);
	seam__mutex_lock(&engine.lock);
	cr_expect_eq(seam__stream_destroyed(&engine.streams, stream_a), SEAM_OK);
	seam__mutex_unlock(&engine.lock);
	poll();
	struct seam_stream *b = NULL;
	cr_assert_eq(seam__engine_stream(&engine, stream_b, &b), SEAM_OK);
	work_on(on_b, stream_b, LONG_NS);
	give(on_b);
	uint64_t newest = b->last_stamp;
	give(on_a);
	cr_expect_geq(view->last_tick, newest, "the view looks as if its use had passed");
	wait_for_all();
}

static struct seam_group *make_group(uint64_t id)
{
	struct seam_group *group = NULL;
	seam__mutex_lock(&engine.lock);
	cr_assert_eq(seam__engine_group_create(&engine, id, &group), SEAM_OK);
	seam__mutex_unlock(&engine.lock);
	return group;
}

static void merge(struct seam_group *group)
{
	seam__mutex_lock(&engine.change);
	seam__mutex_lock(&engine.lock);
	seam__engine_group_merge(&engine, group);
	seam__mutex_unlock(&engine.lock);
	seam__mutex_unlock(&engine.change);
	expect_whole();
}

static struct seam_block *alloc_in(struct seam_group *group, uint64_t mib, bool capturing)
{
	struct seam_ask ask = ask_of(MIB(mib), stream_a);
	ask.group = group;
	ask.capturing = capturing;
	struct seam_block *block = NULL;
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	return block;
}

Test(engine, a_private_group_shares_nothing_until_it_is_merged)
{
	struct seam_group *group = make_group(7);
	struct seam_block *freed = alloc_in(group, 4, false), *live = alloc_in(group, 2, false);
	uint64_t va = freed->va;
	give(freed);
	struct seam_block *common = alloc(4);
	cr_expect_neq(common->va, va);
	cr_expect_neq(common->view, live->view);
	merge(group);
	cr_expect_eq(alloc(4)->va, va, "its free memory is common now");
	uint64_t live_va = live->va;
	give(live);
	cr_expect_eq(alloc(2)->va, live_va, "its live blocks follow");
}

Test(engine, a_captured_view_of_a_private_group_is_pinned_until_the_merge) /* I12 */
{
	struct seam_group *group = make_group(7);
	struct seam_block *block = alloc_in(group, 4, true);
	cr_expect(block->view->pinned);
	give(block);
	wait_for_all();
	cr_expect_eq(trim_to(0), 0, "a replay of the graph still touches it");
	merge(group);
	cr_expect_eq(trim_to(0), MIB(4));
}

Test(engine, what_a_capture_got_from_the_common_memory_is_never_reused) /* I12 */
{
	struct seam_block *block = alloc_in(&engine.common, 4, true);
	uint64_t va = block->va;
	struct seam_group *group = make_group(7);
	merge(group); /* somebody else's */
	give(block);
	wait_for_all();
	cr_expect_neq(alloc(4)->va, va);
	cr_expect_eq(engine.counts.pending_bytes, MIB(4));
}

Test(engine, a_captured_block_with_uses_returns_after_the_merge)
{
	struct seam_group *group = make_group(7);
	struct seam_block *block = alloc_in(group, 4, true);
	record(block, stream_b);
	give(block);
	merge(group);
	wait_for_all();
	cr_expect_eq(engine.counts.pending_bytes, 0);
	cr_expect_eq(trim_to(0), MIB(4));
}

Test(engine, no_memory_for_a_streams_lists_leaves_the_others_whole)
{
	struct seam_block *block = alloc(2);
	uint64_t handles[8];
	for (int i = 0; i < 8; i++)
		cr_assert_eq(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &handles[i]), 0);
	engine.policy.reuse = SEAM_REUSE_WAIT;
	struct seam_stream *stream = NULL;
	enum seam_rc rc = SEAM_OK;
	for (int i = 0; i < 8 && rc == SEAM_OK; i++) {
		seam__meta_fail_at(meta, 1);
		rc = seam__engine_stream(&engine, handles[i], &stream);
	}
	seam__meta_fail_at(meta, 0);
	cr_expect_eq(rc, SEAM_OOM_META);
	give(block);
	cr_expect_eq(alloc_on(MIB(2), stream_b)->bytes, MIB(2)); /* asks all streams */
}
