/* test_ref_direct.c: the allocator that hands every request to the driver, and the table of names. */
#include <criterion/criterion.h>

#include "ref_bed.h"

static struct ref_bed bed;

static void open_bed(void)
{
	bed = ref_bed_open(REF_DIRECT, 64 * MIB);
}

static void close_bed(void)
{
	ref_bed_close(&bed);
}

TestSuite(ref_direct, .init = open_bed, .fini = close_bed);

Test(ref_direct, every_request_is_a_driver_allocation)
{
	uint64_t a = bed_alloc(&bed, 700);
	cr_assert_eq(bed_reserved(&bed), 1024);
	bed_free(&bed, a);
	cr_assert_eq(bed_reserved(&bed), 0);
	bed_alloc(&bed, 700);
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_direct_alloc), 2);
	cr_assert_eq(bed_calls(&bed, SEAM_DRV_direct_free), 1);
}

Test(ref_direct, out_of_memory_is_reported_at_once)
{
	bed_alloc(&bed, 60 * MIB);
	cr_assert_eq(bed_try_alloc(&bed, 5 * MIB), SEAM_OOM_DEVICE);
	cr_assert_eq(bed_reserved(&bed), 60 * MIB);
}

Test(ref_direct, unknown_addresses_are_refused)
{
	uint64_t a = bed_alloc(&bed, 512);
	cr_assert_eq(ref_free(bed.allocator, a + 1), SEAM_NOT_FOUND);
	cr_assert_eq(ref_record_stream(bed.allocator, a + 1, 0), SEAM_NOT_FOUND);
	cr_assert_eq(ref_record_stream(bed.allocator, a, 0), SEAM_OK);
}

Test(ref_direct, a_limit_holds_below_the_device)
{
	struct ref_options options = {.limit_bytes = MIB};
	for (size_t i = 0; i < REF_KINDS; i++) {
		enum ref_kind kind = (enum ref_kind)i;
		if (kind == REF_SEAM)
			continue; /* has a configuration of its own */
		struct ref_allocator *allocator;
		cr_assert_eq(
			ref_create(kind, bed.driver, &options, NULL, &allocator), SEAM_OK, "%s", ref_kind_name(kind));
		uint64_t va = 0;
		struct ref_request request = {.bytes = MIB + 1};
		cr_assert_eq(ref_alloc(allocator, &request, &va), SEAM_OOM_DEVICE, "%s", ref_kind_name(kind));
		cr_assert_eq(ref_destroy(allocator), 0);
	}
}

Test(ref_direct, names_are_found)
{
	for (size_t i = 0; i < REF_KINDS; i++) {
		enum ref_kind kind;
		cr_assert(ref_kind_find(ref_kind_name((enum ref_kind)i), &kind));
		cr_assert_eq((size_t)kind, i);
	}
	enum ref_kind kind;
	cr_assert_not(ref_kind_find("cachin", &kind));
}
