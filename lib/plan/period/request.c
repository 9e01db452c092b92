/* request.c: see request.h. One pass over the events; uses by other streams are sorted by request at the end. */
#include "request.h"

#include "check.h"
#include "idmap.h"

#define EVENTS_MAX (UINT64_C(1) << 31)
#define BYTES_MAX (UINT64_C(1) << 62)

/* One RECORD_STREAM by another stream. */
struct use {
	uint32_t request;
	uint32_t stream;
};

struct builder {
	const struct seam_trace *trace;
	struct seam_traced_requests *out;
	struct seam_idmap live;       /* id -> request */
	struct seam_idmap numbers;    /* stream -> first stream number + 1 */
	struct seam_grow phase_names; /* uint32_t: string of phase 1, 2, ... */
	struct seam_grow uses;        /* struct use, in order of events */
	uint64_t bytes;               /* of all requests so far */
};

static void init(struct builder *builder)
{
	struct seam_traced_requests *out = builder->out;

	seam__grow_init(&out->items, sizeof(struct seam_traced_request));
	seam__grow_init(&out->of_event, sizeof(uint32_t));
	seam__grow_init(&out->streams, sizeof(struct seam_traced_stream));
	seam__grow_init(&out->uses, sizeof(uint32_t));
	seam__idmap_init(&builder->live);
	seam__idmap_init(&builder->numbers);
	seam__grow_init(&builder->phase_names, sizeof(uint32_t));
	seam__grow_init(&builder->uses, sizeof(struct use));
}

static void fini(struct builder *builder)
{
	seam__grow_fini(&builder->uses);
	seam__grow_fini(&builder->phase_names);
	seam__idmap_fini(&builder->numbers);
	seam__idmap_fini(&builder->live);
}

static enum seam_rc reserve(struct builder *builder)
{
	size_t events = (size_t)builder->trace->header.event_count;
	size_t allocs = 0;

	for (size_t e = 0; e < events; e++)
		allocs += builder->trace->events[e].kind == SEAM_TRACE_ALLOC;
	enum seam_rc rc = seam__grow_reserve(&builder->out->items, allocs);
	return rc == SEAM_OK ? seam__grow_reserve(&builder->out->of_event, events) : rc;
}

/* The name of the phase that an event lies in. Phases are numbered in the order of their first beginnings. */
static uint32_t phase_name(const struct builder *builder, const struct seam_trace_event *event)
{
	return event->phase == 0 ? 0 : ((const uint32_t *)builder->phase_names.items)[event->phase - 1];
}

static enum seam_rc stream_number(struct builder *builder, uint64_t stream, uint32_t pool, uint32_t *ret_number)
{
	struct seam_grow *streams = &builder->out->streams;
	struct seam_traced_stream made = {.stream = stream, .pool = pool, .next = SEAM__REQUEST_NONE};
	struct seam_traced_stream *list = streams->items;
	uint64_t *first;
	uint32_t last = SEAM__REQUEST_NONE;
	enum seam_rc rc = seam__idmap_put(&builder->numbers, stream, &first);

	if (rc != SEAM_OK)
		return rc;
	for (uint32_t n = first[0] == 0 ? SEAM__REQUEST_NONE : (uint32_t)first[0] - 1; n != SEAM__REQUEST_NONE;
		n = list[n].next) {
		if (list[n].pool == pool) {
			*ret_number = n;
			return SEAM_OK;
		}
		last = n;
	}
	rc = seam__grow_append(streams, &made, 1);
	if (rc != SEAM_OK)
		return rc;
	*ret_number = (uint32_t)streams->count - 1;
	list = streams->items;
	if (last == SEAM__REQUEST_NONE)
		first[0] = streams->count;
	else
		list[last].next = *ret_number;
	return SEAM_OK;
}

static enum seam_rc add_alloc(struct builder *builder, const struct seam_trace_event *event, uint32_t number)
{
	struct seam_traced_request request = {
		.size_bytes = event->size,
		.alloc = number,
		.free = SEAM__EVENT_NONE,
		.thread = event->thread,
		.module = event->module,
		.phase_begin = phase_name(builder, event),
		.microbatch = event->microbatch,
		.dynamic = (event->flags & SEAM_TRACE_DYNAMIC) != 0,
	};
	uint32_t index = (uint32_t)builder->out->items.count;

	if (event->size == 0)
		return SEAM_OK;
	if (event->size >= BYTES_MAX - builder->bytes)
		return SEAM_INVALID;
	builder->bytes += event->size;
	enum seam_rc rc = stream_number(builder, event->stream, event->pool, &request.stream);
	if (rc == SEAM_OK)
		rc = seam__idmap_set(&builder->live, event->id, index);
	if (rc == SEAM_OK)
		rc = seam__grow_append(&builder->out->items, &request, 1);
	if (rc == SEAM_OK)
		((uint32_t *)builder->out->of_event.items)[number] = index;
	return rc;
}

static void add_free(struct builder *builder, const struct seam_trace_event *event, uint32_t number)
{
	const uint64_t *live = seam__idmap_find(&builder->live, event->id);

	if (live == NULL)
		return; /* of nothing */
	((uint32_t *)builder->out->of_event.items)[number] = (uint32_t)live[0];
	struct seam_traced_request *request = (struct seam_traced_request *)builder->out->items.items + live[0];
	request->free = number;
	request->free_thread = event->thread;
	request->free_module = event->module;
	request->phase_end = phase_name(builder, event);
	seam__idmap_remove(&builder->live, event->id);
}

