/* idle.c: see idle.h. */
#include "idle.h"

#include <stdlib.h>

#include "region.h"

enum seam_rc seam__idle_init(struct seam_idle *idle, const struct seam_dynamic_space *space)
{
	const struct seam_problem *problem = space->problem;

	*idle = (struct seam_idle){.space = space};
	idle->longest = seam__region_array(problem->region, problem->count, sizeof(*idle->longest));
	idle->used = seam__region_array(problem->region, problem->count, sizeof(*idle->used));
	if (idle->longest == NULL || idle->used == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < problem->count; i++)
		idle->longest[i] = seam__problem_longest_hold(problem, i);
	return SEAM_OK;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct seam_plan_range *a = left;
	const struct seam_plan_range *b = right;

	if (a->begin_bytes != b->begin_bytes)
		return a->begin_bytes < b->begin_bytes ? -1 : 1;
	return a->end_bytes < b->end_bytes ? -1 : a->end_bytes > b->end_bytes;
}

/* Is some stream kept from the item at a time in [begin, begin + span)? On a line, where nothing crosses the end, what
 * is kept beyond it meets nobody. */
static bool is_held(const struct seam_idle *idle, uint32_t item, uint32_t begin, uint32_t span)
{
	const struct seam_problem *problem = idle->space->problem;
	const uint32_t from = problem->items[item].begin;

	if (problem->linear)
		return from < begin ? begin - from < idle->longest[item] : from - begin < span;
	return seam__problem_distance(problem, from, begin) < idle->longest[item] ||
		seam__problem_distance(problem, begin, from) < span;
}

/* What is used, ascending by begin. Returns how many. */
static size_t use_items(struct seam_idle *idle, uint32_t begin, uint32_t span, uint32_t stream)
{
	const struct seam_dynamic_space *space = idle->space;
	const struct seam_item *items = space->problem->items;
	size_t count = 0;

	for (uint32_t i = 0; i < space->problem->count; i++)
		if (items[i].stream != stream || is_held(idle, i, begin, span))
			idle->used[count++] =
				(struct seam_plan_range){space->offsets[i], space->offsets[i] + items[i].size_bytes};
	if (count > 0)
		qsort(idle->used, count, sizeof(*idle->used), compare_ranges);
	return count;
}

enum seam_rc seam__idle_find(
	struct seam_idle *idle, uint32_t begin, uint32_t span, uint32_t stream, struct seam_grow *ranges)
{
	const struct seam_plan_range *used = idle->used;
	size_t count = use_items(idle, begin, span, stream);
	uint64_t at = 0;
	enum seam_rc rc = SEAM_OK;

	for (size_t n = 0; n < count && rc == SEAM_OK; n++) {
		if (used[n].begin_bytes > at)
			rc = seam__grow_append(ranges, &(struct seam_plan_range){at, used[n].begin_bytes}, 1);
		at = used[n].end_bytes > at ? used[n].end_bytes : at;
	}
	if (rc == SEAM_OK && at < idle->space->arena_bytes)
		rc = seam__grow_append(ranges, &(struct seam_plan_range){at, idle->space->arena_bytes}, 1);
	return rc;
}
