/* test_policies.c: what the options of the engine change: stitching at its price, always or late, the fragmentation
 * limit, reuse across streams. */
#include "engine_fixture.h"

TestSuite(policies, .fini = close_engine);

static void open_with(struct seam_policy policy)
{
	policy.chunk_bytes = MIB(2);
	policy.small_bytes = MIB(1);
	open_engine(&policy);
}

/* 4 MiB and 8 MiB are free, apart from each other. */
static void make_gaps_of_4_and_8(void)
{
	struct seam_block *four = alloc(4), *guard = alloc(2), *eight = alloc(8), *end = alloc(2);
	(void)guard;
	(void)end;
	give(four);
	give(eight);
}

Test(policies, growth_prefers_to_split)
{
	open_with((struct seam_policy){.stitching = SEAM_STITCH_GROWTH});
	make_gaps_of_4_and_8();
	cr_expect_not(alloc(6)->view->stitched);
	cr_expect_eq(engine.counts.s2, 1);
}

Test(policies, a_new_view_owes_its_mappings_and_one_that_is_revived_none)
{
	open_with((struct seam_policy){.stitching = SEAM_STITCH_AUTO});
	make_gaps_of_4_and_8();
	struct seam_block *block = alloc(12);
	cr_expect_eq(engine.price.owed, 6);
	give(block);
	cr_expect(alloc(12)->view->stitched);
	cr_expect_eq(engine.counts.s1r, 1);
	cr_expect_eq(engine.price.owed, 6);
}

/* 20 chunks, of which every second is free: the pool may have two more at a price. Stitching has made more mappings
 * than it may. */
static void make_stitching_dear(enum seam_stitching stitching)
{
	open_with((struct seam_policy){.stitching = stitching});
	struct seam_block *blocks[20];
	make_row(blocks, 20);
	for (unsigned i = 0; i < 20; i += 2)
		give(blocks[i]);
	engine.price.owed = 1000;
	seam__price_note_live(&engine.price, MIB(40));
}

Test(policies, dear_stitching_grows_by_a_tenth_and_stitches_again)
{
	make_stitching_dear(SEAM_STITCH_AUTO);
	cr_expect_not(alloc(4)->view->stitched);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(44));
	const uint64_t reserved = engine.memory.reserved_bytes;
	cr_expect(alloc(4)->view->stitched);
	cr_expect_eq(engine.memory.reserved_bytes, reserved);
}

Test(policies, growth_stitches_at_any_price)
{
	make_stitching_dear(SEAM_STITCH_GROWTH);
	const uint64_t reserved = engine.memory.reserved_bytes;
	cr_expect(alloc(4)->view->stitched);
	cr_expect_eq(engine.memory.reserved_bytes, reserved);
}

Test(policies, dear_stitching_does_not_grow_where_the_device_has_no_room_for_a_tenth)
{
	make_stitching_dear(SEAM_STITCH_AUTO);
	engine.memory.capacity_bytes = MIB(44) - 1;
	cr_expect(alloc_on(MIB(3), stream_a)->view->stitched);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(40));
}

Test(policies, growth_at_a_price_that_the_device_refuses_is_stitched)
{
	make_stitching_dear(SEAM_STITCH_AUTO);
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY);
	cr_expect(alloc(4)->view->stitched);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(40));
	cr_expect_eq(engine.price.owed, 2);
	cr_expect_eq(engine.counts.retries, 0);
}

Test(policies, a_trim_begins_the_account_anew)
{
	make_stitching_dear(SEAM_STITCH_AUTO);
	wait_for_all();
	cr_expect_eq(trim_to(MIB(38)), MIB(2));
	cr_expect_eq(engine.price.owed, 0);
	cr_expect_eq(engine.price.live_peak_bytes, 0);
}

Test(policies, oom_stitches_only_when_growth_fails)
{
	open_with((struct seam_policy){.stitching = SEAM_STITCH_OOM});
	make_gaps_of_4_and_8();
	struct seam_block *grown = alloc(12);
	cr_expect_not(grown->view->stitched);
	give(grown);
	cr_expect_eq(engine.counts.s3, 0);
	trim_to(MIB(16));
	forbid_growth();
	cr_expect(alloc(12)->view->stitched, "before out of memory it stitches");
	cr_expect_eq(engine.counts.s3, 1);
}

Test(policies, small_extents_are_stitched_only_before_out_of_memory)
{
	open_with((struct seam_policy){.fragmentation_limit_bytes = MIB(4)});
	struct seam_block *blocks[6];
	make_row(blocks, 6);
	give(blocks[0]);
	give(blocks[2]);
	give(blocks[4]);
	uint64_t reserved = engine.memory.reserved_bytes;
	struct seam_block *block = alloc(6);
	cr_expect_not(block->view->stitched);
	cr_expect_gt(engine.memory.reserved_bytes, reserved, "extents of 2 MiB are below the limit");
	forbid_growth();
	cr_expect(alloc(6)->view->stitched);
}

Test(policies, passed_memory_serves_another_stream_only_when_it_has_passed) /* I3 */
{
	open_with((struct seam_policy){.reuse = SEAM_REUSE_PASSED});
	struct seam_block *block = alloc(4);
	uint64_t va = block->va;
	work_on(block, stream_a, LONG_NS);
	give(block);
	struct seam_block *other = alloc_on(MIB(4), stream_b);
	cr_expect_neq(other->va, va, "memory with pending work went to another stream");
	seam__emu_advance(driver, LONG_NS);
	struct seam_block *again = alloc_on(MIB(4), stream_b);
	cr_expect_eq(again->va, va);
	cr_expect_eq(engine.counts.cross_stream_reuses, 1);
	work_on(again, stream_b, 0);
}

