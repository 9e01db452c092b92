/* test_arena_end.c: an arena is closed while blocks are live in it, settles, and is taken down. */
#include <stdio.h>
#include <string.h>

#include "arena_fixture.h"

TestSuite(arena_end, .init = set_up_arena, .fini = tear_down_arena);

Test(arena_end, everything_is_as_before)
{
	give(alloc(8));
	wait_for_all();
	uint64_t mappings = engine.memory.mapping_count, addresses = engine.memory.address_bytes;
	make_arena(0);
	close_after(NULL, 0, 0);
	cr_expect_eq(arena.leased_bytes, 0);
	cr_expect_eq(finish(), SEAM_OK);
	cr_expect_eq(arena.state, SEAM_ARENA_NONE);
	cr_expect_eq(engine.memory.mapping_count, mappings);
	cr_expect_eq(engine.memory.address_bytes, addresses);
	struct seam_block *block = alloc(8);
	cr_expect(!block->view->stitched, "one extent again");
	cr_expect_eq(engine.memory.reserved_bytes, MIB(8));
}

/* I4 */
Test(arena_end, pending_work_keeps_the_mappings)
{
	give(alloc(4));
	wait_for_all();
	make_arena(0);
	plan_work(0, MIB(4), stream_a, LONG_NS);
	close_after(NULL, stream_a, 0);
	cr_expect_eq(arena.leased_bytes, 0);
	cr_expect_eq(finish(), SEAM_BUSY);
	struct seam_block *block = alloc(4);
	work_on(block, stream_a, 100);
	wait_for_all();
	cr_expect_eq(finish(), SEAM_OK);
}

Test(arena_end, live_blocks_keep_their_chunks)
{
	give(alloc(8));
	wait_for_all();
	make_arena(0);
	const uint32_t busy[] = {0, 1, 2, 0};
	plan_work(MIB(3), MIB(2), stream_a, 100); /* one over chunks 1 and 2, one in 2 */
	plan_work(MIB(5), MIB(1), stream_a, 100);
	close_after(busy, stream_a, 0);
	cr_expect_eq(arena.leased_bytes, MIB(4));
	cr_expect_str_eq(gaps(), "0-2 6-8");
	cr_expect_eq(finish(), SEAM_BUSY);
	cr_expect_eq(trim_to(0), MIB(4), "what was given back can go");
	cr_expect_eq(engine.memory.reserved_bytes, MIB(4));
	plan_work(MIB(3), MIB(2), stream_a, 100);
	settle_after(MIB(3), MIB(2), stream_a);
	cr_expect_eq(arena.leased_bytes, MIB(2));
	cr_expect_eq(alloc(2)->view->stitched, false);
	cr_expect_eq(finish(), SEAM_BUSY);
	settle_after(MIB(5), MIB(1), stream_a);
	cr_expect_eq(arena.leased_bytes, 0);
	wait_for_all();
	cr_expect_eq(finish(), SEAM_OK);
}

static uint64_t give_part_after(uint64_t begin, uint64_t end, uint64_t first, uint64_t second)
{
	struct seam_stream *streams[2];
	seam__mutex_lock(&engine.lock);
	uint32_t count = entries(first, second, streams);
	uint64_t bytes = seam__arena_give_part(&engine, &arena, begin, end, streams, count);
	seam__mutex_unlock(&engine.lock);
	expect_arena();
	return bytes;
}

#define HALF_MIB (UINT64_C(1) << 19)

/* Blocks at [2.5, 3), [3.5, 4.5) and [5.5, 6). */
Test(arena_end, what_lies_beside_live_blocks_goes_back)
{
	give(alloc(8));
	wait_for_all();
	make_arena(0);
	const uint32_t busy[] = {0, 2, 2, 0};
	close_after(busy, stream_a, 0);
	cr_expect_eq(arena.leased_bytes, MIB(4));
	cr_expect_eq(give_part_after(0, 5 * HALF_MIB, stream_a, 0), HALF_MIB, "the rest was given back with its chunk");
	cr_expect_eq(give_part_after(6 * HALF_MIB, 7 * HALF_MIB, stream_a, 0), HALF_MIB, "between two");
	cr_expect_eq(give_part_after(9 * HALF_MIB, 11 * HALF_MIB, stream_a, 0), MIB(1));
	cr_expect_eq(give_part_after(MIB(6), MIB(8), stream_a, 0), 0);
	cr_expect_eq(arena.leased_bytes, MIB(2));
	cr_expect_eq(give_part_after(9 * HALF_MIB, 11 * HALF_MIB, stream_a, 0), 0, "once");
	wait_for_all();
	struct seam_block *block = alloc_on(MIB(1), stream_b);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(8));
	cr_expect_eq(block->offset, 9 * HALF_MIB, "the smallest that is large enough");
	give(block);
	settle_after(7 * HALF_MIB, MIB(1), stream_a);
	cr_expect_eq(give_part_after(7 * HALF_MIB, 9 * HALF_MIB, stream_a, 0), MIB(1), "as it is freed");
	settle_after(11 * HALF_MIB, HALF_MIB, stream_a);
	settle_after(5 * HALF_MIB, HALF_MIB, stream_a);
	cr_expect_eq(arena.leased_bytes, 0);
	wait_for_all();
	cr_expect_eq(finish(), SEAM_OK);
}

