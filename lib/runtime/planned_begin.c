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
static bool is_there_for_long(const struct seam_runtime *runtime, struct seam_stage *stage)
{
	uint64_t requests = runtime->counts.requests;
	bool is_there = runtime->engine->counts.live_bytes >= stage->staying_bytes;
	if (!is_there && requests < stage->deaf_until)
		stage->there_from =
			requests; /* something that stays is missing, or the period has not begun to count */
	return requests >= stage->there_from + 2 * stage->long_positions;
}

/* The request was just missed and may be one that stays: what is lent and not given back yet is not for it, not even
 * what is free between. */
static void pass_on(struct seam_runtime *runtime, struct seam_stage *stage, uint64_t bytes)
{
	if (stage->building && (stage->unknown || seam__planned_must_grow(runtime, stage, bytes)))
		seam__stage_collect_lent(runtime, stage);
}

bool seam__stage_begins(struct seam_runtime *runtime, struct seam_stage *stage, const struct seam_match_ask *ask)
{
	if (runtime->engine->counts.live_requested_bytes == stage->resident_bytes) {
		seam__matcher_start(stage->matcher);
		seam__stage_listen(runtime, stage);
		stage->trusting = true;
		stage->building = stage->freed_bytes < stage->arena.bytes / 2;
		return true;
	}
	bool follows = seam__follower_hear(&stage->follower, stage->matcher, ask);
	stage->building = !is_there_for_long(runtime, stage);
	stage->unknown = !stage->follower.found;
	if (follows || !stage->building)
		seam__stage_listen(runtime, stage);
	pass_on(runtime, stage, ask->bytes);
	return false;
}

void seam__planned_beside(struct seam_runtime *runtime, uint64_t va)
{
	struct seam_stage *stage = seam__stage_open(runtime);
	seam__matcher_beside(stage->matcher, 1);
	if (stage->deaf)
		seam__follower_serve(&stage->follower, va);
}

/* The program has come to the period's end as the plan says, and there is what the plan says. */
static bool has_turned(const struct seam_runtime *runtime, const struct seam_stage *stage)
{
	uint64_t period = 2 * stage->long_positions, front = seam__matcher_front(stage->matcher);
	uint64_t there_bytes = stage->staying_bytes + stage->crossing_bytes - stage->crossing_bytes / 32;
	return front / period != stage->last_at / period && runtime->engine->counts.live_bytes >= there_bytes;
}

static void fall_deaf(struct seam_stage *stage)
{
	stage->deaf = true;
	stage->trusting = false;
	stage->deaf_at = stage->last_at;
	stage->follower = (struct seam_follower){0};
}

enum seam_miss seam__stage_doubt(struct seam_runtime *runtime, struct seam_stage *stage,
	const struct seam_match_ask *ask, struct seam_planned *planned, enum seam_miss miss)
{
	bool in_step = seam__matcher_in_step(stage->matcher);
	if (in_step && (runtime->counts.requests >= stage->built_from || has_turned(runtime, stage))) {
		stage->building = false;
		seam__stage_judge_anew(runtime, stage);
		return miss;
	}
	if (!in_step)
		fall_deaf(stage);
	stage->last_at = seam__bits_max(1, seam__matcher_front(stage->matcher)) - 1;
	stage->unknown = miss == SEAM_MISS_size || miss == SEAM_MISS_lost || miss == SEAM_MISS_lane;
	bool serves = planned != NULL && in_step && (stage->trusting || seam__matcher_goes_on(stage->matcher, planned));
	if (planned != NULL && !serves) {
		if (miss == SEAM_MISS_NONE)
			seam__matcher_take_back(stage->matcher, planned);
		miss = SEAM_MISS_lost;
	}
	if (miss != SEAM_MISS_NONE && miss != SEAM_MISS_gap)
		pass_on(runtime, stage, ask->bytes);
	return miss;
}

/* Behind its first iteration the program has made all that stays, and is at the period's beginning. */
void seam__stage_step(const struct seam_runtime *runtime, struct seam_stage *stage)
{
	if (!stage->building || runtime->engine->counts.live_bytes < stage->staying_bytes)
		return;
	seam__matcher_start_behind(stage->matcher, stage->deaf ? stage->deaf_at : seam__matcher_front(stage->matcher));
	seam__stage_listen(runtime, stage);
	stage->building = false;
}
