/* matcher.c: requests and frees: the short way for what is expected, and the choice of the long one. */
#include "matcher_state.h"

#include "account.h"
#include "bits.h"
#include "check.h"

static enum seam_miss count_miss(struct seam_matcher *matcher, enum seam_miss miss)
{
	if (miss != SEAM_MISS_NONE)
		matcher->counts.misses[miss]++;
	return miss;
}

static inline bool speaks(const struct seam_cursor *cursor, const struct seam_match_ask *ask)
{
	return cursor->thread == ask->thread && cursor->stream == ask->stream;
}

/* Everything but an expected slot at the frontier with no overdue block in its place. cursor: of who asks; NULL: he has
 * none. */
static __attribute__((noinline)) enum seam_miss alloc_with_care(struct seam_matcher *matcher,
	const struct seam_match_ask *ask, struct seam_cursor *cursor, struct seam_plan_block **ret_block)
{
	struct seam_slot_occurrence occurrence;
	seam__matcher_pass(matcher);
	if (matcher->now == NULL)
		return SEAM_MISS_lost;
	const enum seam_miss unknown = seam__tracker_find(matcher, cursor, ask, &occurrence);
	if (unknown != SEAM_MISS_NONE)
		return unknown;
	const enum seam_miss miss = occurrence.expected->bytes == 0
		? seam__matcher_place_dynamic(matcher, &occurrence, ask->bytes, ret_block)
		: seam__matcher_place(matcher, &occurrence, ask->bytes, ret_block);
	return miss;
}

/* What the cursor expects next, if it may be that: whatever overdue blocks there are. */
static inline struct seam_plan_block *expected(
	const struct seam_matcher *matcher, const struct seam_cursor *cursor, const struct seam_match_ask *ask)
{
	if (cursor->debt != 0 || ask->dynamic)
		return NULL;
	const struct seam_loaded_plan *loaded = matcher->now;
	const struct seam_expected_slot *expected = cursor->next;
	struct seam_plan_block *plan_block =
		&loaded->instances[seam__loaded_number(loaded, expected->slot, cursor->copy)];
	const bool due =
		seam__expected_fits(expected, ask->bytes) && cursor->base + expected->begin == loaded->frontier.at;
	return due && plan_block->state == SEAM_PLANNED_FREE && loaded->frontier.at < matcher->off_plan.until &&
			seam__matcher_is_clear(matcher, plan_block)
		? plan_block
		: NULL;
}

static inline enum seam_miss take_expected(struct seam_matcher *matcher, struct seam_cursor *cursor,
	struct seam_plan_block *plan_block, uint64_t requested_bytes, struct seam_plan_block **ret_block)
{
	struct seam_loaded_plan *loaded = matcher->now;
	seam__history_add(&cursor->history, requested_bytes);
	seam__cursor_pass(loaded, cursor);
	matcher->cursor = cursor;
	seam__frontier_step(matcher, loaded);
	seam__planned_begin(matcher, loaded, plan_block, requested_bytes);
	*ret_block = plan_block;
	return SEAM_MISS_NONE;
}

/* Another cursor speaks, or overdue blocks are near, or it is not what is expected. */
static __attribute__((noinline)) enum seam_miss alloc_further(
	struct seam_matcher *matcher, const struct seam_match_ask *ask, struct seam_plan_block **ret_block)
{
	struct seam_cursor *cursor = matcher->cursor;
	if (cursor == NULL)
		seam__matcher_succeed_unmarked(matcher);
	if (cursor == NULL || !speaks(cursor, ask))
		cursor = seam__tracker_cursor(matcher, ask);
	struct seam_plan_block *plan_block = cursor != NULL ? expected(matcher, cursor, ask) : NULL;
	if (plan_block == NULL ||
		seam__overdue_overlap(&matcher->overdue, plan_block->offset, plan_block->offset + plan_block->bytes))
		return count_miss(matcher, alloc_with_care(matcher, ask, cursor, ret_block));
	return take_expected(matcher, cursor, plan_block, ask->bytes, ret_block);
}

