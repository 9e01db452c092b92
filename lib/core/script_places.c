/* script_places.c: a script's instances by address: who begins at an offset, who overlaps a range, whose memory is of several streams. */
#include "script.h"

#include <stdlib.h>

#include "bits.h"
#include "meta.h"

/* An instance to be sorted. */
struct placed {
	uint64_t offset;
	uint32_t number;
};

static int compare_placed(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static uint64_t end_of(const struct seam_script *script, uint32_t at)
{
	const struct seam_planned *planned = &script->instances[script->by_offset[at]];
	return planned->offset + planned->bytes;
}

/* The middle of [low, high) holds how far the stretch reaches. Recursion is as deep as the logarithm of the instances. */
static uint64_t fill_reach(struct seam_script *script, uint32_t low, uint32_t high)
{
	if (low == high)
		return 0;
	const uint32_t middle = low + (high - low) / 2;
	const uint64_t left = fill_reach(script, low, middle);
	const uint64_t right = fill_reach(script, middle + 1, high);
	script->reach[middle] = seam__bits_max(seam__bits_max(left, right), end_of(script, middle));
	return script->reach[middle];
}

struct visit {
	const struct seam_script *script;
	uint64_t begin;
	uint64_t end;
	bool (*visit)(void *user, uint32_t number);
	void *user;
};

static bool visit_stretch(const struct visit *v, uint32_t low, uint32_t high)
{
	if (low == high)
		return false;
	const uint32_t middle = low + (high - low) / 2;
	if (v->script->reach[middle] <= v->begin)
		return false;
	if (visit_stretch(v, low, middle))
		return true;
	const uint32_t number = v->script->by_offset[middle];
	if (v->script->instances[number].offset >= v->end)
		return false;
	if (end_of(v->script, middle) > v->begin && v->visit(v->user, number))
		return true;
	return visit_stretch(v, middle + 1, high);
}

bool seam__script_overlapping(const struct seam_script *script, uint64_t begin, uint64_t end, bool (*visit)(void *user, uint32_t number),
                              void *user)
{
	const struct visit v = {script, begin, end, visit, user};
	return begin < end && visit_stretch(&v, 0, script->placed);
}

static void fill_places(struct seam_script *script, uint32_t *place_of)
{
	for (uint32_t p = 0; p <= script->place_mask; p++)
		script->places[p] = (struct seam_place){UINT32_MAX, UINT32_MAX};
	for (uint32_t i = 0; i < script->placed; i++) {
		const uint32_t number = script->by_offset[i];
		const uint32_t key = (uint32_t)(script->instances[number].offset / SEAM_PLANNED_BYTES);
		uint32_t at = seam__place_hash(key) & script->place_mask;
		while (script->places[at].key != key && script->places[at].key != UINT32_MAX)
			at = (at + 1) & script->place_mask;
		script->places[at].key = key;
		place_of[number] = at;
	}
}

/* An edge of an instance, to find where instances of several streams lie over each other. */
struct edge {
	uint64_t at;
	uint32_t stream;
	bool begins;
};

static int compare_edges(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return (int)a->begins - (int)b->begins;
}

static void mark_mixed(const struct seam_plan *plan, struct seam_script *script, struct edge *edges, uint64_t *mixed, uint32_t *open)
{
	uint32_t count = 0, streams = 0, ranges = 0;
	for (uint32_t i = 0; i < script->placed; i++) {
		const uint32_t stream = plan->slots[script->by_offset[i] / script->copies].stream;
		edges[count++] = (struct edge){script->instances[script->by_offset[i]].offset, stream, true};
		edges[count++] = (struct edge){end_of(script, i), stream, false};
	}
	qsort(edges, count, sizeof(*edges), compare_edges);
	for (uint32_t e = 0; e < count; e++) {
		const uint32_t before = streams;
		uint32_t *use = &open[edges[e].stream];
		if (edges[e].begins)
			streams += (*use)++ == 0;
		else
			streams -= --*use == 0;
		if (before < 2 && streams >= 2)
			mixed[2 * ranges] = edges[e].at;
		if (before >= 2 && streams < 2) {
			mixed[2 * ranges + 1] = edges[e].at;
			ranges += mixed[2 * ranges] < edges[e].at;
		}
	}
	for (uint32_t i = 0, first = 0; i < script->placed; i++) {
		const uint64_t offset = script->instances[script->by_offset[i]].offset;
		while (first < ranges && mixed[2 * first + 1] <= offset)
			first++;
		if (first < ranges && mixed[2 * first] < end_of(script, i))
			script->crosses[script->by_offset[i] / script->copies] = 1;
	}
}

static enum seam_rc find_crossings(struct seam_meta *meta, const struct seam_plan *plan, struct seam_script *script)
{
	if (plan->header.stream_count < 2 || script->placed == 0)
		return SEAM_OK;
	const size_t count = 2 * (size_t)script->placed;
	struct edge *edges = seam__meta_array(meta, count, sizeof(*edges));
	uint64_t *mixed = seam__meta_array(meta, count + 2, sizeof(*mixed));
	uint32_t *open = seam__meta_array(meta, plan->header.stream_count, sizeof(*open));
	const bool failed = edges == NULL || mixed == NULL || open == NULL;
	if (!failed)
		mark_mixed(plan, script, edges, mixed, open);
	seam__meta_free(meta, edges, count * sizeof(*edges));
	seam__meta_free(meta, mixed, (count + 2) * sizeof(*mixed));
	seam__meta_free(meta, open, plan->header.stream_count * sizeof(*open));
	return failed ? SEAM_OOM_META : SEAM_OK;
}

static enum seam_rc sort_placed(struct seam_meta *meta, struct seam_script *script)
{
	const uint32_t count = script->slots * script->copies;
	struct placed *list = seam__meta_array(meta, count, sizeof(*list));
	script->by_offset = seam__meta_array(meta, count, sizeof(*script->by_offset));
	script->reach = seam__meta_array(meta, count, sizeof(*script->reach));
	const bool failed = list == NULL || script->by_offset == NULL || script->reach == NULL;
	if (!failed) {
		for (uint32_t n = 0; n < count; n++)
			if (script->instances[n].offset != SEAM_PLAN_NO_ADDRESS)
				list[script->placed++] = (struct placed){script->instances[n].offset, n};
		qsort(list, script->placed, sizeof(*list), compare_placed);
		for (uint32_t i = 0; i < script->placed; i++)
			script->by_offset[i] = list[i].number;
		(void)fill_reach(script, 0, script->placed);
	}
	seam__meta_free(meta, list, count * sizeof(*list));
	return failed ? SEAM_OOM_META : SEAM_OK;
}

enum seam_rc seam__script_index_places(struct seam_meta *meta, const struct seam_plan *plan, struct seam_script *script)
{
	const enum seam_rc rc = sort_placed(meta, script);
	if (rc != SEAM_OK)
		return rc;
	uint32_t capacity = 16;
	while (capacity < 2 * (uint64_t)script->placed)
		capacity *= 2;
	script->place_mask = capacity - 1;
	uint32_t *place_of = seam__meta_array(meta, script->slots * script->copies, sizeof(*place_of));
	script->place_of = place_of;
	script->places = seam__meta_array(meta, capacity, sizeof(*script->places));
	script->crosses = seam__meta_array(meta, script->slots, sizeof(*script->crosses));
	if (place_of == NULL || script->places == NULL || script->crosses == NULL)
		return SEAM_OOM_META;
	fill_places(script, place_of);
	return find_crossings(meta, plan, script);
}
