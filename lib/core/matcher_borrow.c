/* matcher_borrow.c: a place in what the plan leaves idle, for a request that it did not serve; see matcher.h.
 *
 * A slot whose place is occupied goes where nothing is due as long as it will live; so what it displaces is nothing, and a disturbance does not
 * breed others. There may be no such place for one that lives long: then it displaces short-lived ones, for whom its own place is soon free, rather
 * than another one that lives long, which would hand the disturbance on into the next iteration. A request of which nothing is known goes where nothing is due for longest. Before the pool grows even what is due now is given
 * away. Such blocks are loose, like dynamic ones.
 */
#include "matcher_state.h"

#include "bits.h"
#include "check.h"

struct hunt {
	const struct seam_matcher *matcher;
	uint64_t least;  /* positions that a place must be idle for, */
	bool lasting;    /* but for slots that live less than half a period */
	uint64_t bytes;
	uint64_t best;   /* SEAM_PLAN_NO_ADDRESS: none yet */
	uint64_t gap;    /* that it lies in */
};

static bool is_short(const struct seam_script *script, uint32_t number)
{
	const struct seam_stretch *stretch = &script->stretches[number / script->copies];
	return stretch->end - stretch->begin < script->positions / 2;
}

/* Whether a place that an instance needs next is none for the block. One that the program has passed over is due in another repetition. */
static bool is_needed(const struct hunt *hunt, const struct seam_script *script, uint32_t number)
{
	const struct seam_planned *planned = &script->instances[number];
	if (planned->state != SEAM_PLANNED_FREE)
		return true;
	if (hunt->matcher->missing == planned || (hunt->lasting && is_short(script, number)))
		return false;
	return seam__script_due_in(script, number) < hunt->least;
}

/* [from, to) is idle by the plan: the smallest gap there that is large enough, among what is not the plan's. */
static void look_between(struct hunt *hunt, uint64_t from, uint64_t to)
{
	if (to < from + hunt->bytes)
		return;
	struct seam_climb climb = seam__climb_from(hunt->matcher, from);
	for (uint64_t at = from; at + hunt->bytes <= to;) {
		const struct seam_taken taken = seam__climb_next(&climb, at, to);
		if (taken.begin >= at + hunt->bytes && taken.begin - at < hunt->gap) {
			hunt->gap = taken.begin - at;
			hunt->best = at;
		}
		at = seam__bits_align_up(seam__bits_max(taken.end, taken.begin), SEAM_PLANNED_BYTES);
	}
}

/* O(instances). */
static bool find_place(struct hunt *hunt)
{
	const struct seam_script *script = hunt->matcher->now;
	uint64_t end = 0;
	hunt->best = SEAM_PLAN_NO_ADDRESS;
	hunt->gap = UINT64_MAX;
	for (uint32_t i = 0; i < script->placed && hunt->gap != hunt->bytes; i++) {
		const uint32_t number = script->by_offset[i];
		const struct seam_planned *planned = &script->instances[number];
		if (!is_needed(hunt, script, number))
			continue;
		if (planned->offset > end)
			look_between(hunt, end, planned->offset);
		end = seam__bits_max(end, planned->offset + planned->bytes);
	}
	if (hunt->matcher->arena_bytes > end && hunt->gap != hunt->bytes)
		look_between(hunt, end, hunt->matcher->arena_bytes);
	return hunt->best != SEAM_PLAN_NO_ADDRESS;
}

struct seam_planned *seam__matcher_borrow(struct seam_matcher *matcher, uint64_t requested_bytes, enum seam_borrow what)
{
	const struct seam_script *script = matcher->now;
	if (script == NULL)
		return NULL;
	const uint64_t reach = seam__matcher_reach(matcher);
	struct hunt hunt = {
		.matcher = matcher,
		.bytes = seam__bits_align_up(requested_bytes, SEAM_PLANNED_BYTES),
	};
	const uint64_t circle = (uint64_t)script->positions * script->copies; /* around all copies: nothing is due later */
	hunt.least = reach != 0 ? seam__bits_min(reach, circle) : circle;
	const bool lasting = what >= SEAM_BORROW_LONGEST && reach >= script->positions / 2;
	bool overlaps = false; /* something that is due while it lives, as far as anybody knows */
	const uint64_t last = what == SEAM_BORROW_ANY ? 0 : what >= SEAM_BORROW_LONGEST || reach == 0 ? 1 : hunt.least;
	if (!find_place(&hunt) && lasting) {
		hunt.lasting = true;
		overlaps = find_place(&hunt);
		hunt.lasting = false;
	}
	while (hunt.best == SEAM_PLAN_NO_ADDRESS && hunt.least > last) {
		hunt.least = seam__bits_max(last, hunt.least / 4);
		(void)find_place(&hunt);
	}
	if (hunt.best == SEAM_PLAN_NO_ADDRESS || !seam__loose_reserve(&matcher->loose, matcher->meta))
		return NULL;
	struct seam_loose_block *block = seam__slab_get(&matcher->loose_slab);
	if (block == NULL)
		return NULL;
	/* The slot that was missed counted as not due; should the program come to it again, it must see what lies there now, as those must that it
	 * displaces. */
	const struct seam_planned *missing = matcher->missing;
	if (missing != NULL)
		overlaps |= missing->offset < hunt.best + hunt.bytes && hunt.best < missing->offset + missing->bytes;
	struct seam_planned *planned =
		seam__loose_begin(matcher, block, hunt.best, hunt.bytes, script->front.at + (overlaps ? 0 : hunt.least));
	planned->requested_bytes = requested_bytes;
	return planned;
}
