/* plan_world.c: see plan_world.h. Programs and placements; the judge stands in plan_judge.c. */
#include "plan_world.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "plan_builder.h"
#include "plan_judge.h"

uint64_t world_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static uint32_t pick(uint64_t *state, uint32_t below)
{
	return (uint32_t)(world_next(state) % below);
}

static void shuffle(uint32_t *numbers, uint32_t count, uint64_t *state)
{
	for (uint32_t i = count; i > 1; i--) {
		const uint32_t other = pick(state, i);
		const uint32_t held = numbers[i - 1];
		numbers[i - 1] = numbers[other];
		numbers[other] = held;
	}
}

static int ascending(const void *a, const void *b)
{
	const uint32_t left = *(const uint32_t *)a;
	const uint32_t right = *(const uint32_t *)b;
	return (left > right) - (left < right);
}

static void make_slots(struct world *world, uint64_t *state)
{
	uint32_t places[WORLD_SLOTS * 2];
	world->slots = 2 + pick(state, WORLD_SLOTS - 1);
	world->positions = world->slots * 2;
	for (uint32_t i = 0; i < world->positions; i++)
		places[i] = i;
	shuffle(places, world->positions, state);
	qsort(places, world->slots, sizeof(places[0]), ascending);
	for (uint32_t i = 0; i < world->slots; i++) {
		struct world_slot *slot = &world->slot[i];
		slot->size_bytes = 1 + pick(state, 40);
		slot->begin = places[i];
		slot->end = places[world->slots + i];
		if (slot->end < slot->begin)
			slot->end += world->positions;
		while (slot->end - slot->begin + world->positions <= world->copies * world->positions &&
			pick(state, 3) == 0)
			slot->end += world->positions;
		slot->stream = pick(state, world->streams);
		slot->touch = pick(state, 4) == 0 ? pick(state, world->streams) : slot->stream;
		slot->touch_late = pick(state, 2) == 0;
	}
}

static void make_edges(struct world *world, uint64_t *state)
{
	world->edges = pick(state, 3) == 0 ? 0 : pick(state, WORLD_EDGES + 1);
	for (uint32_t i = 0; i < world->edges; i++) {
		struct world_edge *edge = &world->edge[i];
		edge->record_gap = pick(state, world->positions);
		edge->wait_gap = pick(state, world->positions);
		edge->from = pick(state, world->streams);
		edge->to = pick(state, 12) == 0 ? WORLD_DEVICE : pick(state, world->streams);
		edge->fresh_ids = pick(state, 2) == 0;
		edge->previous = edge->fresh_ids && (world->warm || world->stretch > 0) && pick(state, 4) == 0;
		/* Only where a whole repetition stands before the stretch does the trace show what a wait at its begin
		 * waits for. */
		if (!world->warm && world->stretch == 0 && edge->wait_gap <= edge->record_gap) {
			edge->wait_gap = world->positions - 1;
			edge->record_gap = pick(state, world->positions - 1);
		}
	}
}

static void make_waits(struct world *world, uint64_t *state)
{
	const uint32_t tries = pick(state, 2) == 0 ? 0 : 20;
	for (uint32_t i = 0; i < tries && world->waits < WORLD_WAITS; i++) {
		const struct seam_plan_wait wait = {.waited = pick(state, world->slots),
			.waiter = pick(state, world->slots),
			.lag = pick(state, world->copies + 1)};
		const uint32_t stream = world->slot[wait.waiter].stream;
		if ((world->slot[wait.waited].stream != stream || world->slot[wait.waited].touch != stream) &&
			world->slot[wait.waited].end <= world->slot[wait.waiter].begin + wait.lag * world->positions)
			world->wait[world->waits++] = wait;
	}
}

/* First fit, from a random address on, so that not everything lies at the bottom. */
static void place(struct world *world, uint64_t *state)
{
	const uint32_t count = world->slots * world->copies;
	for (uint32_t item = 0; item < count; item++) {
		static bool taken[WORLD_ARENA];
		const uint32_t size = world->slot[item / world->copies].size_bytes;
		memset(taken, 0, sizeof(taken));
		for (uint32_t other = 0; other < item; other++) {
			if (!world->unsafe[item][other] && !world->unsafe[other][item])
				continue;
			for (uint32_t byte = 0; byte < world->slot[other / world->copies].size_bytes; byte++)
				taken[world->offset[other] + byte] = true;
		}
		const uint64_t from = pick(state, 3) == 0 ? pick(state, 200) : 0;
		uint64_t at = from;
		for (uint32_t byte = 0; byte < size;) {
			const bool good = !taken[at + byte];
			at += good ? 0 : 1;
			byte = good ? byte + 1 : 0;
			SEAM_VERIFY(at + size <= WORLD_ARENA);
		}
		world->offset[item] = at;
	}
}

