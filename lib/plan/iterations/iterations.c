/* iterations.c: see iterations.h. */
#include "iterations.h"

#include <stdlib.h>

#include "check.h"
#include "iterations_cut.h"
#include "iteration_kinds.h"
#include "iteration_model.h"

#define REQUESTS_DEFAULT 16u

/* A kind that is worth a model. */
struct choice {
	uint32_t kind;
	uint32_t seen;
	uint32_t newest;
	uint64_t covered; /* requests of all members */
};

static struct seam_iterations_options resolve(const struct seam_iterations_options *options)
{
	struct seam_iterations_options resolved = options != NULL ? *options : (struct seam_iterations_options){0};

	if (resolved.least_requests == 0)
		resolved.least_requests = REQUESTS_DEFAULT;
	return resolved;
}

static int compare_choices(const void *left, const void *right)
{
	const struct choice *a = left;
	const struct choice *b = right;

	if (a->covered != b->covered)
		return a->covered > b->covered ? -1 : 1;
	return (a->newest < b->newest) - (a->newest > b->newest);
}

/* Without marks: a loop that has not come again for half of the recording belongs to the program's beginning. */
static bool is_over(const struct seam_kinds *kinds, const struct seam_kind *kind)
{
	return !kind->sequence.stretch.marked &&
		kind->sequence.stretch.last_event < kinds->sequences->trace->header.event_count / 2;
}

static enum seam_rc choose(const struct seam_kinds *kinds, struct seam_grow *choices)
{
	enum seam_rc rc = SEAM_OK;

	for (uint32_t k = 0; rc == SEAM_OK && k < kinds->count; k++) {
		const struct seam_kind *kind = seam__kind_at(kinds, k);
		const struct choice choice = {.kind = k,
			.seen = kind->seen,
			.newest = kind->newest,
			.covered = (uint64_t)kind->seen * seam__stretch_count(&kind->sequence.stretch)};

		if (kind->seen >= SEAM__ITERATIONS_LEAST && !is_over(kinds, kind))
			rc = seam__grow_append(choices, &choice, 1);
	}
	if (rc == SEAM_OK && choices->count > 0)
		qsort(choices->items, choices->count, sizeof(struct choice), compare_choices);
	return rc;
}

/* The iterations that follow one another up to the newest one of a kind: of this kind or, where they come in turn, of
 * others. */
static void measure_run(const struct seam_kinds *kinds, uint32_t newest, struct seam_iteration_kind *made)
{
	uint32_t first = newest;

	while (first > 0 && kinds->stretches[first - 1].last_event == kinds->stretches[first].first_event &&
		kinds->kind_of[first - 1] != SEAM__KIND_NONE &&
		seam__kind_at(kinds, kinds->kind_of[first - 1])->seen >= SEAM__ITERATIONS_LEAST)
		first--;
	made->run = newest - first + 1;
	made->run_begin = kinds->stretches[first].first_event;
}

/* Appends the kind's model, unless its members have too little in common. */
static enum seam_rc make_kind(const struct seam_kinds *kinds, const struct choice *choice,
	const struct seam_iterations_options *options, struct seam_iterations *iterations)
{
	const struct seam_thread_stretch *newest = &kinds->stretches[choice->newest];
	struct seam_iteration_kind made = {
		.seen = choice->seen, .newest = newest->last_event, .marked = newest->marked};
	struct seam_aligned_requests aligned;
	enum seam_rc rc = seam__aligned_init(kinds, choice->kind, &aligned);

	if (rc != SEAM_OK)
		return rc;
	made.lacking = aligned.lacking;
	measure_run(kinds, choice->newest, &made);
	if (seam__aligned_count(&aligned) >= options->least_requests) {
		rc = seam__model_make(
			&aligned, made.marked, &made.model, &made.first_event, &made.last_event, &made.stays_bytes);
		if (rc == SEAM_OK)
			iterations->kinds[iterations->count++] = made;
		SEAM_ASSERT(rc != SEAM_CORRUPT);
		if (rc == SEAM_CORRUPT)
			rc = SEAM_OK; /* nobody is harmed by a kind less */
	}
	return rc;
}

