/* test_limits.c: limits of planning. Clocks that run away: the processor's, as if all the time were gone at once; the
 * wall's, as if others had the machine. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <seam/plan.h>

#include "clock.h"
#include "trace_program.h"

#define HOUR_S 3600

static clockid_t runaway = -1; /* this clock goes on by an hour whenever it is read */
static time_t ahead_s;
static struct program_truth truth;

/* In place of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *ret_now);
int clock_gettime(clockid_t clock, struct timespec *ret_now)
{
	const int rc = (int)syscall(SYS_clock_gettime, clock, ret_now);

	if (rc == 0 && clock == runaway)
		ret_now->tv_sec += ahead_s += HOUR_S;
	return rc;
}

static const struct program_wish wishes[] = {
	{.seed = 1, .slots = 300, .iterations = 6},
	{.seed = 2, .slots = 300, .iterations = 8, .lag = 2, .residents = 5},
	{.seed = 3, .slots = 200, .iterations = 6, .streams = 3, .edges = 6},
	{.seed = 4, .slots = 200, .iterations = 6, .streams = 2, .users = 10, .edges = 3, .lag = 1},
};

#define WISHES (sizeof(wishes) / sizeof(wishes[0]))

static struct seam_plan *make(const struct seam_trace *trace, struct seam_plan_options options)
{
	struct seam_trace_error error = {0};
	struct seam_plan *plan = NULL;

	options.struct_bytes = sizeof(options);
	options.period = SEAM_PLAN_PERIOD_GIVEN;
	options.first_event = truth.first_event;
	options.last_event = truth.first_event + truth.iteration_events;
	cr_assert_eq(seam_plan_make(trace, &options, &error, &plan), SEAM_OK, "%s", error.text);
	return plan;
}

static uint64_t peak_of(const struct seam_trace *trace, const char *solver)
{
	struct seam_plan *plan = make(trace, (struct seam_plan_options){.solver = solver, .node_limit = UINT64_MAX});
	const uint64_t peak_bytes = plan->header.arena_bytes;

	seam_plan_free(plan);
	return peak_bytes;
}

/* However little is allowed, in whatever unit, no plan is worse than those of the quick constructors, and none shares
 * nothing. */
static void expect_constructed(
	const struct seam_trace *trace, const struct seam_plan_options *options, const char *what)
{
	struct seam_plan *plan = make(trace, *options);

	cr_expect_leq(plan->header.arena_bytes, peak_of(trace, "start-first"), "%s", what);
	cr_expect_leq(plan->header.arena_bytes, peak_of(trace, "size-first"), "%s", what);
	cr_expect_lt(plan->header.arena_bytes, peak_of(trace, "stack"), "%s", what);
	cr_expect_str_neq(seam_plan_string(plan, plan->header.solver), "stack", "%s", what);
	seam_plan_free(plan);
}

Test(limits, spent_at_once_they_leave_the_quick_constructors)
{
	int cancel = 1;

	for (size_t i = 0; i < WISHES; i++) {
		struct seam_trace *trace = trace_program(&wishes[i], &truth);

		expect_constructed(trace, &(struct seam_plan_options){.time_limit_ns = 1}, "a nanosecond");
		expect_constructed(trace, &(struct seam_plan_options){.node_limit = 1}, "a node");
		expect_constructed(trace, &(struct seam_plan_options){.cancel = &cancel}, "cancelled");
		runaway = CLOCK_THREAD_CPUTIME_ID;
		expect_constructed(trace, &(struct seam_plan_options){0}, "a processor without time");
		runaway = -1;
		seam_trace_free(trace);
	}
}

/* A limit in time that is not reached: what is found must not depend on how long others had the processor meanwhile. */
Test(limits, a_busy_machine_changes_no_plan)
{
	for (size_t i = 0; i < WISHES; i++) {
		struct seam_trace *trace = trace_program(&wishes[i], &truth);
		const struct seam_plan_options options = {
			.time_limit_ns = UINT64_C(600000000000), .target_gap = wishes[i].streams > 1 ? 1 : 0.1};
		struct seam_plan *quiet = make(trace, options);
		struct seam_plan *busy;
		uint64_t before_ns;

		runaway = CLOCK_MONOTONIC;
		busy = make(trace, options);
		before_ns = seam__clock_ns();
		cr_expect_geq(seam__clock_ns() - before_ns, HOUR_S * UINT64_C(1000000000),
			"it does not run away: this tests nothing");
		runaway = -1;
		cr_expect_eq(busy->header.arena_bytes, quiet->header.arena_bytes);
		cr_assert_eq(busy->header.slot_count, quiet->header.slot_count);
		cr_expect_eq(memcmp(busy->offsets, quiet->offsets,
				     (size_t)quiet->header.slot_count * quiet->header.copies * sizeof(*quiet->offsets)),
			0);
		seam_plan_free(quiet);
		seam_plan_free(busy);
		seam_trace_free(trace);
	}
}
