/* soak_store.c: threads over one caching allocator and one pool of host memory, on the emulated device: allocations,
 * frees by other threads, recorded streams, trims, streams that come and go, a device that is too small.
 *
 * Prints nothing when all is well. Bounded: reserved memory stays under the limit, metadata under a megabyte, and all
 * of it comes back.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "caching.h"
#include "emu.h"
#include "host.h"
#include "meta.h"

#define THREADS 4
#define ROUNDS 6000
#define PLACES 64
#define LIMIT_BYTES (UINT64_C(48) << 20)

static struct seam_driver *driver;
static struct seam_store *stores[2];
/* Blocks on their way from one thread to another; 0: none. */
static _Atomic uint64_t places[2][PLACES];

static void require(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "soak_store: broken: %s\n", what);
		exit(1);
	}
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*state >> 33) % below;
}

static void put_aside(unsigned which, uint64_t place, uint64_t va)
{
	uint64_t old = atomic_exchange(&places[which][place], va);
	if (old != 0)
		require(seam__store_free(stores[which], old) == SEAM_OK, "a live block is freed");
}

static uint64_t new_stream(uint64_t old)
{
	if (old != 0) {
		for (unsigned which = 0; which < 2; which++) {
			enum seam_rc rc = seam__store_stream_destroyed(stores[which], old);
			require(rc == SEAM_OK || rc == SEAM_NOT_FOUND, "a stream's end can be announced");
		}
		require(seam__drv_stream_destroy(driver, old) == 0, "a stream can be destroyed");
	}
	uint64_t stream = 0;
	require(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &stream) == 0, "a stream can be made");
	return stream;
}

static void use(unsigned which, uint64_t va, uint64_t stream)
{
	const struct seam_emu_range range = {.va = va, .bytes = 512, .write = true};
	require(seam__emu_launch(driver, stream, &range, which == 0 ? 1 : 0, 5000, 0) == 0, "a kernel can be launched");
}

static void *run_thread(void *argument)
{
	uint64_t state = (uint64_t)(uintptr_t)argument;
	uint64_t stream = new_stream(0);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned which = (unsigned)draw(&state, 2);
		uint64_t va = 0, released = 0,
			 bytes = 1 + draw(&state, draw(&state, 6) == 0 ? UINT64_C(8) << 20 : 100000);
		enum seam_rc rc = seam__store_alloc(stores[which], bytes, stream, round, draw(&state, 3) == 0, &va);
		require(rc == SEAM_OK || rc == SEAM_OOM_DEVICE || rc == SEAM_OOM_HOST,
			"an allocation succeeds, or memory is short");
		if (rc == SEAM_OK) {
			use(which, va, stream);
			put_aside(which, draw(&state, PLACES), va);
		}
		if (draw(&state, 4) == 0)
			put_aside(which, draw(&state, PLACES), 0);
		if (draw(&state, 200) == 0)
			require(seam__store_trim(stores[which], 0, draw(&state, 2) == 0, &released) == SEAM_OK,
				"a trim succeeds");
		if (draw(&state, 300) == 0)
			stream = new_stream(stream);
		if (draw(&state, 500) == 0)
			require(seam__store_check(stores[which]) == NULL, "the store is consistent");
	}
	return NULL;
}

int main(void)
{
	char error[200];
	const struct seam_emu_config emu = {
		.memory = SEAM_EMU_BOOK, .capacity_bytes = LIMIT_BYTES + (UINT64_C(8) << 20)};
	require(seam__emu_create(&emu, error, sizeof error, &driver) == SEAM_OK, "the device exists");
	struct seam_meta *meta = seam__meta_create(0);
	require(meta != NULL, "there is a domain");
	const struct seam_caching_config caching = {.capacity_bytes = LIMIT_BYTES, .verify_streams = true};
	const struct seam_host_config host = {.capacity_bytes = LIMIT_BYTES, .verify_streams = true};
	static struct seam_store caching_store;
	static struct seam_host pinned;
	stores[0] = &caching_store;
	stores[1] = &pinned.store;
	require(seam__caching_init(stores[0], &caching, driver, meta) == SEAM_OK, "the caching allocator begins");
	require(seam__host_init(&pinned, &host, driver, meta) == SEAM_OK, "the host pool begins");

	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		require(pthread_create(&threads[i], NULL, run_thread, (void *)(i + 1)) == 0, "a thread starts");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	for (unsigned which = 0; which < 2; which++) {
		struct seam_cache_stats stats;
		seam__store_get_stats(stores[which], &stats);
		require(stats.allocs > ROUNDS, "most requests were served");
		require(stats.retries > 0, "memory was short");
		require(stats.reserved_peak_bytes <= LIMIT_BYTES, "the limit holds");
		for (unsigned place = 0; place < PLACES; place++)
			put_aside(which, place, 0);
		require(seam__store_check(stores[which]) == NULL, "the store is consistent at the end");
		require(seam__store_fini(stores[which]) == 0, "no block is left");
	}
	struct seam_meta_stats used;
	seam__meta_get_stats(meta, &used);
	require(used.peak_bytes < UINT64_C(1) << 20, "metadata stays bounded");
	struct seam_emu_usage usage;
	seam__emu_usage(driver, &usage);
	require(usage.direct_allocations + usage.host_allocations + usage.events == 0,
		"the device has everything back");
	require(seam__emu_violations_all(driver) == 0, seam__emu_violation_text(driver));
	seam__driver_destroy(driver);
	require(seam__meta_destroy(meta) == 0, "the domain is empty");
	return 0;
}
