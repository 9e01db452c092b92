/* backer.c: see backer.h. */
#include "backer.h"

#include <stdbool.h>
#include <string.h>

#define NONE SEAM__CHUNK_NONE

/* What a chunk must be good for: [begin, end), and [again, ...) when the cell crosses the cut. */
struct need {
	uint32_t begin;
	uint32_t end;
	uint32_t again; /* the circle: does not cross */
};

static bool is_free(const struct seam__backer *backer, uint32_t chunk, const struct need *need)
{
	uint32_t circle = backer->problem->circle;

	return backer->free_at[chunk] <= need->begin && need->end <= backer->chunks[chunk].reserved &&
		(need->again == circle || backer->chunks[chunk].reserved == circle);
}

/* After the column's next cell is another one. */
static void want(struct seam__backer *backer, uint32_t column)
{
	const struct seam__cells *cells = &backer->cells;
	struct seam__chunk *chunk = &backer->chunks[column];
	uint32_t next = backer->columns[column].next;

	if (column >= backer->base)
		return; /* nobody's own */
	if (next == cells->first[column + 1]) {
		chunk->wanted = backer->problem->circle;
		return;
	}
	chunk->wanted = cells->cells[next].begin;
	chunk->widest = cells->cells[next].widest;
	chunk->width = seam__cells_width(cells, chunk->widest);
}

/* Free, and not wanted by its own column in the meantime. */
static bool is_idle(const struct seam__backer *backer, uint32_t chunk, const struct need *need)
{
	const struct seam__cells *cells = &backer->cells;

	if (!is_free(backer, chunk, need) || backer->chunks[chunk].wanted < need->end)
		return false;
	return need->again == backer->problem->circle || chunk >= backer->base ||
		cells->first[chunk] == cells->first[chunk + 1] ||
		cells->cells[cells->first[chunk + 1] - 1].end <= need->again;
}

static void give(struct seam__backer *backer, uint32_t column, uint32_t chunk, const struct need *need)
{
	backer->columns[column].chunk = chunk;
	if (chunk != column)
		backer->columns[column].before = chunk;
	backer->free_at[chunk] = need->end;
	if (need->again != backer->problem->circle) {
		backer->chunks[chunk].reserved = need->again;
		backer->columns[column].around = chunk;
	}
}

static struct need need_of(const struct seam__backer *backer, uint32_t column)
{
	const struct seam__cells *cells = &backer->cells;
	const struct seam__cell *cell = &cells->cells[backer->columns[column].next - 1];
	uint32_t circle = backer->problem->circle;
	struct need need = {.begin = cell->begin, .end = cell->end, .again = circle};

	/* In use all around: one cell, which leaves nothing behind it. */
	if (cells->crossing[column] != 0 && cell->begin == 0 && cell->end < circle)
		need.again = cells->cells[cells->first[column + 1] - 1].begin;
	return need;
}

/* All of the missing columns, each moved by as much. */
static bool try_shift(struct seam__backer *backer, uint32_t from, uint32_t to)
{
	for (uint32_t n = 0; n < backer->missing_count; n++) {
		struct need need = need_of(backer, backer->missing[n]);
		uint64_t chunk = (uint64_t)backer->missing[n] + to;

		if (chunk < from || chunk - from >= backer->base || !is_idle(backer, (uint32_t)(chunk - from), &need))
			return false;
	}
	for (uint32_t n = 0; n < backer->missing_count; n++) {
		struct need need = need_of(backer, backer->missing[n]);

		give(backer, backer->missing[n], backer->missing[n] + to - from, &need);
	}
	backer->missing_count = 0;
	return true;
}

/* Each where it was when it was last moved. */
static bool try_before(struct seam__backer *backer)
{
	for (uint32_t n = 0; n < backer->missing_count; n++) {
		struct need need = need_of(backer, backer->missing[n]);
		uint32_t chunk = backer->columns[backer->missing[n]].before;

		if (chunk == NONE || !is_idle(backer, chunk, &need))
			return false;
	}
	for (uint32_t n = 0; n < backer->missing_count; n++) {
		uint32_t column = backer->missing[n];
		struct need need = need_of(backer, column);

		/* Two columns may have been on one chunk at different times. */
		if (!is_idle(backer, backer->columns[column].before, &need)) {
			backer->missing_count -= n;
			for (uint32_t k = 0; k < backer->missing_count; k++)
				backer->missing[k] = backer->missing[k + n];
			return false;
		}
		give(backer, column, backer->columns[column].before, &need);
	}
	backer->missing_count = 0;
	return true;
}

