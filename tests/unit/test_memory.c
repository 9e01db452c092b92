/* test_memory.c: vmm/memory.c: chunks and their account, limits, access for peers, and what the check notices. */
#include "memory_fixture.h"

TestSuite(memory, .init = open_memory, .fini = close_memory);
TestSuite(memory_without_vmm);

Test(memory_without_vmm, it_is_unsupported)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_BOOK, .no_vmm = true};
	cr_assert_eq(seam__emu_create(&config, NULL, 0, &driver), SEAM_OK);
	meta = seam__meta_create(0);
	cr_expect_eq(seam__memory_init(&memory, driver, meta, &props), SEAM_UNSUPPORTED);
	cr_expect_eq(seam__meta_destroy(meta), 0);
	seam__driver_destroy(driver);
}

Test(memory, a_chunk_counts_from_its_listing)
{
	struct seam_chunk *chunk = make_chunk(4);
	cr_expect_eq(memory.reserved_bytes, 0);
	cr_expect_eq(memory.unlisted_bytes, MIB(4));
	cr_expect_eq(usage().used_bytes, MIB(4));
	struct seam_view *view = make_view(8, false);
	map_at(view, 0, &chunk, 1);
	cr_expect_eq(memory.reserved_bytes, MIB(4));
	cr_expect_eq(memory.reserved_peak_bytes, MIB(4));
	cr_expect_eq(memory.unlisted_bytes, 0);
	cr_expect_eq(memory.chunk_count, 1);
	expect_whole();
}

Test(memory, an_unlisted_chunk_can_go)
{
	struct seam_chunk *chunk = make_chunk(2);
	seam__chunk_release(&memory, chunk);
	seam__chunk_forget(&memory, chunk);
	cr_expect_eq(memory.unlisted_bytes, 0);
	cr_expect_eq(usage().handles, 0);
}

Test(memory, the_capacity_counts_what_is_not_listed_yet)
{
	struct seam_chunk *first = NULL, *second = NULL;
	memory.capacity_bytes = MIB(6);
	cr_expect_eq(seam__chunk_create(&memory, MIB(4), &first), SEAM_OK);
	cr_expect_eq(seam__chunk_create(&memory, MIB(4), &second), SEAM_OOM_DEVICE);
	cr_expect_null(second);
	cr_expect_eq(usage().handles, 1);
	cr_expect_eq(seam__chunk_create(&memory, MIB(2), &second), SEAM_OK);
	struct seam_chunk *chunks[] = {first, second};
	map_at(make_view(8, false), 0, chunks, 2);
}

Test(memory, a_full_device_is_out_of_memory)
{
	struct seam_chunk *chunk = NULL;
	seam__meta_fail_at(meta, 1);
	cr_expect_eq(seam__chunk_create(&memory, MIB(2), &chunk), SEAM_OOM_META);
	cr_expect_eq(seam__chunk_create(&memory, MIB(128), &chunk), SEAM_OOM_DEVICE);
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	cr_expect_eq(seam__chunk_create(&memory, MIB(2), &chunk), SEAM_DRIVER);
	cr_expect_null(chunk);
	cr_expect_eq(memory.unlisted_bytes, 0);
}

Test(memory, a_release_that_is_refused_once_is_tried_again)
{
	struct seam_chunk *chunk = make_chunk(2);
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	seam__chunk_release(&memory, chunk);
	seam__chunk_forget(&memory, chunk);
	cr_expect_eq(usage().handles, 0);
}

Test(memory, a_chunk_knows_all_its_mappings)
{
	struct seam_chunk *chunks[2];
	struct seam_view *home = make_home(chunks, 2), *stitched = make_view(4, true);
	map_at(stitched, 0, &chunks[1], 1);
	const struct seam_mapping *newest = LIST_FIRST(&chunks[1]->mappings);
	cr_expect_eq(newest, stitched->slots[0].mapping);
	cr_expect_eq(LIST_NEXT(newest, of_chunk), home->slots[1].mapping);
	cr_expect_null(LIST_NEXT(LIST_NEXT(newest, of_chunk), of_chunk));
	cr_expect_eq(LIST_FIRST(&chunks[0]->mappings), home->slots[0].mapping);
	cr_expect_eq(memory.mapping_count, 3);
	expect_whole();
}

