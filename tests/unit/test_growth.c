/* test_growth.c: stitch/grow.c: where new chunks go, how large they are, and that a growth that fails leaves nothing.
 */
#include "change.h"
#include "engine_fixture.h"

static void set_up(void)
{
	open_engine(&(struct seam_policy){.chunk_bytes = MIB(2), .small_bytes = MIB(1)});
}

/* In the place of the suite's device, one with room for more than a GiB. */
static void set_up_large(void)
{
	close_engine();
	open_engine_of(&(struct seam_policy){.chunk_bytes = MIB(2), .small_bytes = MIB(1)}, MIB(2048));
}

TestSuite(growth, .init = set_up, .fini = close_engine);

Test(growth, at_the_end_only_what_the_tail_lacks)
{
	struct seam_block *guard = alloc(2), *tail = alloc(4);
	uint64_t va = tail->va;
	(void)guard;
	give(tail);
	cr_expect_eq(alloc(6)->va, va);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(8));
	cr_expect_eq(engine.memory.stitched_count, 0);
	cr_expect_eq(engine.counts.s4, 3);
}

Test(growth, stitches_where_that_needs_less)
{
	struct seam_block *gap = alloc(4), *end = alloc(2);
	(void)end;
	give(gap);
	struct seam_block *block = alloc(6);
	cr_expect(block->view->stitched);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(8), "2 MiB were missing");
	cr_expect_eq(engine.counts.s4, 3);
	cr_expect_eq(engine.counts.s3, 0, "a request counts once");
}

/* A pool of 1 GiB whose last block has free chunks before it: so many of them. A 512th of the pool is one. */
static void make_gap_in_a_gib(unsigned chunks)
{
	struct seam_block *large = alloc(1024 - 2 * chunks - 2), *gap = alloc(2 * chunks), *end = alloc(2);
	(void)large;
	(void)end;
	give(gap);
	cr_assert_eq(engine.memory.reserved_bytes, MIB(1024));
}

Test(growth, leaves_hardly_any_free_memory_where_it_is)
{
	set_up_large();
	make_gap_in_a_gib(1);
	cr_expect_not(alloc(8)->view->stitched);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(1032), "all of the request");
	cr_expect_eq(alloc(2)->view->stitched, false);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(1032), "the free chunk serves the next");
}

Test(growth, stitches_more_than_a_512th_of_the_pool)
{
	set_up_large();
	make_gap_in_a_gib(2);
	cr_expect(alloc(8)->view->stitched);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(1028));
}

Test(growth, leaves_nothing_where_the_device_has_no_room_for_all)
{
	set_up_large();
	make_gap_in_a_gib(1);
	engine.memory.capacity_bytes = MIB(1030);
	cr_expect(alloc(8)->view->stitched);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(1030));
	cr_expect_eq(engine.counts.retries, 0, "nothing was waited for");
}

Test(growth, leaves_nothing_where_the_device_refuses)
{
	set_up_large();
	for (uint64_t nth = 1; nth <= 4; nth++) { /* of the four chunks */
		make_gap_in_a_gib(1);
		seam__driver_fail_at(driver, nth, 1u << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY);
		cr_expect(alloc(8)->view->stitched, "create %lu", (unsigned long)nth);
		seam__driver_fail_at(driver, 0, 0, 0);
		cr_expect_eq(engine.memory.reserved_bytes, MIB(1030));
		set_up_large();
	}
}

Test(growth, fills_holes_first)
{
	struct seam_block *hole = alloc(4), *guard = alloc(2), *gap = alloc(2), *end = alloc(2);
	struct seam_view *home = guard->view;
	(void)end;
	give(hole);
	cr_expect_eq(trim_to(0), MIB(4));
	cr_expect_eq(home->holes, 2);
	give(gap);
	uint64_t used = home->used_bytes;
	cr_expect(alloc(4)->view->stitched);
	cr_expect_eq(home->holes, 1, "the missing chunk belongs into a hole");
	cr_expect_eq(home->used_bytes, used);
}

Test(growth, of_two_runs_of_holes_the_one_that_fits_is_taken)
{
	engine.policy.chunk_bytes = MIB(8);
	struct seam_block *eight = alloc(8), *guard = alloc(2);
	engine.policy.chunk_bytes = MIB(2);
	struct seam_block *four = alloc(4), *end = alloc(2);
	uint64_t va = four->va;
	(void)guard;
	(void)end;
	give(eight);
	give(four);
	cr_expect_eq(trim_to(0), MIB(12));
	cr_expect_eq(alloc(4)->va, va);
}

