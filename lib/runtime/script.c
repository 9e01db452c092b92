/* script.c: from a plan to a script, and its end. */
#include "script.h"

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
	for (uint32_t i = 0; i < header->slot_count; i++) {
		const uint64_t bytes = seam__bits_align_up(plan->slots[i].size_bytes, SEAM_PLANNED_BYTES);
		for (uint32_t copy = 0; copy < header->copies && (plan->slots[i].flags & SEAM_PLAN_DYNAMIC) == 0;
			copy++) {
			const uint64_t offset = plan->offsets[(size_t)i * header->copies + copy];
			if (offset % SEAM_PLANNED_BYTES != 0 || bytes > MOST_BYTES || offset > MOST_BYTES - bytes)
				return false;
		}
	}
	return true;
}

static enum seam_rc fill_instances(struct seam_meta *meta, const struct seam_plan *plan, struct seam_script *script)
{
	script->instances = seam__meta_array(meta, script->slots * script->copies, sizeof(*script->instances));
	if (script->instances == NULL)
		return SEAM_OOM_META;
	for (uint32_t n = 0; n < script->slots * script->copies; n++) {
		const struct seam_plan_slot *slot = &plan->slots[n / script->copies];
		struct seam_planned *planned = &script->instances[n];
		planned->number = n;
		planned->offset = SEAM_PLAN_NO_ADDRESS;
		if ((slot->flags & SEAM_PLAN_DYNAMIC) != 0)
			continue;
		planned->offset = plan->offsets[n];
		planned->bytes = seam__bits_align_up(slot->size_bytes, SEAM_PLANNED_BYTES);
		script->bytes = seam__bits_max(script->bytes, planned->offset + planned->bytes);
	}
	return SEAM_OK;
}

static enum seam_rc fill_streams(struct seam_meta *meta, const struct seam_plan *plan, struct seam_script *script)
{
	script->streams = seam__meta_array(meta, plan->header.stream_count, sizeof(*script->streams));
	if (script->streams == NULL)
		return SEAM_OOM_META;
	script->stream_count = plan->header.stream_count;
	for (uint32_t i = 0; i < script->stream_count; i++)
		script->streams[i] = plan->streams[i];
	return SEAM_OK;
}

enum seam_rc seam__script_create(struct seam_meta *meta, const struct seam_plan *plan, struct seam_script **ret_script)
{
	if (!can_run(plan))
		return SEAM_INVALID;
	struct seam_script *script = seam__meta_alloc(meta, sizeof(*script));
	if (script == NULL)
		return SEAM_OOM_META;
	script->slots = plan->header.slot_count;
	script->copies = plan->header.copies;
	script->fingerprint = plan->header.fingerprint;
	enum seam_rc rc = fill_streams(meta, plan, script);
	if (rc == SEAM_OK)
		rc = fill_instances(meta, plan, script);
	if (rc == SEAM_OK)
		rc = seam__script_count_positions(meta, plan, script);
	if (rc == SEAM_OK)
		rc = seam__script_find_lanes(meta, plan, script);
	if (rc == SEAM_OK)
		rc = seam__script_index_places(meta, plan, script);
	if (rc != SEAM_OK) {
		seam__script_destroy(meta, script);
		return rc;
	}
	*ret_script = script;
	return SEAM_OK;
}

#define FREE_ARRAY(field, count)                                                                                   \
	do {                                                                                                       \
		seam__meta_free(meta, (void *)(uintptr_t)script->field, (size_t)(count) * sizeof(*script->field)); \
		script->field = NULL;                                                                              \
	} while (0)

