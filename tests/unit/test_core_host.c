/* test_core_host.c: pinned host memory through the API. */
#include "core_fixture.h"

#include <inttypes.h>

#include <seam/host.h>

#include "host_memory.h"

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
	cr_assert_rc(seam_alloc(pool, 1, SEAM_NO_STREAM, &ptr), SEAM_INVALID);
	void *block = must_alloc(1, NULL);
	cr_assert_rc(seam_record_stream(pool, block, SEAM_NO_STREAM), SEAM_INVALID);
	cr_assert_rc(seam_host_stats_get(pool, NULL), SEAM_INVALID);
	cr_assert_rc(seam_host_stats_get(pool, &(struct seam_host_stats){.size = 8, .version = 9}), SEAM_VERSION);
	cr_assert_rc(seam_host_sizes(pool, NULL, 1), SEAM_INVALID);
	cr_assert_rc(seam_host_blocks(pool, NULL, 1, &(size_t){0}), SEAM_INVALID);
	cr_assert_rc(seam_host_blocks(pool, NULL, 0, NULL), SEAM_INVALID);
	cr_assert_rc(seam_host_trim(NULL, 0, NULL), SEAM_INVALID);
	cr_assert_rc(seam_host_prepare(NULL, MIB(4), true), SEAM_INVALID);
	cr_assert_rc(seam_host_prepare(pool, MIB(4), true), SEAM_UNSUPPORTED);
	cr_assert_eq(seam_host_text(NULL, NULL, 0), 0);
	close_pool();
}

static void expect_text(const char *part)
{
	char text[400];
	(void)seam_host_text(pool, text, sizeof text);
	cr_expect_not_null(strstr(text, part), "%s", text);
}

Test(core_host, stitched_memory_keeps_the_rules_of_pinned_memory)
{
	open_on(&(struct seam_emu_config){.memory = SEAM_EMU_STRICT, .capacity_bytes = MIB(64)},
		"host_stitch:1,host_capacity_bytes:16M");
	struct seam_host_stats stats = {.size = sizeof stats, .version = SEAM_HOST_STATS_VERSION};
	uint64_t released = 0, sizes[64] = {0};
	struct seam_block_info blocks[8];
	size_t count = 0;
	void *ptr = NULL;
	expect_text("; stitched");
	char *first = must_host_alloc(MIB(3) + 1, SEAM_NO_STREAM), *second = must_host_alloc(MIB(5), NULL);
	memset(first, 7, MIB(3) + 1);
	memset(second, 8, MIB(5));
	cr_assert_eq(first[MIB(3)], 7);
	cr_assert_rc(seam_host_alloc(pool, MIB(9), NULL, &ptr), SEAM_OOM_HOST);
	cr_assert_rc(seam_host_alloc(pool, 1, stream_of(0xdead000), &ptr), SEAM_DRIVER);
	cr_assert_rc(seam_host_free(pool, first + 1), SEAM_NOT_FOUND);
	cr_assert_ok(seam_host_record_stream(pool, first, NULL));
	cr_assert_ok(seam_host_stats_get(pool, &stats));
	cr_expect_eq(stats.reserved_bytes, MIB(10));
	cr_expect_eq(stats.segments, 5);
	cr_expect_eq(stats.ooms, 1);
	cr_expect_eq(stats.live_bytes, MIB(8) + 512);
	cr_expect_geq(stats.alloc_calls, 11, "a call to create and one to map each, and access");
	cr_assert_eq(get_stats().host_reserved_bytes, MIB(10));
	cr_assert_ok(seam_host_sizes(pool, sizes, 64));
	cr_expect_eq(sizes[21], 5);
	cr_assert_ok(seam_host_blocks(pool, blocks, 8, &count));
	cr_expect_eq(count, 3, "two live ones and the rest");
	cr_assert_ok(seam_host_free(pool, first));
	cr_assert_ok(seam_host_trim(pool, 0, &released));
	cr_expect_eq(released, MIB(2), "the second shares a chunk");
	seam_host_reset_peaks(pool);
	cr_assert_ok(seam_host_stats_get(pool, &stats));
	cr_expect_eq(stats.reserved_bytes_peak, MIB(8));
	cr_assert_ok(seam_host_prepare(pool, MIB(12), true));
	cr_expect_eq(get_stats().host_reserved_bytes, MIB(12));
	cr_assert_rc(seam_host_prepare(pool, MIB(24), true), SEAM_OOM_HOST);
	expect_text("16.00 MiB pinned");
	expect_text("; stitched, and ran short of the 24.00 MiB to be pinned ahead");
	cr_assert_ok(seam_host_prepare(pool, 0, true));
	expect_text("; stitched;");
	close_pool();
}

