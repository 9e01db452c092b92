/* program_draw.c: the parameters of a made-up program, and the line that says them.
 *
 * Not here: what such a program asks for (program_parts.h), and its size in bytes (program_make.c).
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "program.h"
#include "program_random.h"

#define CHOICES_MOST 6u
#define GIB (UINT64_C(1) << 30)
#define TARGET_LEAST (UINT64_C(1200) << 20) /* above the least peak, since sizes are rounded */
#define TARGET_MOST (52 * GIB)              /* below the most, likewise */
#define LAYER_BYTES_MOST (3 * GIB)          /* so that one block stays in the hundreds of MiB, a few above */

/* The index of a share, with the probability that it has in the sum of all. */
static uint32_t choose(uint64_t *state, const uint32_t shares[], uint32_t count)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i < count; i++)
		sum += shares[i];
	uint32_t drawn = program_between(state, 0, sum - 1);
	for (uint32_t i = 0; i < count; i++) {
		if (drawn < shares[i])
			return i;
		drawn -= shares[i];
	}
	return 0;
}

#define CHOOSE(state, ...) \
	choose(state, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* Each power of two between is as likely. */
static uint64_t between_by_powers(uint64_t *state, uint64_t least, uint64_t most)
{
	uint32_t doublings = 0;
	while ((least << (doublings + 1)) < most)
		doublings++;
	uint64_t low = least << program_between(state, 0, doublings);
	uint64_t high = low * 2 < most ? low * 2 : most;
	return low + program_random(state) % (high - low + 1);
}

static void draw_model(struct program *program, uint64_t *state)
{
	static const uint32_t vocabularies[] = {0, 1000, 32000, 50257, 151936};
	program->family = CHOOSE(state, 60, 25, 15);
	program->shape = CHOOSE(state, 60, 20, 20);
	program->layers = (uint32_t)between_by_powers(state, 2, 64);
	program->element_bytes = program_chance(state, 60) ? 2 : 4;
	program->vocabulary = vocabularies[CHOOSE(state, 25, 15, 25, 20, 15)];
	program->weights = program_between(state, 2, PROGRAM_WEIGHTS_MOST);
	program->items = program_between(state, 3, PROGRAM_ITEMS_MOST);
	program->trained_percent = program_chance(state, 70) ? 100 : program_between(state, 5, 60);
	program->residents = CHOOSE(state, 70, 30);
	uint64_t most = program->layers * LAYER_BYTES_MOST;
	program->target_bytes = between_by_powers(state, TARGET_LEAST, most < TARGET_MOST ? most : TARGET_MOST);
	/* First guesses: program_make() fits them to the target. */
	program->hidden = 64 * (uint32_t)between_by_powers(state, 4, 128);
	program->tokens = (uint32_t)between_by_powers(state, 128, 32768);
}

static void draw_course(struct program *program, uint64_t *state)
{
	bool infers = program->family == PROGRAM_INFER;
	program->optimizer = infers ? OPTIMIZER_NONE : CHOOSE(state, 10, 20, 70);
	program->gradients = CHOOSE(state, 50, 50);
	program->micro_batches = infers || program_chance(state, 50) ? 1 : program_between(state, 2, 8);
	program->in_flight = program->micro_batches > 1 && program_chance(state, 50)
		? program_between(state, 2, program->micro_batches < 4 ? program->micro_batches : 4)
		: 1;
	program->epochs = program->family == PROGRAM_GENERATE ? program_between(state, 1, 3) : 1;
	program->recompute = !infers && program_chance(state, 30);
	program->new_tokens = program->family == PROGRAM_TRAIN ? 0 : (uint32_t)between_by_powers(state, 4, 128);
	program->cache = CHOOSE(state, 45, 20, 35);
	program->sessions = infers && program_chance(state, 40) ? program_between(state, 1, 3) : 0;
	program->lengths = CHOOSE(state, 55, 22, 23);
	program->buckets = program->lengths == LENGTHS_BUCKETS ? program_between(state, 2, 4) : 0;
	program->evaluate_every = !infers && program_chance(state, 30) ? program_between(state, 2, 5) : 0;
	program->checkpoint_every = !infers && program_chance(state, 20) ? program_between(state, 3, 6) : 0;
	program->checkpoint = CHOOSE(state, 50, 50);
	program->history = program_chance(state, 25) ? program_between(state, 1, 3) : 0;
	program->marks = program_chance(state, 50);
}

static void draw_machine(struct program *program, uint64_t *state)
{
	bool infers = program->family == PROGRAM_INFER;
	program->streams = infers ? CHOOSE(state, 60, 10, 15, 0, 15) : CHOOSE(state, 50, 12, 12, 12, 14);
	program->threads = infers ? CHOOSE(state, 85, 0, 15) : CHOOSE(state, 35, 50, 15);
	program->workspace = CHOOSE(state, 50, 25, 25);
	/* One that grows when a longer sequence first comes would make that iteration one of no kind. */
	if (program->workspace == WORKSPACE_GROW && program->lengths != LENGTHS_FIXED)
		program->workspace = WORKSPACE_FIT;
	program->experts = program_chance(state, 15) ? program_between(state, 2, 16) : 0;
	program->told = program->experts > 0 && program_chance(state, 50);
}

static void draw_layer(struct program *program, uint64_t *state)
{
	static const uint32_t weights[] = {0, 8, 24, 32};
	static const uint32_t items[] = {0, 1, 4, 8, 16, 24, 32};
	for (uint32_t i = 0; i < program->weights; i++)
		program->weight_eighths[i] = i == 0 ? 8 : weights[CHOOSE(state, 40, 30, 15, 15)];
	for (uint32_t i = 0; i < program->items; i++) {
		struct program_item *item = &program->item[i];
		item->eighths = i == 0 ? 8 : items[CHOOSE(state, 15, 10, 10, 35, 10, 8, 12)];
		item->saved = i == 0 || program_chance(state, 45);
		item->stays = program_between(state, 0, 3);
		item->stream = program->streams == STREAMS_APART && program_chance(state, 40)
			? program_between(state, 1, 3)
			: 0;
	}
}

void program_draw(uint64_t seed, struct program *ret_program)
{
	struct program program = {.seed = seed};
	uint64_t state = seed;
	draw_model(&program, &state);
	draw_course(&program, &state);
	draw_machine(&program, &state);
	draw_layer(&program, &state);
	*ret_program = program;
}

struct line {
	char *text;
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int bytes = vsnprintf(line->text + line->used, PROGRAM_LINE_BYTES - line->used, format, arguments);
	va_end(arguments);
	if (bytes > 0 && line->used + (size_t)bytes < PROGRAM_LINE_BYTES)
		line->used += (size_t)bytes;
}

void program_line(const struct program *program, const struct program_truth *truth, char line[PROGRAM_LINE_BYTES])
{
	static const char *const repeats[] = {"strict", "kinds", "no"};
	struct line out = {.text = line};
	add(&out, "program seed=%" PRIu64, program->seed);
#define PROGRAM_CHOICE(field, ...)                                            \
	{                                                                     \
		static const char *const names[CHOICES_MOST] = {__VA_ARGS__}; \
		add(&out, " " #field "=%s", names[program->field]);           \
	}
#define PROGRAM_NUMBER(field) add(&out, " " #field "=%" PRIu32, program->field);
#include "program_fields.def"
#undef PROGRAM_CHOICE
#undef PROGRAM_NUMBER
	add(&out,
		" repeats=%s kinds=%" PRIu32 " from=%" PRIu32 " iterations=%" PRIu32 " requests=%" PRIu64
		" peak_mib=%" PRIu64,
		repeats[truth->repeats], truth->kinds, truth->from, truth->iterations, truth->requests,
		truth->peak_bytes >> 20);
}
