/* soak_pool.c: threads share one pool: allocate, free (each other's blocks too), record streams, trim, open and release
 * private pools.
 *
 * Prints nothing when all is well. Bounded: reserved bytes stay under the capacity, metadata under its limit, and in
 * the end all is given back. The emulated device judges every access. An argument scales the number of rounds.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu.h"
#include "opts.h"
#include "pool.h"

#define THREADS 4u
#define SLOTS 24u
#define ROUNDS 15000u
#define CAPACITY_BYTES (UINT64_C(72) << 20)
#define METADATA_BYTES (UINT64_C(4) << 20)

static struct seam_driver *driver;
static struct seam_pool *pool;
static uint64_t rounds = ROUNDS;

/* A block that changes hands: who takes it out of its slot may free it. */
struct slot {
	void *ptr;
	uint64_t bytes;
	uint64_t stream;
};

static pthread_mutex_t market_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot market[SLOTS]; /* market_lock */

struct worker {
	uint64_t random;
	uint64_t number; /* from 1 */
	uint64_t stream;
	struct seam_event event;
	uint64_t served, refused;
};

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "soak_pool: broken: %s (%s)\n", what, seam__emu_violation_text(driver));
	exit(1);
}

static uint64_t next(struct worker *worker, uint64_t below)
{
	worker->random = worker->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (worker->random >> 33) % below;
}

static void launch(uint64_t stream, const struct slot *slot, bool write, uint64_t duration_ns)
{
	const struct seam_emu_range range = {(uint64_t)(uintptr_t)slot->ptr, slot->bytes, write};
	require(seam__emu_launch(driver, stream, &range, 1, duration_ns, 0) == 0, "a launch");
}

static struct slot swap(struct worker *worker, struct slot mine)
{
	uint64_t at = next(worker, SLOTS);
	pthread_mutex_lock(&market_lock);
	struct slot other = market[at];
	market[at] = mine;
	pthread_mutex_unlock(&market_lock);
	return other;
}

/* Reads somebody's block on the worker's own stream, behind its writer, and tells the pool. */
static void read_here(struct worker *worker, const struct slot *slot)
{
	require(seam_record_stream(pool, slot->ptr, (void *)(uintptr_t)worker->stream) == SEAM_OK,
		"seam_record_stream");
	require(seam__drv_event_record(driver, worker->event, slot->stream) == 0, "event_record");
	require(seam__drv_stream_wait_event(driver, worker->stream, worker->event) == 0, "stream_wait_event");
	launch(worker->stream, slot, false, next(worker, 200000));
}

static uint64_t choose_bytes(struct worker *worker)
{
	static const uint64_t sizes[] = {1 << 20, 2 << 20, 3 << 20, 6 << 20, 12 << 20};
	return next(worker, 3) == 0 ? 1 + next(worker, 100000) : sizes[next(worker, 5)];
}

static void alloc_one(struct worker *worker)
{
	struct slot slot = {.bytes = choose_bytes(worker), .stream = worker->stream};
	enum seam_rc rc = seam_alloc(pool, slot.bytes, (void *)(uintptr_t)worker->stream, &slot.ptr);
	require(rc == SEAM_OK || rc == SEAM_OOM_DEVICE, "seam_alloc");
	worker->served += rc == SEAM_OK;
	worker->refused += rc != SEAM_OK;
	if (rc != SEAM_OK)
		return;
	launch(slot.stream, &slot, true, next(worker, 200000));
	struct slot other = swap(worker, slot);
	if (other.ptr == NULL)
		return;
	if (other.stream != worker->stream && next(worker, 3) == 0)
		read_here(worker, &other);
	require(seam_free(pool, other.ptr) == SEAM_OK, "seam_free");
}

static void free_one(struct worker *worker)
{
	struct slot slot = swap(worker, (struct slot){0});
	require(seam_free(pool, slot.ptr) == SEAM_OK, "seam_free");
}

/* A private pool that comes and goes while others are at work, and whose blocks outlive it. */
static void use_private(struct worker *worker)
{
	require(seam_private_begin(pool, worker->number, SEAM_ROUTE_THREAD, 0) == SEAM_OK, "seam_private_begin");
	for (int i = 0; i < 4; i++)
		alloc_one(worker);
	require(seam_private_end(pool, worker->number) == SEAM_OK, "seam_private_end");
	require(seam_private_release(pool, worker->number) == SEAM_OK, "seam_private_release");
}

static void check_bounds(void)
{
	struct seam_stats stats = {.size = sizeof stats, .version = SEAM_STATS_VERSION};
	require(seam_stats_get(pool, &stats) == SEAM_OK, "seam_stats_get");
	require(stats.reserved_bytes_peak <= CAPACITY_BYTES, "reserved bytes stay under the capacity");
	require(stats.metadata_bytes_peak <= METADATA_BYTES, "metadata stays under its limit");
	require(seam__emu_violations_all(driver) == 0, "the device's judge");
	require(seam__pool_check(pool) == NULL, "the pool's invariants");
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	for (uint64_t round = 0; round < rounds; round++) {
		uint64_t what = next(worker, 1000);
		if (what < 4)
			require(seam_trim(pool, next(worker, CAPACITY_BYTES), NULL) == SEAM_OK, "seam_trim");
		else if (what < 10)
			use_private(worker);
		else if (what < 14)
			check_bounds();
		else if (what < 600)
			alloc_one(worker);
		else
			free_one(worker);
	}
	return NULL;
}

static void open_all(struct worker *workers)
{
	struct seam_config given, config;
	const struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK};
	seam_config_init(&given);
	given.capacity_bytes = CAPACITY_BYTES;
	given.metadata_limit_bytes = METADATA_BYTES;
	require(seam__emu_create(&emu, NULL, 0, &driver) == SEAM_OK, "a device");
	require(seam__opts_resolve(&given, NULL, NULL, 0, &config) == SEAM_OK, "a configuration");
	require(seam__pool_create_on(driver, &config, &pool) == SEAM_OK, "a pool");
	for (uint64_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.random = i * 77 + 1, .number = i + 1};
		require(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &workers[i].stream) == 0, "a stream");
		require(seam__drv_event_create(driver, &workers[i].event) == 0, "an event");
	}
}

static void close_all(const struct worker *workers)
{
	uint64_t served = 0, refused = 0, released = 0;
	for (unsigned i = 0; i < SLOTS; i++)
		require(seam_free(pool, market[i].ptr) == SEAM_OK, "seam_free");
	check_bounds();
	require(seam_trim(pool, 0, &released) == SEAM_OK, "seam_trim");
	struct seam_emu_usage usage;
	seam__emu_usage(driver, &usage);
	require(usage.used_bytes == 0, "everything goes back to the device");
	for (unsigned i = 0; i < THREADS; i++) {
		served += workers[i].served;
		refused += workers[i].refused;
		require(seam__drv_event_destroy(driver, workers[i].event) == 0, "event_destroy");
	}
	require(served > THREADS * rounds / 4 && refused > 0, "blocks were served, and memory ran out");
	seam_pool_destroy(pool);
	seam__emu_usage(driver, &usage);
	require(usage.mappings + usage.reservations + usage.events == 0, "nothing is left on the device");
	seam__driver_destroy(driver);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	struct worker workers[THREADS];
	if (argc > 1)
		rounds = ROUNDS * strtoull(argv[1], NULL, 10);
	open_all(workers);
	for (unsigned i = 0; i < THREADS; i++)
		require(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "a thread");
	for (unsigned i = 0; i < THREADS; i++)
		require(pthread_join(threads[i], NULL) == 0, "a thread's end");
	close_all(workers);
	return 0;
}
