/* survey.c: which chunks of the common memory an arena could have, and what stays in them; see arena.h.
 *
 * With `change` neither chunks nor views come, go or change hands. Blocks do: they are copied a few at a time, so that
 * a request that needs no change waits for no more than that.
 */
#include "arena_impl.h"
#include "check.h"
#include "meta.h"

#define PORTION 64u /* blocks that are copied at once */

struct survey_state {
	struct seam_engine *engine;
	bool (*stays)(void *user, const struct seam_block *block);
	void *user;
	struct seam_survey survey;
	struct seam_block blocks[PORTION]; /* copies, of which no link is followed */
	uint32_t block_count;
};

static enum seam_rc make_room(
	struct seam_meta *meta, void **array, uint32_t count, uint32_t *capacity, size_t element_bytes)
{
	if (count < *capacity)
		return SEAM_OK;
	uint32_t wanted = *capacity == 0 ? 64 : *capacity * 2;
	void *larger = seam__meta_resize(meta, *array, *capacity * element_bytes, wanted * element_bytes);
	if (larger == NULL)
		return SEAM_OOM_META;
	*array = larger;
	*capacity = wanted;
	return SEAM_OK;
}

static bool is_resident(const struct survey_state *state, const struct seam_block *block)
{
	if (block->is == SEAM_IS_LIVE)
		return block->captured || state->stays == NULL || state->stays(state->user, block);
	if (block->is == SEAM_IS_LEASED)
		return state->stays == NULL;
	return block->is == SEAM_IS_PENDING && block->captured; /* for good: graphs may use it */
}

/* Where the owner of a chunk has it. False: nowhere. */
static bool find_owner(const struct seam_chunk *chunk, const struct seam_view **ret_view, uint32_t *ret_slot)
{
	*ret_view = chunk->home;
	*ret_slot = chunk->home_slot;
	if (chunk->owner == chunk->home)
		return true;
	const struct seam_mapping *mapping;
	LIST_FOREACH(mapping, &chunk->mappings, of_chunk)
	{
		if (mapping->view == chunk->owner)
			break;
	}
	if (mapping == NULL)
		return false;
	*ret_view = mapping->view;
	*ret_slot = mapping->slot;
	return true;
}

/* Copies the blocks of a slot that are in use, from `from` on, as far as there is room; returns how far. */
static uint64_t copy_blocks(
	struct survey_state *state, const struct seam_view *view, uint32_t slot_number, uint64_t from)
{
	const struct seam_slot *slot = &view->slots[slot_number];
	const uint64_t end = slot->offset + slot->bytes;
	const struct seam_block *block = seam__block_at(view, slot_number);
	state->block_count = 0;
	for (; block != NULL && block->offset < end; block = TAILQ_NEXT(block, link)) {
		const bool is_used =
			block->is == SEAM_IS_LIVE || block->is == SEAM_IS_PENDING || block->is == SEAM_IS_LEASED;
		if (block->offset + block->bytes <= from || !is_used)
			continue;
		if (state->block_count == PORTION)
			return block->offset;
		state->blocks[state->block_count++] = *block;
	}
	return end;
}

/* Notes the residents among the blocks, as far as they lie in the slot, for the chunk that comes next. Adds their bytes
 * to *bytes. */
static enum seam_rc add_residents(struct survey_state *state, const struct seam_slot *slot, uint64_t *bytes)
{
	struct seam_survey *survey = &state->survey;
	const uint64_t begin = slot->offset, end = slot->offset + slot->bytes;
	for (uint32_t i = 0; i < state->block_count; i++) {
		const struct seam_block *block = &state->blocks[i];
		if (!is_resident(state, block))
			continue;
		void *array = survey->residents;
		enum seam_rc rc = make_room(state->engine->meta, &array, survey->resident_count,
			&survey->resident_capacity, sizeof(*survey->residents));
		survey->residents = array;
		if (rc != SEAM_OK)
			return rc;
		const uint64_t block_end = block->offset + block->bytes;
		const uint64_t from = block->offset > begin ? block->offset : begin;
		const uint64_t to = block_end < end ? block_end : end;
		survey->residents[survey->resident_count++] = (struct seam_surveyed_resident){
			.serial = block->is == SEAM_IS_LIVE ? block->serial : 0,
			.chunk_index = survey->count,
			.offset_bytes = from - begin,
			.bytes = to - from,
			.before_bytes = from - block->offset,
		};
		*bytes += to - from;
	}
	return SEAM_OK;
}

