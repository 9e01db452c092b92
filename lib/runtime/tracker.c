/* tracker.c: moves cursors to where requests are found; the choice is tracker_score.c's.
 *
 * There is one cursor for each (thread role, stream) of a plan. A role is what a thread of the plan does; which thread
 * of the program has it may change: a thread is found on another's cursor as on its own, and takes it.
 *
 * Not here: the request that the cursor expects at the frontier (matcher.c), and whether memory is safe.
 */
#include "matcher_state.h"

#include "bits.h"

#define FOUND 4u /* debt of a cursor that was put elsewhere: one unexpected request */

static const struct seam_spot nowhere = {NULL, 0, 0};

void seam__lane_put(const struct seam_script *script, struct seam_lane *lane, uint64_t at)
{
	const uint32_t position = (uint32_t)(at % script->positions);
	const uint32_t cue = seam__lane_cue_at(lane, position);
	lane->next = &lane->first[cue == lane->count ? 0 : cue];
	lane->base = at - position + (cue == lane->count ? script->positions : 0);
	lane->copy = (uint32_t)(lane->base / script->positions % script->copies);
	lane->debt = 0;
	lane->missed = 0;
	lane->cold = false;
	lane->dynamic = nowhere;
	for (uint32_t i = 0; i < SEAM_SKIPPED; i++)
		lane->skipped[i] = nowhere;
}

void seam__lanes_put(struct seam_script *script, uint64_t at)
{
	for (uint32_t l = 0; l < script->lane_count; l++)
		seam__lane_put(script, &script->lanes[l], at);
}

void seam__lanes_reset(struct seam_script *script, uint32_t position, bool cold)
{
	seam__lanes_put(script, script->front.base + position);
	for (uint32_t l = 0; l < script->lane_count; l++) {
		struct seam_lane *lane = &script->lanes[l];
		lane->thread = lane->plan_thread;
		lane->stepped = SEAM_NEVER;
		lane->cold = cold && lane->count >= SEAM_RUN;
		lane->debt = lane->cold ? SEAM_DEBT_MOST : 0;
	}
}

struct seam_lane *seam__tracker_cursor(const struct seam_matcher *matcher, const struct seam_match_ask *ask)
{
	const struct seam_script *script = matcher->now;
	for (uint32_t l = 0; script != NULL && l < script->lane_count; l++)
		if (script->lanes[l].thread == ask->thread && script->lanes[l].stream == ask->stream)
			return &script->lanes[l];
	return NULL;
}

static int64_t live_now(const struct seam_matcher *matcher)
{
	return (int64_t)matcher->counts.live + matcher->balance.beside - matcher->balance.staying;
}

/* Blocks that were freed since the last request and were not due. */
static uint64_t freed_since(const struct seam_matcher *matcher)
{
	const uint64_t heard = matcher->lane == NULL ? 0 : matcher->lane->history.heard;
	return matcher->balance.heard == heard ? matcher->balance.freed : 0;
}

void seam__tracker_freed(struct seam_matcher *matcher)
{
	struct seam_script *script = matcher->now;
	matcher->balance.freed = freed_since(matcher) + 1;
	matcher->balance.heard = matcher->lane == NULL ? 0 : matcher->lane->history.heard;
	if (!matcher->balance.known || script == NULL)
		return;
	const uint32_t planned = script->live_at[script->front.position];
	const int64_t slack = (int64_t)seam__live_slack(planned);
	if ((int64_t)matcher->balance.freed <= slack || live_now(matcher) + slack >= planned)
		return;
	for (uint32_t l = 0; l < script->lane_count; l++)
		script->lanes[l].debt += script->lanes[l].debt == 0;
}

void seam__matcher_beside(struct seam_matcher *matcher, int more)
{
	matcher->balance.beside += more;
	if (more < 0)
		seam__tracker_freed(matcher);
}

static void add_debt(uint32_t *debt, uint32_t bits)
{
	*debt = *debt + bits > SEAM_DEBT_MOST ? SEAM_DEBT_MOST : *debt + bits;
}