/* The emulated device has no peer; of memory that lies on the host, the host can be given access. */
static void put_memory_on_host(void)
{
	memory.props.where = (struct seam_location){SEAM_AT_HOST, 0};
}

Test(memory, access_is_granted_once_and_for_later_mappings_too)
{
	put_memory_on_host();
	struct seam_chunk *chunks[2], *later;
	struct seam_view *home = make_home(chunks, 2);
	const struct seam_location host = {SEAM_AT_HOST, 0};
	enum seam_access_mode mode = SEAM_ACCESS_NONE;
	cr_assert_eq(seam__memory_grant(&memory, host), SEAM_OK);
	cr_expect_eq(seam__drv_mem_get_access(driver, home->va + MIB(2), &host, &mode), 0);
	cr_expect_eq(mode, SEAM_ACCESS_READWRITE);
	uint64_t calls = seam__driver_calls(driver, SEAM_DRV_MEMORY);
	cr_expect_eq(seam__memory_grant(&memory, host), SEAM_OK);
	cr_expect_eq(seam__driver_calls(driver, SEAM_DRV_MEMORY), calls, "twice is nothing");
	later = make_chunk(2);
	map_at(home, MIB(4), &later, 1);
	mode = SEAM_ACCESS_NONE;
	cr_expect_eq(seam__drv_mem_get_access(driver, home->va + MIB(4), &host, &mode), 0);
	cr_expect_eq(mode, SEAM_ACCESS_READWRITE);
}

Test(memory, access_that_fails_in_part_is_taken_back)
{
	put_memory_on_host();
	struct seam_chunk *chunks[2];
	struct seam_view *home = make_home(chunks, 2), *stitched = make_view(4, true);
	const struct seam_location host = {SEAM_AT_HOST, 0};
	enum seam_access_mode mode = SEAM_ACCESS_READWRITE;
	map_at(stitched, 0, chunks, 2);
	seam__driver_fail_at(driver, 2, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	cr_expect_eq(seam__memory_grant(&memory, host), SEAM_DRIVER);
	cr_expect_eq(memory.access_count, 1);
	cr_expect_eq(seam__drv_mem_get_access(driver, home->va, &host, &mode), 0);
	cr_expect_eq(mode, SEAM_ACCESS_NONE);
}

Test(memory, a_gap_in_a_view_is_no_obstacle_to_access)
{
	put_memory_on_host();
	struct seam_chunk *chunks[3];
	struct seam_view *home = make_home(chunks, 3), *stitched = make_view(6, true);
	map_at(stitched, 0, chunks, 3);
	struct seam_mapping *middle = stitched->slots[1].mapping;
	cr_assert_eq(seam__mapping_unmap(&memory, middle), SEAM_OK);
	seam__mapping_forget(&memory, middle);
	(void)home;
	cr_expect_eq(seam__memory_grant(&memory, (struct seam_location){SEAM_AT_HOST, 0}), SEAM_OK);
	expect_whole();
}

static void expect_broken(const char *start)
{
	const char *broken = seam__memory_check(&memory);
	cr_expect(
		broken != NULL && strncmp(broken, start, strlen(start)) == 0, "%s expected, found: %s", start, broken);
}

Test(memory, check_notices_what_is_wrong)
{
	struct seam_chunk *chunks[2];
	struct seam_view *home = make_home(chunks, 2), *stitched = make_view(4, true);
	expect_whole();
	chunks[0]->home_slot = 1;
	expect_broken("M1");
	chunks[0]->home_slot = 0;
	chunks[0]->owner = stitched;
	expect_broken("M2");
	chunks[0]->owner = home;
	memory.reserved_bytes++;
	expect_broken("M3");
	memory.reserved_bytes--;
	memory.mapping_count++;
	expect_broken("M3");
	memory.mapping_count--;
	memory.address_bytes++;
	expect_broken("M3");
	memory.address_bytes--;
	home->slots[1].offset++;
	expect_broken("M4");
	home->slots[1].offset--;
	home->holes++;
	expect_broken("M4");
	home->holes--;
	memory.mapping_limit = 1;
	expect_broken("M5");
	memory.mapping_limit = UINT64_MAX;
	expect_whole();
}
