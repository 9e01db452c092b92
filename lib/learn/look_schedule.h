/* look_schedule.h: when the worker looks at the recording, and how far back.
 *
 * One rule: a look reads the *window*, the events since the last change, and the next one is due when the window has
 * grown by a quarter. A change is that a plan which served well went. Where plans serve well
 * enough the window is no longer than some periods. So the time to learn depends on what has to be learnt and not on
 * the age of the program, and all looks at a window together cost some five times the last one.
 *
 * Two things move the next look. Where steps are marked, it is due after a quarter more steps of the window, and three
 * at least. After an attempt that led to nothing it is due when the window of the look that began it has doubled.
 *
 * Not here: what a look finds (lib/plan/iterations/iterations.h), whether that is an iteration (repetition.h).
 * Pure. No locks: `work` guards it.
 */
#ifndef SEAM_LOOK_SCHEDULE_H
#define SEAM_LOOK_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define SEAM_LOOKS_LEAST_EVENTS 512u /* between two looks: less is the work of a millisecond */

/* Counts of the recorder: of all events and of all marked steps there ever were. */
struct seam_look_time {
	uint64_t events, steps;
};

struct seam_look_schedule {
	struct seam_look_time since; /* the window begins here */
	struct seam_look_time next;  /* a look is due */
};

void seam__looks_init(struct seam_look_schedule *schedule);

/* The window begins anew. */
void seam__looks_change(struct seam_look_schedule *schedule, struct seam_look_time now);

/* Plans serve well enough, with periods of so many events: what is longer ago does not matter. */
void seam__looks_serve(struct seam_look_schedule *schedule, struct seam_look_time now, uint64_t period_events);

bool seam__looks_are_due(const struct seam_look_schedule *schedule, struct seam_look_time now);

/* A look is made now. */
void seam__looks_note(struct seam_look_schedule *schedule, struct seam_look_time now);

/* The attempt that the look at `looked` began led to nothing: the next one is due when the window of that look has
 * doubled. */
void seam__looks_fail(struct seam_look_schedule *schedule, struct seam_look_time looked);

/* Events of the window. */
uint64_t seam__looks_window(const struct seam_look_schedule *schedule, struct seam_look_time now);

#endif
