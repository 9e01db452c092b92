/* fit_search.h: the two searches behind seam_fit_search().
 *
 * Not here: guesses (fit_guess.h) and the best of them (fit_front.h).
 */
#ifndef SEAM_FIT_SEARCH_H
#define SEAM_FIT_SEARCH_H

#include "fit_front.h"

/* The best recipes that are found, of any size: the budget of the device plays no part. false in *ret_complete: the
 * work limit was reached. SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__fit_explore(
	struct seam_fit_guesser *guesser, struct seam_fit_best *best, uint64_t work_limit, bool *ret_complete);

/* The fastest recipe within the budgets, if there is one. SEAM_UNSUPPORTED (the work limit was reached),
 * SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__fit_prove(
	struct seam_fit_guesser *guesser, struct seam_fit_best *best, uint64_t work_limit);

#endif
