/* matcher_dynamic.c: requests whose size depends on data, in what the plan leaves idle for their group's interval: best
 * fit, the lowest of equal gaps, among what live dynamic blocks, overdue blocks and blocked ranges leave.
 */
#include "matcher_state.h"

#include "bits.h"

static void lower(struct seam_taken *taken, uint64_t at, uint64_t begin, uint64_t end)
{
	begin = seam__bits_max(begin, at);
	if (end > at && begin < taken->begin)
		*taken = (struct seam_taken){begin, end};
	else if (end > at && begin == taken->begin)
		taken->end = seam__bits_max(taken->end, end);
}

struct seam_climb seam__climb_from(const struct seam_matcher *matcher, uint64_t at)
{
	return (struct seam_climb){matcher, seam__overdue_behind(&matcher->overdue, at),
		seam__overdue_behind(&matcher->off_plan.blocks, at), seam__matcher_blocked_at(matcher, at)};
}

struct seam_taken seam__climb_next(struct seam_climb *climb, uint64_t at, uint64_t end)
{
	const struct seam_matcher *matcher = climb->matcher;
	struct seam_taken taken = {end, end};
	while (climb->overdue_block != NULL && climb->overdue_block->end <= at)
		climb->overdue_block = seam__overdue_next(climb->overdue_block);
	while (climb->off_plan != NULL && climb->off_plan->end <= at)
		climb->off_plan = seam__overdue_next(climb->off_plan);
	while (climb->blocked < matcher->blocked_count && matcher->blocked[climb->blocked].end <= at)
		climb->blocked++;
	if (climb->overdue_block != NULL)
		lower(&taken, at, climb->overdue_block->begin, climb->overdue_block->end);
	if (climb->off_plan != NULL)
		lower(&taken, at, climb->off_plan->begin, climb->off_plan->end);
	if (climb->blocked < matcher->blocked_count)
		lower(&taken, at, matcher->blocked[climb->blocked].begin, matcher->blocked[climb->blocked].end);
	return taken;
}

/* The best gap so far. */
struct fit {
	uint64_t bytes; /* that are wanted */
	uint64_t at;    /* SEAM_PLAN_NO_ADDRESS: none yet */
	uint64_t spare; /* what is left of it; 0: none is better */
};

#define NO_FIT (UINT64_C(1) << 62) /* more than any gap leaves, less than a gap that is too small */

static inline void consider(struct fit *fit, uint64_t at, uint64_t end)
{
	const uint64_t spare = end - at - fit->bytes;
	if (__builtin_expect(spare < fit->spare, 0)) {
		fit->spare = spare;
		fit->at = at;
	}
}

/* Between dynamic blocks alone, as it nearly always is: a walk through their runs. Returns the run at which that of the
 * next range begins. */
static inline const struct seam_off_plan_run *fit_between_off_plan(const struct seam_off_plan_run *run,
	const struct seam_off_plan_run *behind, uint64_t at, uint64_t end, struct fit *fit)
{
	while (run != behind && run->end <= at)
		run++;
	for (; run != behind && run->begin < end; run++) {
		consider(fit, at, run->begin);
		at = run->end;
		if (at > end)
			return run; /* it may reach into the next range */
	}
	consider(fit, at, end);
	return run;
}

static void fit_between_all(const struct seam_matcher *matcher, uint64_t at, uint64_t end, struct fit *fit)
{
	struct seam_climb climb = seam__climb_from(matcher, at);
	while (at < end) {
		const struct seam_taken taken = seam__climb_next(&climb, at, end);
		if (taken.begin > at)
			consider(fit, at, taken.begin);
		at = seam__bits_align_up(seam__bits_max(taken.end, taken.begin), SEAM_PLANNED_BYTES);
	}
}

/* SEAM_PLAN_NO_ADDRESS: nowhere. One walk up through the ranges, the runs and what is blocked. O(ranges + what is taken
 * among them). */
