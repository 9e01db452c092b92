/* test_arena_lease.c: what an arena takes of its chunks, lends, and takes again; streams whose work is pending in it.
 */
#include <stdio.h>
#include <string.h>

#include "arena_fixture.h"

TestSuite(arena_lease, .init = set_up_arena, .fini = tear_down_arena);

Test(arena_lease, the_rest_of_a_chunk_with_a_resident)
{
	struct seam_block *before = alloc(1), *resident = alloc_on(MIB(2), stream_a), *behind = alloc(3);
	uint64_t va = resident->va;
	give(before);
	give(behind);
	make_arena(0);
	cr_expect_eq(arena.count, 3);
	cr_expect_eq(arena.leased_bytes, MIB(4));
	cr_expect_eq(engine.counts.leased_bytes, MIB(4));
	cr_expect_str_eq(gaps(), "1-3");
	cr_expect_str_eq(gaps_of(MIB(2), MIB(6)), "2-3");
	cr_expect_str_eq(gaps_of(MIB(3), MIB(6)), "");
	cr_expect_eq(resident->va, va);
	work_on(resident, stream_a, 100);
	plan_work(0, MIB(1), stream_b, 100);
	plan_work(MIB(3), MIB(3), stream_b, 100);
	give(resident);
	cr_expect_eq(collect(0, 3), MIB(2));
	cr_expect_str_eq(gaps(), "");
	cr_expect_eq(arena.leased_bytes, MIB(6));
}

Test(arena_lease, what_is_leased_serves_nobody_else)
{
	give(alloc(8));
	make_arena(0);
	uint64_t reserved = engine.memory.reserved_bytes;
	struct seam_block *block = alloc(4);
	cr_expect_eq(engine.memory.reserved_bytes, reserved + MIB(4));
	give(block);
	cr_expect_eq(trim_to(0), MIB(4));
	cr_expect_eq(alloc(4)->view, block->view);
}

Test(arena_lease, a_block_of_a_stitched_view_leaves_the_rest_of_its_chunk)
{
	struct seam_block *blocks[5];
	make_row(blocks, 5);
	give(blocks[0]);
	give(blocks[2]);
	struct seam_block *three = alloc_on(MIB(3), stream_a);
	cr_assert(three->view->stitched);
	make_arena(0);
	cr_expect_eq(arena.count, 1);
	cr_expect_eq(arena.leased_bytes, MIB(1));
	cr_expect_str_eq(gaps(), "0-1");
	plan_work(MIB(1), MIB(1), stream_a, 100);
	struct seam_view *view = three->view;
	give(three);
	cr_expect_eq(view->owned, 1, "the other chunk is at home");
	cr_expect_eq(collect(0, 1), MIB(1));
	cr_expect_eq(arena.leased_bytes, MIB(2));
	close_after(NULL, stream_a, 0);
	cr_expect_eq(view->owned, 0);
	cr_expect_eq(engine.counts.leased_bytes, 0);
}

Test(arena_lease, a_chunk_that_is_away_comes_later)
{
	struct seam_block *blocks[5];
	make_row(blocks, 5);
	give(blocks[0]);
	give(blocks[2]);
	cr_assert_eq(begin_with_all(0), SEAM_OK);
	cr_assert_eq(prepare(64), SEAM_OK);
	struct seam_block *both = alloc(4);
	cr_assert(both->view->stitched && !both->view->arena);
	cr_expect_eq(open_arena(), 0);
	cr_expect_str_eq(gaps(), "0-4");
	give(both);
	cr_expect_eq(collect(0, 2), MIB(4));
	cr_expect_str_eq(gaps(), "");
}

Test(arena_lease, the_arena_is_no_view_to_revive)
{
	struct seam_block *blocks[5];
	make_row(blocks, 5);
	give(blocks[0]);
	give(blocks[2]);
	cr_assert_eq(begin_with_all(0), SEAM_OK);
	cr_assert_eq(prepare(64), SEAM_OK);
	struct seam_block *both = alloc(4);
	cr_expect_neq(both->view, arena.view);
	give(both);
}

