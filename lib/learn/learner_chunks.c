/* learner_chunks.c: the chunks of a plan's arena.
 *
 * It begins with those that residents occupy in part; their bytes are taken ranges of the plan, so that what is free
 * between them is used. Behind them come chunks without residents, as few as the plan needs, the *calm* ones first:
 * nothing was live in them at moments when little was, of several iterations: what is held until the next one is there
 * (an output, say) lies elsewhere each time, but comes round again. In the others it is likely to lie when the plan
 * comes into use. It keeps slots from their places, what these get instead keeps others from theirs, and so on through
 * the first period. The end of the arena is needed for the shortest time. One that residents occupy in part may come
 * last, where that does with a chunk less.
 *
 * Not here: the plan (learner_plan.c), mappings (learner.c). With `work`.
 */
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "check.h"
#include "learner.h"
#include "learner_impl.h"
#include "meta.h"
#include "planned_impl.h"

#define LESS_SHARE                                                                                                     \
	64u /* of the most bytes live at any time, that fewer are live at a better moment; or no more than one part in \
	     */
#define SAME_SHARE 128u
#define TAKEN UINT8_MAX /* instead of how restless it was: it is chosen already */

uint64_t seam__learner_offset(const struct seam_arena *arena, uint64_t number)
{
	for (uint32_t i = 0; i < arena->count; i++) {
		if (arena->chunks[i].chunk->number == number)
			return arena->chunks[i].offset;
	}
	return UINT64_MAX;
}

static bool any_block(void *user, const struct seam_block *block)
{
	(void)user;
	(void)block;
	return true;
}

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return *a < *b ? -1 : *a > *b;
}

static void forget(struct seam_learner *learner, struct seam_calm *calm)
{
	seam__meta_free(learner->meta, calm->numbers, ((size_t)calm->count + 1) * sizeof *calm->numbers);
	*calm = (struct seam_calm){0};
}

void seam__learner_forget_calm(struct seam_learner *learner)
{
	for (uint32_t i = 0; i < SEAM_CALM_MOMENTS; i++)
		forget(learner, &learner->calm[i]);
}

/* Whether so much less is live now than at a moment that this is a better one. */
static bool is_less(const struct seam_engine_counts *counts, const struct seam_calm *calm)
{
	return counts->live_bytes + counts->live_bytes_peak / LESS_SHARE <= calm->live_bytes;
}

/* Whether now is a moment to be noted: none is, or less is live than at the newest one, or hardly more in a newer
 * iteration. */
static bool is_calm(const struct seam_learner *learner)
{
	const struct seam_engine_counts *counts = &learner->engine->counts;
	const struct seam_calm *newest = &learner->calm[0];
	if (learner->runtime->open || learner->runtime->steps == 0)
		return false;
	return newest->numbers == NULL || is_less(counts, newest) ||
		(learner->runtime->steps != newest->steps &&
			counts->live_bytes <= newest->live_bytes + counts->live_bytes_peak / SAME_SHARE);
}

/* Makes room in front: what is of the same iteration goes, and what is no moment for it any more; else the oldest. */
static void make_room(struct seam_learner *learner)
{
	struct seam_calm *calm = learner->calm;
	uint32_t count = 0;
	for (uint32_t i = 0; i < SEAM_CALM_MOMENTS; i++) {
		if (calm[i].numbers == NULL)
			break;
		if (calm[i].steps == learner->runtime->steps || is_less(&learner->engine->counts, &calm[i])) {
			forget(learner, &calm[i]);
			continue;
		}
		const struct seam_calm kept = calm[i];
		calm[i] = (struct seam_calm){0};
		calm[count++] = kept;
	}
	if (count == SEAM_CALM_MOMENTS)
		forget(learner, &calm[--count]);
	memmove(&calm[1], &calm[0], count * sizeof *calm);
	calm[0] = (struct seam_calm){0};
}

/* What is published from here on has this number or a higher one; it may be under way already. With `lock`. */
static uint64_t next_number(const struct seam_memory *memory)
{
	const struct seam_chunk *last = TAILQ_LAST(&memory->chunk_list, seam_chunks);
	return last == NULL ? 0 : last->number + 1;
}

void seam__learner_note_calm(struct seam_learner *learner)
{
	struct seam_survey survey = {0};
	uint64_t *numbers = NULL;
	if (is_calm(learner) &&
		seam__survey_make(learner->engine, any_block, NULL, &survey) ==
			SEAM_OK) /* one more, for there may be none */
		numbers = seam__meta_array(learner->meta, (size_t)survey.count - survey.partial + 1, sizeof *numbers);
	if (numbers != NULL) {
		const uint32_t count = survey.count - survey.partial;
		for (uint32_t i = 0; i < count; i++)
			numbers[i] = survey.chunks[survey.partial + i].number;
		qsort(numbers, count, sizeof *numbers, compare_numbers);
		make_room(learner);
		learner->calm[0] = (struct seam_calm){numbers, count, next_number(&learner->engine->memory),
			learner->runtime->steps, learner->engine->counts.live_bytes};
	}
	seam__survey_fini(learner->engine, &survey);
}

