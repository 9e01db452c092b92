/* matcher.c: requests and frees: the short way for what is expected, and the choice of the long one. */
#include "matcher_state.h"

#include <string.h>

#include "check.h"

static enum seam_miss count_miss(struct seam_matcher *matcher, enum seam_miss miss)
{
	if (miss != SEAM_MISS_NONE)
		matcher->counts.misses[miss]++;
	return miss;
}

static inline bool speaks(const struct seam_lane *lane, const struct seam_match_ask *ask)
{
	return lane->thread == ask->thread && lane->stream == ask->stream;
}

/* Everything but an expected slot at the front with no stray in its place. lane: of who asks; NULL: he has none. */
static __attribute__((noinline)) enum seam_miss alloc_with_care(struct seam_matcher *matcher,
	const struct seam_match_ask *ask, struct seam_lane *lane, struct seam_planned **ret_planned)
{
	struct seam_spot spot;
	matcher->reach = 0;
	matcher->missing = NULL;
	if (matcher->now == NULL)
		return SEAM_MISS_lost;
	const enum seam_miss unknown = seam__tracker_find(matcher, lane, ask, &spot);
	if (unknown != SEAM_MISS_NONE)
		return unknown;
	const enum seam_miss miss = spot.cue->bytes == 0
		? seam__matcher_place_dynamic(matcher, &spot, ask->bytes, ret_planned)
		: seam__matcher_place(matcher, &spot, ask->bytes, ret_planned);
	return miss;
}

/* What the lane expects next, if it may be that: whatever strays there are. */
static inline struct seam_planned *expected(
	const struct seam_matcher *matcher, const struct seam_lane *lane, const struct seam_match_ask *ask)
{
	if (lane->debt != 0 || ask->dynamic)
		return NULL;
	const struct seam_script *script = matcher->now;
	const struct seam_cue *cue = lane->next;
	struct seam_planned *planned = &script->instances[seam__script_number(script, cue->slot, lane->copy)];
	const bool due = seam__cue_fits(cue, ask->bytes) && lane->base + cue->begin == script->front.at;
	return due && planned->state == SEAM_PLANNED_FREE && planned->blocked == 0 &&
			script->front.at < matcher->loose.until
		? planned
		: NULL;
}

static inline enum seam_miss take_expected(struct seam_matcher *matcher, struct seam_lane *lane,
	struct seam_planned *planned, uint64_t requested_bytes, struct seam_planned **ret_planned)
{
	struct seam_script *script = matcher->now;
	seam__history_add(&lane->history, requested_bytes);
	seam__lane_pass(script, lane);
	matcher->lane = lane;
	seam__front_step(matcher, script);
	seam__planned_begin(matcher, script, planned, requested_bytes);
	*ret_planned = planned;
	return SEAM_MISS_NONE;
}

/* Another lane speaks, or strays are near, or it is not what is expected. */
static __attribute__((noinline)) enum seam_miss alloc_further(
	struct seam_matcher *matcher, const struct seam_match_ask *ask, struct seam_planned **ret_planned)
{
	struct seam_lane *lane = matcher->lane;
	if (lane == NULL)
		seam__matcher_succeed_unmarked(matcher);
	if (lane == NULL || !speaks(lane, ask))
		lane = seam__tracker_cursor(matcher, ask);
	struct seam_planned *planned = lane != NULL ? expected(matcher, lane, ask) : NULL;
	if (planned == NULL ||
		seam__strays_overlap(&matcher->strays, planned->offset, planned->offset + planned->bytes))
		return count_miss(matcher, alloc_with_care(matcher, ask, lane, ret_planned));
	return take_expected(matcher, lane, planned, ask->bytes, ret_planned);
}

/* This is what nearly every request is, so it is kept short: nothing is called. */
enum seam_miss seam__matcher_alloc(
	struct seam_matcher *matcher, const struct seam_match_ask *ask, struct seam_planned **ret_planned)
{
	struct seam_lane *lane = matcher->lane;
	struct seam_planned *planned =
		SEAM_LIKELY(lane != NULL && speaks(lane, ask)) ? expected(matcher, lane, ask) : NULL;
	if (SEAM_LIKELY(planned != NULL &&
		    seam__strays_beside(&matcher->strays, planned->offset, planned->offset + planned->bytes)))
		return take_expected(matcher, lane, planned, ask->bytes, ret_planned);
	return alloc_further(matcher, ask, ret_planned);
}

