/* matcher_dynamic.c: requests whose size depends on data, in what the plan leaves idle for their group's interval: best
 * fit, the lowest of equal gaps, among what live dynamic blocks, strays and blocked ranges leave.
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
	return (struct seam_climb){matcher, seam__strays_behind(&matcher->strays, at),
		seam__loose_behind(&matcher->loose, at), seam__matcher_blocked_at(matcher, at)};
}

struct seam_taken seam__climb_next(struct seam_climb *climb, uint64_t at, uint64_t end)
{
	const struct seam_matcher *matcher = climb->matcher;
	struct seam_taken taken = {end, end};
	while (climb->stray != NULL && climb->stray->end <= at)
		climb->stray = seam__strays_next(climb->stray);
	while (climb->loose < matcher->loose.count && matcher->loose.entries[climb->loose].end <= at)
		climb->loose++;
	while (climb->blocked < matcher->blocked_count && matcher->blocked[climb->blocked].end <= at)
		climb->blocked++;
	if (climb->stray != NULL)
		lower(&taken, at, climb->stray->begin, climb->stray->end);
	if (climb->loose < matcher->loose.count)
		lower(&taken, at, matcher->loose.entries[climb->loose].begin, matcher->loose.entries[climb->loose].end);
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
static inline const struct seam_loose_run *fit_between_loose(const struct seam_loose_run *run,
	const struct seam_loose_run *behind, uint64_t at, uint64_t end, struct fit *fit)
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
static uint64_t best_gap(const struct seam_matcher *matcher, const struct seam_script_group *group, uint64_t bytes)
{
	struct fit fit = {.bytes = bytes, .at = SEAM_PLAN_NO_ADDRESS, .spare = NO_FIT};
	if (group->range_count == 0)
		return fit.at;
	const struct seam_plan_range *range = &matcher->now->ranges[group->first_range],
				     *const last_range = range + group->range_count;
	const struct seam_loose *loose = &matcher->loose;
	/* An array of nothing may have no address to count from. */
	const struct seam_loose_run *run = NULL, *last_run = NULL;
	if (loose->run_count != 0) {
		run = loose->runs + seam__loose_run_behind(loose, range->begin_bytes);
		last_run = loose->runs + loose->run_count;
	}
	const struct seam_blocked *blocked = NULL, *last_blocked = NULL;
	if (matcher->blocked_count != 0) {
		blocked = matcher->blocked + seam__matcher_blocked_at(matcher, range->begin_bytes);
		last_blocked = matcher->blocked + matcher->blocked_count;
	}
	struct seam_stray *stray = seam__strays_behind(&matcher->strays, range->begin_bytes);
	for (; range != last_range && fit.spare != 0; range++) {
		const uint64_t at = seam__bits_align_up(range->begin_bytes, SEAM_PLANNED_BYTES), end = range->end_bytes;
		if (at + bytes > end)
			continue;
		while (blocked != last_blocked && blocked->end <= at)
			blocked++;
		while (stray != NULL && stray->end <= at)
			stray = seam__strays_next(stray);
		if ((blocked != last_blocked && blocked->begin < end) || (stray != NULL && stray->begin < end))
			fit_between_all(matcher, at, end, &fit);
		else
			run = fit_between_loose(run, last_run, at, end, &fit);
	}
	return fit.at;
}

/* The group of the slot, and where its interval lies; NULL: it has none, or the front is not in it. */
static const struct seam_script_group *group_now(
	const struct seam_script *script, const struct seam_spot *spot, uint64_t *ret_until)
{
	const struct seam_stretch *stretch = &script->stretches[spot->cue->slot];
	if (stretch->group >= script->group_count)
		return NULL;
	const struct seam_script_group *group = &script->groups[stretch->group + spot->copy];
	const uint64_t begin = spot->base + group->begin;
	*ret_until = begin + (group->end - group->begin);
	return script->front.at > begin && script->front.at <= *ret_until ? group : NULL;
}

struct seam_planned *seam__loose_begin(
	struct seam_matcher *matcher, uint64_t offset, uint64_t requested_bytes, uint64_t until)
{
	const uint64_t bytes = seam__bits_align_up(requested_bytes, SEAM_PLANNED_BYTES);
	if (!seam__loose_reserve(&matcher->loose, matcher->meta))
		return NULL;
	struct seam_loose_block *block = seam__slab_get(&matcher->loose_slab);
	if (block == NULL)
		return NULL;
	*block = (struct seam_loose_block){
		.stray = {.begin = offset, .end = offset + bytes, .planned = &block->planned},
		.planned = {.offset = offset,
			.bytes = bytes,
			.number = UINT32_MAX,
			.state = SEAM_PLANNED_LIVE,
			.script = SEAM_DYNAMIC},
	};
	seam__loose_insert(&matcher->loose, (struct seam_loose_entry){offset, offset + bytes, until, block});
	matcher->apart++;
	matcher->counts.live++;
	matcher->counts.live_bytes += bytes;
	block->planned.requested_bytes = requested_bytes;
	return &block->planned;
}

enum seam_miss seam__matcher_place_dynamic(struct seam_matcher *matcher, const struct seam_spot *spot,
	uint64_t requested_bytes, struct seam_planned **ret_planned)
{
	struct seam_script *script = matcher->now;
	const uint64_t begin = spot->base + spot->cue->begin;
	uint64_t until = 0;
	matcher->reach = 0;
	if (!seam__front_move(matcher, begin))
		return SEAM_MISS_late;
	if (begin == script->front.at)
		seam__front_step(matcher, script);
	const struct seam_script_group *group = group_now(script, spot, &until);
	if (group == NULL)
		return SEAM_MISS_dynamic;
	matcher->reach = until;
	const uint64_t offset = best_gap(matcher, group, seam__bits_align_up(requested_bytes, SEAM_PLANNED_BYTES));
	struct seam_planned *planned =
		offset == SEAM_PLAN_NO_ADDRESS ? NULL : seam__loose_begin(matcher, offset, requested_bytes, until);
	if (planned == NULL)
		return SEAM_MISS_dynamic;
	*ret_planned = planned;
	matcher->counts.dynamic_hits++;
	return SEAM_MISS_NONE;
}