static enum seam_rc add_use(struct builder *builder, const struct seam_trace_event *event, uint32_t number)
{
	const uint64_t *live = seam__idmap_find(&builder->live, event->id);
	struct seam_traced_request *request;
	struct use use;

	if (live == NULL)
		return SEAM_OK;
	use.request = (uint32_t)live[0];
	((uint32_t *)builder->out->of_event.items)[number] = use.request;
	request = (struct seam_traced_request *)builder->out->items.items + use.request;
	if (seam__stream_at(builder->out, request->stream)->stream == event->stream)
		return SEAM_OK;
	enum seam_rc rc = stream_number(builder, event->stream, 0, &use.stream);
	if (rc == SEAM_OK)
		rc = seam__grow_append(&builder->uses, &use, 1);
	if (rc == SEAM_OK)
		request->use_count++;
	return rc;
}

static enum seam_rc add(struct builder *builder, const struct seam_trace_event *event, uint32_t number)
{
	switch (event->kind) {
	case SEAM_TRACE_ALLOC:
		return add_alloc(builder, event, number);
	case SEAM_TRACE_FREE:
		add_free(builder, event, number);
		return SEAM_OK;
	case SEAM_TRACE_RECORD_STREAM:
		return add_use(builder, event, number);
	case SEAM_TRACE_PHASE_BEGIN:
		return event->phase == builder->phase_names.count + 1
			? seam__grow_append(&builder->phase_names, &event->aux, 1)
			: SEAM_OK;
	default:
		return SEAM_OK;
	}
}

/* By counting: stable, so a request's uses stay in order of events. */
static enum seam_rc sort_uses(struct builder *builder)
{
	struct seam_traced_requests *out = builder->out;
	struct seam_traced_request *requests = out->items.items;
	const struct use *uses = builder->uses.items;
	uint32_t sum = 0;
	enum seam_rc rc = seam__grow_reserve(&out->uses, builder->uses.count);

	if (rc != SEAM_OK || builder->uses.count == 0)
		return rc;
	for (size_t i = 0; i < out->items.count; i++) {
		requests[i].first_use = sum;
		sum += requests[i].use_count;
		requests[i].use_count = 0;
	}
	for (size_t u = 0; u < builder->uses.count; u++) {
		struct seam_traced_request *request = &requests[uses[u].request];

		((uint32_t *)out->uses.items)[request->first_use + request->use_count++] = uses[u].stream;
	}
	out->uses.count = builder->uses.count;
	return SEAM_OK;
}

enum seam_rc seam__requests_init(const struct seam_trace *trace, struct seam_traced_requests *ret_requests)
{
	struct seam_traced_requests made = {.trace = trace};
	struct builder builder = {.trace = trace, .out = &made};
	const uint32_t none = SEAM__REQUEST_NONE;

	if (trace->header.event_count >= EVENTS_MAX)
		return SEAM_INVALID;
	init(&builder);
	enum seam_rc rc = reserve(&builder);
	for (uint32_t e = 0; rc == SEAM_OK && e < trace->header.event_count; e++) {
		rc = seam__grow_append(&made.of_event, &none, 1);
		if (rc == SEAM_OK)
			rc = add(&builder, &trace->events[e], e);
	}
	if (rc == SEAM_OK)
		rc = sort_uses(&builder);
	fini(&builder);
	if (rc == SEAM_OK)
		*ret_requests = made;
	else
		seam__requests_fini(&made);
	return rc;
}

void seam__requests_fini(struct seam_traced_requests *requests)
{
	seam__grow_fini(&requests->items);
	seam__grow_fini(&requests->of_event);
	seam__grow_fini(&requests->streams);
	seam__grow_fini(&requests->uses);
	*requests = (struct seam_traced_requests){0};
}

static const char *check_one(const struct seam_traced_requests *requests, uint32_t number)
{
	const struct seam_traced_request *request = seam__request_at(requests, number);
	const uint32_t *uses = requests->uses.items;

	if (request->alloc >= requests->of_event.count || seam__request_of(requests, request->alloc) != number ||
		(number > 0 && request[-1].alloc >= request->alloc))
		return "RQ1 allocation";
	if (request->free != SEAM__EVENT_NONE &&
		(request->free <= request->alloc || request->free >= requests->of_event.count ||
			seam__request_of(requests, request->free) != number))
		return "RQ1 free";
	if (request->stream >= requests->streams.count)
		return "RQ2 numbers";
	if (request->use_count > requests->uses.count || request->first_use > requests->uses.count - request->use_count)
		return "RQ2 uses";
	for (uint32_t u = 0; u < request->use_count; u++)
		if (uses[request->first_use + u] >= requests->streams.count ||
			uses[request->first_use + u] == request->stream)
			return "RQ2 use";
	return request->size_bytes == 0 ? "RQ3" : NULL;
}

const char *seam__requests_check(const struct seam_traced_requests *requests)
{
	const char *broken = NULL;

	for (uint32_t i = 0; i < requests->items.count && broken == NULL; i++)
		broken = check_one(requests, i);
	return broken;
}
