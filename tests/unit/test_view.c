/* test_view.c: vmm/view.c: mapping chunks in views, all or nothing; slots; giving views up. */
#include "memory_fixture.h"

TestSuite(view, .init = open_memory, .fini = close_memory);

Test(view, its_addresses_count_from_its_listing)
{
	struct seam_view *view = NULL;
	cr_assert_eq(seam__view_create(&memory, MIB(8), true, 4, &view), SEAM_OK);
	cr_expect_eq(memory.address_bytes, 0);
	cr_expect_eq(usage().reserved_va_bytes, MIB(8));
	seam__view_list(&memory, view);
	cr_expect_eq(memory.address_bytes, MIB(8));
	cr_expect_eq(memory.stitched_bytes, MIB(8));
	cr_expect_eq(memory.stitched_count, 1);
	cr_expect(seam__view_forget(&memory, view, seam__view_release(&memory, view)));
	cr_expect_eq(memory.address_bytes + memory.stitched_bytes + memory.view_count, 0);
	cr_expect_eq(usage().reservations, 0);
}

Test(view, creation_has_limits)
{
	struct seam_view *view = NULL;
	memory.address_limit_bytes = MIB(8);
	cr_expect_eq(seam__view_create(&memory, MIB(10), false, 1, &view), SEAM_OOM_VA);
	make_view(6, false);
	cr_expect_eq(seam__view_create(&memory, MIB(4), false, 1, &view), SEAM_OOM_VA);
	memory.address_limit_bytes = UINT64_MAX;
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY);
	cr_expect_eq(seam__view_create(&memory, MIB(4), false, 1, &view), SEAM_OOM_VA);
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	cr_expect_eq(seam__view_create(&memory, MIB(4), false, 1, &view), SEAM_DRIVER);
	seam__meta_fail_at(meta, 1);
	cr_expect_eq(seam__view_create(&memory, MIB(4), false, 1, &view), SEAM_OOM_META);
	cr_expect_null(view);
	cr_expect_eq(usage().reservations, 1);
	expect_whole();
}

Test(view, slots_follow_each_other)
{
	struct seam_chunk *chunks[] = {make_chunk(2), make_chunk(6), make_chunk(4)};
	struct seam_view *view = make_view(16, false);
	map_at(view, 0, chunks, 2);
	map_at(view, MIB(8), &chunks[2], 1);
	cr_assert_eq(view->slot_count, 3);
	cr_expect_eq(view->used_bytes, MIB(12));
	cr_expect_eq(view->slots[2].offset, MIB(8));
	static const struct {
		const char *name;
		uint64_t offset_mib;
		uint32_t at, from;
	} rows[] = {
		{"the start", 0, 0, 0},
		{"inside the first", 1, 0, 1},
		{"start of the second", 2, 1, 1},
		{"inside the second", 7, 1, 2},
		{"the last", 8, 2, 2},
		{"inside the last", 11, 2, 3},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		cr_expect_eq(seam__view_slot_at(view, MIB(rows[i].offset_mib)), rows[i].at, "row: %s", rows[i].name);
		for (uint32_t near = 0; near <= 4; near++)
			cr_expect_eq(seam__view_slot_from(view, MIB(rows[i].offset_mib), near), rows[i].from,
				"row: %s, near %u", rows[i].name, near);
	}
	cr_expect_eq(seam__view_slot_from(view, MIB(12), 0), 3);
	cr_expect_eq(view->least_slot_bytes, MIB(2));
	expect_whole();
}

Test(view, a_slot_is_found_from_wherever_the_search_begins)
{
	struct seam_slot slots[37];
	struct seam_view view = {.slots = slots, .slot_count = 37};
	for (uint32_t i = 0; i < 37; i++) {
		slots[i] = (struct seam_slot){.offset = view.used_bytes, .bytes = (1 + i % 3) * 512};
		view.used_bytes += slots[i].bytes;
	}
	for (uint32_t i = 0; i < 37; i++) {
		for (uint32_t near = 0; near <= 40; near++) {
			cr_expect_eq(seam__view_slot_from(&view, slots[i].offset, near), i, "slot %u from %u", i, near);
			cr_expect_eq(seam__view_slot_from(&view, slots[i].offset + 1, near), i + 1,
				"behind slot %u from %u", i, near);
		}
	}
}

