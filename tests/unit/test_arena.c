/* test_arena.c: the chunks of an arena: kept, made, mapped, added. */
#include <stdio.h>
#include <string.h>

#include "arena_fixture.h"

TestSuite(arena, .init = set_up_arena, .fini = tear_down_arena);

Test(arena, of_free_chunks)
{
	give(alloc(8));
	uint64_t mappings = engine.memory.mapping_count;
	cr_assert_eq(begin_with_all(0), SEAM_OK);
	cr_expect_eq(arena.state, SEAM_ARENA_PREPARING);
	cr_expect_eq(arena.count, 4);
	cr_expect_eq(arena.bytes, MIB(8));
	cr_expect_eq(engine.memory.mapping_count, mappings, "begin maps nothing");
	cr_expect_eq(prepare(3), SEAM_BUSY);
	cr_expect_eq(arena.mapped, 3);
	cr_expect_eq(prepare(3), SEAM_OK);
	cr_expect_eq(arena.state, SEAM_ARENA_READY);
	cr_expect_eq(engine.memory.mapping_count, mappings + 4);
	cr_expect_eq(engine.memory.stitched_count, 1);
	cr_expect_eq(prepare(3), SEAM_OK, "nothing is left to do");
	uint64_t calls = memory_calls();
	cr_expect_neq(open_arena(), 0);
	cr_expect_eq(memory_calls(), calls);
	cr_expect_eq(arena.leased_bytes, MIB(8));
	cr_expect_str_eq(gaps(), "");
	plan_work(MIB(1), MIB(7), stream_a, 100);
}

Test(arena, in_the_order_that_was_asked_for)
{
	give(alloc(8));
	const uint64_t numbers[] = {3, 0, 2};
	cr_assert_eq(begin(numbers, 3, 0, 0), SEAM_OK);
	cr_assert_eq(prepare(64), SEAM_OK);
	cr_assert_neq(open_arena(), 0);
	for (uint32_t i = 0; i < 3; i++) {
		cr_expect_eq(arena.chunks[i].chunk->number, numbers[i]);
		cr_expect_eq(arena.chunks[i].leased_bytes, MIB(2));
	}
	cr_expect_eq(seam__arena_chunk_at(&arena, 0), 0);
	cr_expect_eq(seam__arena_chunk_at(&arena, MIB(2) - 1), 0);
	cr_expect_eq(seam__arena_chunk_at(&arena, MIB(2)), 1);
	cr_expect_eq(seam__arena_chunk_at(&arena, MIB(6) - 1), 2);
	cr_expect_eq(alloc(2)->view->slots[1].mapping->chunk->number, 1);
}

Test(arena, fresh_chunks_and_room_to_grow)
{
	give(alloc(2));
	lock_both();
	cr_assert_eq(seam__arena_begin(&engine, (const uint64_t[]){0}, 1, MIB(9), MIB(4), MIB(100), &arena), SEAM_OK);
	unlock_both();
	expect_arena();
	cr_expect_eq(arena.count, 4);
	cr_expect_eq(arena.chunks[1].bytes, MIB(4));
	cr_expect_eq(arena.chunks[3].bytes, MIB(2));
	cr_expect_eq(arena.bytes, MIB(12));
	cr_expect_eq(arena.view->reserved_bytes, MIB(100));
	cr_expect_eq(engine.memory.reserved_bytes, MIB(12));
	cr_assert_eq(prepare(64), SEAM_OK);
	cr_assert_neq(open_arena(), 0);
	cr_expect_eq(arena.leased_bytes, MIB(12));
}

Test(arena, fresh_only_as_growth_would)
{
	lock_both();
	cr_assert_eq(seam__arena_begin(&engine, NULL, 0, MIB(5), 0, 0, &arena), SEAM_OK);
	unlock_both();
	expect_arena();
	cr_expect_eq(arena.count, 3, "the policy says 2 MiB");
	cr_expect_eq(arena.bytes, MIB(6));
}

Test(arena, a_chunk_that_is_gone)
{
	give(alloc(8));
	struct seam_survey survey = survey_of(all_stay);
	cr_assert_eq(trim_to(MIB(4)), MIB(4));
	uint64_t numbers[4];
	for (uint32_t i = 0; i < 4; i++)
		numbers[i] = survey.chunks[i].number;
	drop_survey(&survey);
	cr_expect_eq(begin(numbers, 4, 0, 0), SEAM_NOT_FOUND);
	cr_expect_eq(arena.state, SEAM_ARENA_NONE);
	cr_expect_eq(begin(numbers, 2, 0, 0), SEAM_OK);
}

Test(arena, a_chunk_that_is_no_longer_for_arenas)
{
	struct seam_block *block = alloc(8);
	struct seam_chunk *chunk = block->view->slots[2].mapping->chunk;
	give(block);
	const uint64_t numbers[] = {0, 2};
	chunk->exported = true;
	cr_expect_eq(begin(numbers, 2, 0, 0), SEAM_NOT_FOUND);
	chunk->exported = false;
	cr_expect_eq(chunk->kept, 0);
	cr_expect_eq(begin(numbers, 2, 0, 0), SEAM_OK);
}

Test(arena, what_is_kept_is_not_trimmed)
{
	give(alloc(8));
	const uint64_t numbers[] = {1, 2};
	cr_assert_eq(begin(numbers, 2, 0, 0), SEAM_OK);
	cr_expect_eq(trim_to(0), MIB(4));
	cr_assert_eq(prepare(64), SEAM_OK);
	cr_expect_eq(trim_to(0), 0);
	close_after(NULL, 0, 0);
	cr_expect_eq(trim_to(0), MIB(4), "closed: nobody keeps them");
	cr_expect_eq(finish(), SEAM_OK);
}

