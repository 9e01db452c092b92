/* iteration_model.h: a kind of iteration as a trace: what lives before it, and repetitions of its aligned requests.
 *
 * Residents are what lives behind the newest member, with the ids that they have in the recording. Those that are
 * blocks of aligned requests, of that member or one before it, are freed in the repetitions where the aligned requests
 * say. Left out is what is freed late: the recording frees it behind the member, but it is no aligned request's. There
 * are as many repetitions as it takes for the last two to be equal: all blocks that they free come from repetitions.
 * The last one is the period.
 *
 * Phases are those of the newest member. Edges between streams are not in it: without them no stream may have another's
 * memory.
 *
 * Not here: which aligned requests (aligned_requests.h). No locks.
 */
#ifndef SEAM_ITERATION_MODEL_H
#define SEAM_ITERATION_MODEL_H

#include "aligned_requests.h"

/* ret_trace: the caller's, for seam_trace_free(); ret_first, ret_last: its last repetition, events [first, last).
 * ret_stays_bytes: of residents that no repetition frees. marked: a step ends behind each repetition. Errors:
 * SEAM_OOM_META, SEAM_CORRUPT (the recording is no valid trace). */
SEAM_MUST_USE enum seam_rc seam__model_make(const struct seam_aligned_requests *aligned, bool marked,
	struct seam_trace **ret_trace, uint64_t *ret_first, uint64_t *ret_last, uint64_t *ret_stays_bytes);

#endif
