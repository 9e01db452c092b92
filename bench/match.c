/* match.c: what it costs to be recognised in a plan: nanoseconds of an allocation with its free by the matcher alone,
 * in a program that keeps to its plan.
 *
 * Plans each recording, then asks for what the plan says, repetition after repetition, and finds every block by its
 * address before it frees it, as the pool does. Printed: the middle one of many repetitions, divided by its requests;
 * and the same loop without the matcher, which is in the first figure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <seam/plan.h>

#include "clock.h"
#include "input.h"
#include "matcher.h"
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
		struct seam_planned *planned;
		if (matcher == NULL)
			*place(program, act->slot, repetition) = act->ask.bytes;
		else if (seam__matcher_alloc(matcher, &act->ask, &planned) == SEAM_MISS_NONE)
			*place(program, act->slot, repetition) = planned->offset;
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

static int run(const char *path)
{
	char text[INPUT_ERROR_BYTES];
	struct seam_trace_error error = {0};
	struct seam_trace *trace;
	struct seam_plan *plan;
	struct seam_script *script;
	struct seam_matcher *matcher;
	struct seam_match_counts counts;
	struct program program;
	struct seam_meta *meta = seam__meta_process();
	const struct seam_plan_options options = {.struct_bytes = sizeof(options),
		.node_limit = 1000,
		.align_bytes = 512,
		.period = SEAM_PLAN_PERIOD_FIND};
	if (!input_read(path, SEAM_IMPORT_ANY_DEVICE, text, &trace)) {
		fprintf(stderr, "match: %s\n", text);
		return 1;
	}
	enum seam_rc rc = seam_plan_make(trace, &options, &error, &plan);
	seam_trace_free(trace);
	if (rc != SEAM_OK) {
		fprintf(stderr, "match: %s: %s\n", path, error.text);
		return 1;
	}
	const uint64_t begin = seam__clock_ns();
	if (seam__script_create(meta, plan, &script) != SEAM_OK) {
		fprintf(stderr, "match: %s: no plan to run with\n", path);
		seam_plan_free(plan);
		return 1;
	}
	if (seam__matcher_create(meta, &matcher) != SEAM_OK || seam__matcher_add(matcher, script, true) != SEAM_OK)
		abort();
	const double made_ms = (double)(seam__clock_ns() - begin) / 1e6;
	fill(&program, plan);
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
		path, program.slots, with, without, counts.hits + counts.dynamic_hits, misses, made_ms);
	free(program.acts);
	free(program.offsets);
	seam__matcher_destroy(meta, matcher);
	seam_plan_free(plan);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;
	if (failed)
		fprintf(stderr, "usage: match RECORDING...\n");
	for (int i = 1; i < argc; i++)
		failed |= run(argv[i]);
	return failed;
}
