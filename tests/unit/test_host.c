/* test_host.c: pinned host memory: exact sizes, limits, and contents under copies that are still running when a buffer
 * is freed. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "store_fixture.h"

#include "bits.h"
#include "host.h"
#include "numa.h"

static struct seam_host host;

#define SLOTS 32u
#define SLOT_BYTES (UINT64_C(256) * KI)
#define LIVE 60u

static uint64_t device_va; /* SLOTS slots, each filled with its number */

static void set_up_with(const struct seam_host_config *config)
{
	open_device(&(struct seam_emu_config){.memory = SEAM_EMU_REAL, .capacity_bytes = 64 * MI});
	cr_assert_eq(seam__host_init(&host, config, driver, meta), SEAM_OK);
	store = &host.store;
	cr_assert_eq(seam__drv_direct_alloc(driver, SLOTS * SLOT_BYTES, &device_va), 0);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		cr_assert_eq(
			seam__drv_fill32(driver, device_va + slot * SLOT_BYTES, slot, SLOT_BYTES / 4, streams[0]), 0);
	cr_assert_eq(seam__drv_device_sync(driver), 0);
}

static void set_up(void)
{
	set_up_with(&(struct seam_host_config){0});
}

static void tear_down(void)
{
	SEAM_VERIFY(seam__drv_direct_free(driver, device_va) == 0);
	close_store();
}

TestSuite(host, .init = set_up, .fini = tear_down);

Test(host, sizes_are_exact)
{
	static const struct {
		const char *name;
		uint64_t bytes, block_bytes, pinned_bytes;
	} rows[] = {
		{"a byte", 1, 512, 1 * MI},
		{"the last small", 64 * KI, 64 * KI, 1 * MI},
		{"one that shares", 64 * KI + 1, 64 * KI + 512, 4 * MI},
		{"one of its own", 1 * MI, 1 * MI, 1 * MI},
		{"just above a power of two", 4 * MI + 1, 4 * MI + 512, 4 * MI + 4 * KI},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint64_t released = 0, base = 0, bytes = 0, va = alloc(rows[i].bytes, streams[0]);
		cr_assert_eq(seam__store_range(store, va, &base, &bytes), SEAM_OK);
		cr_expect_eq(bytes, rows[i].block_bytes, "row: %s", rows[i].name);
		cr_expect_eq(stats().reserved_bytes, rows[i].pinned_bytes, "row: %s", rows[i].name);
		cr_assert_eq(seam__store_free(store, va), SEAM_OK);
		cr_assert_eq(seam__store_trim(store, 0, false, &released), SEAM_OK);
		cr_expect_eq(released, rows[i].pinned_bytes, "row: %s", rows[i].name);
	}
}

Test(host, many_odd_sizes_waste_little)
{
	for (uint64_t i = 0; i < 500; i++)
		(void)alloc(100 * KI + i * 1021, streams[0]);
	cr_expect_lt(stats().reserved_bytes, stats().requested_bytes / 100 * 112, "%lu pinned for %lu",
		(unsigned long)stats().reserved_bytes, (unsigned long)stats().requested_bytes);
}

Test(host, running_out_is_of_host_memory)
{
	tear_down();
	set_up_with(&(struct seam_host_config){.capacity_bytes = 2 * MI});
	uint64_t va = 9;
	cr_expect_eq(seam__store_alloc(store, 3 * MI, streams[0], 0, false, &va), SEAM_OOM_HOST);
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY);
	cr_expect_eq(seam__store_alloc(store, 2 * MI, streams[0], 0, false, &va), SEAM_OOM_HOST);
	cr_expect_eq(va, 9);
	cr_expect_eq(seam__store_alloc(store, 2 * MI, streams[0], 0, false, &va), SEAM_OK);
}

Test(host, a_buffer_under_copy_is_not_given_to_another_stream)
{
	uint64_t va = alloc(SLOT_BYTES, streams[0]);
	cr_assert_eq(
		seam__drv_copy_to_host(driver, seam__host_pointer(va), device_va + SLOT_BYTES, SLOT_BYTES, streams[0]),
		0);
	cr_assert_eq(seam__store_free(store, va), SEAM_OK);
	uint64_t other = alloc(SLOT_BYTES, streams[1]);
	cr_expect_neq(other, va);
	cr_expect_eq(alloc(SLOT_BYTES, streams[0]), va, "its own stream comes after the copy");
}