Test(core_host, memory_that_is_not_stitched_says_why)
{
	open_pool(MIB(64), "host_stitch:1"); /* bookkeeping only: no CPU could touch it */
	expect_text("; not stitched: the driver makes no memory on nodes of the host");
	memset(must_host_alloc(MIB(3), NULL), 7, MIB(3));
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

static struct seam_host_stats host_stats(void)
{
	struct seam_host_stats stats = {.size = sizeof stats, .version = SEAM_HOST_STATS_VERSION};
	cr_assert_ok(seam_host_stats_get(pool, &stats));
	return stats;
}

/* Every figure but the times is that of a story of two blocks; the blocks add up to what is pinned. */
Test(core_host, figures_and_blocks_tell_what_happened)
{
	open_pool(MIB(64), NULL);
	void *a = make_stream();
	char *device = must_alloc(MIB(8), a), *kept = must_host_alloc(MIB(2) + 1, SEAM_NO_STREAM);
	char *used = must_host_alloc(MIB(8), SEAM_NO_STREAM);
	cr_assert_ok(seam_host_record_stream(pool, used, a));
	launch(a, device, MIB(8), UINT64_C(10000000000));
	cr_assert_ok(seam_host_free(pool, used));
	struct seam_host_stats stats = host_stats();
	static const struct {
		const char *name;
		size_t at;
		uint64_t value;
	} rows[] = {
#define ROW(name, value) {#name, offsetof(struct seam_host_stats, name), value}
		ROW(live_blocks, 1),
		ROW(live_bytes, MIB(2) + 512),
		ROW(live_bytes_peak, MIB(10) + 512),
		ROW(requested_bytes, MIB(2) + 1),
		ROW(requested_bytes_peak, MIB(10) + 1),
		ROW(held_blocks, 2),
		ROW(held_blocks_peak, 2),
		ROW(held_bytes, MIB(10) + 512),
		ROW(held_bytes_peak, MIB(10) + 512),
		ROW(reserved_bytes, MIB(10) + 4096),
		ROW(reserved_bytes_peak, MIB(10) + 4096),
		ROW(segments, 2),
		ROW(segments_peak, 2),
		ROW(allocs, 2),
		ROW(alloc_bytes, MIB(10) + 512),
		ROW(grows, 2),
		ROW(grown_bytes, MIB(10) + 4096),
		ROW(shrinks, 0),
		ROW(ooms, 0),
		ROW(alloc_calls, 2),
		ROW(free_calls, 0),
		ROW(free_ns, 0),
		ROW(free_ns_least, 0),
		ROW(free_ns_most, 0),
#undef ROW
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_expect_eq(*(const uint64_t *)((const char *)&stats + rows[i].at), rows[i].value, "%s", rows[i].name);
	uint64_t sizes[64] = {0};
	cr_assert_ok(seam_host_sizes(pool, sizes, 64));
	cr_expect_eq(sizes[22], 1);
	cr_expect_eq(sizes[23], 1);
	struct seam_block_info blocks[4];
	size_t count = 0;
	uint64_t sum = 0;
	cr_assert_ok(seam_host_blocks(pool, blocks, 4, &count));
	cr_assert_eq(count, 3, "the live one, its rest, the pending one");
	for (size_t i = 0; i < count; i++) {
		sum += blocks[i].bytes;
		cr_expect_eq(blocks[i].state,
			blocks[i].va == (uintptr_t)kept           ? SEAM_BLOCK_LIVE
				: blocks[i].va == (uintptr_t)used ? SEAM_BLOCK_PENDING
								  : SEAM_BLOCK_FREE);
		cr_expect(i == 0 || blocks[i].va > blocks[i - 1].va);
	}
	cr_expect_eq(sum, stats.reserved_bytes);
	uint64_t released = 0;
	cr_assert_ok(seam_host_trim(pool, 0, &released));
	cr_expect_eq(released, MIB(8), "a trim waits for the copy, and leaves what is live");
	seam_host_reset_peaks(pool);
	stats = host_stats();
	cr_expect_eq(stats.live_bytes_peak, stats.live_bytes);
	cr_expect_eq(stats.held_bytes_peak, stats.held_bytes);
	cr_expect_eq(stats.reserved_bytes_peak, stats.reserved_bytes);
	cr_expect_eq(stats.free_calls, 1);
	cr_expect_eq(stats.alloc_ns_most, 0);
	close_pool();
}

Test(core_host, words_name_what_limits_it)
{
	open_pool(MIB(64), "host_capacity_bytes:8M");
	char text[400] = "", report[2000] = "";
	(void)must_host_alloc(MIB(3), NULL);
	cr_expect_eq(seam_host_text(pool, text, sizeof text), strlen(text));
	cr_expect(strstr(text, "3.00 MiB pinned, 3.00 MiB in use") != NULL, "%s", text);
	cr_expect(strstr(text, "host_capacity_bytes allows 8.00 MiB") != NULL, "%s", text);
	cr_expect(strstr(text, "NUMA node 0") != NULL, "%s", text);
	(void)seam_oom_report(pool, report, sizeof report);
	cr_expect(strstr(report, "  pinned    3.00 MiB pinned") != NULL, "%s", report);
	close_pool();
}

Test(core_host, a_limit_that_cannot_be_reached_is_told)
{
	char conf[100], error[200] = "";
	struct seam_host_memory memory;
	seam__host_memory_get("", &memory);
	cr_assert_neq(memory.most_bytes, UINT64_MAX);
	(void)snprintf(conf, sizeof conf, "backend:emu_book,host_capacity_bytes:%" PRIu64, memory.most_bytes + 4096);
	struct seam_config config;
	seam_config_init(&config);
	cr_assert_ok(seam_config_parse(&config, conf, error, sizeof error));
	cr_assert_rc(seam_pool_create(0, &config, error, sizeof error, &pool), SEAM_CONF);
	cr_expect(strstr(error, "host_capacity_bytes: ") != NULL && strstr(error, " at most") != NULL, "%s", error);
	config.host_capacity_bytes = memory.most_bytes;
	cr_assert_ok(seam_pool_create(0, &config, error, sizeof error, &pool));
	seam_pool_destroy(pool);
}
