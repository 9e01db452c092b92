/* door_fixture.h: PyTorch's pluggable door over an emulated device. Each Criterion test is a process of its own, with
 * pools of its own. */
#ifndef SEAM_TESTS_DOOR_FIXTURE_H
#define SEAM_TESTS_DOOR_FIXTURE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include <seam/seam.h>
#include <seam/stats.h>
#include <seam/torch.h>

#include "emu.h"
#include "pool.h"
#include "rc_assert.h"

#define MIB(n) ((uint64_t)(n) << 20)
#define UNUSED __attribute__((unused))
#define DEVICE "backend:emu_book,emu_capacity_bytes:256M,chunk_bytes:2M"

static char told[8192] UNUSED;

/* The newest error holds these words. */
#define assert_told(what)                                                                       \
	do {                                                                                    \
		(void)seam_torch_error(told, sizeof told);                                      \
		cr_assert_not_null(strstr(told, what), "\"%s\" is missing in: %s", what, told); \
	} while (0)

UNUSED static void set_conf(const char *conf)
{
	cr_assert_eq(setenv("SEAM_CONF", conf, 1), 0);
}

/* The pool of a device, made now. */
UNUSED static struct seam_pool *door(int device)
{
	struct seam_pool *pool = seam_torch_pool(device);
	cr_assert_not_null(pool);
	return pool;
}

UNUSED static struct seam_plan_stats plan_figures(int device)
{
	struct seam_plan_stats stats = {.size = sizeof stats, .version = SEAM_PLAN_STATS_VERSION};
	cr_assert_ok(seam_plan_stats_get(seam_torch_pool(device), &stats));
	return stats;
}

UNUSED static struct seam_stats figures(int device)
{
	struct seam_stats stats = {.size = sizeof stats, .version = SEAM_STATS_VERSION};
	cr_assert_ok(seam_stats_get(door(device), &stats));
	return stats;
}

UNUSED static uint64_t number(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

UNUSED static void *make_stream(int device)
{
	uint64_t stream = 0;
	cr_assert_eq(seam__drv_stream_create(door(device)->driver, SEAM_STREAM_NONBLOCKING, &stream), SEAM_CU_SUCCESS);
	return (void *)(uintptr_t)stream;
}

UNUSED static void begin_capture(int device, void *stream)
{
	cr_assert_eq(seam__drv_capture_begin(door(device)->driver, number(stream)), SEAM_CU_SUCCESS);
}

UNUSED static void end_capture(int device, void *stream)
{
	cr_assert_eq(seam__drv_capture_end(door(device)->driver, number(stream)), SEAM_CU_SUCCESS);
}

/* A kernel that writes the range and takes so long. */
UNUSED static void launch(int device, void *stream, const void *ptr, uint64_t bytes, uint64_t duration_ns)
{
	struct seam_emu_range range = {.va = number(ptr), .bytes = bytes, .write = true};
	cr_assert_eq(
		seam__emu_launch(door(device)->driver, number(stream), &range, 1, duration_ns, 0), SEAM_CU_SUCCESS);
}

UNUSED static void check(int device)
{
	struct seam_pool *pool = door(device);
	const char *broken = seam__pool_check(pool);
	cr_assert_null(broken, "%s", broken);
	cr_assert_eq(seam__emu_violations_all(pool->driver), 0, "%s", seam__emu_violation_text(pool->driver));
}

#endif
