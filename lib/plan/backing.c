/* backing.c: see backing.h and README.md: how many chunks are needed, and two ways of giving them, of which the better
 * counts. */
#include "backing.h"

#include <stdbool.h>
#include <string.h>

#include "backer.h"
#include "bits.h"
#include "meta.h"

#define COLUMNS_MAX \
	(UINT64_C(1) << 24) /* all items' columns together: more would need too much memory and time to look at */
/* address space for views that a chunk saved is worth: mappings are a budget too */
#define VIEW_COLUMNS_PER_CHUNK 512u

/* The plain part is as high as chunks are needed, less what pinned columns above it have for themselves. */
static void divide(struct seam__backer *backer, uint32_t needed)
{
	const struct seam__cells *cells = &backer->cells;

	backer->physical = needed;
	backer->base = needed;
	for (uint32_t c = cells->column_count; c > backer->base && backer->base > 0; c--)
		if (cells->pinned[c - 1] != 0)
			backer->base--;
}

static void backer_fini(struct seam__backer *backer)
{
	struct seam_meta *meta = backer->problem->meta;
	size_t columns = backer->room;

	seam__views_fini(&backer->views);
	seam__meta_free(meta, backer->offsets, (size_t)backer->problem->count * sizeof(*backer->offsets));
	seam__meta_free(meta, backer->robbed, (size_t)backer->problem->count * sizeof(*backer->robbed));
	seam__meta_free(meta, backer->list, columns * sizeof(*backer->list));
	seam__meta_free(meta, backer->missing, columns * sizeof(*backer->missing));
	seam__meta_free(meta, backer->free_at, columns * sizeof(*backer->free_at));
	seam__meta_free(meta, backer->chunks, columns * sizeof(*backer->chunks));
	seam__meta_free(meta, backer->columns, columns * sizeof(*backer->columns));
	seam__cells_fini(&backer->cells);
}

static enum seam_rc backer_init(struct seam__backer *backer, const struct seam__problem *problem,
	struct seam__budget *budget, const uint64_t *offsets, uint64_t peak_bytes, uint64_t chunk_bytes)
{
	struct seam_meta *meta = problem->meta;
	size_t columns;
	enum seam_rc rc;

	*backer = (struct seam__backer){.problem = problem, .budget = budget};
	rc = seam__cells_init(&backer->cells, problem, offsets, peak_bytes, chunk_bytes);
	if (rc != SEAM_OK)
		return rc;
	seam__views_init(&backer->views);
	backer->room = backer->cells.column_count;
	columns = backer->room;
	backer->columns = seam__meta_array(meta, columns, sizeof(*backer->columns));
	backer->chunks = seam__meta_array(meta, columns, sizeof(*backer->chunks));
	backer->free_at = seam__meta_array(meta, columns, sizeof(*backer->free_at));
	backer->missing = seam__meta_array(meta, columns, sizeof(*backer->missing));
	backer->list = seam__meta_array(meta, columns, sizeof(*backer->list));
	backer->robbed = seam__meta_array(meta, problem->count, sizeof(*backer->robbed));
	backer->offsets = seam__meta_array(meta, problem->count, sizeof(*backer->offsets));
	if (backer->columns == NULL || backer->chunks == NULL || backer->free_at == NULL || backer->missing == NULL ||
		backer->list == NULL || backer->robbed == NULL || backer->offsets == NULL) {
		backer_fini(backer);
		return SEAM_OOM_META;
	}
	return SEAM_OK;
}

/* The plain part, columns that are pinned above it (between which nothing may stand: any chunk will do there), views.
 */
static enum seam_rc make_columns(struct seam__backer *backer, struct seam_grow *columns)
{
	uint32_t top = backer->cells.column_count;
	struct seam__view *views;
	enum seam_rc rc = SEAM_OK;

	while (top > backer->base && backer->cells.pinned[top - 1] == 0)
		top--;
	for (uint32_t c = 0; c < top && rc == SEAM_OK; c++) {
		uint32_t chunk = c < backer->base ? c : backer->cells.pinned[c] != 0 ? backer->columns[c].chunk : 0;

		rc = seam__grow_append(columns, &chunk, 1);
	}
	if (rc == SEAM_OK)
		rc = seam__views_share(&backer->views, backer->problem->meta, backer->room, columns);
	views = backer->views.views.items;
	for (size_t n = 0; n < backer->views.views.count && rc == SEAM_OK; n++)
		backer->offsets[views[n].item] = views[n].column * backer->cells.chunk_bytes +
			backer->offsets[views[n].item] % backer->cells.chunk_bytes;
	return rc;
}

/* Is it worth its address space, and better than what there is? */
static bool is_better(const struct seam__backer *backer, uint64_t columns, const struct seam__backing *backing)
{
	uint64_t saved = backer->cells.column_count - backer->physical;

	if (columns > backer->cells.column_count + saved * VIEW_COLUMNS_PER_CHUNK)
		return false;
	return backer->physical < backing->physical_chunks ||
		(backer->physical == backing->physical_chunks && columns < backing->column_count);
}