Test(growth, takes_no_hole_that_is_larger_than_what_is_missing)
{
	engine.policy.chunk_bytes = MIB(8);
	struct seam_block *hole = alloc(8), *guard = alloc(2), *gap = alloc(2), *end = alloc(2);
	(void)guard;
	(void)end;
	give(hole);
	cr_expect_eq(trim_to(0), MIB(8));
	give(gap);
	engine.memory.capacity_bytes = engine.memory.reserved_bytes + MIB(2);
	cr_expect_eq(alloc(4)->bytes, MIB(4), "2 MiB are missing, and 2 MiB may be taken");
}

Test(growth, a_foreign_tail_neither_counts_nor_swallows)
{
	struct seam_block *tail = alloc(4);
	work_on(tail, stream_a, LONG_NS);
	give(tail);
	struct seam_block *block = alloc_on(MIB(6), stream_b);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(10), "one growth of 6 MiB");
	cr_expect_eq(engine.counts.s4, 2);
	work_on(block, stream_b, 0);
}

Test(growth, a_tail_without_room_behind_it_is_no_start)
{
	engine.common.classes[SEAM_CLASS_LARGE].home_reserve_bytes = MIB(8);
	give(alloc(6)); /* 2 MiB of addresses are left behind it */
	struct seam_ask ask = ask_of(MIB(10), stream_a);
	ask.no_stitch = true;
	struct seam_block *block = NULL;
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(16), "one growth, in a view of its own");
}

static void expect_chunk(uint64_t request_mib, uint64_t chunk_mib)
{
	struct seam_block *block = alloc(request_mib);
	const struct seam_view *view = block->view;
	uint32_t slot = seam__view_slot_at(view, block->offset);
	cr_expect_eq(view->slots[slot].bytes, MIB(chunk_mib), "a request of %lu MiB in chunks of %lu MiB", request_mib,
		view->slots[slot].bytes >> 20);
}

/* Of a growth by so many bytes in a pool that has so many. */
static void expect_unit(uint64_t reserved_mib, uint64_t bytes_mib, uint64_t request_mib, uint64_t unit_mib)
{
	const uint64_t before_bytes = engine.memory.reserved_bytes;
	engine.memory.reserved_bytes = MIB(reserved_mib);
	const uint64_t bytes = seam__grow_chunk_bytes(
		&engine, &engine.common.classes[SEAM_CLASS_LARGE], MIB(bytes_mib), MIB(request_mib));
	engine.memory.reserved_bytes = before_bytes;
	cr_expect_eq(bytes, MIB(unit_mib), "%lu MiB", bytes >> 20);
}

Test(growth, chunks_grow_with_the_pool_and_with_the_request)
{
	engine.policy.chunk_bytes = 0;
	expect_unit(0, 1024, 0, 2);
	expect_unit(65536 - 8, 7, 0, 2);
	expect_unit(65536 - 8, 8, 0, 4);
	expect_unit(65536 - 8, 65536 + 8, 0, 8);
	expect_unit(0, 2, 1023, 2);
	expect_unit(0, 2, 1024, 4);
	expect_unit(0, 2, 4096, 16);
	expect_unit(0, 131072, 2048, 8);
	expect_chunk(512, 2);
}

Test(growth, a_wish_holds_on_a_full_device_too)
{
	engine.policy.chunk_bytes = MIB(16);
	engine.memory.device_bytes = MIB(256);
	expect_chunk(256, 16);
	expect_unit(65536, 2, 4096, 16);
}

Test(growth, a_small_request_has_a_view_of_its_own_with_chunks_of_2_mib)
{
	engine.policy.chunk_bytes = MIB(16);
	struct seam_block *large = alloc(16), *small = NULL;
	struct seam_ask ask = ask_of(512, stream_a);
	ask.class = SEAM_CLASS_SMALL;
	cr_assert_eq(try_ask(&ask, &small), SEAM_OK);
	cr_expect_neq(small->view, large->view);
	cr_expect_eq(small->view->slots[0].bytes, MIB(2));
	cr_expect_eq(seam__grow_chunk_bytes(&engine, small->view->ppool, MIB(1024), MIB(1024)), MIB(2));
}

