/* test_core_device.c: the device as a whole: its memory, the pool's capacity, waiting. */
#include "core_fixture.h"

#define LONG_NS UINT64_C(3600000000000) /* longer than any test's virtual time */

static void check_capacity(void)
{
	void *out = NULL, *kept = must_alloc(MIB(20), NULL);
	must_free(must_alloc(MIB(20), NULL));
	uint64_t reserved_bytes = get_stats().reserved_bytes;
	cr_assert_geq(reserved_bytes, MIB(20));
	cr_assert_ok(seam_pool_set_capacity(pool, MIB(40)));
	cr_assert_rc(seam_alloc(pool, MIB(30), NULL, &out), SEAM_OOM_DEVICE);
	must_free(must_alloc(MIB(20), NULL));
	cr_assert_ok(seam_pool_set_capacity(pool, MIB(2)));
	cr_assert_geq(get_stats().reserved_bytes, MIB(20), "what it holds it keeps");
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_assert_rc(seam_alloc(pool, MIB(2), NULL, &out), SEAM_OOM_DEVICE);
	cr_assert_ok(seam_pool_set_capacity(pool, 0));
	must_free(must_alloc(MIB(30), NULL));
	must_free(kept);
}

Test(core_device, the_capacity_can_be_changed)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	check_capacity();
	close_pool();
	open_plain(MIB(256), NULL);
	check_capacity();
	close_pool();
}

Test(core_device, a_report_names_the_capacity_of_its_moment)
{
	char text[4096];
	void *out = NULL;
	open_pool(MIB(256), NULL);
	cr_assert_ok(seam_pool_set_capacity(pool, MIB(10)));
	cr_assert_rc(seam_alloc(pool, MIB(30), NULL, &out), SEAM_OOM_DEVICE);
	cr_assert_ok(seam_pool_set_capacity(pool, MIB(20)));
	(void)seam_oom_report(pool, text, sizeof text);
	cr_assert_not_null(strstr(text, "capacity  10.00 MiB"), "%s", text);
	cr_assert_eq(seam_pool_config(pool)->capacity_bytes, 0, "the configuration is what it was made with");
	close_pool();
}

Test(core_device, its_memory_is_told)
{
	struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK, .capacity_bytes = MIB(128), .used_bytes = MIB(64)};
	uint64_t free_bytes = 1, total_bytes = 1;
	open_on(&emu, "chunk_bytes:2M");
	(void)must_alloc(MIB(4), NULL);
	cr_assert_ok(seam_device_memory(pool, &free_bytes, &total_bytes));
	cr_assert_eq(free_bytes, MIB(60));
	cr_assert_eq(total_bytes, MIB(128));
	cr_assert_ok(seam_device_memory(pool, NULL, NULL));
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_QUERY, SEAM_CU_UNKNOWN);
	free_bytes = 1;
	cr_assert_rc(seam_device_memory(pool, &free_bytes, NULL), SEAM_DRIVER);
	cr_assert_eq(free_bytes, 1);
	close_pool();
}

/* What is freed on one stream while work is pending there is, after the wait, another's without growth. */
static void check_wait(void)
{
	void *a = make_stream(), *b = make_stream();
	(void)must_alloc(512, b);
	char *ptr = must_alloc(MIB(20), a);
	launch(a, ptr, MIB(20), LONG_NS);
	must_free(ptr);
	cr_assert_ok(seam_device_wait(pool));
	uint64_t reserved_bytes = get_stats().reserved_bytes;
	must_free(must_alloc(MIB(20), b));
	cr_assert_eq(get_stats().reserved_bytes, reserved_bytes, "it is everybody's");
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_EVENT, SEAM_CU_UNKNOWN);
	cr_assert_rc(seam_device_wait(pool), SEAM_DRIVER);
}

Test(core_device, waiting_makes_what_was_freed_everybodys)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	check_wait();
	close_pool();
	open_plain(MIB(256), NULL);
	check_wait();
	close_pool();
}

Test(core_device, a_capture_is_not_waited_for)
{
	open_pool(MIB(256), NULL);
	void *stream = make_stream();
	(void)must_alloc(512, stream);
	cr_assert_eq(seam__drv_capture_begin(driver, (uint64_t)(uintptr_t)stream), SEAM_CU_SUCCESS);
	cr_assert_rc(seam_device_wait(pool), SEAM_CAPTURING);
	cr_assert_eq(seam__drv_capture_end(driver, (uint64_t)(uintptr_t)stream), SEAM_CU_SUCCESS);
	cr_assert_ok(seam_device_wait(pool));
	close_pool();
}

Test(core_device, bad_arguments_are_refused)
{
	uint64_t bytes = 0;
	cr_assert_rc(seam_pool_set_capacity(NULL, 0), SEAM_INVALID);
	cr_assert_rc(seam_device_memory(NULL, &bytes, &bytes), SEAM_INVALID);
	cr_assert_rc(seam_device_wait(NULL), SEAM_INVALID);
}
