/* safety_ops.c: see safety_ops.h. */
#include "safety_ops.h"

#include "check.h"
#include "problem.h"
#include "region.h"

#define NEVER UINT64_MAX
#define STREAMS_MAX 65536u

/* What the row is made with; freed together. */
struct listing {
	const struct seam_period_slots *slots;
	const struct seam_period *period;
	struct seam_safety_ops *ops;
	struct seam_idmap records; /* id of an event: 1 + where it was recorded last */
	uint32_t *op_of;           /* per event of the period: its op */
	uint32_t *frees;           /* per event of the period: 1 + the slot that it frees */
	uint64_t *wait_records;    /* per op that is a wait: the event of its record, or NEVER */
	uint32_t *counts;          /* [e - counted_from()]: allocations and frees from event e up to the period's end */
};

static enum seam_rc find_place(struct seam_safety_ops *ops, uint64_t stream, uint32_t *ret_place)
{
	enum seam_rc rc = seam__idmap_number(&ops->streams, stream, ret_place);

	ops->places = (uint32_t)ops->streams.count;
	return rc == SEAM_OK && ops->places > STREAMS_MAX ? SEAM_INVALID : rc;
}

static bool is_edge(const struct seam_trace_event *event)
{
	return event->kind >= SEAM_TRACE_EVENT_RECORD && event->kind <= SEAM_TRACE_DEVICE_SYNC &&
		(event->flags & SEAM_TRACE_CAPTURE) == 0;
}

static enum seam_rc add_op(struct seam_safety_ops *ops, const struct seam_safety_op *op)
{
	SEAM_ASSERT(ops->count < ops->capacity);
	ops->items[ops->count++] = *op;
	return ops->count < SEAM__ITEM_NONE ? SEAM_OK : SEAM_INVALID;
}

static size_t events_of(const struct seam_period *period)
{
	return (size_t)(period->last_event - period->first_event);
}

/* Where positions are counted for same_record(): one period before the given one. */
static uint64_t counted_from(const struct seam_period *period)
{
	uint64_t events = events_of(period);

	return period->first_event > events ? period->first_event - events : 0;
}

static void count_positions(const struct listing *listing)
{
	const struct seam_period *period = listing->period;
	const struct seam_trace_event *events = listing->slots->requests->trace->events;
	uint64_t from = counted_from(period);
	uint32_t count = 0;

	listing->counts[period->last_event - from] = 0;
	for (uint64_t e = period->last_event; e-- > from;) {
		count += events[e].kind == SEAM_TRACE_ALLOC || events[e].kind == SEAM_TRACE_FREE;
		listing->counts[e - from] = count;
	}
}

/* The event of the period that corresponds to record `record` of before it, or NEVER. */
static uint64_t same_record(const struct listing *listing, uint64_t record)
{
	const struct seam_period *period = listing->period;
	const struct seam_trace_event *events = listing->slots->requests->trace->events;
	const uint32_t *counts = listing->counts;
	uint64_t later = record + events_of(period);
	uint64_t from = counted_from(period);

	if (period->linear || later < period->first_event || events[later].kind != SEAM_TRACE_EVENT_RECORD ||
		events[later].stream != events[record].stream || !is_edge(&events[later]) ||
		counts[record - from] - counts[period->first_event - from] != counts[later - from])
		return NEVER;
	return later;
}

/* The event of the period as an op, if it is one. */
static enum seam_rc list_op(struct listing *listing, uint64_t e)
{
	const struct seam_trace_event *event = &listing->slots->requests->trace->events[e];
	uint64_t index = e - listing->period->first_event;
	struct seam_safety_op op = {
		.kind = event->kind, .record = SEAM__ITEM_NONE, .position = seam__slots_position(listing->slots, e)};

	if (listing->frees[index] != 0) {
		op.kind = SEAM_TRACE_FREE;
		op.subject = listing->frees[index] - 1;
		return add_op(listing->ops, &op);
	}
	if (!is_edge(event))
		return SEAM_OK;
	enum seam_rc rc = find_place(listing->ops, event->stream, &op.subject);
	if (rc == SEAM_OK && event->kind == SEAM_TRACE_EVENT_RECORD)
		rc = seam__idmap_set(&listing->records, event->id, e + 1);
	if (rc != SEAM_OK)
		return rc;
	listing->op_of[index] = (uint32_t)listing->ops->count;
	if (event->kind == SEAM_TRACE_EVENT_WAIT) {
		const uint64_t *values = seam__idmap_find(&listing->records, event->id);

		listing->wait_records[listing->ops->count] = values == NULL ? NEVER : values[0] - 1;
	}
	return add_op(listing->ops, &op);
}

