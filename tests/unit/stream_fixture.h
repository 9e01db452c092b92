/* stream_fixture.h: streams on a driver whose work passes when told, for the tests of vmm/stream*.c.
 *
 * One program is one test suite: everything is static.
 */
#ifndef SEAM_TESTS_STREAM_FIXTURE_H
#define SEAM_TESTS_STREAM_FIXTURE_H

#include <criterion/criterion.h>

#include "fake_driver.h"
#include "meta.h"
#include "stream.h"

#define EVERY_CLASS ((1u << SEAM_DRV_QUERY) | (1u << SEAM_DRV_MEMORY) | (1u << SEAM_DRV_EVENT) | (1u << SEAM_DRV_COPY))

static struct fake_driver fake;
static struct seam_meta *meta;
static struct seam_streams streams;

static inline void set_up_as(bool deterministic)
{
	fake_init(&fake);
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	seam__streams_init(&streams, &fake.base, meta, deterministic);
}

static inline void set_up(void)
{
	set_up_as(false);
}

static inline void tear_down(void)
{
	cr_expect_null(seam__streams_check(&streams), "broken: %s", seam__streams_check(&streams));
	cr_expect_eq(seam__streams_fini(&streams), 0, "references left");
	cr_expect_eq(fake.events_live, 0, "%lu events left", (unsigned long)fake.events_live);
	cr_expect_eq(seam__meta_destroy(meta), 0, "metadata left");
	fake_fini(&fake);
}

static inline struct seam_stream *find(uint64_t handle)
{
	struct seam_stream *stream = NULL;
	enum seam_rc rc = seam__streams_find(&streams, handle, false, &stream);
	cr_assert_eq(rc, SEAM_OK, "find %lu: %s", (unsigned long)handle, seam_rc_name(rc));
	return stream;
}

static inline uint64_t calls(enum seam_drv_call call)
{
	return fake.base.counts[call].calls;
}

static inline uint64_t all_calls(void)
{
	uint64_t sum = 0;
	for (int call = 0; call < SEAM_DRV_COUNT; call++)
		sum += calls((enum seam_drv_call)call);
	return sum;
}

#define expect_rc(expression, expected)                                                             \
	do {                                                                                        \
		enum seam_rc got_rc = (expression);                                                 \
		cr_expect_eq(got_rc, expected, "%s: %s, not %s", #expression, seam_rc_name(got_rc), \
			seam_rc_name(expected));                                                    \
	} while (0)

#endif