/* Chunks for an arena. */
struct choice {
	struct seam_chosen *chosen;
	uint32_t count;
	uint64_t bytes;
};

static void choose(struct choice *choice, const struct seam_surveyed *chunk, uint8_t restless)
{
	choice->chosen[choice->count++] = (struct seam_chosen){chunk->number, chunk->bytes, restless};
	choice->bytes += chunk->bytes;
}

/* Of the chunks without residents that are no more restless: those that fit below what is missing, the largest first,
 * and at the end the smallest that covers the rest. */
static void choose_whole(
	struct choice *choice, const struct seam_survey *survey, uint8_t *restless, uint8_t most, uint64_t wanted_bytes)
{
	while (choice->bytes < wanted_bytes) {
		uint64_t missing = wanted_bytes - choice->bytes;
		uint32_t best = UINT32_MAX;
		for (uint32_t i = survey->partial; i < survey->count; i++) {
			if (restless[i] > most)
				continue;
			uint64_t bytes = survey->chunks[i].bytes;
			if (best == UINT32_MAX) {
				best = i;
				continue;
			}
			uint64_t best_bytes = survey->chunks[best].bytes;
			bool better = bytes <= missing ? best_bytes > missing || bytes > best_bytes
						       : best_bytes > missing && bytes < best_bytes;
			if (better)
				best = i;
		}
		if (best == UINT32_MAX)
			return;
		/* All of that size that fit go at once. */
		uint64_t bytes = survey->chunks[best].bytes;
		for (uint32_t i = best; i < survey->count && choice->bytes < wanted_bytes; i++) {
			if (restless[i] > most || survey->chunks[i].bytes != bytes ||
				(i != best && bytes > wanted_bytes - choice->bytes))
				continue;
			choose(choice, &survey->chunks[i], restless[i]);
			restless[i] = TAKEN;
		}
	}
}

/* The last one may have covered more than was missing: what is not needed for that, of those from `first` on, is let
 * go, the largest first, of equal ones the most restless. */
static void drop_surplus(struct choice *choice, uint32_t first, uint64_t wanted_bytes)
{
	while (choice->bytes > wanted_bytes) {
		const uint64_t surplus_bytes = choice->bytes - wanted_bytes;
		const struct seam_chosen *best = NULL;
		for (uint32_t i = first; i < choice->count; i++) {
			const struct seam_chosen *chosen = &choice->chosen[i];
			if (chosen->bytes <= surplus_bytes &&
				(best == NULL || chosen->bytes > best->bytes ||
					(chosen->bytes == best->bytes && chosen->restless > best->restless)))
				best = chosen;
		}
		if (best == NULL)
			return;
		const uint32_t at = (uint32_t)(best - choice->chosen);
		choice->bytes -= best->bytes;
		choice->count--;
		memmove(&choice->chosen[at], &choice->chosen[at + 1], (choice->count - at) * sizeof *choice->chosen);
	}
}

/* A new stage over the chunks, which is being prepared from here on. */
static enum seam_rc begin_stage(
	struct seam_learner *learner, const uint64_t *numbers, const struct choice *choice, uint64_t fresh_bytes)
{
	struct seam_stage *stage = NULL;
	enum seam_rc rc = seam__stage_create(learner->runtime, &stage);
	if (rc != SEAM_OK)
		return rc;
	uint64_t reserve_bytes = 2 * (choice->bytes + fresh_bytes);
	rc = seam__arena_begin(learner->engine, numbers, choice->count, fresh_bytes, 0, reserve_bytes, &stage->arena);
	if (rc != SEAM_OK) {
		seam__stage_discard(learner->runtime, stage);
		return rc;
	}
	learner->stage = stage;
	learner->runtime->preparing = stage;
	return SEAM_OK;
}

/* A bit for each of the moments at which something was live in the chunk, the highest for the newest: the program may
 * have found another way since the others. One that is newer than all of them counts as if something was, once. */
static uint8_t restlessness(const struct seam_calm *calm, uint64_t number)
{
	uint8_t bits = 0;
	bool known = calm->numbers == NULL;
	for (uint32_t i = 0; i < SEAM_CALM_MOMENTS && calm[i].numbers != NULL; i++) {
		if (number >= calm[i].chunks)
			continue;
		known = true;
		if (bsearch(&number, calm[i].numbers, calm[i].count, sizeof *calm[i].numbers, compare_numbers) == NULL)
			bits |= (uint8_t)(1u << (SEAM_CALM_MOMENTS - 1 - i));
	}
	return known ? bits : 1;
}

/* What comes round again may lie a chunk further then, for other small blocks are in front of it: calm chunks beside
 * restless ones are like those. */
static void disturb_neighbours(const struct seam_survey *survey, uint8_t *restless)
{
	uint8_t before = 0;
	for (uint32_t i = survey->partial; i < survey->count; i++) {
		const uint8_t here = restless[i], after = i + 1 < survey->count ? restless[i + 1] : 0;
		if (here == 0)
			restless[i] = before > after ? before : after;
		before = here;
	}
}

