/* matcher_place.c: the front, and whether an expected slot is safe; see matcher.h. */
#include "matcher_state.h"

#include "check.h"

#define SHORT_WINDOW 512u /* positions; longer ones are looked at by address */

bool seam__stray_add(struct seam_matcher *matcher, struct seam_planned *planned, enum seam_planned_state state)
{
	struct seam_stray *stray = seam__slab_get(&matcher->stray_slab);
	if (stray == NULL)
		return false;
	stray->begin = planned->offset;
	stray->end = planned->offset + planned->bytes;
	stray->planned = planned;
	seam__strays_insert(&matcher->strays, stray);
	matcher->apart++;
	matcher->owners[planned->script]->strays++;
	planned->state = (uint8_t)state;
	return true;
}

bool seam__front_move(struct seam_matcher *matcher, uint64_t to)
{
	struct seam_script *script = matcher->now;
	while (script->front.at < to) {
		const uint32_t due = seam__script_due(script);
		if (due != UINT32_MAX && script->instances[due].state == SEAM_PLANNED_LIVE &&
			!seam__stray_add(matcher, &script->instances[due], SEAM_PLANNED_LATE))
			return false;
		seam__front_step(matcher, script);
	}
	if (matcher->loose.until <= to)
		seam__loose_expire(&matcher->loose, &matcher->strays, to);
	return true;
}

bool seam__strays_take_all(struct seam_matcher *matcher)
{
	struct seam_script *script = matcher->now;
	uint64_t left = matcher->counts.live - matcher->apart;
	if (left != 0 && seam__slab_reserve(&matcher->stray_slab, left) != SEAM_OK)
		return false;
	for (struct seam_planned *p = script == NULL ? NULL : script->instances; left != 0; p++) {
		if (p->state != SEAM_PLANNED_LIVE)
			continue;
		struct seam_stray *stray = seam__slab_get_reserved(&matcher->stray_slab);
		*stray = (struct seam_stray){.begin = p->offset, .end = p->offset + p->bytes, .planned = p};
		seam__strays_insert(&matcher->strays, stray);
		p->state = SEAM_PLANNED_LATE;
		script->strays++;
		matcher->apart++;
		left--;
	}
	seam__loose_expire(&matcher->loose, &matcher->strays, UINT64_MAX);
	return true;
}

bool seam__apart_overlaps(const struct seam_matcher *matcher, uint64_t begin, uint64_t end)
{
	const uint32_t loose = seam__loose_behind(&matcher->loose, begin);
	return seam__strays_overlap(&matcher->strays, begin, end) ||
		(loose < matcher->loose.count && matcher->loose.entries[loose].begin < end);
}

static bool is_live(void *user, uint32_t number)
{
	const struct seam_script *script = user;
	return script->instances[number].state != SEAM_PLANNED_FREE;
}

/* Whether something live that the current script began in positions (end, front) lies in the instance's place. */
static bool later_overlaps(const struct seam_script *script, const struct seam_planned *planned, uint64_t end)
{
	const uint64_t from = planned->offset, to = planned->offset + planned->bytes;
	if (script->front.at - end > SHORT_WINDOW)
		return seam__script_overlapping(script, from, to, is_live, (void *)(uintptr_t)script);
	uint32_t position = (uint32_t)(end % script->positions);
	uint32_t copy = (uint32_t)(end / script->positions % script->copies);
	for (uint64_t at = end; at < script->front.at; at++) {
		const uint32_t action = script->actions[position];
		if ((action & 1) == 0) {
			const struct seam_planned *other =
				&script->instances[seam__script_number(script, action >> 1, copy)];
			if (other->state != SEAM_PLANNED_FREE && other->offset < to &&
				from < other->offset + other->bytes)
				return true;
		}
		if (++position == script->positions) {
			position = 0;
			copy = copy + 1 == script->copies ? 0 : copy + 1;
		}
	}
	return false;
}

/* Whoever serves it instead is told how long it will live. It may be asked for once more. */
static enum seam_miss missed(struct seam_matcher *matcher, const struct seam_spot *spot, struct seam_planned *planned,
	uint64_t requested_bytes, enum seam_miss miss)
{
	const struct seam_stretch *stretch = &matcher->now->stretches[spot->cue->slot];
	matcher->missing = planned;
	matcher->reach = spot->base + stretch->end;
	matcher->pending = planned;
	matcher->pending_miss = miss;
	matcher->pending_begin = spot->base + stretch->begin;
	matcher->pending_bytes = requested_bytes;
	return miss;
}

enum seam_miss seam__matcher_place(struct seam_matcher *matcher, const struct seam_spot *spot, uint64_t requested_bytes,
	struct seam_planned **ret_planned)
{
	struct seam_script *script = matcher->now;
	const struct seam_stretch *stretch = &script->stretches[spot->cue->slot];
	struct seam_planned *planned = &script->instances[seam__script_number(script, spot->cue->slot, spot->copy)];
	const uint64_t begin = spot->base + stretch->begin, end = spot->base + stretch->end;
	if (planned->state != SEAM_PLANNED_FREE || !seam__front_move(matcher, begin))
		return missed(matcher, spot, planned, requested_bytes, SEAM_MISS_late);
	if (matcher->apart != 0 && seam__apart_overlaps(matcher, planned->offset, planned->offset + planned->bytes))
		return missed(matcher, spot, planned, requested_bytes, SEAM_MISS_late);
	const bool passed = end < script->front.at;
	if (passed && later_overlaps(script, planned, end))
		return missed(matcher, spot, planned, requested_bytes, SEAM_MISS_late);
	if (planned->blocked != 0) {
		*ret_planned = planned;
		return missed(matcher, spot, planned, requested_bytes, SEAM_MISS_gap);
	}
	if (passed && !seam__stray_add(matcher, planned, SEAM_PLANNED_LATE))
		return SEAM_MISS_late;
	if (begin == script->front.at)
		seam__front_step(matcher, script);
	seam__planned_begin(matcher, script, planned, requested_bytes);
	if (passed)
		planned->state = SEAM_PLANNED_LATE;
	*ret_planned = planned;
	return SEAM_MISS_NONE;
}
