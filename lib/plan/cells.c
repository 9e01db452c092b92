/* cells.c: see cells.h. */
#include "cells.h"

#include <stdlib.h>

#include "bits.h"
#include "meta.h"

/* Scratch while cells are made: the items of each column, in order of begin. */
struct pieces {
	uint32_t *items;
	uint32_t *first; /* per column, and one more */
	uint32_t *next;  /* per column: where the next item goes */
	uint32_t count;
};

static enum seam_rc find_cut(struct seam__cells *cells)
{
	const struct seam__problem *problem = cells->problem;
	uint64_t *live;

	if (problem->linear || problem->circle == 0)
		return SEAM_OK;
	live = seam__meta_array(problem->meta, problem->circle, sizeof(*live));
	if (live == NULL)
		return SEAM_OOM_META;
	seam__problem_live(problem, live);
	for (uint32_t t = 1; t < problem->circle; t++)
		cells->cut = live[t] < live[cells->cut] ? t : cells->cut;
	seam__meta_free(problem->meta, live, (size_t)problem->circle * sizeof(*live));
	return SEAM_OK;
}

struct begin_key {
	uint32_t begin;
	uint32_t item;
};

static int compare_begins(const void *left, const void *right)
{
	const struct begin_key *a = left;
	const struct begin_key *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static enum seam_rc sort_items(struct seam__cells *cells)
{
	uint32_t count = cells->problem->count;
	struct begin_key *keys = seam__meta_array(cells->problem->meta, count, sizeof(*keys));

	if (keys == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < count; i++)
		keys[i] = (struct begin_key){.begin = seam__cells_begin(cells, i), .item = i};
	qsort(keys, count, sizeof(*keys), compare_begins);
	for (uint32_t n = 0; n < count; n++)
		cells->order[n] = keys[n].item;
	seam__meta_free(cells->problem->meta, keys, (size_t)count * sizeof(*keys));
	return SEAM_OK;
}

/* The stream with the most bytes. */
static enum seam_rc find_stream(struct seam__cells *cells)
{
	const struct seam__problem *problem = cells->problem;
	uint64_t *bytes = seam__meta_array(problem->meta, problem->streams, sizeof(*bytes));

	if (bytes == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < problem->count; i++)
		bytes[problem->items[i].stream] += problem->items[i].size_bytes;
	for (uint32_t s = 1; s < problem->streams; s++)
		cells->stream = bytes[s] > bytes[cells->stream] ? s : cells->stream;
	seam__meta_free(problem->meta, bytes, (size_t)problem->streams * sizeof(*bytes));
	return SEAM_OK;
}

static void pin(struct seam__cells *cells, uint32_t item)
{
	for (uint32_t c = seam__cells_first_column(cells, item); c <= seam__cells_last_column(cells, item); c++)
		cells->pinned[c] = 1;
}

static void pin_columns(struct seam__cells *cells)
{
	for (uint32_t i = 0; i < cells->problem->count; i++) {
		const struct seam__item *item = &cells->problem->items[i];

		if (item->fixed_bytes != SEAM__ADDRESS_ANY || item->stream != cells->stream)
			pin(cells, i);
		if (item->next != SEAM__ITEM_NONE) {
			pin(cells, i);
			pin(cells, item->next);
		}
	}
}

static void pieces_fini(struct pieces *pieces, const struct seam__cells *cells)
{
	struct seam_meta *meta = cells->problem->meta;
	size_t columns = (size_t)cells->column_count + 1;

	seam__meta_free(meta, pieces->items, (size_t)pieces->count * sizeof(*pieces->items));
	seam__meta_free(meta, pieces->next, columns * sizeof(*pieces->next));
	seam__meta_free(meta, pieces->first, columns * sizeof(*pieces->first));
}

/* By counting; items come in order of begin, and so they stand in each column. */
static enum seam_rc pieces_init(struct pieces *pieces, const struct seam__cells *cells)
{
	struct seam_meta *meta = cells->problem->meta;
	uint32_t columns = cells->column_count;
	uint64_t total = 0;

	*pieces = (struct pieces){.first = seam__meta_array(meta, (size_t)columns + 1, sizeof(*pieces->first)),
		.next = seam__meta_array(meta, (size_t)columns + 1, sizeof(*pieces->next))};
	if (pieces->first == NULL || pieces->next == NULL)
		goto fail;
	for (uint32_t i = 0; i < cells->problem->count; i++) {
		for (uint32_t c = seam__cells_first_column(cells, i); c <= seam__cells_last_column(cells, i); c++)
			pieces->first[c + 1]++;
		total += seam__cells_last_column(cells, i) - seam__cells_first_column(cells, i) + 1;
	}
	if (total + columns > INT32_MAX)
		goto fail;
	pieces->items = seam__meta_array(meta, total, sizeof(*pieces->items));
	if (pieces->items == NULL)
		goto fail;
	pieces->count = (uint32_t)total;
	for (uint32_t c = 0; c < columns; c++) {
		pieces->first[c + 1] += pieces->first[c];
		pieces->next[c] = pieces->first[c];
	}
	for (uint32_t n = 0; n < cells->problem->count; n++) {
		uint32_t item = cells->order[n];

		for (uint32_t c = seam__cells_first_column(cells, item); c <= seam__cells_last_column(cells, item); c++)
			pieces->items[pieces->next[c]++] = item;
	}
	return SEAM_OK;
fail:
	pieces_fini(pieces, cells);
	return SEAM_OOM_META;
}

/* The column's cell at the cut, of what began before it; empty when there is none. */
static struct seam__cell prefix_of(const struct seam__cells *cells, const struct pieces *pieces, uint32_t column)
{
	uint32_t circle = cells->problem->circle;
	struct seam__cell prefix = {0};

	for (uint32_t p = pieces->first[column]; p < pieces->first[column + 1]; p++) {
		uint32_t item = pieces->items[p];
		uint32_t straight = circle - seam__cells_begin(cells, item);
		uint32_t span = cells->problem->items[item].span;

		if (span <= straight)
			continue;
		if (prefix.end == 0 || seam__cells_width(cells, item) > seam__cells_width(cells, prefix.widest))
			prefix.widest = item;
		prefix.end = span - straight > prefix.end ? span - straight : prefix.end;
	}
	return prefix;
}

static void widen(const struct seam__cells *cells, struct seam__cell *cell, uint32_t item, uint32_t end)
{
	cell->end = end > cell->end ? end : cell->end;
	if (seam__cells_width(cells, item) > seam__cells_width(cells, cell->widest))
		cell->widest = item;
}

/* The cells of one column, appended at `at`; returns their end. */
static uint32_t merge_column(struct seam__cells *cells, const struct pieces *pieces, uint32_t column, uint32_t at)
{
	uint32_t circle = cells->problem->circle;
	struct seam__cell prefix = prefix_of(cells, pieces, column);
	uint32_t first = at;

	if (prefix.end > 0) {
		cells->cells[at++] = prefix;
		cells->crossing[column] = 1;
	}
	for (uint32_t p = pieces->first[column]; p < pieces->first[column + 1]; p++) {
		uint32_t item = pieces->items[p];
		uint32_t begin = seam__cells_begin(cells, item);
		uint32_t span = cells->problem->items[item].span;
		uint32_t end = span > circle - begin ? circle : begin + span;

		if (at > first && begin < cells->cells[at - 1].end)
			widen(cells, &cells->cells[at - 1], item, end);
		else
			cells->cells[at++] = (struct seam__cell){.begin = begin, .end = end, .widest = item};
	}
	return at;
}

static enum seam_rc make_cells(struct seam__cells *cells)
{
	struct seam_meta *meta = cells->problem->meta;
	struct pieces pieces;
	uint32_t at = 0;
	enum seam_rc rc = pieces_init(&pieces, cells);

	if (rc != SEAM_OK)
		return rc;
	cells->cell_room = pieces.count + cells->column_count;
	cells->cells = seam__meta_array(meta, cells->cell_room, sizeof(*cells->cells));
	if (cells->cells == NULL)
		rc = SEAM_OOM_META;
	for (uint32_t c = 0; c < cells->column_count && rc == SEAM_OK; c++) {
		cells->first[c] = at;
		at = merge_column(cells, &pieces, c, at);
	}
	cells->first[cells->column_count] = at;
	pieces_fini(&pieces, cells);
	return rc;
}

static enum seam_rc count_busiest(struct seam__cells *cells)
{
	struct seam_meta *meta = cells->problem->meta;
	size_t positions = (size_t)cells->problem->circle + 1;
	uint32_t *change = seam__meta_array(meta, positions, sizeof(*change)); /* differences, wrapping */
	uint32_t busy = 0;

	if (change == NULL)
		return SEAM_OOM_META;
	for (uint32_t c = 0; c < cells->column_count; c++) {
		if (cells->pinned[c] != 0) {
			change[0]++;
			continue;
		}
		for (uint32_t n = cells->first[c]; n < cells->first[c + 1]; n++) {
			change[cells->cells[n].begin]++;
			change[cells->cells[n].end]--;
		}
	}
	for (uint32_t t = 0; t < cells->problem->circle; t++) {
		busy += change[t];
		cells->busiest = busy > cells->busiest ? busy : cells->busiest;
	}
	seam__meta_free(meta, change, positions * sizeof(*change));
	return SEAM_OK;
}

enum seam_rc seam__cells_init(struct seam__cells *cells, const struct seam__problem *problem, const uint64_t *offsets,
	uint64_t peak_bytes, uint64_t chunk_bytes)
{
	struct seam_meta *meta = problem->meta;
	uint32_t columns = (uint32_t)seam__bits_div_up(peak_bytes, chunk_bytes);
	struct seam__cells made = {
		.problem = problem, .offsets = offsets, .chunk_bytes = chunk_bytes, .column_count = columns};
	enum seam_rc rc = SEAM_OOM_META;

	made.order = seam__meta_array(meta, problem->count, sizeof(*made.order));
	made.first = seam__meta_array(meta, (size_t)columns + 1, sizeof(*made.first));
	made.pinned = seam__meta_array(meta, columns, sizeof(*made.pinned));
	made.crossing = seam__meta_array(meta, columns, sizeof(*made.crossing));
	if (made.order != NULL && made.first != NULL && made.pinned != NULL && made.crossing != NULL)
		rc = find_cut(&made);
	if (rc == SEAM_OK)
		rc = find_stream(&made);
	if (rc == SEAM_OK)
		rc = sort_items(&made);
	if (rc == SEAM_OK)
		rc = make_cells(&made);
	if (rc == SEAM_OK) {
		pin_columns(&made);
		rc = count_busiest(&made);
	}
	if (rc != SEAM_OK) {
		seam__cells_fini(&made);
		return rc;
	}
	*cells = made;
	return SEAM_OK;
}

void seam__cells_fini(struct seam__cells *cells)
{
	struct seam_meta *meta = cells->problem->meta;

	seam__meta_free(meta, cells->crossing, (size_t)cells->column_count * sizeof(*cells->crossing));
	seam__meta_free(meta, cells->pinned, (size_t)cells->column_count * sizeof(*cells->pinned));
	seam__meta_free(meta, cells->cells, (size_t)cells->cell_room * sizeof(*cells->cells));
	seam__meta_free(meta, cells->first, ((size_t)cells->column_count + 1) * sizeof(*cells->first));
	seam__meta_free(meta, cells->order, (size_t)cells->problem->count * sizeof(*cells->order));
	*cells = (struct seam__cells){0};
}

static bool in_cell(const struct seam__cells *cells, uint32_t column, uint32_t position)
{
	for (uint32_t n = cells->first[column]; n < cells->first[column + 1]; n++)
		if (cells->cells[n].begin <= position && position < cells->cells[n].end)
			return true;
	return false;
}

static bool item_in_cells(const struct seam__cells *cells, uint32_t item)
{
	for (uint32_t c = seam__cells_first_column(cells, item); c <= seam__cells_last_column(cells, item); c++)
		for (uint32_t step = 0; step < cells->problem->items[item].span; step++)
			if (!in_cell(cells, c, (seam__cells_begin(cells, item) + step) % cells->problem->circle))
				return false;
	return true;
}

const char *seam__cells_check(const struct seam__cells *cells)
{
	uint32_t busiest = 0;

	for (uint32_t c = 0; c < cells->column_count; c++)
		for (uint32_t n = cells->first[c]; n < cells->first[c + 1]; n++)
			if (cells->cells[n].begin >= cells->cells[n].end ||
				(n > cells->first[c] && cells->cells[n].begin < cells->cells[n - 1].end))
				return "E1 order";
	for (uint32_t i = 0; i < cells->problem->count; i++)
		if (!item_in_cells(cells, i))
			return "E2 item outside";
	for (uint32_t t = 0; t < cells->problem->circle; t++) {
		uint32_t busy = 0;

		for (uint32_t c = 0; c < cells->column_count; c++)
			busy += cells->pinned[c] != 0 || in_cell(cells, c, t);
		busiest = busy > busiest ? busy : busiest;
	}
	return busiest == cells->busiest ? NULL : "E3 busiest";
}
