/* tracker.c: moves cursors to where requests are found; the choice is tracker_score.c's.
 *
 * There is one cursor for each (thread role, stream) of a plan. A role is what a thread of the plan does; which thread
 * of the program has it may change: a thread is found on another's cursor as on its own, and takes it.
 *
 * Not here: the request that the cursor expects at the frontier (matcher.c), and whether memory is safe.
 */
#include "matcher_state.h"

#include "account.h"
#include "bits.h"

#define FOUND 4u /* debt of a cursor that was put elsewhere: one unexpected request */

static const struct seam_slot_occurrence nowhere = {NULL, 0, 0};

/* Of the repetition that begins at this position. */
static uint32_t copy_of(const struct seam_loaded_plan *loaded, uint64_t base)
{
	return (uint32_t)(base / loaded->positions % loaded->copies);
}

void seam__cursor_put(const struct seam_loaded_plan *loaded, struct seam_cursor *cursor, uint64_t at)
{
	const uint32_t position = (uint32_t)(at % loaded->positions);
	const uint32_t expected = seam__cursor_expected_at(cursor, position);
	cursor->next = &cursor->first[expected == cursor->count ? 0 : expected];
	cursor->base = at - position + (expected == cursor->count ? loaded->positions : 0);
	cursor->copy = copy_of(loaded, cursor->base);
	cursor->debt = 0;
	cursor->missed = 0;
	cursor->cold = false;
	cursor->dynamic = nowhere;
	for (uint32_t i = 0; i < SEAM_SKIPPED; i++)
		cursor->skipped[i] = nowhere;
}

void seam__cursors_put(struct seam_loaded_plan *loaded, uint64_t at)
{
	for (uint32_t l = 0; l < loaded->cursor_count; l++)
		seam__cursor_put(loaded, &loaded->cursors[l], at);
}

static void turn_occurrence(
	const struct seam_loaded_plan *loaded, struct seam_slot_occurrence *occurrence, uint32_t repetitions)
{
	if (occurrence->expected == NULL)
		return;
	occurrence->base += (uint64_t)repetitions * loaded->positions;
	occurrence->copy = copy_of(loaded, occurrence->base);
}

void seam__cursors_turn(struct seam_loaded_plan *loaded, uint32_t repetitions)
{
	for (uint32_t l = 0; l < loaded->cursor_count; l++) {
		struct seam_cursor *cursor = &loaded->cursors[l];
		cursor->base += (uint64_t)repetitions * loaded->positions;
		cursor->copy = copy_of(loaded, cursor->base);
		turn_occurrence(loaded, &cursor->dynamic, repetitions);
		for (uint32_t i = 0; i < SEAM_SKIPPED; i++)
			turn_occurrence(loaded, &cursor->skipped[i], repetitions);
	}
}

void seam__cursors_reset(struct seam_loaded_plan *loaded, uint32_t position, bool cold)
{
	seam__cursors_put(loaded, loaded->frontier.base + position);
	for (uint32_t l = 0; l < loaded->cursor_count; l++) {
		struct seam_cursor *cursor = &loaded->cursors[l];
		cursor->thread = cursor->plan_thread;
		cursor->stepped = SEAM_NEVER;
		cursor->cold = cold && cursor->count >= SEAM_RUN;
		cursor->debt = cursor->cold ? SEAM_DEBT_MOST : 0;
	}
}

void seam__tracker_put(struct seam_matcher *matcher, uint32_t position)
{
	struct seam_loaded_plan *loaded = matcher->now;
	seam__cursors_put(loaded, seam__loaded_next(loaded, position, loaded->frontier.at));
	for (uint32_t l = 0; l < loaded->cursor_count; l++)
		loaded->cursors[l].thread = loaded->cursors[l].plan_thread;
}

void seam__tracker_line_up(struct seam_matcher *matcher)
{
	const struct seam_cursor *speaker = matcher->cursor;
	if (speaker != NULL && !speaker->cold)
		seam__tracker_put(matcher, speaker->next->begin);
}

struct seam_cursor *seam__tracker_cursor(const struct seam_matcher *matcher, const struct seam_match_ask *ask)
{
	const struct seam_loaded_plan *loaded = matcher->now;
	for (uint32_t l = 0; loaded != NULL && l < loaded->cursor_count; l++)
		if (loaded->cursors[l].thread == ask->thread && loaded->cursors[l].stream == ask->stream)
			return &loaded->cursors[l];
	return NULL;
}

static int64_t live_now(const struct seam_matcher *matcher)
{
	return (int64_t)matcher->counts.live + matcher->balance.beside - matcher->balance.staying;
}

/* Blocks that were freed since the last request and were not due. */
static uint64_t freed_since(const struct seam_matcher *matcher)
{
	const uint64_t heard = matcher->cursor == NULL ? 0 : matcher->cursor->history.heard;
	return matcher->balance.heard == heard ? matcher->balance.freed : 0;
}

