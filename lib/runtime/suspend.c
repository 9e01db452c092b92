/* suspend.c: an open plan that the program departs from is suspended: it gives its memory back to the engine, all but
 * its live blocks, and serves nothing. When the program does again what the plan is of, at a moment with few live
 * bytes, the plan takes what is free in its arena and goes on. Neither makes a driver call. The same holds where a plan
 * opens: one that does not know where the program is waits suspended.
 *
 * So a program that does what no plan knows (an evaluation, another length) is served as if there were no plan, in the
 * memory of the pool as a whole and at the price of the engine.
 *
 * Departed: more requests than one in MISSED_SHARE are unknown to all loaded plans, and DEPARTED_MISSES more, or a part
 * of a period more: an optimizer that the plan does not have yet, or a longer evaluation step, is no departure. A
 * request that is known and whose place is occupied does not count: it says that the program is where the plan is.
 *
 * Not here: where in a plan the program is (matcher.h); how a plan comes into use first (planned_moment.c).
 *
 * Invariant: Q5 of planned.h. Nothing is blocked in the matcher of a suspended active plan.
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

/* Where the plan had hardly gone on since it was compared with the program, or did not know where that is, the next
 * comparison waits twice as long: it is O(period). */
static void wait_longer(struct seam_active_plan *active, bool in_vain)
{
	active->wait = in_vain ? 2 * active->wait : active->long_positions / COMPARE_SHARE + 1;
}

void seam__active_suspend(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	const bool in_vain =
		active->wait != 0 && runtime->counts.requests - active->compared_at < active->long_positions / 2;
	wait_longer(active, in_vain);
	seam__matcher_unblock(active->matcher, 0, active->arena.bytes);
	for (uint32_t i = 0; i < active->arena.count; i++)
		active->arena.chunks[i].lent = false;
	active->lent_bytes = 0;
	active->suspended = true;
	active->compared_at = active->suspended_at = runtime->counts.requests;
	active->least_bytes = UINT64_MAX;
	active->departed = 0;
	seam__active_give_parts(runtime, active);
}

void seam__active_depart(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	const uint64_t requests = runtime->counts.requests - active->departed_at;
	active->departed_at = runtime->counts.requests;
	active->departed -= (uint32_t)seam__bits_min(requests, active->departed);
	active->departed += MISSED_SHARE;
	const uint64_t most = seam__bits_max(DEPARTED_MISSES, active->long_positions / DEPARTED_PART);
	if (active->departed > MISSED_SHARE * most)
		seam__active_suspend(runtime, active);
}

bool seam__active_judge(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	const uint64_t asked = seam__planned_asked(&runtime->counts) - active->judged_asked;
	if (asked < seam__bits_max(active->long_positions, LEAST_ASKED))
		return false;
	const bool is_poor = MISSED_SHARE * (asked - (runtime->counts.hits - active->judged_hits)) > asked;
	const uint32_t poor = is_poor ? active->poor + 1 : 0;
	seam__active_judge_anew(runtime, active);
	active->poor = poor;
	if (poor < POOR_PERIODS)
		return false;
	seam__log(SEAM_LOG_INFO, "a plan of %" PRIu64 " bytes is dropped: it misses more than one request in %u",
		active->arena.bytes, MISSED_SHARE);
	seam__planned_drop(runtime);
	return true;
}

/* Whether few bytes are live: at most the limit for opening; behind the first period that was suspended, hardly more
 * than the least of the last one. */
static bool is_low(const struct seam_runtime *runtime, struct seam_active_plan *active)
{
	const uint64_t live_bytes = runtime->engine->counts.live_requested_bytes;
	active->least_bytes = seam__bits_min(active->least_bytes, live_bytes);
	if (runtime->counts.requests - active->suspended_at >= active->long_positions) {
		active->low_bytes = active->least_bytes + active->arena.bytes / LOW_SHARE;
		active->least_bytes = live_bytes;
		active->suspended_at = runtime->counts.requests;
	}
	return live_bytes <= active->low_bytes;
}

/* The loaded plan that the program does now; NULL: none. */
static const struct seam_loaded_plan *find_loaded(
	const struct seam_runtime *runtime, const struct seam_active_plan *active)
{
	const uint32_t count = seam__matcher_loaded_count(active->matcher);
	for (uint32_t i = 0; i < count; i++)
		if (seam__recent_fits(&runtime->recent, seam__matcher_loaded(active->matcher, i)))
			return seam__matcher_loaded(active->matcher, i);
	return NULL;
}

bool seam__active_resume(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	if (seam__active_judge(runtime, active) || !is_low(runtime, active) ||
		runtime->counts.requests - active->compared_at < active->wait)
		return false;
	const struct seam_loaded_plan *loaded = find_loaded(runtime, active);
	active->compared_at = runtime->counts.requests;
	if (loaded == NULL)
		return false;
	if (!seam__recent_tell(&runtime->recent, loaded, active->matcher)) {
		wait_longer(active, true);
		return false;
	}
	active->suspended = false;
	(void)seam__arena_collect(runtime->engine, &active->arena, 0, active->arena.count);
	if (seam__active_block_from(active, 0) != SEAM_OK) {
		seam__planned_drop(runtime);
		return false;
	}
	return true;
}
