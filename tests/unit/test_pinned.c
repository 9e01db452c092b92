/* test_pinned.c: stitched host memory: exact whatever sizes come, given back by the chunk, refused where the driver
 * lacks something, and whole after every failure. */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "emu.h"
#include "meta.h"
#include "pinned.h"

#define KI UINT64_C(1024)
#define MI (KI * KI)
#define CHUNK (2 * MI)
#define STREAMS 3u
#define LIVE 40u

static struct seam_driver *driver;
static struct seam_meta *meta;
static struct seam_pinned pinned;
static uint64_t streams[STREAMS];
static uint64_t state; /* of draw() */
static uint64_t device_va;

static uint64_t draw(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % below;
}

static void open_device(enum seam_emu_host host)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_STRICT, .capacity_bytes = 64 * MI, .host = host};
	cr_assert_eq(seam__emu_create(&config, NULL, 0, &driver), SEAM_OK);
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
}

static struct seam_pinned_config config_of(uint64_t capacity_bytes)
{
	return (struct seam_pinned_config){.capacity_bytes = capacity_bytes,
		.mapping_limit = 4096,
		.address_limit_bytes = UINT64_C(1) << 44,
		.root = "/nowhere"};
}

static void set_up_with(const struct seam_pinned_config *config)
{
	const char *why = NULL;
	open_device(SEAM_EMU_HOST_WHOLE);
	cr_assert_eq(seam__pinned_init(&pinned, config, driver, meta, &why), SEAM_OK, "%s", why);
	for (unsigned i = 0; i < STREAMS; i++)
		cr_assert_eq(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &streams[i]), 0);
	cr_assert_eq(seam__drv_direct_alloc(driver, 8 * MI, &device_va), 0);
}

static void set_up(void)
{
	const struct seam_pinned_config config = config_of(0);
	set_up_with(&config);
}

static void close_device(void)
{
	struct seam_emu_usage usage;
	seam__emu_usage(driver, &usage);
	SEAM_VERIFY(usage.handles + usage.mappings + usage.reservations + usage.events == 0);
	SEAM_VERIFY(seam__emu_violations_all(driver) == 0);
	seam__driver_destroy(driver);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

static void tear_down(void)
{
	SEAM_VERIFY(seam__pinned_check(&pinned) == NULL);
	SEAM_VERIFY(seam__drv_direct_free(driver, device_va) == 0);
	seam__pinned_fini(&pinned);
	close_device();
}

TestSuite(pinned, .init = set_up, .fini = tear_down);

static uint64_t alloc(uint64_t bytes, uint64_t stream)
{
	uint64_t va = 0;
	enum seam_rc rc = seam__pinned_alloc(&pinned, bytes, stream, &va);
	cr_assert_eq(rc, SEAM_OK, "%lu bytes: %s", (unsigned long)bytes, seam_rc_name(rc));
	return va;
}

static struct seam_cache_stats stats(void)
{
	struct seam_cache_stats result;
	seam__pinned_get_stats(&pinned, &result);
	return result;
}

static void *pointer(uint64_t va)
{
	return (void *)(uintptr_t)va;
}

Test(pinned, why_it_cannot_be_is_told)
{
	static const struct {
		enum seam_emu_host host;
		const char *why;
	} rows[] = {
		{SEAM_EMU_HOST_NONE, "the driver makes no memory on nodes of the host"},
		{SEAM_EMU_HOST_NO_CPU, "the driver lets no CPU into memory of nodes of the host"},
		{SEAM_EMU_HOST_AS_DEVICE, "the driver does not call memory of nodes of the host the host's"},
	};
	tear_down();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct seam_pinned_config config = config_of(0);
		const char *why = NULL;
		open_device(rows[i].host);
		cr_assert_eq(seam__pinned_init(&pinned, &config, driver, meta, &why), SEAM_UNSUPPORTED);
		cr_expect_str_eq(why, rows[i].why);
		close_device();
	}
	set_up();
}