void world_make(struct world *world, uint64_t seed)
{
	uint64_t state = seed * 77777 + 1;
	memset(world, 0, sizeof(*world));
	world->copies = 1 + pick(&state, WORLD_COPIES);
	world->streams = 1 + pick(&state, 3);
	world->warm = pick(&state, 2) == 0;
	world->repetitions = 1 + pick(&state, 3);
	world->stretch = pick(&state, world->repetitions);
	make_slots(world, &state);
	make_edges(world, &state);
	make_waits(world, &state);
	world_find_unsafe(world);
	place(world, &state);
}

bool world_meet(const struct world *world, uint32_t a, uint32_t b)
{
	const uint32_t circle = world->positions * world->copies;
	const struct world_slot *left = &world->slot[a / world->copies];
	const struct world_slot *right = &world->slot[b / world->copies];
	const uint32_t left_at = a % world->copies * world->positions + left->begin;
	const uint32_t right_at = b % world->copies * world->positions + right->begin;
	return (right_at + circle - left_at) % circle < left->end - left->begin ||
		(left_at + circle - right_at) % circle < right->end - right->begin;
}

static void add_slots(const struct world *world, struct seam_plan_builder *builder)
{
	uint32_t number;
	for (uint32_t i = 0; i < world->streams; i++)
		SEAM_VERIFY(seam__plan_builder_stream(builder, 100 + i, &number) == SEAM_OK && number == i);
	for (uint32_t i = 0; i < world->slots; i++) {
		const struct world_slot *from = &world->slot[i];
		const struct seam_plan_slot slot = {
			.size_bytes = from->size_bytes,
			.begin = from->begin,
			.end = from->end,
			.stream = from->stream,
			.flags = from->touch == from->stream ? 0 : SEAM_PLAN_SHARED,
			.event = world->event[i],
		};
		SEAM_VERIFY(seam__plan_builder_slot(builder, &slot, &world->offset[i * world->copies]) == SEAM_OK);
	}
	for (uint32_t i = 0; i < world->waits; i++)
		SEAM_VERIFY(seam__grow_append(&builder->waits, &world->wait[i], 1) == SEAM_OK);
}

struct seam_plan *world_plan(const struct world *world, const struct seam_trace *trace, struct seam_trace_error *error)
{
	struct seam_plan_builder builder;
	struct seam_plan *plan = NULL;
	SEAM_VERIFY(seam__plan_builder_init(&builder, world->copies) == SEAM_OK);
	builder.header.positions = world->positions;
	builder.header.align_bytes = 1;
	builder.header.chunk_bytes = WORLD_CHUNK;
	builder.header.arena_bytes = WORLD_ARENA;
	builder.header.first_event = world->first_event;
	builder.header.last_event = world->last_event;
	SEAM_VERIFY(seam_plan_fingerprint(trace, world->first_event, world->last_event, &builder.header.fingerprint) ==
		SEAM_OK);
	add_slots(world, &builder);
	if (seam__plan_builder_finish(&builder, error, &plan) != SEAM_OK)
		plan = NULL;
	seam__plan_builder_fini(&builder);
	return plan;
}

/* A trace under construction. */
struct teller {
	struct world *world;
	struct seam_trace_builder *builder;
	uint64_t count;
};

static void tell(struct teller *teller, unsigned kind, uint64_t id, uint64_t size, uint32_t stream)
{
	const struct seam_trace_event event = {
		.kind = (uint8_t)kind, .id = id, .size = size, .stream = 100 + stream, .time_ns = teller->count};
	SEAM_VERIFY(seam_trace_builder_add(teller->builder, &event) == SEAM_OK);
	teller->count++;
}

/* Repetitions are numbered from -2k; `repetition` is that plus 2k. */
static uint64_t block_id(const struct world *world, uint32_t slot, uint32_t repetition)
{
	return 1000 + (uint64_t)repetition * world->slots + slot;
}

static uint64_t event_id(const struct world *world, uint32_t edge, uint32_t repetition)
{
	return world->edge[edge].fresh_ids ? 50000 + (uint64_t)repetition * WORLD_EDGES + edge : 40000 + edge;
}

