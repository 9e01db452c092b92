/* test_core_upkeep.c: trimming, ends of streams, peers. */
#include "core_fixture.h"

#define LONG_NS UINT64_C(3600000000000) /* longer than any test's virtual time */

Test(core_upkeep, trimming_stops_at_the_target)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	void *kept = must_alloc(MIB(10), NULL);
	must_free(must_alloc(MIB(50), NULL));
	uint64_t released = 0;
	cr_assert_ok(seam_trim(pool, MIB(40), &released));
	cr_assert_eq(released, MIB(20));
	cr_assert_eq(get_stats().reserved_bytes, MIB(40));
	cr_assert_ok(seam_trim(pool, MIB(40), &released));
	cr_assert_eq(released, 0);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_assert_eq(get_stats().reserved_bytes, MIB(10), "live blocks stay");
	must_free(kept);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	struct seam_stats stats = get_stats();
	cr_assert_eq(stats.reserved_bytes, 0);
	cr_assert_eq(stats.address_bytes, 0);
	cr_assert_rc(seam_trim(NULL, 0, &released), SEAM_INVALID);
	close_pool();
}

Test(core_upkeep, trimming_waits_only_where_that_helps)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	void *a = make_stream(), *b = make_stream();
	char *ptr = must_alloc(MIB(20), a);
	void *between = must_alloc(MIB(2), a); /* free neighbours would be one block */
	char *other = must_alloc(MIB(20), b);
	launch(a, ptr, MIB(20), LONG_NS);
	must_free(ptr);
	must_free(other);
	uint64_t waits = atomic_load(&driver->counts[SEAM_DRV_device_sync].calls);
	uint64_t released = 0;
	cr_assert_ok(seam_trim(pool, MIB(22), &released));
	cr_assert_eq(released, MIB(20), "the memory that nobody uses was enough");
	cr_assert_eq(atomic_load(&driver->counts[SEAM_DRV_device_sync].calls), waits, "no wait");
	cr_assert_ok(seam_trim(pool, 0, &released));
	cr_assert_eq(released, MIB(20));
	cr_assert_eq(atomic_load(&driver->counts[SEAM_DRV_device_sync].calls), waits + 1, "it waited for the kernel");
	cr_assert_ok(seam_trim(pool, 0, &released));
	cr_assert_eq(
		atomic_load(&driver->counts[SEAM_DRV_device_sync].calls), waits + 1, "nothing was left to wait for");
	must_free(between);
	close_pool();
}

Test(core_upkeep, nothing_is_trimmed_during_a_capture)
{
	open_pool(MIB(256), NULL);
	void *stream = make_stream();
	(void)must_alloc(512, stream);
	must_free(must_alloc(MIB(20), make_stream())); /* could go, as no work was ever there */
	cr_assert_eq(seam__drv_capture_begin(driver, (uint64_t)(uintptr_t)stream), SEAM_CU_SUCCESS);
	uint64_t released = 5;
	cr_assert_rc(seam_trim(pool, 0, &released), SEAM_CAPTURING);
	cr_assert_eq(released, 5, "ret_released_bytes was touched");
	cr_assert_eq(get_stats().reserved_bytes, MIB(22));
	cr_assert_eq(seam__drv_capture_end(driver, (uint64_t)(uintptr_t)stream), SEAM_CU_SUCCESS);
	cr_assert_ok(seam_trim(pool, 0, &released));
	cr_assert_eq(released, MIB(20));
	close_pool();
}

Test(core_upkeep, a_driver_that_refuses_to_unmap_leaves_the_pool_whole)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	must_free(must_alloc(MIB(20), NULL));
	uint64_t released = 5;
	seam__driver_fail_at(driver, 3, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	cr_assert_rc(seam_trim(pool, 0, &released), SEAM_DRIVER);
	cr_assert_eq(released, 5, "ret_released_bytes was touched");
	check_pool();
	(void)must_alloc(MIB(40), NULL);
	close_pool();
}

Test(core_upkeep, memory_of_an_announced_end_is_used_when_it_has_passed)
{
	open_pool(MIB(64), NULL);
	void *stream = make_stream();
	char *ptr = must_alloc(MIB(40), stream);
	launch(stream, ptr, MIB(40), 1000);
	must_free(ptr);
	cr_assert_ok(seam_stream_destroyed(pool, stream));
	end_stream(stream);
	seam__emu_advance(driver, 1000000);
	char *again = must_alloc(MIB(40), NULL);
	launch(NULL, again, MIB(40), 1000);
	cr_assert_eq(get_stats().retries, 0, "no wait was needed");
	close_pool();
}

Test(core_upkeep, memory_of_an_end_without_notice_waits_for_the_device)
{
	open_pool(MIB(64), NULL);
	void *stream = make_stream();
	char *ptr = must_alloc(MIB(40), stream);
	launch(stream, ptr, MIB(40), 1000);
	must_free(ptr);
	end_stream(stream);
	seam__emu_advance(driver, 1000000);
	char *again = must_alloc(MIB(40), NULL);
	launch(NULL, again, MIB(40), 1000);
	cr_assert_eq(get_stats().retries, 1);
	close_pool();
}

Test(core_upkeep, only_streams_that_were_seen_can_end)
{
	open_pool(MIB(64), NULL);
	void *seen_by_host = make_stream(), *ptr = NULL;
	cr_assert_rc(seam_stream_destroyed(pool, make_stream()), SEAM_NOT_FOUND);
	cr_assert_rc(seam_stream_destroyed(pool, NULL), SEAM_INVALID);
	cr_assert_rc(seam_stream_destroyed(NULL, seen_by_host), SEAM_INVALID);
	cr_assert_ok(seam_host_alloc(pool, 100, seen_by_host, &ptr));
	cr_assert_ok(seam_stream_destroyed(pool, seen_by_host));
	close_pool();
}

Test(core_upkeep, a_peer_must_exist)
{
	open_pool(MIB(64), NULL);
	cr_assert_rc(seam_peer_enable(pool, -1), SEAM_INVALID);
	cr_assert_rc(seam_peer_enable(NULL, 0), SEAM_INVALID);
	cr_assert_rc(seam_peer_enable(pool, 1), SEAM_DRIVER);
	(void)must_alloc(MIB(4), NULL);
	cr_assert_rc(seam_peer_enable(pool, 1), SEAM_DRIVER);
	cr_assert_ok(seam_peer_enable(pool, 0));
	(void)must_alloc(MIB(4), NULL);
	check_pool();
	close_pool();
}
