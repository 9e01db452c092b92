/* ops_threads.c: hits of several threads at once, each on a stream of its own. */
#include "ops.h"

#include <pthread.h>
#include <stdatomic.h>

#include <seam/stats.h>

#include "driver.h"
#include "samples.h"

#define PAIRS ((size_t)50000)
#define THREADS_MAX 64u
#define BYTES (UINT64_C(16) << 20)

struct crew;

struct worker {
	struct crew *crew;
	pthread_t thread;
	uint64_t stream;
	void *guard;
	enum seam_rc rc;
	struct samples allocs; /* of the first worker only */
	struct samples frees;
};

struct crew {
	struct ops_pool *pool;
	unsigned threads;
	atomic_uint ready;
	atomic_bool go;
	struct worker workers[THREADS_MAX];
};

static enum seam_rc pair(struct worker *worker)
{
	struct seam_pool *pool = worker->crew->pool->pool;
	void *block;
	uint64_t start = seam__clock_ticks();
	enum seam_rc rc = seam_alloc(pool, BYTES, (void *)(uintptr_t)worker->stream, &block);
	uint64_t middle = seam__clock_ticks();
	if (rc != SEAM_OK)
		return rc;
	rc = seam_free(pool, block);
	samples_add(&worker->allocs, middle - start);
	samples_add(&worker->frees, seam__clock_ticks() - middle);
	return rc;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	atomic_fetch_add(&worker->crew->ready, 1);
	while (!atomic_load_explicit(&worker->crew->go, memory_order_acquire))
		;
	for (size_t i = 0; i < PAIRS && worker->rc == SEAM_OK; i++)
		worker->rc = pair(worker);
	return NULL;
}

/* A hole of exactly the size on the worker's stream, and room for its samples. */
static enum seam_rc prepare(struct worker *worker, struct crew *crew)
{
	struct ops_pool *pool = crew->pool;
	worker->crew = crew;
	if (!samples_init(&worker->allocs, PAIRS) || !samples_init(&worker->frees, PAIRS))
		return SEAM_OOM_META;
	int cu = seam__drv_stream_create(pool->driver, SEAM_STREAM_NONBLOCKING, &worker->stream);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	void *stream = (void *)(uintptr_t)worker->stream;
	void *hole;
	enum seam_rc rc = seam_alloc(pool->pool, BYTES, stream, &hole);
	if (rc == SEAM_OK)
		rc = seam_alloc(pool->pool, BYTES, stream, &worker->guard);
	return rc == SEAM_OK ? seam_free(pool->pool, hole) : rc;
}

static enum seam_rc dismiss(struct worker *worker)
{
	struct ops_pool *pool = worker->crew->pool;
	enum seam_rc rc = seam_free(pool->pool, worker->guard);
	if (rc == SEAM_OK)
		rc = seam_stream_destroyed(pool->pool, (void *)(uintptr_t)worker->stream);
	int cu = seam__drv_stream_destroy(pool->driver, worker->stream);
	samples_fini(&worker->allocs);
	samples_fini(&worker->frees);
	return rc == SEAM_OK ? seam__driver_rc(cu) : rc;
}

static uint64_t run(struct crew *crew, enum seam_rc *rc)
{
	unsigned started = 0;
	while (started < crew->threads &&
		pthread_create(&crew->workers[started].thread, NULL, work, &crew->workers[started]) == 0)
		started++;
	while (atomic_load(&crew->ready) < started)
		;
	uint64_t start_ns = seam__clock_ns();
	atomic_store_explicit(&crew->go, true, memory_order_release);
	for (unsigned i = 0; i < started; i++) {
		(void)pthread_join(crew->workers[i].thread, NULL);
		if (*rc == SEAM_OK)
			*rc = crew->workers[i].rc;
	}
	if (started < crew->threads)
		*rc = SEAM_OOM_META;
	return seam__clock_ns() - start_ns;
}

static uint64_t exact_hits(const struct ops_pool *pool)
{
	struct seam_stats stats = {.size = sizeof(stats), .version = SEAM_STATS_VERSION};
	return seam_stats_get(pool->pool, &stats) == SEAM_OK ? stats.s1 : 0;
}

enum seam_rc ops_threads(struct ops_pool *pool, unsigned threads, struct ops_row *ret_row)
{
	struct crew crew = {.pool = pool, .threads = threads < THREADS_MAX ? threads : THREADS_MAX};
	enum seam_rc rc = SEAM_OK;
	for (unsigned i = 0; i < crew.threads && rc == SEAM_OK; i++)
		rc = prepare(&crew.workers[i], &crew);
	if (rc != SEAM_OK)
		return rc;
	uint64_t before = exact_hits(pool);
	uint64_t ns = run(&crew, &rc);
	uint64_t pairs = (uint64_t)PAIRS * crew.threads;
	struct worker *first = &crew.workers[0];
	struct ops_row row = {
		.kind = OPS_THREADS,
		.blocks = pool->blocks,
		.bytes = BYTES,
		.threads = crew.threads,
		.samples = pairs,
		.strays = pairs - (exact_hits(pool) - before),
		.alloc_ns_p50 = samples_percentile(&first->allocs, &pool->clock, 50),
		.alloc_ns_p99 = samples_percentile(&first->allocs, &pool->clock, 99),
		.freed = true,
		.free_ns_p50 = samples_percentile(&first->frees, &pool->clock, 50),
		.free_ns_p99 = samples_percentile(&first->frees, &pool->clock, 99),
		.pairs_per_s = (double)pairs * 1e9 / (double)ns,
	};
	for (unsigned i = 0; i < crew.threads; i++) {
		enum seam_rc dismissed = dismiss(&crew.workers[i]);
		rc = rc == SEAM_OK ? dismissed : rc;
	}
	if (rc == SEAM_OK)
		*ret_row = row;
	return rc;
}
