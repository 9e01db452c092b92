/* match.c: what it costs to be recognised in a plan: nanoseconds of an allocation with its free by the matcher alone,
 * in a program that keeps to its plan; and with --choices, how often a request is recognised rightly in one that does
 * not.
 *
 * --choices SEED: all recordings are kinds of iterations of one program, which leaves requests out, asks for more, for
 * others and in another order, and breaks iterations off. The truth is known, so the share of right choices is printed:
 * weights of tracker_score.c are chosen on some seeds and checked on others.
 *
 * Plans each recording, then asks for what the plan says, repetition after repetition, and finds every block by its
 * address before it frees it, as the pool does. Printed: the middle one of many repetitions, divided by its requests;
 * and the same loop without the matcher, which is in the first figure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <seam/plan.h>

#include "clock.h"
#include "input.h"
#include "matcher_state.h"
#include "meta.h"
#include "planned.h"

#define LEAST_NS UINT64_C(500000000)
#define REPETITIONS 4096u

/* One allocation or free of the period. */
struct act {
	struct seam_match_ask ask;
	uint32_t slot;
	uint32_t lag;
	bool is_free;
};

struct program {
	struct act *acts;
	uint64_t *offsets; /* slot * (copies + 1) + repetition % (copies + 1): where it is live; UINT64_MAX */
	uint32_t count;
	uint32_t slots;
	uint32_t turns; /* copies + 1 */
	uint32_t owner; /* of its blocks */
	double made_ms;
};

static void fill(struct program *program, const struct seam_plan *plan)
{
	const struct seam_plan_header *header = &plan->header;
	program->count = header->positions;
	program->slots = header->slot_count;
	program->turns = header->copies + 1;
	program->acts = calloc(program->count, sizeof(*program->acts));
	program->offsets = malloc((size_t)program->slots * program->turns * sizeof(*program->offsets));
	if (program->acts == NULL || program->offsets == NULL)
		abort();
	for (uint32_t i = 0; i < program->slots; i++) {
		const struct seam_plan_slot *slot = &plan->slots[i];
		const struct seam_match_ask ask = {slot->size_bytes, plan->streams[slot->stream], slot->thread,
			(slot->flags & SEAM_PLAN_DYNAMIC) != 0};
		program->acts[slot->begin] = (struct act){ask, i, 0, false};
		program->acts[slot->end % program->count] = (struct act){ask, i, slot->end / program->count, true};
	}
	for (size_t i = 0; i < (size_t)program->slots * program->turns; i++)
		program->offsets[i] = UINT64_MAX;
}

static uint64_t *place(struct program *program, uint32_t slot, uint64_t repetition)
{
	return &program->offsets[(size_t)slot * program->turns + repetition % program->turns];
}

static void repeat(struct program *program, struct seam_matcher *matcher, uint64_t repetition)
{
	for (uint32_t i = 0; i < program->count; i++) {
		const struct act *act = &program->acts[i];
		if (act->is_free) {
			uint64_t *offset =
				repetition < act->lag ? NULL : place(program, act->slot, repetition - act->lag);
			if (offset == NULL || *offset == UINT64_MAX)
				continue;
			if (matcher != NULL)
				seam__matcher_free(matcher, seam__matcher_find(matcher, *offset));
			*offset = UINT64_MAX;
			continue;
		}
		struct seam_plan_block *plan_block;
		if (matcher == NULL)
			*place(program, act->slot, repetition) = act->ask.bytes;
		else if (seam__matcher_alloc(matcher, &act->ask, &plan_block) == SEAM_MISS_NONE)
			*place(program, act->slot, repetition) = plan_block->offset;
	}
}

#define BESIDE (UINT64_MAX - 1) /* served by somebody else */

/* Programs that do not keep to their plans, each a kind of iteration of one program. Each act may be left out, changed
 * or come in another order, and an iteration may be broken off: what it made is freed, and another one begins. */
