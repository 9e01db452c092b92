/* instance.c: see instance.h. */
#include "instance.h"

#include <stdlib.h>

#include "bounds.h"
#include "edges.h"
#include "region.h"
#include "safety_trace.h"
#include "trace_error.h"

#define BYTES_MAX (UINT64_C(1) << 62)

struct builder {
	struct seam_region *region; /* until the problem is made */
	struct seam_meta *meta;     /* the problem's */
	const struct seam_period_slots *slots;
	const struct seam_instance_options *options;
	struct seam_trace_error *error;
	struct seam_problem *out;
	uint32_t slot_count;
	uint32_t placed;    /* slots with a place: items of one copy */
	uint32_t *group_of; /* per stream number of the slots: its stream in the problem */
	uint32_t *pool_of;  /* per stream of the problem: the private pool */
	uint32_t group_count;
	uint32_t *rank_of; /* per slot: its item in the first copy, SEAM__ITEM_NONE: no place */
	uint32_t *holds;   /* [slot * streams of the slots + stream]; NULL: nothing is known */
};

static enum seam_rc refuse(const struct builder *builder, const struct seam_plan_fixed *fixed, const char *what)
{
	seam__trace_error_set(builder->error, fixed->event,
		"the fixed block of event %llu, copy %u, at address %llu: %s", (unsigned long long)fixed->event,
		fixed->copy, (unsigned long long)fixed->offset_bytes, what);
	return SEAM_INVALID;
}

static uint32_t stream_count(const struct builder *builder)
{
	return (uint32_t)builder->slots->streams.count;
}

static const struct seam_traced_stream *stream_of(const struct builder *builder, uint32_t stream)
{
	return seam__stream_at(builder->slots->requests, ((const uint32_t *)builder->slots->streams.items)[stream]);
}

static const struct seam_traced_request *request_of(const struct builder *builder, uint32_t slot)
{
	return seam__slot_request(builder->slots, slot);
}

/* The streams of the problem: those of slots with a place; only their pools where all streams are as one. */
static void group_streams(struct builder *builder)
{
	bool as_one = builder->options->streams == SEAM_PLAN_STREAMS_INSERT && builder->options->apart_positions == 0;

	for (uint32_t s = 0; s < builder->slots->placed_streams; s++) {
		uint32_t pool = stream_of(builder, s)->pool;
		uint32_t group = 0;

		while (as_one && group < builder->group_count && builder->pool_of[group] != pool)
			group++;
		if (!as_one || group == builder->group_count) {
			group = builder->group_count++;
			builder->pool_of[group] = pool;
		}
		builder->group_of[s] = group;
	}
	if (builder->group_count == 0)
		builder->group_count = 1;
}

/* Sizes may be rounded up, copied and summed by everyone without a look. */
static enum seam_rc rank_slots(struct builder *builder)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < builder->slot_count; i++) {
		builder->rank_of[i] = SEAM__ITEM_NONE;
		if (!seam__slot_is_placed(builder->slots, i))
			continue;
		builder->rank_of[i] = builder->placed++;
		if (__builtin_add_overflow(bytes, request_of(builder, i)->size_bytes, &bytes) ||
			__builtin_add_overflow(bytes, builder->options->align_bytes, &bytes))
			bytes = UINT64_MAX;
	}
	if (bytes >= BYTES_MAX / builder->slots->copies) {
		seam__trace_error_set(builder->error, builder->slots->period.first_event,
			"the requests' sizes are too large to add up");
		return SEAM_INVALID;
	}
	return SEAM_OK;
}

/* For how long a slot is held from a stream, of the slots, that has to be ordered behind its end: until that is, by the
 * trace's edges or by a wait that is inserted. */
static uint32_t held_for(const struct builder *builder, uint32_t slot, uint32_t stream)
{
	const struct seam_period_slot *held = seam__slot_at(builder->slots, slot);
	const bool is_apart = builder->options->streams == SEAM_PLAN_STREAMS_APART && stream != held->stream;
	const uint32_t known = builder->holds == NULL || is_apart
		? SEAM__HOLD_ALWAYS
		: builder->holds[(size_t)slot * stream_count(builder) + stream];
	const uint64_t inserted = (uint64_t)held->end - held->begin + builder->options->apart_positions;

	return builder->options->streams == SEAM_PLAN_STREAMS_INSERT && inserted < known ? (uint32_t)inserted : known;
}

/* The part of the holds that the problem's streams can use: between streams of one pool, and where edges may be
 * believed.
 */