Test(arena_lease, lent_and_taken_again)
{
	give(alloc(8));
	make_arena(0);
	engine.memory.capacity_bytes = engine.memory.reserved_bytes;
	cr_expect_eq(lend_to(1, stream_a), MIB(2));
	cr_expect_eq(lend_to(1, stream_a), 0, "nothing is left to lend");
	cr_expect_eq(lend_to(3, stream_a), MIB(2));
	cr_expect(arena.chunks[1].lent && arena.chunks[3].lent && !arena.chunks[0].lent);
	cr_expect_str_eq(gaps(), "2-4 6-8");
	struct seam_block *block = alloc(4);
	cr_expect(block->view->stitched, "two lent chunks are stitched");
	work_on(block, stream_a, 100);
	plan_work(0, MIB(2), stream_b, 100);
	cr_expect_eq(collect(0, 3), 0);
	cr_expect(!arena.chunks[1].lent && arena.chunks[3].lent, "all that is not live is leased");
	give(block);
	cr_expect_eq(collect(0, 2), MIB(2));
	cr_expect(arena.chunks[3].lent);
	cr_expect_eq(collect(2, 2), MIB(2));
	cr_expect_str_eq(gaps(), "");
	cr_expect_eq(join(stream_b), SEAM_OK);
	plan_work(0, MIB(8), stream_b, 100);
}

Test(arena_lease, a_lent_chunk_with_a_live_block_is_lent_no_more_when_the_rest_is_back)
{
	give(alloc(4));
	make_arena(0);
	cr_expect_eq(lend_to(0, stream_a), MIB(2));
	struct seam_block *small = alloc_on(512, stream_a), *first = alloc_on(512, stream_a);
	give(small);
	cr_expect_eq(collect(0, 1), MIB(2) - 512);
	cr_expect(!arena.chunks[0].lent);
	cr_expect_eq(first->offset, 512);
	give(first);
	cr_expect_eq(collect(0, 1), 512);
	cr_expect_eq(arena.leased_bytes, MIB(4));
	const struct seam_chunk *chunk = arena.chunks[0].chunk;
	cr_expect_eq(chunk->leased->bytes, MIB(2), "one block again");
}

/* It is its stream's: that may have it at once, and another only when that has passed. */
Test(arena_lease, what_is_lent_is_of_one_stream)
{
	give(alloc(4));
	wait_for_all();
	make_arena(0);
	plan_work(0, MIB(2), stream_a, LONG_NS);
	cr_expect_eq(lend_to(0, stream_a), MIB(2));
	cr_expect_eq(engine.counts.pending_bytes, 0);
	const uint64_t reserved = engine.memory.reserved_bytes;
	struct seam_block *other = alloc_on(MIB(2), stream_b);
	cr_expect_eq(engine.memory.reserved_bytes, reserved + MIB(2));
	struct seam_block *own = alloc_on(MIB(2), stream_a);
	cr_expect_eq(engine.memory.reserved_bytes, reserved + MIB(2));
	work_on(other, stream_b, 100);
	work_on(own, stream_a, 100);
	give(own);
	cr_expect_eq(collect(0, 1), MIB(2));
	cr_expect_eq(arena.join_count, 1, "its work is pending");
}

Test(arena_lease, work_that_was_pending_is_joined)
{
	struct seam_block *block = alloc(4);
	work_on(block, stream_a, LONG_NS);
	give(block);
	make_arena(0);
	cr_expect_eq(arena.join_count, 1);
	uint64_t version = arena.join_version;
	cr_expect_neq(version, 0);
	cr_expect_eq(join(stream_a), SEAM_OK);
	plan_work(0, MIB(2), stream_a, 100);
	cr_expect_eq(join(stream_b), SEAM_OK);
	cr_expect_eq(arena.join_version, version);
	cr_expect_eq(arena.join_count, 1, "others must join too");
	plan_work(MIB(2), MIB(2), stream_b, 100);
	wait_for_all();
	cr_expect_eq(join(stream_b), SEAM_OK);
	cr_expect_eq(arena.join_count, 0, "it has passed");
}

