/* soak_record.c: many threads write into one recorder, come and go, stand still between drawing a number and writing;
 * others make traces meanwhile, every one of which is valid. */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "meta.h"
#include "record.h"

#define THREADS 6u
#define ROUNDS UINT64_C(12000)
#define LIVES 3u /* of each thread */
#define SLOTS 300u
#define LIMIT_BYTES SEAM_RECORD_LEAST_BYTES

static struct seam_recorder *recorder;
static uint64_t rounds = ROUNDS;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t live[SLOTS]; /* serials; pool_lock */
static bool done;            /* pool_lock */

static void require(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "soak_record: %s\n", what);
	abort();
}

static uint64_t next(uint64_t *random, uint64_t below)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*random >> 33) % below;
}

/* As a pool does it: the number under its lock, the event behind it. */
static void use_block(uint64_t *random)
{
	uint64_t at = next(random, SLOTS);
	struct seam_record record = {.bytes = 512, .stream = at % 4};
	pthread_mutex_lock(&pool_lock);
	record.order = seam__recorder_draw(recorder);
	record.kind = live[at] == 0 ? SEAM_TRACE_ALLOC : SEAM_TRACE_FREE;
	record.id = live[at] == 0 ? record.order : live[at];
	live[at] = live[at] == 0 ? record.order : 0;
	pthread_mutex_unlock(&pool_lock);
	if (next(random, 50) == 0)
		(void)sched_yield();
	seam__recorder_add(recorder, &record);
}

static uint64_t draw(void)
{
	pthread_mutex_lock(&pool_lock);
	uint64_t order = seam__recorder_draw(recorder);
	pthread_mutex_unlock(&pool_lock);
	return order;
}

static void *work(void *argument)
{
	static const char *const names[] = {"forward", "backward", "step"};
	uint64_t random = *(const uint64_t *)argument;
	for (uint64_t round = 0; round < rounds; round++) {
		const char *name = names[next(&random, 3)];
		bool phase = next(&random, 40) == 0;
		if (phase)
			require(seam__recorder_phase_begin(recorder, draw(), name) == SEAM_OK, "phase_begin");
		use_block(&random);
		if (phase)
			require(seam__recorder_phase_end(recorder, draw(), name) == SEAM_OK, "phase_end");
	}
	return NULL;
}

static void *begin_again(void *argument)
{
	uint64_t *seed = argument;
	for (unsigned i = 0; i < LIVES; i++) {
		pthread_t thread;
		*seed += 1000;
		require(pthread_create(&thread, NULL, work, seed) == 0, "a thread");
		require(pthread_join(thread, NULL) == 0, "a thread's end");
	}
	return NULL;
}

static bool is_done(void)
{
	pthread_mutex_lock(&pool_lock);
	bool is = done;
	pthread_mutex_unlock(&pool_lock);
	return is;
}

static void *read_traces(void *argument)
{
	static const uint64_t newest[] = {0, 1, 500, 3000};
	uint64_t *made = argument;
	do {
		struct seam_trace *trace;
		struct seam_trace_error error = {0};
		struct seam_recorder_counts counts;
		require(seam__recorder_trace(recorder, newest[*made % 4], "a soak", &trace) == SEAM_OK, "a trace");
		require(seam_trace_check(trace, &error) == NULL, error.text);
		seam_trace_free(trace);
		seam__recorder_get_counts(recorder, &counts);
		require(counts.bytes <= LIMIT_BYTES, "the limit");
		(*made)++;
	} while (!is_done());
	return NULL;
}

/* What the last trace leaves live is what is live. */
static void check_end(void)
{
	struct seam_trace *trace;
	uint64_t in_trace = 0, in_market = 0;
	require(seam__recorder_trace(recorder, 0, "a soak", &trace) == SEAM_OK, "the last trace");
	for (uint64_t i = 0; i < trace->header.event_count; i++) {
		in_trace += trace->events[i].kind == SEAM_TRACE_ALLOC;
		in_trace -= trace->events[i].kind == SEAM_TRACE_FREE;
	}
	seam_trace_free(trace);
	for (unsigned i = 0; i < SLOTS; i++)
		in_market += live[i] != 0;
	struct seam_recorder_counts counts;
	seam__recorder_get_counts(recorder, &counts);
	require(counts.lost != 0 || in_trace == in_market, "what is live");
	/* A thread that stands still with a number holds up the log, which is as small as it may be, for as long as the
	 * machine lets it stand. */
	require(counts.lost < counts.events / 2, "most is kept");
	require(seam__recorder_check(recorder) == NULL, "the recorder's invariants");
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS], reader;
	uint64_t seeds[THREADS], traces = 0;
	if (argc > 1)
		rounds = ROUNDS * strtoull(argv[1], NULL, 10);
	struct seam_meta *meta = seam__meta_create(0);
	require(meta != NULL && seam__recorder_create(meta, LIMIT_BYTES, 0, &recorder) == SEAM_OK, "a recorder");
	require(pthread_create(&reader, NULL, read_traces, &traces) == 0, "the reader");
	for (unsigned i = 0; i < THREADS; i++) {
		seeds[i] = i * 77 + 1;
		require(pthread_create(&threads[i], NULL, begin_again, &seeds[i]) == 0, "a thread");
	}
	for (unsigned i = 0; i < THREADS; i++)
		require(pthread_join(threads[i], NULL) == 0, "a thread's end");
	pthread_mutex_lock(&pool_lock);
	done = true;
	pthread_mutex_unlock(&pool_lock);
	require(pthread_join(reader, NULL) == 0, "the reader's end");
	require(traces > 3, "traces were made meanwhile");
	check_end();
	seam__recorder_destroy(recorder);
	require(seam__meta_destroy(meta) == 0, "metadata is left");
	return 0;
}