static enum seam_rc take(struct seam__backer *backer, const struct seam_grow *columns, struct seam__backing *backing)
{
	const struct seam__problem *problem = backer->problem;
	uint32_t *chunks = seam__meta_array(problem->meta, columns->count, sizeof(*chunks));
	uint64_t *offsets = seam__meta_array(problem->meta, problem->count, sizeof(*offsets));

	if (chunks == NULL || offsets == NULL) {
		seam__meta_free(problem->meta, offsets, (size_t)problem->count * sizeof(*offsets));
		seam__meta_free(problem->meta, chunks, columns->count * sizeof(*chunks));
		return SEAM_OOM_META;
	}
	memcpy(chunks, columns->items, columns->count * sizeof(*chunks));
	memcpy(offsets, backer->offsets, (size_t)problem->count * sizeof(*offsets));
	seam__backing_fini(backing, problem);
	*backing = (struct seam__backing){.offsets = offsets,
		.chunks = chunks,
		.column_count = (uint32_t)columns->count,
		.physical_chunks = backer->physical};
	return SEAM_OK;
}

/* One way of giving chunks; its answer replaces the backing if it is the better one. */
static enum seam_rc attempt(
	struct seam__backer *backer, enum seam__policy policy, uint32_t needed, struct seam__backing *backing)
{
	struct seam_grow columns;
	enum seam_rc rc;

	divide(backer, needed);
	if (backer->base == 0)
		return SEAM_OK;
	backer->policy = policy;
	rc = seam__backer_run(backer);
	if (rc == SEAM_NOT_FOUND)
		return SEAM_OK;
	seam__grow_init(&columns, sizeof(uint32_t));
	if (rc == SEAM_OK)
		rc = make_columns(backer, &columns);
	if (rc == SEAM_OK && is_better(backer, columns.count, backing))
		rc = take(backer, &columns, backing);
	seam__grow_fini(&columns);
	return rc;
}

/* Replaces the plain backing if that needs more chunks than the cells do. */
static enum seam_rc improve(struct seam__backer *backer, struct seam__backing *backing)
{
	uint32_t needed = (uint32_t)seam__bits_div_up(backer->problem->lower_bytes, backer->cells.chunk_bytes);
	enum seam_rc rc;

	needed = backer->cells.busiest > needed ? backer->cells.busiest : needed;
	if (needed >= backer->room)
		return SEAM_OK;
	rc = attempt(backer, SEAM__WANTED_LAST, needed, backing);
	if (rc == SEAM_OK && !backer->budget->spent)
		rc = attempt(backer, SEAM__LEAST_LOSS, needed, backing);
	return rc;
}

/* Are the chunks of the arena and the columns of all items few enough to be looked at one by one? */
static bool can_look(
	const struct seam__problem *problem, const uint64_t *offsets, uint64_t peak_bytes, uint64_t chunk_bytes)
{
	uint64_t columns = seam__bits_div_up(peak_bytes, chunk_bytes);

	for (uint32_t i = 0; i < problem->count && columns <= COLUMNS_MAX; i++)
		columns += (offsets[i] + problem->items[i].size_bytes - 1) / chunk_bytes - offsets[i] / chunk_bytes + 1;
	return columns <= COLUMNS_MAX;
}

enum seam_rc seam__backing_make(const struct seam__problem *problem, struct seam__budget *budget,
	const uint64_t *offsets, uint64_t peak_bytes, uint64_t chunk_bytes, struct seam__backing *ret_backing)
{
	struct seam__backing backing = {0};
	struct seam__backer backer;
	enum seam_rc rc;

	if (chunk_bytes == 0 || seam__bits_div_up(peak_bytes, chunk_bytes) > UINT32_MAX)
		return SEAM_INVALID;
	backing.column_count = (uint32_t)seam__bits_div_up(peak_bytes, chunk_bytes);
	backing.physical_chunks = backing.column_count;
	if (backing.column_count > seam__bits_div_up(problem->lower_bytes, chunk_bytes) &&
		chunk_bytes % problem->align_bytes == 0 && can_look(problem, offsets, peak_bytes, chunk_bytes)) {
		rc = backer_init(&backer, problem, budget, offsets, peak_bytes, chunk_bytes);
		if (rc != SEAM_OK)
			return rc;
		rc = improve(&backer, &backing);
		backer_fini(&backer);
		if (rc != SEAM_OK) {
			seam__backing_fini(&backing, problem);
			return rc;
		}
	}
	*ret_backing = backing;
	return SEAM_OK;
}

void seam__backing_fini(struct seam__backing *backing, const struct seam__problem *problem)
{
	if (backing->chunks == NULL)
		return;
	seam__meta_free(problem->meta, backing->chunks, (size_t)backing->column_count * sizeof(*backing->chunks));
	seam__meta_free(problem->meta, backing->offsets, (size_t)problem->count * sizeof(*backing->offsets));
	*backing = (struct seam__backing){0};
}