static void set_holds(const struct builder *builder, uint32_t slot, uint32_t number)
{
	struct seam_problem *problem = builder->out;
	struct seam_item *item = &problem->items[number];
	uint32_t most = problem->linear ? problem->circle - item->begin : problem->circle;

	if (seam__slot_at(builder->slots, slot)->user_count > 0) {
		uint32_t span = held_for(builder, slot, seam__slot_at(builder->slots, slot)->stream);

		if (span > item->span)
			item->span = span < most ? span : most;
	}
	for (uint32_t s = 0; problem->holds != NULL && s < problem->streams; s++) {
		uint32_t *hold = &problem->holds[(size_t)number * problem->streams + s];

		if (s == item->stream)
			*hold = item->span;
		else if (builder->pool_of[s] != builder->pool_of[item->stream])
			*hold = SEAM__HOLD_ALWAYS;
		else
			*hold = held_for(builder, slot, s); /* streams with places are numbered alike in both */
		if (*hold != SEAM__HOLD_ALWAYS && *hold > most)
			*hold = most;
	}
}

static void add_items(const struct builder *builder)
{
	const struct seam_period_slots *slots = builder->slots;

	for (uint32_t copy = 0; copy < slots->copies; copy++) {
		for (uint32_t i = 0; i < builder->slot_count; i++) {
			const struct seam_period_slot *slot = seam__slot_at(slots, i);
			uint32_t number = builder->out->count;

			if (builder->rank_of[i] == SEAM__ITEM_NONE)
				continue;
			struct seam_item *item = seam__problem_add(builder->out, request_of(builder, i)->size_bytes,
				copy * slots->position_count + slot->begin, slot->end - slot->begin);
			item->request = i;
			item->copy = copy;
			item->stream = builder->group_of[slot->stream];
			set_holds(builder, i, number);
		}
	}
}

/* Stays through every period: nobody shares with it. */
static void add_staying(const struct builder *builder, uint64_t offset_bytes, uint64_t size_bytes)
{
	struct seam_problem *problem = builder->out;
	uint32_t number = problem->count;
	struct seam_item *item = seam__problem_add(problem, size_bytes, 0, problem->circle);

	item->request = SEAM__ITEM_NONE;
	item->fixed_bytes = offset_bytes;
	for (uint32_t s = 1; problem->holds != NULL && s < problem->streams; s++)
		problem->holds[(size_t)number * problem->streams + s] = SEAM__HOLD_ALWAYS;
}

static enum seam_rc apply_fixed(const struct builder *builder, const struct seam_plan_fixed *fixed)
{
	const struct seam_period_slots *slots = builder->slots;
	uint32_t number = SEAM__REQUEST_NONE;

	if (fixed->event < builder->slots->requests->trace->header.event_count)
		number = seam__request_of(builder->slots->requests, fixed->event);
	if (number == SEAM__REQUEST_NONE || seam__request_at(builder->slots->requests, number)->alloc != fixed->event)
		return refuse(builder, fixed, "there is no allocation of that number");
	const struct seam_traced_request *request = seam__request_at(builder->slots->requests, number);
	if ((fixed->offset_bytes | fixed->room_bytes) % builder->options->align_bytes != 0 ||
		fixed->offset_bytes >= BYTES_MAX || fixed->room_bytes >= BYTES_MAX)
		return refuse(builder, fixed, "the address is not aligned, or too large");
	if (request->alloc < slots->period.first_event && request->free >= slots->period.last_event) {
		if (fixed->copy != 0)
			return refuse(builder, fixed, "it lives through every period, so its copy is 0");
		add_staying(builder, fixed->offset_bytes, request->size_bytes);
		return SEAM_OK;
	}
	if (request->alloc < slots->period.first_event || request->alloc >= slots->period.last_event)
		return refuse(builder, fixed, "it neither belongs to the period nor lives through it");
	uint32_t slot = number - slots->first_request;
	if (fixed->copy >= slots->copies || builder->rank_of[slot] == SEAM__ITEM_NONE)
		return refuse(builder, fixed,
			request->dynamic ? "its size depends on data: it has no place" : "the plan has fewer copies");
	struct seam_item *item = &builder->out->items[fixed->copy * builder->placed + builder->rank_of[slot]];
	if (item->fixed_bytes != SEAM__ADDRESS_ANY)
		return refuse(builder, fixed, "it stands there twice");
	item->fixed_bytes = fixed->offset_bytes;
	if (fixed->room_bytes > item->size_bytes)
		item->size_bytes = fixed->room_bytes;
	return SEAM_OK;
}

static enum seam_rc add_taken(const struct builder *builder)
{
	const struct seam_instance_options *options = builder->options;

	for (size_t i = 0; i < options->taken_count; i++) {
		const struct seam_plan_range *range = &options->taken[i];

		if (range->begin_bytes >= range->end_bytes || range->end_bytes > BYTES_MAX ||
			(range->begin_bytes | range->end_bytes) % options->align_bytes != 0 ||
			(i > 0 && range->begin_bytes < range[-1].end_bytes)) {
			seam__trace_error_set(builder->error, 0,
				"taken range %zu is empty, unaligned, too large, or out of order", i);
			return SEAM_INVALID;
		}
		add_staying(builder, range->begin_bytes, range->end_bytes - range->begin_bytes);
	}
	return SEAM_OK;
}

struct by_address {
	uint64_t address;
	uint32_t item;
};