struct disturbed {
	struct seam_matcher *matcher;
	struct program *programs;
	uint32_t kinds;
	uint64_t random;
	uint64_t right, wrong;   /* requests that were taken for their slot, and for another one */
	uint64_t unknown;        /* requests of a slot that were taken for none */
	uint64_t extra, taken;   /* requests of no slot, and how many were taken for one */
	uint64_t *unexpected_ns; /* time of requests that were not found at once */
	uint32_t unexpected;
};

#define UNEXPECTED_MOST 65536u
#define DISTURBED_ITERATIONS 24u
#define DISTURBANCES 6u /* in an iteration, on average */

/* SplitMix64, below `limit`. */
static uint64_t draw(struct disturbed *disturbed, uint64_t limit)
{
	uint64_t z = (disturbed->random += UINT64_C(0x9E3779B97F4A7C15));
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return (z ^ (z >> 31)) % limit;
}

static void let_go(struct disturbed *disturbed, uint64_t *offset)
{
	if (*offset == BESIDE)
		seam__matcher_beside(disturbed->matcher, -1);
	else if (*offset != UINT64_MAX)
		seam__matcher_free(disturbed->matcher, seam__matcher_find(disturbed->matcher, *offset));
	*offset = UINT64_MAX;
}

/* Which slot a request was taken for, served from it or not; UINT32_MAX: none. */
static uint32_t ask(
	struct disturbed *disturbed, const struct seam_match_ask *ask, uint32_t *ret_owner, uint64_t *ret_offset)
{
	struct seam_matcher *matcher = disturbed->matcher;
	struct seam_plan_block *plan_block = NULL;
	const uint64_t begin = seam__clock_ns();
	const enum seam_miss miss = seam__matcher_alloc(matcher, ask, &plan_block);
	const uint64_t ns = seam__clock_ns() - begin;
	if ((miss == SEAM_MISS_size || miss == SEAM_MISS_lost) && disturbed->unexpected < UNEXPECTED_MOST)
		disturbed->unexpected_ns[disturbed->unexpected++] = ns;
	const struct seam_plan_block *found = miss == SEAM_MISS_NONE ? plan_block : matcher->missing;
	*ret_offset = miss == SEAM_MISS_NONE ? plan_block->offset : BESIDE;
	if (miss != SEAM_MISS_NONE)
		seam__matcher_beside(matcher, 1);
	if (found == NULL || found->loaded == SEAM_PLANNED_DYNAMIC)
		return UINT32_MAX;
	*ret_owner = found->loaded;
	return found->number / matcher->owners[found->loaded]->copies;
}

static void ask_as(
	struct disturbed *disturbed, uint32_t kind, const struct act *act, uint64_t repetition, uint64_t bytes)
{
	struct program *program = &disturbed->programs[kind];
	uint64_t *offset = place(program, act->slot, repetition);
	struct seam_match_ask request = act->ask;
	uint32_t owner = UINT32_MAX;
	let_go(disturbed, offset);
	request.bytes = bytes;
	const uint32_t slot = ask(disturbed, &request, &owner, offset);
	if (bytes != act->ask.bytes || act->ask.dynamic)
		return; /* any answer is right */
	disturbed->right += slot == act->slot && owner == program->owner;
	disturbed->wrong += slot != UINT32_MAX && (slot != act->slot || owner != program->owner);
	disturbed->unknown += slot == UINT32_MAX;
}

static void ask_for_more(struct disturbed *disturbed, const struct program *program)
{
	const struct act *like = &program->acts[draw(disturbed, program->count)];
	struct seam_match_ask request = like->ask;
	uint32_t owner;
	uint64_t offset;
	if (draw(disturbed, 2) == 0)
		request.bytes = 1 + draw(disturbed, UINT64_C(1) << (9 + draw(disturbed, 16)));
	disturbed->extra++;
	disturbed->taken += ask(disturbed, &request, &owner, &offset) != UINT32_MAX;
	let_go(disturbed, &offset);
}