Test(pinned, sizes_that_were_never_seen_are_served_by_what_is_pinned)
{
	uint64_t blocks[16], most_bytes = 0;
	state = 8862;
	for (unsigned round = 0; round < 100; round++) {
		const uint64_t count = 1 + draw(16);
		for (uint64_t i = 0; i < count; i++) {
			blocks[i] = alloc(MI + draw(9 * MI), SEAM_NO_STREAM_HANDLE);
			if (stats().live_bytes > most_bytes)
				most_bytes = stats().live_bytes;
		}
		for (uint64_t i = 0; i < count; i++)
			cr_assert_eq(seam__pinned_free(&pinned, blocks[i]), SEAM_OK);
		cr_assert_lt(stats().reserved_bytes, most_bytes + CHUNK, "round %u", round);
	}
}

Test(pinned, scattered_chunks_become_one_block)
{
	uint64_t blocks[8];
	for (unsigned i = 0; i < 8; i++)
		blocks[i] = alloc(CHUNK, streams[0]);
	for (unsigned i = 0; i < 8; i += 2)
		cr_assert_eq(seam__pinned_free(&pinned, blocks[i]), SEAM_OK);
	const uint64_t whole = alloc(4 * CHUNK, streams[0]);
	cr_expect_eq(stats().reserved_bytes, 8 * CHUNK);
	memset(pointer(whole), 0x77, 4 * CHUNK);
	cr_assert_eq(seam__drv_copy_to_device(driver, device_va, pointer(whole), 4 * CHUNK, streams[0]), 0);
	cr_assert_eq(seam__drv_stream_sync(driver, streams[0]), 0);
	bool host = false;
	cr_assert_eq(seam__drv_is_host(driver, whole + 3 * CHUNK, &host), 0);
	cr_expect(host);
}

Test(pinned, a_trim_gives_back_chunks_beside_live_blocks)
{
	uint64_t blocks[8], released = 0;
	for (unsigned i = 0; i < 8; i++)
		blocks[i] = alloc(CHUNK, streams[0]);
	for (unsigned i = 0; i < 8; i++)
		if (i != 3)
			cr_assert_eq(seam__pinned_free(&pinned, blocks[i]), SEAM_OK);
	cr_assert_eq(seam__pinned_trim(&pinned, 0, &released), SEAM_OK);
	cr_expect_eq(released, 7 * CHUNK);
	cr_expect_eq(stats().reserved_bytes, CHUNK);
}

Test(pinned, a_free_waits_for_what_was_submitted_before_it)
{
	const uint64_t mine = alloc(CHUNK, SEAM_NO_STREAM_HANDLE);
	cr_assert_eq(seam__pinned_record_stream(&pinned, mine, streams[1]), SEAM_OK);
	cr_assert_eq(seam__drv_copy_to_host(driver, pointer(mine), device_va, CHUNK, streams[1]), 0);
	cr_assert_eq(seam__pinned_free(&pinned, mine), SEAM_OK);
	cr_expect_eq(stats().pending_blocks, 1);
	cr_assert_eq(seam__emu_launch(driver, streams[1], NULL, 0, UINT64_C(60000000000), 0), 0);
	cr_expect_neq(alloc(CHUNK, SEAM_NO_STREAM_HANDLE), mine, "the copy is pending");
	seam__emu_advance(driver, UINT64_C(1000000000));
	cr_expect_eq(alloc(CHUNK, SEAM_NO_STREAM_HANDLE), mine, "the kernel behind it has nothing to do with it");
}

Test(pinned, a_block_is_found_by_any_of_its_addresses)
{
	const uint64_t mine = alloc(3 * MI, streams[0]);
	uint64_t va = 0, bytes = 0;
	(void)alloc(3 * MI, streams[0]);
	cr_expect_eq(seam__pinned_range(&pinned, mine, &va, &bytes), SEAM_OK);
	cr_expect(va == mine && bytes == 3 * MI);
	cr_expect_eq(seam__pinned_range(&pinned, mine + 3 * MI - 1, &va, &bytes), SEAM_OK);
	cr_expect_eq(va, mine);
	cr_expect_eq(seam__pinned_range(&pinned, mine - 1, &va, &bytes), SEAM_NOT_FOUND);
	cr_expect_eq(seam__pinned_free(&pinned, mine + 1), SEAM_NOT_FOUND);
	cr_expect_eq(seam__pinned_record_stream(&pinned, mine + 1, streams[0]), SEAM_NOT_FOUND);
}

struct seen {
	uint64_t blocks, live_bytes, last_va;
	bool in_order;
};

