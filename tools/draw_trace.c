/* draw_trace.c: the scene of a trace alone; see draw.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw_class.h"
#include "idmap.h"
#include "text.h"

#define STEPS_MARKED 40
#define STEPS_NAMED 12

static bool is_block(const struct seam_trace_event *event)
{
	return (event->kind == SEAM_TRACE_ALLOC || event->kind == SEAM_TRACE_FREE) && event->size > 0;
}

/* The names of the phases by their number; malloc()ed. */
static const char **phase_names(const struct seam_trace *trace)
{
	const char **names = calloc((size_t)UINT16_MAX + 1, sizeof(*names));
	if (names == NULL)
		return NULL;
	for (size_t i = 0; i <= UINT16_MAX; i++)
		names[i] = "";
	for (uint64_t i = 0; i < trace->header.event_count; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		if (event->kind == SEAM_TRACE_PHASE_BEGIN)
			names[event->phase] = seam_trace_string(trace, event->aux);
	}
	return names;
}

static void mark_step(struct draw_scene *scene, uint64_t position, uint64_t steps, uint64_t number)
{
	if (steps > STEPS_MARKED || scene->mark_count == DRAW_MARKS)
		return;
	struct draw_mark *mark = &scene->marks[scene->mark_count++];
	mark->position = (double)position;
	if (steps <= STEPS_NAMED)
		(void)snprintf(mark->name, sizeof(mark->name), "step %llu ends", (unsigned long long)number);
}

/* One column after the other keeps what was live when most was. */
static enum seam_rc sum_layers(
	struct draw_scene *scene, const struct seam_trace *trace, const char *const *names, uint64_t steps)
{
	struct seam_idmap classes; /* live block -> class */
	uint64_t live[DRAW_CLASSES] = {0};
	uint64_t sum = 0;
	uint64_t position = 0;
	uint32_t filled = 0; /* columns that have something */
	enum seam_rc rc = SEAM_OK;
	seam__idmap_init(&classes);
	for (uint64_t i = 0; rc == SEAM_OK && i < trace->header.event_count; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		uint64_t *class;
		if (event->kind == SEAM_TRACE_STEP)
			mark_step(scene, position, steps, event->id);
		if (!is_block(event))
			continue;
		if (event->kind == SEAM_TRACE_ALLOC) {
			rc = seam__idmap_put(&classes, event->id, &class);
			if (rc != SEAM_OK)
				break;
			class[0] = draw_class_of(scene, names[event->phase], event->size);
			live[class[0]] += event->size;
			sum += event->size;
		} else {
			class = seam__idmap_find(&classes, event->id);
			live[class[0]] -= event->size;
			sum -= event->size;
			seam__idmap_remove(&classes, event->id);
		}
		const uint32_t first = (uint32_t)((double)position / scene->positions * DRAW_COLUMNS);
		position++;
		const uint32_t behind = (uint32_t)((double)position / scene->positions * DRAW_COLUMNS);
		for (uint32_t column = first; column < DRAW_COLUMNS && (column == first || column < behind); column++) {
			if (column >= filled || sum > scene->live[column]) {
				scene->live[column] = sum;
				memcpy(scene->layers[column], live, sizeof(live));
			}
			filled = column + 1;
		}
	}
	seam__idmap_fini(&classes);
	return rc;
}

bool draw_scene_trace(struct draw_scene *scene, const struct seam_trace *trace, const char *name)
{
	uint64_t requests = 0;
	uint64_t steps = 0;
	uint64_t positions = 0;
	char peak[24];
	memset(scene, 0, sizeof(*scene));
	const char **names = phase_names(trace);
	if (names == NULL)
		return false;
	for (uint64_t i = 0; i < trace->header.event_count; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		steps += event->kind == SEAM_TRACE_STEP;
		positions += is_block(event);
		if (event->kind == SEAM_TRACE_ALLOC && event->size > 0) {
			draw_class_count(scene, names[event->phase], event->size);
			requests++;
		}
	}
	scene->positions = positions == 0 ? 1 : (double)positions;
	draw_class_settle(scene);
	enum seam_rc rc = sum_layers(scene, trace, names, steps);
	free(names);
	for (uint32_t column = 0; column < DRAW_COLUMNS; column++)
		scene->top_bytes = scene->live[column] > scene->top_bytes ? scene->live[column] : scene->top_bytes;
	(void)snprintf(scene->title, sizeof(scene->title), "%s: at most %s live", name,
		seam__text_size(peak, scene->top_bytes));
	(void)snprintf(scene->subtitle, sizeof(scene->subtitle),
		"%llu requests; live bytes by %s of the allocation; from %s", (unsigned long long)requests,
		scene->by_phase ? "phase" : "size", seam_trace_string(trace, trace->header.source));
	return rc == SEAM_OK;
}
