/* test_revive.c: which stitched view takes its chunks back (S1r), by examples worked by hand. */
#include "change.h"
#include "engine_fixture.h"

static struct seam_block *row[12];

/* Twelve chunks side by side, of which pairs are given back by name. */
static void set_up(void)
{
	open_engine(&(struct seam_policy){.chunk_bytes = MIB(2), .small_bytes = MIB(1)});
	make_row(row, 12);
}

TestSuite(revive, .init = set_up, .fini = close_engine);

static void give_row(unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count; i++)
		give(row[i]);
}

Test(revive, the_whole_view_of_the_right_size_comes_back)
{
	give_row(0, 2);
	give_row(3, 2);
	give_row(6, 1);
	struct seam_block *eight = alloc(8);
	uint64_t eight_va = eight->va;
	give(eight);
	struct seam_block *ten = alloc(10);
	uint64_t ten_va = ten->va;
	cr_expect_eq(engine.counts.s3, 2);
	give(ten);
	uint64_t calls = memory_calls();
	cr_expect_eq(alloc(8)->va, eight_va);
	cr_expect_eq(engine.counts.s1r, 1);
	cr_expect_eq(memory_calls(), calls);
	give_row(8, 1);
	give_row(10, 1);
	(void)ten_va;
}

Test(revive, of_equal_views_the_first_that_is_free)
{
	give_row(0, 1);
	give_row(2, 1);
	struct seam_block *first = alloc(4);
	give_row(4, 1);
	give_row(6, 1);
	struct seam_block *second = alloc(4);
	uint64_t first_va = first->va, second_va = second->va;
	cr_assert(first->view != second->view && first->view->number < second->view->number);
	give(first);
	struct seam_block *pin = alloc(2); /* takes one of the first view's chunks */
	cr_expect_not(pin->view->stitched);
	give(second);
	struct seam_block *block = alloc(4);
	cr_expect_eq(block->va, second_va, "the first view has a chunk elsewhere");
	cr_expect_eq(engine.counts.s1r, 1);
	give(block);
	give(pin);
	cr_expect_eq(alloc(4)->va, first_va, "it is free again");
	cr_expect_eq(engine.counts.s1r, 2);
}

Test(revive, a_view_with_too_much_left_over_is_not_taken)
{
	give_row(0, 1);
	give_row(2, 1);
	give_row(4, 1);
	give_row(6, 1);
	struct seam_block *eight = alloc(8);
	uint64_t va = eight->va;
	give(eight);
	struct seam_block *block = alloc_on(MIB(6) + 512, stream_a);
	cr_expect_eq(block->va, va, "less than a chunk is left over");
	give(block);
	block = alloc(4);
	cr_expect_eq(engine.counts.s1r, 2, "a run inside");
	cr_expect(block->va >= va && block->va < va + MIB(8));
}

/* 20 MiB in ten chunks, of which a request for 18 needs nine (PP2). */
Test(revive, a_chunk_at_the_end_that_is_not_needed_stays_at_home)
{
	struct seam_block *more[4];
	make_row(more, 4);
	give_row(0, 4);
	give_row(5, 4);
	give(more[0]);
	give(more[2]);
	struct seam_block *block = alloc(20);
	cr_assert_eq(block->view->slot_count, 10);
	give(block);
	block = alloc(18);
	cr_expect_eq(engine.counts.s1r, 1);
	cr_assert_eq(block->view->slot_count, 10);
	cr_expect_eq(block->view->owned, 9);
}

Test(revive, chunks_of_another_stream_do_not_count)
{
	give_row(0, 1);
	give_row(2, 1);
	struct seam_block *four = alloc(4);
	work_on(four, stream_a, LONG_NS);
	give(four);
	forbid_growth();
	struct seam_ask ask = ask_of(MIB(4), stream_b);
	ask.no_wait = true;
	struct seam_block *block = NULL;
	cr_expect_eq(try_ask(&ask, &block), SEAM_OOM_DEVICE);
	cr_expect_eq(engine.counts.s1r, 0);
	cr_expect(alloc(4)->view->stitched);
	cr_expect_eq(engine.counts.s1r, 1);
}

Test(revive, a_view_that_lost_a_chunk_to_a_trim_is_not_idle)
{
	give_row(0, 1);
	give_row(2, 1);
	struct seam_block *four = alloc(4);
	const struct seam_view *view = four->view;
	give(four);
	cr_expect(view->idle);
	trim_to(0);
	cr_expect_eq(engine.memory.stitched_count, 0, "nobody needs it");
	give_row(4, 1);
	give_row(6, 1);
	cr_expect(alloc(4)->view->stitched);
	cr_expect_eq(engine.counts.s1r, 0);
}
