/* trace_program.c: see trace_program.h. A tape of two positions for each slot is drawn once and played again and again.
 */
#include "trace_program.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "random_problem.h"

#define POSITIONS_MAX (2 * TRACE_PROGRAM_SLOTS)

/* What happens at a position. */
struct beat {
	uint32_t slot;
	bool is_alloc;
	uint32_t edge; /* 1 + number of the edge whose record stands before it; 0: none */
};

struct slot {
	uint64_t size_bytes;
	uint32_t stream;
	uint32_t thread;
	uint32_t free_thread;
	uint32_t lag;
	bool dynamic;
	uint32_t module; /* 0: none */
	bool used;       /* by the next stream */
	uint32_t begin;
	uint32_t free;
};

struct program {
	const struct program_wish *wish;
	uint64_t random;
	struct slot slots[TRACE_PROGRAM_SLOTS];
	struct beat tape[POSITIONS_MAX];
	uint32_t count; /* slots, dynamic ones among them */
	uint32_t positions;
	struct seam_trace_builder *builder;
	uint64_t events;
	uint64_t sizes[64][TRACE_PROGRAM_SLOTS]; /* [iteration][slot]: as allocated */
};

static void emit(struct program *program, struct seam_trace_event event)
{
	event.time_ns = program->events++;
	SEAM_VERIFY(seam_trace_builder_add(program->builder, &event) == SEAM_OK);
}

static uint64_t draw_size(struct program *program)
{
	uint32_t sizes = program->wish->sizes;

	return sizes == 0 ? 1 + random_below(&program->random, 1u << 20)
			  : 512 * (1 + random_below(&program->random, sizes));
}

/* Layers: l allocates an activation and a temporary, frees the temporary; behind them all, in reverse, the activations
 * go. Their positions come first; the rest is drawn. */
static void draw_layers(struct program *program)
{
	uint32_t layers = program->wish->layers;
	uint32_t at = 0;

	for (uint32_t l = 0; l < layers; l++) {
		program->slots[2 * l] =
			(struct slot){.size_bytes = 4096, .begin = at, .free = 3 * layers + (layers - 1 - l)};
		program->slots[2 * l + 1] = (struct slot){.size_bytes = 1024, .begin = at + 1, .free = at + 2};
		at += 3;
	}
	program->count = 2 * layers;
	program->positions = 4 * layers;
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t kept = *a;

	*a = *b;
	*b = kept;
}

/* The module of dynamic request `number`, from 0. */
static uint32_t module_of(const struct program_wish *wish, uint32_t number)
{
	return number % wish->modules;
}

/* A module is a part of the period: each dynamic request takes two positions of it from static ones. */
static void gather_modules(struct program *program, uint32_t *order)
{
	const struct program_wish *wish = program->wish;
	const uint32_t statics = 2 * wish->slots, all = statics + 2 * wish->dynamics;

	for (uint32_t p = statics; p < all && wish->modules != 0; p++) {
		uint32_t other;

		do
			other = (uint32_t)random_below(&program->random, statics);
		while ((order[other] - program->positions) * wish->modules / all != module_of(wish, (p - statics) / 2));
		swap(&order[p], &order[other]);
	}
}

static void draw_slots(struct program *program)
{
	const struct program_wish *wish = program->wish;
	uint32_t rest = wish->slots + wish->dynamics;
	uint32_t order[POSITIONS_MAX];

	for (uint32_t p = 0; p < 2 * rest; p++)
		order[p] = program->positions + p;
	for (uint32_t p = 2 * rest; p > 1; p--)
		swap(&order[p - 1], &order[random_below(&program->random, p)]);
	gather_modules(program, order);
	for (uint32_t i = 0; i < rest; i++) {
		struct slot *slot = &program->slots[program->count++];

		*slot = (struct slot){
			.size_bytes = draw_size(program), .begin = order[2 * i], .free = order[2 * i + 1]};
		slot->dynamic = i >= wish->slots;
		slot->module = slot->dynamic && wish->modules != 0 ? 1 + module_of(wish, i - wish->slots) : 0;
		slot->used = i < wish->users;
		if (!slot->dynamic && wish->lag > 0)
			slot->lag = (uint32_t)random_below(&program->random, wish->lag + 1);
		if (slot->lag == 0 && slot->free < slot->begin) {
			slot->begin = order[2 * i + 1];
			slot->free = order[2 * i];
		}
	}
	program->positions += 2 * rest;
}

static void draw(struct program *program)
{
	const struct program_wish *wish = program->wish;

	draw_layers(program);
	draw_slots(program);
	for (uint32_t i = 0; i < program->count; i++) {
		struct slot *slot = &program->slots[i];

		slot->stream = wish->streams > 1 ? (uint32_t)random_below(&program->random, wish->streams) : 0;
		slot->thread = wish->threads > 1 ? (uint32_t)random_below(&program->random, wish->threads) : 0;
		slot->free_thread = wish->threads > 1 ? (uint32_t)random_below(&program->random, wish->threads) : 0;
		program->tape[slot->begin] = (struct beat){.slot = i, .is_alloc = true};
		program->tape[slot->free] = (struct beat){.slot = i};
	}
	for (uint32_t e = 0; e < wish->edges; e++)
		program->tape[random_below(&program->random, program->positions)].edge = e + 1;
}

static struct seam_trace_event block_event(const struct program *program, uint32_t iteration, uint32_t number)
{
	const struct slot *slot = &program->slots[number];
	char name[32] = "";
	uint32_t module = 0;