/* Chunks for wanted_bytes of an arena, or of more of the open one, the calmer ones before the others. `restless`: room
 * for a byte for each of the survey. Errors: those of seam__spots_settle(). */
static enum seam_rc choose_chunks(const struct seam_learner *learner, const struct seam_stage *open,
	uint64_t wanted_bytes, uint8_t *restless, struct choice *choice)
{
	const struct seam_survey *survey = &learner->survey;
	/* They come first, as the plan has them, all but those behind its end. */
	for (uint32_t i = 0; open == NULL && i < survey->partial && choice->bytes < wanted_bytes; i++)
		if (i != learner->last)
			choose(choice, &survey->chunks[i], 0);
	for (uint32_t i = survey->partial; i < survey->count; i++)
		restless[i] = restlessness(learner->calm, survey->chunks[i].number);
	disturb_neighbours(survey, restless);
	for (uint32_t i = survey->partial; open != NULL && i < survey->count; i++)
		if (seam__learner_offset(&open->arena, survey->chunks[i].number) != UINT64_MAX)
			restless[i] = TAKEN;
	const uint32_t first = choice->count;
	choose_whole(choice, survey, restless, SEAM_MOST_RESTLESS / 2,
		wanted_bytes); /* nothing was in them at the newest moment */
	choose_whole(choice, survey, restless, SEAM_MOST_RESTLESS, wanted_bytes);
	drop_surplus(choice, first, wanted_bytes);
	return open == NULL ? seam__spots_settle(learner->meta, learner->plan, choice->chosen, first, choice->count)
			    : SEAM_OK;
}

/* An arena over the choice, or more of the open one. */
static enum seam_rc begin_arena(
	struct seam_learner *learner, const struct seam_stage *open, const struct choice *choice, uint64_t fresh_bytes)
{
	if (open != NULL && choice->bytes + fresh_bytes == 0)
		return SEAM_OK; /* what an earlier extension could not map is to be mapped */
	uint64_t *numbers = seam__meta_array(learner->meta, (size_t)choice->count + 1, sizeof *numbers);
	if (numbers == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < choice->count; i++)
		numbers[i] = choice->chosen[i].number;
	enum seam_rc rc = open == NULL ? begin_stage(learner, numbers, choice, fresh_bytes)
				       : seam__planned_extend(learner->runtime, numbers, choice->count, fresh_bytes);
	seam__meta_free(learner->meta, numbers, ((size_t)choice->count + 1) * sizeof *numbers);
	return rc;
}

/* Whether the plan costs nothing still: the program may have taken more since the survey. With `lock`. */
static bool is_free_of_cost(struct seam_learner *learner, uint64_t fresh_bytes)
{
	const struct seam_memory *memory = &learner->engine->memory;
	seam__plan_cost_note(&learner->cost, memory->reserved_peak_bytes);
	return fresh_bytes == 0 || memory->reserved_bytes + fresh_bytes <= seam__plan_cost_limit(&learner->cost);
}

enum seam_rc seam__learner_begin(struct seam_learner *learner)
{
	const struct seam_survey *survey = &learner->survey;
	const struct seam_stage *open = seam__learner_extends(learner);
	uint64_t wanted_bytes =
		seam__bits_align_up(seam__script_bytes(learner->script), learner->engine->memory.granularity_bytes);
	size_t room = (size_t)survey->count + 1;
	struct choice choice = {.chosen = seam__meta_array(learner->meta, room, sizeof *choice.chosen)};
	uint8_t *restless = seam__meta_array(learner->meta, room, 1);
	enum seam_rc rc = SEAM_OOM_META;
	if (open != NULL)
		wanted_bytes = wanted_bytes > open->arena.bytes ? wanted_bytes - open->arena.bytes : 0;
	const bool closes = open == NULL && learner->last != UINT32_MAX && wanted_bytes > learner->last_at;
	if (closes)
		wanted_bytes = learner->last_at; /* before the last */
	if (choice.chosen != NULL && restless != NULL)
		rc = choose_chunks(learner, open, wanted_bytes, restless, &choice);
	if (rc == SEAM_OK) {
		uint64_t fresh_bytes = wanted_bytes - seam__bits_min(wanted_bytes, choice.bytes);
		SEAM_ASSERT(!closes || choice.bytes == wanted_bytes);
		if (closes)
			choose(&choice, &survey->chunks[learner->last], 0);
		rc = is_free_of_cost(learner, fresh_bytes) ? begin_arena(learner, open, &choice, fresh_bytes)
							   : SEAM_NOT_FOUND;
		seam__plan_cost_add(&learner->cost, learner->engine->memory.reserved_bytes);
	}
	seam__meta_free(learner->meta, choice.chosen, room * sizeof *choice.chosen);
	seam__meta_free(learner->meta, restless, room);
	return rc;
}
