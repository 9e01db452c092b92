/* test_core_report.c: what an out-of-memory report and the newest driver error say. */
#include "core_fixture.h"

#include <unistd.h>

static char text[8192];

static const char *report(void)
{
	size_t length = seam_oom_report(pool, text, sizeof text);
	cr_assert_lt(length, sizeof text);
	cr_assert_eq(strlen(text), length);
	return text;
}

#define assert_says(what) cr_assert_not_null(strstr(report(), what), "\"%s\" is missing in:\n%s", what, text)
#define assert_says_not(what) cr_assert_null(strstr(report(), what), "\"%s\" is too much in:\n%s", what, text)

Test(core_report, without_an_out_of_memory_it_tells_of_now)
{
	open_pool(MIB(64), NULL);
	(void)must_alloc(MIB(10), NULL);
	assert_says("No request has run out of memory");
	assert_says("live      10.00 MiB in 1 blocks");
	assert_says_not("What would help");
	close_pool();
}

Test(core_report, it_tells_of_the_moment_of_the_newest_failure)
{
	open_pool(MIB(64), NULL);
	void *kept = must_alloc(MIB(50), NULL), *out = NULL;
	struct seam_request request = {.size = sizeof request, .bytes = MIB(30), .flags = SEAM_NO_WAIT};
	cr_assert_rc(seam_alloc_request(pool, &request, &out), SEAM_OOM_DEVICE);
	must_free(kept);
	assert_says("Out of memory: 30.00 MiB asked for on stream 0x0, without waiting");
	assert_says("device    64.00 MiB in all, 14.00 MiB free");
	assert_says("live      50.00 MiB in 1 blocks");
	assert_says("s5 1");
	assert_says_not("not known to have passed");
	assert_says("free some blocks");
	cr_assert_rc(seam_alloc(pool, MIB(300), NULL, &out), SEAM_OOM_DEVICE);
	assert_says("Out of memory: 300 MiB");
	assert_says("in 0 blocks");
	close_pool();
}

Test(core_report, the_capacity_is_named_where_the_device_has_more)
{
	open_pool(MIB(256), "capacity_bytes:64M");
	void *out = NULL;
	cr_assert_rc(seam_alloc(pool, MIB(80), NULL, &out), SEAM_OOM_DEVICE);
	assert_says("raise capacity_bytes");
	close_pool();
}

Test(core_report, for_more_than_the_device_nothing_is_advised)
{
	open_pool(MIB(256), "capacity_bytes:64M");
	void *kept = must_alloc(MIB(50), NULL), *out = NULL;
	cr_assert_rc(seam_alloc(pool, MIB(257), NULL, &out), SEAM_OOM_DEVICE);
	assert_says("it is more than the 256 MiB that the device has in all");
	assert_says_not("free some blocks");
	must_free(kept);
	close_pool();
}

Test(core_report, pending_and_private_memory_and_others_are_named)
{
	struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK, .capacity_bytes = MIB(128), .used_bytes = MIB(64)};
	open_on(&emu, "chunk_bytes:2M");
	void *other = make_stream(), *out = NULL;
	char *ptr = must_alloc(MIB(20), NULL);
	cr_assert_ok(seam_private_begin(pool, 9, SEAM_ROUTE_ALL, 0));
	void *private = must_alloc(MIB(20), NULL);
	cr_assert_ok(seam_private_end(pool, 9));
	must_free(private);
	cr_assert_ok(seam_record_stream(pool, ptr, other));
	launch(other, ptr, MIB(20), UINT64_C(3600000000000));
	must_free(ptr);
	struct seam_request request = {
		.size = sizeof request, .bytes = MIB(50), .flags = SEAM_NO_WAIT, .private_id = 9};
	cr_assert_rc(seam_alloc_request(pool, &request, &out), SEAM_OOM_DEVICE);
	assert_says("for private pool 9");
	assert_says("20.00 MiB pending");
	assert_says("named by seam_record_stream()");
	assert_says("64.00 MiB of the device is used by others");
	close_pool();
}

Test(core_report, memory_that_only_one_stream_may_have_is_named)
{
	open_pool(MIB(64), "chunk_bytes:2M");
	void *busy = make_stream(), *out = NULL, *ptr = must_alloc(MIB(21), busy);
	(void)must_alloc(MIB(3), busy);
	launch(busy, ptr, MIB(21), UINT64_C(3600000000000));
	must_free(ptr);
	struct seam_request request = {.size = sizeof request, .bytes = MIB(50), .flags = SEAM_NO_WAIT};
	cr_assert_rc(seam_alloc_request(pool, &request, &out), SEAM_OOM_DEVICE);
	assert_says("20.00 MiB whole chunks, 1.00 MiB beside live blocks");
	assert_says("of it 21.00 MiB freed on a stream not known to have passed, 20.00 MiB of that in whole chunks");
	close_pool();
}

/* Exported chunks cannot go back to the device, so that a request that may not stitch them has nothing. */
Test(core_report, whole_chunks_that_a_flag_keeps_apart_are_named)
{
	open_pool(MIB(64), "chunk_bytes:2M,export_as:fd");
	void *doomed[16], *out = NULL;
	int file = -1;
	for (unsigned i = 0; i < 16; i++) {
		doomed[i] = must_alloc(MIB(2), NULL);
		(void)must_alloc(MIB(2), NULL);
		cr_assert_ok(seam_block_export(pool, doomed[i], 0, &file));
		cr_assert_eq(close(file), 0);
	}
	for (unsigned i = 0; i < 16; i++)
		must_free(doomed[i]);
	struct seam_request request = {.size = sizeof request, .bytes = MIB(16), .flags = SEAM_NO_STITCH};
	cr_assert_rc(seam_alloc_request(pool, &request, &out), SEAM_OOM_DEVICE);
	assert_says("not stitched");
	assert_says("32.00 MiB of free chunks could be stitched");
	request.flags = 0;
	cr_assert_ok(seam_alloc_request(pool, &request, &out));
	close_pool();
}

Test(core_report, a_short_buffer_gets_what_fits)
{
	open_pool(MIB(64), NULL);
	size_t needed = seam_oom_report(pool, NULL, 0);
	cr_assert_gt(needed, 100);
	char small[20];
	memset(small, '#', sizeof small);
	cr_assert_eq(seam_oom_report(pool, small, 10), needed);
	cr_assert_eq(strlen(small), 9);
	cr_assert_eq(small[10], '#', "a byte too many");
	small[0] = '#';
	cr_assert_eq(seam_oom_report(NULL, small, 10), 0);
	cr_assert_str_eq(small, "", "always a final zero");
	close_pool();
}

Test(core_report, the_newest_driver_error_is_named)
{
	open_pool(MIB(64), NULL);
	void *out = NULL;
	cr_assert_eq(seam_driver_error(pool, text, sizeof text), 0);
	cr_assert_str_eq(text, "");
	seam__driver_fail_at(driver, 2, 1u << SEAM_DRV_MEMORY, SEAM_CU_NOT_PERMITTED);
	cr_assert_rc(seam_alloc(pool, MIB(4), NULL, &out), SEAM_DRIVER);
	size_t length = seam_driver_error(pool, text, sizeof text);
	cr_assert_eq(strlen(text), length);
	cr_assert_not_null(strstr(text, "(800)"), "%s", text);
	cr_assert_not_null(strstr(text, "not permitted"), "%s", text);
	cr_assert(strncmp(text, "mem_", 4) == 0 || strncmp(text, "address_", 8) == 0, "%s", text);
	cr_assert_eq(seam_driver_error(NULL, text, sizeof text), 0);
	close_pool();
}
