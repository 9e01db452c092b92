/* fit_front.h: the best guesses so far: of two of them, the larger one is the faster one.
 *
 * Not here: the front for users (seam_fit_front).
 * Invariant FR1: points ascend in bytes and descend in time, strictly. No locks: one thread at a time.
 */
#ifndef SEAM_FIT_FRONT_H
#define SEAM_FIT_FRONT_H

#include <stdbool.h>

#include "fit_guess.h"

struct seam_fit_place {
	struct seam_fit_guess guess;
	struct seam_fit_prediction prediction;
	uint64_t copies; /* bytes */
	uint64_t looked; /* neighbours that were looked at; the search's own */
};

struct seam_fit_best {
	struct seam_region *region; /* points and their guesses are never given back before it */
	struct seam_fit_place **places;
	uint32_t count, room;
	uint32_t block_count;
};

/* True: something of these bytes and this time, or more, is of no use. */
bool seam__fit_best_covers(const struct seam_fit_best *best, uint64_t bytes, uint64_t ns, uint64_t copies);

/* Puts a guess in, whose treatments are copied, and those out that it beats, unless it is covered. SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__fit_best_add(struct seam_fit_best *best, const struct seam_fit_guess *guess,
	const struct seam_fit_prediction *prediction, uint64_t copies);

/* The number of the first point with more bytes than these; count: none. */
uint32_t seam__fit_best_above(const struct seam_fit_best *best, uint64_t bytes);

/* Name of the first broken invariant, or NULL. */
const char *seam__fit_best_check(const struct seam_fit_best *best);

/* For users: the points of at most so many bytes. SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__fit_best_publish(const struct seam_fit_best *best,
	const struct seam_fit_problem *problem, uint64_t budget_bytes, struct seam_fit_front **ret_front);

#endif
