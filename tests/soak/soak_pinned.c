/* soak_pinned.c: threads over stitched pinned memory on the emulated device: allocations, frees by other threads under
 * copies, recorded streams, trims, walks, and pinning ahead by a thread of the library's.
 *
 * Prints nothing when all is well. Bounded: pinned memory stays under the limit, and all of it comes back; what an
 * owner has written is there until it frees it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu.h"
#include "meta.h"
#include "pinned.h"

#define THREADS 4
#define ROUNDS 12000
#define PLACES 24
#define LIMIT_BYTES (UINT64_C(16) << 20)

static struct seam_driver *driver;
static struct seam_pinned pinned;
static uint64_t streams[THREADS];
/* Blocks on their way from one thread to another; 0: none. The first word of each is its address. */
static _Atomic uint64_t places[PLACES];
static _Atomic uint64_t served, refused;

static void require(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "soak_pinned: broken: %s\n", what);
		exit(1);
	}
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*state >> 33) % below;
}

static void give_back(uint64_t va)
{
	if (va == 0)
		return;
	require(*(uint64_t *)(uintptr_t)va == va, "a block is its owner's");
	require(seam__pinned_free(&pinned, va) == SEAM_OK, "a live block is freed");
}

static void ask(uint64_t *state, uint64_t stream)
{
	uint64_t va = 0, start = 0, bytes = 0;
	const uint64_t wanted = 8 + draw(state, draw(state, 3) == 0 ? UINT64_C(5) << 20 : 100000);
	enum seam_rc rc =
		seam__pinned_alloc(&pinned, wanted, draw(state, 2) == 0 ? SEAM_NO_STREAM_HANDLE : stream, &va);
	require(rc == SEAM_OK || rc == SEAM_OOM_HOST, "a request is served, or memory is short");
	(void)atomic_fetch_add(rc == SEAM_OK ? &served : &refused, 1);
	if (rc != SEAM_OK)
		return;
	*(uint64_t *)(uintptr_t)va = va;
	if (draw(state, 3) == 0)
		require(seam__pinned_record_stream(&pinned, va, stream) == SEAM_OK, "a stream is recorded");
	require(seam__pinned_range(&pinned, va + wanted - 1, &start, &bytes) == SEAM_OK && start == va, "it is found");
	give_back(atomic_exchange(&places[draw(state, PLACES)], va));
}

static bool see(void *user, const struct seam_cache_view *view)
{
	*(uint64_t *)user += view->state == SEAM_CACHE_LIVE ? view->bytes : 0;
	return true;
}

static void look(uint64_t *state)
{
	struct seam_cache_stats stats;
	uint64_t released = 0, live_bytes = 0;
	enum seam_rc rc;
	switch (draw(state, 5)) {
	case 0:
		seam__pinned_walk(&pinned, see, &live_bytes);
		require(live_bytes <= LIMIT_BYTES, "what lives is within the limit");
		break;
	case 1:
		require(seam__pinned_trim(&pinned, draw(state, LIMIT_BYTES), &released) == SEAM_OK, "a trim");
		break;
	case 2:
		seam__pinned_reset_peaks(&pinned);
		break;
	default:
		rc = seam__pinned_prepare(&pinned, draw(state, LIMIT_BYTES + LIMIT_BYTES / 8), draw(state, 8) == 0);
		require(rc == SEAM_OK || rc == SEAM_OOM_HOST, "it is pinned ahead, or memory is short");
		break;
	}
	seam__pinned_get_stats(&pinned, &stats);
	require(stats.reserved_bytes <= LIMIT_BYTES, "the limit holds");
}

static void *run_thread(void *argument)
{
	const uint64_t number = (uint64_t)(uintptr_t)argument;
	uint64_t state = number + 1;
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (draw(&state, 5) < 3)
			ask(&state, streams[number]);
		else
			give_back(atomic_exchange(&places[draw(&state, PLACES)], 0));
		if (draw(&state, 20) == 0)
			look(&state);
		if (i % 64 == 0)
			require(seam__pinned_check(&pinned) == NULL, "an invariant");
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	const char *why = NULL;
	const struct seam_emu_config emu = {.memory = SEAM_EMU_STRICT, .capacity_bytes = UINT64_C(16) << 20};
	const struct seam_pinned_config config = {.capacity_bytes = LIMIT_BYTES,
		.mapping_limit = 4096,
		.address_limit_bytes = UINT64_C(1) << 44,
		.root = "/nowhere"};
	struct seam_meta *meta = seam__meta_create(0);
	require(meta != NULL && seam__emu_create(&emu, NULL, 0, &driver) == SEAM_OK, "the device exists");
	require(seam__pinned_init(&pinned, &config, driver, meta, &why) == SEAM_OK, "the pool exists");
	for (unsigned i = 0; i < THREADS; i++)
		require(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &streams[i]) == 0, "a stream exists");
	for (uintptr_t i = 0; i < THREADS; i++)
		require(pthread_create(&threads[i], NULL, run_thread, (void *)i) == 0, "a thread starts");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < PLACES; i++)
		give_back(atomic_load(&places[i]));
	require(served > ROUNDS && refused > 0, "requests were served, and memory was short");
	require(seam__pinned_check(&pinned) == NULL, "an invariant at the end");
	seam__pinned_fini(&pinned);
	struct seam_emu_usage usage;
	seam__emu_usage(driver, &usage);
	require(usage.handles + usage.mappings + usage.reservations + usage.events == 0, "the device has all back");
	require(seam__emu_violations_all(driver) == 0, seam__emu_violation_text(driver));
	seam__driver_destroy(driver);
	require(seam__meta_destroy(meta) == 0, "metadata is back");
	return 0;
}
