/* fit_guess.h: a recipe as the search changes it, and what becomes of it.
 *
 * Of the chunks that may come the first ones stay (ProTrain 3.1.1: there is no time to load them before the first
 * visits, and they are stepped last); so a number says which. Not here: which guesses are made (fit_search.c,
 * fit_exact.c). No locks: one thread at a time.
 */
#ifndef SEAM_FIT_GUESS_H
#define SEAM_FIT_GUESS_H

#include "fit_maker.h"
#include "fit_timer.h"

#define SEAM_FIT_AHEAD_MOST 4u /* visits that copies have time for, at most: not measured yet */

struct seam_fit_guess {
	uint8_t *treatments;
	uint32_t stays; /* chunks that may come, and stay */
	uint32_t buffers, ahead;
};

struct seam_fit_guesser {
	const struct seam_fit_problem *problem;
	struct seam_fit_maker maker;
	struct seam_fit_timer timer;
	uint8_t *comes;
	uint32_t coming;                   /* chunks that may come */
	struct seam_fit_schedule schedule; /* of the newest guess */
	uint64_t work;
	uint64_t least_bytes;
};

/* Arrays are taken from the region. SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__fit_guesser_init(
	struct seam_fit_guesser *guesser, const struct seam_fit_problem *problem, struct seam_region *region);

/* The chunks that come if so many stay: chunk_count bytes. */
void seam__fit_guess_comes(const struct seam_fit_problem *problem, uint32_t stays, uint8_t *comes);

/* Its schedule and a bound of its time. false: it is no recipe, or takes more host memory than there is. Counts as
 * work. */
bool seam__fit_guess_make(struct seam_fit_guesser *guesser, const struct seam_fit_guess *guess, uint64_t *ret_bound_ns);

/* The time of the guess that was made last. Counts as work. */
void seam__fit_guess_time(struct seam_fit_guesser *guesser, struct seam_fit_prediction *ret_prediction);

/* Bytes that the guess that was made last copies. */
uint64_t seam__fit_guess_copies(const struct seam_fit_guesser *guesser);

#endif
