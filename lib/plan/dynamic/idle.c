/* idle.c: see idle.h. */
#include "idle.h"

#include <stdlib.h>

#include "meta.h"

static enum seam_rc init_others(struct seam_idle *idle)
{
	const struct seam_problem *problem = idle->space->problem;
	size_t count = (size_t)problem->streams + 1;

	idle->others = seam__meta_array(problem->meta, count, sizeof(*idle->others));
	idle->others_known = seam__meta_array(problem->meta, count, sizeof(*idle->others_known));
	for (size_t s = 0; idle->others != NULL && s < count; s++)
		seam__grow_init(&idle->others[s], sizeof(struct seam_plan_range));
	return idle->others == NULL || idle->others_known == NULL ? SEAM_OOM_META : SEAM_OK;
}

enum seam_rc seam__idle_init(struct seam_idle *idle, const struct seam_dynamic_space *space)
{
	const struct seam_problem *problem = space->problem;
	struct seam_idle made = {.space = space};
	enum seam_rc rc;

	seam__grow_init(&made.used, sizeof(struct seam_plan_range));
	made.longest = seam__meta_array(problem->meta, (size_t)problem->count + 1, sizeof(*made.longest));
	rc = made.longest == NULL ? SEAM_OOM_META : init_others(&made);
	for (uint32_t i = 0; i < problem->count && rc == SEAM_OK; i++)
		made.longest[i] = seam__problem_longest_hold(problem, i);
	if (rc != SEAM_OK) {
		seam__idle_fini(&made);
		return rc;
	}
	*idle = made;
	return SEAM_OK;
}

void seam__idle_fini(struct seam_idle *idle)
{
	const struct seam_problem *problem = idle->space->problem;

	seam__meta_free(problem->meta, idle->longest, ((size_t)problem->count + 1) * sizeof(*idle->longest));
	for (size_t s = 0; idle->others != NULL && s <= problem->streams; s++)
		seam__grow_fini(&idle->others[s]);
	seam__meta_free(
		problem->meta, idle->others_known, ((size_t)problem->streams + 1) * sizeof(*idle->others_known));
	seam__meta_free(problem->meta, idle->others, ((size_t)problem->streams + 1) * sizeof(*idle->others));
	seam__grow_fini(&idle->used);
}

static enum seam_rc use_item(struct seam_idle *idle, uint32_t item)
{
	const struct seam_dynamic_space *space = idle->space;
	const uint64_t begin = space->offsets[item];
	const struct seam_plan_range bytes = {begin, begin + space->problem->items[item].size_bytes};

	return seam__grow_append(&idle->used, &bytes, 1);
}

static int compare_ranges(const void *left, const void *right)
{
	const struct seam_plan_range *a = left;
	const struct seam_plan_range *b = right;

	if (a->begin_bytes != b->begin_bytes)
		return a->begin_bytes < b->begin_bytes ? -1 : 1;
	return a->end_bytes < b->end_bytes ? -1 : a->end_bytes > b->end_bytes;
}

/* Sorts what is used and makes ranges that touch or overlap one. */
static void merge_used(struct seam_grow *used)
{
	struct seam_plan_range *list = used->items;
	size_t kept = 0;

	if (used->count == 0)
		return;
	qsort(list, used->count, sizeof(*list), compare_ranges);
	for (size_t n = 1; n < used->count; n++) {
		if (list[n].begin_bytes > list[kept].end_bytes)
			list[++kept] = list[n];
		else if (list[n].end_bytes > list[kept].end_bytes)
			list[kept].end_bytes = list[n].end_bytes;
	}
	used->count = kept + 1;
}

/* What items of other streams use, whenever they live: once for each stream, since many groups ask. */
static enum seam_rc find_others(struct seam_idle *idle, uint32_t stream, const struct seam_grow **ret_others)
{
	const struct seam_problem *problem = idle->space->problem;
	size_t index = stream == SEAM__STREAM_NONE ? problem->streams : stream;
	struct seam_grow *others = &idle->others[index];
	enum seam_rc rc = SEAM_OK;

	*ret_others = others;
	if (idle->others_known[index])
		return SEAM_OK;
	idle->used.count = 0;
	for (uint32_t i = 0; i < problem->count && rc == SEAM_OK; i++)
		if (problem->items[i].stream != stream)
			rc = use_item(idle, i);
	merge_used(&idle->used);
	if (rc == SEAM_OK && idle->used.count > 0)
		rc = seam__grow_append(others, idle->used.items, idle->used.count);
	idle->others_known[index] = rc == SEAM_OK;
	return rc;
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

static enum seam_rc use_items(struct seam_idle *idle, uint32_t begin, uint32_t span, uint32_t stream)
{
	const struct seam_grow *others;
	enum seam_rc rc = find_others(idle, stream, &others);

	if (rc != SEAM_OK)
		return rc;
	idle->used.count = 0;
	for (uint32_t i = 0; i < idle->space->problem->count && rc == SEAM_OK; i++)
		if (is_held(idle, i, begin, span))
			rc = use_item(idle, i);
	if (rc == SEAM_OK && others->count > 0)
		rc = seam__grow_append(&idle->used, others->items, others->count);
	merge_used(&idle->used);
	return rc;
}

enum seam_rc seam__idle_find(
	struct seam_idle *idle, uint32_t begin, uint32_t span, uint32_t stream, struct seam_grow *ranges)
{
	uint64_t at = 0;
	const struct seam_plan_range *used;
	enum seam_rc rc = use_items(idle, begin, span, stream);

	if (rc != SEAM_OK)
		return rc;
	used = idle->used.items;
	for (size_t n = 0; n < idle->used.count && rc == SEAM_OK; n++) {
		if (used[n].begin_bytes > at)
			rc = seam__grow_append(ranges, &(struct seam_plan_range){at, used[n].begin_bytes}, 1);
		at = used[n].end_bytes > at ? used[n].end_bytes : at;
	}
	if (rc == SEAM_OK && at < idle->space->arena_bytes)
		rc = seam__grow_append(ranges, &(struct seam_plan_range){at, idle->space->arena_bytes}, 1);
	return rc;
}
