/* views.c: see views.h. */
#include "views.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "meta.h"

void seam__views_init(struct seam__views *views)
{
	seam__grow_init(&views->pool, sizeof(uint32_t));
	seam__grow_init(&views->views, sizeof(struct seam__view));
}

void seam__views_fini(struct seam__views *views)
{
	seam__grow_fini(&views->views);
	seam__grow_fini(&views->pool);
}

void seam__views_clear(struct seam__views *views)
{
	views->views.count = 0;
	views->pool.count = 0;
}

enum seam_rc seam__views_add(struct seam__views *views, uint32_t item, const uint32_t *chunks, uint32_t count)
{
	struct seam__view view = {.at = views->pool.count, .count = count, .item = item};
	enum seam_rc rc = seam__grow_append(&views->pool, chunks, count);

	return rc == SEAM_OK ? seam__grow_append(&views->views, &view, 1) : rc;
}

/* The longest first, equal ones side by side. */
static int compare_views(const void *left, const void *right)
{
	const struct seam__view *a = left;
	const struct seam__view *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	for (uint32_t n = 0; n < a->count; n++)
		if (a->chunks[n] != b->chunks[n])
			return a->chunks[n] < b->chunks[n] ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

/* Where each chunk stands among the columns that were appended. */
struct places {
	uint32_t *last;            /* per chunk: 1 + the last column that has it; 0: none */
	struct seam_grow previous; /* uint32_t, per appended column: the same for the column before it */
	uint32_t from;             /* the first appended column */
};

static bool find_place(const struct places *places, const struct seam_grow *columns, const struct seam__view *view,
	uint32_t *ret_column)
{
	const uint32_t *chunks = columns->items;

	for (uint32_t at = places->last[view->chunks[0]]; at != 0;
		at = ((const uint32_t *)places->previous.items)[at - 1 - places->from]) {
		if (columns->count - (at - 1) >= view->count &&
			memcmp(chunks + (at - 1), view->chunks, view->count * sizeof(*chunks)) == 0) {
			*ret_column = at - 1;
			return true;
		}
	}
	return false;
}

static enum seam_rc append(struct places *places, struct seam_grow *columns, struct seam__view *view)
{
	enum seam_rc rc = seam__grow_append(columns, view->chunks, view->count);

	view->column = (uint32_t)columns->count - view->count;
	for (uint32_t n = 0; n < view->count && rc == SEAM_OK; n++) {
		uint32_t *last = &places->last[view->chunks[n]];

		rc = seam__grow_append(&places->previous, last, 1);
		*last = view->column + n + 1;
	}
	return rc;
}

enum seam_rc seam__views_share(
	struct seam__views *views, struct seam_meta *meta, uint32_t chunk_limit, struct seam_grow *columns)
{
	struct seam__view *list = views->views.items;
	struct places places = {.from = (uint32_t)columns->count};
	enum seam_rc rc = SEAM_OK;

	if (views->views.count == 0)
		return SEAM_OK;
	places.last = seam__meta_array(meta, chunk_limit, sizeof(*places.last));
	if (places.last == NULL)
		return SEAM_OOM_META;
	seam__grow_init(&places.previous, sizeof(uint32_t));
	for (size_t n = 0; n < views->views.count; n++)
		list[n].chunks = (const uint32_t *)views->pool.items + list[n].at;
	qsort(list, views->views.count, sizeof(*list), compare_views);
	for (size_t n = 0; n < views->views.count && rc == SEAM_OK; n++) {
		if (n > 0 && list[n - 1].count == list[n].count &&
			memcmp(list[n - 1].chunks, list[n].chunks, list[n].count * sizeof(uint32_t)) == 0)
			list[n].column = list[n - 1].column;
		else if (!find_place(&places, columns, &list[n], &list[n].column))
			rc = append(&places, columns, &list[n]);
	}
	seam__grow_fini(&places.previous);
	seam__meta_free(meta, places.last, chunk_limit * sizeof(*places.last));
	return rc;
}