enum seam_miss seam__matcher_take(struct seam_matcher *matcher, struct seam_planned *planned)
{
	SEAM_ASSERT(matcher->pending == planned);
	const enum seam_miss before = matcher->pending_miss;
	struct seam_script *script = matcher->now;
	struct seam_planned *taken;
	const uint32_t slot = planned->number / script->copies;
	const struct seam_cue cue = {.bytes = planned->bytes, .begin = script->stretches[slot].begin, .slot = slot};
	const struct seam_spot spot = {&cue, matcher->pending_begin - cue.begin, planned->number % script->copies};
	const enum seam_miss miss = seam__matcher_place(matcher, &spot, matcher->pending_bytes, &taken);
	matcher->counts.misses[before]--;
	return count_miss(matcher, miss);
}

enum seam_miss seam__matcher_retry(struct seam_matcher *matcher, struct seam_planned **ret_planned)
{
	if (matcher->missing == NULL || matcher->pending != matcher->missing)
		return SEAM_MISS_late;
	*ret_planned = matcher->pending;
	return seam__matcher_take(matcher, matcher->pending);
}

void seam__matcher_pass(struct seam_matcher *matcher)
{
	matcher->reach = 0;
	matcher->missing = NULL;
}

struct seam_planned *seam__matcher_find(struct seam_matcher *matcher, uint64_t offset)
{
	const struct seam_script *script = matcher->now;
	if (SEAM_LIKELY(script != NULL)) {
		const uint32_t due = seam__script_due(script);
		if (due != UINT32_MAX && script->instances[due].offset == offset &&
			script->instances[due].state != SEAM_PLANNED_FREE)
			return &script->instances[due];
		struct seam_planned *planned = seam__script_at(script, offset);
		if (planned != NULL)
			return planned;
	}
	if (matcher->apart == 0)
		return NULL;
	const struct seam_stray *stray = seam__strays_find(&matcher->strays, offset);
	if (stray != NULL)
		return stray->planned;
	const uint32_t loose = seam__loose_find(&matcher->loose, offset);
	return loose == matcher->loose.count ? NULL : &matcher->loose.entries[loose].block->planned;
}

/* A dynamic block is gone afterwards. */
static void free_apart(struct seam_matcher *matcher, struct seam_planned *planned)
{
	const uint32_t loose = planned->script == SEAM_DYNAMIC ? seam__loose_find(&matcher->loose, planned->offset)
							       : matcher->loose.count;
	struct seam_stray *stray;
	if (loose < matcher->loose.count) {
		stray = &matcher->loose.entries[loose].block->stray;
		seam__loose_remove(&matcher->loose, loose);
	} else {
		stray = seam__strays_find(&matcher->strays, planned->offset);
		SEAM_VERIFY(stray != NULL);
		seam__strays_remove(&matcher->strays, stray);
	}
	SEAM_VERIFY(stray->planned == planned);
	matcher->apart--;
	matcher->counts.live--;
	matcher->counts.live_bytes -= planned->bytes;
	planned->state = SEAM_PLANNED_FREE;
	seam__tracker_freed(matcher);
	if (planned->script != SEAM_DYNAMIC) {
		struct seam_script *script = matcher->owners[planned->script];
		matcher->forgotten += script->retired;
		seam__slab_put(&matcher->stray_slab, stray);
		if (--script->strays == 0 && script->retired)
			seam__matcher_forget(matcher, script);
		return;
	}
	seam__slab_put(&matcher->loose_slab, stray); /* the first member of its struct seam_loose_block */
	/* The plan has a free of some dynamic block here: which one does not matter. */
	struct seam_script *script = matcher->now;
	if (script != NULL && (script->actions[script->front.position] & 1) != 0 &&
		script->stretches[script->actions[script->front.position] >> 1].group != SEAM_STATIC)
		seam__front_step(matcher, script);
}

/* Whether it was of the current script, and not due. */
static inline bool end_block(struct seam_matcher *matcher, struct seam_planned *planned)
{
	struct seam_script *script = matcher->now;
	SEAM_ASSERT(planned->state != SEAM_PLANNED_FREE);
	if (planned->state != SEAM_PLANNED_LIVE || planned->script != matcher->owner) {
		free_apart(matcher, planned);
		return false;
	}
	planned->state = SEAM_PLANNED_FREE;
	matcher->counts.live--;
	matcher->counts.live_bytes -= planned->bytes;
	if (seam__script_due(script) == planned->number) {
		seam__front_step(matcher, script);
		return false;
	}
	return true;
}