Test(host, what_no_stream_uses_is_free_at_once_and_what_one_uses_is_not)
{
	uint64_t mine = alloc(SLOT_BYTES, SEAM_NO_STREAM_HANDLE), released = 0;
	cr_assert_eq(seam__store_free(store, mine), SEAM_OK);
	cr_expect_eq(alloc(SLOT_BYTES, SEAM_NO_STREAM_HANDLE), mine, "no work was ever on it");
	cr_assert_eq(seam__store_free(store, mine), SEAM_OK);
	cr_expect_eq(alloc(SLOT_BYTES, streams[0]), mine, "it is everybody's");
	cr_assert_eq(seam__store_free(store, mine), SEAM_OK);
	mine = alloc(SLOT_BYTES, SEAM_NO_STREAM_HANDLE);
	cr_expect_neq(mine, 0);
	/* A copy behind a long kernel. */
	cr_assert_eq(seam__store_record_stream(store, mine, streams[1]), SEAM_OK);
	cr_assert_eq(seam__emu_launch(driver, streams[1], NULL, 0, 2000000, 0), 0);
	cr_assert_eq(seam__drv_copy_to_host(driver, seam__host_pointer(mine), device_va, SLOT_BYTES, streams[1]), 0);
	cr_assert_eq(seam__store_free(store, mine), SEAM_OK);
	cr_expect_eq(stats().pending_blocks, 1);
	cr_expect_eq(stats().held_peak_bytes, SLOT_BYTES);
	cr_expect_neq(alloc(SLOT_BYTES, SEAM_NO_STREAM_HANDLE), mine, "the copy is pending");
	cr_assert_eq(seam__store_stream_destroyed(store, SEAM_NO_STREAM_HANDLE), SEAM_INVALID);
	cr_assert_eq(seam__store_trim(store, 0, false, &released), SEAM_OK);
	cr_expect_eq(stats().pending_blocks, 0, "a trim waits");
}

/* What the stream is given after the free is not waited for: the host runs ahead of the device by whole iterations. */
Test(host, a_free_waits_for_what_was_submitted_before_it)
{
	uint64_t mine = alloc(2 * MI, SEAM_NO_STREAM_HANDLE);
	cr_assert_eq(seam__store_record_stream(store, mine, streams[1]), SEAM_OK);
	cr_assert_eq(seam__drv_copy_to_host(driver, seam__host_pointer(mine), device_va, SLOT_BYTES, streams[1]), 0);
	cr_assert_eq(seam__store_free(store, mine), SEAM_OK);
	cr_assert_eq(seam__emu_launch(driver, streams[1], NULL, 0, UINT64_C(60000000000), 0), 0);
	seam__emu_advance(driver, UINT64_C(1000000000));
	cr_expect_eq(alloc(2 * MI, SEAM_NO_STREAM_HANDLE), mine, "the kernel behind it has nothing to do with it");
}

static bool add_unused(void *user, const struct seam_cache_view *view)
{
	uint64_t *unused_bytes = user;
	if (view->state == SEAM_CACHE_FREE && view->bytes == view->segment_bytes)
		*unused_bytes += view->bytes;
	return true;
}

/* Sizes that are drawn anew each round fit into few of the last round's segments. */
Test(host, it_grows_beyond_an_eighth_of_what_was_held_only_without_unused_segments)
{
	uint64_t blocks[16], most_bytes = 0, checked = 0;
	state = 8862;
	for (unsigned round = 0; round < 50; round++) {
		const uint64_t count = 1 + draw(16);
		for (uint64_t i = 0; i < count; i++) {
			const uint64_t grows = stats().grows;
			uint64_t unused_bytes = 0;
			blocks[i] = alloc(MI + draw(9 * MI), SEAM_NO_STREAM_HANDLE);
			most_bytes = seam__bits_max(most_bytes, stats().live_bytes + stats().pending_bytes);
			seam__store_walk(store, add_unused, &unused_bytes);
			if (stats().grows == grows || unused_bytes == 0)
				continue;
			checked++;
			cr_assert_leq(stats().reserved_bytes, most_bytes + most_bytes / 8, "round %u", round);
		}
		for (uint64_t i = 0; i < count; i++)
			cr_assert_eq(seam__store_free(store, blocks[i]), SEAM_OK);
	}
	cr_expect_gt(checked, 0);
	cr_expect_gt(stats().shrinks, 0);
}

/* The control group's files are the test's. */
Test(host, it_does_not_grow_beyond_what_the_control_group_leaves)
{
	char root[] = "/tmp/seam-host-XXXXXX", path[100], command[100];
	cr_assert_not_null(mkdtemp(root));
	(void)snprintf(command, sizeof command, "mkdir -p %s/proc/self %s/sys/fs/cgroup", root, root);
	cr_assert_eq(system(command), 0);
	static const char *const files[][2] = {{"proc/self/cgroup", "0::/\n"},
		{"sys/fs/cgroup/memory.max", "8388608\n"}, {"sys/fs/cgroup/memory.current", "4194304\n"}};
	for (unsigned i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", root, files[i][0]);
		FILE *file = fopen(path, "we");
		cr_assert_not_null(file);
		cr_assert_geq(fputs(files[i][1], file), 0);
		cr_assert_eq(fclose(file), 0);
	}
	tear_down();
	set_up_with(&(struct seam_host_config){.root = root});
	uint64_t va = 0;
	cr_expect_eq(seam__store_alloc(store, 5 * MI, streams[0], 0, false, &va), SEAM_OOM_HOST);
	cr_expect_eq(stats().ooms, 1);
	cr_expect_eq(atomic_load(&host.figures.allocs.count), 0, "the driver is not asked");
	va = alloc(4 * MI, streams[0]);
	cr_expect_neq(va, 0);
	(void)snprintf(command, sizeof command, "rm -rf %s", root);
	cr_assert_eq(system(command), 0);
}