/* Two streams work on an arena of 4 MiB. */
static void make_shared(void)
{
	give(alloc(4));
	wait_for_all();
	make_arena(0);
	plan_work(0, MIB(1), stream_a, LONG_NS);
	plan_work(MIB(1), MIB(1), stream_b, LONG_NS);
}

/* I4: what another stream still uses is pending; without the metadata for that it stays leased, as without that for the
 * blocks that a lease is cut into. */
Test(arena_end, parts_that_must_be_waited_for)
{
	make_shared();
	const uint32_t busy[] = {1, 0};
	close_after(busy, stream_a, stream_b);
	struct seam_slab *slabs[] = {&engine.use_slab, &engine.block_slab};
	for (unsigned i = 0; i < 2; i++) {
		uint64_t nodes = slabs[i]->free_objects;
		cr_assert_eq(seam__slab_reserve(slabs[i], nodes), SEAM_OK);
		seam__meta_fail_at(meta, 1);
		cr_expect_eq(give_part_after(HALF_MIB, MIB(1), stream_a, stream_b), 0);
		seam__meta_fail_at(meta, 0);
		seam__slab_unreserve(slabs[i], nodes);
	}
	uint64_t pending = engine.counts.pending_bytes;
	cr_expect_eq(give_part_after(HALF_MIB, MIB(1), stream_a, stream_b), HALF_MIB);
	cr_expect_eq(engine.counts.pending_bytes, pending + HALF_MIB);
	wait_for_all();
	settle_after(0, HALF_MIB, stream_a);
	cr_expect_eq(arena.leased_bytes, 0);
	wait_for_all();
	cr_expect_eq(finish(), SEAM_OK);
}

/* A chunk that lacked the metadata to go back when the arena was closed, and went in part later, is no more the arena's
 * than another. */
Test(arena_end, a_chunk_that_went_in_parts_is_not_kept)
{
	make_shared();
	uint64_t nodes = engine.use_slab.free_objects;
	cr_assert_eq(seam__slab_reserve(&engine.use_slab, nodes), SEAM_OK);
	seam__meta_fail_at(meta, 1);
	close_after(NULL, stream_a, stream_b);
	seam__meta_fail_at(meta, 0);
	seam__slab_unreserve(&engine.use_slab, nodes);
	cr_assert_neq(arena.leased_bytes, 0);
	(void)give_part_after(0, arena.bytes, stream_a, stream_b);
	cr_assert_eq(arena.leased_bytes, 0);
	wait_for_all();
	cr_expect_eq(finish(), SEAM_OK);
	cr_expect_eq(trim_to(0), MIB(4));
	cr_expect_eq(engine.memory.reserved_bytes, 0);
}

Test(arena_end, the_next_one_does_not_take_what_this_one_has)
{
	give(alloc(6));
	wait_for_all();
	make_arena(0);
	const uint32_t busy[] = {0, 1, 0};
	close_after(busy, stream_a, 0);
	struct seam_arena old = arena;
	arena = (struct seam_arena){0};
	make_arena(0);
	cr_expect_eq(arena.count, 3);
	cr_expect_eq(arena.leased_bytes, MIB(4));
	cr_expect_str_eq(gaps(), "2-4");
	cr_expect_eq(arena.chunks[1].chunk->kept, 2);
	struct seam_stream *stream = NULL;
	lock_both();
	cr_assert_eq(seam__engine_stream(&engine, stream_a, &stream), SEAM_OK);
	seam__arena_settle(&engine, &old, MIB(2), MIB(1), &stream, 1);
	cr_expect_null(seam__arena_check(&engine, &old));
	unlock_both();
	cr_expect_eq(arena.chunks[1].chunk->kept, 1);
	cr_expect_eq(collect(1, 1), MIB(2));
	cr_expect_eq(arena.leased_bytes, MIB(6));
	lock_both();
	cr_expect_eq(seam__arena_finish(&engine, &old, UINT32_MAX), SEAM_OK);
	cr_expect_eq(old.state, SEAM_ARENA_NONE);
	unlock_both();
	cr_expect_eq(arena.leased_bytes, MIB(6));
}