/* Blocks are copied with `lock`, and looked at without. */
static enum seam_rc add_chunk(struct survey_state *state, const struct seam_chunk *chunk)
{
	struct seam_survey *survey = &state->survey;
	const struct seam_view *view;
	uint32_t slot;
	uint64_t bytes = 0;
	enum seam_rc rc = SEAM_OK;
	if (find_owner(chunk, &view, &slot)) {
		const uint64_t end = view->slots[slot].offset + view->slots[slot].bytes;
		for (uint64_t at = view->slots[slot].offset; at < end && rc == SEAM_OK;) {
			at = copy_blocks(state, view, slot, at);
			seam__mutex_unlock(&state->engine->lock);
			rc = add_residents(state, &view->slots[slot], &bytes);
			seam__mutex_lock(&state->engine->lock);
		}
	}
	if (rc != SEAM_OK)
		return rc;
	void *array = survey->chunks;
	rc = make_room(state->engine->meta, &array, survey->count, &survey->capacity, sizeof(*survey->chunks));
	survey->chunks = array;
	if (rc == SEAM_OK)
		survey->chunks[survey->count++] = (struct seam_surveyed){.number = chunk->number,
			.kept_at = chunk->kept_at,
			.bytes = chunk->bytes,
			.resident_bytes = bytes};
	return rc;
}

static enum seam_rc add_home(struct survey_state *state, const struct seam_view *home)
{
	enum seam_rc rc = SEAM_OK;
	for (uint32_t i = 0; i < home->slot_count && rc == SEAM_OK; i++) {
		const struct seam_mapping *mapping = home->slots[i].mapping;
		if (mapping != NULL && seam__arena_may_have(mapping->chunk))
			rc = add_chunk(state, mapping->chunk);
	}
	return rc;
}

/* Chunks that are occupied in part come first, wholly occupied ones go, and their residents' places with them.
 * places[i]: the new place of i. */
static void put_in_order(struct seam_survey *survey, const struct seam_surveyed *all, uint32_t *places)
{
	uint32_t count = survey->count, next = 0;
	for (int partial = 1; partial >= 0; partial--) {
		for (uint32_t i = 0; i < count; i++) {
			bool none = all[i].resident_bytes == 0, whole = all[i].resident_bytes == all[i].bytes;
			if (whole)
				places[i] = UINT32_MAX;
			if (whole || none == (partial != 0))
				continue;
			places[i] = next;
			survey->chunks[next++] = all[i];
			survey->bytes += all[i].bytes;
		}
		if (partial != 0)
			survey->partial = next;
	}
	survey->count = next;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < survey->resident_count; i++) {
		struct seam_surveyed_resident resident = survey->residents[i];
		uint32_t place = places[resident.chunk_index];
		resident.chunk_index = place;
		if (place != UINT32_MAX)
			survey->residents[kept++] = resident;
	}
	survey->resident_count = kept;
}

static enum seam_rc order(struct seam_engine *engine, struct seam_survey *survey)
{
	uint32_t count = survey->count;
	if (count == 0)
		return SEAM_OK;
	struct seam_surveyed *all = seam__meta_array(engine->meta, count, sizeof *all);
	uint32_t *places = seam__meta_array(engine->meta, count, sizeof *places);
	bool enough = all != NULL && places != NULL;
	if (enough) {
		for (uint32_t i = 0; i < count; i++)
			all[i] = survey->chunks[i];
		put_in_order(survey, all, places);
	}
	seam__meta_free(engine->meta, all, count * sizeof *all);
	seam__meta_free(engine->meta, places, count * sizeof *places);
	return enough ? SEAM_OK : SEAM_OOM_META;
}

enum seam_rc seam__survey_make(struct seam_engine *engine, bool (*stays)(void *user, const struct seam_block *block),
	void *user, struct seam_survey *ret_survey)
{
	static const enum seam_class classes[] = {SEAM_CLASS_LARGE, SEAM_CLASS_SMALL};
	struct survey_state state = {.engine = engine, .stays = stays, .user = user};
	enum seam_rc rc = SEAM_OK;
	for (int c = 0; c < 2 && rc == SEAM_OK; c++) {
		const struct seam_view *home;
		TAILQ_FOREACH(home, &engine->common.classes[classes[c]].homes, link)
		{
			if (rc == SEAM_OK)
				rc = add_home(&state, home);
		}
	}
	if (rc == SEAM_OK)
		rc = order(engine, &state.survey);
	if (rc != SEAM_OK) {
		seam__survey_fini(engine, &state.survey);
		return rc;
	}
	state.survey.engine_bytes = engine->memory.reserved_bytes;
	*ret_survey = state.survey;
	return SEAM_OK;
}

void seam__survey_fini(struct seam_engine *engine, struct seam_survey *survey)
{
	seam__meta_free(engine->meta, survey->chunks, survey->capacity * sizeof *survey->chunks);
	seam__meta_free(engine->meta, survey->residents, survey->resident_capacity * sizeof *survey->residents);
	*survey = (struct seam_survey){0};
}