/* The nth memory call of a growth: reserve (new view), create, create, map, map, set_access fails. */
Test(growth, a_call_that_fails_leaves_nothing)
{
	for (uint64_t nth = 1; nth <= 6; nth++) {
		struct seam_ask ask = ask_of(MIB(4), stream_a);
		struct seam_block *block = NULL;
		seam__driver_fail_at(driver, nth, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
		cr_expect_eq(try_ask(&ask, &block), SEAM_DRIVER, "call %lu", (unsigned long)nth);
		seam__driver_fail_at(driver, 0, 0, 0);
		struct seam_emu_usage usage;
		seam__emu_usage(driver, &usage);
		cr_expect_eq(usage.handles + usage.mappings + usage.reservations, 0, "call %lu left something",
			(unsigned long)nth);
		cr_expect_eq(engine.memory.reserved_bytes + engine.memory.unlisted_bytes, 0);
	}
	cr_expect_eq(alloc(4)->bytes, MIB(4));
}

Test(growth, beyond_the_capacity_nothing_is_created)
{
	engine.memory.capacity_bytes = MIB(8);
	struct seam_ask ask = ask_of(MIB(10), stream_a);
	struct seam_block *block = NULL;
	cr_expect_eq(try_ask(&ask, &block), SEAM_OOM_DEVICE);
	cr_expect_eq(driver->counts[SEAM_DRV_mem_create].calls, 0);
	cr_expect_eq(alloc(8)->bytes, MIB(8));
}

Test(growth, no_address_space_is_a_result)
{
	engine.memory.address_limit_bytes = MIB(8);
	struct seam_block *block = alloc(6);
	struct seam_ask ask = ask_of(MIB(4), stream_a);
	cr_expect_eq(try_ask(&ask, &block), SEAM_OOM_VA);
	cr_expect_eq(alloc(2)->bytes, MIB(2), "what still fits is served");
}

Test(growth, nothing_is_created_for_what_cannot_be_had)
{
	struct seam_block *block = alloc(2);
	uint64_t calls = memory_calls();
	struct seam_ask ask = ask_of(UINT64_C(1) << 40, stream_a);
	cr_expect_eq(try_ask(&ask, &block), SEAM_OOM_DEVICE, "more than the device");
	engine.memory.capacity_bytes = MIB(8);
	ask = ask_of(MIB(8), stream_a);
	cr_expect_eq(try_ask(&ask, &block), SEAM_OOM_DEVICE, "more than the pool may take");
	cr_expect_eq(memory_calls(), calls);
}

Test(growth, holes_serve_where_addresses_are_short)
{
	engine.common.classes[SEAM_CLASS_LARGE].home_reserve_bytes = MIB(16);
	struct seam_block *row[8];
	make_row(row, 8);
	engine.memory.address_limit_bytes = engine.memory.address_bytes;
	give(row[1]);
	give(row[3]);
	give(row[4]);
	cr_expect_eq(trim_to(0), MIB(6));
	cr_expect_eq(alloc(4)->offset, MIB(6));
	cr_expect_eq(alloc_on(MIB(1), stream_a)->offset, MIB(2));
	struct seam_ask ask = ask_of(MIB(2), stream_a);
	struct seam_block *block = NULL;
	cr_expect_eq(try_ask(&ask, &block), SEAM_OOM_VA);
}

/* I6: addresses do not grow with the number of trims. */
Test(growth, equal_requests_after_a_trim_go_where_they_were)
{
	struct seam_block *wide = alloc(6), *end = alloc(2);
	uint64_t va = wide->va, used = wide->view->used_bytes;
	for (int i = 0; i < 4; i++) {
		give(wide);
		cr_expect_eq(trim_to(0), MIB(6));
		wide = alloc(6);
		cr_expect_eq(wide->va, va);
		cr_expect_eq(end->view->used_bytes, used);
	}
}

Test(growth, full_tables_of_the_driver_cost_views)
{
	struct seam_block *row[8];
	make_row(row, 8);
	give(row[0]);
	give(row[2]);
	give(alloc(4));
	cr_assert_eq(engine.memory.stitched_count, 1);
	seam__driver_fail_at(driver, 3, 1u << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY); /* create, create, map */
	(void)alloc(8);
	cr_expect_eq(engine.counts.stitch_frees, 1);
}
