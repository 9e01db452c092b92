/* test_ref_expandable.c: the rules of PyTorch's expandable segments, one by one. */
#include <criterion/criterion.h>

#include "emu.h"
#include "ref_bed.h"

static struct ref_bed bed;

static void open_bed(void)
{
	bed = ref_bed_open(REF_EXPANDABLE, 4000 * MIB);
}

static void close_bed(void)
{
	ref_bed_close(&bed);
}

TestSuite(ref_expandable, .init = open_bed, .fini = close_bed);

Test(ref_expandable, small_memory_comes_in_granules_of_2_mib_and_large_of_20)
{
	bed_alloc(&bed, 512);
	cr_assert_eq(bed_reserved(&bed), 2 * MIB);
	bed_alloc(&bed, 41 * MIB);
	cr_assert_eq(bed_reserved(&bed), 62 * MIB);
}

Test(ref_expandable, a_handle_and_a_map_per_granule_and_one_access_per_range)
{
	bed_alloc(&bed, 41 * MIB);
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_mem_create), 3);
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_mem_map), 3);
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_mem_set_access), 1);
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_address_reserve), 1);
}

Test(ref_expandable, each_pool_and_stream_reserves_nine_eighths_of_the_device)
{
	uint64_t stream = bed_stream(&bed);
	bed_alloc(&bed, 2 * MIB);
	struct seam_emu_usage usage;
	seam__emu_usage(bed.driver, &usage);
	cr_assert_eq(usage.reservations, 1);
	cr_assert_eq(usage.reserved_va_bytes, 4500 * MIB);
	bed_alloc(&bed, 2 * MIB);
	seam__emu_usage(bed.driver, &usage);
	cr_assert_eq(usage.reservations, 1, "the same pool and stream");
	bed_alloc_on(&bed, 2 * MIB, stream);
	bed_alloc(&bed, 512);
	seam__emu_usage(bed.driver, &usage);
	cr_assert_eq(usage.reservations, 3);
	bed_stream_destroy(&bed, stream);
}

Test(ref_expandable, a_free_block_at_the_end_is_extended)
{
	uint64_t a = bed_alloc(&bed, 10 * MIB);
	cr_assert_eq(bed_alloc(&bed, 30 * MIB), a + 10 * MIB, "10 MiB are there, 20 are added");
	cr_assert_eq(bed_reserved(&bed), 40 * MIB);
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_mem_create), 2);
}

Test(ref_expandable, a_free_block_that_fits_is_used_first)
{
	uint64_t a = bed_alloc(&bed, 40 * MIB);
	bed_free(&bed, a);
	cr_assert_eq(bed_alloc(&bed, 39 * MIB), a);
	cr_assert_eq(bed_reserved(&bed), 40 * MIB);
}

Test(ref_expandable, large_blocks_are_split_for_512_bytes)
{
	bed_alloc(&bed, 20 * MIB - 512);
	cr_assert_eq(bed_live(&bed), 20 * MIB - 512);
}

Test(ref_expandable, a_block_that_can_grow_is_larger_than_it_looks)
{
	/* Free: 8 MiB between live blocks, and 5 MiB at the end, with all the unmapped space behind it. */
	uint64_t a = bed_alloc(&bed, 8 * MIB);
	bed_alloc(&bed, 7 * MIB);
	bed_free(&bed, a);
	cr_assert_eq(bed_alloc(&bed, 4 * MIB), a, "the inner block, though the outer one is the closer fit");
}

Test(ref_expandable, whole_free_granules_are_unmapped_and_no_more)
{
	uint64_t a = bed_alloc(&bed, 30 * MIB);
	uint64_t b = bed_alloc(&bed, 5 * MIB);
	cr_assert_eq(bed_reserved(&bed), 40 * MIB);
	bed_free(&bed, a);
	cr_assert_eq(ref_empty_cache(bed.allocator), SEAM_OK);
	bed_check(&bed);
	cr_assert_eq(bed_reserved(&bed), 20 * MIB, "the first granule goes, the second holds a live block");
	cr_assert_geq(bed_calls(&bed, SEAM_DRV_stream_sync), 1, "after its stream was waited for");
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_mem_unmap), 1);
	cr_assert_eq(bed_alloc(&bed, 30 * MIB), a, "the lowest unmapped address is filled first, up to the free rest");
	cr_assert_eq(bed_reserved(&bed), 40 * MIB);
	bed_free(&bed, b);
}

