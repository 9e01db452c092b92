/* core_fixture.h: one pool over one emulated device, for the tests of lib/core. Each Criterion test is a process of its
 * own. */
#ifndef SEAM_TESTS_CORE_FIXTURE_H
#define SEAM_TESTS_CORE_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <seam/seam.h>
#include <seam/snapshot.h>
#include <seam/stats.h>

#include "emu.h"
#include "lockrank.h"
#include "meta.h"
#include "opts.h"
#include "learner.h"
#include "pool.h"
#include "rc_assert.h"

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define UNUSED __attribute__((unused))

static struct seam_driver *driver UNUSED;
static struct seam_pool *pool UNUSED;
static uint64_t locks_before UNUSED;

UNUSED static struct seam_config resolve(const char *conf)
{
	struct seam_config config;
	char error[SEAM_OPTS_LINE_BYTES] = "";
	cr_assert_eq(seam__opts_resolve(NULL, conf, error, sizeof error, &config), SEAM_OK, "%s", error);
	return config;
}

/* A pool over an emulated device of `device_bytes` without real memory, or as `emu` says. conf: as in SEAM_CONF, or
 * NULL. */
UNUSED static void open_on(const struct seam_emu_config *emu, const char *conf)
{
	struct seam_config config = resolve(conf);
	char error[SEAM_OPTS_LINE_BYTES] = "";
	locks_before = seam__locks_alive();
	cr_assert_eq(seam__emu_create(emu, error, sizeof error, &driver), SEAM_OK, "%s", error);
	cr_assert_ok(seam__pool_create_on(driver, &config, &pool));
}

UNUSED static void open_pool(uint64_t device_bytes, const char *conf)
{
	struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK, .capacity_bytes = device_bytes};
	open_on(&emu, conf);
}

/* The same on a device without virtual memory management. */
UNUSED static void open_plain(uint64_t device_bytes, const char *conf)
{
	struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK, .capacity_bytes = device_bytes, .no_vmm = true};
	open_on(&emu, conf);
	cr_assert_not_null(pool->plain);
}

UNUSED static void check_pool(void)
{
	const char *broken = seam__pool_check(pool);
	cr_assert_null(broken, "%s", broken);
	cr_assert_eq(seam__emu_violations_all(driver), 0, "%s", seam__emu_violation_text(driver));
}

UNUSED static void assert_nothing_left(void)
{
	struct seam_emu_usage usage;
	seam__emu_usage(driver, &usage);
	cr_assert_eq(usage.handles, 0, "I11: handles");
	cr_assert_eq(usage.used_bytes, 0, "I11: device bytes");
	cr_assert_eq(usage.mappings, 0, "I11: mappings");
	cr_assert_eq(usage.reservations, 0, "I11: reservations");
	cr_assert_eq(usage.direct_allocations, 0, "I11: direct allocations");
	cr_assert_eq(usage.host_allocations, 0, "I11: host allocations");
	cr_assert_eq(usage.events, 0, "I11: events");
}

UNUSED static void close_pool(void)
{
	check_pool();
	seam_pool_destroy(pool);
	assert_nothing_left();
	cr_assert_eq(seam__emu_violations_all(driver), 0, "%s", seam__emu_violation_text(driver));
	seam__driver_destroy(driver);
	cr_assert_eq(seam__locks_alive(), locks_before, "a mutex or a condition is left");
}

UNUSED static void *stream_of(uint64_t handle)
{
	return (void *)(uintptr_t)handle;
}

UNUSED static void *make_stream(void)
{
	uint64_t stream = 0;
	cr_assert_eq(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &stream), SEAM_CU_SUCCESS);
	return stream_of(stream);
}

UNUSED static void end_stream(void *stream)
{
	cr_assert_eq(seam__drv_stream_destroy(driver, (uint64_t)(uintptr_t)stream), SEAM_CU_SUCCESS);
}

UNUSED static void *must_alloc(uint64_t bytes, void *stream)
{
	void *ptr = NULL;
	cr_assert_ok(seam_alloc(pool, bytes, stream, &ptr));
	cr_assert_not_null(ptr);
	return ptr;
}

UNUSED static void must_free(void *ptr)
{
	cr_assert_ok(seam_free(pool, ptr));
}

/* A kernel that writes the range and takes so long. */
UNUSED static void launch(void *stream, void *ptr, uint64_t bytes, uint64_t duration_ns)
{
	struct seam_emu_range range = {.va = (uint64_t)(uintptr_t)ptr, .bytes = bytes, .write = true};
	cr_assert_eq(seam__emu_launch(driver, (uint64_t)(uintptr_t)stream, &range, 1, duration_ns, 0), SEAM_CU_SUCCESS);
}

UNUSED static struct seam_stats get_stats(void)
{
	struct seam_stats stats = {.size = sizeof stats, .version = SEAM_STATS_VERSION};
	cr_assert_ok(seam_stats_get(pool, &stats));
	return stats;
}

UNUSED static struct seam_plan_stats get_plan_stats(void)
{
	struct seam_plan_stats stats = {.size = sizeof stats, .version = SEAM_PLAN_STATS_VERSION};
	cr_assert_ok(seam_plan_stats_get(pool, &stats));
	return stats;
}

/* The number of the chunk in which the block begins. */
UNUSED static uint64_t first_chunk(void *ptr)
{
	struct seam_block_chunk chunk = {0};
	size_t count = 0;
	cr_assert_ok(seam_block_chunks(pool, ptr, &chunk, 1, &count));
	cr_assert_geq(count, 1);
	return chunk.chunk;
}

/* Writes a snapshot to a file that is gone afterwards. */
UNUSED static enum seam_rc write_snapshot(void)
{
	char path[512];
	const char *folder = getenv("TMPDIR");
	(void)snprintf(path, sizeof path, "%s/seam-snapshot-%ld", folder != NULL ? folder : "/tmp", (long)getpid());
	enum seam_rc rc = seam_snapshot_write(pool, path);
	cr_assert_eq(unlink(path), rc == SEAM_OK ? 0 : -1, "a file stands where it was written, and nowhere else");
	return rc;
}

/* All that the background would do now. */
UNUSED static void run_background(void)
{
	bool did = true;
	for (unsigned i = 0; did && i < 1000; i++) {
		seam__pool_work(pool->learner, &did);
		check_pool();
	}
}

#endif