Test(host, new_memory_is_asked_for_on_the_devices_node)
{
	int refused = 0, mode = -1;
	if (seam__numa_prefer(0, &refused))
		seam__numa_forget();
	(void)alloc(2 * MI, streams[0]);
	cr_expect_eq(atomic_load(&host.figures.node), 0, "what the emulator says");
	cr_expect_eq(atomic_load(&host.figures.placed), refused == 0 ? 1 : 0);
	cr_expect_eq(atomic_load(&host.figures.refused), refused);
	if (syscall(SYS_get_mempolicy, &mode, NULL, 0UL, NULL, 0UL) == 0)
		cr_expect_eq(mode, 0, "the thread's policy is as it was");
}

Test(host, driver_calls_are_counted_by_size)
{
	(void)alloc(1, streams[0]);
	(void)alloc(3 * MI, streams[0]);
	(void)alloc(4 * MI, streams[0]);
	uint64_t released = 0, counted = 0;
	cr_assert_eq(seam__store_trim(store, 0, false, &released), SEAM_OK);
	cr_expect_eq(atomic_load(&host.figures.sizes[20]), 1);
	cr_expect_eq(atomic_load(&host.figures.sizes[22]), 2);
	for (unsigned i = 0; i < SEAM_HOST_SIZES; i++)
		counted += atomic_load(&host.figures.sizes[i]);
	cr_expect_eq(counted, stats().grows);
	cr_expect_eq(atomic_load(&host.figures.allocs.count), stats().grows);
	cr_expect_leq(atomic_load(&host.figures.allocs.least_ns), atomic_load(&host.figures.allocs.most_ns));
	cr_expect_geq(atomic_load(&host.figures.allocs.total_ns), atomic_load(&host.figures.allocs.most_ns));
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY);
	uint64_t va = 0;
	cr_assert_eq(seam__store_alloc(store, 5 * MI, streams[0], 0, false, &va), SEAM_OOM_HOST);
	cr_expect_eq(atomic_load(&host.figures.allocs.count), stats().grows + 1);
	cr_assert_null(seam__store_check(store));
}

struct live {
	uint64_t va, bytes, stream;
	uint32_t slot;
};

static void verify(const struct live *block)
{
	cr_assert_eq(seam__drv_stream_sync(driver, block->stream), 0);
	/* Time for a copy of a former owner to do its harm. */
	seam__emu_advance(driver, 2500000);
	const uint32_t *words = seam__host_pointer(block->va);
	for (uint64_t i = 0; i < block->bytes / 4; i++)
		cr_assert_eq(words[i], block->slot, "word %lu of a buffer of %lu bytes", (unsigned long)i,
			(unsigned long)block->bytes);
}

/* A running copy into a freed buffer must never land in what another stream got. */
Test(host, contents_are_their_owners)
{
	tear_down();
	set_up_with(&(struct seam_host_config){.capacity_bytes = 5 * MI});
	static struct live live[LIVE];
	state = 77;
	unsigned count = 0, verified = 0;
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t dice = draw(100);
		if (dice < 48 && count < LIVE) {
			struct live *block = &live[count];
			*block = (struct live){.bytes = 4 + draw(draw(4) == 0 ? SLOT_BYTES - 4 : 16 * KI) / 4 * 4,
				.stream = streams[draw(STREAMS)],
				.slot = (uint32_t)draw(SLOTS)};
			enum seam_rc rc = seam__store_alloc(store, block->bytes, block->stream, 0, true, &block->va);
			cr_assert(rc == SEAM_OK || rc == SEAM_OOM_HOST, "%s", seam_rc_name(rc));
			if (rc != SEAM_OK)
				continue;
			count++;
			/* Now and then the copy waits behind a long kernel, while other streams go on. */
			if (draw(6) == 0)
				cr_assert_eq(seam__emu_launch(driver, block->stream, NULL, 0, 2000000, 0), 0);
			cr_assert_eq(seam__drv_copy_to_host(driver, seam__host_pointer(block->va),
					     device_va + block->slot * SLOT_BYTES, block->bytes, block->stream),
				0);
		} else if (dice < 95 && count > 0) {
			/* Half of the buffers are freed at once, under their copy. */
			unsigned which = draw(2) == 0 ? count - 1 : (unsigned)draw(count);
			if (draw(12) == 0) {
				verify(&live[which]);
				verified++;
			}
			cr_assert_eq(seam__store_free(store, live[which].va), SEAM_OK);
			live[which] = live[--count];
		} else if (dice == 95) {
			uint64_t released = 0;
			cr_assert_eq(seam__store_trim(store, 0, draw(2) == 0, &released), SEAM_OK);
		} else {
			seam__emu_advance(driver, draw(20000));
		}
		const char *broken = i % 64 == 0 ? seam__store_check(store) : NULL;
		cr_assert_null(broken, "step %u: %s", i, broken);
	}
	cr_expect_gt(verified, 500);
	cr_expect_gt(stats().cross_streams, 500, "%lu", (unsigned long)stats().cross_streams);
}