/* The cursor passes over so many cues; the last ones are remembered. */
static void skip(const struct seam_script *script, struct seam_lane *lane, uint32_t count)
{
	for (uint32_t n = 0; n < count; n++) {
		if (lane->next->bytes != 0 && n + SEAM_SKIPPED >= count)
			lane->skipped[lane->skipped_at++ % SEAM_SKIPPED] =
				(struct seam_spot){lane->next, lane->base, lane->copy};
		seam__lane_pass(script, lane);
	}
}

/* The cursor expects the cue, at this position. */
static void put_at(struct seam_script *script, struct seam_lane *lane, const struct seam_candidate *candidate)
{
	seam__lane_put(script, lane, candidate->at);
	lane->debt = FOUND;
}

/* The slot is what the cursor expects. */
static void take_next(const struct seam_script *script, struct seam_lane *lane, struct seam_spot *ret_spot)
{
	*ret_spot = (struct seam_spot){lane->next, lane->base, lane->copy};
	lane->missed = 0;
	if (lane->next->bytes == 0) {
		lane->dynamic = *ret_spot;
		lane->history.sizes[(lane->history.heard - 1) % SEAM_HEARD] = 0;
	}
	seam__lane_pass(script, lane);
}

/* A thread takes over a cursor; whose that was gets the thread's own, if it has one. history: what the thread asked
 * for: that is what leads to the place, unless the cursor expected it. */
static void take_role(struct seam_matcher *matcher, const struct seam_scene *scene,
	const struct seam_candidate *candidate, const struct seam_match_ask *ask)
{
	struct seam_lane *own = scene->cursor, *lane = candidate->cursor;
	if (own == lane)
		return;
	if (candidate->kind == SEAM_AT_NEXT)
		seam__history_add(&lane->history, ask->dynamic ? 0 : ask->bytes);
	else
		lane->history = *scene->history;
	if (own != NULL && candidate->plan == matcher->now)
		own->thread = lane->thread;
	lane->thread = ask->thread;
}

/* False: no memory to change the plan, nothing changed. */
static bool take_place(struct seam_matcher *matcher, struct seam_candidate *candidate, uint64_t stepped)
{
	if (candidate->plan != matcher->now) {
		if (!seam__matcher_switch(matcher, candidate->plan, candidate->cue->begin, false))
			return false;
		candidate->at = matcher->now->front.at;
	}
	struct seam_script *script = matcher->now;
	struct seam_lane *lane = candidate->cursor;
	if (candidate->kind == SEAM_AT_BEGINNING && candidate->number != 0)
		seam__lanes_put(script, candidate->at);
	put_at(script, lane, candidate);
	if (candidate->kind == SEAM_AT_BEGINNING) {
		lane->debt = 0;
		lane->stepped = stepped;
	}
	matcher->counts.resyncs++;
	return true;
}

static enum seam_miss miss(struct seam_lane *cursor)
{
	if (cursor == NULL)
		return SEAM_MISS_lane;
	cursor->missed++;
	/* Sizes that depend on data may leave no run that is the same each time: then the slot that is guessed comes
	 * by. */
	if (cursor->missed >= SEAM_HEARD && cursor->missed >= cursor->count)
		cursor->cold = false;
	return cursor->missed > SEAM_RUN || cursor->cold ? SEAM_MISS_lost : SEAM_MISS_size;
}

/* Does what the choice says. */
static enum seam_miss take(struct seam_matcher *matcher, const struct seam_scene *scene,
	struct seam_candidate *candidate, const struct seam_match_ask *ask, struct seam_spot *ret_spot)
{
	struct seam_lane *lane = candidate->cursor;
	uint32_t *debt = scene->cursor != NULL ? &scene->cursor->debt : &matcher->stranger.debt;
	if (candidate->kind == SEAM_AT_NONE) {
		add_debt(debt, SEAM_EXTRA);
		return miss(scene->cursor);
	}
	const uint64_t stepped = scene->cursor != NULL ? scene->cursor->stepped : SEAM_NEVER;
	if (candidate->kind >= SEAM_AT_PLACE && !take_place(matcher, candidate, stepped))
		return miss(scene->cursor);
	take_role(matcher, scene, candidate, ask);
	matcher->lane = lane;
	if (candidate->kind == SEAM_AT_SKIPPED) {
		add_debt(&lane->debt, (uint32_t)candidate->bits);
		if (candidate->number == SEAM_SKIPPED) {
			*ret_spot = lane->dynamic;
			lane->missed = 0;
			return SEAM_MISS_NONE;
		}
		const struct seam_spot *spot = &lane->skipped[candidate->number];
		lane->next = spot->cue;
		lane->base = spot->base;
		lane->copy = spot->copy;
	}
	if (candidate->kind == SEAM_AT_NEXT) {
		matcher->counts.resyncs += lane->missed != 0;
		lane->debt -= candidate->bits == 0 && lane->debt != 0;
		add_debt(&lane->debt, (uint32_t)candidate->bits);
		skip(matcher->now, lane, candidate->number);
	}
	take_next(matcher->now, lane, ret_spot);
	return SEAM_MISS_NONE;
}