/* Whichever of map, map, map, set_access fails, nothing is mapped. */
Test(view, mapping_is_all_or_nothing)
{
	struct seam_chunk *chunks[3];
	make_home(chunks, 3);
	struct seam_view *view = make_view(6, true);
	struct seam_mapping *mappings[MOST];
	seam__meta_fail_at(meta, 1); /* room for more slots */
	cr_expect_eq(seam__view_map(&memory, view, 0, chunks, 3, mappings), SEAM_OOM_META);
	cr_expect_eq(usage().mappings, 3);
	for (uint64_t nth = 1; nth <= 4; nth++) {
		seam__driver_fail_at(driver, nth, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
		cr_expect_eq(seam__view_map(&memory, view, 0, chunks, 3, mappings), SEAM_DRIVER, "call %lu",
			(unsigned long)nth);
		cr_expect_eq(usage().mappings, 3, "call %lu", (unsigned long)nth);
		cr_expect_eq(view->slot_count, 0);
	}
	map_at(view, 0, chunks, 3);
	cr_expect_eq(usage().mappings, 6);
	expect_whole();
}

Test(view, full_tables_and_limits_are_told_apart_from_other_errors)
{
	struct seam_chunk *chunks[2];
	struct seam_mapping *mappings[MOST];
	make_home(chunks, 2);
	struct seam_view *view = make_view(4, true);
	seam__driver_fail_at(driver, 3, 1u << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY); /* set_access */
	cr_expect_eq(seam__view_map(&memory, view, 0, chunks, 2, mappings), SEAM_MAPPINGS);
	memory.mapping_limit = 3;
	cr_expect_eq(seam__view_map(&memory, view, 0, chunks, 2, mappings), SEAM_MAPPINGS);
	memory.mapping_limit = 4;
	map_at(view, 0, chunks, 2);
	cr_expect_eq(memory.mapping_peak, 4);
	expect_whole();
}

Test(view, what_was_mapped_can_be_undone_before_its_commit)
{
	struct seam_chunk *chunks[2];
	struct seam_mapping *mappings[MOST];
	make_home(chunks, 2);
	struct seam_view *view = make_view(4, true);
	cr_assert_eq(seam__view_map(&memory, view, 0, chunks, 2, mappings), SEAM_OK);
	cr_expect_eq(usage().mappings, 4);
	seam__view_map_undo(&memory, view, 0, mappings, 2);
	cr_expect_eq(usage().mappings, 2);
	expect_whole();
}

Test(view, a_hole_takes_a_chunk_again)
{
	struct seam_chunk *chunks[3];
	struct seam_view *home = make_home(chunks, 3);
	struct seam_mapping *middle = home->slots[1].mapping;
	cr_assert_eq(seam__mapping_unmap(&memory, middle), SEAM_OK);
	seam__mapping_forget(&memory, middle);
	seam__chunk_release(&memory, chunks[1]);
	seam__chunk_forget(&memory, chunks[1]);
	cr_expect_eq(home->holes, 1);
	expect_whole();
	struct seam_chunk *another = make_chunk(2);
	map_at(home, MIB(2), &another, 1);
	cr_expect_eq(home->holes, 0);
	cr_expect_eq(home->slot_count, 3);
	cr_expect_eq(another->home_slot, 1);
	expect_whole();
}

Test(view, shrinking_drops_holes_at_the_end_only)
{
	struct seam_chunk *chunks[3];
	struct seam_view *home = make_home(chunks, 3);
	cr_expect_eq(seam__view_shrink(home), 0);
	static const uint32_t gone[] = {0, 2};
	for (int i = 0; i < 2; i++) {
		struct seam_chunk *chunk = chunks[gone[i]];
		struct seam_mapping *mapping = home->slots[gone[i]].mapping;
		cr_assert_eq(seam__mapping_unmap(&memory, mapping), SEAM_OK);
		seam__mapping_forget(&memory, mapping);
		seam__chunk_release(&memory, chunk);
		seam__chunk_forget(&memory, chunk);
	}
	cr_expect_eq(seam__view_shrink(home), 1);
	cr_expect_eq(home->slot_count, 2);
	cr_expect_eq(home->used_bytes, MIB(4));
	cr_expect_eq(home->holes, 1);
	expect_whole();
}

Test(view, a_release_that_is_refused_half_way_keeps_the_books_right)
{
	struct seam_chunk *chunks[3];
	make_home(chunks, 3);
	struct seam_view *view = make_view(6, true);
	map_at(view, 0, chunks, 3);
	seam__driver_fail_at(driver, 2, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	uint32_t slots = seam__view_release(&memory, view);
	cr_expect_eq(slots, 1);
	cr_expect_not(seam__view_forget(&memory, view, slots));
	cr_expect_eq(view->holes, 1);
	cr_expect_eq(memory.mapping_count, usage().mappings);
	expect_whole();
	slots = seam__view_release(&memory, view);
	cr_expect_eq(slots, 3);
	cr_expect(seam__view_forget(&memory, view, slots));
	cr_expect_eq(usage().reservations, 1);
	expect_whole();
}

Test(view, more_slots_wait_for_the_commit)
{
	struct seam_chunk *chunks[5];
	for (int i = 0; i < 5; i++)
		chunks[i] = make_chunk(2);
	struct seam_view *view = make_view(16, false);
	const struct seam_slot *before = view->slots;
	cr_assert_eq(seam__view_reserve_slots(&memory, view, 5), SEAM_OK);
	cr_expect_eq(view->slots, before, "readers under the lock still see the old array");
	cr_assert_not_null(view->spare);
	map_at(view, 0, chunks, 5);
	cr_expect_null(view->spare);
	cr_expect_geq(view->slot_capacity, 5);
	cr_expect_eq(view->slots[4].mapping->chunk, chunks[4]);
	expect_whole();
}
