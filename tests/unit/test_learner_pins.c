/* test_learner_pins.c: where blocks of another shape of a program are to lie, compared with what lists of requests say.
 */
#include <stdlib.h>

#include "bits.h"
#include "learner_impl.h"
#include "loaded_plan.h"
#include "match_program.h"
#include "meta_fixture.h"
#include "random_problem.h"

#define SEEDS 300u
#define FIRST_ID 1000u /* of the program's requests (trace_program.c) */
#define LONGER_ID 1000000u
#define TAKEN 4u
#define PINS 4096u

TestSuite(learner_pins, .init = set_up, .fini = tear_down);

static struct program_wish wish_of(uint64_t seed)
{
	return (struct program_wish){
		.seed = seed,
		.slots = 30,
		.iterations = 5,
		.sizes = seed % 3 == 0 ? 0 : 4,
		.lag = 1 + (uint32_t)(seed % 3),
		.streams = 1 + (uint32_t)(seed / 3 % 2),
		.dynamics = seed % 5 == 0 ? 2 : 0,
		.residents = 2,
	};
}

/* What another shape has in place of a request. */
struct change {
	bool dropped;
	uint64_t bytes; /* 0: as many */
};

/* One more request than the program has. */
static uint64_t add_request(struct seam_trace_builder *builder, const struct seam_trace_event *before)
{
	struct seam_trace_event event = *before;
	event.kind = SEAM_TRACE_ALLOC;
	event.id = LONGER_ID;
	event.size = 4096;
	cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
	event.kind = SEAM_TRACE_FREE;
	cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
	return 2;
}

/* The same program with such changes; the kind's model is to be freed. longer: it ends with a request more. */
static struct seam_iteration_kind change_program(
	const struct program_wish *wish, const struct change *changes, bool longer)
{
	static struct program_truth truth;
	struct seam_trace *trace = trace_program(wish, &truth);
	struct seam_trace_builder *builder;
	struct seam_trace_error error = {0};
	struct seam_iteration_kind kind = {0};
	uint64_t events = 0;
	cr_assert_eq(seam_trace_builder_create("another shape", 0, &builder), SEAM_OK);
	for (uint64_t i = 0; i < trace->header.event_count; i++) {
		struct seam_trace_event event = trace->events[i];
		if (i == truth.first_event)
			kind.first_event = events;
		if (i == truth.first_event + truth.iteration_events) {
			events += longer ? add_request(builder, &trace->events[i - 1]) : 0;
			kind.last_event = events;
		}
		if (event.id >= FIRST_ID) {
			const struct change *change = &changes[(event.id - FIRST_ID) % (wish->slots + wish->dynamics)];
			event.size = change->bytes != 0 ? change->bytes : event.size;
			if (change->dropped)
				continue;
		}
		cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
		events++;
	}
	if (kind.last_event == 0) {
		events += longer ? add_request(builder, &trace->events[trace->header.event_count - 1]) : 0;
		kind.last_event = events;
	}
	cr_assert_eq(seam_trace_builder_finish(builder, &error, &kind.model), SEAM_OK, "%s", error.text);
	seam_trace_builder_destroy(builder);
	seam_trace_free(trace);
	return kind;
}

/* What is to be pinned. */
struct wanted {
	struct seam_plan_fixed pins[PINS];
	size_t count, crossing_count;
};

/* The shape that there is a plan of, and the other one. */
struct shapes {
	const struct seam_plan *plan;
	const struct seam_iteration_kind *kind;
	struct seam_plan_range taken[TAKEN];
};

static void want(const struct shapes *shapes, uint32_t slot, uint64_t event, struct wanted *wanted)
{
	const uint64_t bytes = seam__bits_align_up(shapes->plan->slots[slot].size_bytes, 512);
	for (uint32_t copy = 0; copy < shapes->plan->header.copies; copy++) {
		const uint64_t offset = shapes->plan->offsets[slot * shapes->plan->header.copies + copy];
		bool is_taken = false;
		for (uint32_t i = 0; i < TAKEN; i++)
			is_taken |=
				shapes->taken[i].begin_bytes < offset + bytes && offset < shapes->taken[i].end_bytes;
		if (!is_taken)
			wanted->pins[wanted->count++] = (struct seam_plan_fixed){
				.event = event, .offset_bytes = offset, .room_bytes = bytes, .copy = copy};
	}
}

static bool is_static(const struct seam_plan_slot *slot)
{
	return (slot->flags & SEAM_PLAN_DYNAMIC) == 0;
}

/* The next slot from `at` on that lives into the next repetition; slot_count: there is none. */
static uint32_t next_crossing(const struct seam_plan *plan, uint32_t at)
{
	while (at < plan->header.slot_count &&
		(!is_static(&plan->slots[at]) || plan->slots[at].end < plan->header.positions))
		at++;
	return at;
}

static bool is_alloc(const struct seam_trace_event *event)
{
	return event->kind == SEAM_TRACE_ALLOC;
}

