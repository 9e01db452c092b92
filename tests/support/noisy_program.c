/* noisy_program.c: see noisy_program.h. An iteration is a list of acts; noise changes a copy of it. */
#include "noisy_program.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "random_problem.h"

#define ACTS_MAX (3 * NOISY_SLOTS)
#define RACE_PAIRS 8u

struct slot {
	uint64_t size_bytes;
	uint64_t stream;
	uint32_t thread;
	bool scales; /* with the length of the sequence */
	bool drifts;
};

/* Of a slot of this iteration, or of the one before it. */
struct act {
	uint32_t slot;
	bool alloc;
	bool older; /* a free: the block of the iteration before */
	uint32_t thread;
};

struct list {
	struct act acts[ACTS_MAX];
	uint32_t count;
};

struct program {
	const struct noisy_wish *wish;
	uint64_t random;
	struct slot slots[NOISY_SLOTS];
	uint32_t count;
	struct list list;
	struct seam_trace_builder *builder;
	uint64_t events;
	uint64_t next_id;
	uint64_t ids[NOISY_SLOTS]; /* live block of each slot, 0: none */
	uint64_t sizes[NOISY_SLOTS];
	uint64_t old_ids[NOISY_SLOTS]; /* of the iteration before */
	uint64_t old_sizes[NOISY_SLOTS];
	uint32_t late_slot; /* whose block of the iteration before is still to be freed; NOISY_SLOTS: none */
	uint32_t silent;    /* acts to come that the recording does not show */
};

/* What one more unit of length adds. */
static uint64_t scaling(uint64_t size_bytes)
{
	return size_bytes / 4 + 512;
}

uint64_t noisy_size(const struct noisy_request *request, uint32_t length)
{
	return request->size_bytes + (request->scales ? scaling(request->size_bytes) * length : 0);
}

const char *noisy_name(enum noise noise)
{
	static const char *const names[NOISE_KINDS] = {
		"none", "extra", "drop", "swap", "resize", "late", "all", "evaluation", "checkpoint", "race"};

	return names[noise];
}

static uint32_t add_slot(struct program *program, uint64_t size_bytes, uint32_t thread, bool scales)
{
	uint32_t streams = program->wish->streams > 1 ? program->wish->streams : 1;

	SEAM_VERIFY(program->count < NOISY_SLOTS);
	program->slots[program->count] = (struct slot){.size_bytes = size_bytes,
		.thread = thread,
		.scales = scales,
		.stream = random_below(&program->random, streams)};
	return program->count++;
}

static void insert(struct list *list, uint32_t at, struct act act)
{
	SEAM_VERIFY(list->count < ACTS_MAX && at <= list->count);
	memmove(&list->acts[at + 1], &list->acts[at], (list->count - at) * sizeof(struct act));
	list->acts[at] = act;
	list->count++;
}

static void take_out(struct list *list, uint32_t at)
{
	list->count--;
	memmove(&list->acts[at], &list->acts[at + 1], (list->count - at) * sizeof(struct act));
}

static void add(struct program *program, uint32_t slot, bool alloc, bool older)
{
	insert(&program->list, program->list.count,
		(struct act){.slot = slot, .alloc = alloc, .older = older, .thread = program->slots[slot].thread});
}

static void draw_forward(struct program *program, uint32_t *activations)
{
	uint32_t layers = program->wish->layers;

	for (uint32_t l = 0; l < layers; l++) {
		uint32_t temporary = add_slot(program, 24576, 0, true);

		program->slots[temporary].stream = 0;
		add(program, temporary, true, false);
		activations[l] = add_slot(program, 65536, 0, true);
		program->slots[activations[l]].stream = 0;
		add(program, activations[l], true, false);
		add(program, temporary, false, false);
	}
}

/* first: gradients are made; else they are added to. */
static void draw_backward(struct program *program, const uint32_t *activations, uint32_t *gradients, bool first)
{
	for (uint32_t l = program->wish->layers; l-- > 0;) {
		uint32_t temporary = add_slot(program, 40960, 1, true);
		uint32_t gradient = add_slot(program, 200000, 1, false);

		program->slots[temporary].stream = program->slots[gradient].stream = 0;
		add(program, temporary, true, false);
		add(program, gradient, true, false);
		add(program, activations[l], false, false);
		add(program, temporary, false, false);
		if (first)
			gradients[l] = gradient;
		else
			add(program, gradient, false, false);
	}
}

