/* loaded_plan.c: from a plan to a loaded plan, and its end. */
#include "loaded_plan.h"

#include "bits.h"
#include "meta.h"

#define MOST_BYTES ((UINT64_C(1) << 41) - SEAM_PLANNED_BYTES)
#define MOST_POSITIONS (UINT64_C(1) << 31)

static bool can_run(const struct seam_plan *plan)
{
	const struct seam_plan_header *header = &plan->header;
	if ((header->flags & (SEAM_PLAN_LINEAR | SEAM_PLAN_GRAPH)) != 0 || header->slot_count == 0)
		return false;
	if (2 * (uint64_t)header->slot_count * header->copies >= MOST_POSITIONS || header->arena_bytes > MOST_BYTES)
		return false;
	for (size_t n = 0; n < (size_t)header->slot_count * header->copies; n++)
		if ((plan->slots[n / header->copies].flags & SEAM_PLAN_DYNAMIC) == 0 &&
			plan->offsets[n] % SEAM_PLANNED_BYTES != 0)
			return false;
	return true;
}

static enum seam_rc fill_instances(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_loaded_plan *loaded)
{
	loaded->instances = seam__meta_array(meta, loaded->slots * loaded->copies, sizeof(*loaded->instances));
	if (loaded->instances == NULL)
		return SEAM_OOM_META;
	for (uint32_t n = 0; n < loaded->slots * loaded->copies; n++) {
		const struct seam_plan_slot *slot = &plan->slots[n / loaded->copies];
		struct seam_plan_block *plan_block = &loaded->instances[n];
		plan_block->number = n;
		plan_block->offset = SEAM_PLAN_NO_ADDRESS;
		if ((slot->flags & SEAM_PLAN_DYNAMIC) != 0)
			continue;
		plan_block->offset = plan->offsets[n];
		plan_block->bytes = seam__bits_align_up(slot->size_bytes, SEAM_PLANNED_BYTES);
		loaded->bytes = seam__bits_max(loaded->bytes, plan_block->offset + plan_block->bytes);
	}
	return SEAM_OK;
}

enum seam_rc seam__loaded_create(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_loaded_plan **ret_loaded)
{
	if (!can_run(plan))
		return SEAM_INVALID;
	struct seam_loaded_plan *loaded = seam__meta_alloc(meta, sizeof(*loaded));
	if (loaded == NULL)
		return SEAM_OOM_META;
	loaded->slots = plan->header.slot_count;
	loaded->copies = plan->header.copies;
	loaded->stream_count = plan->header.stream_count;
	enum seam_rc rc = fill_instances(meta, plan, loaded);
	if (rc == SEAM_OK)
		rc = seam__loaded_count_positions(meta, plan, loaded);
	if (rc == SEAM_OK)
		rc = seam__loaded_find_cursors(meta, plan, loaded);
	if (rc == SEAM_OK)
		rc = seam__loaded_index_places(meta, plan, loaded);
	if (rc != SEAM_OK) {
		seam__loaded_destroy(meta, loaded);
		return rc;
	}
	*ret_loaded = loaded;
	return SEAM_OK;
}

#define FREE_ARRAY(field, count)                                                                                   \
	do {                                                                                                       \
		seam__meta_free(meta, (void *)(uintptr_t)loaded->field, (size_t)(count) * sizeof(*loaded->field)); \
		loaded->field = NULL;                                                                              \
	} while (0)

void seam__loaded_retire(struct seam_meta *meta, struct seam_loaded_plan *loaded)
{
	const size_t instances = (size_t)loaded->slots * loaded->copies;
	FREE_ARRAY(actions, loaded->positions);
	FREE_ARRAY(lifetimes, loaded->slots);
	FREE_ARRAY(live_at, loaded->positions);
	FREE_ARRAY(places, (size_t)loaded->address_mask + 1);
	FREE_ARRAY(address_slot_of, instances);
	FREE_ARRAY(cursors, loaded->cursor_count);
	FREE_ARRAY(expectations, loaded->slots);
	FREE_ARRAY(runs, loaded->slots);
	FREE_ARRAY(by_address_entries, instances);
	FREE_ARRAY(waited, loaded->slots);
	FREE_ARRAY(groups, loaded->group_count);
	FREE_ARRAY(ranges, loaded->range_count);
	loaded->retired = true;
}

