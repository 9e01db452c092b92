/* test_planned_given.c: a plan that the program brings: refused where it cannot help, and whole or not there. */
#include "core_fixture.h"

#include <seam/plan.h>

#include "plan_format.h"
#include "planned_impl.h"
#include "record.h"

#define BLOCKS 12u

static void *streams[2];
static uint64_t live_before;

static uint64_t live_bytes(void)
{
	struct seam_meta_stats stats;
	seam__meta_get_stats(seam__meta_process(), &stats);
	return stats.live_bytes;
}

static void set_up(void)
{
	live_before = live_bytes();
}

static void expect_nothing_left(void)
{
	cr_expect_eq(live_bytes(), live_before, "metadata left");
}

TestSuite(planned_given, .init = set_up);

static bool of_chunks; /* blocks are whole chunks */

static uint64_t bytes_of(unsigned i)
{
	if (of_chunks)
		return MIB(2);
	return MIB(2) + i % 5 * MIB(1) + i * KIB(4);
}

/* Each block overlaps the next in time; the second half is on another stream, without an edge between them. */
static void iterate(unsigned stream_count)
{
	void *before = NULL;
	for (unsigned i = 0; i < BLOCKS; i++) {
		void *stream = streams[i < BLOCKS / 2 ? 0 : stream_count - 1];
		void *block = must_alloc(bytes_of(i), stream);
		launch(stream, block, bytes_of(i), 1000);
		if (before != NULL)
			must_free(before);
		before = block;
	}
	must_free(before);
	cr_assert_ok(seam_step(pool));
	check_pool();
}

static void open_with_streams(const char *conf)
{
	open_pool(MIB(1024), conf);
	streams[0] = make_stream();
	streams[1] = make_stream();
}

static void close_with_streams(void)
{
	for (unsigned i = 0; i < 2; i++) {
		enum seam_rc rc = seam_stream_destroyed(pool, streams[i]);
		cr_assert(rc == SEAM_OK || rc == SEAM_NOT_FOUND);
		end_stream(streams[i]);
	}
	close_pool();
}

static struct seam_plan *make_plan(unsigned stream_count, const char *solver)
{
	struct seam_trace *trace = NULL;
	struct seam_plan *plan = NULL;
	const struct seam_plan_options options = {.struct_bytes = sizeof options,
		.solver = solver,
		.node_limit = 100000,
		.align_bytes = 512,
		.period = SEAM_PLAN_PERIOD_FIND};
	open_with_streams("plan:inline,chunk_bytes:2M");
	for (unsigned i = 0; i < 6; i++)
		iterate(stream_count);
	cr_assert_ok(seam__recorder_trace(pool->recorder, 0, "iterations", &trace));
	cr_assert_ok(seam_plan_make(trace, &options, NULL, &plan));
	seam_trace_free(trace);
	close_with_streams();
	return plan;
}

/* Uses the plan with the Nth allocation of `meta` failed, for every N. Returns how often it was refused. */
static unsigned fail_each(const struct seam_plan *plan, struct seam_meta *meta)
{
	unsigned refused = 0;
	for (uint64_t n = 1;; n++) {
		char error[200] = "";
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam_plan_use(pool, plan, error, sizeof error);
		bool left = seam__meta_fail_left(meta) != 0;
		seam__meta_fail_at(meta, 0);
		check_pool();
		if (left) {
			cr_assert_ok(rc);
			seam_plan_drop(pool);
			cr_assert_ok(seam_trim(pool, 0, NULL));
			return refused;
		}
		cr_assert(rc == SEAM_OOM_META || rc == SEAM_OK, "%s", seam_rc_name(rc));
		cr_expect_eq(error[0] != '\0', rc != SEAM_OK);
		refused += rc != SEAM_OK;
		if (rc == SEAM_OK)
			seam_plan_drop(pool);
		cr_assert_ok(seam_trim(pool, 0, NULL));
		cr_expect_eq(get_stats().reserved_bytes, 0, "failure %lu: not all is given back", (unsigned long)n);
	}
}

/* The plan is whole or there is none. */
Test(planned_given, without_host_memory_it_is_refused_and_nothing_else_happens)
{
	struct seam_plan *plan = make_plan(1, NULL);
	open_with_streams("plan:off,chunk_bytes:2M,deterministic:1");
	cr_expect_geq(fail_each(plan, seam__meta_process()), 3, "its check takes memory");
	cr_expect_geq(fail_each(plan, pool->meta), 3, "the pool takes memory for it");
	seam_plan_free(plan);
	close_with_streams();
	expect_nothing_left();
}

Test(planned_given, a_stretch_that_happens_once_is_refused)
{
	struct seam_plan *plan = make_plan(1, NULL);
	struct seam_plan line = *plan;
	char error[200] = "";
	line.header.flags |= SEAM_PLAN_LINEAR;
	line.header.prologue_count = 0;
	line.header.resident_bytes = 0;
	seam__plan_seal(&line.header);
	open_with_streams("plan:off");
	cr_expect_eq(seam_plan_use(pool, &line, error, sizeof error), SEAM_INVALID);
	cr_expect_not_null(strstr(error, "happens once"), "%s", error);
	seam_plan_free(plan);
	close_with_streams();
	expect_nothing_left();
}

/* "stack" shares no address. */
Test(planned_given, a_plan_that_is_worse_than_none_is_refused)
{
	struct seam_plan *plan = make_plan(1, "stack");
	char error[200] = "";
	open_with_streams("plan:off,chunk_bytes:2M");
	cr_expect_eq(seam_plan_use(pool, plan, error, sizeof error), SEAM_INVALID);
	cr_expect_not_null(strstr(error, "without it the pool needs less"), "%s", error);
	cr_expect_eq(get_stats().reserved_bytes, 0);
	iterate(1);
	cr_expect_lt(get_stats().reserved_bytes, plan->header.arena_bytes / 2, "that it needs less");
	seam_plan_free(plan);
	close_with_streams();
	expect_nothing_left();
}

/* Its arena has not a byte more than the plan needs. */
Test(planned_given, a_plan_that_fills_the_open_arena_is_added_to_it)
{
	of_chunks = true;
	struct seam_plan *plan = make_plan(1, NULL);
	open_with_streams("plan:inline,chunk_bytes:2M");
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	iterate(1);
	const uint64_t hits = pool->runtime->counts.hits;
	cr_assert_gt(hits, 0);
	cr_assert_eq(seam__active_open(pool->runtime)->arena.bytes, plan->header.arena_bytes);
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	cr_expect_eq(pool->runtime->counts.drops, 0);
	cr_expect_eq(pool->runtime->counts.adoptions, 2);
	iterate(1);
	cr_expect_gt(pool->runtime->counts.hits, hits);
	seam_plan_free(plan);
	close_with_streams();
}