void seam__tracker_freed(struct seam_matcher *matcher)
{
	struct seam_loaded_plan *loaded = matcher->now;
	matcher->balance.freed = freed_since(matcher) + 1;
	matcher->balance.heard = matcher->cursor == NULL ? 0 : matcher->cursor->history.heard;
	if (!matcher->balance.known || loaded == NULL)
		return;
	const uint32_t live = loaded->live_at[loaded->frontier.position];
	const int64_t slack = (int64_t)seam__live_slack(live);
	if ((int64_t)matcher->balance.freed <= slack || live_now(matcher) + slack >= live)
		return;
	for (uint32_t l = 0; l < loaded->cursor_count; l++)
		loaded->cursors[l].debt += loaded->cursors[l].debt == 0;
}

void seam__matcher_beside(struct seam_matcher *matcher, int more)
{
	matcher->balance.beside += more;
	if (more < 0)
		seam__tracker_freed(matcher);
}

static void add_debt(uint32_t *debt, uint32_t bits)
{
	*debt = (uint32_t)seam__bits_min(*debt + bits, SEAM_DEBT_MOST);
}

/* The cursor passes over so many expected slots; the last ones are remembered. */
static void skip(const struct seam_loaded_plan *loaded, struct seam_cursor *cursor, uint32_t count)
{
	for (uint32_t n = 0; n < count; n++) {
		if (cursor->next->bytes != 0 && n + SEAM_SKIPPED >= count)
			cursor->skipped[cursor->skipped_at++ % SEAM_SKIPPED] =
				(struct seam_slot_occurrence){cursor->next, cursor->base, cursor->copy};
		seam__cursor_pass(loaded, cursor);
	}
}

/* The cursor expects the expected slot, at this position. */
static void put_at(struct seam_loaded_plan *loaded, struct seam_cursor *cursor, const struct seam_candidate *candidate)
{
	seam__cursor_put(loaded, cursor, candidate->at);
	cursor->debt = FOUND;
}

/* The slot is what the cursor expects. */
static void take_next(
	const struct seam_loaded_plan *loaded, struct seam_cursor *cursor, struct seam_slot_occurrence *ret_occurrence)
{
	*ret_occurrence = (struct seam_slot_occurrence){cursor->next, cursor->base, cursor->copy};
	cursor->missed = 0;
	if (cursor->next->bytes == 0) {
		cursor->dynamic = *ret_occurrence;
		cursor->history.sizes[(cursor->history.heard - 1) % SEAM_HEARD] = 0;
	}
	seam__cursor_pass(loaded, cursor);
}

/* A thread takes over a cursor; whose that was gets the thread's own, if it has one. history: what the thread asked
 * for: that is what leads to the place, unless the cursor expected it. */
static void take_role(struct seam_matcher *matcher, const struct seam_scene *scene,
	const struct seam_candidate *candidate, const struct seam_match_ask *ask)
{
	struct seam_cursor *own = scene->cursor, *cursor = candidate->cursor;
	if (own == cursor)
		return;
	if (candidate->kind == SEAM_AT_NEXT)
		seam__history_add(&cursor->history, ask->dynamic ? 0 : ask->bytes);
	else
		cursor->history = *scene->history;
	if (own != NULL && candidate->plan == matcher->now)
		own->thread = cursor->thread;
	cursor->thread = ask->thread;
}

/* False: no memory to change the plan, nothing changed. */
static bool take_place(struct seam_matcher *matcher, struct seam_candidate *candidate, uint64_t stepped)
{
	if (candidate->plan != matcher->now) {
		if (!seam__matcher_switch(matcher, candidate->plan, candidate->expected->begin, false))
			return false;
		candidate->at = matcher->now->frontier.at;
	}
	struct seam_loaded_plan *loaded = matcher->now;
	struct seam_cursor *cursor = candidate->cursor;
	if (candidate->kind == SEAM_AT_BEGINNING && candidate->number != 0)
		seam__cursors_put(loaded, candidate->at);
	put_at(loaded, cursor, candidate);
	if (candidate->kind == SEAM_AT_BEGINNING) {
		cursor->debt = 0;
		cursor->stepped = stepped;
	}
	matcher->counts.resyncs++;
	return true;
}

/* The request is none of the plans'. */
static enum seam_miss miss(struct seam_matcher *matcher, struct seam_cursor *cursor)
{
	add_debt(cursor != NULL ? &cursor->debt : &matcher->stranger.debt, SEAM_EXTRA);
	if (cursor == NULL)
		return SEAM_MISS_cursor;
	cursor->missed++;
	/* Sizes that depend on data may leave no run that is the same each time: then the slot that is guessed comes
	 * by. */
	if (cursor->missed >= SEAM_HEARD && cursor->missed >= cursor->count)
		cursor->cold = false;
	return cursor->missed > SEAM_RUN || cursor->cold ? SEAM_MISS_lost : SEAM_MISS_size;
}

