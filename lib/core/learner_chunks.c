/* learner_chunks.c: the chunks of a plan's arena.
 *
 * It begins with those that residents occupy in part; their bytes are taken ranges of the plan, so that what is free between them is used. Behind them
 * come chunks without residents, as few as the plan needs, the *calm* ones first: nothing was live in them at a moment when little was. What lay in the
 * others then (an output that is held until the next one is there, say) is likely to lie there again when the plan comes into use. It keeps slots from
 * their places, what these get instead keeps others from theirs, and so on through the first period. The end of the arena is needed for the shortest time.
 * One that residents occupy in part may come last, where that does with a chunk less.
 *
 * Not here: the plan (learner_plan.c), mappings (learner.c). With `work`.
 */
#include <stdlib.h>

#include "bits.h"
#include "check.h"
#include "learner.h"
#include "learner_impl.h"
#include "meta.h"
#include "planned_impl.h"

#define LESS_SHARE 64u  /* of the most bytes live at any time, that fewer are live at a better moment; or no more than one part in */
#define SAME_SHARE 128u
#define NOT_CALM 2u     /* in `used` */

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

void seam__learner_forget_calm(struct seam_pool *pool)
{
	struct seam_calm *calm = &pool->learner.calm;
	seam__meta_free(pool->meta, calm->numbers, calm->count * sizeof *calm->numbers);
	*calm = (struct seam_calm){0};
}

/* Whether there is a better moment for it than the one that is known: less is live, or hardly more in a newer iteration. With `lock`. */
static bool is_calm(const struct seam_pool *pool, uint64_t steps)
{
	const struct seam_engine_counts *counts = &pool->engine.counts;
	const struct seam_calm *calm = &pool->learner.calm;
	const uint64_t live_bytes = counts->live_bytes, peak_bytes = counts->live_bytes_peak;
	if (pool->planning.open || steps == 0)
		return false;
	return calm->numbers == NULL || live_bytes + peak_bytes / LESS_SHARE <= calm->live_bytes ||
	       (steps != calm->steps && live_bytes <= calm->live_bytes + peak_bytes / SAME_SHARE);
}

void seam__learner_note_calm(struct seam_pool *pool, uint64_t steps)
{
	struct seam_calm *calm = &pool->learner.calm;
	struct seam_survey survey = {0};
	uint64_t *numbers = NULL;
	seam__mutex_lock(&pool->engine.lock);
	if (is_calm(pool, steps) && seam__survey_make(&pool->engine, any_block, NULL, &survey) == SEAM_OK && survey.count != survey.partial)
		numbers = seam__meta_array(pool->meta, survey.count - survey.partial, sizeof *numbers);
	const uint64_t live_bytes = pool->engine.counts.live_bytes;
	seam__mutex_unlock(&pool->engine.lock);
	if (numbers != NULL) {
		seam__learner_forget_calm(pool);
		*calm = (struct seam_calm){numbers, survey.count - survey.partial, steps, live_bytes};
		for (uint32_t i = 0; i < calm->count; i++)
			numbers[i] = survey.chunks[survey.partial + i].number;
		qsort(numbers, calm->count, sizeof *numbers, compare_numbers);
	}
	seam__survey_fini(&pool->engine, &survey);
}

/* Numbers of chunks for an arena. */
struct choice {
	uint64_t *numbers;
	uint32_t count;
	uint64_t bytes;
};

static void choose(struct choice *choice, const struct seam_surveyed *chunk)
{
	choice->numbers[choice->count++] = chunk->number;
	choice->bytes += chunk->bytes;
}

/* Of the chunks without residents whose byte in `used` is 0: those that fit below what is missing, the largest first, and at the end the smallest that
 * covers the rest. */
static void choose_whole(struct choice *choice, const struct seam_survey *survey, uint8_t *used, uint64_t wanted_bytes)
{
	while (choice->bytes < wanted_bytes) {
		uint64_t missing = wanted_bytes - choice->bytes;
		uint32_t best = UINT32_MAX;
		for (uint32_t i = survey->partial; i < survey->count; i++) {
			if (used[i] != 0)
				continue;
			uint64_t bytes = survey->chunks[i].bytes;
			if (best == UINT32_MAX) {
				best = i;
				continue;
			}
			uint64_t best_bytes = survey->chunks[best].bytes;
			bool better = bytes <= missing ? best_bytes > missing || bytes > best_bytes : best_bytes > missing && bytes < best_bytes;
			if (better)
				best = i;
		}
		if (best == UINT32_MAX)
			return;
		/* All of that size that fit go at once. */
		uint64_t bytes = survey->chunks[best].bytes;
		for (uint32_t i = best; i < survey->count && choice->bytes < wanted_bytes; i++) {
			if (used[i] != 0 || survey->chunks[i].bytes != bytes || (i != best && bytes > wanted_bytes - choice->bytes))
				continue;
			used[i] = 1;
			choose(choice, &survey->chunks[i]);
		}
	}
}

