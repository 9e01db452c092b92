/* test_caching.c: the caching allocator of devices without virtual memory, on the emulated device, whose judge sees
 * every use.
 *
 * I3, I4: a kernel on memory that another stream may still use, or a segment freed under one, is a violation that the
 * judge counts. The engine's own rules are in test_stream_cache*.c.
 */
#include "store_fixture.h"

#include "caching.h"

#define LIVE 150u

static void set_up_with(const struct seam_caching_config *config, uint64_t capacity_bytes)
{
	open_device(
		&(struct seam_emu_config){.memory = SEAM_EMU_BOOK, .capacity_bytes = capacity_bytes, .no_vmm = true});
	static struct seam_store caching;
	store = &caching;
	cr_assert_eq(seam__caching_init(store, config, driver, meta), SEAM_OK);
}

static void set_up(void)
{
	set_up_with(&(struct seam_caching_config){0}, 256 * MI);
}

TestSuite(caching, .init = set_up, .fini = close_store);

static void launch(uint64_t stream, uint64_t va, uint64_t bytes)
{
	const struct seam_emu_range range = {.va = va, .bytes = bytes, .write = true};
	cr_assert_eq(seam__emu_launch(driver, stream, &range, 1, 50000, 0), 0);
}

Test(caching, what_is_live_is_found_and_freed)
{
	uint64_t va = alloc(3000, streams[0]), base = 0, bytes = 0;
	cr_expect_eq(seam__store_range(store, va + 2999, &base, &bytes), SEAM_OK);
	cr_expect_eq(base, va);
	cr_expect_eq(bytes, 3072);
	cr_expect_eq(seam__store_free(store, va), SEAM_OK);
	cr_expect_eq(seam__store_free(store, va), SEAM_NOT_FOUND);
	cr_expect_eq(seam__store_range(store, va, &base, &bytes), SEAM_NOT_FOUND);
	cr_expect_eq(seam__store_record_stream(store, va, streams[1]), SEAM_NOT_FOUND);
}

Test(caching, the_capacity_holds)
{
	close_store();
	set_up_with(&(struct seam_caching_config){.capacity_bytes = 24 * MI}, 256 * MI);
	uint64_t va = 5;
	cr_expect_eq(seam__store_alloc(store, 25 * MI, streams[0], 0, false, &va), SEAM_OOM_DEVICE);
	cr_expect_eq(va, 5);
	cr_expect_eq(seam__store_alloc(store, 24 * MI, streams[0], 0, false, &va), SEAM_OK);
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
	cr_assert_eq(seam__store_free(store, va), SEAM_OK);
	cr_expect_eq(seam__store_trim(store, 0, true, &released), SEAM_OK);
	cr_expect_eq(released, 0, "a kernel is running");
	cr_expect_eq(seam__store_trim(store, 0, false, &released), SEAM_OK);
	cr_expect_eq(released, 30 * MI);
}

Test(caching, a_destroyed_streams_memory_comes_back)
{
	uint64_t handle = 0;
	cr_assert_eq(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &handle), 0);
	uint64_t va = alloc(30 * MI, handle);
	launch(handle, va, 30 * MI);
	cr_assert_eq(seam__store_free(store, va), SEAM_OK);
	cr_expect_eq(seam__store_stream_destroyed(store, handle), SEAM_OK);
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
	cr_assert_eq(seam__store_record_stream(store, block->va, other), SEAM_OK);
}

static void step(void)
{
	uint64_t dice = draw(100);
	if (dice < 45 && live_count < LIVE) {
		struct live *block = &live[live_count];
		block->bytes = 1 + (draw(5) == 0 ? draw(14 * MI) : draw(200 * KI));
		block->stream = streams[draw(STREAMS)];
		enum seam_rc rc = seam__store_alloc(store, block->bytes, block->stream, 0, draw(8) == 0, &block->va);
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
		cr_assert_eq(seam__store_free(store, live[which].va), SEAM_OK);
		live[which] = live[--live_count];
	} else if (dice < 99) {
		seam__emu_advance(driver, draw(400000));
	} else if (draw(10) == 0) {
		uint64_t released = 0;
		cr_assert_eq(seam__store_trim(store, draw(256 * MI), draw(2) == 0, &released), SEAM_OK);
	}
}

static void walk_randomly(uint64_t seed, unsigned steps)
{
	state = seed;
	for (unsigned i = 0; i < steps; i++) {
		step();
		cr_assert_eq(seam__emu_violations_all(driver), 0, "step %u: %s", i, seam__emu_violation_text(driver));
		const char *broken = i % 64 == 0 ? seam__store_check(store) : NULL;
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
	close_store();
	set_up_with(&(struct seam_caching_config){.reuse = SEAM_CACHE_REUSE_WAIT}, 256 * MI);
	walk_randomly(22, 40000);
}

Test(caching, nor_in_deterministic_mode)
{
	close_store();
	set_up_with(&(struct seam_caching_config){.deterministic = true}, 256 * MI);
	walk_randomly(23, 40000);
}

/* I8: equal histories give equal addresses, whatever time does. */
Test(caching, deterministic_placements_do_not_depend_on_time)
{
	uint64_t hashes[2] = {0};
	for (unsigned round = 0; round < 2; round++) {
		close_store();
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
				cr_assert_eq(seam__store_free(store, live[which].va), SEAM_OK);
				live[which] = live[--live_count];
			}
			if (round == 1)
				seam__emu_advance(driver, 20000 * (i % 7));
		}
		cr_expect_gt(stats().cross_streams, 10);
	}
	cr_expect_eq(hashes[0], hashes[1]);
}
