/* test_clock.c: the clocks go forward, and ticks convert to nanoseconds consistently. No test here measures speed. */
#include <criterion/criterion.h>

#include "clock.h"

Test(clock, nanoseconds_never_go_back)
{
	uint64_t before = seam__clock_ns();
	for (int i = 0; i < 10000; i++) {
		uint64_t now = seam__clock_ns();
		cr_assert_geq(now, before);
		before = now;
	}
}

Test(clock, conversion_is_linear_from_the_start)
{
	struct seam_clock clock = {.start_ticks = 1000, .start_ns = 5, .ns_per_tick = 0.5};
	cr_assert_null(seam__clock_check(&clock));
	cr_assert_eq(seam__clock_ticks_to_ns(&clock, 1000), 0);
	cr_assert_eq(seam__clock_ticks_to_ns(&clock, 999), 0, "before the start");
	cr_assert_eq(seam__clock_ticks_to_ns(&clock, 3000), 1000);
}

Test(clock, a_calibrated_clock_follows_the_monotonic_one)
{
	struct seam_clock clock;
	seam__clock_init(&clock);
	cr_assert_null(seam__clock_check(&clock));
	uint64_t low_ns = seam__clock_ns();
	seam__clock_sync(&clock);
	uint64_t ticks = seam__clock_ticks();
	uint64_t high_ns = seam__clock_ns();
	uint64_t converted_ns = clock.start_ns + seam__clock_ticks_to_ns(&clock, ticks);
	/* Between two readings of the other clock, with room for the error of the rate (1 % of about a millisecond). */
	uint64_t slack_ns = (high_ns - clock.start_ns) / 100 + 1000;
	cr_assert_geq(converted_ns + slack_ns, low_ns);
	cr_assert_leq(converted_ns, high_ns + slack_ns);
}

Test(clock, check_names_a_bad_rate)
{
	struct seam_clock clock = {0, 0, 0.0};
	cr_assert_not_null(seam__clock_check(&clock));
}
