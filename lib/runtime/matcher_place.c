/* matcher_place.c: the frontier, and whether an expected slot is safe; see matcher.h. */
#include "matcher_state.h"

#include "check.h"

bool seam__overdue_add(struct seam_matcher *matcher, struct seam_plan_block *plan_block)
{
	struct seam_overdue_block *overdue_block = seam__slab_get(&matcher->overdue_slab);
	if (overdue_block == NULL)
		return false;
	overdue_block->begin = plan_block->offset;
	overdue_block->end = plan_block->offset + plan_block->bytes;
	overdue_block->plan_block = plan_block;
	seam__overdue_insert(&matcher->overdue, overdue_block);
	matcher->off_plan_count++;
	matcher->owners[plan_block->loaded]->overdue++;
	plan_block->state = SEAM_PLANNED_LATE;
	return true;
}

/* Nothing of the current loaded plan is live, so nothing on the way can become overdue. The ends of repetitions are
 * counted: the frontier steps over them. */
static void move_idle(struct seam_matcher *matcher, struct seam_loaded_plan *loaded, uint64_t to)
{
	struct seam_frontier *frontier = &loaded->frontier;
	while (to - frontier->base >= loaded->positions) {
		frontier->position = loaded->positions - 1;
		frontier->at = frontier->base + frontier->position;
		seam__frontier_step(matcher, loaded);
	}
	frontier->position = (uint32_t)(to - frontier->base);
	frontier->at = to;
}

bool seam__frontier_move(struct seam_matcher *matcher, uint64_t to)
{
	struct seam_loaded_plan *loaded = matcher->now;
	while (loaded->frontier.at < to) {
		if (matcher->counts.live == matcher->off_plan_count) {
			move_idle(matcher, loaded, to);
			break;
		}
		const uint32_t due = seam__loaded_due(loaded);
		if (due != UINT32_MAX && loaded->instances[due].state == SEAM_PLANNED_LIVE &&
			!seam__overdue_add(matcher, &loaded->instances[due]))
			return false;
		seam__frontier_step(matcher, loaded);
	}
	if (matcher->off_plan.until <= to)
		seam__off_plan_expire(&matcher->off_plan, &matcher->overdue, to);
	return true;
}

bool seam__frontier_leap(struct seam_matcher *matcher, uint64_t to)
{
	const uint64_t unmarked = matcher->now->unmarked;
	const bool is_moved = seam__frontier_move(matcher, to);
	matcher->now->unmarked = unmarked;
	matcher->balance = (struct seam_balance){.partial = true};
	return is_moved;
}

bool seam__overdue_take_all(struct seam_matcher *matcher)
{
	struct seam_loaded_plan *loaded = matcher->now;
	uint64_t left = matcher->counts.live - matcher->off_plan_count;
	if (left != 0 && seam__slab_reserve(&matcher->overdue_slab, left) != SEAM_OK)
		return false;
	for (struct seam_plan_block *p = loaded == NULL ? NULL : loaded->instances; left != 0; p++) {
		if (p->state != SEAM_PLANNED_LIVE)
			continue;
		struct seam_overdue_block *overdue_block = seam__slab_get_reserved(&matcher->overdue_slab);
		*overdue_block =
			(struct seam_overdue_block){.begin = p->offset, .end = p->offset + p->bytes, .plan_block = p};
		seam__overdue_insert(&matcher->overdue, overdue_block);
		p->state = SEAM_PLANNED_LATE;
		loaded->overdue++;
		matcher->off_plan_count++;
		left--;
	}
	seam__off_plan_expire(&matcher->off_plan, &matcher->overdue, UINT64_MAX);
	return true;
}

bool seam__off_plan_overlaps(const struct seam_matcher *matcher, uint64_t begin, uint64_t end)
{
	return seam__overdue_overlap(&matcher->overdue, begin, end) ||
		seam__overdue_overlap(&matcher->off_plan.blocks, begin, end);
}

static bool is_live(void *user, uint32_t number)
{
	const struct seam_loaded_plan *loaded = user;
	return loaded->instances[number].state != SEAM_PLANNED_FREE;
}

/* Whether something live of the current loaded plan, no overdue block, lies in the instance's place: it is there at the
 * frontier. */
static bool live_overlaps(const struct seam_loaded_plan *loaded, const struct seam_plan_block *plan_block)
{
	const uint64_t times = seam__frontier_times(loaded, 0);
	return seam__loaded_overlapping(loaded, plan_block->offset, plan_block->offset + plan_block->bytes, &times,
		is_live, (void *)(uintptr_t)loaded);
}

/* Whoever serves it instead is told how long it will live. It may be asked for once more. */
static enum seam_miss missed(struct seam_matcher *matcher, const struct seam_slot_occurrence *occurrence,
	struct seam_plan_block *plan_block, uint64_t requested_bytes, enum seam_miss miss)
{
	const struct seam_lifetime *lifetime = &matcher->now->lifetimes[occurrence->expected->slot];
	matcher->missing = plan_block;
	matcher->reach = occurrence->base + lifetime->end;
	matcher->pending = plan_block;
	matcher->pending_miss = miss;
	matcher->pending_begin = occurrence->base + lifetime->begin;
	matcher->pending_bytes = requested_bytes;
	return miss;
}

enum seam_miss seam__matcher_place(struct seam_matcher *matcher, const struct seam_slot_occurrence *occurrence,
	uint64_t requested_bytes, struct seam_plan_block **ret_block)
{
	struct seam_loaded_plan *loaded = matcher->now;
	const struct seam_lifetime *lifetime = &loaded->lifetimes[occurrence->expected->slot];
	struct seam_plan_block *plan_block =
		&loaded->instances[seam__loaded_number(loaded, occurrence->expected->slot, occurrence->copy)];
	const uint64_t begin = occurrence->base + lifetime->begin, end = occurrence->base + lifetime->end;
	if (plan_block->state != SEAM_PLANNED_FREE || !seam__frontier_move(matcher, begin))
		return missed(matcher, occurrence, plan_block, requested_bytes, SEAM_MISS_late);
	if (matcher->off_plan_count != 0 &&
		seam__off_plan_overlaps(matcher, plan_block->offset, plan_block->offset + plan_block->bytes))
		return missed(matcher, occurrence, plan_block, requested_bytes, SEAM_MISS_late);
	const bool passed = end < loaded->frontier.at;
	if (passed && live_overlaps(loaded, plan_block))
		return missed(matcher, occurrence, plan_block, requested_bytes, SEAM_MISS_late);
	if (!seam__matcher_is_clear(matcher, plan_block)) {
		*ret_block = plan_block;
		return missed(matcher, occurrence, plan_block, requested_bytes, SEAM_MISS_gap);
	}
	if (passed && !seam__overdue_add(matcher, plan_block))
		return SEAM_MISS_late;
	if (begin == loaded->frontier.at)
		seam__frontier_step(matcher, loaded);
	seam__planned_begin(matcher, loaded, plan_block, requested_bytes);
	if (passed)
		plan_block->state = SEAM_PLANNED_LATE;
	*ret_block = plan_block;
	return SEAM_MISS_NONE;
}
