/* test_core_threads.c: many threads on one pool; a private pool that is released while others are on the slow path. */
#include "core_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "record.h"
#include "trace_story.h"

#define THREADS 4u
#define ROUNDS 400u

struct worker {
	pthread_t thread;
	unsigned number;
	uint64_t random;
	void *stream;
	uint64_t private_id; /* 0: none */
	_Atomic bool *stop;
	unsigned rounds, failures;
};

static uint64_t next_random(struct worker *worker)
{
	worker->random = worker->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return worker->random >> 33;
}

/* Criterion's asserts leave by longjmp, which only the test's own thread may do: what goes wrong is counted. */
static void churn(struct worker *worker)
{
	void *ptrs[6] = {0};
	for (unsigned i = 0; i < 6; i++) {
		struct seam_request request = {
			.size = sizeof request,
			.bytes = next_random(worker) % 5 == 0 ? 1 + next_random(worker) % 5000
							      : 1 + next_random(worker) % MIB(12),
			.stream = worker->stream,
			.private_id = worker->private_id,
		};
		enum seam_rc rc = seam_alloc_request(pool, &request, &ptrs[i]);
		bool allowed =
			rc == SEAM_OK || rc == SEAM_OOM_DEVICE || (rc == SEAM_NOT_FOUND && worker->private_id != 0);
		worker->failures += !allowed || (rc == SEAM_OK) != (ptrs[i] != NULL);
	}
	for (unsigned i = 0; i < 6; i++)
		worker->failures += seam_free(pool, ptrs[i]) != SEAM_OK;
}

static void *work(void *user)
{
	struct worker *worker = user;
	for (unsigned i = 0; i < ROUNDS && !atomic_load(worker->stop); i++) {
		churn(worker);
		worker->rounds++;
	}
	return NULL;
}

static void start(struct worker *workers, uint64_t private_id, _Atomic bool *stop)
{
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.number = i,
			.random = i + 1,
			.stream = make_stream(),
			.stop = stop,
			.private_id = i % 2 == 0 ? private_id : 0};
		cr_assert_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
}

static void finish(struct worker *workers)
{
	for (unsigned i = 0; i < THREADS; i++) {
		cr_assert_eq(pthread_join(workers[i].thread, NULL), 0);
		cr_assert_eq(workers[i].failures, 0, "thread %u", i);
		cr_assert_gt(workers[i].rounds, 0, "thread %u", i);
	}
	struct seam_stats stats = get_stats();
	cr_assert_eq(stats.live_blocks, 0);
	cr_assert_eq(stats.live_bytes, 0);
	cr_assert_eq(stats.allocs, stats.frees);
}

Test(core_threads, requests_and_questions_from_many_threads)
{
	open_pool(MIB(192), "chunk_bytes:2M");
	struct worker workers[THREADS];
	_Atomic bool stop = false;
	start(workers, 0, &stop);
	for (unsigned i = 0; i < 100; i++) {
		struct seam_stats stats = get_stats();
		cr_assert_leq(stats.reserved_bytes, MIB(192));
		cr_assert_leq(stats.live_bytes, stats.reserved_bytes);
		cr_assert_ok(seam_trim(pool, MIB(64), NULL));
		cr_assert_ok(write_snapshot());
		const char *broken = seam__pool_check(pool);
		cr_assert_null(broken, "round %u: %s", i, broken);
	}
	finish(workers);
	close_pool();
}

Test(core_threads, a_private_pool_is_released_under_its_users)
{
	open_pool(MIB(192), "chunk_bytes:2M");
	struct worker workers[THREADS];
	_Atomic bool stop = false;
	cr_assert_ok(seam_private_begin(pool, 7, SEAM_ROUTE_STREAM, 12345));
	start(workers, 7, &stop);
	for (unsigned i = 0; i < 100; i++) {
		cr_assert_ok(seam_private_release(pool, 7));
		const char *broken = seam__pool_check(pool);
		cr_assert_null(broken, "round %u: %s", i, broken);
		cr_assert_ok(seam_private_begin(pool, 7, SEAM_ROUTE_STREAM, 12345));
	}
	finish(workers);
	cr_assert_ok(seam_private_release(pool, 7));
	cr_assert_eq(get_stats().unused_private_bytes, 0);
	close_pool();
}

