/* beats.c: see beats.h. */
#include "beats.h"

#include "meta.h"

/* The finaliser of splitmix64, a bijection: equal only for equal input. */
static uint64_t scramble(uint64_t value)
{
	value += UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

uint64_t seam__beats_mix(uint64_t a, uint64_t b)
{
	return scramble(scramble(a) ^ b);
}

static struct seam__beat make_beat(
	const struct seam_trace_event *event, const struct seam__request *request, uint64_t *state)
{
	uint64_t block = seam__beats_mix(request->size_bytes, request->stream);
	uint64_t key = seam__beats_mix(block, ((uint64_t)event->thread << 8) | event->kind);

	if (event->kind == SEAM_TRACE_ALLOC)
		*state += block;
	else if (event->kind == SEAM_TRACE_FREE)
		*state -= block;
	else
		key = seam__beats_mix(key, event->stream);
	return (struct seam__beat){.key = key, .state = *state};
}

/* `allocated`: per request the number of its allocation among the beats' allocations. */
static enum seam_rc build(const struct seam_trace *trace, const struct seam__requests *requests, uint32_t *allocated,
	struct seam__beats *beats)
{
	uint64_t state = 0;
	enum seam_rc rc = seam__grow_reserve(&beats->items, requests->items.count * 2);

	if (rc == SEAM_OK)
		rc = seam__grow_reserve(&beats->allocs, requests->items.count);
	for (uint32_t e = 0; rc == SEAM_OK && e < trace->header.event_count; e++) {
		uint32_t number = seam__request_of(requests, e);
		const struct seam__request *request;
		struct seam__beat beat;

		if (number == SEAM__REQUEST_NONE)
			continue;
		request = seam__request_at(requests, number);
		if (request->dynamic ||
			(trace->events[e].kind == SEAM_TRACE_RECORD_STREAM &&
				trace->events[e].stream == seam__stream_at(requests, request->stream)->stream))
			continue;
		beat = make_beat(&trace->events[e], request, &state);
		beat.event = e;
		beat.allocs = (uint32_t)beats->allocs.count;
		if (trace->events[e].kind == SEAM_TRACE_ALLOC) {
			const uint32_t at = (uint32_t)beats->items.count;

			allocated[number] = beat.allocs;
			rc = seam__grow_append(&beats->allocs, &at, 1);
		}
		beat.back = beat.allocs - allocated[number];
		if (rc == SEAM_OK)
			rc = seam__grow_append(&beats->items, &beat, 1);
	}
	return rc;
}

enum seam_rc seam__beats_init(
	const struct seam_trace *trace, const struct seam__requests *requests, struct seam__beats *ret_beats)
{
	struct seam__beats made;
	uint32_t *allocated = seam__meta_array(seam__meta_process(), requests->items.count + 1, sizeof(*allocated));
	enum seam_rc rc;

	if (allocated == NULL)
		return SEAM_OOM_META;
	seam__grow_init(&made.items, sizeof(struct seam__beat));
	seam__grow_init(&made.allocs, sizeof(uint32_t));
	rc = build(trace, requests, allocated, &made);
	seam__meta_free(seam__meta_process(), allocated, (requests->items.count + 1) * sizeof(*allocated));
	if (rc == SEAM_OK)
		*ret_beats = made;
	else
		seam__beats_fini(&made);
	return rc;
}

void seam__beats_fini(struct seam__beats *beats)
{
	if (beats->items.item_bytes != 0) {
		seam__grow_fini(&beats->items);
		seam__grow_fini(&beats->allocs);
	}
	*beats = (struct seam__beats){0};
}

uint32_t seam__beats_before(const struct seam__beats *beats, uint64_t event)
{
	uint32_t low = 0;
	uint32_t high = seam__beats_count(beats);

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (seam__beats_at(beats, middle)->event < event)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