/* This is what nearly every request is, so it is kept short: nothing is called. */
enum seam_miss seam__matcher_alloc(
	struct seam_matcher *matcher, const struct seam_match_ask *ask, struct seam_plan_block **ret_block)
{
	struct seam_cursor *cursor = matcher->cursor;
	struct seam_plan_block *plan_block =
		SEAM_LIKELY(cursor != NULL && speaks(cursor, ask)) ? expected(matcher, cursor, ask) : NULL;
	if (SEAM_LIKELY(plan_block != NULL &&
		    seam__overdue_beside(
			    &matcher->overdue, plan_block->offset, plan_block->offset + plan_block->bytes)))
		return take_expected(matcher, cursor, plan_block, ask->bytes, ret_block);
	return alloc_further(matcher, ask, ret_block);
}

enum seam_miss seam__matcher_take(struct seam_matcher *matcher, struct seam_plan_block *plan_block)
{
	SEAM_ASSERT(matcher->pending == plan_block);
	const enum seam_miss before = matcher->pending_miss;
	struct seam_loaded_plan *loaded = matcher->now;
	struct seam_plan_block *taken;
	const uint32_t slot = plan_block->number / loaded->copies;
	const struct seam_expected_slot expected = {
		.bytes = plan_block->bytes, .begin = loaded->lifetimes[slot].begin, .slot = slot};
	const struct seam_slot_occurrence occurrence = {
		&expected, matcher->pending_begin - expected.begin, plan_block->number % loaded->copies};
	const enum seam_miss miss = seam__matcher_place(matcher, &occurrence, matcher->pending_bytes, &taken);
	matcher->counts.misses[before]--;
	return count_miss(matcher, miss);
}

enum seam_miss seam__matcher_retry(struct seam_matcher *matcher, struct seam_plan_block **ret_block)
{
	if (matcher->missing == NULL || matcher->pending != matcher->missing)
		return SEAM_MISS_late;
	*ret_block = matcher->pending;
	return seam__matcher_take(matcher, matcher->pending);
}

void seam__matcher_pass(struct seam_matcher *matcher)
{
	matcher->reach = 0;
	matcher->missing = NULL;
	matcher->pending = NULL;
}

struct seam_plan_block *seam__matcher_find(struct seam_matcher *matcher, uint64_t offset)
{
	const struct seam_loaded_plan *loaded = matcher->now;
	if (SEAM_LIKELY(loaded != NULL)) {
		const uint32_t due = seam__loaded_due(loaded);
		if (due != UINT32_MAX && loaded->instances[due].offset == offset &&
			loaded->instances[due].state != SEAM_PLANNED_FREE)
			return &loaded->instances[due];
		struct seam_plan_block *plan_block = seam__loaded_at(loaded, offset);
		if (plan_block != NULL)
			return plan_block;
	}
	if (matcher->off_plan_count == 0)
		return NULL;
	const struct seam_overdue_block *overdue_block = seam__overdue_find(&matcher->overdue, offset);
	if (overdue_block != NULL)
		return overdue_block->plan_block;
	struct seam_off_plan_block *off_plan = seam__off_plan_find(&matcher->off_plan, offset);
	return off_plan == NULL ? NULL : &off_plan->plan_block;
}

/* The place of a free block is the next to be looked at for one of its size, if it is below the one where the last was
 * found. */
static void lead_back(struct seam_matcher *matcher, const struct seam_plan_block *plan_block)
{
	uint64_t *const from = &matcher->borrow_from[seam__bits_log2(plan_block->bytes)];
	*from = seam__bits_min(*from, plan_block->offset);
}