/* A new stage over the choice, which is being prepared from here on. */
static enum seam_rc begin_stage(struct seam_pool *pool, const struct choice *choice, uint64_t fresh_bytes)
{
	struct seam_learner *learner = &pool->learner;
	struct seam_stage *stage = NULL;
	enum seam_rc rc = seam__stage_create(pool, &stage);
	if (rc != SEAM_OK)
		return rc;
	uint64_t reserve_bytes = 2 * (choice->bytes + fresh_bytes);
	rc = seam__arena_begin(&pool->engine, choice->numbers, choice->count, fresh_bytes, 0, reserve_bytes, &stage->arena);
	if (rc != SEAM_OK) {
		seam__stage_discard(pool, stage);
		return rc;
	}
	learner->stage = stage;
	pool->planning.preparing = stage;
	return SEAM_OK;
}

/* Nobody knows of any, or nothing lay in it when little was live. */
static bool was_calm(const struct seam_calm *calm, uint64_t number)
{
	return calm->count == 0 || bsearch(&number, calm->numbers, calm->count, sizeof *calm->numbers, compare_numbers) != NULL;
}

/* Chunks for wanted_bytes of an arena, or of more of the open one: the calm ones before the others. `used`: a byte for each of the survey, of 0. */
static void choose_chunks(const struct seam_learner *learner, const struct seam_stage *open, uint64_t wanted_bytes, uint8_t *used, struct choice *choice)
{
	const struct seam_survey *survey = &learner->survey;
	for (uint32_t i = 0; i < survey->count; i++)
		used[i] = open != NULL && seam__learner_offset(&open->arena, survey->chunks[i].number) != UINT64_MAX;
	/* They come first, as the plan has them, all but those behind its end. */
	for (uint32_t i = 0; open == NULL && i < survey->partial && choice->bytes < wanted_bytes; i++)
		if (i != learner->last)
			choose(choice, &survey->chunks[i]);
	for (uint32_t i = survey->partial; i < survey->count; i++)
		used[i] |= was_calm(&learner->calm, survey->chunks[i].number) ? 0 : NOT_CALM;
	choose_whole(choice, survey, used, wanted_bytes);
	for (uint32_t i = survey->partial; i < survey->count; i++)
		used[i] &= (uint8_t)~NOT_CALM;
	choose_whole(choice, survey, used, wanted_bytes);
}

enum seam_rc seam__learner_begin(struct seam_pool *pool)
{
	struct seam_learner *learner = &pool->learner;
	const struct seam_survey *survey = &learner->survey;
	const struct seam_stage *open = seam__learner_extends(pool);
	uint64_t wanted_bytes = seam__bits_align_up(seam__script_bytes(learner->script), pool->engine.memory.granularity_bytes);
	size_t room = (size_t)survey->count + 1;
	struct choice choice = {.numbers = seam__meta_array(pool->meta, room, sizeof *choice.numbers)};
	uint8_t *used = seam__meta_array(pool->meta, room, 1);
	enum seam_rc rc = SEAM_OOM_META;
	if (choice.numbers != NULL && used != NULL) {
		if (open != NULL)
			wanted_bytes = wanted_bytes > open->arena.bytes ? wanted_bytes - open->arena.bytes : 0;
		const bool closes = open == NULL && learner->last != UINT32_MAX && wanted_bytes > learner->last_at;
		if (closes)
			wanted_bytes = learner->last_at; /* before the last */
		choose_chunks(learner, open, wanted_bytes, used, &choice);
		uint64_t fresh_bytes = wanted_bytes - seam__bits_min(wanted_bytes, choice.bytes);
		SEAM_ASSERT(!closes || choice.bytes == wanted_bytes);
		if (closes)
			choose(&choice, &survey->chunks[learner->last]);
		if (open == NULL)
			rc = begin_stage(pool, &choice, fresh_bytes);
		else if (wanted_bytes != 0)
			rc = seam__planned_extend(pool, choice.numbers, choice.count, fresh_bytes);
		else
			rc = SEAM_OK; /* what an earlier extension could not map is to be mapped */
	}
	seam__meta_free(pool->meta, choice.numbers, room * sizeof *choice.numbers);
	seam__meta_free(pool->meta, used, room);
	return rc;
}
