/* test_core_host.c: pinned host memory through the API. */
#include "core_fixture.h"

static void *must_host_alloc(uint64_t bytes, void *stream)
{
	void *ptr = NULL;
	cr_assert_ok(seam_host_alloc(pool, bytes, stream, &ptr));
	return ptr;
}

Test(core_host, bad_arguments_are_refused)
{
	open_pool(MIB(64), "host_capacity_bytes:64M");
	void *ptr = NULL;
	cr_assert_rc(seam_host_alloc(NULL, 1, NULL, &ptr), SEAM_INVALID);
	cr_assert_rc(seam_host_alloc(pool, 0, NULL, &ptr), SEAM_INVALID);
	cr_assert_rc(seam_host_alloc(pool, 1, NULL, NULL), SEAM_INVALID);
	cr_assert_rc(seam_host_alloc(pool, UINT64_MAX, NULL, &ptr), SEAM_OOM_HOST);
	cr_assert_rc(seam_host_alloc(pool, MIB(65), NULL, &ptr), SEAM_OOM_HOST);
	cr_assert_rc(seam_host_alloc(pool, 1, stream_of(0xdead000), &ptr), SEAM_DRIVER);
	cr_assert_null(ptr, "ret_ptr was touched");
	cr_assert_rc(seam_host_free(NULL, &ptr), SEAM_INVALID);
	cr_assert_rc(seam_host_free(pool, &ptr), SEAM_NOT_FOUND);
	cr_assert_ok(seam_host_free(pool, NULL));
	cr_assert_rc(seam_host_record_stream(NULL, &ptr, NULL), SEAM_INVALID);
	cr_assert_rc(seam_host_record_stream(pool, &ptr, NULL), SEAM_NOT_FOUND);
	close_pool();
}

Test(core_host, it_can_be_written_and_is_counted_apart_from_the_device)
{
	open_pool(MIB(64), NULL);
	char *ptr = must_host_alloc(MIB(3) + 1, NULL);
	memset(ptr, 7, MIB(3) + 1);
	struct seam_stats stats = get_stats();
	cr_assert_eq(stats.host_live_bytes, MIB(3) + 512, "exact sizes");
	cr_assert_geq(stats.host_reserved_bytes, stats.host_live_bytes);
	cr_assert_eq(stats.reserved_bytes, 0);
	cr_assert_rc(seam_free(pool, ptr), SEAM_NOT_FOUND);
	cr_assert_ok(seam_host_free(pool, ptr));
	cr_assert_rc(seam_host_free(pool, ptr), SEAM_NOT_FOUND);
	cr_assert_eq(get_stats().host_live_bytes, 0);
	close_pool();
}

Test(core_host, a_buffer_is_used_again_when_its_streams_have_passed)
{
	open_pool(MIB(64), NULL);
	void *a = make_stream(), *b = make_stream();
	char *device = must_alloc(MIB(8), a), *ptr = must_host_alloc(MIB(8), a);
	cr_assert_ok(seam_host_record_stream(pool, ptr, b));
	launch(b, device, MIB(8), UINT64_C(10000000000));
	cr_assert_ok(seam_host_free(pool, ptr));
	cr_assert_neq(must_host_alloc(MIB(8), a), ptr, "b has not passed");
	seam__emu_advance(driver, UINT64_C(20000000000));
	cr_assert_eq(must_host_alloc(MIB(8), a), ptr);
	close_pool();
}

Test(core_host, no_metadata_and_failing_drivers_are_errors)
{
	open_pool(MIB(64), NULL);
	void *ptr = NULL;
	seam__meta_fail_at(pool->meta, 1);
	cr_assert_rc(seam_host_alloc(pool, MIB(1), NULL, &ptr), SEAM_OOM_META);
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	cr_assert_rc(seam_host_alloc(pool, MIB(1), NULL, &ptr), SEAM_DRIVER);
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY);
	cr_assert_rc(seam_host_alloc(pool, MIB(1), NULL, &ptr), SEAM_OOM_HOST);
	cr_assert_null(ptr);
	ptr = must_host_alloc(MIB(1), NULL);
	cr_assert_eq(get_stats().host_live_bytes, MIB(1));
	close_pool();
}
