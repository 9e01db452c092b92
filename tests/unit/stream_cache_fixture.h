/* stream_cache_fixture.h: a caching engine with two streams on a driver whose work passes when told, for the tests of
 * vmm/stream_cache*.c.
 *
 * One program is one test suite: everything is static.
 */
#ifndef SEAM_TESTS_STREAM_CACHE_FIXTURE_H
#define SEAM_TESTS_STREAM_CACHE_FIXTURE_H

#include <criterion/criterion.h>

#include "stream_cache.h"
#include "fake_driver.h"
#include "meta.h"

#define KI UINT64_C(1024)
#define MI (KI * 1024)

static struct fake_driver fake;
static struct seam_meta *meta;
static struct seam_streams streams;
static struct seam_cache cache;
static struct seam_stream *a, *b;

static inline enum seam_rc segment_alloc(void *user, uint64_t bytes, uint64_t *ret_va)
{
	return seam__driver_rc(seam__drv_direct_alloc(user, bytes, ret_va));
}

static inline enum seam_rc segment_free(void *user, uint64_t va, uint64_t bytes)
{
	(void)bytes;
	return seam__driver_rc(seam__drv_direct_free(user, va));
}

static const struct seam_cache_source source = {
	.user = &fake, .segment_alloc = segment_alloc, .segment_free = segment_free};

static const struct seam_cache_config usual = {
	.granularity_bytes = 512,
	.small_max_bytes = 1 * MI,
	.small_segment_bytes = 2 * MI,
	.segment_bytes = 20 * MI,
	.exact_bytes = 10 * MI,
	.round_bytes = 2 * MI,
	.split_bytes = 512,
	.oom = SEAM_OOM_DEVICE,
};

static inline struct seam_stream *new_stream(void)
{
	struct seam_stream *stream = NULL;
	cr_assert_eq(seam__streams_find(&streams, fake_stream_create(&fake), false, &stream), SEAM_OK);
	seam__stream_ref(stream);
	return stream;
}

static inline void set_up_with(const struct seam_cache_config *config)
{
	fake_init(&fake);
	meta = seam__meta_create(0);
	seam__streams_init(&streams, &fake.base, meta, false);
	cr_assert_eq(seam__cache_init(&cache, &source, config, &streams, meta), SEAM_OK);
	a = new_stream();
	b = new_stream();
}

static inline void set_up(void)
{
	set_up_with(&usual);
}

static inline void tear_down(void)
{
	cr_expect_null(seam__cache_check(&cache), "broken: %s", seam__cache_check(&cache));
	cr_expect_null(seam__streams_check(&streams), "broken: %s", seam__streams_check(&streams));
	(void)seam__cache_fini(&cache);
	seam__stream_unref(a);
	seam__stream_unref(b);
	cr_expect_eq(seam__streams_fini(&streams), 0, "stream references left");
	cr_expect_eq(fake.memory_bytes, 0, "memory left");
	cr_expect_eq(seam__meta_destroy(meta), 0, "metadata left");
	fake_fini(&fake);
}

#define expect_rc(expression, expected)                                                             \
	do {                                                                                        \
		enum seam_rc got_rc = (expression);                                                 \
		cr_expect_eq(got_rc, expected, "%s: %s, not %s", #expression, seam_rc_name(got_rc), \
			seam_rc_name(expected));                                                    \
	} while (0)

static inline enum seam_rc try_alloc_with(uint64_t bytes, struct seam_stream *stream, bool no_wait, uint64_t *ret_va)
{
	struct seam_cache_request request;
	enum seam_rc rc = seam__cache_alloc(&cache, bytes, stream, 0, no_wait, &request);
	while (rc == SEAM_BUSY) {
		seam__cache_run(&request);
		rc = seam__cache_resume(&request);
	}
	if (rc == SEAM_OK)
		*ret_va = request.va;
	return rc;
}

static inline enum seam_rc try_alloc(uint64_t bytes, struct seam_stream *stream, uint64_t *ret_va)
{
	return try_alloc_with(bytes, stream, false, ret_va);
}

static inline uint64_t alloc(uint64_t bytes, struct seam_stream *stream)
{
	uint64_t va = 0;
	enum seam_rc rc = try_alloc(bytes, stream, &va);
	cr_assert_eq(rc, SEAM_OK, "alloc of %lu: %s", (unsigned long)bytes, seam_rc_name(rc));
	return va;
}

static inline void release(uint64_t va)
{
	cr_assert_eq(seam__cache_free(&cache, va), SEAM_OK);
}

static inline uint64_t trim(uint64_t target, bool no_wait)
{
	struct seam_cache_request request;
	enum seam_rc rc = seam__cache_trim(&cache, target, no_wait, &request);
	while (rc == SEAM_BUSY) {
		seam__cache_run(&request);
		rc = seam__cache_resume(&request);
	}
	cr_assert_eq(rc, SEAM_OK, "trim: %s", seam_rc_name(rc));
	return request.released_bytes;
}

static inline struct seam_cache_stats stats(void)
{
	struct seam_cache_stats result;
	seam__cache_get_stats(&cache, &result);
	return result;
}

#endif
