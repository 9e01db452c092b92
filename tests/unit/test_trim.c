/* test_trim.c: what goes back to the device, and what must not. */
#include "engine_fixture.h"

static void set_up(void)
{
	open_engine(&(struct seam_policy){.chunk_bytes = MIB(2), .small_bytes = MIB(1)});
}

TestSuite(trim, .init = set_up, .fini = close_engine);

Test(trim, to_a_target_chunk_by_chunk)
{
	struct seam_block *block = alloc(12);
	give(block);
	cr_expect_eq(trim_to(MIB(7)), MIB(6));
	cr_expect_eq(engine.memory.reserved_bytes, MIB(6));
	cr_expect_eq(trim_to(MIB(6)), 0);
	cr_expect_eq(trim_to(0), MIB(6));
	struct seam_emu_usage usage;
	seam__emu_usage(driver, &usage);
	cr_expect_eq(usage.handles + usage.reservations, 0, "an empty home view stays");
}

Test(trim, a_chunk_in_use_in_part_stays)
{
	struct seam_block *block = alloc(6), *end = alloc_on(MIB(1), stream_a);
	(void)end;
	give(block);
	cr_expect_eq(trim_to(0), MIB(6));
	cr_expect_eq(engine.memory.reserved_bytes, MIB(2));
}

Test(trim, pending_memory_stays) /* I4 */
{
	struct seam_block *block = alloc(6);
	work_on(block, stream_a, LONG_NS);
	give(block);
	cr_expect_eq(trim_to(0), 0);
	wait_for_all();
	cr_expect_eq(trim_to(0), MIB(6));
}

Test(trim, stale_mappings_go_with_the_chunk)
{
	struct seam_block *blocks[5];
	make_row(blocks, 5);
	give(blocks[0]);
	give(blocks[2]);
	give(alloc(4));
	cr_expect_eq(engine.memory.stitched_count, 1);
	cr_expect_eq(trim_to(0), MIB(4));
	cr_expect_eq(engine.memory.stitched_count, 0);
	cr_expect_eq(engine.memory.mapping_count, 3);
}

Test(trim, a_view_in_use_keeps_what_it_owns_and_loses_the_rest)
{
	struct seam_block *blocks[5];
	make_row(blocks, 5);
	give(blocks[0]);
	give(blocks[2]);
	struct seam_block *both = alloc(4);
	struct seam_view *view = both->view;
	give(both);
	struct seam_block *half = alloc_on(MIB(3), stream_a); /* the view again */
	cr_expect_eq(half->view, view);
	struct seam_block *quarter = alloc_on(MIB(1), stream_a);
	give(half);
	cr_expect_eq(view->owned, 1);
	cr_expect_eq(trim_to(0), MIB(2));
	cr_expect_eq(view->holes, 1);
	give(quarter);
	cr_expect_eq(trim_to(0), MIB(2));
}

Test(trim, a_driver_that_refuses_leaves_the_chunk_usable)
{
	struct seam_block *block = alloc(2);
	uint64_t va = block->va, released = 0;
	give(block);
	wait_for_all();
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	seam__mutex_lock(&engine.change);
	seam__mutex_lock(&engine.lock);
	cr_expect_eq(seam__engine_trim(&engine, 0, &released), SEAM_DRIVER);
	seam__mutex_unlock(&engine.lock);
	seam__mutex_unlock(&engine.change);
	cr_expect_eq(released, 0);
	cr_expect_eq(alloc(2)->va, va);
}

/* Another stream may have used the view, so it stays for now; without a mapping it serves nobody. */
Test(trim, a_view_that_lost_everything_goes)
{
	struct seam_block *blocks[6];
	make_row(blocks, 5);
	blocks[5] = alloc_on(MIB(2), stream_b);
	give(blocks[0]);
	give(blocks[2]);
	give(alloc(4));
	cr_assert_eq(engine.memory.stitched_count, 1);
	work_on(blocks[5], stream_b, LONG_NS);
	give(blocks[5]);
	cr_expect_eq(trim_to(0), MIB(4));
	cr_expect_eq(engine.memory.stitched_count, 0);
}
