/* test_look_schedule.c: when the worker looks at the recording, and how far back. */
#include <criterion/criterion.h>

#include "look_schedule.h"

static struct seam_look_time at(uint64_t events, uint64_t steps)
{
	return (struct seam_look_time){events, steps};
}

/* Looks whenever one is due, event by event. Returns how many events all of them read until `events`. */
static uint64_t read_until(struct seam_look_schedule *schedule, uint64_t from, uint64_t events)
{
	uint64_t read = 0;
	for (uint64_t now = from; now <= events; now++) {
		if (!seam__looks_are_due(schedule, at(now, 0)))
			continue;
		read += seam__looks_window(schedule, at(now, 0));
		seam__looks_note(schedule, at(now, 0));
	}
	return read;
}

Test(look_schedule, looks_of_a_window_cost_five_times_the_window)
{
	for (uint64_t events = 1000; events <= 1000000; events *= 10) {
		struct seam_look_schedule schedule;
		seam__looks_init(&schedule);
		const uint64_t read = read_until(&schedule, 0, events);
		cr_expect_gt(read, 0);
		cr_expect_leq(read, 5 * events, "%lu events", (unsigned long)events);
	}
}

Test(look_schedule, first_looks_after_a_change_do_not_depend_on_age)
{
	struct seam_look_schedule young, old;
	const uint64_t age = UINT64_C(1) << 40;
	seam__looks_init(&young);
	seam__looks_init(&old);
	seam__looks_change(&old, at(age, 0));
	cr_expect_eq(read_until(&young, 0, 100000), read_until(&old, age, age + 100000));
}

Test(look_schedule, window_of_a_plan_that_serves_is_some_periods)
{
	struct seam_look_schedule schedule;
	seam__looks_init(&schedule);
	for (uint64_t now = 1000; now <= 10000000; now += 1000)
		seam__looks_serve(&schedule, at(now, now / 1000), 1000);
	cr_expect_leq(seam__looks_window(&schedule, at(10000000, 10000)), 70000);
	cr_expect_leq(schedule.next.events, 10000000 + 70000 / 4 + SEAM_LOOKS_LEAST_EVENTS);
}

Test(look_schedule, attempt_that_fails_waits_for_twice_the_window)
{
	struct seam_look_schedule schedule;
	seam__looks_init(&schedule);
	seam__looks_change(&schedule, at(5000, 10));
	seam__looks_note(&schedule, at(9000, 14));
	seam__looks_fail(&schedule, at(9000, 14));
	cr_expect_not(seam__looks_are_due(&schedule, at(13000, 18)));
	cr_expect(seam__looks_are_due(&schedule, at(9000 + 4000 + SEAM_LOOKS_LEAST_EVENTS, 18)));
	cr_expect(seam__looks_are_due(&schedule, at(9001, 19)));
}

Test(look_schedule, attempt_from_before_a_change_moves_nothing)
{
	struct seam_look_schedule schedule;
	seam__looks_init(&schedule);
	seam__looks_change(&schedule, at(5000, 10));
	const struct seam_look_time next = schedule.next;
	seam__looks_fail(&schedule, at(4000, 9));
	cr_expect_eq(schedule.next.events, next.events);
	cr_expect_eq(schedule.next.steps, next.steps);
}

Test(look_schedule, steps_make_a_look_due_after_two_iterations_and_then_a_quarter_more)
{
	struct seam_look_schedule schedule;
	seam__looks_init(&schedule);
	seam__looks_change(&schedule, at(100, 40));
	cr_expect_not(seam__looks_are_due(&schedule, at(101, 42)));
	cr_assert(seam__looks_are_due(&schedule, at(102, 43)));
	seam__looks_note(&schedule, at(102, 56));
	cr_expect_not(seam__looks_are_due(&schedule, at(103, 60)));
	cr_expect(seam__looks_are_due(&schedule, at(104, 61)));
}
