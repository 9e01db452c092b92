/* edit.c: gathers changes and writes the schedule anew. */
#include "edit.h"

#include <stdlib.h>

struct edit_insertion {
	size_t at;
	size_t number; /* in order of asking */
	struct schedule_op op;
};

enum seam_rc edit_init(struct edit *edit, struct schedule *schedule)
{
	*edit = (struct edit){.schedule = schedule};
	edit->dropped = calloc(schedule->op_count + 1, 1);
	return edit->dropped != NULL ? SEAM_OK : SEAM_OOM_META;
}

void edit_fini(struct edit *edit)
{
	free(edit->insertions);
	free(edit->dropped);
	*edit = (struct edit){0};
}

enum seam_rc edit_insert(struct edit *edit, size_t at, const struct schedule_op *op)
{
	if (edit->count == edit->capacity) {
		size_t capacity = edit->capacity * 2 + 64;
		struct edit_insertion *insertions = realloc(edit->insertions, capacity * sizeof(*insertions));
		if (insertions == NULL)
			return SEAM_OOM_META;
		edit->insertions = insertions;
		edit->capacity = capacity;
	}
	edit->insertions[edit->count] = (struct edit_insertion){.at = at, .number = edit->count, .op = *op};
	edit->count++;
	return SEAM_OK;
}

enum seam_rc edit_block(struct edit *edit, uint32_t *ret_block)
{
	if (edit->schedule->block_count == UINT32_MAX)
		return SEAM_INVALID;
	*ret_block = edit->schedule->block_count++;
	return SEAM_OK;
}

static int compare(const void *left, const void *right)
{
	const struct edit_insertion *a = left;
	const struct edit_insertion *b = right;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

enum seam_rc edit_make(struct edit *edit)
{
	struct schedule *schedule = edit->schedule;
	struct schedule old = *schedule;
	size_t count = old.op_count + edit->count;
	struct schedule_op *ops = malloc((count + 1) * sizeof(*ops));
	if (ops == NULL)
		return SEAM_OOM_META;
	if (edit->count > 0)
		qsort(edit->insertions, edit->count, sizeof(*edit->insertions), compare);
	size_t next = 0;
	size_t made = 0;
	for (size_t i = 0; i <= old.op_count; i++) {
		while (next < edit->count && edit->insertions[next].at == i)
			ops[made++] = edit->insertions[next++].op;
		if (i < old.op_count && edit->dropped[i] == 0)
			ops[made++] = old.ops[i];
	}
	schedule->ops = ops;
	schedule->op_count = made;
	enum seam_rc rc = schedule_measure(schedule);
	uint8_t *dropped = rc == SEAM_OK ? calloc(made + 1, 1) : NULL;
	if (dropped == NULL) {
		free(ops);
		*schedule = old;
		return SEAM_OOM_META;
	}
	free(old.ops);
	free(edit->dropped);
	edit->dropped = dropped;
	edit->count = 0;
	return SEAM_OK;
}
