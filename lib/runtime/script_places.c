/* script_places.c: a script's instances by address: who begins at an offset, who overlaps a range, whose memory is of
 * several streams. */
#include "script.h"

#include <stdlib.h>

#include "bits.h"
#include "meta.h"

static int compare_berths(const void *left, const void *right)
{
	const struct seam_berth *a = left, *b = right;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* The middle of [low, high) holds how far the stretch reaches, and when any of it is there. Returns the middle; NULL:
 * the stretch is empty. Recursion is as deep as the logarithm of the instances. */
static const struct seam_berth *fill_stretches(struct seam_script *script, uint32_t low, uint32_t high)
{
	if (low == high)
		return NULL;
	const uint32_t middle = low + (high - low) / 2;
	struct seam_berth *berth = &script->berths[middle];
	const struct seam_berth *parts[] = {
		fill_stretches(script, low, middle), fill_stretches(script, middle + 1, high)};
	berth->reach = berth->end;
	berth->times = seam__script_times(script, berth->at, berth->length);
	for (int i = 0; i < 2; i++) {
		if (parts[i] == NULL)
			continue;
		berth->reach = seam__bits_max(berth->reach, parts[i]->reach);
		berth->times |= parts[i]->times;
	}
	return berth;
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
	const struct seam_berth *berth = &v->script->berths[middle];
	if (berth->reach <= v->begin)
		return false;
	if (visit_stretch(v, low, middle))
		return true;
	if (berth->begin >= v->end)
		return false;
	if (berth->end > v->begin && v->visit(v->user, berth->number))
		return true;
	return visit_stretch(v, middle + 1, high);
}

bool seam__script_overlapping(const struct seam_script *script, uint64_t begin, uint64_t end,
	bool (*visit)(void *user, uint32_t number), void *user)
{
	const struct visit v = {script, begin, end, visit, user};
	return begin < end && visit_stretch(&v, 0, script->placed);
}

static void fill_places(struct seam_script *script, uint32_t *place_of)
{
	for (uint32_t p = 0; p <= script->place_mask; p++)
		script->places[p] = (struct seam_place){UINT32_MAX, UINT32_MAX};
	for (uint32_t i = 0; i < script->placed; i++) {
		const struct seam_berth *berth = &script->berths[i];
		const uint32_t key = (uint32_t)(berth->begin / SEAM_PLANNED_BYTES);
		uint32_t at = seam__place_hash(key) & script->place_mask;
		while (script->places[at].key != key && script->places[at].key != UINT32_MAX)
			at = (at + 1) & script->place_mask;
		script->places[at].key = key;
		place_of[berth->number] = at;
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

static void mark_mixed(
	const struct seam_plan *plan, struct seam_script *script, struct edge *edges, uint64_t *mixed, uint32_t *open)
{
	uint32_t count = 0, streams = 0, ranges = 0;
	for (uint32_t i = 0; i < script->placed; i++) {
		const struct seam_berth *berth = &script->berths[i];
		const uint32_t slot = berth->number / script->copies;
		/* What other streams use is as if it were of one more stream. */
		const uint32_t of[] = {plan->slots[slot].stream, plan->header.stream_count};
		for (unsigned i_of = 0; i_of < 1u + script->waited[slot]; i_of++) {
			edges[count++] = (struct edge){berth->begin, of[i_of], true};
			edges[count++] = (struct edge){berth->end, of[i_of], false};
		}
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
		const struct seam_berth *berth = &script->berths[i];
		while (first < ranges && mixed[2 * first + 1] <= berth->begin)
			first++;
		if (first < ranges && mixed[2 * first] < berth->end)
			script->crosses[berth->number / script->copies] = 1;
	}
}

static enum seam_rc find_crossings(struct seam_meta *meta, const struct seam_plan *plan, struct seam_script *script)
{
	for (uint32_t w = 0; w < plan->header.wait_count; w++) {
		if ((plan->slots[plan->waits[w].waited].flags & SEAM_PLAN_SHARED) == 0)
			continue;
		script->waited[plan->waits[w].waited] = 1;
		script->is_used = true;
	}
	if ((plan->header.stream_count < 2 && !script->is_used) || script->placed == 0)
		return SEAM_OK;
	const size_t count = (script->is_used ? 4 : 2) * (size_t)script->placed;
	const size_t stream_count = (size_t)plan->header.stream_count + 1;
	struct edge *edges = seam__meta_array(meta, count, sizeof(*edges));
	uint64_t *mixed = seam__meta_array(meta, count + 2, sizeof(*mixed));
	uint32_t *open = seam__meta_array(meta, stream_count, sizeof(*open));
	const bool failed = edges == NULL || mixed == NULL || open == NULL;
	if (!failed)
		mark_mixed(plan, script, edges, mixed, open);
	seam__meta_free(meta, edges, count * sizeof(*edges));
	seam__meta_free(meta, mixed, (count + 2) * sizeof(*mixed));
	seam__meta_free(meta, open, stream_count * sizeof(*open));
	return failed ? SEAM_OOM_META : SEAM_OK;
}

static enum seam_rc sort_placed(struct seam_meta *meta, struct seam_script *script)
{
	const uint32_t count = script->slots * script->copies;
	script->berths = seam__meta_array(meta, count, sizeof(*script->berths));
	if (script->berths == NULL)
		return SEAM_OOM_META;
	for (uint32_t n = 0; n < count; n++) {
		const struct seam_planned *planned = &script->instances[n];
		const struct seam_stretch *stretch = &script->stretches[n / script->copies];
		if (planned->offset == SEAM_PLAN_NO_ADDRESS)
			continue;
		script->berths[script->placed++] = (struct seam_berth){
			.begin = planned->offset,
			.end = planned->offset + planned->bytes,
			.at = seam__script_circle_at(script, n),
			.length = stretch->end - stretch->begin,
			.number = n,
		};
	}
	qsort(script->berths, script->placed, sizeof(*script->berths), compare_berths);
	(void)fill_stretches(script, 0, script->placed);
	return SEAM_OK;
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
	script->waited = seam__meta_array(meta, script->slots, sizeof(*script->waited));
	if (place_of == NULL || script->places == NULL || script->crosses == NULL || script->waited == NULL)
		return SEAM_OOM_META;
	fill_places(script, place_of);
	return find_crossings(meta, plan, script);
}