/* Who counts blocks knows nothing yet of chunks that are being prepared. */
Test(arena_end, closed_while_it_grows)
{
	cr_assert_eq(begin(NULL, 0, 4, 8), SEAM_OK);
	cr_assert_eq(prepare(64), SEAM_OK);
	cr_assert_neq(open_arena(), 0);
	lock_both();
	cr_assert_eq(seam__arena_extend(&engine, &arena, NULL, 0, MIB(4), MIB(2)), SEAM_OK);
	unlock_both();
	cr_assert_eq(prepare(1), SEAM_BUSY);
	const uint32_t busy[] = {1, 0, 7, 7};
	close_after(busy, stream_a, 0);
	cr_expect_eq(arena.leased_bytes, MIB(2));
	cr_expect_str_eq(gaps(), "2-8");
	cr_expect_eq(trim_to(0), MIB(6));
	settle_after(0, MIB(1), stream_a);
	cr_expect_eq(finish(), SEAM_OK);
}

Test(arena_end, closed_before_it_was_ready)
{
	give(alloc(8));
	cr_assert_eq(begin_with_all(0), SEAM_OK);
	cr_assert_eq(prepare(2), SEAM_BUSY);
	close_after(NULL, 0, 0);
	cr_expect_eq(finish(), SEAM_OK);
	cr_expect_eq(engine.memory.stitched_count, 0);
}

/* Two streams, and no memory to note that both must pass: it waits for finish(). */
Test(arena_end, closed_without_metadata)
{
	give(alloc(4));
	wait_for_all();
	make_arena(0);
	plan_work(0, MIB(2), stream_a, LONG_NS);
	plan_work(MIB(2), MIB(2), stream_b, LONG_NS);
	seam__mutex_lock(&engine.lock);
	struct seam_stream *streams[2];
	(void)entries(stream_a, stream_b, streams);
	uint64_t uses = engine.use_slab.free_objects;
	cr_assert_eq(seam__slab_reserve(&engine.use_slab, uses), SEAM_OK);
	seam__meta_fail_at(meta, 1);
	seam__arena_close(&engine, &arena, NULL, streams, 2);
	seam__meta_fail_at(meta, 0);
	seam__slab_unreserve(&engine.use_slab, uses);
	seam__mutex_unlock(&engine.lock);
	expect_arena();
	cr_expect_eq(arena.leased_bytes, MIB(4));
	cr_expect_eq(finish(), SEAM_BUSY);
	wait_for_all();
	cr_expect_eq(finish(), SEAM_OK);
	cr_expect_eq(alloc_on(MIB(4), stream_b)->view->stitched, false);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(4));
}

Test(arena_end, a_driver_that_refuses_to_unmap)
{
	give(alloc(4));
	wait_for_all();
	make_arena(0);
	close_after(NULL, 0, 0);
	seam__driver_fail_at(driver, 2, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	cr_expect_eq(finish(), SEAM_DRIVER);
	cr_expect_eq(arena.state, SEAM_ARENA_CLOSED);
	cr_expect_eq(arena.mapped, 1, "the last is unmapped");
	cr_expect_eq(finish(), SEAM_OK);
}

Test(arena_end, unmapped_a_few_at_a_time)
{
	give(alloc(10));
	wait_for_all();
	uint64_t mappings = engine.memory.mapping_count;
	make_arena(0);
	close_after(NULL, 0, 0);
	cr_expect_eq(finish_part(2), SEAM_BUSY);
	cr_expect_eq(engine.memory.mapping_count, mappings + 3);
	cr_expect_eq(finish_part(2), SEAM_BUSY);
	cr_expect_eq(engine.memory.mapping_count, mappings + 1);
	cr_expect_eq(finish_part(2), SEAM_OK);
	cr_expect_eq(engine.memory.mapping_count, mappings);
	cr_expect_eq(arena.state, SEAM_ARENA_NONE);
}

/* Chunks of a closed arena may go back to the driver; what is left of them is no work. */
Test(arena_end, holes_are_no_mappings)
{
	struct seam_block *first = alloc(2), *second = alloc(6);
	give(first);
	give(second);
	wait_for_all();
	make_arena(0);
	cr_assert_eq(arena.count, 4);
	close_after(NULL, 0, 0);
	cr_assert_eq(trim_to(MIB(4)), MIB(4));
	cr_assert_eq(arena.view->holes, 2, "nothing was unmapped: this tests nothing");
	cr_expect_eq(finish_part(1), SEAM_BUSY);
	cr_expect_eq(finish_part(1), SEAM_OK);
}

/* The engine goes first; what was leased goes with it. */
Test(arena_end, an_open_arena_at_the_end)
{
	struct seam_block *block = alloc(3);
	work_on(block, stream_a, LONG_NS);
	give(block);
	(void)alloc(1);
	make_arena(4);
	cr_expect_eq(arena.join_count, 1);
}
