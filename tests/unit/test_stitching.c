/* test_stitching.c: stitch.c, claim.c and stitchfree.c: new views, their failures, their end under a budget. */
#include "change.h"
#include "engine_fixture.h"

static struct seam_block *row[12];

static void set_up(void)
{
	open_engine(&(struct seam_policy){.chunk_bytes = MIB(2), .small_bytes = MIB(1)});
	make_row(row, 10);
}

TestSuite(stitching, .init = set_up, .fini = close_engine);

/* Frees chunks of the row, given as digits. */
static void give_some(const char *digits)
{
	for (; *digits != '\0'; digits++)
		give(row[*digits - '0']);
}

Test(stitching, chunks_go_home_with_the_block)
{
	give_some("024");
	struct seam_block *block = alloc(6);
	const struct seam_view *view = block->view;
	cr_expect_eq(view->owned, 3);
	give(block);
	cr_expect_eq(view->owned, 0);
	cr_expect(TAILQ_EMPTY(&view->blocks));
	cr_expect_eq(alloc(2)->view, row[1]->view, "at home they serve singly");
}

Test(stitching, the_rest_of_the_last_chunk_stays_until_it_is_whole)
{
	give_some("02");
	struct seam_block *block = alloc_on(MIB(3), stream_a);
	struct seam_view *view = block->view;
	struct seam_block *rest = alloc_on(MIB(1), stream_a);
	cr_expect_eq(rest->view, view);
	give(block);
	cr_expect_eq(view->owned, 1, "one chunk is still in use");
	give(rest);
	cr_expect_eq(view->owned, 0);
}

/* The nth call of Stitch: reserve, map, map, map, set_access. */
Test(stitching, a_call_that_fails_rolls_back)
{
	give_some("024");
	struct seam_emu_usage before, after;
	seam__emu_usage(driver, &before);
	for (uint64_t nth = 1; nth <= 5; nth++) {
		struct seam_ask ask = ask_of(MIB(6), stream_a);
		struct seam_block *block = NULL;
		seam__driver_fail_at(driver, nth, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
		cr_expect_eq(try_ask(&ask, &block), SEAM_DRIVER, "call %lu", (unsigned long)nth);
		seam__driver_fail_at(driver, 0, 0, 0);
		seam__emu_usage(driver, &after);
		cr_expect_eq(after.mappings, before.mappings, "call %lu", (unsigned long)nth);
		cr_expect_eq(after.reservations, before.reservations, "call %lu", (unsigned long)nth);
	}
	cr_expect(alloc(6)->view->stitched, "the chunks are free where they were");
	cr_expect_eq(engine.counts.s3, 1);
}

Test(stitching, full_tables_of_the_driver_lead_to_growth)
{
	give_some("024");
	/* The fifth call is set_access: here OUT_OF_MEMORY means its tables. */
	seam__driver_fail_at(driver, 5, 1u << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY);
	struct seam_block *block = alloc(6);
	cr_expect_not(block->view->stitched);
	cr_expect_eq(engine.counts.s4, 11);
}

Test(stitching, the_least_recently_used_views_go_under_a_mapping_limit) /* I6 */
{
	engine.memory.mapping_limit = 14; /* 10 at home, 4 more */
	give_some("02");
	struct seam_block *block = alloc(4);
	const uint64_t first_view = block->view->number;
	give(block);
	row[0] = alloc(2);
	row[2] = alloc(2);
	give_some("46");
	block = alloc(4);
	cr_expect_eq(engine.memory.mapping_count, 14);
	give(block);
	give_some("8");
	block = alloc(6);
	cr_expect(block->view->stitched);
	cr_expect_geq(engine.counts.stitch_frees, 1);
	cr_expect_leq(engine.memory.mapping_count, 14);
	cr_expect_neq(block->view->number, first_view);
}

Test(stitching, views_with_pending_work_are_not_given_up) /* I4 */
{
	engine.memory.mapping_limit = 12;
	give_some("02");
	struct seam_block *block = alloc(4);
	work_on(block, stream_a, LONG_NS);
	give(block);
	seam__mutex_lock(&engine.change);
	seam__mutex_lock(&engine.lock);
	cr_expect_not(seam__stitch_free(&engine, 1, 0));
	cr_expect_eq(engine.counts.stitch_frees, 0);
	seam__emu_advance(driver, LONG_NS);
	cr_expect(seam__stitch_free(&engine, 1, 0));
	cr_expect_eq(engine.counts.stitch_frees, 1);
	seam__mutex_unlock(&engine.lock);
	seam__mutex_unlock(&engine.change);
}

Test(stitching, all_views_that_own_nothing_can_go)
{
	give_some("02");
	struct seam_block *used = alloc(4);
	give_some("468");
	give(alloc(6));
	seam__mutex_lock(&engine.change);
	seam__mutex_lock(&engine.lock);
	cr_expect_eq(seam__stitch_free_all(&engine), 1);
	seam__mutex_unlock(&engine.lock);
	seam__mutex_unlock(&engine.change);
	cr_expect_eq(engine.memory.stitched_count, 1);
	cr_expect(used->view->stitched);
}

Test(stitching, no_memory_for_nodes_is_a_result)
{
	give_some("024");
	struct seam_ask ask = ask_of(MIB(6), stream_a);
	struct seam_block *block = NULL;
	seam__meta_fail_at(meta, 1);
	enum seam_rc rc = try_ask(&ask, &block);
	seam__meta_fail_at(meta, 0);
	cr_expect_eq(rc, SEAM_OOM_META);
	cr_expect_eq(engine.counts.live_blocks, 7);
	cr_expect(alloc(6)->view->stitched);
}
