/* suspend.c: when an open plan serves. It is suspended until it has started, and again when the program departs from
 * it or it costs more than was earned: all memory but its live blocks is the engine's then, and it serves nothing. When
 * the program does what the plan is of, at a moment with few live bytes, the plan takes what is free in its arena and
 * serves. Nothing is mapped.
 *
 * So a program that does what no plan knows (an evaluation, another length) is served as if there were no plan, in the
 * memory of the pool as a whole and at the price of the engine.
 *
 * The program does what the plan is of when three in four of its last requests are a loaded plan's by size and stream,
 * and the matcher, told of the last period, expected it, or three in four of its end (recent.h). A plan that starts
 * elsewhere than the program is costs memory: the blocks that it has served live on among its gaps. A telling in vain
 * is dear: the next one comes five eighths of a period later, at another moment of the period.
 *
 * Behind an evaluation or a checkpoint nothing that was asked for tells that an iteration of the plan's comes next. So
 * a plan whose period begins at a mark, and that has started, goes on at a mark untold, if few bytes are live.
 *
 * A plan that has not started goes when blocks that are younger than it have come to lie in its arena, beyond what the
 * plan has live where the program is, or in most of it: what stays is not what it was made around.
 *
 * Departed: more requests than one in SEAM_MISSED_SHARE are unknown to all loaded plans, and DEPARTED_MISSES more, or a
 * part of a period more: an optimizer that the plan does not have yet, or a longer evaluation step, is no departure. A
 * request that is known and whose place is occupied does not count: it says that the program is where the plan is.
 *
 * Overdrawn: more work was done for a learnt plan, and more driver calls were made while it serves, than the pool has
 * earned (account.h). Each time twice as much has to be there before it goes on, so that a plan whose first period is
 * dear has enough for it in the end, up to all that is ever kept.
 *
 * A plan that serves and misses more than one request in ten for two periods goes: another one may be learnt. So does
 * one that has served nothing for many periods: the program has become another one.
 *
 * Not here: where in a plan the program is (matcher.h).
 *
 * Invariant: Q5 of planned.h. Nothing is blocked in the matcher of a suspended active plan.
 * Locks: the engine's `lock`.
 */
#include <inttypes.h>

#include "bits.h"
#include "log.h"
#include "planned_impl.h"

#define DEPARTED_MISSES 64u /* unknown requests, */
#define DEPARTED_PART 16u   /* or this part of a period */
#define COMPARE_EACH 16u    /* requests from one comparison of sizes with the loaded plans to the next */
#define TELL_STEPS 8        /* for each request of a period: the matcher is told twice, */
#define TELL_MOST_STEPS 16u /* and takes no more: a choice (account.h) for one request in seven, both times. */
#define TELL_LEAST 128u     /* A shorter period may take as much as one of so many requests */
#define VAIN_EIGHTHS 5u /* of a period from a telling in vain to the next one, which comes at another moment of it */
#define LEAST_ASKED \
	1024u /* requests that a plan is judged by, if its period has fewer: it may be of a part of an iteration */
#define IDLE_PERIODS                                                                                                \
	34u /* without doing what the plan is of: it goes. Other kinds of iteration may come between. After half of \
	       them it needs no moment with few live bytes any more: more may stay than it knows of */
#define OUTDATED_SHARE \
	512u /* of what the pool has reserved: as much as a plan may take above what lives (lib/learn/plan_cost.h) */
#define POOR_SHARE 10u  /* more requests missed than one in so many: nine hits make up for a miss (account.h), */
#define POOR_PERIODS 2u /* in so many periods in a row: the plan goes */

void seam__active_suspend(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	seam__matcher_unblock(active->matcher, 0, active->arena.bytes);
	for (uint32_t i = 0; i < active->arena.count; i++)
		active->arena.chunks[i].lent = false;
	active->lent_bytes = 0;
	active->suspended = true;
	active->idle_from = runtime->recent.count;
	active->departed = 0;
	seam__active_give_parts(runtime, active);
}

void seam__active_depart(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	const uint64_t requests = runtime->counts.requests - active->departed_at;
	active->departed_at = runtime->counts.requests;
	active->departed -= (uint32_t)seam__bits_min(requests, active->departed);
	active->departed += SEAM_MISSED_SHARE;
	const uint64_t most = seam__bits_max(DEPARTED_MISSES, active->long_positions / DEPARTED_PART);
	if (active->departed > SEAM_MISSED_SHARE * most)
		seam__active_suspend(runtime, active);
}

/* The steps that have to be in the account before a plan is told where the program is, in a period of so many requests.
 */
static int64_t price(const struct seam_active_plan *active, uint64_t requests)
{
	const int64_t told = TELL_STEPS * (int64_t)seam__bits_min(requests, SEAM_RECENT);
	return told > active->price_steps ? told : active->price_steps;
}

/* An arena that was made for a plan that was given is not charged: that plan misses much where the program begins, and
 * serves nearly all behind it. */
