/* look_schedule.c: see look_schedule.h. */
#include "look_schedule.h"

#include "bits.h"

#define GROWTH_SHARE 4u /* of the window: all looks at it together read five times as much */
#define STEPS_SHARE 4u
#define PERIODS 64u    /* an iteration that comes once in thirty-two is seen twice in as many */
#define LEAST_STEPS 3u /* two whole iterations lie between so many marks */

void seam__looks_init(struct seam_look_schedule *schedule)
{
	seam__looks_change(schedule, (struct seam_look_time){0, 0});
}

void seam__looks_change(struct seam_look_schedule *schedule, struct seam_look_time now)
{
	schedule->since = now;
	schedule->next = (struct seam_look_time){now.events + SEAM_LOOKS_LEAST_EVENTS, now.steps + LEAST_STEPS};
}

void seam__looks_serve(struct seam_look_schedule *schedule, struct seam_look_time now, uint64_t period_events)
{
	const uint64_t window = seam__bits_min(seam__looks_window(schedule, now), PERIODS * period_events);
	const uint64_t steps = seam__bits_min(now.steps - schedule->since.steps, PERIODS); /* one at most in a period */
	schedule->since = (struct seam_look_time){now.events - window, now.steps - steps};
	seam__looks_note(schedule, now);
}

bool seam__looks_are_due(const struct seam_look_schedule *schedule, struct seam_look_time now)
{
	return now.events >= schedule->next.events || now.steps >= schedule->next.steps;
}

uint64_t seam__looks_window(const struct seam_look_schedule *schedule, struct seam_look_time now)
{
	return now.events - schedule->since.events;
}

void seam__looks_note(struct seam_look_schedule *schedule, struct seam_look_time now)
{
	const uint64_t window_steps = now.steps - schedule->since.steps;
	schedule->next.events = now.events + seam__looks_window(schedule, now) / GROWTH_SHARE + SEAM_LOOKS_LEAST_EVENTS;
	schedule->next.steps =
		seam__bits_max(now.steps + window_steps / STEPS_SHARE + 1, schedule->since.steps + LEAST_STEPS);
}

void seam__looks_fail(struct seam_look_schedule *schedule, struct seam_look_time looked)
{
	if (looked.events < schedule->since.events)
		return; /* the window has begun anew since */
	schedule->next.events = looked.events + seam__looks_window(schedule, looked) + SEAM_LOOKS_LEAST_EVENTS;
	schedule->next.steps = looked.steps + (looked.steps - schedule->since.steps) + 1;
}
