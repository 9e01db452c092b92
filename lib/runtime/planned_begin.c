/* planned_begin.c: a plan that was given is there before what it is of: from the program's first request until all that
 * stays has been made.
 *
 * The program is *building* as long as something that stays may be missing. Nothing of that may come to lie in the
 * arena, neither in a slot nor in what is lent: it would be in the way for good. So a plan that was given is *deaf* at
 * first: it is followed without being served from (follower.h). When the program does what it says it listens, and
 * falls deaf again at the first request that is not as it says. While it listens, only what outlives the iteration is
 * served, which would be in the way of the next one elsewhere; the rest has gone by then wherever it lies, and may have
 * what is lent. What the plan does not know is likely to stay: it gets memory of its own.
 *
 * It is built when the program has come to the end of the period as the plan says, after a period that was as it says,
 * at a mark of a step with enough that is there, when exactly what stays is there after most of an iteration, or in any
 * case when enough has been there for two periods.
 */
#include "bits.h"
#include "planned_impl.h"

/* Whether all that the plan expects to stay has been there for two periods. */
static bool is_there_for_long(const struct seam_runtime *runtime, struct seam_active_plan *active)
{
	uint64_t requests = runtime->counts.requests;
	bool is_there = runtime->engine->counts.live_bytes >= active->staying_bytes;
	if (!is_there && requests < active->deaf_until)
		active->there_from =
			requests; /* something that stays is missing, or the period has not begun to count */
	return requests >= active->there_from + 2 * active->long_positions;
}

/* The request was just missed and may be one that stays: what is lent and not given back yet is not for it, not even
 * what is free between. */
static void pass_on(struct seam_runtime *runtime, struct seam_active_plan *active, uint64_t bytes)
{
	if (active->building && (active->unknown || seam__planned_must_grow(runtime, active, bytes)))
		seam__active_collect_lent(runtime, active);
}

bool seam__active_begins(
	struct seam_runtime *runtime, struct seam_active_plan *active, const struct seam_match_ask *ask)
{
	if (runtime->engine->counts.live_requested_bytes == active->resident_bytes) {
		seam__matcher_start(active->matcher);
		seam__active_listen(runtime, active);
		active->trusting = true;
		active->building = active->freed_bytes < active->arena.bytes / 2;
		return true;
	}
	bool follows = seam__follower_hear(&active->follower, active->matcher, ask);
	active->building = !is_there_for_long(runtime, active);
	active->unknown = !active->follower.found;
	if (follows || !active->building)
		seam__active_listen(runtime, active);
	pass_on(runtime, active, ask->bytes);
	return false;
}

void seam__planned_beside(struct seam_runtime *runtime, uint64_t va)
{
	struct seam_active_plan *active = seam__active_open(runtime);
	seam__matcher_beside(active->matcher, 1);
	if (active->deaf)
		seam__follower_serve(&active->follower, va);
}

/* The program has come to the period's end as the plan says, and there is what the plan says. */
static bool has_turned(const struct seam_runtime *runtime, const struct seam_active_plan *active)
{
	uint64_t period = 2 * active->long_positions, frontier = seam__matcher_frontier(active->matcher);
	uint64_t there_bytes = active->staying_bytes + active->crossing_bytes - active->crossing_bytes / 32;
	return frontier / period != active->last_at / period && runtime->engine->counts.live_bytes >= there_bytes;
}

static void fall_deaf(struct seam_active_plan *active)
{
	active->deaf = true;
	active->trusting = false;
	active->deaf_at = active->last_at;
	active->follower = (struct seam_follower){0};
}

enum seam_miss seam__active_doubt(struct seam_runtime *runtime, struct seam_active_plan *active,
	const struct seam_match_ask *ask, struct seam_plan_block *plan_block, enum seam_miss miss)
{
	bool in_step = seam__matcher_in_step(active->matcher);
	if (in_step && (runtime->counts.requests >= active->built_from || has_turned(runtime, active))) {
		active->building = false;
		seam__active_judge_anew(runtime, active);
		return miss;
	}
	if (!in_step)
		fall_deaf(active);
	active->last_at = seam__bits_max(1, seam__matcher_frontier(active->matcher)) - 1;
	active->unknown = miss == SEAM_MISS_size || miss == SEAM_MISS_lost || miss == SEAM_MISS_cursor;
	bool serves = plan_block != NULL && in_step &&
		(active->trusting || seam__matcher_goes_on(active->matcher, plan_block));
	if (plan_block != NULL && !serves) {
		if (miss == SEAM_MISS_NONE)
			seam__matcher_free(active->matcher, plan_block);
		miss = SEAM_MISS_lost;
	}
	if (miss != SEAM_MISS_NONE && miss != SEAM_MISS_gap)
		pass_on(runtime, active, ask->bytes);
	return miss;
}

/* Behind its first iteration the program has made all that stays, and is at the period's beginning. */
void seam__active_step(const struct seam_runtime *runtime, struct seam_active_plan *active)
{
	if (!active->building || runtime->engine->counts.live_bytes < active->staying_bytes)
		return;
	seam__matcher_start_behind(
		active->matcher, active->deaf ? active->deaf_at : seam__matcher_frontier(active->matcher));
	seam__active_listen(runtime, active);
	active->building = false;
}
