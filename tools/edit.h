/* edit.h: changes to a schedule: operations put in and left out at places that stay where they are until all are made
 * at once.
 *
 * Not here: what is changed (perturb.h). Operations are changed in place in the schedule itself.
 * Invariant ED1: insertions stand in the order in which they were asked for, those of one place behind each other.
 * One thread at a time.
 */
#ifndef TOOLS_EDIT_H
#define TOOLS_EDIT_H

#include "schedule.h"

struct edit_insertion;

struct edit {
	struct schedule *schedule;
	struct edit_insertion *insertions;
	size_t count;
	size_t capacity;
	uint8_t *dropped; /* per operation */
};

/* Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc edit_init(struct edit *edit, struct schedule *schedule);
void edit_fini(struct edit *edit);

/* Before operation `at` (op_count: at the end). Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc edit_insert(struct edit *edit, size_t at, const struct schedule_op *op);

static inline void edit_drop(struct edit *edit, size_t at)
{
	edit->dropped[at] = 1;
}

/* The number of a new block. Errors: SEAM_INVALID (too many). */
SEAM_MUST_USE enum seam_rc edit_block(struct edit *edit, uint32_t *ret_block);

/* Makes the changes and measures the schedule anew; nothing is left to be made. Errors: SEAM_OOM_META: the schedule is
 * as it was. */
SEAM_MUST_USE enum seam_rc edit_make(struct edit *edit);

#endif