/* The tightest run of neighbouring chunks, idle until the last of the missing cells ends. */
static bool try_run(struct seam__backer *backer)
{
	struct need need = {.begin = 0, .end = 0, .again = backer->problem->circle};
	uint32_t best = NONE;
	uint32_t best_length = NONE;
	uint32_t length = 0;

	for (uint32_t n = 0; n < backer->missing_count; n++) {
		struct need other = need_of(backer, backer->missing[n]);

		if (n > 0 && backer->missing[n] != backer->missing[n - 1] + 1)
			return false;
		need.begin = other.begin;
		need.end = other.end > need.end ? other.end : need.end;
		need.again = other.again < need.again ? other.again : need.again;
	}
	for (uint32_t chunk = 0; chunk <= backer->base; chunk++) {
		if (chunk < backer->base && is_idle(backer, chunk, &need)) {
			length++;
			continue;
		}
		if (length >= backer->missing_count && length < best_length) {
			best = chunk - length;
			best_length = length;
		}
		length = 0;
	}
	return best != NONE && try_shift(backer, backer->missing[0], best);
}

/* Columns of the view that is needed if the column of that number does not get its chunk when it wants it: none if the
 * item that stands there has lost a chunk before. */
static uint32_t loss_of(const struct seam__backer *backer, const struct seam__chunk *chunk)
{
	if (backer->policy != SEAM__LEAST_LOSS || chunk->wanted == backer->problem->circle)
		return 0;
	return backer->robbed[chunk->widest] != 0 ? 0 : chunk->width;
}

/* The free chunk that the policy gives away; NONE: no chunk is free. */
static uint32_t choose_victim(const struct seam__backer *backer, const struct need *need)
{
	uint32_t best = NONE;
	uint32_t best_loss = NONE;

	for (uint32_t chunk = 0; chunk < backer->physical; chunk++) {
		uint32_t loss;

		if (!is_free(backer, chunk, need))
			continue;
		loss = loss_of(backer, &backer->chunks[chunk]);
		if (loss < best_loss ||
			(loss == best_loss && backer->chunks[chunk].wanted > backer->chunks[best].wanted)) {
			best = chunk;
			best_loss = loss;
		}
	}
	return best;
}

/* Notes whose chunk is given away. */
static void rob(struct seam__backer *backer, uint32_t chunk, uint32_t end)
{
	const struct seam__cells *cells = &backer->cells;

	if (chunk >= backer->base)
		return;
	for (uint32_t n = backer->columns[chunk].next; n < cells->first[chunk + 1] && cells->cells[n].begin < end; n++)
		backer->robbed[cells->cells[n].widest] = 1;
}

/* An idle chunk, of which there is none below *from, or a victim, or a new one. */
static enum seam_rc give_any(struct seam__backer *backer, uint32_t column, uint32_t *from)
{
	struct need need = need_of(backer, column);
	uint32_t chunk = *from;

	while (chunk < backer->physical && !is_idle(backer, chunk, &need))
		chunk++;
	*from = chunk;
	if (chunk == backer->physical) {
		if (!seam__budget_spend(backer->budget, 1 + backer->physical / 256))
			return SEAM_NOT_FOUND; /* an item of many chunks looks at all of them for each */
		chunk = choose_victim(backer, &need);
	}
	if (chunk == NONE && backer->physical + 1 >= backer->room)
		return SEAM_NOT_FOUND;
	if (chunk == NONE)
		chunk = backer->physical++;
	rob(backer, chunk, need.end);
	give(backer, column, chunk, &need);
	return SEAM_OK;
}

/* One by one: those that can stay or be where they were before come first, lest others take their chunks. */
static enum seam_rc give_each(struct seam__backer *backer)
{
	uint32_t first = backer->missing[0]; /* missing columns ascend */
	uint32_t last = backer->missing[backer->missing_count - 1];
	uint32_t left = 0;
	uint32_t from = 0;
	enum seam_rc rc = SEAM_OK;

	for (uint32_t n = 0; n < backer->missing_count; n++) {
		uint32_t column = backer->missing[n];
		uint32_t before = backer->columns[column].before;
		struct need need = need_of(backer, column);

		if (column < backer->base && is_idle(backer, column, &need))
			give(backer, column, column, &need);
		else if (before != NONE && (before < first || before > last) && is_idle(backer, before, &need))
			give(backer, column, before, &need);
		else
			backer->missing[left++] = column;
	}
	for (uint32_t n = 0; n < left && rc == SEAM_OK; n++)
		rc = give_any(backer, backer->missing[n], &from);
	backer->missing_count = 0;
	return rc;
}

static enum seam_rc give_missing(struct seam__backer *backer, uint32_t first, uint32_t last)
{
	(void)seam__budget_spend(backer->budget, 1 + backer->base / 256);
	/* Beside a neighbour that was moved: then the whole may still have a plain address. */
	if (backer->columns[first].chunk != NONE && backer->columns[first].chunk != first &&
		try_shift(backer, first, backer->columns[first].chunk))
		return SEAM_OK;
	if (backer->columns[last].chunk != NONE && backer->columns[last].chunk != last &&
		try_shift(backer, last, backer->columns[last].chunk))
		return SEAM_OK;
	if (try_shift(backer, 0, 0) || try_before(backer) || try_run(backer))
		return SEAM_OK;
	return give_each(backer);
}

/* The cell of the column that is in use at `begin`; those that begin now are appended to missing, but for one that
 * crosses the cut, which has its chunk. */