static bool see(void *user, const struct seam_cache_view *view)
{
	struct seen *seen = user;
	seen->in_order &= view->va > seen->last_va;
	seen->last_va = view->va;
	seen->blocks++;
	seen->live_bytes += view->state == SEAM_CACHE_LIVE ? view->bytes : 0;
	return true;
}

Test(pinned, a_walk_shows_every_block_in_order)
{
	(void)alloc(100, streams[0]);
	const uint64_t mine = alloc(5 * MI, streams[0]);
	(void)alloc(70 * KI, streams[1]);
	cr_assert_eq(seam__pinned_free(&pinned, mine), SEAM_OK);
	struct seen seen = {.in_order = true};
	seam__pinned_walk(&pinned, see, &seen);
	cr_expect(seen.in_order);
	cr_expect_eq(seen.live_bytes, stats().live_bytes);
	cr_expect_gt(seen.blocks, 3);
}

/* The control group's files are the test's. */
static void write_group(const char *root, const char *name, const char *text)
{
	char path[200];
	(void)snprintf(path, sizeof path, "%s/%s", root, name);
	FILE *file = fopen(path, "we");
	cr_assert_not_null(file);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
}

Test(pinned, it_does_not_grow_beyond_what_the_control_group_leaves)
{
	char root[] = "/tmp/seam-pinned-XXXXXX", command[200];
	cr_assert_not_null(mkdtemp(root));
	(void)snprintf(command, sizeof command, "mkdir -p %s/proc/self %s/sys/fs/cgroup", root, root);
	cr_assert_eq(system(command), 0);
	write_group(root, "proc/self/cgroup", "0::/\n");
	write_group(root, "sys/fs/cgroup/memory.max", "8388608\n");
	write_group(root, "sys/fs/cgroup/memory.current", "4194304\n");
	tear_down();
	struct seam_pinned_config config = config_of(0);
	config.root = root;
	set_up_with(&config);
	uint64_t va = 9;
	const uint64_t mine = alloc(CHUNK, streams[0]);
	write_group(root, "sys/fs/cgroup/memory.current", "7340032\n");
	cr_expect_eq(seam__pinned_alloc(&pinned, 3 * CHUNK, streams[0], &va), SEAM_OOM_HOST);
	cr_expect_eq(va, 9);
	cr_expect_eq(stats().ooms, 1);
	cr_expect_eq(stats().reserved_bytes, CHUNK, "nothing is left of it");
	write_group(root, "sys/fs/cgroup/memory.current", "8388608\n");
	cr_expect_eq(seam__pinned_alloc(&pinned, CHUNK, streams[0], &va), SEAM_OOM_HOST);
	cr_assert_eq(seam__pinned_free(&pinned, mine), SEAM_OK);
	cr_expect_eq(alloc(CHUNK, streams[0]), mine, "what is pinned serves");
	(void)snprintf(command, sizeof command, "rm -rf %s", root);
	cr_assert_eq(system(command), 0);
}

struct live {
	uint64_t va, bytes, stream;
	uint8_t fill;
};

static struct live live[LIVE];
static unsigned live_count;

/* The host owns it: nothing is pending on it. */
static void verify(const struct live *block)
{
	const uint8_t *bytes = pointer(block->va);
	for (uint64_t i = 0; i < block->bytes; i += 509)
		cr_assert_eq(bytes[i], block->fill, "byte %lu of %lu", (unsigned long)i, (unsigned long)block->bytes);
	cr_assert_eq(bytes[block->bytes - 1], block->fill);
}

/* One drawn step. False: a call failed, as some do here. */
static bool step(void)
{
	const uint64_t dice = draw(100);
	uint64_t released = 0;
	if (dice < 50 && live_count < LIVE) {
		struct live *block = &live[live_count];
		*block = (struct live){.bytes = 1 + draw(draw(3) == 0 ? 6 * MI : 100 * KI),
			.stream = SEAM_NO_STREAM_HANDLE,
			.fill = (uint8_t)draw(256)};
		if (seam__pinned_alloc(&pinned, block->bytes, block->stream, &block->va) != SEAM_OK)
			return false;
		memset(pointer(block->va), block->fill, block->bytes);
		live_count++;
	} else if (dice < 90 && live_count > 0) {
		struct live *block = &live[draw(live_count)];
		const uint64_t stream = streams[draw(STREAMS)];
		verify(block);
		/* Half are freed under a copy from them, which may still fail to be submitted. */
		if (draw(2) == 0) {
			if (seam__pinned_record_stream(&pinned, block->va, stream) != SEAM_OK)
				return false;
			int ignored = seam__drv_copy_to_device(driver, device_va, pointer(block->va),
				block->bytes < 8 * MI ? block->bytes : 8 * MI, stream);
			(void)ignored;
			seam__emu_clear_violations(driver); /* of the device's side: streams write the same bytes */
		}
		cr_assert_eq(seam__pinned_free(&pinned, block->va), SEAM_OK);
		*block = live[--live_count];
	} else if (dice < 95) {
		return seam__pinned_trim(&pinned, draw(2) * stats().reserved_bytes / 2, &released) == SEAM_OK;
	} else {
		seam__emu_advance(driver, draw(2000000));
	}
	return true;
}