void seam__active_charge(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	if (!seam__active_is_charged(active))
		return;
	seam__active_pay(runtime, active);
	if (runtime->account.steps >= 0)
		return;
	const int64_t twice = 2 * price(active, active->long_positions);
	const int64_t most = seam__account_most(active->long_positions);
	active->price_steps = twice < most ? twice : most;
	seam__active_suspend(runtime, active);
}

bool seam__active_judge(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	const uint64_t asked = seam__planned_asked(&runtime->counts) - active->judged_asked;
	if (asked < seam__bits_max(active->long_positions, LEAST_ASKED))
		return false;
	const uint64_t missed = asked - (runtime->counts.hits - active->judged_hits);
	const uint32_t poor = POOR_SHARE * missed > asked ? active->poor + 1 : 0;
	seam__active_judge_anew(runtime, active);
	active->poor = poor;
	if (poor < POOR_PERIODS)
		return false;
	seam__log(SEAM_LOG_INFO, "a plan of %" PRIu64 " bytes is dropped: it misses more than one request in %u",
		active->arena.bytes, POOR_SHARE);
	seam__planned_drop(runtime);
	return true;
}

/* The plan has served nothing for so long: it goes. */
static bool give_up(struct seam_runtime *runtime, const struct seam_active_plan *active)
{
	if (runtime->recent.count - active->idle_from < IDLE_PERIODS * active->long_positions)
		return false;
	seam__log(SEAM_LOG_INFO, "a plan of %" PRIu64 " bytes is dropped: it has served nothing for %u periods",
		active->arena.bytes, IDLE_PERIODS);
	seam__planned_drop(runtime);
	return true;
}

void seam__planned_pass_trial(struct seam_runtime *runtime)
{
	struct seam_active_plan *active = seam__active_open(runtime);
	active->on_trial = false;
	active->idle_from = runtime->recent.count;
}

/* So few bytes are live as the plan has between two iterations. */
static bool has_few(const struct seam_runtime *runtime, const struct seam_active_plan *active)
{
	return runtime->engine->counts.live_requested_bytes <= active->low_bytes;
}

/* There was no such moment for long: the plan has to do without. */
static bool is_late(const struct seam_runtime *runtime, const struct seam_active_plan *active)
{
	return runtime->recent.count - active->idle_from >= IDLE_PERIODS / 2 * active->long_positions;
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

/* The matcher is told where the program is, if the account has what that takes where all is expected; it may take
 * more, up to TELL_MOST_STEPS a request, if that is there. Returns whether the plan may serve. */
static bool tell(struct seam_runtime *runtime, struct seam_active_plan *active, const struct seam_loaded_plan *loaded)
{
	seam__active_pay(runtime, active);
	const uint64_t slots = seam__loaded_slots(loaded);
	const int64_t there = runtime->account.steps;
	if (there < price(active, slots))
		return false;
	const uint64_t told = seam__bits_max(TELL_LEAST, seam__bits_min(slots, SEAM_RECENT));
	const bool is_known = seam__recent_tell(
		&runtime->recent, loaded, active->matcher, seam__bits_min((uint64_t)there, TELL_MOST_STEPS * told));
	if (!is_known)
		active->compare_from = runtime->recent.count + seam__bits_max(COMPARE_EACH, slots / 8 * VAIN_EIGHTHS);
	return is_known;
}

/* True: blocks that are younger than the plan take more of its arena than the plan itself has live now. The program
 * keeps what it did not keep when the plan was made, states of an optimizer say, and the plan's slots want that
 * memory: the pool would grow by as much. Or they take most of the arena, elsewhere than the plan has them: hardly a
 * slot would be free. */
static bool is_outdated(const struct seam_runtime *runtime, const struct seam_active_plan *active,
	const struct seam_loaded_plan *loaded)
{
	const uint64_t newer_bytes = seam__arena_newer_bytes(&active->arena, active->made_at);
	return newer_bytes > active->arena.bytes / 2 ||
		newer_bytes > seam__loaded_live_bytes(loaded) + runtime->engine->memory.reserved_bytes / OUTDATED_SHARE;
}

/* The program has just marked the end of an iteration, and the next one may be the plan's. That takes little: the
 * account need not have anything, but for a plan that has overdrawn it. */
static bool is_at_mark(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	if (!active->started || active->marked_at != runtime->recent.count || !has_few(runtime, active))
		return false;
	seam__active_pay(runtime, active);
	return runtime->account.steps >= active->price_steps;
}

bool seam__active_resume(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	if (give_up(runtime, active))
		return false;
	if (is_at_mark(runtime, active) && seam__matcher_start_at_mark(active->matcher))
		return seam__planned_start(runtime) == SEAM_OK;
	if (active->on_trial || runtime->recent.count < active->compare_from ||
		(!has_few(runtime, active) && !is_late(runtime, active)))
		return false;
	const struct seam_loaded_plan *loaded = find_loaded(runtime, active);
	active->compare_from = runtime->recent.count + COMPARE_EACH;
	if (loaded == NULL)
		return false;
	if (!tell(runtime, active, loaded))
		return false;
	if (!active->started && is_outdated(runtime, active, loaded)) {
		seam__planned_drop(runtime);
		return false;
	}
	return seam__planned_start(runtime) == SEAM_OK;
}