struct visitor {
	pthread_t thread;
	void *stream, *got;
	enum seam_rc rc;
};

static void *release_seven(void *user)
{
	struct visitor *visitor = user;
	visitor->rc = seam_private_release(pool, 7);
	return NULL;
}

static void *ask_seven(void *user)
{
	struct visitor *visitor = user;
	const struct seam_request request = {.size = sizeof request, .bytes = MIB(3), .private_id = 7};
	visitor->rc = seam_alloc_request(pool, &request, &visitor->got);
	return NULL;
}

/* Time enough to come to stand at a mutex. Where it was not, the test has shown less. */
static void let_run(struct visitor *visitor, void *(*what)(void *))
{
	const struct timespec while_ns = {.tv_nsec = 30000000};
	cr_assert_eq(pthread_create(&visitor->thread, NULL, what, visitor), 0);
	(void)nanosleep(&while_ns, NULL);
}

/* The request has found its private pool and waits for a change to end, behind the release: it gets common memory, and
 * is recorded so. */
Test(core_threads, a_request_may_outlive_its_private_pool)
{
	open_pool(MIB(64), "chunk_bytes:2M");
	cr_assert_ok(seam_private_begin(pool, 7, SEAM_ROUTE_STREAM, 12345));
	struct visitor release = {0}, ask = {0};
	seam__mutex_lock(&pool->engine.change);
	let_run(&release, release_seven);
	let_run(&ask, ask_seven);
	seam__mutex_unlock(&pool->engine.change);
	cr_assert_eq(pthread_join(release.thread, NULL), 0);
	cr_assert_eq(pthread_join(ask.thread, NULL), 0);
	cr_assert_ok(release.rc);
	cr_assert_ok(ask.rc);
	struct seam_trace *trace = NULL;
	cr_assert_ok(seam__recorder_trace(pool->recorder, 0, "a test", &trace));
	char *story = trace_story(trace, false);
	const bool before = strcmp(story, "A1:3145728%7 ?0:0%7^1") == 0,
		   behind = strcmp(story, "?0:0%7^1 A2:3145728") == 0;
	cr_expect(before || behind, "%s", story);
	free(story);
	seam_trace_free(trace);
	must_free(ask.got);
	close_pool();
}

static void *ask_once(void *user)
{
	struct visitor *visitor = user;
	visitor->rc = seam_alloc(pool, MIB(2), visitor->stream, &visitor->got);
	if (visitor->rc == SEAM_OK)
		visitor->rc = seam_free(pool, visitor->got);
	return NULL;
}

/* One handle, as many streams as threads: what one thread freed there is at once its own, and nobody else's before its
 * work has passed. */
Test(core_threads, the_per_thread_stream_is_each_threads_own)
{
	open_pool(MIB(64), "chunk_bytes:2M");
	void *mine = stream_of(SEAM_STREAM_PER_THREAD);
	void *ptr = must_alloc(MIB(2), mine);
	struct visitor visitor = {.stream = mine};
	launch(mine, ptr, MIB(2), UINT64_C(10000000000));
	must_free(ptr);
	cr_assert_eq(pthread_create(&visitor.thread, NULL, ask_once, &visitor), 0);
	cr_assert_eq(pthread_join(visitor.thread, NULL), 0);
	cr_assert_ok(visitor.rc);
	cr_expect_neq(visitor.got, ptr, "another thread got memory with work pending");
	void *again = must_alloc(MIB(2), mine);
	cr_expect_eq(again, ptr, "the thread itself did not");
	must_free(again);
	cr_assert_eq(seam__drv_stream_sync(driver, SEAM_STREAM_PER_THREAD), SEAM_CU_SUCCESS);
	close_pool();
}
