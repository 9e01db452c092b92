/* idle.c: see idle.h. */
#include "idle.h"

#include <stdlib.h>

#include "meta.h"

/* The address under which a chunk's idle bytes are given: the first column that it backs. */
static enum seam_rc find_homes(struct seam__idle *idle)
{
	const struct seam__backing *backing = idle->space->backing;

	if (backing->chunks == NULL)
		return SEAM_OK;
	idle->chunk_count = backing->physical_chunks;
	idle->home = seam__meta_array(idle->space->problem->meta, idle->chunk_count, sizeof(*idle->home));
	if (idle->home == NULL)
		return SEAM_OOM_META;
	for (uint32_t c = backing->column_count; c > 0; c--)
		idle->home[backing->chunks[c - 1]] = c - 1;
	return SEAM_OK;
}

static enum seam_rc init_others(struct seam__idle *idle)
{
	const struct seam__problem *problem = idle->space->problem;
	size_t count = (size_t)problem->streams + 1;

	idle->others = seam__meta_array(problem->meta, count, sizeof(*idle->others));
	idle->others_known = seam__meta_array(problem->meta, count, sizeof(*idle->others_known));
	for (size_t s = 0; idle->others != NULL && s < count; s++)
		seam__grow_init(&idle->others[s], sizeof(struct seam_plan_range));
	return idle->others == NULL || idle->others_known == NULL ? SEAM_OOM_META : SEAM_OK;
}

enum seam_rc seam__idle_init(struct seam__idle *idle, const struct seam__dynamic_space *space)
{
	const struct seam__problem *problem = space->problem;
	struct seam__idle made = {.space = space};
	enum seam_rc rc = seam__overlap_init(&made.overlap, problem);

	if (rc != SEAM_OK)
		return rc;
	seam__grow_init(&made.used, sizeof(struct seam_plan_range));
	rc = init_others(&made);
	if (rc == SEAM_OK && problem->count > 0) {
		made.found = seam__meta_array(problem->meta, problem->count, sizeof(*made.found));
		if (made.found == NULL)
			rc = SEAM_OOM_META;
	}
	if (rc == SEAM_OK)
		rc = find_homes(&made);
	if (rc != SEAM_OK) {
		seam__idle_fini(&made);
		return rc;
	}
	*idle = made;
	return SEAM_OK;
}

void seam__idle_fini(struct seam__idle *idle)
{
	const struct seam__problem *problem = idle->space->problem;

	seam__meta_free(problem->meta, idle->home, idle->chunk_count * sizeof(*idle->home));
	seam__meta_free(problem->meta, idle->found, (size_t)problem->count * sizeof(*idle->found));
	for (size_t s = 0; idle->others != NULL && s <= problem->streams; s++)
		seam__grow_fini(&idle->others[s]);
	seam__meta_free(
		problem->meta, idle->others_known, ((size_t)problem->streams + 1) * sizeof(*idle->others_known));
	seam__meta_free(problem->meta, idle->others, ((size_t)problem->streams + 1) * sizeof(*idle->others));
	seam__grow_fini(&idle->used);
	seam__overlap_fini(&idle->overlap);
}

/* The item's physical bytes. */
static enum seam_rc use_item(struct seam__idle *idle, uint32_t item)
{
	const struct seam__dynamic_space *space = idle->space;
	const uint64_t *offsets = space->backing->offsets != NULL ? space->backing->offsets : space->offsets;
	uint64_t at = offsets[item];
	uint64_t end = at + space->problem->items[item].size_bytes;
	enum seam_rc rc = SEAM_OK;