Test(arena, shortages)
{
	give(alloc(8));
	engine.memory.mapping_limit = engine.memory.mapping_count + 3;
	cr_expect_eq(begin_with_all(0), SEAM_MAPPINGS);
	engine.memory.mapping_limit = engine.memory.mapping_count + 5;
	cr_expect_eq(begin_with_all(2), SEAM_MAPPINGS, "a new chunk is mapped twice");
	engine.memory.mapping_limit = UINT64_MAX;
	engine.memory.capacity_bytes = MIB(9);
	cr_expect_eq(begin_with_all(2), SEAM_OOM_DEVICE);
	engine.memory.capacity_bytes = UINT64_MAX;
	engine.memory.address_limit_bytes = engine.memory.address_bytes + MIB(6);
	cr_expect_eq(begin_with_all(0), SEAM_OOM_VA);
	engine.memory.address_limit_bytes = UINT64_MAX;
	cr_expect_eq(arena.state, SEAM_ARENA_NONE);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(8));
	cr_expect_eq(begin_with_all(2), SEAM_OK);
}

Test(arena, grows_while_it_is_open)
{
	give(alloc(4));
	struct seam_survey survey = survey_of(all_stay);
	const uint64_t numbers[] = {survey.chunks[0].number, survey.chunks[1].number};
	drop_survey(&survey);
	cr_assert_eq(begin(numbers, 2, 0, 10), SEAM_OK);
	cr_assert_eq(prepare(64), SEAM_OK);
	cr_assert_neq(open_arena(), 0);
	lock_both();
	cr_expect_eq(seam__arena_extend(&engine, &arena, NULL, 0, MIB(8), MIB(2)), SEAM_OOM_VA);
	cr_expect_eq(seam__arena_extend(&engine, &arena, NULL, 0, MIB(4), MIB(2)), SEAM_OK);
	unlock_both();
	expect_arena();
	cr_expect_eq(arena.state, SEAM_ARENA_OPEN);
	cr_expect_eq(arena.count, 4);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(8), "one that failed made nothing");
	cr_expect_eq(collect(0, 4), 0, "they are not mapped yet");
	cr_expect_str_eq(gaps(), "4-8");
	cr_assert_eq(prepare(1), SEAM_BUSY);
	cr_expect_eq(collect(0, 4), MIB(2));
	cr_assert_eq(prepare(1), SEAM_OK);
	cr_expect_eq(collect(2, 2), MIB(2));
	cr_expect_str_eq(gaps(), "");
	plan_work(0, MIB(8), stream_a, 100);
}

Test(arena, one_that_is_ready_grows_and_is_prepared_again)
{
	cr_assert_eq(begin(NULL, 0, 2, 8), SEAM_OK);
	cr_assert_eq(prepare(64), SEAM_OK);
	lock_both();
	cr_expect_eq(seam__arena_extend(&engine, &arena, NULL, 0, MIB(2), 0), SEAM_OK);
	unlock_both();
	cr_expect_eq(arena.state, SEAM_ARENA_PREPARING);
	cr_assert_eq(prepare(64), SEAM_OK);
	cr_expect_eq(arena.state, SEAM_ARENA_READY);
}

/* I7, I11: the nth driver call, or metadata allocation, of making an arena fails. */
static void fail_at_each(bool metadata)
{
	struct seam_block *blocks[5];
	make_row(blocks, 5);
	for (int i = 0; i < 5; i += 2)
		give(blocks[i]);
	enum seam_rc rc = SEAM_DRIVER;
	for (uint64_t n = 1; rc != SEAM_OK; n++) {
		cr_assert_lt(n, 100);
		struct seam_emu_usage before, after;
		seam__emu_usage(driver, &before);
		if (metadata)
			seam__meta_fail_at(meta, n);
		else
			seam__driver_fail_at(driver, n, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
		lock_both();
		rc = seam__arena_begin(&engine, (const uint64_t[]){0, 4}, 2, MIB(4), MIB(2), 0, &arena);
		while (rc == SEAM_OK && arena.state == SEAM_ARENA_PREPARING) {
			uint32_t mapped = arena.mapped;
			rc = seam__arena_prepare(&engine, &arena, 3);
			rc = rc == SEAM_BUSY ? SEAM_OK : rc;
			cr_expect(rc == SEAM_OK || arena.mapped == mapped);
		}
		if (rc == SEAM_OK)
			rc = lease_all() == MIB(8) ? SEAM_OK : SEAM_OOM_META;
		seam__meta_fail_at(meta, 0);
		seam__driver_fail_at(driver, 0, 0, 0);
		unlock_both();
		expect_arena();
		cr_expect(rc == SEAM_OK || rc == SEAM_OOM_META || rc == SEAM_DRIVER, "%s", seam_rc_name(rc));
		if (rc != SEAM_OK && arena.state == SEAM_ARENA_NONE) {
			seam__emu_usage(driver, &after);
			cr_expect_eq(after.handles, before.handles);
			cr_expect_eq(after.reservations, before.reservations);
		}
		if (rc != SEAM_OK && arena.state != SEAM_ARENA_NONE) {
			close_after(NULL, 0, 0);
			cr_expect_eq(finish(), SEAM_OK);
		}
	}
	cr_expect_eq(arena.leased_bytes, MIB(8));
}

Test(arena, a_driver_that_fails)
{
	fail_at_each(false);
}

Test(arena, metadata_that_is_lacking)
{
	fail_at_each(true);
}
