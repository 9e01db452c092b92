/* test_virtual_time.c: the two clocks, in examples worked out by hand. */
#include <criterion/criterion.h>

#include "virtual_time.h"

Test(clocks, the_program_takes_its_time_and_the_drivers)
{
	struct virtual_time clocks;
	virtual_time_init(&clocks, 10);
	virtual_time_go(&clocks, 0);
	virtual_time_do(&clocks, 5, true);
	cr_assert_eq(clocks.host_ns, 15, "its own 10, the driver's 5");
	virtual_time_go(&clocks, 100);
	virtual_time_do(&clocks, 0, false);
	cr_assert_eq(clocks.host_ns, 115, "the trace's own time wins");
	cr_assert_eq(clocks.host_driver_ns, 5);
	cr_assert_null(virtual_time_check(&clocks));
}

/* One step: computes from 200 to 250, is at the driver until 280. */
static void begin(struct virtual_time *clocks)
{
	virtual_time_init(clocks, 1);
	virtual_time_go(clocks, 200);
	cr_assert(virtual_time_is_free(clocks));
	virtual_time_step(clocks, 50, 30);
	cr_assert_not(virtual_time_is_free(clocks));
}

Test(clocks, a_step_that_ends_while_the_program_takes_its_time_makes_way_for_the_next)
{
	struct virtual_time clocks;
	uint64_t gap_ns = 200;
	begin(&clocks);
	cr_assert(virtual_time_turn(&clocks, &gap_ns));
	cr_assert_eq(clocks.host_ns, 280);
	cr_assert_eq(gap_ns, 120);
	virtual_time_step(&clocks, 0, 120);
	cr_assert_not(virtual_time_turn(&clocks, &gap_ns), "it ends with the gap");
	cr_assert_eq(clocks.host_ns, 280);
	virtual_time_go(&clocks, gap_ns);
	cr_assert_eq(clocks.host_ns, 400);
	cr_assert(virtual_time_is_free(&clocks));
	cr_assert_not(virtual_time_turn(&clocks, &gap_ns), "there is no step");
}

Test(clocks, the_time_that_is_not_known_is_split_as_well)
{
	struct virtual_time clocks;
	uint64_t gap_ns = 0;
	virtual_time_init(&clocks, 10);
	virtual_time_step(&clocks, 2, 1);
	cr_assert(virtual_time_turn(&clocks, &gap_ns));
	cr_assert_eq(gap_ns, 2);
	cr_assert_eq(clocks.host_ns, 8, "four times what the worker computed");
}

Test(clocks, who_does_not_change_mappings_does_not_wait)
{
	struct virtual_time clocks;
	begin(&clocks);
	virtual_time_go(&clocks, 60);
	virtual_time_do(&clocks, 0, false);
	cr_assert_eq(clocks.host_ns, 260);
	cr_assert_eq(clocks.waited_ns, 0);
}

Test(clocks, the_worker_computes_beside_the_program)
{
	struct virtual_time clocks;
	begin(&clocks);
	virtual_time_go(&clocks, 49);
	virtual_time_do(&clocks, 0, true);
	cr_assert_eq(clocks.host_ns, 249, "the worker is not at the driver yet");
	cr_assert_eq(clocks.waited_ns, 0);
}

Test(clocks, who_changes_mappings_waits_for_the_worker)
{
	struct virtual_time clocks;
	begin(&clocks);
	virtual_time_go(&clocks, 60);
	virtual_time_do(&clocks, 4, true);
	cr_assert_eq(clocks.host_ns, 284, "until 280, then its own call");
	cr_assert_eq(clocks.waited_ns, 20);
	cr_assert(virtual_time_is_free(&clocks));
	virtual_time_do(&clocks, 0, true);
	cr_assert_eq(clocks.waited_ns, 20, "the step is over");
	cr_assert_null(virtual_time_check(&clocks));
}

Test(clocks, the_worker_begins_no_step_without_its_share)
{
	struct virtual_time clocks;
	uint64_t gap_ns = 150;
	begin(&clocks);
	virtual_time_go(&clocks, 80);
	cr_assert(virtual_time_is_free(&clocks), "at 280, with 50 computed");
	virtual_time_step(&clocks, 50, 0);
	virtual_time_go(&clocks, 50);
	cr_assert_not(virtual_time_is_free(&clocks), "at 330, with 100");
	virtual_time_do(&clocks, 0, true);
	cr_assert_eq(clocks.waited_ns, 0, "it has no lock");
	cr_assert(virtual_time_turn(&clocks, &gap_ns));
	cr_assert_eq(clocks.host_ns, 400);
	clocks.worker_free_ns = clocks.worker_end_ns - 1;
	cr_assert_str_eq(virtual_time_check(&clocks), "VT1 the clocks do not go back");
}

Test(clocks, sums_are_kept)
{
	struct virtual_time clocks;
	begin(&clocks);
	virtual_time_go(&clocks, 80);
	cr_assert(virtual_time_is_free(&clocks), "at its very end");
	virtual_time_step(&clocks, 5, 6);
	cr_assert_eq(clocks.steps, 2);
	cr_assert_eq(clocks.compute_ns, 55);
	cr_assert_eq(clocks.driver_ns, 36);
	clocks.waited_ns = 37;
	cr_assert_str_eq(virtual_time_check(&clocks), "VT1 the clocks do not go back");
}

Test(clocks, the_device_is_waited_for_at_the_end)
{
	struct virtual_time clocks;
	virtual_time_init(&clocks, 1000);
	virtual_time_go(&clocks, 0);
	virtual_time_launch(&clocks, 1000000);
	virtual_time_launch(&clocks, 2000000);
	cr_expect_eq(clocks.device_ns, 1000 + 2 * VIRTUAL_KERNEL_NS + 3000000 / VIRTUAL_BYTES_PER_NS);
	cr_expect_eq(clocks.host_ns, 1000, "launching costs the host nothing");
	virtual_time_step(&clocks, 1000, 0);
	cr_expect(!virtual_time_wait(&clocks), "the worker is done first");
	cr_expect_eq(clocks.host_ns, 4000, "four times what the worker computed");
	cr_expect(virtual_time_is_free(&clocks));
	virtual_time_step(&clocks, 100000, 0);
	cr_expect(virtual_time_wait(&clocks), "the device is done first");
	virtual_time_sync(&clocks);
	cr_expect_eq(clocks.host_ns, clocks.device_ns);
	cr_expect_null(virtual_time_check(&clocks));
}
