/* soak_plan.c: threads repeat themselves on one pool, whose own thread learns and adopts plans meanwhile; one marks
 * steps, and another brings plans, drops them, trims, and reads statistics and snapshots.
 *
 * What threads ask for repeats itself only if they do so in the same order. So they take turns until a plan serves,
 * each time that plans were dropped, and run as the machine lets them from then on: how often a plan comes into use
 * does not depend on what else the machine does.
 *
 * Prints nothing when all is well. The emulated device judges every access, and nothing is left in the end. An argument
 * scales the number of iterations.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <seam/plan.h>

#include "emu.h"
#include "opts.h"
#include "learner.h"
#include "pool.h"
#include "record.h"

#define THREADS 3u
#define SLOTS 14u
#define ITERATIONS 3000u
#define MOST 40u       /* times as many, while no plan has come into use */
#define PAUSE_NS 50000 /* while it is another's turn: the pool's thread gets to run */
#define CAPACITY_BYTES (UINT64_C(768) << 20)
#define KIB(n) ((uint64_t)(n) << 10)

static struct seam_driver *driver;
static struct seam_pool *pool;
static uint64_t iterations = ITERATIONS;
static atomic_bool done, served;
static atomic_bool in_turns = true; /* the director's */
static atomic_bool ending;          /* a worker has gone: nobody waits for its turn */
static atomic_uint turn;

struct worker {
	uint64_t random;
	uint64_t number;
	uint64_t stream, neighbour;
	struct seam_event event;
	void *kept[SLOTS]; /* from the iteration before */
};

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "soak_plan: broken: %s (%s)\n", what, seam__emu_violation_text(driver));
	exit(1);
}

static uint64_t next(uint64_t *random, uint64_t below)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*random >> 33) % below;
}

static void launch(uint64_t stream, void *ptr, uint64_t bytes, bool write, uint64_t duration_ns)
{
	const struct seam_emu_range range = {(uint64_t)(uintptr_t)ptr, bytes, write};
	require(seam__emu_launch(driver, stream, &range, 1, duration_ns, 0) == 0, "a launch");
}

static uint64_t bytes_of(const struct worker *worker, unsigned slot)
{
	return slot % 3 == 0 ? KIB(100) * (slot + 1) : KIB(700) * (slot + worker->number + 1);
}

static void *must_alloc(struct worker *worker, uint64_t bytes)
{
	void *ptr = NULL;
	enum seam_rc rc = seam_alloc(pool, bytes, (void *)(uintptr_t)worker->stream, &ptr);
	require(rc == SEAM_OK, seam_rc_name(rc));
	launch(worker->stream, ptr, bytes, true, next(&worker->random, 50000));
	return ptr;
}

/* Another stream reads the block, behind its writer. */
static void show_neighbour(struct worker *worker, void *ptr, uint64_t bytes)
{
	require(seam_record_stream(pool, ptr, (void *)(uintptr_t)worker->neighbour) == SEAM_OK, "seam_record_stream");
	require(seam__drv_event_record(driver, worker->event, worker->stream) == 0, "event_record");
	require(seam__drv_stream_wait_event(driver, worker->neighbour, worker->event) == 0, "stream_wait_event");
	launch(worker->neighbour, ptr, bytes, false, next(&worker->random, 50000));
}

/* The same each time; out of turn now and then with a request more, or a block that another stream uses. */
static void iterate(struct worker *worker, bool exact)
{
	void *now[SLOTS] = {NULL};
	for (unsigned i = 0; i < SLOTS; i++) {
		now[i] = must_alloc(worker, bytes_of(worker, i));
		if (!exact && next(&worker->random, 200) == 0)
			require(seam_free(pool, must_alloc(worker, KIB(900))) == SEAM_OK, "seam_free");
		if (!exact && next(&worker->random, 100) == 0)
			show_neighbour(worker, now[i], bytes_of(worker, i));
		if (i % 2 == 1)
			require(seam_free(pool, now[i - 1]) == SEAM_OK, "seam_free");
		if (i > 4 && worker->kept[i] != NULL)
			require(seam_free(pool, worker->kept[i]) == SEAM_OK, "seam_free");
	}
	for (unsigned i = 1; i < SLOTS; i += 2) {
		if (i > 4)
			worker->kept[i] = now[i];
		else
			require(seam_free(pool, now[i]) == SEAM_OK, "seam_free");
	}
	if (worker->number == 0)
		require(seam_step(pool) == SEAM_OK, "seam_step");
}