/* Does what the choice says. */
static enum seam_miss take(struct seam_matcher *matcher, const struct seam_scene *scene,
	struct seam_candidate *candidate, const struct seam_match_ask *ask, struct seam_slot_occurrence *ret_occurrence)
{
	struct seam_cursor *cursor = candidate->cursor;
	if (candidate->kind == SEAM_AT_NONE)
		return miss(matcher, scene->cursor);
	const uint64_t stepped = scene->cursor != NULL ? scene->cursor->stepped : SEAM_NEVER;
	if (candidate->kind >= SEAM_AT_PLACE && !take_place(matcher, candidate, stepped))
		return miss(matcher, scene->cursor);
	take_role(matcher, scene, candidate, ask);
	matcher->cursor = cursor;
	if (candidate->kind == SEAM_AT_SKIPPED) {
		add_debt(&cursor->debt, (uint32_t)candidate->bits);
		if (candidate->number == SEAM_SKIPPED) {
			*ret_occurrence = cursor->dynamic;
			cursor->missed = 0;
			return SEAM_MISS_NONE;
		}
		const struct seam_slot_occurrence *occurrence = &cursor->skipped[candidate->number];
		cursor->next = occurrence->expected;
		cursor->base = occurrence->base;
		cursor->copy = occurrence->copy;
	}
	if (candidate->kind == SEAM_AT_NEXT) {
		matcher->counts.resyncs += cursor->missed != 0;
		cursor->debt -= candidate->bits == 0 && cursor->debt != 0;
		add_debt(&cursor->debt, (uint32_t)candidate->bits);
		skip(matcher->now, cursor, candidate->number);
	}
	take_next(matcher->now, cursor, ret_occurrence);
	return SEAM_MISS_NONE;
}

/* Requests since an iteration began: as the program says; else, where it never does, as the plan says, if all since
 * then were expected. 0: not known. */
static uint64_t since_begun(const struct seam_loaded_plan *loaded, const struct seam_cursor *cursor)
{
	if (cursor->stepped != SEAM_NEVER)
		return cursor->history.heard - cursor->stepped;
	const uint64_t since = (uint64_t)(cursor->next - cursor->first) + 1;
	const bool counts = loaded->marks.count == 0 && cursor->debt == 0 && cursor->next->bytes != 0;
	return counts && since <= cursor->history.heard ? since : 0;
}

static struct seam_scene scene_of(
	const struct seam_matcher *matcher, struct seam_cursor *cursor, const struct seam_match_ask *ask)
{
	const struct seam_stranger *stranger = &matcher->stranger;
	return (struct seam_scene){
		.plans = matcher->loaded_plans,
		.plan_count = matcher->loaded_count,
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

/* False: no loaded plan has a slot that the request may be. So most sizes that no plan has need no choice. */
static bool may_be_known(const struct seam_matcher *matcher, const struct seam_match_ask *ask)
{
	for (uint32_t i = 0; i < matcher->loaded_count; i++) {
		const struct seam_loaded_plan *loaded = matcher->loaded_plans[i];
		if (seam__loaded_has(loaded, ask->dynamic ? 0 : ask->bytes, ask->stream) ||
			seam__loaded_has(loaded, 0, ask->stream))
			return true;
	}
	return false;
}

/* Whether the request is what the cursor expects, as far as its size goes. */
static bool is_next(const struct seam_cursor *cursor, const struct seam_match_ask *ask)
{
	const bool is_dynamic = cursor->next->bytes == 0;
	return is_dynamic == ask->dynamic && (is_dynamic || seam__expected_fits(cursor->next, ask->bytes));
}

enum seam_miss seam__tracker_find(struct seam_matcher *matcher, struct seam_cursor *cursor,
	const struct seam_match_ask *ask, struct seam_slot_occurrence *ret_occurrence)
{
	const struct seam_loaded_plan *loaded = matcher->now;
	const uint64_t frontier = loaded->frontier.at, freed = freed_since(matcher);
	/* It has been silent for most of a period: what it expects comes in another repetition. */
	if (cursor != NULL && !cursor->cold && seam__cursor_at(cursor) + loaded->positions / 4 * 3 < frontier) {
		cursor->base = seam__loaded_near(loaded, cursor->next->begin, frontier, loaded->positions / 2) -
			cursor->next->begin;
		cursor->copy = copy_of(loaded, cursor->base);
	}
	matcher->cursor = cursor != NULL ? cursor : matcher->cursor;
	struct seam_history *history = cursor != NULL ? &cursor->history : remember(&matcher->stranger, ask);
	seam__history_add(history, ask->dynamic ? 0 : ask->bytes);
	const bool is_expected = cursor != NULL && cursor->debt == 0 && is_next(cursor, ask) &&
		seam__bits_distance(seam__cursor_at(cursor), frontier) <= seam__loaded_around(loaded);
	if (is_expected) {
		matcher->counts.resyncs += cursor->missed != 0;
		take_next(loaded, cursor, ret_occurrence);
		return SEAM_MISS_NONE;
	}
	if (!may_be_known(matcher, ask))
		return miss(matcher, cursor);
	matcher->counts.steps += SEAM_CHOICE_STEPS;
	struct seam_scene scene = scene_of(matcher, cursor, ask);
	scene.freed = freed;
	struct seam_candidate candidate = seam__tracker_choose(&scene);
	return take(matcher, &scene, &candidate, ask, ret_occurrence);
}