void seam__script_retire(struct seam_meta *meta, struct seam_script *script)
{
	const size_t instances = (size_t)script->slots * script->copies;
	FREE_ARRAY(actions, script->positions);
	FREE_ARRAY(stretches, script->slots);
	FREE_ARRAY(live_at, script->positions);
	FREE_ARRAY(places, (size_t)script->place_mask + 1);
	FREE_ARRAY(place_of, instances);
	FREE_ARRAY(lanes, script->lane_count);
	FREE_ARRAY(cues, script->slots);
	FREE_ARRAY(runs, script->slots);
	FREE_ARRAY(berths, instances);
	FREE_ARRAY(goes_on, script->slots);
	FREE_ARRAY(crosses, script->slots);
	FREE_ARRAY(waited, script->slots);
	FREE_ARRAY(groups, script->group_count);
	FREE_ARRAY(ranges, script->range_count);
	FREE_ARRAY(streams, script->stream_count);
	script->retired = true;
}

void seam__script_destroy(struct seam_meta *meta, struct seam_script *script)
{
	if (script == NULL)
		return;
	seam__script_retire(meta, script);
	FREE_ARRAY(instances, (size_t)script->slots * script->copies);
	seam__meta_free(meta, script, sizeof(*script));
}

uint64_t seam__script_bytes(const struct seam_script *script)
{
	return script->bytes;
}

uint32_t seam__script_slots(const struct seam_script *script)
{
	return script->slots;
}

uint32_t seam__script_streams(const struct seam_script *script, const uint64_t **ret_handles)
{
	*ret_handles = script->streams;
	return script->stream_count;
}

uint64_t seam__script_fingerprint(const struct seam_script *script)
{
	return script->fingerprint;
}

static const char *check_lanes(const struct seam_script *script)
{
	uint64_t cues = 0;
	for (uint32_t l = 0; l < script->lane_count; l++) {
		const struct seam_lane *lane = &script->lanes[l];
		if (lane->next < lane->first || lane->next >= lane->first + lane->count)
			return "C2";
		if (lane->base % script->positions != 0 ||
			lane->base / script->positions % script->copies != lane->copy)
			return "C2";
		for (uint32_t i = 0; i < lane->count; i++) {
			const struct seam_cue *cue = &lane->first[i];
			if (script->stretches[cue->slot].begin != cue->begin || (i > 0 && cue->begin <= cue[-1].begin))
				return "C1";
		}
		cues += lane->count;
	}
	return cues == script->slots ? NULL : "C1";
}

const char *seam__script_check(const struct seam_script *script)
{
	for (uint32_t i = 0; i < script->slots; i++) {
		const struct seam_stretch *s = &script->stretches[i];
		if (s->begin >= s->end || s->end >= s->begin + script->copies * script->positions)
			return "C1";
		if (script->actions[s->begin] != 2 * i || script->actions[s->end % script->positions] != 2 * i + 1)
			return "C1";
		if (s->lag != s->end / script->positions % script->copies)
			return "C1";
	}
	for (uint32_t p = 0; p < script->positions; p++) {
		const uint32_t before = script->live_at[p],
			       after = script->live_at[p + 1 == script->positions ? 0 : p + 1];
		if ((script->actions[p] & 1) != 0 ? before != after + 1 : after != before + 1)
			return "C4";
	}
	for (uint32_t i = 0; i < script->placed; i++) {
		const struct seam_berth *berth = &script->berths[i];
		const struct seam_planned *planned = &script->instances[berth->number];
		const struct seam_place *place = &script->places[script->place_of[berth->number]];
		const struct seam_stretch *stretch = &script->stretches[berth->number / script->copies];
		if (berth->at != seam__script_circle_at(script, berth->number) ||
			berth->length != stretch->end - stretch->begin)
			return "C3";
		if (berth->begin != planned->offset || berth->end != planned->offset + planned->bytes ||
			(i > 0 && berth->begin < berth[-1].begin))
			return "C3";
		if (place->key != planned->offset / SEAM_PLANNED_BYTES || berth->reach < berth->end)
			return "C3";
		if (place->number != UINT32_MAX && script->instances[place->number].offset != planned->offset)
			return "C3";
	}
	return check_lanes(script);
}