static uint64_t best_gap(const struct seam_matcher *matcher, const struct seam_loaded_group *group, uint64_t bytes)
{
	struct fit fit = {.bytes = bytes, .at = SEAM_PLAN_NO_ADDRESS, .spare = NO_FIT};
	if (group->range_count == 0)
		return fit.at;
	const struct seam_plan_range *range = &matcher->now->ranges[group->first_range],
				     *const last_range = range + group->range_count;
	const struct seam_off_plan *off_plan = &matcher->off_plan;
	/* An array of nothing may have no address to count from. */
	const struct seam_off_plan_run *run = NULL, *last_run = NULL;
	if (off_plan->run_count != 0) {
		run = off_plan->runs + seam__off_plan_run_behind(off_plan, range->begin_bytes);
		last_run = off_plan->runs + off_plan->run_count;
	}
	const struct seam_blocked *blocked = NULL, *last_blocked = NULL;
	if (matcher->blocked_count != 0) {
		blocked = matcher->blocked + seam__matcher_blocked_at(matcher, range->begin_bytes);
		last_blocked = matcher->blocked + matcher->blocked_count;
	}
	struct seam_overdue_block *overdue_block = seam__overdue_behind(&matcher->overdue, range->begin_bytes);
	for (; range != last_range && fit.spare != 0; range++) {
		const uint64_t at = seam__bits_align_up(range->begin_bytes, SEAM_PLANNED_BYTES), end = range->end_bytes;
		if (at + bytes > end)
			continue;
		while (blocked != last_blocked && blocked->end <= at)
			blocked++;
		while (overdue_block != NULL && overdue_block->end <= at)
			overdue_block = seam__overdue_next(overdue_block);
		if ((blocked != last_blocked && blocked->begin < end) ||
			(overdue_block != NULL && overdue_block->begin < end))
			fit_between_all(matcher, at, end, &fit);
		else
			run = fit_between_off_plan(run, last_run, at, end, &fit);
	}
	return fit.at;
}

/* The group of the slot, and where its interval lies; NULL: it has none, or the frontier is not in it. */
static const struct seam_loaded_group *group_now(
	const struct seam_loaded_plan *loaded, const struct seam_slot_occurrence *occurrence, uint64_t *ret_until)
{
	const struct seam_lifetime *lifetime = &loaded->lifetimes[occurrence->expected->slot];
	if (lifetime->group >= loaded->group_count)
		return NULL;
	const struct seam_loaded_group *group = &loaded->groups[lifetime->group + occurrence->copy];
	const uint64_t begin = occurrence->base + group->begin;
	*ret_until = begin + (group->end - group->begin);
	return loaded->frontier.at > begin && loaded->frontier.at <= *ret_until ? group : NULL;
}

struct seam_plan_block *seam__off_plan_begin(
	struct seam_matcher *matcher, uint64_t offset, uint64_t requested_bytes, uint64_t until)
{
	const uint64_t bytes = seam__bits_align_up(requested_bytes, SEAM_PLANNED_BYTES);
	if (!seam__off_plan_reserve(&matcher->off_plan, matcher->meta))
		return NULL;
	struct seam_off_plan_block *block = seam__slab_get(&matcher->off_plan_slab);
	if (block == NULL)
		return NULL;
	*block = (struct seam_off_plan_block){
		.node = {.begin = offset, .end = offset + bytes, .plan_block = &block->plan_block},
		.until = until,
		.plan_block = {.offset = offset,
			.bytes = bytes,
			.number = UINT32_MAX,
			.state = SEAM_PLANNED_LIVE,
			.loaded = SEAM_PLANNED_DYNAMIC},
	};
	seam__off_plan_insert(&matcher->off_plan, block);
	matcher->off_plan_count++;
	matcher->counts.live++;
	matcher->counts.live_bytes += bytes;
	block->plan_block.requested_bytes = requested_bytes;
	return &block->plan_block;
}

enum seam_miss seam__matcher_place_dynamic(struct seam_matcher *matcher, const struct seam_slot_occurrence *occurrence,
	uint64_t requested_bytes, struct seam_plan_block **ret_block)
{
	struct seam_loaded_plan *loaded = matcher->now;
	const uint64_t begin = occurrence->base + occurrence->expected->begin;
	uint64_t until = 0;
	if (!seam__frontier_move(matcher, begin))
		return SEAM_MISS_late;
	if (begin == loaded->frontier.at)
		seam__frontier_step(matcher, loaded);
	const struct seam_loaded_group *group = group_now(loaded, occurrence, &until);
	if (group == NULL)
		return SEAM_MISS_dynamic;
	matcher->reach = until;
	const uint64_t offset = best_gap(matcher, group, seam__bits_align_up(requested_bytes, SEAM_PLANNED_BYTES));
	struct seam_plan_block *plan_block =
		offset == SEAM_PLAN_NO_ADDRESS ? NULL : seam__off_plan_begin(matcher, offset, requested_bytes, until);
	if (plan_block == NULL)
		return SEAM_MISS_dynamic;
	*ret_block = plan_block;
	matcher->counts.dynamic_hits++;
	return SEAM_MISS_NONE;
}
