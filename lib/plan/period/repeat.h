/* repeat.h: the two searches of period.h, in tokens.
 *
 * Not here: the choice between them, and events (period.h). Pure. No locks.
 */
#ifndef SEAM_REPEAT_H
#define SEAM_REPEAT_H

#include "tokens.h"

struct seam_repeat {
	uint32_t first; /* tokens [first, last) are the period */
	uint32_t last;
	uint32_t region_first; /* tokens [region_first, region_last) repeat with that length; the period lies in it */
	uint32_t region_last;
};

/* By marks: `marks` are the numbers of tokens before each mark, ascending.
 * Errors: SEAM_NOT_FOUND, SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__repeat_steps(
	const struct seam_tokens *tokens, const uint32_t *marks, uint32_t mark_count, struct seam_repeat *ret_repeat);

/* Without marks. changes: per token the bytes that it adds to what is live, negative ones in wrapping arithmetic.
 * Errors: SEAM_NOT_FOUND, SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__repeat_longest(
	const struct seam_tokens *tokens, const uint64_t *changes, struct seam_repeat *ret_repeat);

#endif
