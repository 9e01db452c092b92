/* test_bestfit.c: which state a request is in: S1, S2, S1r, S3, S4, S5, each by an example worked by hand. */
#include "engine_fixture.h"

static void set_up(void)
{
	open_engine(&(struct seam_policy){.chunk_bytes = MIB(2), .small_bytes = MIB(1)});
}

TestSuite(bestfit, .init = set_up, .fini = close_engine);

Test(bestfit, exact_takes_the_same_place_without_a_call)
{
	struct seam_block *block = alloc(6);
	uint64_t va = block->va;
	cr_expect_eq(engine.counts.s4, 1);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(6));
	give(block);
	uint64_t calls = memory_calls();
	cr_expect_eq(alloc(6)->va, va);
	cr_expect_eq(engine.counts.s1, 1);
	cr_expect_eq(memory_calls(), calls, "S1 calls the driver");
}

Test(bestfit, split_leaves_the_rest_behind_it)
{
	struct seam_block *block = alloc(6);
	uint64_t va = block->va;
	give(block);
	uint64_t calls = memory_calls();
	cr_expect_eq(alloc(4)->va, va);
	cr_expect_eq(engine.counts.s2, 1);
	cr_expect_eq(alloc(2)->va, va + MIB(4), "the rest was not left free");
	cr_expect_eq(engine.counts.s1, 1);
	cr_expect_eq(memory_calls(), calls, "S2 calls the driver");
}

Test(bestfit, the_smallest_block_that_fits_is_split)
{
	struct seam_block *large = alloc(8), *guard = alloc(2), *small = alloc(4), *end = alloc(2);
	uint64_t small_va = small->va;
	(void)guard;
	(void)end;
	give(large);
	give(small);
	cr_expect_eq(alloc_on(MIB(3), stream_a)->va, small_va);
	cr_expect_eq(engine.counts.s2, 1);
}

/* Four of six chunks are free, in two places. */
static void make_two_gaps(void)
{
	struct seam_block *blocks[6];
	make_row(blocks, 6);
	give(blocks[0]);
	give(blocks[1]);
	give(blocks[3]);
	give(blocks[4]);
}

Test(bestfit, scattered_chunks_are_stitched_and_later_revived)
{
	make_two_gaps();
	uint64_t reserved = engine.memory.reserved_bytes, mappings = engine.memory.mapping_count;
	struct seam_block *block = alloc(8);
	uint64_t va = block->va;
	cr_expect_eq(engine.counts.s3, 1);
	cr_expect(block->view->stitched);
	cr_expect_eq(block->view->owned, 4);
	cr_expect_eq(engine.memory.reserved_bytes, reserved, "S3 grows the pool");
	cr_expect_eq(engine.memory.mapping_count, mappings + 4, "the old mappings must stay");
	give(block);
	uint64_t calls = memory_calls();
	cr_expect_eq(alloc(8)->va, va);
	cr_expect_eq(engine.counts.s1r, 1);
	cr_expect_eq(memory_calls(), calls, "S1r calls the driver");
	cr_expect_eq(engine.counts.scattered, 2);
}

Test(bestfit, a_run_of_a_view_revives_too)
{
	make_two_gaps();
	struct seam_block *block = alloc(8);
	uint64_t va = block->va;
	give(block);
	uint64_t calls = memory_calls();
	block = alloc(6);
	cr_expect_eq(engine.counts.s1r, 1);
	cr_expect(block->va == va || block->va == va + MIB(2), "not in the view");
	cr_expect_eq(memory_calls(), calls);
}

Test(bestfit, no_growth_while_free_chunks_are_enough) /* I5 */
{
	make_two_gaps();
	uint64_t reserved = engine.memory.reserved_bytes;
	struct seam_block *block = alloc_on(MIB(7), stream_a);
	cr_expect_eq(engine.memory.reserved_bytes, reserved);
	cr_expect_eq(engine.counts.s3, 1);
	/* The half chunk behind it is still usable. */
	cr_expect_eq(alloc_on(MIB(1), stream_a)->va, block->va + MIB(7));
	cr_expect_eq(engine.memory.reserved_bytes, reserved);
}

Test(bestfit, out_of_memory_changes_nothing) /* S5, I7 */
{
	make_two_gaps();
	forbid_growth();
	uint64_t live = engine.counts.live_bytes, reserved = engine.memory.reserved_bytes;
	struct seam_ask ask = ask_of(MIB(10), stream_a);
	struct seam_block *block = NULL;
	cr_expect_eq(try_ask(&ask, &block), SEAM_OOM_DEVICE);
	cr_expect_null(block);
	cr_expect_eq(engine.counts.s5, 1);
	cr_expect_eq(engine.counts.live_bytes, live);
	cr_expect_leq(engine.memory.reserved_bytes, reserved);
	cr_expect(alloc(8)->view->stitched, "what is there can still be had");
}

Test(bestfit, before_out_of_memory_pending_work_is_waited_for)
{
	struct seam_block *block = alloc(8);
	work_on(block, stream_a, LONG_NS);
	give(block);
	forbid_growth();
	cr_expect_eq(alloc_on(MIB(8), stream_b)->bytes, MIB(8));
	cr_expect_geq(engine.counts.retries, 1);
}

Test(bestfit, no_wait_means_no_wait)
{
	struct seam_block *block = alloc(8);
	work_on(block, stream_a, LONG_NS);
	give(block);
	forbid_growth();
	struct seam_ask ask = ask_of(MIB(8), stream_b);
	ask.no_wait = true;
	cr_expect_eq(try_ask(&ask, &block), SEAM_OOM_DEVICE);
	ask = ask_of(MIB(8), stream_a);
	ask.no_wait = true;
	cr_expect_eq(try_ask(&ask, &block), SEAM_OK, "its own stream need not wait");
}

Test(bestfit, a_contiguous_request_has_one_chunk_of_its_own)
{
	struct seam_ask ask = ask_of(MIB(6), stream_a);
	ask.class = SEAM_CLASS_CONTIGUOUS;
	struct seam_block *block = NULL;
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	uint64_t va = block->va;
	cr_expect_eq(engine.memory.chunk_count, 1);
	give(block);
	ask.bytes = ask.requested_bytes = MIB(4);
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	cr_expect_neq(block->va, va, "a contiguous chunk was split");
	ask.bytes = ask.requested_bytes = MIB(6);
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	cr_expect_eq(block->va, va);
	cr_expect_eq(engine.counts.s1, 1);
}

Test(bestfit, a_request_against_stitching_grows_instead)
{
	make_two_gaps();
	struct seam_ask ask = ask_of(MIB(8), stream_a);
	ask.no_stitch = true;
	struct seam_block *block = NULL;
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	cr_expect_not(block->view->stitched);
	cr_expect_eq(engine.counts.s4, 1 + 6);
	give(block);
	/* And with no room to grow, what is free elsewhere is returned to the device first. */
	ask.bytes = ask.requested_bytes = MIB(12);
	forbid_growth();
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	cr_expect_not(block->view->stitched);
	cr_expect_geq(engine.counts.retries, 1);
}

Test(bestfit, a_request_against_stitching_leaves_a_stitched_view_alone)
{
	make_two_gaps();
	struct seam_block *stitched = alloc_on(MIB(7), stream_a);
	struct seam_ask ask = ask_of(MIB(1), stream_a);
	ask.no_stitch = true;
	struct seam_block *block = NULL;
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	cr_expect_neq(block->view, stitched->view);
	cr_expect_not(block->view->stitched);
}