static void enter(struct seam__backer *backer, uint32_t number, uint32_t begin)
{
	const struct seam__cells *cells = &backer->cells;
	struct seam__column *column = &backer->columns[number];

	if (column->until > begin)
		return;
	column->until = cells->cells[column->next++].end;
	column->chunk = NONE;
	want(backer, number);
	if (column->around != NONE && column->next == cells->first[number + 1]) {
		column->chunk = column->around;
		backer->free_at[column->chunk] = column->until;
		return;
	}
	backer->missing[backer->missing_count++] = number;
}

/* The item's address, or the list of its chunks for a view. */
static enum seam_rc settle(struct seam__backer *backer, uint32_t item, bool crosses)
{
	uint32_t first = seam__cells_first_column(&backer->cells, item);
	uint32_t last = seam__cells_last_column(&backer->cells, item);
	bool plain = true;
	bool pinned = true; /* all of it: what has to stay stands only on such columns */

	for (uint32_t c = first; c <= last; c++) {
		uint32_t chunk = crosses && backer->columns[c].around != NONE ? backer->columns[c].around
									      : backer->columns[c].chunk;

		backer->list[c - first] = chunk;
		plain = plain && chunk == backer->list[0] + (c - first) && chunk < backer->base;
		pinned = pinned && backer->cells.pinned[c] != 0;
	}
	if (pinned)
		return SEAM_OK;
	if (!plain)
		return seam__views_add(&backer->views, item, backer->list, last - first + 1);
	backer->offsets[item] =
		backer->cells.offsets[item] % backer->cells.chunk_bytes + backer->list[0] * backer->cells.chunk_bytes;
	return SEAM_OK;
}

/* Cells that are in use at the cut, and the items that cross it. */
static enum seam_rc begin_at_cut(struct seam__backer *backer)
{
	const struct seam__cells *cells = &backer->cells;
	enum seam_rc rc = SEAM_OK;

	for (uint32_t c = 0; c < cells->column_count && rc == SEAM_OK; c++) {
		struct need need;

		if (cells->crossing[c] == 0 || cells->pinned[c] != 0)
			continue;
		enter(backer, c, 0);
		if (c < backer->base) {
			need = need_of(backer, c);
			give(backer, c, c, &need);
			backer->missing_count = 0;
		}
	}
	/* Those above, now in `missing`, in runs of neighbours. */
	uint32_t count = backer->missing_count;
	for (uint32_t n = 0, next; n < count && rc == SEAM_OK; n = next) {
		uint32_t *all = backer->missing;

		for (next = n + 1; next < count && all[next] == all[next - 1] + 1; next++)
			continue;
		backer->missing = all + n;
		backer->missing_count = next - n;
		rc = give_missing(backer, all[n], all[next - 1]);
		backer->missing = all;
	}
	backer->missing_count = 0;
	for (uint32_t i = 0; i < backer->problem->count && rc == SEAM_OK; i++)
		if (seam__cells_crosses(cells, i))
			rc = settle(backer, i, true);
	return rc;
}

/* Every column before its first cell; pinned ones with their chunk for good. */
static void begin(struct seam__backer *backer)
{
	const struct seam__cells *cells = &backer->cells;
	uint32_t own = backer->base;

	backer->missing_count = 0;
	seam__views_clear(&backer->views);
	for (uint32_t i = 0; i < backer->problem->count; i++) {
		backer->robbed[i] = 0;
		backer->offsets[i] = cells->offsets[i];
	}
	memset(backer->free_at, 0, backer->room * sizeof(*backer->free_at));
	for (uint32_t k = 0; k < backer->room; k++)
		backer->chunks[k] =
			(struct seam__chunk){.reserved = backer->problem->circle, .wanted = backer->problem->circle};
	for (uint32_t c = 0; c < cells->column_count; c++) {
		struct seam__column *column = &backer->columns[c];

		*column = (struct seam__column){.next = cells->first[c], .chunk = NONE, .around = NONE, .before = NONE};
		if (cells->pinned[c] != 0) {
			column->until = NONE;
			column->chunk = c < backer->base ? c : own++;
			column->next = cells->first[c + 1];
			backer->free_at[column->chunk] = NONE;
		}
		want(backer, c);
	}
}

enum seam_rc seam__backer_run(struct seam__backer *backer)
{
	const struct seam__cells *cells = &backer->cells;
	enum seam_rc rc;

	begin(backer);
	rc = begin_at_cut(backer);

	for (uint32_t n = 0; n < backer->problem->count && rc == SEAM_OK; n++) {
		uint32_t item = cells->order[n];
		uint32_t first = seam__cells_first_column(cells, item);
		uint32_t last = seam__cells_last_column(cells, item);

		for (uint32_t c = first; c <= last; c++)
			enter(backer, c, seam__cells_begin(cells, item));
		if (backer->missing_count > 0)
			rc = give_missing(backer, first, last);
		if (rc == SEAM_OK && !seam__cells_crosses(cells, item))
			rc = settle(backer, item, false);
		if (backer->budget->spent)
			rc = SEAM_NOT_FOUND;
	}
	return rc;
}
