/* repeat.h: the two searches of period.h, in tokens.
 *
 * Not here: the choice between them, and events (period.h). Pure. No locks.
 */
#ifndef SEAM_REPEAT_H
#define SEAM_REPEAT_H

#include "tokens.h"

/* A mark of a step. */
struct seam_mark {
	uint32_t event;  /* the one behind it */
	uint32_t tokens; /* before it */
	uint64_t hash;   /* of the tokens since the mark before; set by seam__repeat_steps() */
};

struct seam_repeat {
	uint32_t first; /* tokens [first, last) are the period */
	uint32_t last;
	uint32_t region_first; /* tokens [region_first, region_last) repeat with that length; the period lies in it */
	uint32_t region_last;
};

/* By marks, two or more, ascending. Errors: SEAM_NOT_FOUND. */
SEAM_MUST_USE enum seam_rc seam__repeat_steps(
	const struct seam_tokens *tokens, struct seam_mark *marks, uint32_t mark_count, struct seam_repeat *ret_repeat);

/* Without marks. Errors: SEAM_NOT_FOUND, SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__repeat_longest(const struct seam_tokens *tokens, struct seam_repeat *ret_repeat);

#endif
