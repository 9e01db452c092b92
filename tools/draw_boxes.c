/* draw_boxes.c: see draw_boxes.h.
 *
 * A box of less than half a pixel in one direction adds what it covers to the cells of a grid; a cell of which enough
 * is covered is shown in the colour of most of it. Where too many boxes could be seen one by one, or too many runs of
 * cells are left, the limits are doubled until they fit.
 */
#include "draw_boxes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SINGLE_MAX 12000u
#define MERGED_MAX 20000u
#define LEAST_PIXELS 0.5
#define BROAD_PIXELS 4.0f
#define LEAST_COVER 0.2f /* of a cell, to be shown */

struct grid {
	double cell; /* pixels, both ways */
	uint32_t columns;
	uint32_t rows;
	float *cover; /* [(row * columns + column) * DRAW_CLASSES + class], share of the cell */
};

static struct draw_rect rect_of(
	const struct draw_scene *scene, const struct draw_box *box, double height, double top_bytes)
{
	const double across = DRAW_COLUMNS / scene->positions;
	const double up = height / top_bytes;
	struct draw_rect rect = {
		.x = (float)(box->begin * across),
		.y = (float)(height - (double)box->high * up),
		.width = (float)((box->end - box->begin) * across),
		.height = (float)((double)(box->high - box->low) * up),
		.class = box->class,
		.slot = box->slot,
	};
	rect.is_broad = rect.width >= BROAD_PIXELS && rect.height >= BROAD_PIXELS;
	return rect;
}

static bool is_single(const struct draw_rect *rect, double least)
{
	return rect->width >= (float)least && rect->height >= (float)least;
}

static double overlap(double begin, double end, double other_begin, double other_end)
{
	const double common = fmin(end, other_end) - fmax(begin, other_begin);
	return common > 0 ? common : 0;
}

static void cover(struct grid *grid, const struct draw_rect *rect)
{
	const double x = rect->x / grid->cell;
	const double y = rect->y / grid->cell;
	const double right = x + rect->width / grid->cell;
	const double bottom = y + rect->height / grid->cell;
	for (uint32_t row = y < 0 ? 0 : (uint32_t)y; row < grid->rows && row < bottom; row++) {
		for (uint32_t column = (uint32_t)x; column < grid->columns && column < right; column++) {
			const double area =
				overlap(x, right, column, column + 1.0) * overlap(y, bottom, row, row + 1.0);
			grid->cover[((size_t)row * grid->columns + column) * DRAW_CLASSES + rect->class] += (float)area;
		}
	}
}

/* The class that a cell is shown in, or DRAW_CLASSES for none. */
static uint32_t class_of(const struct grid *grid, uint32_t row, uint32_t column)
{
	const float *shares = &grid->cover[((size_t)row * grid->columns + column) * DRAW_CLASSES];
	float sum = 0;
	uint32_t most = 0;
	for (uint32_t class = 0; class < DRAW_CLASSES; class ++) {
		sum += shares[class];
		most = shares[class] > shares[most] ? class : most;
	}
	return sum >= LEAST_COVER ? most : DRAW_CLASSES;
}

/* Runs of cells of one class in each row, joined with an equal run just above. False where they are too many. */
static bool find_runs(const struct grid *grid, struct draw_rect *runs, size_t *ret_count)
{
	size_t count = 0;
	size_t above = 0; /* runs of the row above are runs[above .. here) */
	for (uint32_t row = 0; row < grid->rows; row++) {
		const size_t here = count;
		size_t twin = above;
		for (uint32_t column = 0; column < grid->columns;) {
			const uint32_t class = class_of(grid, row, column);
			uint32_t end = column + 1;
			while (end < grid->columns && class_of(grid, row, end) == class)
				end++;
			const struct draw_rect run = {.x = (float)(column * grid->cell),
				.y = (float)(row * grid->cell),
				.width = (float)((end - column) * grid->cell),
				.height = (float)grid->cell,
				.class = class};
			column = end;
			if (class == DRAW_CLASSES)
				continue;
			while (twin < here && runs[twin].x < run.x)
				twin++;
			if (twin < here && runs[twin].x == run.x && runs[twin].width == run.width &&
				runs[twin].class == class && fabsf(runs[twin].y + runs[twin].height - run.y) < 0.01f) {
				runs[twin].height += run.height;
				continue;
			}
			if (count == MERGED_MAX)
				return false;
			runs[count++] = run;
		}
		above = here < count ? here : above;
	}
	*ret_count = count;
	return true;
}

static int compare_class(const void *a, const void *b)
{
	const struct draw_rect *left = a;
	const struct draw_rect *right = b;
	if (left->class != right->class)
		return left->class < right->class ? -1 : 1;
	if (left->is_broad != right->is_broad)
		return left->is_broad ? -1 : 1;
	if (left->slot != right->slot)
		return left->slot < right->slot ? -1 : 1;
	return (left->x > right->x) - (left->x < right->x);
}

static bool merge(
	const struct draw_scene *scene, double height, double top_bytes, double least, struct draw_rects *rects)
{
	rects->merged = malloc(MERGED_MAX * sizeof(*rects->merged));
	struct grid grid = {0};
	bool fits = false;
	for (grid.cell = 1; rects->merged != NULL && !fits; grid.cell *= 2) {
		grid.columns = (uint32_t)(DRAW_COLUMNS / grid.cell) + 1;
		grid.rows = (uint32_t)(height / grid.cell) + 1;
		grid.cover = calloc((size_t)grid.columns * grid.rows * DRAW_CLASSES, sizeof(*grid.cover));
		if (grid.cover == NULL)
			break;
		for (size_t i = 0; i < scene->box_count; i++) {
			const struct draw_rect rect = rect_of(scene, &scene->boxes[i], height, top_bytes);
			if (!is_single(&rect, least))
				cover(&grid, &rect);
		}
		fits = find_runs(&grid, rects->merged, &rects->merged_count);
		free(grid.cover);
	}
	if (fits && rects->merged_count > 0)
		qsort(rects->merged, rects->merged_count, sizeof(*rects->merged), compare_class);
	return fits;
}

bool draw_boxes(const struct draw_scene *scene, double height, double top_bytes, struct draw_rects *ret_rects)
{
	double least = LEAST_PIXELS;
	size_t count;
	*ret_rects = (struct draw_rects){0};
	for (;; least *= 2) {
		count = 0;
		for (size_t i = 0; i < scene->box_count; i++) {
			const struct draw_rect rect = rect_of(scene, &scene->boxes[i], height, top_bytes);
			count += is_single(&rect, least);
		}
		if (count <= SINGLE_MAX)
			break;
	}
	ret_rects->single = malloc((count + 1) * sizeof(*ret_rects->single));
	if (ret_rects->single == NULL || !merge(scene, height, top_bytes, least, ret_rects)) {
		draw_boxes_free(ret_rects);
		return false;
	}
	for (size_t i = 0; i < scene->box_count; i++) {
		const struct draw_rect rect = rect_of(scene, &scene->boxes[i], height, top_bytes);
		if (is_single(&rect, least))
			ret_rects->single[ret_rects->single_count++] = rect;
	}
	qsort(ret_rects->single, count, sizeof(*ret_rects->single), compare_class);
	return true;
}

void draw_boxes_free(struct draw_rects *rects)
{
	free(rects->single);
	free(rects->merged);
	*rects = (struct draw_rects){0};
}
