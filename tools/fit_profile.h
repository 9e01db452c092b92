/* fit_profile.h: a problem of Fit out of a .seamprofile and a GPU's speeds.
 *
 * A profile has recordings, each with all blocks under one treatment, and what its operators compute and move. Visits
 * between two passes are part of the one before them: a block's input may end there. The iteration is turned so that
 * the optimizer is its end. A profile does not tell weights, gradients and the optimizer's state from other memory, so
 * they stay: there are no chunks. Not here: the schema (seamprofile.schema.json). One thread.
 */
#ifndef TOOLS_FIT_PROFILE_H
#define TOOLS_FIT_PROFILE_H

#include <stdbool.h>

#include <seam/fit.h>

#include "machines.h"

#define FIT_PROFILE_ERROR_BYTES 400

struct fit_profile {
	struct seam_fit_problem problem; /* without budgets */
	struct seam_fit_visit *visits;
	struct seam_fit_block *blocks;
	uint64_t before_bytes; /* the most that lives before the model runs */
	char program[200];     /* its name */
};

/* false: `error` says why, in a line. fit_profile_fini() it otherwise. */
bool fit_profile_read(const char *path, const struct seam_machine *machine, char error[FIT_PROFILE_ERROR_BYTES],
	struct fit_profile *ret_profile);

void fit_profile_fini(struct fit_profile *profile);

#endif