/* Waits for its turn. False: they take none. */
static bool wait_for_turn(const struct worker *worker)
{
	while (atomic_load(&in_turns) && !atomic_load(&ending)) {
		if (atomic_load(&turn) % THREADS == worker->number)
			return true;
		(void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
	return false;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	for (uint64_t i = 0; i < iterations || (i < MOST * iterations && !atomic_load(&served)); i++) {
		bool my_turn = wait_for_turn(worker);
		iterate(worker, my_turn);
		if (my_turn)
			atomic_fetch_add(&turn, 1);
		else if (i % 8 == 0)
			(void)sched_yield();
	}
	atomic_store(&ending, true);
	for (unsigned i = 0; i < SLOTS; i++)
		require(seam_free(pool, worker->kept[i]) == SEAM_OK, "seam_free");
	return NULL;
}

static struct seam_plan *make_plan(void)
{
	struct seam_trace *trace = NULL;
	struct seam_plan *plan = NULL;
	struct seam_plan_options options = {.struct_bytes = sizeof options, .node_limit = 1000};
	require(seam__recorder_trace(pool->recorder, 1500, "a soak", &trace) == SEAM_OK, "a trace");
	enum seam_rc rc = seam_plan_make(trace, &options, NULL, &plan);
	seam_trace_free(trace);
	require(rc == SEAM_OK || rc == SEAM_NOT_FOUND, "a plan");
	return plan;
}

/* Returns the hits so far. */
static uint64_t check_figures(void)
{
	struct seam_stats stats = {.size = sizeof stats, .version = SEAM_STATS_VERSION};
	struct seam_plan_stats plans = {.size = sizeof plans, .version = SEAM_PLAN_STATS_VERSION};
	seam__mutex_lock(seam__pool_lock(pool)); /* both as of one moment */
	seam__pool_stats(pool, &stats);
	seam__pool_plan_stats(pool, &plans);
	seam__mutex_unlock(seam__pool_lock(pool));
	require(stats.reserved_bytes_peak <= CAPACITY_BYTES, "reserved bytes stay under the capacity");
	require(plans.requests == plans.hits + plans.misses, "hits and misses are all requests");
	require(plans.live_bytes <= stats.live_bytes, "what plans placed is live");
	require(seam__emu_violations_all(driver) == 0, "the device's judge");
	const char *broken = seam__pool_check(pool);
	require(broken == NULL, broken);
	return plans.hits;
}

/* Brings a plan, or does something that nobody expects. Before a plan has served none is taken away. Returns whether
 * one may have been. */
static bool disturb(uint64_t what)
{
	struct seam_plan *plan = what < 2 ? make_plan() : NULL;
	enum seam_rc rc = plan == NULL ? SEAM_OK : seam_plan_use(pool, plan, NULL, 0);
	seam_plan_free(plan);
	require(rc == SEAM_OK || rc == SEAM_INVALID || rc == SEAM_OOM_DEVICE, "seam_plan_use");
	if (what == 2 && atomic_load(&served))
		seam_plan_drop(pool);
	else if (what == 3 && atomic_load(&served))
		require(seam_trim(pool, CAPACITY_BYTES / 4, NULL) == SEAM_OK, "seam_trim");
	else if (what >= 4)
		require(seam_snapshot_visit(pool, &(const struct seam_visitor){.view = NULL}, NULL) == SEAM_OK,
			"a snapshot");
	return what == 2;
}

static void *direct(void *argument)
{
	uint64_t random = *(const uint64_t *)argument, hits = 0;
	while (!atomic_load(&done)) {
		uint64_t what = next(&random, 40), now = check_figures();
		if (now != hits) {
			atomic_store(&served, true);
			atomic_store(&in_turns, false);
		}
		hits = now;
		if (what < 10 && disturb(what)) {
			hits = check_figures();
			atomic_store(&in_turns, true);
		}
		for (unsigned i = 0; i < 20; i++)
			(void)sched_yield();
	}
	return NULL;
}

static void open_all(struct worker *workers)
{
	struct seam_config given, config;
	const struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK};
	seam_config_init(&given);
	given.capacity_bytes = CAPACITY_BYTES;
	given.record_limit_bytes = KIB(512);
	require(seam_config_parse(&given, "plan:auto", NULL, 0) == SEAM_OK, "an option");
	require(seam__emu_create(&emu, NULL, 0, &driver) == SEAM_OK, "a device");
	require(seam__opts_resolve(&given, NULL, NULL, 0, &config) == SEAM_OK, "a configuration");
	require(seam__pool_create_on(driver, &config, &pool) == SEAM_OK, "a pool");
	pool->learner->place_ns = UINT64_C(2000000); /* its plans need not be good ones */
	for (uint64_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.random = i * 77 + 1, .number = i};
		require(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &workers[i].stream) == 0, "a stream");
		require(seam__drv_event_create(driver, &workers[i].event) == 0, "an event");
	}
	for (uint64_t i = 0; i < THREADS; i++)
		workers[i].neighbour = workers[(i + 1) % THREADS].stream;
}

static void close_all(struct worker *workers)
{
	struct seam_stats stats = {.size = sizeof stats, .version = SEAM_STATS_VERSION};
	(void)check_figures();
	require(seam_stats_get(pool, &stats) == SEAM_OK, "seam_stats_get");
	struct seam_plan_stats plans = {.size = sizeof plans, .version = SEAM_PLAN_STATS_VERSION};
	require(seam_plan_stats_get(pool, &plans) == SEAM_OK, "seam_plan_stats_get");
	require(stats.live_blocks == 0 && plans.live_bytes == 0, "everything is free");
	require(plans.adoptions != 0 && plans.hits != 0, "plans came into use, and were hit");
	for (unsigned i = 0; i < THREADS; i++)
		require(seam__drv_event_destroy(driver, workers[i].event) == 0, "event_destroy");
	seam_pool_destroy(pool);
	struct seam_emu_usage usage;
	seam__emu_usage(driver, &usage);
	require(usage.used_bytes + usage.mappings + usage.reservations + usage.events == 0,
		"nothing is left on the device");
	seam__driver_destroy(driver);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS], director;
	struct worker workers[THREADS];
	uint64_t seed = 5;
	if (argc > 1)
		iterations = ITERATIONS * strtoull(argv[1], NULL, 10);
	open_all(workers);
	for (unsigned i = 0; i < THREADS; i++)
		require(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "a thread");
	require(pthread_create(&director, NULL, direct, &seed) == 0, "a thread");
	for (unsigned i = 0; i < THREADS; i++)
		require(pthread_join(threads[i], NULL) == 0, "a thread's end");
	atomic_store(&done, true);
	require(pthread_join(director, NULL) == 0, "a thread's end");
	close_all(workers);
	return 0;
}