/* Requests since an iteration began: as the program says; else, where it never does, as the plan says, if all since
 * then were expected. 0: not known. */
static uint64_t since_begun(const struct seam_script *script, const struct seam_lane *cursor)
{
	if (cursor->stepped != SEAM_NEVER)
		return cursor->history.heard - cursor->stepped;
	const uint64_t since = (uint64_t)(cursor->next - cursor->first) + 1;
	const bool counts = script->marks.count == 0 && cursor->debt == 0 && cursor->next->bytes != 0;
	return counts && since <= cursor->history.heard ? since : 0;
}

static struct seam_scene scene_of(
	const struct seam_matcher *matcher, struct seam_lane *cursor, const struct seam_match_ask *ask)
{
	const struct seam_stranger *stranger = &matcher->stranger;
	return (struct seam_scene){
		.plans = matcher->scripts,
		.plan_count = matcher->script_count,
		.cursor = cursor,
		.history = cursor != NULL ? &cursor->history : &stranger->history,
		.stream = ask->stream,
		.role = cursor != NULL ? cursor->plan_thread : ask->thread,
		.bytes = ask->bytes,
		.dynamic = ask->dynamic,
		.debt = cursor != NULL ? cursor->debt : stranger->debt,
		.since = cursor != NULL ? since_begun(matcher->now, cursor) : 0,
		.said = cursor != NULL && cursor->stepped != SEAM_NEVER,
		.live_known = matcher->balance.known,
		.live = live_now(matcher),
	};
}

/* A thread and stream without a cursor: the last one is remembered. */
static struct seam_history *remember(struct seam_stranger *stranger, const struct seam_match_ask *ask)
{
	if (stranger->stream != ask->stream || stranger->thread != ask->thread)
		*stranger = (struct seam_stranger){.stream = ask->stream, .thread = ask->thread};
	return &stranger->history;
}

enum seam_miss seam__tracker_find(struct seam_matcher *matcher, struct seam_lane *cursor,
	const struct seam_match_ask *ask, struct seam_spot *ret_spot)
{
	const struct seam_script *script = matcher->now;
	const uint64_t front = script->front.at, freed = freed_since(matcher);
	/* It has been silent for most of a period: what it expects comes in another repetition. */
	if (cursor != NULL && !cursor->cold && seam__lane_at(cursor) + script->positions / 4 * 3 < front) {
		cursor->base = seam__script_near(script, cursor->next->begin, front, script->positions / 2) -
			cursor->next->begin;
		cursor->copy = (uint32_t)(cursor->base / script->positions % script->copies);
	}
	matcher->lane = cursor != NULL ? cursor : matcher->lane;
	struct seam_history *history = cursor != NULL ? &cursor->history : remember(&matcher->stranger, ask);
	seam__history_add(history, ask->dynamic ? 0 : ask->bytes);
	const bool is_expected = cursor != NULL && cursor->debt == 0 && !ask->dynamic &&
		seam__cue_fits(cursor->next, ask->bytes) && cursor->next->bytes != 0 &&
		seam__bits_distance(seam__lane_at(cursor), front) <= seam__script_around(script);
	if (is_expected) {
		matcher->counts.resyncs += cursor->missed != 0;
		take_next(script, cursor, ret_spot);
		return SEAM_MISS_NONE;
	}
	struct seam_scene scene = scene_of(matcher, cursor, ask);
	scene.freed = freed;
	struct seam_candidate candidate = seam__tracker_choose(&scene);
	return take(matcher, &scene, &candidate, ask, ret_spot);
}