void seam__matcher_free(struct seam_matcher *matcher, struct seam_planned *planned)
{
	if (end_block(matcher, planned)) {
		seam__tracker_freed(matcher);
	}
}

void seam__matcher_take_back(struct seam_matcher *matcher, struct seam_planned *planned)
{
	if (end_block(matcher, planned))
		seam__tracker_freed(matcher);
}

enum seam_rc seam__matcher_hold(struct seam_matcher *matcher, struct seam_planned *planned)
{
	SEAM_ASSERT(planned->state == SEAM_PLANNED_LIVE || planned->state == SEAM_PLANNED_LATE);
	if (planned->state != SEAM_PLANNED_LIVE || planned->script != matcher->owner) {
		planned->state = SEAM_PLANNED_HELD;
		return SEAM_OK;
	}
	if (!seam__stray_add(matcher, planned, SEAM_PLANNED_HELD))
		return SEAM_OOM_META;
	if (seam__script_due(matcher->now) == planned->number)
		seam__front_step(matcher, matcher->now);
	return SEAM_OK;
}

bool seam__matcher_crosses(const struct seam_matcher *matcher, const struct seam_planned *planned)
{
	if (!matcher->several_streams)
		return false;
	if (planned->script == SEAM_DYNAMIC || matcher->several_scripts)
		return true;
	const struct seam_script *script = matcher->owners[planned->script];
	return script->crosses[planned->number / script->copies] != 0;
}

void seam__matcher_set_bytes(struct seam_matcher *matcher, uint64_t arena_bytes)
{
	matcher->arena_bytes = arena_bytes;
}

uint64_t seam__matcher_reach(const struct seam_matcher *matcher)
{
	const struct seam_script *script = matcher->now;
	return script != NULL && matcher->reach > script->front.at ? matcher->reach - script->front.at : 0;
}

void seam__matcher_get_counts(const struct seam_matcher *matcher, struct seam_match_counts *ret_counts)
{
	*ret_counts = matcher->counts;
	ret_counts->strays = matcher->strays.count;
}

uint64_t seam__matcher_front(const struct seam_matcher *matcher)
{
	return matcher->now == NULL ? 0 : matcher->now->front.at;
}

bool seam__matcher_goes_on(const struct seam_matcher *matcher, const struct seam_planned *planned)
{
	const struct seam_script *script = matcher->now;
	return planned->script == matcher->owner && script->goes_on != NULL &&
		script->goes_on[planned->number / script->copies] != 0;
}

bool seam__matcher_in_step(const struct seam_matcher *matcher)
{
	const struct seam_lane *lane = matcher->lane;
	return lane != NULL && !lane->cold && lane->debt == 0 && lane->missed == 0;
}

struct seam_heard seam__matcher_follow(struct seam_matcher *matcher, const struct seam_match_ask *ask)
{
	struct seam_planned *planned = NULL;
	struct seam_heard heard = {.found = true};
	const enum seam_miss miss = seam__matcher_alloc(matcher, ask, &planned);
	if (miss == SEAM_MISS_late || miss == SEAM_MISS_gap)
		heard.until = matcher->reach;
	else if (miss != SEAM_MISS_NONE)
		heard.found = miss == SEAM_MISS_dynamic;
	else if (planned->script == matcher->owner) {
		const struct seam_stretch *stretch = &matcher->now->stretches[planned->number / matcher->now->copies];
		heard.until = matcher->now->front.at + (stretch->end - stretch->begin);
	}
	if (miss == SEAM_MISS_NONE)
		seam__matcher_take_back(matcher, planned);
	heard.in_step = seam__matcher_in_step(matcher);
	return heard;
}

void seam__matcher_hear(struct seam_matcher *matcher, const struct seam_match_ask *ask)
{
	const struct seam_match_counts before = matcher->counts;
	(void)seam__matcher_follow(matcher, ask);
	matcher->balance = (struct seam_balance){.partial = true}; /* blocks of then are nobody's that was told of */
	matcher->counts.hits = before.hits;
	matcher->counts.dynamic_hits = before.dynamic_hits;
	memcpy(matcher->counts.misses, before.misses, sizeof before.misses);
}
