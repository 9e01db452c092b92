/* relax.h: two simpler problems whose every placement is one of the given problem, for problems with holds.
 *
 * Not here: exact holds, which solvers that look at pairs take as they are.
 */
#ifndef SEAM_RELAX_H
#define SEAM_RELAX_H

#include "problem.h"

/* Every item lives as long as it is held from anybody; one stream. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__relax_held(const struct seam__problem *problem, struct seam__problem *ret_relaxed);

/* No stream ever has the memory of another. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__relax_apart(const struct seam__problem *problem, struct seam__problem *ret_relaxed);

#endif
