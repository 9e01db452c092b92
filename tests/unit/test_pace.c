/* test_pace.c: the two clocks, in examples worked out by hand. */
#include <criterion/criterion.h>

#include "pace.h"

Test(pace, the_program_takes_its_time_and_the_drivers)
{
	struct pace pace;
	pace_init(&pace, 10);
	pace_go(&pace, 0);
	pace_do(&pace, 5, true);
	cr_assert_eq(pace.host_ns, 15, "its own 10, the driver's 5");
	pace_go(&pace, 100);
	pace_do(&pace, 0, false);
	cr_assert_eq(pace.host_ns, 115, "the trace's own time wins");
	cr_assert_eq(pace.host_driver_ns, 5);
	cr_assert_null(pace_check(&pace));
}

/* One step: computes from 100 to 150, is at the driver until 180. */
static void begin(struct pace *pace)
{
	pace_init(pace, 1);
	pace_go(pace, 100);
	cr_assert(pace_is_free(pace));
	pace_step(pace, 50, 30);
	cr_assert_not(pace_is_free(pace));
}

Test(pace, a_step_that_ends_while_the_program_takes_its_time_makes_way_for_the_next)
{
	struct pace pace;
	uint64_t gap_ns = 200;
	begin(&pace);
	cr_assert(pace_turn(&pace, &gap_ns));
	cr_assert_eq(pace.host_ns, 180);
	cr_assert_eq(gap_ns, 120);
	pace_step(&pace, 0, 120);
	cr_assert_not(pace_turn(&pace, &gap_ns), "it ends with the gap");
	cr_assert_eq(pace.host_ns, 180);
	pace_go(&pace, gap_ns);
	cr_assert_eq(pace.host_ns, 300);
	cr_assert(pace_is_free(&pace));
	cr_assert_not(pace_turn(&pace, &gap_ns), "there is no step");
}

Test(pace, the_time_that_is_not_known_is_split_as_well)
{
	struct pace pace;
	uint64_t gap_ns = 0;
	pace_init(&pace, 10);
	pace_step(&pace, 4, 0);
	cr_assert(pace_turn(&pace, &gap_ns));
	cr_assert_eq(gap_ns, 6);
	cr_assert_eq(pace.host_ns, 4);
}

Test(pace, who_does_not_change_mappings_does_not_wait)
{
	struct pace pace;
	begin(&pace);
	pace_go(&pace, 60);
	pace_do(&pace, 0, false);
	cr_assert_eq(pace.host_ns, 160);
	cr_assert_eq(pace.waited_ns, 0);
}

Test(pace, the_worker_computes_beside_the_program)
{
	struct pace pace;
	begin(&pace);
	pace_go(&pace, 49);
	pace_do(&pace, 0, true);
	cr_assert_eq(pace.host_ns, 149, "the worker is not at the driver yet");
	cr_assert_eq(pace.waited_ns, 0);
}

Test(pace, who_changes_mappings_waits_for_the_worker)
{
	struct pace pace;
	begin(&pace);
	pace_go(&pace, 60);
	pace_do(&pace, 4, true);
	cr_assert_eq(pace.host_ns, 184, "until 180, then its own call");
	cr_assert_eq(pace.waited_ns, 20);
	cr_assert(pace_is_free(&pace));
	pace_do(&pace, 0, true);
	cr_assert_eq(pace.waited_ns, 20, "the step is over");
	cr_assert_null(pace_check(&pace));
}

Test(pace, sums_are_kept)
{
	struct pace pace;
	begin(&pace);
	pace_go(&pace, 80);
	cr_assert(pace_is_free(&pace), "at its very end");
	pace_step(&pace, 5, 6);
	cr_assert_eq(pace.steps, 2);
	cr_assert_eq(pace.compute_ns, 55);
	cr_assert_eq(pace.driver_ns, 36);
	pace.waited_ns = 37;
	cr_assert_str_eq(pace_check(&pace), "C1 the clocks do not go back");
}

Test(pace, the_device_is_waited_for_at_the_end)
{
	struct pace pace;
	pace_init(&pace, 1000);
	pace_go(&pace, 0);
	pace_launch(&pace, 1000000);
	pace_launch(&pace, 2000000);
	cr_expect_eq(pace.device_ns, 1000 + 2 * PACE_KERNEL_NS + 3000000 / PACE_BYTES_PER_NS);
	cr_expect_eq(pace.host_ns, 1000, "launching costs the host nothing");
	pace_step(&pace, 2000, 0);
	cr_expect(!pace_wait(&pace), "the worker is done first");
	cr_expect_eq(pace.host_ns, 3000);
	cr_expect(pace_is_free(&pace));
	pace_step(&pace, 100000, 0);
	cr_expect(pace_wait(&pace), "the device is done first");
	pace_sync(&pace);
	cr_expect_eq(pace.host_ns, pace.device_ns);
	cr_expect_null(pace_check(&pace));
}