/* A dynamic block is gone afterwards. */
static void free_off_plan(struct seam_matcher *matcher, struct seam_plan_block *plan_block)
{
	struct seam_off_plan_block *off_plan = plan_block->loaded == SEAM_PLANNED_DYNAMIC
		? seam__off_plan_find(&matcher->off_plan, plan_block->offset)
		: NULL;
	struct seam_overdue_block *overdue_block;
	if (off_plan != NULL) {
		overdue_block = &off_plan->node;
		seam__off_plan_remove(&matcher->off_plan, off_plan);
	} else {
		overdue_block = seam__overdue_find(&matcher->overdue, plan_block->offset);
		SEAM_VERIFY(overdue_block != NULL);
		seam__overdue_remove(&matcher->overdue, overdue_block);
	}
	SEAM_VERIFY(overdue_block->plan_block == plan_block);
	matcher->off_plan_count--;
	matcher->counts.live--;
	matcher->counts.live_bytes -= plan_block->bytes;
	plan_block->state = SEAM_PLANNED_FREE;
	lead_back(matcher, plan_block);
	if (plan_block->loaded != SEAM_PLANNED_DYNAMIC) {
		struct seam_loaded_plan *loaded = matcher->owners[plan_block->loaded];
		seam__slab_put(&matcher->overdue_slab, overdue_block);
		if (--loaded->overdue == 0 && loaded->retired)
			seam__matcher_forget(matcher, loaded);
		return;
	}
	seam__slab_put(&matcher->off_plan_slab, overdue_block); /* the first member of its struct seam_off_plan_block */
	/* The plan has a free of some dynamic block here: which one does not matter. */
	struct seam_loaded_plan *loaded = matcher->now;
	if (loaded != NULL && (loaded->actions[loaded->frontier.position] & 1) != 0 &&
		loaded->lifetimes[loaded->actions[loaded->frontier.position] >> 1].group != SEAM_STATIC)
		seam__frontier_step(matcher, loaded);
}

void seam__matcher_free(struct seam_matcher *matcher, struct seam_plan_block *plan_block)
{
	SEAM_ASSERT(plan_block->state != SEAM_PLANNED_FREE);
	if (plan_block->state != SEAM_PLANNED_LIVE || plan_block->loaded != matcher->owner) {
		free_off_plan(matcher, plan_block);
		return;
	}
	plan_block->state = SEAM_PLANNED_FREE;
	matcher->counts.live--;
	matcher->counts.live_bytes -= plan_block->bytes;
	if (seam__loaded_due(matcher->now) == plan_block->number)
		seam__frontier_step(matcher, matcher->now);
	else
		seam__tracker_freed(matcher);
}

enum seam_rc seam__matcher_hold(struct seam_matcher *matcher, struct seam_plan_block *plan_block)
{
	SEAM_ASSERT(plan_block->state != SEAM_PLANNED_FREE);
	if (plan_block->state != SEAM_PLANNED_LIVE || plan_block->loaded != matcher->owner)
		return SEAM_OK; /* slots are told of it as it is */
	if (!seam__overdue_add(matcher, plan_block))
		return SEAM_OOM_META;
	if (seam__loaded_due(matcher->now) == plan_block->number)
		seam__frontier_step(matcher, matcher->now);
	return SEAM_OK;
}

void seam__matcher_set_bytes(struct seam_matcher *matcher, uint64_t arena_bytes)
{
	matcher->arena_bytes = arena_bytes;
}

uint64_t seam__matcher_reach(const struct seam_matcher *matcher)
{
	const struct seam_loaded_plan *loaded = matcher->now;
	return loaded != NULL ? seam__bits_max(matcher->reach, loaded->frontier.at) - loaded->frontier.at : 0;
}

void seam__matcher_get_counts(const struct seam_matcher *matcher, struct seam_match_counts *ret_counts)
{
	*ret_counts = matcher->counts;
	ret_counts->overdue = matcher->overdue.count;
}

bool seam__matcher_hear(struct seam_matcher *matcher, const struct seam_match_ask *ask)
{
	struct seam_slot_occurrence occurrence;
	matcher->counts.steps += SEAM_HEAR_STEPS;
	if (matcher->cursor == NULL)
		seam__matcher_succeed_unmarked(matcher);
	const bool is_found = matcher->now != NULL &&
		seam__tracker_find(matcher, seam__tracker_cursor(matcher, ask), ask, &occurrence) == SEAM_MISS_NONE;
	const uint64_t at = is_found ? occurrence.base + occurrence.expected->begin : 0;
	const uint64_t unmarked = matcher->now != NULL ? matcher->now->unmarked : 0;
	if (is_found && seam__frontier_move(matcher, at) && matcher->now->frontier.at == at)
		seam__frontier_step(matcher, matcher->now);
	if (is_found)
		matcher->now->unmarked = unmarked;                 /* marks of then are not told */
	matcher->balance = (struct seam_balance){.partial = true}; /* blocks of then are nobody's that was told of */
	return is_found;
}
