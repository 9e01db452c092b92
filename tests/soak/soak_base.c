/* soak_base.c: threads over what the base library shares between them: a metadata domain with a limit and injected
 * failures, ranked mutexes with conditions, and the log callback that comes and goes.
 *
 * Prints nothing when all is well. Bounded: the domain's peak stays under its limit, and all of it comes back.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "lockrank.h"
#include "log.h"
#include "meta.h"
#include "slab.h"

#define THREADS 4
#define ROUNDS 20000
#define LIMIT_BYTES (UINT64_C(512) << 10)

static struct seam_meta *meta;
static struct seam_mutex mutex;
static struct seam_cond changed;
static struct seam_slab slab; /* lock: mutex */
static uint64_t objects_out;  /* lock: mutex */
static uint64_t lines;        /* lock: the log's own */

static void require(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "soak_base: broken: %s\n", what);
		exit(1);
	}
}

static void count_line(void *user, enum seam_log_level level, const char *line)
{
	(void)level;
	require(user == &lines && strncmp(line, "round ", 6) == 0, "a log line arrives whole with its user");
	lines++;
}

/* Takes an object, or waits a moment for another thread to return one. */
static void *take_object(void)
{
	seam__mutex_lock(&mutex);
	void *object = seam__slab_get(&slab);
	if (object == NULL)
		(void)seam__cond_wait_until(&changed, &mutex, seam__clock_ns() + 1000);
	else
		objects_out++;
	seam__mutex_unlock(&mutex);
	return object;
}

static void return_object(void *object)
{
	if (object == NULL)
		return;
	seam__mutex_lock(&mutex);
	seam__slab_put(&slab, object);
	objects_out--;
	seam__cond_signal(&changed);
	seam__mutex_unlock(&mutex);
}

static void *work(void *argument)
{
	uint64_t seed = (uint64_t)(uintptr_t)argument * UINT64_C(0x9e3779b97f4a7c15) + 1;
	void *objects[32] = {NULL};
	for (unsigned round = 0; round < ROUNDS; round++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		size_t bytes = 1 + (seed >> 40) % 4096;
		unsigned char *own = seam__meta_alloc(meta, bytes);
		if (own != NULL)
			memset(own, 0xee, bytes);
		return_object(objects[seed >> 59]);
		objects[seed >> 59] = take_object();
		seam__meta_free(meta, own, bytes);
		if (round % 256 == 0) {
			seam_set_log_callback((seed >> 33) % 3 == 0 ? NULL : count_line, &lines);
			seam__meta_fail_at(meta, 1 + (seed >> 50) % 8);
		}
		seam__log(SEAM_LOG_DEBUG, "round %u", round);
	}
	for (size_t i = 0; i < 32; i++)
		return_object(objects[i]);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	meta = seam__meta_create(LIMIT_BYTES);
	require(meta != NULL, "a domain");
	require(seam__mutex_init(&mutex, "soak", SEAM_RANK_DEVICE) == SEAM_OK, "a mutex");
	require(seam__cond_init(&changed) == SEAM_OK, "a condition");
	seam__slab_init(&slab, meta, 4000);
	for (uintptr_t i = 0; i < THREADS; i++)
		require(pthread_create(&threads[i], NULL, work, (void *)i) == 0, "a thread");
	for (size_t i = 0; i < THREADS; i++)
		require(pthread_join(threads[i], NULL) == 0, "a thread's end");
	struct seam_meta_stats stats;
	seam__meta_get_stats(meta, &stats);
	require(stats.peak_bytes <= LIMIT_BYTES, "the peak stays under the limit");
	require(stats.failed_calls > 0, "failures were injected");
	require(objects_out == 0 && seam__slab_check(&slab) == NULL, "every object came back");
	require(seam__slab_fini(&slab) == 0, "no object is lost");
	seam_set_log_callback(NULL, NULL);
	require(lines > 0, "lines were logged");
	seam__cond_fini(&changed);
	seam__mutex_fini(&mutex);
	require(seam__meta_destroy(meta) == 0, "no metadata is lost");
	return 0;
}
