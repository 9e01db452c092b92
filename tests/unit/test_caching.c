/* test_caching.c: the caching allocator of devices without virtual memory, on the emulated device, whose judge sees every use.
 *
 * I3, I4: a kernel on memory that another stream may still use, or a segment freed under one, is a violation that the judge counts.
 * The engine's own rules are in test_stream_cache.c and test_stream_cache_model.c.
 */
#include <criterion/criterion.h>

#include "caching.h"
#include "direct_source.h"
#include "emu.h"
#include "meta.h"

#define KI UINT64_C(1024)
#define MI (KI * KI)
#define STREAMS 4u
#define LIVE 150u

static struct seam_driver *driver;
static struct seam_meta *meta;
static struct seam_store store;
static uint64_t streams[STREAMS];
static uint64_t state;

static void set_up_with(const struct seam_caching_config *config, uint64_t capacity_bytes)
{
	const struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK, .capacity_bytes = capacity_bytes, .no_vmm = true};
	char error[200];
	cr_assert_eq(seam__emu_create(&emu, error, &driver), SEAM_OK, "%s", error);
	meta = seam__meta_create(0);
	cr_assert_eq(seam__caching_init(&store, config, driver, meta), SEAM_OK);
	for (unsigned i = 0; i < STREAMS; i++)
		cr_assert_eq(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &streams[i]), 0);
}

static void set_up(void)
{
	set_up_with(&(struct seam_caching_config){0}, 256 * MI);
}

static void tear_down(void)
{
	struct seam_emu_usage usage;
	cr_expect_null(seam__store_check(&store), "broken: %s", seam__store_check(&store));
	(void)seam__store_fini(&store);
	seam__emu_usage(driver, &usage);
	cr_expect_eq(usage.direct_allocations, 0, "device memory left");
	cr_expect_eq(usage.events, 0, "events left");
	cr_expect_eq(seam__emu_violations_all(driver), 0, "%s", seam__emu_violation_text(driver));
	seam__driver_destroy(driver);
	cr_expect_eq(seam__meta_destroy(meta), 0, "metadata left");
}

TestSuite(caching, .init = set_up, .fini = tear_down);

static uint64_t alloc(uint64_t bytes, uint64_t stream)
{
	uint64_t va = 0;
	enum seam_rc rc = seam__store_alloc(&store, bytes, stream, 0, false, &va);
	cr_assert_eq(rc, SEAM_OK, "alloc of %lu: %s", (unsigned long)bytes, seam_rc_name(rc));
	return va;
}

static struct seam_cache_stats stats(void)
{
	struct seam_cache_stats result;
	seam__store_get_stats(&store, &result);
	return result;
}

static void launch(uint64_t stream, uint64_t va, uint64_t bytes)
{
	const struct seam_emu_range range = {.va = va, .bytes = bytes, .write = true};
	cr_assert_eq(seam__emu_launch(driver, stream, &range, 1, 50000, 0), 0);
}

Test(caching, what_is_live_is_found_and_freed)
{
	uint64_t va = alloc(3000, streams[0]), base = 0, bytes = 0;
	cr_expect_eq(seam__store_range(&store, va + 2999, &base, &bytes), SEAM_OK);
	cr_expect_eq(base, va);
	cr_expect_eq(bytes, 3072);
	cr_expect_eq(seam__store_free(&store, va), SEAM_OK);
	cr_expect_eq(seam__store_free(&store, va), SEAM_NOT_FOUND);
	cr_expect_eq(seam__store_range(&store, va, &base, &bytes), SEAM_NOT_FOUND);
	cr_expect_eq(seam__store_record_stream(&store, va, streams[1]), SEAM_NOT_FOUND);
}

Test(caching, the_capacity_holds)
{
	tear_down();
	set_up_with(&(struct seam_caching_config){.capacity_bytes = 24 * MI}, 256 * MI);
	uint64_t va = 5;
	cr_expect_eq(seam__store_alloc(&store, 25 * MI, streams[0], 0, false, &va), SEAM_OOM_DEVICE);
	cr_expect_eq(va, 5);
	cr_expect_eq(seam__store_alloc(&store, 24 * MI, streams[0], 0, false, &va), SEAM_OK);
}

Test(caching, sizes_that_contradict_each_other_are_refused)
{
	struct seam_store unused;
	const struct seam_caching_config bad = {.small_max_bytes = 4 * MI, .small_segment_bytes = 2 * MI};
	cr_expect_eq(seam__caching_init(&unused, &bad, driver, meta), SEAM_INVALID);
}

Test(caching, a_trim_returns_all_that_is_unused)
{
	uint64_t va = alloc(30 * MI, streams[0]), released = 0;
	launch(streams[0], va, 30 * MI);
	cr_assert_eq(seam__store_free(&store, va), SEAM_OK);
	cr_expect_eq(seam__store_trim(&store, 0, true, &released), SEAM_OK);
	cr_expect_eq(released, 0, "a kernel is running");
	cr_expect_eq(seam__store_trim(&store, 0, false, &released), SEAM_OK);
	cr_expect_eq(released, 30 * MI);
}