Test(pinned, contents_are_their_owners)
{
	tear_down();
	const struct seam_pinned_config config = config_of(48 * MI);
	set_up_with(&config);
	state = 4711;
	live_count = 0;
	unsigned failed = 0;
	for (unsigned i = 0; i < 6000; i++) {
		failed += !step();
		const char *broken = i % 16 == 0 ? seam__pinned_check(&pinned) : NULL;
		cr_assert_null(broken, "step %u: %s", i, broken);
		cr_assert_leq(stats().reserved_bytes, 48 * MI);
	}
	cr_expect_gt(failed, 0, "the limit was met");
}

/* The Nth call of the driver fails, of any kind that the pool makes. */
Test(pinned, it_is_whole_after_every_failure_of_the_driver)
{
	for (uint64_t n = 1; n < 120; n++) {
		seam__driver_fail_at(driver, 0, 0, 0);
		state = n;
		live_count = 0;
		for (unsigned i = 0; i < 60; i++) {
			if (i == 20)
				seam__driver_fail_at(driver, n, 1u << SEAM_DRV_MEMORY | 1u << SEAM_DRV_EVENT,
					n % 2 == 0 ? SEAM_CU_OUT_OF_MEMORY : SEAM_CU_UNKNOWN);
			(void)step();
			const char *broken = seam__pinned_check(&pinned);
			cr_assert_null(broken, "call %lu, step %u: %s", (unsigned long)n, i, broken);
		}
		seam__driver_fail_at(driver, 0, 0, 0);
		for (; live_count > 0; live_count--) {
			verify(&live[live_count - 1]);
			cr_assert_eq(seam__pinned_free(&pinned, live[live_count - 1].va), SEAM_OK);
		}
		uint64_t released = 0;
		cr_assert_eq(seam__pinned_trim(&pinned, 0, &released), SEAM_OK);
		cr_assert_eq(stats().reserved_bytes, 0, "call %lu", (unsigned long)n);
	}
}

/* And every allocation of metadata. */
Test(pinned, it_is_whole_after_every_failure_of_metadata)
{
	for (uint64_t n = 1; n < 60; n++) {
		state = n;
		live_count = 0;
		seam__meta_fail_at(meta, n);
		for (unsigned i = 0; i < 40; i++) {
			(void)step();
			const char *broken = seam__pinned_check(&pinned);
			cr_assert_null(broken, "allocation %lu, step %u: %s", (unsigned long)n, i, broken);
		}
		seam__meta_fail_at(meta, 0);
		for (; live_count > 0; live_count--)
			cr_assert_eq(seam__pinned_free(&pinned, live[live_count - 1].va), SEAM_OK);
		uint64_t released = 0;
		cr_assert_eq(seam__pinned_trim(&pinned, 0, &released), SEAM_OK);
	}
}

Test(pinned, what_is_pinned_ahead_serves_without_a_call)
{
	cr_assert_eq(seam__pinned_prepare(&pinned, 20 * MI, true), SEAM_OK);
	cr_expect_eq(stats().reserved_bytes, 20 * MI);
	(void)alloc(13 * MI, streams[0]);
	(void)alloc(7 * MI, SEAM_NO_STREAM_HANDLE);
	cr_expect_eq(stats().grows, 10);
	cr_assert_eq(seam__pinned_prepare(&pinned, 19 * MI, true), SEAM_OK);
	cr_expect_eq(stats().reserved_bytes, 20 * MI, "it is there");
}