static void do_act(struct disturbed *disturbed, uint32_t kind, uint32_t number, uint64_t repetition, bool resized)
{
	struct program *program = &disturbed->programs[kind];
	const struct act *act = &program->acts[number];
	if (!act->is_free)
		ask_as(disturbed, kind, act, repetition, act->ask.bytes + (resized ? 4096 : 0));
	else if (repetition >= act->lag)
		let_go(disturbed, place(program, act->slot, repetition - act->lag));
}

static void disturb(struct disturbed *disturbed, uint32_t kind, uint64_t repetition)
{
	struct program *program = &disturbed->programs[kind];
	const bool breaks_off = draw(disturbed, 5) == 0;
	const uint32_t last = breaks_off ? (uint32_t)draw(disturbed, program->count) : program->count;
	for (uint32_t i = 0; i < last; i++) {
		const uint64_t what = draw(disturbed, UINT64_C(4) * program->count / DISTURBANCES + 1);
		if (what == 0 && i + 1 < last) { /* the next one first */
			do_act(disturbed, kind, i + 1, repetition, false);
			do_act(disturbed, kind, i, repetition, false);
			i++;
			continue;
		}
		if (what == 1)
			continue;
		if (what == 2)
			ask_for_more(disturbed, program);
		do_act(disturbed, kind, i, repetition, what == 3);
	}
	for (uint32_t slot = 0; breaks_off && slot < program->slots; slot++)
		let_go(disturbed, place(program, slot, repetition));
}

/* One row: how many of the requests were recognised rightly. */
static void choose(struct disturbed *disturbed, uint64_t seed, bool steps)
{
	uint64_t repetitions[SEAM_LOADED_PLANS] = {0};
	disturbed->random = seed;
	for (uint32_t i = 0; i < DISTURBED_ITERATIONS; i++) {
		const uint32_t kind = (uint32_t)draw(disturbed, disturbed->kinds);
		disturb(disturbed, kind, repetitions[kind]++);
		if (steps)
			seam__matcher_step(disturbed->matcher);
	}
}