/* The same of the other shape's events. */
static uint64_t next_crossing_event(const struct seam_iteration_kind *kind, uint64_t at)
{
	for (; at < kind->last_event; at++) {
		const struct seam_trace_event *event = &kind->model->events[at];
		bool is_freed = !is_alloc(event) || (event->flags & SEAM_TRACE_DYNAMIC) != 0;
		for (uint64_t i = at; i < kind->last_event && !is_freed; i++)
			is_freed = kind->model->events[i].kind == SEAM_TRACE_FREE &&
				kind->model->events[i].id == event->id;
		if (!is_freed)
			break;
	}
	return at;
}

static bool are_of_one_stream(const struct shapes *shapes, uint32_t slot, uint64_t event)
{
	return shapes->plan->streams[shapes->plan->slots[slot].stream] == shapes->kind->model->events[event].stream;
}

static uint64_t slot_bytes(const struct shapes *shapes, uint32_t slot)
{
	return seam__bits_align_up(shapes->plan->slots[slot].size_bytes, 512);
}

static uint64_t event_bytes(const struct shapes *shapes, uint64_t event)
{
	return seam__bits_align_up(shapes->kind->model->events[event].size, 512);
}

/* As many on the same streams: the n-th lies where the n-th does, if there is room. */
static bool want_in_order(const struct shapes *shapes, struct wanted *wanted)
{
	const struct seam_plan *plan = shapes->plan;
	const struct seam_iteration_kind *kind = shapes->kind;
	uint32_t slot = next_crossing(plan, 0);
	uint64_t event = next_crossing_event(kind, kind->first_event);
	while (slot < plan->header.slot_count && event < kind->last_event && are_of_one_stream(shapes, slot, event)) {
		slot = next_crossing(plan, slot + 1);
		event = next_crossing_event(kind, event + 1);
	}
	if (slot < plan->header.slot_count || event < kind->last_event)
		return false;
	slot = next_crossing(plan, 0);
	event = next_crossing_event(kind, kind->first_event);
	for (; event < kind->last_event; event = next_crossing_event(kind, event + 1)) {
		if (slot_bytes(shapes, slot) >= event_bytes(shapes, event))
			want(shapes, slot, event, wanted);
		slot = next_crossing(plan, slot + 1);
	}
	return true;
}

/* Else the n-th of a size on a stream lies where the n-th of that does. */
static void want_by_size(const struct shapes *shapes, struct wanted *wanted)
{
	const struct seam_plan *plan = shapes->plan;
	const struct seam_iteration_kind *kind = shapes->kind;
	bool used[TRACE_PROGRAM_SLOTS] = {false};
	for (uint64_t event = next_crossing_event(kind, kind->first_event); event < kind->last_event;
		event = next_crossing_event(kind, event + 1)) {
		uint32_t slot = next_crossing(plan, 0);
		while (slot < plan->header.slot_count &&
			(used[slot] || !are_of_one_stream(shapes, slot, event) ||
				slot_bytes(shapes, slot) != event_bytes(shapes, event)))
			slot = next_crossing(plan, slot + 1);
		if (slot == plan->header.slot_count)
			continue;
		used[slot] = true;
		want(shapes, slot, event, wanted);
	}
}

/* Of the requests that are the same from the beginning on, those that are live where the first differs, or where the
 * other shape ends, and not beyond the period. */
static void want_beginning(const struct shapes *shapes, struct wanted *wanted)
{
	const struct seam_plan *plan = shapes->plan;
	uint64_t events[TRACE_PROGRAM_SLOTS];
	uint32_t same = 0, until = 0;
	bool differs = false;
	for (uint64_t e = shapes->kind->first_event; e < shapes->kind->last_event && !differs; e++) {
		const struct seam_trace_event *event = &shapes->kind->model->events[e];
		if (!is_alloc(event))
			continue;
		differs = same == plan->header.slot_count || !is_static(&plan->slots[same]) ||
			(event->flags & SEAM_TRACE_DYNAMIC) != 0 || slot_bytes(shapes, same) != event_bytes(shapes, e);
		until = same == plan->header.slot_count ? plan->header.positions
			: differs                       ? plan->slots[same].begin
							: plan->slots[same].begin + 1;
		if (!differs)
			events[same++] = e;
	}
	for (uint32_t slot = 0; slot < same; slot++)
		if (plan->slots[slot].end > until && plan->slots[slot].end < plan->header.positions)
			want(shapes, slot, events[slot], wanted);
}

static int compare_ranges(const void *left, const void *right)
{
	const struct seam_plan_range *a = left, *b = right;
	return a->begin_bytes < b->begin_bytes ? -1 : a->begin_bytes > b->begin_bytes;
}

/* Sorted and apart: each in its own part of the arena. */
static void draw_taken(struct shapes *shapes, uint64_t *state)
{
	const uint64_t part = shapes->plan->header.arena_bytes / 512 / TAKEN + 1;
	for (uint32_t i = 0; i < TAKEN; i++) {
		const uint64_t begin = i * part + random_below(state, part);
		shapes->taken[i] = (struct seam_plan_range){begin * 512, (begin + 1 + random_below(state, 3)) * 512};
		shapes->taken[i].end_bytes = seam__bits_min(shapes->taken[i].end_bytes, (i + 1) * part * 512);
	}
	qsort(shapes->taken, TAKEN, sizeof(shapes->taken[0]), compare_ranges);
}