Test(caching, a_destroyed_streams_memory_comes_back)
{
	uint64_t handle = 0;
	cr_assert_eq(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &handle), 0);
	uint64_t va = alloc(30 * MI, handle);
	launch(handle, va, 30 * MI);
	cr_assert_eq(seam__store_free(&store, va), SEAM_OK);
	cr_expect_eq(seam__store_stream_destroyed(&store, handle), SEAM_OK);
	cr_assert_eq(seam__drv_stream_destroy(driver, handle), 0);
	seam__emu_advance(driver, 1000000);
	cr_expect_eq(alloc(30 * MI, streams[0]), va);
	cr_expect_eq(stats().grows, 1);
}

struct live {
	uint64_t va, bytes, stream;
};

static struct live live[LIVE];
static unsigned live_count;
static uint64_t served, refused;

static uint64_t draw(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % below;
}

/* As a program does it: an edge, the kernel, record_stream. */
static void use_elsewhere(const struct live *block)
{
	uint64_t other = streams[draw(STREAMS)];
	struct seam_event event;
	if (other == block->stream || seam__drv_event_create(driver, &event) != 0)
		return;
	int cu = seam__drv_event_record(driver, event, block->stream);
	cu |= seam__drv_stream_wait_event(driver, other, event);
	cu |= seam__drv_event_destroy(driver, event);
	cr_assert_eq(cu, 0);
	launch(other, block->va, block->bytes);
	cr_assert_eq(seam__store_record_stream(&store, block->va, other), SEAM_OK);
}

static void step(void)
{
	uint64_t dice = draw(100);
	if (dice < 45 && live_count < LIVE) {
		struct live *block = &live[live_count];
		block->bytes = 1 + (draw(5) == 0 ? draw(14 * MI) : draw(200 * KI));
		block->stream = streams[draw(STREAMS)];
		enum seam_rc rc = seam__store_alloc(&store, block->bytes, block->stream, 0, draw(8) == 0, &block->va);
		cr_assert(rc == SEAM_OK || rc == SEAM_OOM_DEVICE, "%s", seam_rc_name(rc));
		served += rc == SEAM_OK;
		refused += rc != SEAM_OK;
		live_count += rc == SEAM_OK;
		if (rc == SEAM_OK)
			launch(block->stream, block->va, block->bytes);
	} else if (dice < 90 && live_count > 0) {
		unsigned which = (unsigned)draw(live_count);
		if (draw(4) == 0)
			use_elsewhere(&live[which]);
		cr_assert_eq(seam__store_free(&store, live[which].va), SEAM_OK);
		live[which] = live[--live_count];
	} else if (dice < 99) {
		seam__emu_advance(driver, draw(400000));
	} else if (draw(10) == 0) {
		uint64_t released = 0;
		cr_assert_eq(seam__store_trim(&store, draw(256 * MI), draw(2) == 0, &released), SEAM_OK);
	}
}

static void walk_randomly(uint64_t seed, unsigned steps)
{
	state = seed;
	for (unsigned i = 0; i < steps; i++) {
		step();
		cr_assert_eq(seam__emu_violations_all(driver), 0, "step %u: %s", i, seam__emu_violation_text(driver));
		const char *broken = i % 64 == 0 ? seam__store_check(&store) : NULL;
		cr_assert_null(broken, "step %u: %s", i, broken);
	}
	cr_expect_gt(served, steps / 4);
	cr_expect_gt(refused, 10, "the device was never full");
	cr_expect_gt(stats().cross_streams, 50);
	cr_expect_gt(stats().retries, 10);
}

Test(caching, no_kernel_meets_anothers_memory)
{
	walk_randomly(21, 60000);
}

Test(caching, nor_with_reuse_behind_edges)
{
	tear_down();
	set_up_with(&(struct seam_caching_config){.reuse = SEAM_CACHE_REUSE_WAIT}, 256 * MI);
	walk_randomly(22, 40000);
}

Test(caching, nor_in_deterministic_mode)
{
	tear_down();
	set_up_with(&(struct seam_caching_config){.deterministic = true}, 256 * MI);
	walk_randomly(23, 40000);
}

/* I8: equal histories give equal addresses, whatever time does. */
Test(caching, deterministic_placements_do_not_depend_on_time)
{
	uint64_t hashes[2] = {0};
	for (unsigned round = 0; round < 2; round++) {
		tear_down();
		set_up_with(&(struct seam_caching_config){.deterministic = true}, 1024 * MI);
		state = 5;
		live_count = 0;
		for (unsigned i = 0; i < 5000; i++) {
			if (live_count < 100 && (draw(100) < 55 || live_count == 0)) {
				struct live *block = &live[live_count++];
				block->bytes = 1 + draw(3 * MI);
				block->stream = streams[draw(STREAMS)];
				block->va = alloc(block->bytes, block->stream);
				launch(block->stream, block->va, block->bytes);
				hashes[round] = hashes[round] * 31 + block->va;
			} else {
				unsigned which = (unsigned)draw(live_count);
				cr_assert_eq(seam__store_free(&store, live[which].va), SEAM_OK);
				live[which] = live[--live_count];
			}
			if (round == 1)
				seam__emu_advance(driver, 20000 * (i % 7));
		}
		cr_expect_gt(stats().cross_streams, 10);
	}
	cr_expect_eq(hashes[0], hashes[1]);
}