Test(arena_lease, a_stream_that_cannot_join_now)
{
	struct seam_block *block = alloc(4);
	work_on(block, stream_a, LONG_NS);
	give(block);
	make_arena(0);
	cr_assert_eq(seam__drv_capture_begin(driver, stream_b), 0);
	cr_expect_eq(join(stream_b), SEAM_CAPTURING);
	cr_expect_eq(arena.join_count, 1);
	cr_assert_eq(seam__drv_capture_end(driver, stream_b), 0);
	cr_expect_eq(join(stream_b), SEAM_OK);
	plan_work(0, MIB(4), stream_b, 100);
}

Test(arena_lease, work_that_is_pending_anew_is_joined_anew)
{
	struct seam_block *first = alloc(3), *second = alloc(1);
	work_on(first, stream_a, LONG_NS);
	give(first);
	make_arena(0);
	cr_expect_eq(join(stream_b), SEAM_OK);
	uint64_t version = arena.join_version;
	work_on(second, stream_a, LONG_NS);
	give(second);
	cr_expect_eq(collect(0, 2), MIB(1));
	cr_expect_gt(arena.join_version, version);
	cr_expect_eq(arena.join_count, 1);
	cr_expect_eq(join(stream_b), SEAM_OK);
	plan_work(0, MIB(4), stream_b, 100);
}

/* Work was pending when it was leased: the stream that gets it waits on the device, nobody else has to. */
Test(arena_lease, what_is_lent_is_ordered_behind_the_joins)
{
	struct seam_block *block = alloc(4);
	work_on(block, stream_a, LONG_NS);
	give(block);
	make_arena(0);
	cr_expect_eq(arena.join_count, 1);
	cr_expect_eq(lend_to(0, stream_b), MIB(2));
	cr_expect_eq(engine.counts.pending_bytes, 0);
	const uint64_t reserved = engine.memory.reserved_bytes;
	struct seam_block *other = alloc_on(MIB(2), stream_b);
	cr_expect_eq(engine.memory.reserved_bytes, reserved, "at once");
	work_on(other, stream_b, 100);
	cr_expect_eq(arena.join_count, 1, "it counts for the rest");
}

Test(arena_lease, a_stream_that_dies_with_a_join)
{
	struct seam_block *block = alloc(4);
	work_on(block, stream_a, LONG_NS);
	give(block);
	make_arena(0);
	seam__mutex_lock(&engine.lock);
	cr_expect_eq(seam__stream_destroyed(&engine.streams, stream_a), SEAM_OK);
	seam__mutex_unlock(&engine.lock);
	cr_expect_eq(join(stream_b), SEAM_OK);
	plan_work(0, MIB(4), stream_b, 100);
	wait_for_all();
	cr_expect_eq(join(stream_b), SEAM_OK);
	cr_expect_eq(arena.join_count, 0);
}

/* A hundred residents in a hundred chunks, of which each second goes: every byte is where it should be. */
Test(arena_lease, many_extents)
{
	struct seam_block *blocks[60];
	for (unsigned i = 0; i < 60; i++)
		blocks[i] = alloc_on(MIB(1) + 512 * (i + 1), stream_a);
	for (unsigned i = 0; i < 60; i += 2)
		give(blocks[i]);
	make_arena(6);
	uint64_t free_bytes = 0;
	for (uint32_t i = 0; i < SEAM_CLASS_COUNT; i++)
		free_bytes += engine.common.classes[i].any.bytes;
	cr_expect_eq(free_bytes, 0);
	uint64_t leased = arena.leased_bytes;
	for (unsigned i = 1; i < 60; i += 2) {
		uint64_t bytes = blocks[i]->bytes;
		give(blocks[i]);
		cr_expect_eq(collect(0, arena.count), bytes);
		leased += bytes;
	}
	cr_expect_eq(arena.leased_bytes, leased);
	cr_expect_eq(arena.leased_bytes, engine.memory.reserved_bytes);
	cr_expect_str_eq(gaps(), "");
}

