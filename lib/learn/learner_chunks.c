/* learner_chunks.c: the chunks of a plan's arena.
 *
 * It begins with those that residents occupy in part; their bytes are taken ranges of the plan, so that what is free
 * between them is used. Behind them come chunks without residents, as few as the plan needs, the largest first.
 *
 * Not here: the plan (learner_plan.c), mappings (learner.c). With `work`.
 */
#include <string.h>

#include "bits.h"
#include "learner.h"
#include "learner_impl.h"
#include "meta.h"
#include "planned_impl.h"

uint64_t seam__learner_offset(const struct seam_arena *arena, const struct seam_surveyed *surveyed)
{
	if (surveyed->kept_at >= arena->count)
		return UINT64_MAX;
	const struct seam_arena_chunk *at = &arena->chunks[surveyed->kept_at];
	return at->chunk != NULL && at->chunk->number == surveyed->number ? at->offset : UINT64_MAX;
}

/* Chunks for an arena. */
struct choice {
	uint64_t *numbers;
	const struct seam_surveyed **chosen; /* as many */
	uint32_t count;
	uint64_t bytes;
};

static void choose(struct choice *choice, const struct seam_surveyed *chunk)
{
	choice->numbers[choice->count] = chunk->number;
	choice->chosen[choice->count++] = chunk;
	choice->bytes += chunk->bytes;
}

/* A better one to choose when so many bytes are missing: the largest that fits below that, else the smallest. */
static bool is_better(uint64_t bytes, uint64_t than_bytes, uint64_t missing_bytes)
{
	return bytes <= missing_bytes ? than_bytes > missing_bytes || bytes > than_bytes
				      : than_bytes > missing_bytes && bytes < than_bytes;
}

/* Chunks without residents, all of one size that fit at a time. `taken`: per chunk of the survey. */
static void choose_whole(struct choice *choice, const struct seam_survey *survey, uint8_t *taken, uint64_t wanted_bytes)
{
	while (choice->bytes < wanted_bytes) {
		const uint64_t missing_bytes = wanted_bytes - choice->bytes;
		uint64_t bytes = 0;
		for (uint32_t i = survey->partial; i < survey->count; i++) {
			if (taken[i] == 0 && (bytes == 0 || is_better(survey->chunks[i].bytes, bytes, missing_bytes)))
				bytes = survey->chunks[i].bytes;
		}
		if (bytes == 0)
			return;
		const bool covers = bytes > missing_bytes;
		for (uint32_t i = survey->partial; i < survey->count && choice->bytes < wanted_bytes; i++) {
			if (taken[i] != 0 || survey->chunks[i].bytes != bytes ||
				(!covers && bytes > wanted_bytes - choice->bytes))
				continue;
			choose(choice, &survey->chunks[i]);
			taken[i] = 1;
		}
	}
}

/* The last one may have covered more than was missing: what is not needed for that, of those from `first` on, is let
 * go, the largest first. */
static void drop_surplus(struct choice *choice, uint32_t first, uint64_t wanted_bytes)
{
	for (uint32_t i = first; i < choice->count && choice->bytes > wanted_bytes;) {
		const uint64_t bytes = choice->chosen[i]->bytes;
		if (bytes > choice->bytes - wanted_bytes) {
			i++;
			continue;
		}
		choice->bytes -= bytes;
		choice->count--;
		const uint32_t behind = choice->count - i;
		memmove(&choice->numbers[i], &choice->numbers[i + 1], behind * sizeof *choice->numbers);
		memmove(&choice->chosen[i], &choice->chosen[i + 1], behind * sizeof(const struct seam_surveyed *));
	}
}

/* Chunks for wanted_bytes of an arena, or of more of the open one. around: the plan lies around residents. */
static void choose_chunks(const struct seam_learner *learner, const struct seam_active_plan *open, bool around,
	uint64_t wanted_bytes, uint8_t *taken, struct choice *choice)
{
	const struct seam_survey *survey = &learner->survey;
	for (uint32_t i = 0; around && i < survey->partial && choice->bytes < wanted_bytes; i++)
		choose(choice, &survey->chunks[i]); /* they come first, as the plan has them */
	for (uint32_t i = survey->partial; open != NULL && i < survey->count; i++)
		taken[i] = seam__learner_offset(&open->arena, &survey->chunks[i]) != UINT64_MAX;
	const uint32_t first = choice->count;
	choose_whole(choice, survey, taken, wanted_bytes);
	drop_surplus(choice, first, wanted_bytes);
}

