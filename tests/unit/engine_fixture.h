/* engine_fixture.h: an engine on an emulated device that keeps books, and requests in units of MiB, for the tests of
 * stitch/.
 *
 * Chunks are 2 MiB, so that examples can be worked by hand. One program is one test suite: everything is static.
 */
#ifndef SEAM_TESTS_ENGINE_FIXTURE_H
#define SEAM_TESTS_ENGINE_FIXTURE_H

#include <criterion/criterion.h>

#include "check.h"
#include "emu.h"
#include "engine.h"
#include "meta.h"

#define MIB(n) ((uint64_t)(n) << 20)
#define LONG_NS UINT64_C(10000000000) /* longer than any test's calls take on the virtual clock */

static struct seam_driver *driver;
static struct seam_meta *meta;
static struct seam_engine engine;
static uint64_t stream_a, stream_b;

static inline void expect_whole(void)
{
	const char *broken = seam__engine_check(&engine);
	cr_expect_null(broken, "broken: %s", broken);
	cr_expect_eq(seam__emu_violations_all(driver), 0, "%s", seam__emu_violation_text(driver));
}

static inline void open_engine_of(const struct seam_policy *policy, uint64_t capacity_bytes)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_BOOK, .capacity_bytes = capacity_bytes};
	cr_assert_eq(seam__emu_create(&config, NULL, 0, &driver), SEAM_OK);
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	const struct seam_phys_props props = {.where = {SEAM_AT_DEVICE, 0}};
	cr_assert_eq(seam__engine_init(&engine, driver, meta, policy, &props), SEAM_OK);
	cr_assert_eq(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &stream_a), 0);
	cr_assert_eq(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &stream_b), 0);
}

static inline void open_engine(const struct seam_policy *policy)
{
	open_engine_of(policy, MIB(1024));
}

/* I11 at the end of every test. */
static inline void close_engine(void)
{
	expect_whole();
	SEAM_VERIFY(seam__drv_device_sync(driver) == 0);
	seam__engine_fini(&engine);
	struct seam_emu_usage usage;
	seam__emu_usage(driver, &usage);
	SEAM_VERIFY(usage.handles + usage.mappings + usage.reservations + usage.events == 0);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
	seam__driver_destroy(driver);
}

static inline struct seam_ask ask_of(uint64_t bytes, uint64_t stream)
{
	struct seam_ask ask = {
		.group = &engine.common, .class = SEAM_CLASS_LARGE, .bytes = bytes, .requested_bytes = bytes};
	cr_assert_eq(seam__engine_stream(&engine, stream, &ask.stream), SEAM_OK);
	return ask;
}

/* The result code of a request; *ret_block is NULL unless it is SEAM_OK. */
static inline enum seam_rc try_ask(const struct seam_ask *ask, struct seam_block **ret_block)
{
	*ret_block = NULL;
	seam__mutex_lock(&engine.lock);
	enum seam_rc rc = seam__engine_alloc(&engine, ask, ret_block);
	seam__mutex_unlock(&engine.lock);
	expect_whole();
	return rc;
}

static inline struct seam_block *alloc_on(uint64_t bytes, uint64_t stream)
{
	struct seam_ask ask = ask_of(bytes, stream);
	struct seam_block *block = NULL;
	enum seam_rc rc = try_ask(&ask, &block);
	cr_assert_eq(rc, SEAM_OK, "a request of %lu bytes: %s", (unsigned long)bytes, seam_rc_name(rc));
	return block;
}

static inline struct seam_block *alloc(uint64_t mib)
{
	return alloc_on(MIB(mib), stream_a);
}

static inline void give(struct seam_block *block)
{
	seam__mutex_lock(&engine.lock);
	seam__engine_free(&engine, block);
	seam__mutex_unlock(&engine.lock);
	expect_whole();
}

/* A kernel that writes the block and takes long. */
static inline void work_on(const struct seam_block *block, uint64_t stream, uint64_t duration_ns)
{
	const struct seam_emu_range range = {block->va, block->bytes, true};
	cr_assert_eq(seam__emu_launch(driver, stream, &range, 1, duration_ns, 0), 0);
}

static inline uint64_t trim_to(uint64_t target_bytes)
{
	uint64_t released = 0;
	seam__mutex_lock(&engine.change);
	seam__mutex_lock(&engine.lock);
	seam__engine_poll(&engine, false);
	cr_expect_eq(seam__engine_trim(&engine, target_bytes, &released), SEAM_OK);
	seam__mutex_unlock(&engine.lock);
	seam__mutex_unlock(&engine.change);
	expect_whole();
	return released;
}

static inline void wait_for_all(void)
{
	seam__mutex_lock(&engine.change);
	seam__mutex_lock(&engine.lock);
	cr_expect_eq(seam__engine_wait(&engine), SEAM_OK);
	seam__mutex_unlock(&engine.lock);
	seam__mutex_unlock(&engine.change);
	expect_whole();
}

static inline uint64_t memory_calls(void)
{
	return seam__driver_calls(driver, SEAM_DRV_MEMORY);
}

/* `count` blocks of 2 MiB, one chunk each, side by side in one home view. */
static inline void make_row(struct seam_block **blocks, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		blocks[i] = alloc(2);
}

/* From here on the pool may not grow. */
static inline void forbid_growth(void)
{
	engine.memory.capacity_bytes = engine.memory.reserved_bytes;
}

#endif