static enum seam_rc make_kinds(const struct seam_kinds *kinds, const struct seam_iterations_options *options,
	struct seam_iterations *iterations)
{
	struct seam_grow choices;

	seam__grow_init(&choices, sizeof(struct choice));
	enum seam_rc rc = choose(kinds, &choices);
	for (uint32_t i = 0; rc == SEAM_OK && i < choices.count && iterations->count < SEAM__ITERATION_KINDS_MAX; i++)
		rc = make_kind(kinds, (const struct choice *)choices.items + i, options, iterations);
	seam__grow_fini(&choices);
	return rc;
}

static enum seam_rc find_in(const struct seam_sequences *sequences, const struct seam_iterations_options *options,
	struct seam_iterations *iterations)
{
	struct seam_kinds kinds = {0};
	struct seam_grow stretches;
	bool marked;

	seam__grow_init(&stretches, sizeof(struct seam_thread_stretch));
	enum seam_rc rc = seam__cut_marks(sequences, &stretches, &marked);
	if (rc == SEAM_OK && !marked)
		rc = seam__cut_candidates(sequences, options, &stretches);
	if (rc == SEAM_OK)
		rc = seam__kinds_init(
			sequences, stretches.items, (uint32_t)stretches.count, options->least_requests, &kinds);
	for (uint32_t s = 0; rc == SEAM_OK && s < kinds.stretch_count; s++)
		iterations->cut_events += kinds.stretches[s].last_event - kinds.stretches[s].first_event;
	if (rc == SEAM_OK)
		rc = make_kinds(&kinds, options, iterations);
	seam__grow_fini(&stretches);
	return rc;
}

enum seam_rc seam__iterations_find(const struct seam_trace *recording, const struct seam_iterations_options *options,
	struct seam_iterations *ret_iterations)
{
	const struct seam_iterations_options resolved = resolve(options);
	struct seam_iterations made = {0};
	struct seam_traced_requests requests = {0};
	struct seam_sequences sequences = {0};
	enum seam_rc rc = seam__requests_init(recording, &requests);

	if (rc == SEAM_OK)
		rc = seam__sequences_init(recording, &requests, &sequences);
	if (rc == SEAM_OK)
		rc = find_in(&sequences, &resolved, &made);
	seam__sequences_fini(&sequences);
	seam__requests_fini(&requests);
	if (rc == SEAM_INVALID)
		rc = SEAM_OK; /* more than a plan can hold: no kind */
	if (rc == SEAM_OK)
		*ret_iterations = made;
	else
		seam__iterations_fini(&made);
	return rc;
}

void seam__iterations_fini(struct seam_iterations *iterations)
{
	for (uint32_t i = 0; i < iterations->count; i++)
		seam_trace_free(iterations->kinds[i].model);
	*iterations = (struct seam_iterations){0};
}

static const char *check_kind(const struct seam_iteration_kind *kind)
{
	uint64_t count = kind->model->header.event_count;
	uint64_t length = kind->last_event - kind->first_event;

	if (seam_trace_check(kind->model, NULL) != NULL)
		return "the model is a valid trace";
	if (kind->first_event >= kind->last_event || kind->last_event != count || kind->first_event < length)
		return "the period is the last of two repetitions or more";
	for (uint64_t e = kind->first_event; e < count; e++) {
		const struct seam_trace_event *now = &kind->model->events[e];
		const struct seam_trace_event *then = &kind->model->events[e - length];

		if (now->kind != then->kind || now->stream != then->stream || now->thread != then->thread ||
			now->size != then->size || now->flags != then->flags)
			return "repetitions are equal";
	}
	return NULL;
}

const char *seam__iterations_check(const struct seam_iterations *iterations)
{
	const char *broken = NULL;

	for (uint32_t i = 0; i < iterations->count && broken == NULL; i++)
		broken = check_kind(&iterations->kinds[i]);
	return broken;
}