/* A new active plan over the chunks, which is being prepared from here on. */
static enum seam_rc begin_active(struct seam_learner *learner, const struct choice *choice, uint64_t fresh_bytes)
{
	struct seam_active_plan *active = NULL;
	enum seam_rc rc = seam__active_create(learner->runtime, &active);
	if (rc != SEAM_OK)
		return rc;
	uint64_t reserve_bytes = 2 * (choice->bytes + fresh_bytes);
	rc = seam__arena_begin(
		learner->engine, choice->numbers, choice->count, fresh_bytes, 0, reserve_bytes, &active->arena);
	if (rc != SEAM_OK) {
		seam__active_discard(learner->runtime, active);
		return rc;
	}
	learner->active = active;
	learner->runtime->preparing = active;
	return SEAM_OK;
}

/* An arena over the choice, or more of the open one. */
static enum seam_rc begin_arena(struct seam_learner *learner, const struct seam_active_plan *open,
	const struct choice *choice, uint64_t fresh_bytes)
{
	if (open == NULL)
		return begin_active(learner, choice, fresh_bytes);
	if (choice->bytes + fresh_bytes == 0)
		return SEAM_OK; /* what an earlier extension could not map is to be mapped */
	return seam__planned_extend(learner->runtime, choice->numbers, choice->count, fresh_bytes);
}

/* [both; drops lock] An arena of so many bytes, or so many more for the open one, of surveyed chunks and fresh ones, if
 * the pool reserves no more than limit_bytes then. around: as choose_chunks(). */
static enum seam_rc begin(struct seam_learner *learner, const struct seam_active_plan *open, bool around,
	uint64_t wanted_bytes, uint64_t limit_bytes)
{
	const size_t room = (size_t)learner->survey.count + 1;
	struct choice choice = {
		.numbers = seam__meta_array(learner->meta, room, sizeof *choice.numbers),
		.chosen = seam__meta_array(learner->meta, room, sizeof(const struct seam_surveyed *)),
	};
	uint8_t *taken = seam__meta_array(learner->meta, room, 1);
	enum seam_rc rc = SEAM_OOM_META;
	if (choice.numbers != NULL && choice.chosen != NULL && taken != NULL) {
		choose_chunks(learner, open, around, wanted_bytes, taken, &choice);
		const uint64_t fresh_bytes = wanted_bytes - seam__bits_min(wanted_bytes, choice.bytes);
		const bool costs =
			fresh_bytes != 0 && learner->engine->memory.reserved_bytes + fresh_bytes > limit_bytes;
		rc = costs ? SEAM_NOT_FOUND : begin_arena(learner, open, &choice, fresh_bytes);
	}
	seam__meta_free(learner->meta, choice.numbers, room * sizeof *choice.numbers);
	seam__meta_free(learner->meta, choice.chosen, room * sizeof(const struct seam_surveyed *));
	seam__meta_free(learner->meta, taken, room);
	return rc;
}

enum seam_rc seam__learner_begin(struct seam_learner *learner)
{
	const struct seam_active_plan *open = seam__learner_extends(learner);
	uint64_t wanted_bytes =
		seam__bits_align_up(seam__loaded_bytes(learner->loaded), learner->engine->memory.granularity_bytes);
	if (open != NULL)
		wanted_bytes = wanted_bytes > open->arena.bytes ? wanted_bytes - open->arena.bytes : 0;
	seam__learner_note_most(learner);
	/* Growth of other threads while begin() drops `lock` counts as the plan's. */
	const uint64_t peak_bytes = learner->engine->memory.reserved_peak_bytes;
	const enum seam_rc rc = begin(learner, open, open == NULL, wanted_bytes, learner->most_bytes);
	learner->raised_bytes += seam__bits_max(learner->engine->memory.reserved_peak_bytes, peak_bytes) - peak_bytes;
	return rc;
}

enum seam_rc seam__learner_begin_given(struct seam_learner *learner, uint64_t limit_bytes)
{
	const uint64_t bytes =
		seam__bits_align_up(learner->given_arena_bytes, learner->engine->memory.granularity_bytes);
	const enum seam_rc rc = seam__survey_make(learner->engine, NULL, NULL, &learner->survey);
	return rc == SEAM_OK ? begin(learner, NULL, false, bytes, limit_bytes) : rc;
}
