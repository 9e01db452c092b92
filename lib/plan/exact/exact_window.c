/* exact_window.c: see exact_window.h. */
#include "exact_window.h"

#include <stdlib.h>

#include "region.h"
#include "timeline.h"

#define COVERS_PER_ITEM 512u
#define COVERS_FREE (UINT64_C(1) << 20)
#define ITEMS_MAX (UINT32_C(1) << 20)

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static enum seam_rc make_items(struct seam_exact_window *window, const struct seam_timeline *timeline)
{
	const struct seam_problem *problem = window->problem;
	uint64_t covers = 0;

	for (uint32_t i = 0; i < window->count; i++) {
		const struct seam_cover *cover = seam__timeline_cover(timeline, i, 0);
		struct seam_exact_item *item = &window->items[i];

		item->number = i;
		item->size_bytes = problem->items[item->number].size_bytes;
		item->span = seam__problem_longest_hold(problem, item->number);
		item->first = cover->first;
		item->width = cover->count;
		covers += item->width;
	}
	if (covers > COVERS_FREE && covers > (uint64_t)COVERS_PER_ITEM * window->count)
		return SEAM_UNSUPPORTED;
	for (uint32_t i = 0; i < window->count; i++) {
		const struct seam_exact_item *item = &window->items[i];

		window->unit_bytes = common_divisor(window->unit_bytes, item->size_bytes);
		window->start_index[item->first + 1]++;
		for (uint32_t s = item->first, w = 0; w < item->width; s = seam__exact_ahead(window, s, 1), w++) {
			window->cover_index[s + 1]++;
			window->load_bytes[s] += item->size_bytes;
		}
	}
	for (uint32_t s = 0; s < window->sections; s++) {
		window->start_index[s + 1] += window->start_index[s];
		window->cover_index[s + 1] += window->cover_index[s];
	}
	return SEAM_OK;
}

static int compare_items(const void *left, const void *right)
{
	const struct seam_exact_item *a = left;
	const struct seam_exact_item *b = right;

	if (a->size_bytes != b->size_bytes)
		return a->size_bytes < b->size_bytes ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* The lists by section, small items first; `fill` counts what each has already. */
static void fill_lists(struct seam_exact_window *window, uint32_t *fill)
{
	qsort(window->items, window->count, sizeof(*window->items), compare_items);
	for (uint32_t i = 0; i < window->count; i++) {
		const struct seam_exact_item *item = &window->items[i];

		for (uint32_t s = item->first, w = 0; w < item->width; s = seam__exact_ahead(window, s, 1), w++)
			window->covers[window->cover_index[s] + fill[s]++] = i;
	}
	for (uint32_t s = 0; s < window->sections; s++)
		fill[s] = 0;
	for (uint32_t i = 0; i < window->count; i++) {
		uint32_t s = window->items[i].first;

		window->starts[window->start_index[s] + fill[s]++] = i;
	}
}

static bool allocate(struct seam_exact_window *window)
{
	struct seam_region *region = window->problem->region;
	size_t sections = window->sections;

	window->items = seam__region_array(region, window->count, sizeof(*window->items));
	window->starts = seam__region_array(region, window->count, sizeof(*window->starts));
	window->start_index = seam__region_array(region, sections + 1, sizeof(*window->start_index));
	window->cover_index = seam__region_array(region, sections + 1, sizeof(*window->cover_index));
	window->load_bytes = seam__region_array(region, sections, sizeof(*window->load_bytes));
	return window->items != NULL && window->starts != NULL && window->start_index != NULL &&
		window->cover_index != NULL && window->load_bytes != NULL;
}

static enum seam_rc fill(struct seam_exact_window *window, const struct seam_timeline *timeline)
{
	struct seam_region *region = window->problem->region;
	enum seam_rc rc = make_items(window, timeline);

	if (rc != SEAM_OK)
		return rc;
	window->covers = seam__region_array(region, window->cover_index[window->sections], sizeof(*window->covers));
	uint32_t *counts = seam__region_array(region, window->sections, sizeof(*counts));
	if (window->covers == NULL || counts == NULL)
		return SEAM_OOM_META;
	fill_lists(window, counts);
	for (uint32_t s = 0; s < window->sections; s++)
		if (window->load_bytes[s] > window->lower_bytes)
			window->lower_bytes = window->load_bytes[s];
	return SEAM_OK;
}

enum seam_rc seam__exact_window_init(struct seam_exact_window *window, const struct seam_problem *problem)
{
	struct seam_exact_window made = {.problem = problem, .count = problem->count};
	struct seam_timeline timeline;

	if (problem->count > ITEMS_MAX)
		return SEAM_UNSUPPORTED;
	enum seam_rc rc = seam__timeline_init_longest(&timeline, problem);
	if (rc != SEAM_OK)
		return rc;
	made.sections = seam__timeline_columns(&timeline, 0);
	rc = allocate(&made) ? fill(&made, &timeline) : SEAM_OOM_META;
	if (rc == SEAM_OK)
		*window = made;
	return rc;
}

/* W1 and W3 of one section, and how many of its list really cover it. */
static const char *check_section(const struct seam_exact_window *window, uint32_t s)
{
	uint64_t needed = 0;

	for (uint32_t c = window->cover_index[s]; c < window->cover_index[s + 1]; c++) {
		const struct seam_exact_item *item = &window->items[window->covers[c]];

		if (seam__exact_distance(window, item->first, s) >= item->width)
			return "W2 covers";
		if (c > window->cover_index[s] && item->size_bytes < window->items[window->covers[c - 1]].size_bytes)
			return "W2 order";
		needed += item->size_bytes;
	}
	if (needed != window->load_bytes[s] || needed == 0)
		return needed == 0 ? "W1 section" : "W3 load";
	for (uint32_t c = window->start_index[s]; c < window->start_index[s + 1]; c++)
		if (window->items[window->starts[c]].first != s)
			return "W2 starts";
	return needed > window->lower_bytes ? "W3 lower" : NULL;
}

const char *seam__exact_window_check(const struct seam_exact_window *window)
{
	const char *broken = NULL;
	uint64_t widths = 0;

	for (uint32_t i = 0; i < window->count; i++) {
		if (window->items[i].width == 0 || window->items[i].width > window->sections ||
			window->items[i].first >= window->sections)
			return "W1 item";
		widths += window->items[i].width;
	}
	if (window->start_index[window->sections] != window->count || window->cover_index[window->sections] != widths)
		return "W2 lists";
	for (uint32_t s = 0; s < window->sections && broken == NULL; s++)
		broken = check_section(window, s);
	return broken;
}