void seam__loaded_destroy(struct seam_meta *meta, struct seam_loaded_plan *loaded)
{
	if (loaded == NULL)
		return;
	seam__loaded_retire(meta, loaded);
	FREE_ARRAY(instances, (size_t)loaded->slots * loaded->copies);
	seam__meta_free(meta, loaded, sizeof(*loaded));
}

uint64_t seam__loaded_bytes(const struct seam_loaded_plan *loaded)
{
	return loaded->bytes;
}

uint32_t seam__loaded_slots(const struct seam_loaded_plan *loaded)
{
	return loaded->slots;
}

static const char *check_cursors(const struct seam_loaded_plan *loaded)
{
	uint64_t expectations = 0;
	for (uint32_t l = 0; l < loaded->cursor_count; l++) {
		const struct seam_cursor *cursor = &loaded->cursors[l];
		if (cursor->next < cursor->first || cursor->next >= cursor->first + cursor->count)
			return "C2";
		if (cursor->base % loaded->positions != 0 ||
			cursor->base / loaded->positions % loaded->copies != cursor->copy)
			return "C2";
		for (uint32_t i = 0; i < cursor->count; i++) {
			const struct seam_expected_slot *expected = &cursor->first[i];
			if (loaded->lifetimes[expected->slot].begin != expected->begin ||
				(i > 0 && expected->begin <= expected[-1].begin))
				return "C1";
		}
		expectations += cursor->count;
	}
	return expectations == loaded->slots ? NULL : "C1";
}

static const char *check_marks(const struct seam_loaded_plan *loaded)
{
	const struct seam_marks *marks = &loaded->marks;
	if (marks->count > (marks->all ? 1 : SEAM_MARKS))
		return "C5";
	for (uint32_t i = 0; i < marks->count; i++)
		for (uint32_t k = 0; k <= i; k++)
			if (marks->at[i] >= loaded->positions || (k < i && marks->at[k] == marks->at[i]))
				return "C5";
	return NULL;
}

static const char *check_live(const struct seam_loaded_plan *loaded)
{
	uint32_t live = 0;
	for (uint32_t i = 0; i < loaded->slots; i++)
		live += loaded->lifetimes[i].end / loaded->positions;
	if (loaded->live_at[0] != live)
		return "C4";
	for (uint32_t p = 0; p < loaded->positions; p++) {
		const uint32_t before = loaded->live_at[p], least = loaded->live_at[loaded->least_at],
			       after = loaded->live_at[p + 1 == loaded->positions ? 0 : p + 1];
		if ((loaded->actions[p] & 1) != 0 ? before != after + 1 : after != before + 1)
			return "C4";
		if (before < least || (before == least && p < loaded->least_at))
			return "C4";
	}
	return NULL;
}

const char *seam__loaded_check(const struct seam_loaded_plan *loaded)
{
	for (uint32_t i = 0; i < loaded->slots; i++) {
		const struct seam_lifetime *s = &loaded->lifetimes[i];
		if (s->begin >= s->end || s->end >= s->begin + loaded->copies * loaded->positions)
			return "C1";
		if (loaded->actions[s->begin] != 2 * i || loaded->actions[s->end % loaded->positions] != 2 * i + 1)
			return "C1";
		if (s->lag != s->end / loaded->positions % loaded->copies)
			return "C1";
	}
	for (uint32_t i = 0; i < loaded->placed; i++) {
		const struct seam_by_address *by_address = &loaded->by_address_entries[i];
		const struct seam_plan_block *plan_block = &loaded->instances[by_address->number];
		const struct seam_address_slot *place = &loaded->places[loaded->address_slot_of[by_address->number]];
		const struct seam_lifetime *lifetime = &loaded->lifetimes[by_address->number / loaded->copies];
		if (by_address->at != seam__loaded_circle_at(loaded, by_address->number) ||
			by_address->length != lifetime->end - lifetime->begin)
			return "C3";
		if (by_address->begin != plan_block->offset ||
			by_address->end != plan_block->offset + plan_block->bytes ||
			(i > 0 && by_address->begin < by_address[-1].begin))
			return "C3";
		if (place->key != plan_block->offset / SEAM_PLANNED_BYTES || by_address->reach < by_address->end)
			return "C3";
		if (place->number != UINT32_MAX && loaded->instances[place->number].offset != plan_block->offset)
			return "C3";
	}
	const char *broken = check_live(loaded);
	if (broken == NULL)
		broken = check_marks(loaded);
	return broken != NULL ? broken : check_cursors(loaded);
}