	if (idle->home == NULL)
		return seam__grow_append(&idle->used, &(struct seam_plan_range){at, end}, 1);
	for (uint64_t next; at < end && rc == SEAM_OK; at = next) {
		uint64_t column = at / space->chunk_bytes;
		uint64_t physical = space->backing->chunks[column] * space->chunk_bytes + at % space->chunk_bytes;

		next = (column + 1) * space->chunk_bytes < end ? (column + 1) * space->chunk_bytes : end;
		rc = seam__grow_append(&idle->used, &(struct seam_plan_range){physical, physical + (next - at)}, 1);
	}
	return rc;
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
static enum seam_rc find_others(struct seam__idle *idle, uint32_t stream, const struct seam_grow **ret_others)
{
	const struct seam__problem *problem = idle->space->problem;
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

static enum seam_rc use_items(struct seam__idle *idle, uint32_t begin, uint32_t span, uint32_t stream)
{
	const struct seam_grow *others;
	enum seam_rc rc = find_others(idle, stream, &others);
	uint32_t count;

	if (rc != SEAM_OK)
		return rc;
	idle->used.count = 0;
	count = seam__overlap_find(&idle->overlap, begin, span, idle->found);
	for (uint32_t n = 0; n < count && rc == SEAM_OK; n++)
		rc = use_item(idle, idle->found[n]);
	if (rc == SEAM_OK && others->count > 0)
		rc = seam__grow_append(&idle->used, others->items, others->count);
	merge_used(&idle->used);
	return rc;
}

/* Appends [begin, end), or makes the range before longer. */
static enum seam_rc append(struct seam_grow *ranges, size_t first, uint64_t begin, uint64_t end)
{
	struct seam_plan_range *last =
		ranges->count > first ? (struct seam_plan_range *)ranges->items + (ranges->count - 1) : NULL;

	if (last != NULL && last->end_bytes == begin) {
		last->end_bytes = end;
		return SEAM_OK;
	}
	return seam__grow_append(ranges, &(struct seam_plan_range){begin, end}, 1);
}

/* Physical bytes [begin, end) that nobody uses, by their address. */
static enum seam_rc give(
	const struct seam__idle *idle, size_t first, uint64_t begin, uint64_t end, struct seam_grow *ranges)
{
	uint64_t chunk_bytes = idle->space->chunk_bytes;
	enum seam_rc rc = SEAM_OK;

	if (idle->home == NULL)
		return append(ranges, first, begin, end);
	for (uint64_t next; begin < end && rc == SEAM_OK; begin = next) {
		uint64_t chunk = begin / chunk_bytes;
		uint64_t at = idle->home[chunk] * chunk_bytes + begin % chunk_bytes;

		next = (chunk + 1) * chunk_bytes < end ? (chunk + 1) * chunk_bytes : end;
		rc = append(ranges, first, at, at + (next - begin));
	}
	return rc;
}

/* Chunks' homes need not ascend: ranges by address, those that touch made one. */
static void tidy(struct seam_grow *ranges, size_t first)
{
	struct seam_plan_range *list;
	size_t count = ranges->count - first;
	size_t kept = 0;

	if (count == 0)
		return;
	list = (struct seam_plan_range *)ranges->items + first;
	qsort(list, count, sizeof(*list), compare_ranges);
	for (size_t n = 1; n < count; n++) {
		if (list[n].begin_bytes == list[kept].end_bytes)
			list[kept].end_bytes = list[n].end_bytes;
		else
			list[++kept] = list[n];
	}
	ranges->count = first + kept + 1;
}

enum seam_rc seam__idle_find(
	struct seam__idle *idle, uint32_t begin, uint32_t span, uint32_t stream, struct seam_grow *ranges)
{
	uint64_t end = idle->home == NULL ? idle->space->arena_bytes : idle->chunk_count * idle->space->chunk_bytes;
	size_t first = ranges->count;
	uint64_t at = 0;
	const struct seam_plan_range *used;
	enum seam_rc rc = use_items(idle, begin, span, stream);

	if (rc != SEAM_OK)
		return rc;
	used = idle->used.items;
	for (size_t n = 0; n < idle->used.count && rc == SEAM_OK; n++) {
		if (used[n].begin_bytes > at)
			rc = give(idle, first, at, used[n].begin_bytes, ranges);
		at = used[n].end_bytes > at ? used[n].end_bytes : at;
	}
	if (rc == SEAM_OK && at < end)
		rc = give(idle, first, at, end, ranges);
	if (rc == SEAM_OK)
		tidy(ranges, first);
	return rc;
}
