/* draw_scene.c: the scene of a plan; see draw.h. That of a trace alone stands in draw_trace.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw_class.h"
#include "text.h"

static bool add_box(struct draw_scene *scene, const struct draw_box *box)
{
	if (scene->box_count == scene->box_capacity) {
		const size_t capacity = scene->box_capacity == 0 ? 1024 : scene->box_capacity * 2;
		struct draw_box *boxes = realloc(scene->boxes, capacity * sizeof(*boxes));
		if (boxes == NULL)
			return false;
		scene->boxes = boxes;
		scene->box_capacity = capacity;
	}
	scene->boxes[scene->box_count++] = *box;
	return true;
}

/* A slot of one copy: one box, or two where it crosses the end of the circle. */
static bool add_slot(struct draw_scene *scene, uint32_t slot, uint32_t copy)
{
	const struct seam_plan *plan = scene->plan;
	const double base = (double)copy * plan->header.positions;
	const uint64_t offset = plan->offsets[(uint64_t)slot * plan->header.copies + copy];
	struct draw_box box = {
		.begin = base + plan->slots[slot].begin,
		.end = base + plan->slots[slot].end,
		.low = offset,
		.high = offset + plan->slots[slot].size_bytes,
		.class = draw_class_of(
			scene, seam_plan_string(plan, plan->slots[slot].phase_begin), plan->slots[slot].size_bytes),
		.slot = slot,
	};
	const double over = box.end - scene->positions;
	if (over <= 0)
		return add_box(scene, &box);
	box.end = scene->positions;
	if (!add_box(scene, &box))
		return false;
	box.begin = 0;
	box.end = over;
	return add_box(scene, &box);
}

static uint32_t column_of(const struct draw_scene *scene, double position)
{
	const double column = position / scene->positions * DRAW_COLUMNS;
	return column >= DRAW_COLUMNS ? DRAW_COLUMNS - 1 : (uint32_t)column;
}

struct change {
	double position;
	int64_t bytes;
};

/* Frees before allocations at one position. */
static int compare_changes(const void *a, const void *b)
{
	const struct change *left = a;
	const struct change *right = b;
	if (left->position < right->position || left->position > right->position)
		return left->position < right->position ? -1 : 1;
	return (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

/* The most that is live in each column, from the boxes: they are what lives, each of them at its own address. */
static bool sum_live(struct draw_scene *scene)
{
	const size_t count = scene->box_count * 2;
	struct change *changes = malloc((count + 1) * sizeof(*changes));
	if (changes == NULL)
		return false;
	for (size_t i = 0; i < scene->box_count; i++) {
		const struct draw_box *box = &scene->boxes[i];
		changes[2 * i] = (struct change){box->begin, (int64_t)(box->high - box->low)};
		changes[2 * i + 1] = (struct change){box->end, -(int64_t)(box->high - box->low)};
	}
	qsort(changes, count, sizeof(*changes), compare_changes);
	int64_t live = 0;
	uint32_t column = 0;
	for (size_t i = 0; i < count; i++) {
		for (const uint32_t to = column_of(scene, changes[i].position); column < to; column++)
			scene->live[column + 1] = (uint64_t)live;
		live += changes[i].bytes;
		if ((uint64_t)live > scene->live[column])
			scene->live[column] = (uint64_t)live;
	}
	for (; column + 1 < DRAW_COLUMNS; column++)
		scene->live[column + 1] = (uint64_t)live;
	free(changes);
	return true;
}

static void name_plan(struct draw_scene *scene, const char *name)
{
	const struct seam_plan_header *header = &scene->plan->header;
	char peak[24];
	char bound[24];
	char residents[24];
	const char *what = (header->flags & SEAM_PLAN_GRAPH) != 0 ? "tensors of a graph"
		: (header->flags & SEAM_PLAN_LINEAR) != 0         ? "requests in a line"
								  : "requests in a period";
	const double gap = header->lower_bound_bytes == 0
		? 0
		: 100.0 * ((double)header->arena_bytes / (double)header->lower_bound_bytes - 1.0);
	char above[32] = "optimal";
	if (header->arena_bytes != header->lower_bound_bytes)
		(void)snprintf(above, sizeof(above), "gap %.2f %%", gap);
	(void)snprintf(scene->title, sizeof(scene->title), "%s: peak %s, lower bound %s, %s", name,
		seam__text_size(peak, header->arena_bytes), seam__text_size(bound, header->lower_bound_bytes), above);
	int used = snprintf(scene->subtitle, sizeof(scene->subtitle), "%u %s, placed by %s; chunks: %u, at least %u",
		header->slot_count, what, seam_plan_string(scene->plan, header->solver), header->arena_chunks,
		header->lower_bound_chunks);
	if (header->copies > 1)
		used += snprintf(scene->subtitle + used, sizeof(scene->subtitle) - (size_t)used,
			"; %u copies of the period", header->copies);
	if (header->resident_bytes > 0)
		(void)snprintf(scene->subtitle + used, sizeof(scene->subtitle) - (size_t)used,
			"; %s of residents not shown", seam__text_size(residents, header->resident_bytes));
}

bool draw_scene_plan(struct draw_scene *scene, const struct seam_plan *plan, const char *name)
{
	const struct seam_plan_header *header = &plan->header;
	memset(scene, 0, sizeof(*scene));
	scene->plan = plan;
	scene->positions = (double)header->copies * header->positions;
	scene->positions = scene->positions < 1 ? 1 : scene->positions;
	scene->bound_bytes = header->lower_bound_bytes;
	scene->top_bytes = header->arena_bytes;
	name_plan(scene, name);
	for (uint32_t i = 0; i < header->slot_count; i++)
		draw_class_count(scene, seam_plan_string(plan, plan->slots[i].phase_begin), plan->slots[i].size_bytes);
	draw_class_settle(scene);
	for (uint32_t i = 0; i < header->slot_count; i++) {
		for (uint32_t copy = 0; copy < header->copies; copy++) {
			if ((plan->slots[i].flags & SEAM_PLAN_DYNAMIC) == 0 && !add_slot(scene, i, copy))
				return false;
		}
	}
	for (uint32_t copy = 0; header->copies > 1 && copy < header->copies && copy < DRAW_MARKS; copy++) {
		struct draw_mark *mark = &scene->marks[scene->mark_count++];
		mark->position = (double)copy * header->positions;
		(void)snprintf(mark->name, sizeof(mark->name), "copy %u", copy);
	}
	return sum_live(scene);
}

void draw_scene_fini(struct draw_scene *scene)
{
	free(scene->boxes);
	scene->boxes = NULL;
}