Test(policies, its_own_stream_takes_pending_memory_at_once)
{
	open_with((struct seam_policy){.reuse = SEAM_REUSE_PASSED});
	struct seam_block *block = alloc(4);
	uint64_t va = block->va;
	work_on(block, stream_a, LONG_NS);
	give(block);
	cr_expect_eq(alloc(4)->va, va);
	cr_expect_eq(seam__driver_calls(driver, SEAM_DRV_EVENT), 2, "an event was recorded (two streams were made)");
}

Test(policies, wait_orders_the_stream_and_adopts) /* I3 */
{
	open_with((struct seam_policy){.reuse = SEAM_REUSE_WAIT});
	struct seam_block *block = alloc(4);
	uint64_t va = block->va;
	work_on(block, stream_a, LONG_NS);
	give(block);
	struct seam_block *other = alloc_on(MIB(4), stream_b);
	cr_expect_eq(other->va, va);
	cr_expect_eq(driver->counts[SEAM_DRV_stream_wait_event].calls, 1);
	work_on(other, stream_b, 0); /* the judge sees the edge */
	cr_expect_eq(engine.memory.reserved_bytes, MIB(4));
}

Test(policies, own_never_passes_memory_on_before_out_of_memory)
{
	open_with((struct seam_policy){.reuse = SEAM_REUSE_OWN});
	struct seam_block *block = alloc(4);
	uint64_t va = block->va;
	give(block);
	seam__emu_advance(driver, LONG_NS);
	cr_expect_neq(alloc_on(MIB(4), stream_b)->va, va);
	forbid_growth();
	cr_expect_eq(alloc_on(MIB(4), stream_b)->va, va);
}

Test(policies, what_is_everybodys_is_not_swallowed_by_a_neighbour)
{
	open_with((struct seam_policy){.reuse = SEAM_REUSE_PASSED});
	struct seam_block *first = alloc(2), *wide = alloc(8);
	give(wide);
	wait_for_all(); /* the 8 MiB are everybody's */
	struct seam_block *side = alloc_on(MIB(2), stream_b);
	work_on(first, stream_a, LONG_NS);
	give(first);
	(void)side;
	uint64_t reserved = engine.memory.reserved_bytes;
	cr_expect_eq(alloc_on(MIB(6), stream_b)->bytes, MIB(6));
	cr_expect_eq(engine.memory.reserved_bytes, reserved, "stream a's small block took the rest with it");
}

Test(policies, neighbours_of_one_stream_and_everybody_serve_it_together)
{
	open_with((struct seam_policy){.reuse = SEAM_REUSE_PASSED});
	struct seam_block *first = alloc(2), *wide = alloc(4), *end = alloc_on(MIB(2), stream_b);
	uint64_t va = first->va;
	(void)end;
	give(wide);
	wait_for_all();
	work_on(first, stream_a, LONG_NS);
	give(first);
	cr_expect_eq(alloc(6)->va, va);
	cr_expect_eq(engine.counts.s2 + engine.counts.s1, 1);
	cr_expect_eq(engine.memory.stitched_count, 0);
}

/* Free bytes of a stitched view fit the request better than the place at the end of the home view, and are not for it.
 */
Test(policies, no_stitch_joins_free_neighbours_of_home_views_only)
{
	open_with((struct seam_policy){.reuse = SEAM_REUSE_PASSED});
	engine.policy.chunk_bytes = MIB(32);
	struct seam_block *one = alloc(32), *guard = alloc_on(MIB(2), stream_b), *two = alloc(32), *tail = alloc(10);
	uint64_t va = tail->va;
	(void)guard;
	give(one);
	give(two);
	struct seam_block *stitched = alloc_on(MIB(44) + MIB(1) / 4, stream_a);
	cr_assert(stitched->view->stitched);
	wait_for_all();
	give(tail);
	struct seam_ask ask = ask_of(MIB(19) + MIB(1) / 2, stream_a);
	ask.no_stitch = true;
	struct seam_block *block = NULL;
	cr_expect_eq(try_ask(&ask, &block), SEAM_OK);
	cr_expect_eq(block->va, va);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(32 + 2 + 32 + 10 + 10));
}

/* A run of everybody's and the stream's blocks by turns: any part of it that is long enough will do, and the whole of
 * it too. */
static void expect_joined(uint64_t mib)
{
	open_with((struct seam_policy){.reuse = SEAM_REUSE_PASSED});
	struct seam_block *blocks[6];
	make_row(blocks, 5);
	blocks[5] = alloc_on(MIB(2), stream_b);
	for (int i = 0; i < 5; i += 2)
		give(blocks[i]);
	wait_for_all();
	for (int i = 1; i < 5; i += 2) {
		work_on(blocks[i], stream_a, LONG_NS);
		give(blocks[i]);
	}
	const struct seam_block *joined = alloc(mib);
	cr_expect_eq(joined->bytes, MIB(mib));
	cr_expect_eq(engine.memory.reserved_bytes, MIB(12), "%lu MiB", (unsigned long)mib);
	cr_expect_eq(engine.memory.stitched_count, 0, "%lu MiB", (unsigned long)mib);
}

Test(policies, a_part_of_a_long_run_is_joined)
{
	expect_joined(6);
}

Test(policies, all_of_a_long_run_is_joined)
{
	expect_joined(10);
}

Test(policies, growth_to_stitch_is_one_piece_that_the_limit_lets_through)
{
	open_with((struct seam_policy){.fragmentation_limit_bytes = MIB(8)});
	struct seam_block *gap = alloc(10), *end = alloc(2);
	(void)end;
	give(gap);
	cr_expect(alloc(15)->view->stitched);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(12 + 8));
}
