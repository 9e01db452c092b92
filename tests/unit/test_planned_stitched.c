/* test_planned_stitched.c: a stitched plan that the program brings: placed again without stitching, it serves like any
 * other. */
#include "core_fixture.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <seam/plan.h>

#include "plan_format.h"
#include "record.h"

#define BLOCKS 12u

static void *streams[2];
static char said[400];
static bool busy; /* every clock goes on by an hour whenever it is read */
static uint64_t live_before;

/* In place of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *ret_now);
int clock_gettime(clockid_t clock, struct timespec *ret_now)
{
	static time_t ahead_s;
	const int rc = (int)syscall(SYS_clock_gettime, clock, ret_now);
	if (rc == 0 && busy)
		ret_now->tv_sec += ahead_s += 3600;
	return rc;
}

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

TestSuite(planned_stitched, .init = set_up);

static uint64_t bytes_of(unsigned i)
{
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

/* "stack" shares no address: what such a plan saves it saves by views. */
static struct seam_plan *make_plan_by(unsigned stream_count, int no_stitch)
{
	struct seam_trace *trace = NULL;
	struct seam_plan *plan = NULL;
	const struct seam_plan_options options = {.struct_bytes = sizeof options,
		.solver = "stack",
		.node_limit = 100000,
		.align_bytes = 512,
		.period = SEAM_PLAN_PERIOD_FIND,
		.no_stitch = no_stitch};
	open_with_streams("plan:inline,chunk_bytes:2M");
	for (unsigned i = 0; i < 6; i++)
		iterate(stream_count);
	cr_assert_ok(seam__recorder_trace(pool->recorder, 0, "iterations", &trace));
	cr_assert_ok(seam_plan_make(trace, &options, NULL, &plan));
	seam_trace_free(trace);
	close_with_streams();
	return plan;
}

static struct seam_plan *make_plan(unsigned stream_count)
{
	struct seam_plan *plan = make_plan_by(stream_count, 0);
	cr_assert_neq(plan->header.backing_count, 0, "it is not stitched: this tests nothing");
	return plan;
}

static void note(void *user, enum seam_log_level level, const char *line)
{
	(void)user;
	if (level == SEAM_LOG_INFO && strstr(line, "stitched plan") != NULL)
		(void)snprintf(said, sizeof said, "%s", line);
}

static void run_with_plan(unsigned stream_count)
{
	struct seam_plan *plan = make_plan(stream_count);
	char bytes[40];
	seam_set_log_callback(note, NULL);
	open_with_streams("plan:off,chunk_bytes:2M,deterministic:1");
	cr_assert_ok(seam_plan_use(pool, plan, NULL));
	(void)snprintf(bytes, sizeof bytes, "%llu",
		(unsigned long long)plan->header.physical_chunks * plan->header.chunk_bytes);
	cr_expect_not_null(strstr(said, bytes), "'%s'", said);
	iterate(stream_count); /* in which it is seen where the program is in the plan */
	for (unsigned i = 0; i < 4; i++) {
		const struct seam_stats before = get_stats();
		iterate(stream_count);
		const struct seam_stats after = get_stats();
		cr_expect_eq(after.plan_hits - before.plan_hits, BLOCKS, "iteration %u: %lu", i,
			(unsigned long)(after.plan_hits - before.plan_hits));
		cr_expect_eq(after.plan_misses, before.plan_misses);
		cr_expect_eq(after.reserved_bytes, before.reserved_bytes);
	}
	seam_plan_free(plan);
	close_with_streams();
}

Test(planned_stitched, one_stream_is_served_as_if_it_were_not_stitched)
{
	run_with_plan(1);
	expect_nothing_left();
}

Test(planned_stitched, several_streams_are_served)
{
	run_with_plan(2);
	expect_nothing_left();
}