static void draw_optimizer(struct program *program)
{
	for (uint32_t l = 0; l < program->wish->layers; l++) {
		uint32_t one = add_slot(program, 200000 + 512 * l, 0, false);
		uint32_t other = add_slot(program, 100000 + 512 * l, 0, false);

		add(program, one, true, false);
		add(program, other, true, false);
		add(program, one, false, false);
		add(program, other, false, false);
	}
}

static void draw_singles(struct program *program)
{
	for (uint32_t i = 0; i < program->wish->singles; i++) {
		bool scales = random_below(&program->random, 2) ==
			0; /* arguments would be drawn in an order of the compiler's choice */
		uint32_t slot = add_slot(program, 512 * (1 + random_below(&program->random, 400)), 0, scales);
		uint32_t begin = (uint32_t)random_below(&program->random, program->list.count + 1);
		uint32_t length = (uint32_t)random_below(&program->random, 20);
		uint32_t end =
			begin + 1 + length < program->list.count + 1 ? begin + 1 + length : program->list.count + 1;

		insert(&program->list, begin, (struct act){.slot = slot, .alloc = true});
		insert(&program->list, end, (struct act){.slot = slot});
	}
}

static void draw(struct program *program)
{
	const struct noisy_wish *wish = program->wish;
	uint32_t activations[64];
	uint32_t gradients[64];
	uint32_t out = add_slot(program, 777777, 0, true);
	uint32_t micro_batches = wish->micro_batches > 1 ? wish->micro_batches : 1;

	SEAM_VERIFY(wish->layers <= 64);
	for (uint32_t m = 0; m < micro_batches; m++) {
		draw_forward(program, activations);
		if (m == 0) {
			add(program, out, true, false);
			add(program, out, false, true);
		}
		draw_backward(program, activations, gradients, m == 0);
	}
	draw_optimizer(program);
	draw_singles(program);
	for (uint32_t l = wish->layers; l-- > 0;)
		insert(&program->list, 0, (struct act){.slot = gradients[l], .older = true});
	for (uint32_t d = 0; d < wish->drift; d++)
		program->slots[random_below(&program->random, program->count)].drifts = true;
}

static void emit(struct program *program, struct seam_trace_event event)
{
	if (program->silent > 0)
		return;
	event.time_ns = program->events++;
	SEAM_VERIFY(seam_trace_builder_add(program->builder, &event) == SEAM_OK);
}

static void emit_alloc(struct program *program, uint32_t number, uint64_t size_bytes, uint32_t thread)
{
	const struct slot *slot = &program->slots[number];
	const struct seam_trace_event event = {.kind = SEAM_TRACE_ALLOC,
		.id = program->next_id,
		.size = size_bytes,
		.stream = slot->stream,
		.thread = thread};

	program->ids[number] = program->next_id++;
	program->sizes[number] = size_bytes;
	emit(program, event);
}

static void emit_free(struct program *program, uint32_t number, uint64_t *ids, const uint64_t *sizes, uint32_t thread)
{
	if (ids[number] != 0)
		emit(program,
			(struct seam_trace_event){.kind = SEAM_TRACE_FREE,
				.id = ids[number],
				.size = sizes[number],
				.stream = program->slots[number].stream,
				.thread = thread});
	ids[number] = 0;
}

/* A block of nobody: allocated, and freed at once. */
static void emit_passing(struct program *program, uint64_t size_bytes, uint32_t thread)
{
	struct seam_trace_event event = {
		.kind = SEAM_TRACE_ALLOC, .id = program->next_id++, .size = size_bytes, .thread = thread};

	emit(program, event);
	event.kind = SEAM_TRACE_FREE;
	emit(program, event);
}

static uint32_t place_of(const struct list *list, uint32_t slot, bool alloc)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->acts[i].slot == slot && list->acts[i].alloc == alloc && !list->acts[i].older)
			return i;
	return UINT32_MAX;
}

/* A slot that an iteration frees itself. */
static uint32_t draw_inner(struct program *program, const struct list *list)
{
	uint32_t slot;

	do
		slot = (uint32_t)random_below(&program->random, program->count);
	while (place_of(list, slot, false) == UINT32_MAX);
	return slot;
}