/* Chunks in turn from the front and the back of their home, so that no two lie side by side in the arena. */
Test(arena_lease, nothing_lies_side_by_side)
{
	give(alloc(20));
	uint64_t numbers[10];
	for (unsigned i = 0; i < 10; i++)
		numbers[i] = i % 2 == 0 ? i / 2 : 9 - i / 2;
	cr_assert_eq(begin(numbers, 10, 0, 0), SEAM_OK);
	cr_assert_eq(prepare(64), SEAM_OK);
	cr_assert_neq(open_arena(), 0);
	cr_expect_eq(arena.leased_bytes, MIB(20));
	for (uint32_t i = 0; i < 10; i++)
		cr_expect_eq(lend_to(9 - i, stream_a), MIB(2));
	struct seam_block *block = alloc(20);
	cr_expect(!block->view->stitched, "it is one extent at home again");
	give(block);
	cr_expect_eq(collect(3, 4), MIB(8));
	cr_expect_str_eq(gaps(), "0-6 14-20");
}

Test(arena_lease, without_metadata)
{
	struct seam_block *block = alloc_on(MIB(1), stream_b), *other = alloc(5);
	give(other);
	work_on(block, stream_b, LONG_NS);
	make_arena(0);
	cr_assert_eq(arena.leased_bytes, MIB(5));
	/* The slab has nodes left: take them. */
	seam__mutex_lock(&engine.lock);
	uint64_t uses = engine.use_slab.free_objects, nodes = engine.block_slab.free_objects;
	cr_assert_eq(seam__slab_reserve(&engine.use_slab, uses), SEAM_OK);
	cr_assert_eq(seam__slab_reserve(&engine.block_slab, nodes), SEAM_OK);
	seam__mutex_unlock(&engine.lock);
	give(block);
	seam__meta_fail_at(meta, 1);
	cr_expect_eq(collect(0, 3), 0);
	seam__meta_fail_at(meta, 0);
	seam__mutex_lock(&engine.lock);
	seam__slab_unreserve(&engine.use_slab, uses);
	seam__slab_unreserve(&engine.block_slab, nodes);
	seam__mutex_unlock(&engine.lock);
	cr_expect_eq(collect(0, 3), MIB(1));
}

/* The third block occupies all of the second chunk, which the arena has not, and half of the third. */
Test(arena_lease, bytes_of_blocks_that_are_younger)
{
	give(alloc(8));
	struct seam_block *blocks[3] = {alloc(1), alloc(1), alloc(3)};
	give(blocks[1]);
	blocks[0]->serial = 10;
	blocks[2]->serial = 12;
	cr_assert_eq(begin_with_all(0), SEAM_OK);
	cr_assert_eq(arena.count, 3);
	cr_expect_eq(seam__arena_newer_bytes(&arena, 0), 0, "nothing is mapped");
	cr_assert_eq(prepare(64), SEAM_OK);
	cr_expect_eq(seam__arena_newer_bytes(&arena, 10), MIB(2));
	cr_expect_eq(seam__arena_newer_bytes(&arena, 11), MIB(1));
	cr_expect_eq(seam__arena_newer_bytes(&arena, 13), 0);
	(void)open_arena();
	cr_expect_eq(seam__arena_newer_bytes(&arena, 10), MIB(2), "what is leased is no block");
	give(blocks[2]);
	cr_expect_eq(seam__arena_newer_bytes(&arena, 10), MIB(1), "it is live no more");
}