/* Waits learn their records, now that every event of the period has its op. */
static void resolve_waits(const struct listing *listing)
{
	uint64_t first = listing->period->first_event;

	for (size_t o = 0; o < listing->ops->count; o++) {
		struct seam_safety_op *op = &listing->ops->items[o];
		uint64_t record = listing->wait_records[o];

		if (op->kind != SEAM_TRACE_EVENT_WAIT || record == NEVER)
			continue;
		op->before = record < first;
		if (op->before)
			record = same_record(listing, record);
		if (record != NEVER)
			op->record = listing->op_of[record - first];
	}
}

static enum seam_rc list_all(struct listing *listing)
{
	const struct seam_period *period = listing->period;
	const struct seam_period_slots *slots = listing->slots;
	enum seam_rc rc = SEAM_OK;

	count_positions(listing);
	/* Records before the period, for waits inside it. Only the last of each id matters. */
	for (uint64_t e = 0; rc == SEAM_OK && e < period->first_event; e++) {
		const struct seam_trace_event *event = &listing->slots->requests->trace->events[e];

		if (event->kind == SEAM_TRACE_EVENT_RECORD && is_edge(event))
			rc = seam__idmap_set(&listing->records, event->id, e + 1);
	}
	for (uint32_t i = 0; i < seam__slots_count(slots); i++)
		if (seam__slot_at(slots, i)->free_event != SEAM__EVENT_NONE)
			listing->frees[seam__slot_at(slots, i)->free_event - period->first_event] = i + 1;
	for (uint64_t e = period->first_event; rc == SEAM_OK && e < period->last_event; e++)
		rc = list_op(listing, e);
	if (rc == SEAM_OK)
		resolve_waits(listing);
	return rc;
}

static enum seam_rc make_row(
	struct seam_region *region, const struct seam_period_slots *slots, struct seam_safety_ops *ops)
{
	const struct seam_period *period = &slots->period;
	struct listing listing = {.slots = slots, .period = period, .ops = ops};
	size_t events = events_of(period) + 1;
	size_t counted = (size_t)(period->last_event - counted_from(period)) + 1;
	enum seam_rc rc = SEAM_OOM_META;

	listing.op_of = seam__region_array(region, events, sizeof(*listing.op_of));
	listing.frees = seam__region_array(region, events, sizeof(*listing.frees));
	listing.wait_records = seam__region_array(region, ops->capacity, sizeof(*listing.wait_records));
	listing.counts = seam__region_array(region, counted, sizeof(*listing.counts));
	seam__idmap_init(&listing.records);
	if (listing.op_of != NULL && listing.frees != NULL && listing.wait_records != NULL && listing.counts != NULL)
		rc = list_all(&listing);
	seam__idmap_fini(&listing.records);
	return rc;
}

enum seam_rc seam__safety_ops_init(
	struct seam_region *region, const struct seam_period_slots *slots, struct seam_safety_ops *ret_ops)
{
	const struct seam_period *period = &slots->period;
	const struct seam_trace_event *events = slots->requests->trace->events;
	size_t streams = slots->streams.count;
	const uint32_t *numbers = slots->streams.items;
	struct seam_safety_ops *ops = ret_ops;
	enum seam_rc rc = SEAM_OK;

	*ops = (struct seam_safety_ops){.capacity = 1};
	for (uint64_t e = period->first_event; e < period->last_event; e++)
		ops->capacity += events[e].kind == SEAM_TRACE_FREE || is_edge(&events[e]);
	seam__idmap_init(&ops->streams);
	ops->items = seam__region_array(region, ops->capacity, sizeof(*ops->items));
	ops->place_of = seam__region_array(region, streams, sizeof(*ops->place_of));
	if (ops->items == NULL || ops->place_of == NULL)
		return SEAM_OOM_META;
	for (size_t s = 0; rc == SEAM_OK && s < streams; s++)
		rc = find_place(ops, seam__stream_at(slots->requests, numbers[s])->stream, &ops->place_of[s]);
	return rc == SEAM_OK ? make_row(region, slots, ops) : rc;
}

void seam__safety_ops_fini(struct seam_safety_ops *ops)
{
	seam__idmap_fini(&ops->streams);
}
