/* planned_check.c: the invariants of planned.h, from scratch: nothing here is used by what it looks at.
 *
 * Not here: what matchers, loaded plans and arenas promise by themselves.
 * Locks: the engine's `lock`.
 */
#include "planned_impl.h"

/* What the blocks of an active plan add up to. */
struct sums {
	const struct seam_active_plan *active;
	uint64_t blocks, bytes, requested_bytes; /* live */
	uint64_t held, held_bytes;
	uint64_t used; /* on other streams too, live or held */
};

static void add_block(void *user, struct seam_plan_block *plan_block)
{
	struct sums *sums = user;
	bool is_held = false;
	for (uint32_t i = 0; i < sums->active->held_count; i++)
		is_held |= sums->active->held[i] == plan_block;
	sums->used += plan_block->uses != NULL;
	sums->held += is_held && plan_block->requested_bytes == 0 && plan_block->uses != NULL;
	sums->held_bytes += is_held ? plan_block->bytes : 0;
	sums->blocks += !is_held;
	sums->bytes += is_held ? 0 : plan_block->bytes;
	sums->requested_bytes += is_held ? 0 : plan_block->requested_bytes;
}

static bool is_first_open(const struct seam_runtime *runtime, const struct seam_active_plan *active)
{
	return runtime->open && active == LIST_FIRST(&runtime->active_plans);
}

static bool are_gaps_blocked(const struct seam_active_plan *active)
{
	const uint64_t gap_bytes = active->suspended ? 0 : active->arena.bytes - active->arena.leased_bytes;
	return active->arena.state != SEAM_ARENA_OPEN || seam__matcher_blocked_bytes(active->matcher) == gap_bytes;
}

static bool is_lent_right(const struct seam_runtime *runtime, const struct seam_active_plan *active)
{
	uint64_t lent_bytes = 0;
	for (uint32_t i = 0; i < active->arena.count; i++)
		lent_bytes += active->arena.chunks[i].lent ? active->arena.chunks[i].bytes : 0;
	return active->suspended ? is_first_open(runtime, active) && active->lent_bytes == 0
				 : !is_first_open(runtime, active) || active->lent_bytes == lent_bytes;
}

static bool are_users_right(const struct seam_active_plan *active)
{
	if (active->stream_count > active->stream_capacity || seam__last_uses_check(&active->last_uses) != NULL)
		return false;
	for (const struct seam_last_use *use = seam__last_uses_behind(&active->last_uses, 0); use != NULL;
		use = seam__last_uses_next(use))
		if ((active->stream_count < 64 && use->streams >> active->stream_count != 0) ||
			use->stamp > active->streams[0]->owner->tick)
			return false;
	for (uint32_t i = 0; i < active->stream_count; i++) {
		if (active->joined[i] != UINT64_MAX && active->joined[i] > active->arena.join_version)
			return false;
		for (uint32_t k = 0; k < active->stream_count; k++) {
			const uint64_t behind = active->behind[(size_t)i * active->stream_capacity + k];
			if (i != k &&
				(active->streams[i] == active->streams[k] || behind > active->streams[k]->last_stamp))
				return false;
		}
	}
	return true;
}

static bool is_period_right(const struct seam_active_plan *active)
{
	for (uint32_t i = 0; i < seam__matcher_loaded_count(active->matcher); i++)
		if (seam__loaded_slots(seam__matcher_loaded(active->matcher, i)) > active->long_positions)
			return false;
	return active->usable <= active->arena.count;
}

static const char *check_active(
	const struct seam_runtime *runtime, const struct seam_active_plan *active, const struct sums *sums)
{
	if ((active->arena.state == SEAM_ARENA_OPEN) != is_first_open(runtime, active))
		return "Q1: an active plan is open that is not the first, or the first is not";
	if (!is_lent_right(runtime, active))
		return "Q5: a suspended one is not open, or what is lent is not what the chunks say";
	if (!are_gaps_blocked(active))
		return "Q2: what is blocked is not the gaps of the arena";
	if (is_first_open(runtime, active) && !active->started && (!active->suspended || sums->blocks != 0))
		return "Q10: one that has not started serves";
	if (active->started && active->on_trial)
		return "Q10: one that has started is on trial";
	if (sums->held != active->held_count || sums->used != active->recorded ||
		active->recorded > active->held_capacity)
		return "Q6: blocks that other streams use";
	if (!are_users_right(active))
		return "Q7: streams and what they are ordered behind";
	if (is_first_open(runtime, active) && !is_period_right(active))
		return "Q8: the period, or what loaded plans can use of the arena";
	const char *broken = seam__arena_check(runtime->engine, &active->arena);
	return broken == NULL ? seam__matcher_check(active->matcher) : broken;
}

