/* store_fixture.h: a store (what caches on top of plain allocations) on an emulated device, whose judge sees every use;
 * for the tests of pinned host memory and of the fallback.
 *
 * One program is one test suite: everything is static.
 */
#ifndef SEAM_TESTS_STORE_FIXTURE_H
#define SEAM_TESTS_STORE_FIXTURE_H

#include <criterion/criterion.h>

#include "check.h"
#include "emu.h"
#include "meta.h"
#include "store.h"

#define KI UINT64_C(1024)
#define MI (KI * KI)
#define STREAMS 4u

static struct seam_driver *driver;
static struct seam_meta *meta;
static struct seam_store *store; /* the test's */
static uint64_t streams[STREAMS];
static uint64_t state; /* of draw() */

/* Everything but the store itself. */
static inline void open_device(const struct seam_emu_config *config)
{
	char error[200];
	cr_assert_eq(seam__emu_create(config, error, sizeof error, &driver), SEAM_OK, "%s", error);
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	for (unsigned i = 0; i < STREAMS; i++)
		cr_assert_eq(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &streams[i]), 0);
}

/* I11 at the end of every test. */
static inline void close_store(void)
{
	struct seam_emu_usage usage;
	SEAM_VERIFY(seam__store_check(store) == NULL);
	(void)seam__store_fini(store);
	seam__emu_usage(driver, &usage);
	SEAM_VERIFY(usage.direct_allocations == 0);
	SEAM_VERIFY(usage.host_allocations == 0);
	SEAM_VERIFY(usage.events == 0);
	SEAM_VERIFY(seam__emu_violations_all(driver) == 0);
	seam__driver_destroy(driver);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

static inline uint64_t alloc(uint64_t bytes, uint64_t stream)
{
	uint64_t va = 0;
	enum seam_rc rc = seam__store_alloc(store, bytes, stream, 0, false, &va);
	cr_assert_eq(rc, SEAM_OK, "alloc of %lu: %s", (unsigned long)bytes, seam_rc_name(rc));
	return va;
}

static inline struct seam_cache_stats stats(void)
{
	struct seam_cache_stats result;
	seam__store_get_stats(store, &result);
	return result;
}

static inline uint64_t draw(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % below;
}

#endif