/* The plan is whole or there is none. */
Test(planned_stitched, without_host_memory_it_is_refused_and_nothing_else_happens)
{
	struct seam_plan *plan = make_plan(2);
	unsigned refused = 0;
	open_with_streams("plan:off,chunk_bytes:2M,deterministic:1");
	for (uint64_t n = 1;; n++) {
		char error[200] = "";
		seam__meta_fail_at(seam__meta_process(), n);
		enum seam_rc rc = seam_plan_use(pool, plan, error);
		bool left = seam__meta_fail_left(seam__meta_process()) != 0;
		seam__meta_fail_at(seam__meta_process(), 0);
		check_pool();
		if (left) {
			cr_assert_ok(rc);
			break;
		}
		cr_assert(rc == SEAM_OOM_META || rc == SEAM_OK, "%s", seam_rc_name(rc));
		cr_expect_eq(error[0] != '\0', rc != SEAM_OK);
		cr_expect_eq(get_stats().reserved_bytes == 0, rc != SEAM_OK);
		refused += rc != SEAM_OK;
		if (rc == SEAM_OK)
			seam_plan_drop(pool);
		cr_assert_ok(seam_trim(pool, 0, NULL));
		n += n / 16;
	}
	cr_expect_gt(refused, 10);
	seam_plan_free(plan);
	close_with_streams();
	expect_nothing_left();
}

/* A stretch that happens once serves nothing, stitched or not. */
Test(planned_stitched, a_line_is_refused_before_it_is_placed)
{
	struct seam_plan *plan = make_plan(1);
	struct seam_plan line = *plan;
	char error[200] = "";
	line.header.flags |= SEAM_PLAN_LINEAR;
	line.header.prelude_count = 0;
	line.header.resident_bytes = 0;
	seam__plan_seal(&line.header);
	said[0] = '\0';
	seam_set_log_callback(note, NULL);
	open_with_streams("plan:off");
	cr_expect_eq(seam_plan_use(pool, &line, error), SEAM_INVALID);
	cr_expect_not_null(strstr(error, "happens once"), "%s", error);
	cr_expect_str_eq(said, "");
	seam_plan_free(plan);
	close_with_streams();
	expect_nothing_left();
}

static uint64_t reserved_with(const struct seam_plan *plan)
{
	open_with_streams("plan:off,chunk_bytes:2M");
	cr_assert_ok(seam_plan_use(pool, plan, NULL));
	const uint64_t reserved_bytes = get_stats().reserved_bytes;
	close_with_streams();
	return reserved_bytes;
}

/* Where all the time is gone before anything was tried the requests share memory all the same. */
Test(planned_stitched, a_busy_machine_costs_no_memory)
{
	for (unsigned stream_count = 1; stream_count <= 2; stream_count++) {
		struct seam_plan *plan = make_plan(stream_count);
		const uint64_t quiet_bytes = reserved_with(plan);
		cr_assert_lt(quiet_bytes, plan->header.arena_bytes / 3 * 2, "%lu of %lu: hardly anything can be shared",
			(unsigned long)quiet_bytes, (unsigned long)plan->header.arena_bytes);
		busy = true;
		cr_expect_eq(reserved_with(plan), quiet_bytes);
		busy = false;
		seam_plan_free(plan);
	}
	expect_nothing_left();
}

Test(planned_stitched, a_plan_that_is_worse_than_none_is_refused)
{
	struct seam_plan *plan = make_plan_by(1, 1);
	char error[200] = "";
	cr_assert_eq(plan->header.backing_count, 0);
	open_with_streams("plan:off,chunk_bytes:2M");
	cr_expect_eq(seam_plan_use(pool, plan, error), SEAM_INVALID);
	cr_expect_not_null(strstr(error, "without it the pool needs less"), "%s", error);
	cr_expect_eq(get_stats().reserved_bytes, 0);
	iterate(1);
	cr_expect_lt(get_stats().reserved_bytes, plan->header.arena_bytes / 2, "that it needs less");
	seam_plan_free(plan);
	close_with_streams();
	expect_nothing_left();
}