/* Places for those of the first requests [first, last) that stay. */
static uint64_t places_bytes(const struct seam_prologue *prologue, uint32_t first, uint32_t last)
{
	uint64_t places = 0;
	for (uint32_t i = first; i < last; i++)
		if ((prologue->requests[i].flags & SEAM_PLAN_STAYS) != 0)
			places += (prologue->requests[i].size_bytes - 1) / 512 + 1;
	return places * 512;
}

static const char *check_prologue(const struct seam_runtime *runtime)
{
	const struct seam_prologue *prologue = &runtime->prologue;
	struct seam_match_counts counts;
	if (prologue->active == NULL)
		return NULL;
	if (!runtime->open || prologue->next >= prologue->count || prologue->active->arena.state != SEAM_ARENA_CLOSED)
		return "Q4: first requests are expected without a plan, or none is left";
	if (prologue->strangers >= SEAM_PROLOGUE_STRANGERS)
		return "Q4: first requests are expected though too many were others";
	if (prologue->ahead != 0 &&
		(!prologue->is_stranger || prologue->strangers == 0 || prologue->ahead >= prologue->count ||
			prologue->ahead < prologue->next + 2 ||
			prologue->ahead > prologue->next + 1 + SEAM_PROLOGUE_WINDOW))
		return "Q4: the program may have left out first requests, but not these";
	seam__matcher_get_counts(prologue->active->matcher, &counts);
	if (prologue->at_bytes != places_bytes(prologue, 0, prologue->next) ||
		prologue->active->arena.leased_bytes <
			counts.live_bytes + places_bytes(prologue, prologue->next, prologue->count))
		return "Q4: the places of first requests";
	return NULL;
}

static const char *check_counts(const struct seam_runtime *runtime)
{
	const struct seam_planned_counts *counts = &runtime->counts;
	uint64_t missed = 0;
	for (int i = 0; i < SEAM_MISS_COUNT; i++)
		missed += counts->misses[i];
	if (counts->hits + missed != counts->requests)
		return "Q9: a request is neither a hit nor a miss, or both";
	const uint64_t displaced = counts->misses[SEAM_MISS_late] + counts->misses[SEAM_MISS_gap];
	const uint64_t strange = counts->misses[SEAM_MISS_lost] + counts->misses[SEAM_MISS_size];
	if (runtime->started_requests > counts->requests || runtime->started_misses > missed ||
		runtime->started_displaced > displaced || runtime->started_strange > strange)
		return "Q9: more was counted when an active plan started than now";
	const struct seam_earnings *counted = &runtime->account.counted;
	if (counted->requests > runtime->engine->counts.allocs || counted->hits > counts->hits ||
		counted->calls > seam__driver_calls(runtime->engine->driver, SEAM_DRV_MEMORY))
		return "Q11: the account of work counts what nobody did";
	return NULL;
}

const char *seam__planned_check(struct seam_runtime *runtime)
{
	const struct seam_engine_counts *counts = &runtime->engine->counts;
	struct sums all = {0};
	struct seam_active_plan *active;
	const char *broken = check_prologue(runtime);
	if (broken == NULL)
		broken = check_counts(runtime);
	LIST_FOREACH(active, &runtime->active_plans, link)
	{
		struct sums sums = {.active = active};
		seam__matcher_each(active->matcher, add_block, &sums);
		all.blocks += sums.blocks;
		all.bytes += sums.bytes;
		all.requested_bytes += sums.requested_bytes;
		all.held_bytes += sums.held_bytes;
		if (broken == NULL)
			broken = check_active(runtime, active, &sums);
	}
	if (broken == NULL &&
		(all.blocks != counts->planned_blocks || all.bytes != counts->planned_bytes ||
			all.requested_bytes != counts->planned_requested_bytes ||
			all.held_bytes != counts->planned_pending_bytes))
		broken = "Q3: the account of planned blocks";
	return broken;
}