static int compare_addresses(const void *left, const void *right)
{
	const struct by_address *a = left;
	const struct by_address *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

/* No two of them that may live together overlap. */
static enum seam_rc check_fixed(const struct builder *builder)
{
	const struct seam_problem *problem = builder->out;
	size_t count = 0;
	struct by_address *order;
	enum seam_rc rc = SEAM_OK;

	if (builder->options->fixed_count == 0)
		return SEAM_OK; /* taken ranges are in order */
	order = seam__region_array(builder->region, problem->count, sizeof(*order));
	if (order == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < problem->count; i++)
		if (problem->items[i].fixed_bytes != SEAM__ADDRESS_ANY)
			order[count++] = (struct by_address){.address = problem->items[i].fixed_bytes, .item = i};
	qsort(order, count, sizeof(*order), compare_addresses);
	for (size_t a = 0; a < count && rc == SEAM_OK; a++) {
		uint64_t end = order[a].address + problem->items[order[a].item].size_bytes;

		for (size_t b = a + 1; b < count && order[b].address < end && rc == SEAM_OK; b++) {
			if (!seam__problem_conflict(problem, order[a].item, order[b].item))
				continue;
			seam__trace_error_set(builder->error, 0,
				"two fixed blocks that may live together overlap at address %llu",
				(unsigned long long)order[b].address);
			rc = SEAM_INVALID;
		}
	}
	return rc;
}

static enum seam_rc finish(const struct builder *builder)
{
	uint64_t bytes = 0;
	enum seam_rc rc = seam__problem_finish(builder->out);

	if (rc == SEAM_OK)
		rc = seam__bounds_apart(builder->out, &bytes);
	if (bytes > builder->out->lower_bytes)
		builder->out->lower_bytes = bytes;
	return rc;
}

/* Where the trace proves nothing there are none: it has one stream, no edges in the period, or other edges in the
 * period's repetition. */
static enum seam_rc find_holds(struct builder *builder)
{
	const struct seam_period *period = &builder->slots->period;

	if (stream_count(builder) < 2 || !period->same_edges ||
		!seam__edges_any(builder->slots->requests->trace, period->first_event, period->last_event))
		return SEAM_OK;
	builder->holds = seam__region_array(
		builder->region, (size_t)builder->slot_count * stream_count(builder), sizeof(*builder->holds));
	return builder->holds != NULL ? seam__safety_holds(builder->region, builder->slots, builder->holds)
				      : SEAM_OOM_META;
}

static enum seam_rc build(struct builder *builder)
{
	const struct seam_period_slots *slots = builder->slots;
	const struct seam_instance_options *options = builder->options;

	group_streams(builder);
	enum seam_rc rc = rank_slots(builder);
	if (rc == SEAM_OK)
		rc = find_holds(builder);
	if (rc != SEAM_OK)
		return rc;
	uint64_t items = (uint64_t)builder->placed * slots->copies + options->fixed_count + options->taken_count;
	if (items > SEAM__ITEM_NONE)
		return SEAM_INVALID;
	rc = seam__problem_init(builder->out, builder->meta, (uint32_t)items, slots->copies * slots->position_count,
		slots->period.linear, builder->group_count, options->align_bytes);
	if (rc != SEAM_OK)
		return rc;
	add_items(builder);
	for (size_t f = 0; f < options->fixed_count && rc == SEAM_OK; f++)
		rc = apply_fixed(builder, &options->fixed[f]);
	if (rc == SEAM_OK)
		rc = add_taken(builder);
	if (rc == SEAM_OK)
		rc = check_fixed(builder);
	return rc == SEAM_OK ? finish(builder) : rc;
}

static enum seam_rc get_arrays(struct builder *builder)
{
	builder->group_of = seam__region_array(builder->region, stream_count(builder), sizeof(*builder->group_of));
	builder->pool_of = seam__region_array(builder->region, stream_count(builder), sizeof(*builder->pool_of));
	builder->rank_of = seam__region_array(builder->region, builder->slot_count, sizeof(*builder->rank_of));
	return builder->group_of == NULL || builder->pool_of == NULL || builder->rank_of == NULL ? SEAM_OOM_META
												 : SEAM_OK;
}

enum seam_rc seam__instance_init(struct seam_meta *meta, const struct seam_period_slots *slots,
	const struct seam_instance_options *options, struct seam_trace_error *error, struct seam_problem *ret_problem)
{
	struct seam_problem made = {.count = 0};
	struct builder builder = {.region = seam__region_create(meta),
		.meta = meta,
		.slots = slots,
		.options = options,
		.error = error,
		.out = &made,
		.slot_count = seam__slots_count(slots)};
	enum seam_rc rc = builder.region != NULL ? get_arrays(&builder) : SEAM_OOM_META;

	if (rc == SEAM_OK)
		rc = build(&builder);
	seam__region_destroy(builder.region);
	if (rc == SEAM_OK) {
		*ret_problem = made;
		return SEAM_OK;
	}
	if (rc == SEAM_OOM_META)
		(void)seam__trace_error_rc(error, rc);
	seam__problem_fini(&made);
	return rc;
}
