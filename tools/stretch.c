/* stretch.c: finds the stretch by the marks of steps, and pairs what crosses its ends. */
#include "stretch.h"

#include <stdlib.h>

static bool same_request(const struct seam_trace_event *a, const struct seam_trace_event *b)
{
	return a->size == b->size && a->stream == b->stream && a->pool == b->pool;
}

static uint32_t next_alloc(const struct seam_trace *trace, uint32_t event, uint32_t end)
{
	while (event < end && trace->events[event].kind != SEAM_TRACE_ALLOC)
		event++;
	return event;
}

/* Whether two ranges of events ask for the same blocks in the same order. */
static bool same_requests(const struct seam_trace *trace, uint32_t a, uint32_t a_end, uint32_t b, uint32_t b_end)
{
	for (;; a++, b++) {
		a = next_alloc(trace, a, a_end);
		b = next_alloc(trace, b, b_end);
		if (a == a_end || b == b_end)
			return a == a_end && b == b_end;
		if (!same_request(&trace->events[a], &trace->events[b]))
			return false;
	}
}

static void find_range(const struct seam_trace *trace, struct stretch *stretch)
{
	uint32_t count = (uint32_t)trace->header.event_count;
	uint32_t first = 0;
	uint32_t last[3] = {0, 0, 0}; /* the ends of the newest three steps, newest first */
	uint32_t steps = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (trace->events[i].kind != SEAM_TRACE_STEP)
			continue;
		last[2] = last[1];
		last[1] = last[0];
		last[0] = i + 1;
		if (steps++ == 0)
			first = i + 1;
	}
	stretch->begin = 0;
	stretch->end = count;
	if (steps < 2)
		return;
	stretch->end = last[0];
	stretch->begin = steps == 2 || same_requests(trace, last[2], last[1], last[1], last[0]) ? last[1] : first;
}

/* What crosses one end of the stretch, to be paired. */
struct crossing {
	uint64_t bytes;
	uint64_t stream;
	uint32_t pool;
	uint32_t lifetime;
};

static int compare_crossing(const void *left, const void *right)
{
	const struct crossing *a = left;
	const struct crossing *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->pool != b->pool)
		return a->pool < b->pool ? -1 : 1;
	return a->lifetime < b->lifetime ? -1 : a->lifetime > b->lifetime;
}

static int compare_key(const struct crossing *a, const struct crossing *b)
{
	struct crossing same = *b;
	same.lifetime = a->lifetime;
	return compare_crossing(a, &same);
}

static void pair(struct stretch *stretch, uint32_t out, uint32_t in)
{
	stretch->partner[out] = in;
	stretch->partner[in] = out;
}

static void pair_equals(struct stretch *stretch, const struct crossing *outs, size_t out_count,
	const struct crossing *ins, size_t in_count)
{
	size_t i = 0;
	size_t j = 0;
	while (i < out_count && j < in_count) {
		int order = compare_key(&outs[i], &ins[j]);
		if (order == 0)
			pair(stretch, outs[i++].lifetime, ins[j++].lifetime);
		else if (order < 0)
			i++;
		else
			j++;
	}
}

/* Those still alone, in order of their allocation. */
static void pair_rest(struct stretch *stretch, const struct lifetimes *lifetimes)
{
	uint32_t in = 0;
	for (uint32_t out = 0; out < lifetimes->count; out++) {
		if (!stretch_goes_out(stretch, &lifetimes->items[out]) || stretch->partner[out] != LIFETIME_NONE)
			continue;
		while (in < lifetimes->count &&
			(!stretch_comes_in(stretch, &lifetimes->items[in]) || stretch->partner[in] != LIFETIME_NONE))
			in++;
		if (in == lifetimes->count)
			return;
		pair(stretch, out, in);
	}
}

static struct crossing crossing_of(const struct seam_trace *trace, const struct lifetimes *lifetimes, uint32_t lifetime)
{
	const struct seam_trace_event *event = &trace->events[lifetimes->items[lifetime].alloc];
	return (struct crossing){
		.bytes = event->size, .stream = event->stream, .pool = event->pool, .lifetime = lifetime};
}

enum seam_rc stretch_find(
	const struct seam_trace *trace, const struct lifetimes *lifetimes, struct stretch *ret_stretch)
{
	struct stretch stretch = {0};
	find_range(trace, &stretch);
	size_t slots = (size_t)lifetimes->count + 1;
	stretch.partner = malloc(slots * sizeof(*stretch.partner));
	struct crossing *outs = malloc(slots * sizeof(*outs));
	struct crossing *ins = malloc(slots * sizeof(*ins));
	enum seam_rc rc = SEAM_OOM_META;
	if (stretch.partner != NULL && outs != NULL && ins != NULL) {
		size_t out_count = 0;
		size_t in_count = 0;
		for (uint32_t i = 0; i < lifetimes->count; i++) {
			stretch.partner[i] = LIFETIME_NONE;
			if (stretch_goes_out(&stretch, &lifetimes->items[i]))
				outs[out_count++] = crossing_of(trace, lifetimes, i);
			else if (stretch_comes_in(&stretch, &lifetimes->items[i]))
				ins[in_count++] = crossing_of(trace, lifetimes, i);
		}
		qsort(outs, out_count, sizeof(*outs), compare_crossing);
		qsort(ins, in_count, sizeof(*ins), compare_crossing);
		pair_equals(&stretch, outs, out_count, ins, in_count);
		pair_rest(&stretch, lifetimes);
		rc = SEAM_OK;
	}
	free(outs);
	free(ins);
	if (rc == SEAM_OK)
		*ret_stretch = stretch;
	else
		stretch_fini(&stretch);
	return rc;
}

void stretch_fini(struct stretch *stretch)
{
	free(stretch->partner);
	stretch->partner = NULL;
}