static void draw_changes(const struct program_wish *wish, uint64_t *state, struct change *changes)
{
	const uint64_t kind = random_below(state, 5);
	for (uint32_t i = 0; i < wish->slots; i++) {
		changes[i] = (struct change){0};
		if (kind == 1 || (kind == 2 && random_below(state, 12) == 0))
			changes[i].bytes = 512 * (1 + random_below(state, 5));
		changes[i].dropped = kind >= 3 && random_below(state, 20) == 0;
	}
	for (uint32_t i = wish->slots; i < wish->slots + wish->dynamics; i++)
		changes[i] = (struct change){0};
}

static void compare(const struct seam_pins *pins, const struct wanted *wanted, uint64_t seed)
{
	cr_assert(pins->crossing_count == wanted->crossing_count && pins->count == wanted->count,
		"seed %llu: %zu and %zu, not %zu and %zu", (unsigned long long)seed, pins->crossing_count, pins->count,
		wanted->crossing_count, wanted->count);
	for (size_t i = 0; i < pins->count; i++) {
		const struct seam_plan_fixed *a = &pins->items[i], *b = &wanted->pins[i];
		cr_assert(a->event == b->event && a->offset_bytes == b->offset_bytes &&
				a->room_bytes == b->room_bytes && a->copy == b->copy,
			"seed %llu: pin %zu", (unsigned long long)seed, i);
	}
}

Test(learner_pins, another_shape_lies_where_the_first_one_does)
{
	static struct wanted wanted;
	size_t crossing = 0, beginning = 0, in_order = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct program_wish wish = wish_of(seed);
		struct change changes[TRACE_PROGRAM_SLOTS];
		struct seam_loaded_plan *loaded;
		struct seam_pins pins = {0};
		uint64_t state = seed;
		draw_changes(&wish, &state, changes);
		struct match_program program = match_program(&wish);
		struct seam_iteration_kind kind = change_program(&wish, changes, seed % 4 == 0);
		if (seed % 7 == 0) /* what comes behind is not its */
			kind.last_event -= (kind.last_event - kind.first_event) / 3;
		struct shapes shapes = {.plan = program.plan, .kind = &kind};
		draw_taken(&shapes, &state);
		cr_assert_eq(seam__loaded_create(meta, program.plan, &loaded), SEAM_OK);
		cr_assert_eq(seam__pins_init(&kind, &pins), SEAM_OK);
		cr_assert_eq(seam__pins_find(loaded, &kind, &(struct seam_taken_ranges){shapes.taken, TAKEN}, &pins),
			SEAM_OK);
		wanted.count = 0;
		const bool alike = want_in_order(&shapes, &wanted);
		if (!alike)
			want_by_size(&shapes, &wanted);
		wanted.crossing_count = wanted.count;
		if (program.plan->header.stream_count == 1)
			want_beginning(&shapes, &wanted);
		compare(&pins, &wanted, seed);
		crossing += pins.crossing_count;
		beginning += pins.count - pins.crossing_count;
		in_order += alike;
		seam__pins_fini(&pins);
		seam__loaded_destroy(meta, loaded);
		seam_trace_free(kind.model);
		match_program_fini(&program);
	}
	cr_assert(crossing > 2000 && beginning > 500 && in_order > SEEDS / 4 && in_order < SEEDS * 7 / 8, "%zu %zu %zu",
		crossing, beginning, in_order);
}

/* Bytes that live on from one repetition into the next. */
static uint64_t crossing_bytes(const struct seam_plan *plan)
{
	uint64_t bytes = 0;
	for (uint32_t slot = 0; (slot = next_crossing(plan, slot)) < plan->header.slot_count; slot++)
		bytes += plan->slots[slot].size_bytes;
	return bytes;
}

Test(learner_pins, further_shapes_follow_the_one_with_most_that_crosses)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct match_player player;
		struct match_program programs[3];
		uint64_t most_bytes = 0;
		const struct seam_loaded_plan *wanted = NULL;
		match_open(&player, "shapes", seed);
		for (uint32_t i = 0; i < 3; i++) {
			const struct program_wish wish = {.seed = 3 * seed + i,
				.slots = 6 + 7 * i,
				.iterations = 5,
				.lag = (uint32_t)(seed >> i & 1)};
			programs[i] = match_program(&wish);
			match_add(&player, &programs[i], true);
			const uint64_t bytes = crossing_bytes(programs[i].plan);
			if (bytes > most_bytes)
				wanted = seam__matcher_loaded(player.matcher, 0);
			most_bytes = seam__bits_max(most_bytes, bytes);
		}
		cr_assert_eq(seam__pins_model(player.matcher), wanted, "seed %llu", (unsigned long long)seed);
		match_close(&player);
		for (uint32_t i = 0; i < 3; i++)
			match_program_fini(&programs[i]);
	}
}
