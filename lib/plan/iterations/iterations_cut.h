/* iterations_cut.h: where the iterations of a recording begin and end.
 *
 * Not here: which of them are alike (iteration_kinds.h). Pure. No locks.
 */
#ifndef SEAM_ITERATIONS_CUT_H
#define SEAM_ITERATIONS_CUT_H

#include "iterations.h"
#include "thread_sequences.h"

/* The stretches between marks of steps, in order, appended to ret_stretches (struct seam_thread_stretch). ret_marked:
 * there is a mark at all; who marks steps will do so again, and a loop inside of the first one is no iteration. Errors:
 * SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__cut_marks(
	const struct seam_sequences *sequences, struct seam_grow *ret_stretches, bool *ret_marked);

/* What stands before the first stretch is the program's beginning and then, perhaps, an iteration: puts one in front
 * that has as many requests as `first`, if there are so many. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__cut_before(
	const struct seam_sequences *sequences, const struct seam_thread_stretch *first, struct seam_grow *stretches);

/* Without marks: stretches that are alike, and behind which the same is live as before them, as many as cover most of
 * the recording (boundary_candidates.h says where they may begin). By form first, if the options say so. In order.
 * Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__cut_candidates(const struct seam_sequences *sequences,
	const struct seam_iterations_options *options, struct seam_grow *ret_stretches);

#endif
