/* rhythm_cut.h: where the iterations of a recording begin and end.
 *
 * Not here: which of them are alike (rhythm_kinds.h). Pure. No locks.
 */
#ifndef SEAM_RHYTHM_CUT_H
#define SEAM_RHYTHM_CUT_H

#include "rhythm_rows.h"

/* The stretches between marks of steps, in order, appended to ret_stretches (struct seam__stretch). What stands before the first mark
 * is the program's beginning and then, perhaps, an iteration: as many requests as the next one has, if there are so many.
 * Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__cut_marks(const struct seam__rows *rows, struct seam_grow *ret_stretches);

/* Without marks, where the recording repeats exactly (period.h): the period, and as many stretches of its length before and behind
 * it as there are. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__cut_period(const struct seam__rows *rows, struct seam_grow *ret_stretches);

#endif