static void tell_gap(struct teller *teller, uint32_t gap, uint32_t repetition, bool records_only, uint32_t first_record)
{
	const struct world *world = teller->world;
	for (uint32_t i = 0; i < world->edges; i++) {
		const struct world_edge *edge = &world->edge[i];
		const bool by_host = edge->to == WORLD_DEVICE || edge->to == edge->from;
		if (edge->record_gap == gap && edge->to == WORLD_DEVICE && !records_only)
			tell(teller, SEAM_TRACE_DEVICE_SYNC, 0, 0, 0);
		else if (edge->record_gap == gap && by_host && !records_only)
			tell(teller, SEAM_TRACE_STREAM_SYNC, 0, 0, edge->from);
		else if (edge->record_gap == gap && !by_host)
			tell(teller, SEAM_TRACE_EVENT_RECORD, event_id(world, i, repetition), 0, edge->from);
	}
	for (uint32_t i = 0; i < world->edges && !records_only; i++) {
		const struct world_edge *edge = &world->edge[i];
		if (edge->wait_gap != gap || edge->to == WORLD_DEVICE || edge->to == edge->from)
			continue;
		const uint32_t of = repetition - world_edge_lag(edge);
		if (of >= first_record && of <= repetition)
			tell(teller, SEAM_TRACE_EVENT_WAIT, event_id(world, i, of), 0, edge->to);
	}
}

/* One repetition; blocks from before the `first` one do not exist. */
static void tell_repetition(struct teller *teller, uint32_t repetition, uint32_t first, bool note)
{
	struct world *world = teller->world;
	for (uint32_t at = 0; at < world->positions; at++) {
		tell_gap(teller, at, repetition, false, first);
		for (uint32_t i = 0; i < world->slots; i++) {
			const struct world_slot *slot = &world->slot[i];
			const uint32_t lag = slot->end / world->positions;
			if (slot->begin == at) {
				world->event[i] = note ? teller->count : world->event[i];
				tell(teller, SEAM_TRACE_ALLOC, block_id(world, i, repetition), slot->size_bytes,
					slot->stream);
				if (slot->touch != slot->stream && !slot->touch_late)
					tell(teller, SEAM_TRACE_RECORD_STREAM, block_id(world, i, repetition), 0,
						slot->touch);
			}
			if (slot->end % world->positions != at || repetition - lag < first || repetition < lag)
				continue;
			if (slot->touch != slot->stream && slot->touch_late)
				tell(teller, SEAM_TRACE_RECORD_STREAM, block_id(world, i, repetition - lag), 0,
					slot->touch);
			tell(teller, SEAM_TRACE_FREE, block_id(world, i, repetition - lag), slot->size_bytes,
				slot->stream);
		}
	}
}

/* Where no whole repetitions come first, what the first one finds is allocated at once. */
static void tell_beginning(struct teller *teller, uint32_t first)
{
	const struct world *world = teller->world;
	for (uint32_t repetition = first; repetition < 2 * world->copies; repetition++) {
		for (uint32_t i = 0; i < world->slots; i++) {
			const struct world_slot *slot = &world->slot[i];
			if (repetition + slot->end / world->positions >= 2 * world->copies)
				tell(teller, SEAM_TRACE_ALLOC, block_id(world, i, repetition), slot->size_bytes,
					slot->stream);
		}
	}
	for (uint32_t gap = 0; gap < world->positions; gap++)
		tell_gap(teller, gap, 2 * world->copies - 1, true, 0);
}

struct seam_trace *world_trace(struct world *world)
{
	struct teller teller = {.world = world};
	struct seam_trace *trace;
	struct seam_trace_error error = {0};
	const uint32_t start = 2 * world->copies;
	SEAM_VERIFY(seam_trace_builder_create("world", 0, &teller.builder) == SEAM_OK);
	tell(&teller, SEAM_TRACE_ALLOC, 1, 12345, 0); /* a resident */
	if (!world->warm)
		tell_beginning(&teller, world->copies);
	for (uint32_t i = world->warm ? 0 : start; i < start + world->repetitions; i++) {
		const bool note = i == start + world->stretch;
		world->first_event = note ? teller.count : world->first_event;
		tell_repetition(&teller, i, world->warm ? 0 : world->copies, note);
		world->last_event = note ? teller.count : world->last_event;
	}
	enum seam_rc rc = seam_trace_builder_finish(teller.builder, &error, &trace);
	if (rc != SEAM_OK)
		seam__check_failed(error.text, __FILE__, __LINE__);
	seam_trace_builder_destroy(teller.builder);
	return trace;
}