Test(ref_expandable, an_empty_segment_gives_its_addresses_back)
{
	uint64_t a = bed_alloc(&bed, 41 * MIB);
	bed_free(&bed, a);
	cr_assert_eq(ref_empty_cache(bed.allocator), SEAM_OK);
	cr_assert_eq(bed_reserved(&bed), 0);
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_address_free), 1);
}

Test(ref_expandable, a_failed_growth_leaves_nothing_behind)
{
	static const struct {
		const char *name;
		uint64_t nth; /* memory call that fails: reserve, then a create per granule, a map per granule, then
				 access */
	} rows[] = {{"first create", 2}, {"second create", 3}, {"first map", 4}, {"second map", 5}, {"access", 6}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ref_bed one = ref_bed_open(REF_EXPANDABLE, 4000 * MIB);
		/* Both attempts meet it: the second growth has no reserve, and so begins one call earlier. */
		seam__driver_fail_at(one.driver, rows[i].nth, UINT64_C(1) << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
		cr_assert_eq(bed_try_alloc(&one, 40 * MIB), SEAM_DRIVER, "%s", rows[i].name);
		cr_assert_eq(bed_reserved(&one), 0, "%s", rows[i].name);
		struct seam_emu_usage usage;
		seam__emu_usage(one.driver, &usage);
		cr_assert_eq(usage.used_bytes, 0, "%s", rows[i].name);
		bed_alloc(&one, 40 * MIB);
		ref_bed_close(&one);
	}
}

static void open_little(void)
{
	bed = ref_bed_open(REF_EXPANDABLE, 100 * MIB);
}

TestSuite(ref_expandable_oom, .init = open_little, .fini = close_bed);

Test(ref_expandable_oom, cached_granules_of_other_streams_are_returned_first)
{
	uint64_t stream = bed_stream(&bed);
	uint64_t a = bed_alloc_on(&bed, 60 * MIB, stream);
	bed_free(&bed, a);
	bed_alloc(&bed, 80 * MIB);
	cr_assert_eq(bed_reserved(&bed), 80 * MIB);
	bed_stream_destroy(&bed, stream);
}

Test(ref_expandable_oom, what_is_live_survives)
{
	bed_alloc(&bed, 60 * MIB);
	cr_assert_eq(bed_try_alloc(&bed, 60 * MIB), SEAM_OOM_DEVICE);
	cr_assert_eq(bed_try_alloc(&bed, 4000 * MIB), SEAM_OOM_DEVICE);
	cr_assert_eq(bed_live(&bed), 60 * MIB);
	cr_assert_eq(bed_reserved(&bed), 60 * MIB);
}

Test(ref_expandable_oom, nothing_is_mapped_before_all_of_it_is_there)
{
	bed_alloc(&bed, 60 * MIB);
	cr_assert_eq(bed_try_alloc(&bed, 60 * MIB), SEAM_OOM_DEVICE);
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_mem_map), 3, "those of the first request");
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_mem_unmap), 0);
	cr_assert_gt(bed_calls(&bed, SEAM_DRV_mem_release), 0, "what there was of the second's goes back");
}

Test(ref_expandable_oom, it_needs_virtual_memory_management)
{
	struct seam_emu_config config = {.memory = SEAM_EMU_BOOK, .no_vmm = true};
	struct seam_driver *driver;
	struct ref_allocator *allocator = NULL;
	char error[200] = "";
	cr_assert_eq(seam__emu_create(&config, error, sizeof error, &driver), SEAM_OK, "%s", error);
	cr_assert_eq(ref_create(REF_EXPANDABLE, driver, NULL, error, &allocator), SEAM_UNSUPPORTED);
	cr_assert_str_eq(error, "not supported by this device or build");
	cr_assert_null(allocator);
	seam__driver_destroy(driver);
}