static int compare(const void *left, const void *right)
{
	const double *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

/* Nanoseconds of a request in the middle repetition; `first` goes on from one call to the next. */
static double measure(struct program *program, struct seam_matcher *matcher, uint64_t *first)
{
	static double ns[REPETITIONS];
	const uint64_t from = seam__clock_ns();
	size_t n = 0;
	while (n < REPETITIONS && (n < 5 || seam__clock_ns() - from < LEAST_NS)) {
		const uint64_t begin = seam__clock_ns();
		repeat(program, matcher, (*first)++);
		ns[n++] = (double)(seam__clock_ns() - begin) / program->slots;
	}
	qsort(ns, n, sizeof(*ns), compare);
	return ns[n / 2];
}

/* Plans a recording and adds it to the matcher. */
static bool add(const char *path, struct seam_matcher *matcher, struct program *program)
{
	char text[INPUT_ERROR_BYTES];
	struct seam_trace_error error = {0};
	struct seam_trace *trace;
	struct seam_plan *plan;
	struct seam_loaded_plan *loaded;
	const struct seam_plan_options options = {.struct_bytes = sizeof(options),
		.node_limit = 1000,
		.align_bytes = 512,
		.period = SEAM_PLAN_PERIOD_FIND};
	if (!input_read(path, SEAM_IMPORT_ANY_DEVICE, text, &trace)) {
		fprintf(stderr, "match: %s\n", text);
		return false;
	}
	enum seam_rc rc = seam_plan_make(trace, &options, &error, &plan);
	seam_trace_free(trace);
	if (rc != SEAM_OK) {
		fprintf(stderr, "match: %s: %s\n", path, error.text);
		return false;
	}
	const uint64_t begin = seam__clock_ns();
	if (seam__loaded_create(seam__meta_process(), plan, &loaded) != SEAM_OK) {
		fprintf(stderr, "match: %s: no plan to run with\n", path);
		seam_plan_free(plan);
		return false;
	}
	if (seam__matcher_add(matcher, loaded, matcher->loaded_count == 0) != SEAM_OK)
		abort();
	program->made_ms = (double)(seam__clock_ns() - begin) / 1e6;
	program->owner = loaded->index;
	fill(program, plan);
	seam_plan_free(plan);
	return true;
}

static void close_program(struct program *program)
{
	free(program->acts);
	free(program->offsets);
}

static int run(const char *path)
{
	struct seam_matcher *matcher;
	struct seam_match_counts counts;
	struct program program = {0};
	if (seam__matcher_create(seam__meta_process(), &matcher) != SEAM_OK)
		abort();
	if (!add(path, matcher, &program)) {
		seam__matcher_destroy(seam__meta_process(), matcher);
		return 1;
	}
	seam__matcher_start(matcher);
	uint64_t repetition = 0;
	for (uint32_t r = 0; r < program.turns; r++)
		repeat(&program, matcher, repetition++);
	const double with = measure(&program, matcher, &repetition);
	seam__matcher_get_counts(matcher, &counts);
	uint64_t misses = 0;
	for (int cause = 0; cause < SEAM_MISS_COUNT; cause++)
		misses += counts.misses[cause];
	for (size_t i = 0; i < (size_t)program.slots * program.turns; i++)
		program.offsets[i] = UINT64_MAX;
	const double without = measure(&program, NULL, &repetition);
	printf("%-50s %8" PRIu32 " requests  %6.1f ns  (loop alone %5.1f)  %" PRIu64 " hits  %" PRIu64
	       " misses  script made in %.1f ms\n",
		path, program.slots, with, without, counts.hits + counts.dynamic_hits, misses, program.made_ms);
	close_program(&program);
	seam__matcher_destroy(seam__meta_process(), matcher);
	return 0;
}

static int compare_ns(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

/* All recordings are kinds of iterations of one program. */
static int run_disturbed(uint64_t seed, bool steps, int count, char **paths)
{
	static struct program programs[SEAM_LOADED_PLANS];
	static uint64_t ns[UNEXPECTED_MOST];
	struct disturbed disturbed = {.programs = programs, .unexpected_ns = ns};
	int failed = 0;
	if (seam__matcher_create(seam__meta_process(), &disturbed.matcher) != SEAM_OK)
		abort();
	for (int i = 0; i < count && disturbed.kinds < SEAM_LOADED_PLANS && !failed; i++)
		failed = !add(paths[i], disturbed.matcher, &programs[disturbed.kinds++]);
	if (!failed) {
		seam__matcher_start(disturbed.matcher);
		choose(&disturbed, seed, steps);
		const uint64_t of_slots = disturbed.right + disturbed.wrong + disturbed.unknown;
		qsort(ns, disturbed.unexpected, sizeof(*ns), compare_ns);
		printf("%-50s seed %" PRIu64 "%s  right %6.2f %%  wrong %" PRIu64 "  unknown %" PRIu64 "  of %" PRIu64
		       "  none of the plan's %" PRIu64 ", taken for one %" PRIu64 "  missed in %" PRIu64 " ns\n",
			paths[0], seed, steps ? ", steps" : "", 100.0 * (double)disturbed.right / (double)of_slots,
			disturbed.wrong, disturbed.unknown, of_slots, disturbed.extra, disturbed.taken,
			disturbed.unexpected == 0 ? 0 : ns[disturbed.unexpected / 2]);
	}
	for (uint32_t i = 0; i < disturbed.kinds; i++)
		close_program(&programs[i]);
	seam__matcher_destroy(seam__meta_process(), disturbed.matcher);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;
	if (argc > 3 && strcmp(argv[1], "--choices") == 0) {
		const uint64_t seed = strtoull(argv[2], NULL, 10);
		return run_disturbed(seed, false, argc - 3, argv + 3) | run_disturbed(seed, true, argc - 3, argv + 3);
	}
	if (failed)
		fprintf(stderr, "usage: match RECORDING... | match --choices SEED RECORDING...\n");
	for (int i = 1; i < argc; i++)
		failed |= run(argv[i]);
	return failed;
}
