/* suspend.c: an open plan that the program departs from is suspended: it gives its memory back to the engine, all but
 * its live blocks, and serves nothing. When the program does again what the plan is of, at a moment with few live
 * bytes, the plan takes what is free in its arena and goes on. Neither makes a driver call.
 *
 * So a program that does what no plan knows (an evaluation, another length) is served as if there were no plan, in the
 * memory of the pool as a whole and at the price of the engine.
 *
 * Departed: more requests than one in MISSED_SHARE are unknown to all scripts, and DEPARTED_MISSES more, or a part of
 * a period more: an optimizer that the plan does not have yet, or a longer evaluation step, is no departure. A request
 * that is known and whose place is occupied does not count: it says that the program is where the plan is.
 *
 * Not here: where in a plan the program is (matcher.h); how a plan comes into use first (planned_moment.c).
 *
 * Invariant: Q5 of planned.h. Nothing is blocked in the matcher of a suspended stage.
 * Locks: the engine's `lock`.
 */
#include <inttypes.h>

#include "bits.h"
#include "log.h"
#include "planned_impl.h"

#define MISSED_SHARE 20u    /* more requests than one in so many: the rest does not make up for what they cost */
#define DEPARTED_MISSES 64u /* unknown requests, */
#define DEPARTED_PART 16u   /* or this part of a period */
#define LOW_SHARE 64u       /* live bytes above the least of a period, of the arena: few enough to go on */
#define COMPARE_SHARE \
	16u /* of a period: requests from one comparison with what was asked for lately to the next, at first */
#define LEAST_ASKED \
	1024u /* requests that a plan is judged by, if its period has fewer: it may be of a part of an iteration */
#define POOR_PERIODS 2u /* in a row in which so many were missed: the plan goes */

static void suspend(struct seam_runtime *runtime, struct seam_stage *stage)
{
	/* Where the plan had hardly gone on since it was compared with the program, the next comparison waits twice as
	 * long: going on is O(period). */
	const bool in_vain =
		stage->wait != 0 && runtime->counts.requests - stage->compared_at < stage->long_positions / 2;
	stage->wait = in_vain ? 2 * stage->wait : stage->long_positions / COMPARE_SHARE + 1;
	seam__matcher_unblock(stage->matcher, 0, stage->arena.bytes);
	for (uint32_t i = 0; i < stage->arena.count; i++)
		stage->arena.chunks[i].lent = false;
	stage->lent_bytes = 0;
	stage->suspended = true;
	stage->compared_at = stage->suspended_at = runtime->counts.requests;
	stage->least_bytes = UINT64_MAX;
	stage->departed = 0;
	seam__stage_give_parts(runtime, stage);
}

void seam__stage_depart(struct seam_runtime *runtime, struct seam_stage *stage)
{
	const uint64_t requests = runtime->counts.requests - stage->departed_at;
	stage->departed_at = runtime->counts.requests;
	stage->departed -= (uint32_t)seam__bits_min(requests, stage->departed);
	stage->departed += MISSED_SHARE;
	const uint64_t most = seam__bits_max(DEPARTED_MISSES, stage->long_positions / DEPARTED_PART);
	if (stage->departed > MISSED_SHARE * most)
		suspend(runtime, stage);
}

bool seam__stage_judge(struct seam_runtime *runtime, struct seam_stage *stage)
{
	const uint64_t asked = seam__planned_asked(&runtime->counts) - stage->judged_asked;
	if (asked < seam__bits_max(stage->long_positions, LEAST_ASKED))
		return false;
	const bool is_poor = MISSED_SHARE * (asked - (runtime->counts.hits - stage->judged_hits)) > asked;
	const uint32_t poor = is_poor ? stage->poor + 1 : 0;
	seam__stage_judge_anew(runtime, stage);
	stage->poor = poor;
	if (poor < POOR_PERIODS)
		return false;
	seam__log(SEAM_LOG_INFO, "a plan of %" PRIu64 " bytes is dropped: it misses more than one request in %u",
		stage->arena.bytes, MISSED_SHARE);
	seam__planned_drop(runtime);
	return true;
}

/* Whether few bytes are live: as few as when the plan came into use, or as in the period that has passed since. */
static bool is_low(const struct seam_runtime *runtime, struct seam_stage *stage)
{
	const uint64_t live_bytes = runtime->engine->counts.live_requested_bytes;
	stage->least_bytes = seam__bits_min(stage->least_bytes, live_bytes);
	if (runtime->counts.requests - stage->suspended_at >= stage->long_positions) {
		stage->low_bytes = stage->least_bytes + stage->arena.bytes / LOW_SHARE;
		stage->least_bytes = live_bytes;
		stage->suspended_at = runtime->counts.requests;
	}
	return live_bytes <= stage->low_bytes;
}

/* The script that the program does now; NULL: none. */
static const struct seam_script *find_script(const struct seam_runtime *runtime, const struct seam_stage *stage)
{
	const uint32_t count = seam__matcher_scripts(stage->matcher);
	for (uint32_t i = 0; i < count; i++)
		if (seam__recent_fits(&runtime->recent, seam__matcher_script(stage->matcher, i)))
			return seam__matcher_script(stage->matcher, i);
	return NULL;
}

bool seam__stage_resume(struct seam_runtime *runtime, struct seam_stage *stage, bool at_step)
{
	if (seam__stage_judge(runtime, stage) || !is_low(runtime, stage) ||
		runtime->counts.requests - stage->compared_at < stage->wait)
		return false;
	const struct seam_script *script = find_script(runtime, stage);
	stage->compared_at = runtime->counts.requests;
	if (script == NULL)
		return false;
	stage->suspended = false;
	(void)seam__arena_collect(runtime->engine, &stage->arena, 0, stage->arena.count);
	if (seam__stage_block_from(stage, 0) != SEAM_OK) {
		seam__planned_drop(runtime);
		return false;
	}
	if (at_step && stage->begins_at_step)
		seam__matcher_start(stage->matcher);
	else
		seam__recent_tell(&runtime->recent, script, stage->matcher);
	return true;
}
