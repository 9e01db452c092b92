/* repetition.h: whether a period that nothing marks is the program's iteration, or a loop inside of one.
 *
 * Micro-batches, the equal layers of a forward pass, an optimizer's loop over its parameters: each returns to the same
 * live blocks, and looks like an iteration until something else comes. A plan of it serves that much and no more, and
 * blocks that stay come to lie in its arena. So a period counts as the iteration only if all of this is so:
 *   - it is as long as one of which a plan has served well; or
 *   - there are two repetitions, without a gap up to the newest one, and 4,096 events of them: the work of
 *     some ten milliseconds;
 *   - they are half of the window, and most is live in them when most is live at all, or they are nearly all of it;
 *   - nearly all of them are of one length, or of one kind: a loop that stops for something else now and then is a part
 *     of something longer;
 *   - it goes on: not much more than a repetition has come behind the newest, with hardly more live than in it.
 * There is no memory of earlier looks. A program for which this never holds is served without a plan.
 *
 * Not here: what repeats (lib/plan/iterations/iterations.h), looks and plans (learner.h). Pure. No locks.
 */
#ifndef SEAM_REPETITION_H
#define SEAM_REPETITION_H

#include <stdbool.h>
#include <stdint.h>

/* A period as one look at the recording shows it. Events are counted from the window's begin. */
struct seam_repetition {
	uint64_t events;      /* of the window */
	uint64_t length;      /* events of a repetition */
	uint64_t run_begin;   /* the repetitions follow one another from this event */
	uint64_t newest;      /* up to this one */
	uint32_t run;         /* so many, those of other kinds that come in turn with it among them */
	uint64_t kind_events; /* of all repetitions of this kind, */
	uint64_t cut_events;  /* and of all kinds */
	uint64_t peak_bytes;  /* most that is live at once in a repetition, */
	uint64_t most_bytes;  /* in the window, */
	uint64_t later_bytes; /* and behind the newest repetition */
};

/* Whether the period is the iteration. known_events: length of a period whose plan has served well; 0: there is none.
 */
bool seam__repetition_is_iteration(const struct seam_repetition *repetition, uint64_t known_events);

#endif
