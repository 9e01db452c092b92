/* test_call_time.c: a call's processor time is what the thread's own clock says, also where it waits. No test here
 * measures speed: bounds are readings of that clock.
 */
#include <criterion/criterion.h>
#include <time.h>

#include "call_time.h"
#include "clock.h"

#define MS UINT64_C(1000000)
#define SLACK_NS 500000.0 /* the rate is known from a millisecond, to 1 % of 20 ms and some */

static void spin(uint64_t ns)
{
	uint64_t begin_ns = seam__clock_thread_ns();
	while (seam__clock_thread_ns() - begin_ns < ns) {
	}
}

static void init(struct call_time *time)
{
	struct seam_clock clock;
	seam__clock_init(&clock);
	spin(MS);
	seam__clock_sync(&clock);
	call_time_init(time, clock.ns_per_tick);
}

Test(call_time, a_call_counts_for_what_the_processor_did)
{
	static const struct {
		uint64_t work_ns;
		uint64_t sleep_ns;   /* in the call */
		uint64_t between_ns; /* work between two calls, which counts for none */
	} rows[] = {{2 * MS, 0, 0}, {0, 20 * MS, 0}, {2 * MS, 20 * MS, 0}, {MS, 0, 15 * MS}, {0, 20 * MS, MS}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct timespec sleep = {.tv_nsec = (long)rows[i].sleep_ns};
		struct call_time time;
		double least_ns = 0;
		double most_ns = 0;
		init(&time);
		for (int k = 0; k < 2; k++) {
			spin(rows[i].between_ns);
			uint64_t outside_ns = seam__clock_thread_ns();
			call_time_begin(&time);
			uint64_t inside_ns = seam__clock_thread_ns();
			spin(rows[i].work_ns);
			(void)nanosleep(&sleep, NULL);
			least_ns += (double)(seam__clock_thread_ns() - inside_ns);
			uint64_t ticks = call_time_end(&time);
			most_ns += (double)(seam__clock_thread_ns() - outside_ns);
			cr_expect_geq((double)ticks * time.ns_per_tick * 1.05, (double)rows[i].sleep_ns, "row %zu", i);
		}
		cr_expect_geq(time.ns + SLACK_NS, least_ns, "row %zu: %.0f ns", i, time.ns);
		cr_expect_leq(time.ns, most_ns + SLACK_NS, "row %zu: %.0f ns", i, time.ns);
	}
}

Test(call_time, short_calls_add_up_without_the_thread_s_clock)
{
	struct call_time time;
	init(&time);
	double before_ns = time.ns;
	call_time_begin(&time);
	uint64_t ticks = call_time_end(&time);
	cr_expect_leq(time.ns - before_ns, (double)ticks * time.ns_per_tick, "what reading costs is taken off");
	time.read_ticks = UINT64_MAX;
	before_ns = time.ns;
	call_time_begin(&time);
	(void)call_time_end(&time);
	cr_expect_eq(time.ns, before_ns, "and never more than the call took");
}
