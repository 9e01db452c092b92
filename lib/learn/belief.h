/* belief.h: whether a period that nothing marks is the program's iteration, or a loop inside of one.
 *
 * Micro-batches, the equal layers of a forward pass, an optimizer's loop over its parameters: each returns to the same
 * live blocks, and looks like an iteration until something else comes. A plan of it serves that much and no more, what
 * stays comes to lie in its arena, and the iteration's own plan finds it there. So a period is believed at its second
 * repetition only if all of this is so:
 *   - it goes on: a loop behind whose end more has come than one repetition is over;
 *   - its repetitions follow one another up to the newest one, and are half of the recording: what came before was the
 * program's beginning;
 *   - hardly anything lives longer than a repetition, as it does in a pipeline where some micro-batches are always
 * under way;
 *   - most is live in it when most is live at all, or its repetitions are nearly all of the recording;
 *   - behind the newest one hardly more is live than in it: what is being done there may be the next one;
 *   - the recording is no shorter than the work of a few milliseconds.
 * Any other is believed when the recording is some times as long as when it was seen first, if it goes on without
 * anything in between. Once a period is believed, nothing that is shorter is believed: what repeats inside of an
 * iteration is not one. What is longer, and contains it, is. The iteration that a loop is inside of is seen before
 * long: something longer repeats. Where twice as much is recorded as when the longest period was seen first, with
 * nothing to be believed, it may be that iterations are of several lengths and hardly any follows itself: it
 * *hesitates*, and looks are to go by form too.
 *
 * Not here: what repeats (lib/plan/iterations/iterations.h), looks and plans (learner.h). Pure. No locks: `work` guards
 * it.
 */
#ifndef SEAM_BELIEF_H
#define SEAM_BELIEF_H

#include <stdbool.h>
#include <stdint.h>

/* What a look at the recording saw of a period. */
struct seam_sight {
	uint64_t forgotten;  /* events that were recorded before those that the recording still has; not counted in what
				follows */
	uint64_t events;     /* of the recording */
	uint64_t length;     /* events of a repetition */
	uint64_t run_begin;  /* event where the repetitions begin that follow one another up to the newest one */
	uint64_t newest;     /* event behind that */
	uint32_t run;        /* how many they are */
	uint64_t peak_bytes; /* most that is live at once in a repetition, */
	uint64_t most_bytes; /* in the recording, */
	uint64_t later_bytes;   /* and in what came behind the newest repetition */
	uint64_t stays_bytes;   /* what of that is never freed */
	uint64_t overlap_bytes; /* of requests that live longer than a repetition */
};

struct seam_belief {
	uint64_t length;          /* of the period that is believed; 0: none */
	uint64_t doubtful_length; /* of one that is not, */
	uint64_t doubtful_newest; /* where its newest repetition ended, */
	uint64_t doubtful_until;  /* and how long the recording must be for it to be believed */
	uint64_t longest;         /* of all that were seen; 0: none was */
	uint64_t longest_events;  /* recorded, when that was seen first */
};

/* Whether the period is the iteration. */
bool seam__belief_holds(struct seam_belief *belief, const struct seam_sight *sight);

/* The recording begins anew: what was doubted, and for how long, does not count any more. What is believed stays so. */
void seam__belief_begin_anew(struct seam_belief *belief);

/* Whether nothing is believed for so long that other ways to look are due. events: recorded. */
bool seam__belief_hesitates(const struct seam_belief *belief, uint64_t events);

/* In how many events the next repetition will be over; UINT64_MAX: none is to be expected. */
uint64_t seam__belief_more(const struct seam_sight *sight);

#endif