	if (slot->module != 0) {
		(void)snprintf(name, sizeof(name), "layers.%u.experts", slot->module);
		SEAM_VERIFY(seam_trace_builder_string(program->builder, name, &module) == SEAM_OK);
	}
	return (struct seam_trace_event){
		.module = module,
		.id = 1000 + (uint64_t)iteration * program->count + number,
		.size = program->sizes[iteration % 64][number],
		.stream = slot->stream,
	};
}

/* A record on one stream, the wait for it on the next. */
static void emit_edge(struct program *program, uint32_t edge)
{
	emit(program,
		(struct seam_trace_event){
			.kind = SEAM_TRACE_EVENT_RECORD, .id = edge, .stream = edge % program->wish->streams});
	emit(program,
		(struct seam_trace_event){
			.kind = SEAM_TRACE_EVENT_WAIT, .id = edge, .stream = (edge + 1) % program->wish->streams});
}

static void play_beat(struct program *program, uint32_t iteration, const struct beat *beat)
{
	const struct slot *slot = &program->slots[beat->slot];
	struct seam_trace_event event;

	if (beat->edge != 0)
		emit_edge(program, beat->edge);
	if (!beat->is_alloc) {
		if (iteration < slot->lag)
			return;
		event = block_event(program, iteration - slot->lag, beat->slot);
		event.kind = SEAM_TRACE_FREE;
		event.thread = slot->free_thread;
		emit(program, event);
		return;
	}
	program->sizes[iteration % 64][beat->slot] =
		slot->dynamic ? 1 + random_below(&program->random, 1u << 16) : slot->size_bytes;
	event = block_event(program, iteration, beat->slot);
	event.kind = SEAM_TRACE_ALLOC;
	event.thread = slot->thread;
	event.flags = slot->dynamic ? SEAM_TRACE_DYNAMIC : 0;
	emit(program, event);
	if (slot->used && program->wish->streams > 1) {
		event.kind = SEAM_TRACE_RECORD_STREAM;
		event.flags = 0;
		event.stream = (slot->stream + 1) % program->wish->streams;
		emit(program, event);
	}
}

static void emit_resident(struct program *program, uint64_t id, struct program_truth *truth)
{
	const struct seam_trace_event event = {.kind = SEAM_TRACE_ALLOC, .id = id, .size = draw_size(program)};

	emit(program, event);
	truth->resident_bytes += event.size;
	truth->resident_count++;
}

static void play_iteration(struct program *program, uint32_t iteration, uint32_t positions, struct program_truth *truth)
{
	uint64_t first = program->events;

	for (uint32_t p = 0; p < positions; p++) {
		play_beat(program, iteration, &program->tape[p]);
		if (iteration == 0 && p < program->wish->states)
			emit_resident(program, 500 + p, truth);
	}
	if (positions < program->positions)
		return;
	if (program->wish->marks)
		emit(program, (struct seam_trace_event){.kind = SEAM_TRACE_STEP, .id = iteration});
	truth->iteration_events = (uint32_t)(program->events - first);
	truth->first_event = first;
}

/* What comes behind, as an evaluation would: nothing of it stays. */
static void play_tail(struct program *program)
{
	for (uint32_t i = 0; i < program->wish->tail; i++) {
		struct seam_trace_event event = {
			.kind = SEAM_TRACE_ALLOC, .id = UINT64_C(1) << 40, .size = 3 + draw_size(program)};

		emit(program, event);
		event.kind = SEAM_TRACE_FREE;
		emit(program, event);
	}
}

static void tell(const struct program *program, struct program_truth *truth)
{
	truth->positions = program->positions;
	truth->copies = 1;
	for (uint32_t p = 0; p < program->positions; p++) {
		const struct slot *slot = &program->slots[program->tape[p].slot];
		uint32_t end = slot->free + slot->lag * program->positions;
		uint32_t copies = (end - p + program->positions - 1) / program->positions;

		if (!program->tape[p].is_alloc || slot->dynamic)
			continue;
		truth->copies = copies > truth->copies ? copies : truth->copies;
		truth->slots[truth->slot_count++] = (struct program_slot){
			.size_bytes = slot->size_bytes, .begin = p, .end = end, .stream = slot->stream};
	}
}

struct seam_trace *trace_program(const struct program_wish *wish, struct program_truth *ret_truth)
{
	static struct program program; /* too large for a stack */
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};

	memset(&program, 0, sizeof(program));
	memset(ret_truth, 0, sizeof(*ret_truth));
	program.wish = wish;
	program.random = wish->seed * 1000003 + 17;
	SEAM_VERIFY(wish->slots + wish->dynamics + 2 * wish->layers <= TRACE_PROGRAM_SLOTS && wish->lag < 64);
	SEAM_VERIFY(seam_trace_builder_create("a made-up program", 0, &program.builder) == SEAM_OK);
	draw(&program);
	tell(&program, ret_truth);
	for (uint32_t r = 0; r < wish->residents; r++)
		emit_resident(&program, 1 + r, ret_truth);
	for (uint32_t i = 0; i < wish->iterations; i++)
		play_iteration(&program, i, program.positions, ret_truth);
	if (wish->partial)
		play_iteration(&program, wish->iterations, program.positions / 3, ret_truth);
	play_tail(&program);
	SEAM_VERIFY(seam_trace_builder_finish(program.builder, &error, &trace) == SEAM_OK);
	seam_trace_builder_destroy(program.builder);
	return trace;
}