static void swap_neighbours(struct program *program, struct list *list)
{
	for (uint32_t tries = 0; tries < 1000; tries++) {
		uint32_t at = (uint32_t)random_below(&program->random, list->count - 1);
		struct act first = list->acts[at];

		if (!first.alloc || !list->acts[at + 1].alloc || first.thread != list->acts[at + 1].thread)
			continue;
		list->acts[at] = list->acts[at + 1];
		list->acts[at + 1] = first;
		return;
	}
}

static void free_late(struct program *program, struct list *list)
{
	uint32_t slot = draw_inner(program, list);
	uint32_t at = place_of(list, slot, false);
	struct act act = list->acts[at];
	uint32_t later = at + 1 + (uint32_t)random_below(&program->random, 30);

	take_out(list, at);
	if (later < list->count)
		insert(list, later, act);
	else
		program->late_slot = slot;
}

/* Changes an iteration. Returns the slot that has another size, or NOISY_SLOTS. */
static uint32_t disturb(struct program *program, enum noise noise, struct list *list)
{
	uint32_t slot;

	switch (noise) {
	case NOISE_DROP:
		slot = draw_inner(program, list);
		take_out(list, place_of(list, slot, true));
		take_out(list, place_of(list, slot, false));
		break;
	case NOISE_SWAP:
		swap_neighbours(program, list);
		break;
	case NOISE_RESIZE:
		return (uint32_t)random_below(&program->random, program->count);
	case NOISE_LATE:
		free_late(program, list);
		break;
	default:
		break;
	}
	return NOISY_SLOTS;
}

/* The racing thread's requests of an iteration: pairs that come at these acts. */
static void draw_race(struct program *program, uint32_t acts, uint32_t *places)
{
	for (uint32_t r = 0; r < RACE_PAIRS; r++)
		places[r] = (uint32_t)random_below(&program->random, acts);
}

static void play_race(struct program *program, const uint32_t *places, uint32_t act, uint32_t *next)
{
	for (uint32_t r = 0; r < RACE_PAIRS; r++) {
		if (places[r] != act)
			continue;
		for (uint32_t i = 0; i < 2; i++) {
			struct seam_trace_event event = {.kind = SEAM_TRACE_ALLOC,
				.id = program->next_id++,
				.size = 4096 * ++*next,
				.thread = 7};

			emit(program, event);
			event.kind = SEAM_TRACE_FREE;
			emit(program, event);
		}
	}
}

static void emit_live(struct program *program, const uint64_t *ids, const uint64_t *sizes)
{
	for (uint32_t i = 0; i < program->count; i++)
		if (ids[i] != 0)
			emit(program,
				(struct seam_trace_event){.kind = SEAM_TRACE_ALLOC,
					.id = ids[i],
					.size = sizes[i],
					.stream = program->slots[i].stream,
					.flags = SEAM_TRACE_RESIDENT});
}

/* The recording begins: what is live stands in front. */
static void speak(struct program *program)
{
	if (program->silent == 0 || --program->silent > 0)
		return;
	emit_live(program, program->old_ids, program->old_sizes);
	emit_live(program, program->ids, program->sizes);
}

static void play_act(struct program *program, const struct act *act, uint32_t length, uint32_t resized)
{
	const struct slot *slot = &program->slots[act->slot];
	uint64_t size_bytes = slot->size_bytes;

	if (!act->alloc && act->older)
		emit_free(program, act->slot, program->old_ids, program->old_sizes, act->thread);
	else if (!act->alloc)
		emit_free(program, act->slot, program->ids, program->sizes, act->thread);
	else {
		if (slot->scales)
			size_bytes += scaling(size_bytes) * length;
		if (slot->drifts)
			size_bytes += 16 * (1 + random_below(&program->random, 100000));
		if (act->slot == resized)
			size_bytes += 48 * (1 + random_below(&program->random, 100));
		emit_alloc(program, act->slot, size_bytes, act->thread);
	}
	speak(program);
}