Test(pinned, pinning_ahead_ends_where_memory_does)
{
	const struct seam_pinned_config config = config_of(16 * MI);
	tear_down();
	set_up_with(&config);
	cr_expect_eq(seam__pinned_prepare(&pinned, 20 * MI, true), SEAM_OOM_HOST);
	cr_expect_eq(stats().reserved_bytes, 16 * MI, "what was pinned stays");
	cr_expect_eq(pinned.ahead.short_bytes, 20 * MI);
	cr_expect_eq(seam__pinned_prepare(&pinned, 16 * MI, true), SEAM_OK);
	cr_expect_eq(pinned.ahead.short_bytes, 0);
	(void)alloc(16 * MI, streams[0]);
}

/* The thread has its turns when the system gives them: what is asked for meanwhile is served, and at the end there is
 * what was aimed at last, or what a trim left. */
Test(pinned, a_thread_pins_ahead_and_lets_requests_in)
{
	uint64_t blocks[4], released = 0;
	for (uint64_t round = 1; round <= 40; round++) {
		cr_assert_eq(seam__pinned_prepare(&pinned, round * MI, false), SEAM_OK);
		cr_assert_eq(seam__pinned_prepare(&pinned, 2 * round * MI, false), SEAM_OK);
		for (unsigned i = 0; i < 4; i++)
			blocks[i] = alloc(round * 100 * KI, streams[i % STREAMS]);
		for (unsigned i = 0; i < 4; i++)
			cr_assert_eq(seam__pinned_free(&pinned, blocks[i]), SEAM_OK);
		if (round % 4 == 0) {
			cr_assert_eq(seam__pinned_trim(&pinned, 0, &released), SEAM_OK);
			cr_assert_eq(stats().reserved_bytes, 0, "nothing is in use");
		} else {
			while (stats().reserved_bytes < 2 * round * MI)
				(void)sched_yield();
		}
	}
	cr_assert_eq(seam__pinned_prepare(&pinned, 400 * MI, false), SEAM_OK);
	cr_assert_eq(seam__pinned_trim(&pinned, 0, &released), SEAM_OK);
	while (pinned.ahead.makers != 0)
		(void)sched_yield();
	cr_expect_eq(stats().reserved_bytes, 0, "a trim ends it");
}

Test(pinned, pinning_ahead_is_whole_after_every_failure)
{
	for (uint64_t n = 1; n < 60; n++) {
		uint64_t released = 0;
		seam__driver_fail_at(driver, n % 2 == 0 ? n / 2 : 0, 1u << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY);
		seam__meta_fail_at(meta, n % 2 == 0 ? 0 : n / 2 + 1);
		enum seam_rc rc = seam__pinned_prepare(&pinned, 24 * MI, true);
		seam__driver_fail_at(driver, 0, 0, 0);
		seam__meta_fail_at(meta, 0);
		const char *broken = seam__pinned_check(&pinned);
		cr_assert_null(broken, "call %lu: %s", (unsigned long)n, broken);
		cr_expect(rc == SEAM_OK || stats().reserved_bytes < 24 * MI);
		cr_assert_eq(seam__pinned_prepare(&pinned, 24 * MI, true), SEAM_OK);
		cr_expect_eq(stats().reserved_bytes, 24 * MI);
		cr_assert_eq(seam__pinned_trim(&pinned, 0, &released), SEAM_OK);
	}
}

Test(pinned, a_failure_while_it_is_tried_leaves_nothing)
{
	tear_down();
	for (uint64_t n = 1; n < 20; n++) {
		const struct seam_pinned_config config = config_of(0);
		const char *why = NULL;
		open_device(SEAM_EMU_HOST_WHOLE);
		seam__driver_fail_at(driver, n, UINT64_MAX, SEAM_CU_UNKNOWN);
		enum seam_rc rc = seam__pinned_init(&pinned, &config, driver, meta, &why);
		seam__driver_fail_at(driver, 0, 0, 0);
		if (rc == SEAM_OK)
			seam__pinned_fini(&pinned);
		close_device();
	}
	/* What is short now may be had later: that is no lack of the driver. */
	open_device(SEAM_EMU_HOST_WHOLE);
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY);
	const struct seam_pinned_config config = config_of(0);
	const char *why = NULL;
	cr_expect_eq(seam__pinned_init(&pinned, &config, driver, meta, &why), SEAM_UNSUPPORTED);
	cr_expect_str_eq(why, "out of memory when it was tried");
	close_device();
	set_up();
}
