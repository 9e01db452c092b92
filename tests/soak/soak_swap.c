/* soak_swap.c: threads over one swap engine on the emulated device: each has a drawn schedule of its own tensors and
 * streams, joins tickets that others drop, and host memory is short. Copies are done as early or as late as edges
 * allow.
 *
 * Prints nothing when all is well. Bounded: the events and the metadata of an engine are those of its tickets and
 * calls, and all of it comes back.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu.h"
#include "opts.h"
#include "pool.h"
#include "swap_schedule.h"

#define THREADS 4
#define STEPS 6000
#define PLACES 8

static struct seam_driver *driver;
static struct seam_pool *pool;
static struct seam_swap *swap;
/* Tickets of one tensor, on their way from one thread to another; 0: none. */
static _Atomic uint64_t places[PLACES];
static void *tensors[PLACES];
static _Atomic uint64_t joined, gone, moved, refused;

static void require(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "soak_swap: broken: %s\n", what);
		exit(1);
	}
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*state >> 33) % below;
}

/* Makes a ticket of a tensor that nobody writes, and drops the one that was there; joins one that others may drop. */
static void pass_tickets(uint64_t *state, void *stream)
{
	const uint64_t bytes = 4096;
	uint64_t place = draw(state, PLACES);
	uint64_t ticket = 0;
	uint64_t other = atomic_load(&places[draw(state, 2) == 0 ? place : draw(state, PLACES)]);
	enum seam_rc rc = seam_swap_out(swap, &tensors[place], &bytes, 1, stream, &ticket);
	require(rc == SEAM_OK || rc == SEAM_OOM_HOST, "a ticket is made, or host memory is short");
	uint64_t old = atomic_exchange(&places[place], ticket);
	if (old != 0)
		require(seam_swap_drop(swap, old) == SEAM_OK, "a ticket is dropped once");
	rc = other == 0 ? SEAM_OK : seam_swap_join(swap, other);
	require(rc == SEAM_OK || rc == SEAM_NOT_FOUND, "a ticket is joined, or gone");
	(void)atomic_fetch_add(rc == SEAM_OK ? &joined : &gone, 1);
}

static void *run_thread(void *argument)
{
	uint64_t state = (uint64_t)(uintptr_t)argument;
	struct swap_schedule schedule;
	swap_schedule_begin(&schedule, driver, pool, swap, state);
	for (int i = 0; i < STEPS; i++) {
		require(swap_schedule_step(&schedule), schedule.broken);
		if (draw(&state, 2) == 0)
			pass_tickets(&state, schedule.streams[1]);
	}
	require(swap_schedule_end(&schedule), schedule.broken);
	require(schedule.again == 0, "no call fails");
	(void)atomic_fetch_add(&moved, schedule.moved);
	(void)atomic_fetch_add(&refused, schedule.refused);
	return NULL;
}

static void open_all(void)
{
	char error[SEAM_OPTS_LINE_BYTES];
	struct seam_config config;
	const struct seam_emu_config emu = {
		.memory = SEAM_EMU_REAL, .capacity_bytes = UINT64_C(256) << 20, .drawn_copies = 7};
	require(seam__emu_create(&emu, error, sizeof error, &driver) == SEAM_OK, "the device exists");
	require(seam__opts_resolve(NULL, "host_capacity_bytes:512K", error, sizeof error, &config) == SEAM_OK, error);
	require(seam__pool_create_on(driver, &config, &pool) == SEAM_OK, "the pool exists");
	require(seam_swap_create(pool, &swap) == SEAM_OK, "the engine exists");
	for (int i = 0; i < PLACES; i++)
		require(seam_alloc(pool, 4096, NULL, &tensors[i]) == SEAM_OK, "a tensor exists");
}

int main(void)
{
	pthread_t threads[THREADS];
	open_all();
	for (uintptr_t i = 0; i < THREADS; i++)
		require(pthread_create(&threads[i], NULL, run_thread, (void *)(i + 1)) == 0, "a thread starts");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < PLACES; i++) {
		uint64_t ticket = atomic_load(&places[i]);
		require(ticket == 0 || seam_swap_drop(swap, ticket) == SEAM_OK, "the last ticket is dropped");
	}
	require(joined > STEPS / 4 && gone > 0 && moved > STEPS / 4, "tickets were joined, and dropped by others");
	require(refused > 0, "host memory was short");
	require(seam_swap_check(swap) == NULL, seam_swap_check(swap));
	struct seam_swap_stats stats = {.size = sizeof stats, .version = SEAM_SWAP_STATS_VERSION};
	require(seam_swap_stats_get(swap, &stats) == SEAM_OK && stats.tickets == 0 && stats.host_bytes == 0,
		"no ticket is left");
	require(seam__emu_violations_all(driver) == 0, seam__emu_violation_text(driver));
	seam_swap_destroy(swap);
	seam_pool_destroy(pool);
	struct seam_emu_usage usage;
	seam__emu_usage(driver, &usage);
	require(usage.events == 0 && usage.streams == 0 && usage.host_allocations == 0, "the device has all back");
	seam__driver_destroy(driver);
	return 0;
}