static void play_iteration(struct program *program, uint32_t iteration, uint32_t length)
{
	static struct list list;
	enum noise noise = program->wish->noise;
	uint32_t resized;
	uint32_t extra = UINT32_MAX;
	uint32_t race[RACE_PAIRS];
	uint32_t raced = 0;

	memcpy(&list, &program->list, sizeof(list));
	memcpy(program->old_ids, program->ids, sizeof(program->ids));
	memcpy(program->old_sizes, program->sizes, sizeof(program->sizes));
	memset(program->ids, 0, sizeof(program->ids));
	if (program->late_slot != NOISY_SLOTS)
		emit_free(program, program->late_slot, program->old_ids, program->old_sizes, 0);
	program->late_slot = NOISY_SLOTS;
	if (noise == NOISE_ALL)
		noise = (enum noise)(NOISE_EXTRA + random_below(&program->random, 5));
	resized = disturb(program, noise, &list);
	draw_race(program, list.count, race);
	if (noise == NOISE_EXTRA)
		extra = (uint32_t)random_below(&program->random, list.count);
	for (uint32_t i = 0; i < list.count; i++) {
		if (i == extra)
			emit_passing(program, 512 * (1000 + random_below(&program->random, 100)), list.acts[i].thread);
		if (noise == NOISE_RACE)
			play_race(program, race, i, &raced);
		play_act(program, &list.acts[i], length, resized);
		if (iteration == 0 && i % 7 == 0)
			emit(program,
				(struct seam_trace_event){
					.kind = SEAM_TRACE_ALLOC, .id = program->next_id++, .size = 300000});
	}
	if (program->wish->marks)
		emit(program, (struct seam_trace_event){.kind = SEAM_TRACE_STEP, .id = iteration});
}

static void play(struct program *program, struct noisy_truth *truth)
{
	const struct noisy_wish *wish = program->wish;
	uint32_t lengths = wish->lengths > 1 ? wish->lengths : 1;

	for (uint32_t i = 0; i < wish->iterations; i++) {
		uint32_t length = (uint32_t)random_below(&program->random, lengths);

		if (wish->noise == NOISE_EVAL && i % 3 == 2)
			for (uint32_t e = 0; e < 40; e++)
				emit_passing(program, 1536 * (1 + e % 10), 0);
		if (wish->noise == NOISE_CHECKPOINT && i == wish->iterations / 2)
			for (uint32_t e = 0; e < 25; e++)
				emit_passing(program, 100001 + 1000 * e, 0);
		play_iteration(program, i, length);
		if (i > 0 && length < 16)
			truth->seen[length]++;
	}
}

static void tell(const struct program *program, struct noisy_truth *truth)
{
	for (uint32_t i = 0; i < program->list.count; i++) {
		const struct act *act = &program->list.acts[i];
		const struct slot *slot = &program->slots[act->slot];

		if (act->alloc)
			truth->requests[truth->count++] =
				(struct noisy_request){.size_bytes = slot->drifts ? 0 : slot->size_bytes,
					.stream = slot->stream,
					.thread = act->thread,
					.scales = slot->scales && !slot->drifts};
	}
	for (uint32_t r = 1; program->wish->noise == NOISE_RACE && r <= 2 * RACE_PAIRS; r++)
		truth->requests[truth->count++] = (struct noisy_request){.size_bytes = 4096 * r, .thread = 7};
}

struct seam_trace *noisy_program(const struct noisy_wish *wish, struct noisy_truth *ret_truth)
{
	static struct program program; /* too large for a stack */
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};

	memset(&program, 0, sizeof(program));
	memset(ret_truth, 0, sizeof(*ret_truth));
	program.wish = wish;
	program.random = wish->seed * 1000003 + 17;
	program.next_id = 1;
	program.late_slot = NOISY_SLOTS;
	SEAM_VERIFY(seam_trace_builder_create("a made-up program", 0, &program.builder) == SEAM_OK);
	draw(&program);
	tell(&program, ret_truth);
	for (uint32_t r = 0; r < wish->layers; r++)
		emit(&program,
			(struct seam_trace_event){.kind = SEAM_TRACE_ALLOC,
				.id = program.next_id++,
				.size = 200000,
				.flags = SEAM_TRACE_RESIDENT});
	if (wish->middle)
		program.silent = program.list.count / 3;
	play(&program, ret_truth);
	SEAM_VERIFY(seam_trace_builder_finish(program.builder, &error, &trace) == SEAM_OK);
	seam_trace_builder_destroy(program.builder);
	return trace;
}
