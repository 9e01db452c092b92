/* matcher_borrow.c: what the plan leaves idle: a place there for a request that it did not serve, and ranges that can
 * be lent; see matcher.h.
 *
 * A place is taken where nothing is live, and nothing is due as long as the block will live: so it displaces nothing,
 * and a disturbance does not breed others. The search goes up from the last place that was borrowed for a size of as
 * many binary digits, or from a lower one that was freed since; if it finds nothing, from the lowest address. That
 * keeps what is borrowed together, and the rest of the arena whole. Such blocks are off-plan, like dynamic ones.
 *
 * The search goes up through the instances by address, no further than the first place. A stretch of them in which
 * nothing is due in the parts of the circle that matter is passed over as one. The work for a place is bounded: after
 * SEARCH_STEPS entries and gaps there is none. If no place of so many bytes is found for a time, none of that size or
 * more is looked for before a quarter of the time has passed, or VAIN_POSITIONS: a place that is idle for a shorter
 * time is taken instead.
 */
#include "matcher_state.h"

#include "bits.h"

#define SEARCH_STEPS                                                                                                  \
	4096u /* entries and gaps. A search takes some 300 on recordings of 5,000 instances; with 1024 some find      \
	       * nothing on one of 12,000 (moe-qwen from a file: 154 driver calls instead of none), with 512 the pool \
	       * is as large */

#define VAIN_POSITIONS                                                                                                 \
	16u /* without a search, at the least, after one in vain. Without it 285 programs with a plan take 1.125 times \
	       the instructions of none, with it 1.116 (bench/results/ablation.md, an estimate) */

struct search {
	const struct seam_matcher *matcher;
	uint64_t bytes;
	uint64_t circle, frontier; /* positions around it, and where the frontier is among them */
	uint64_t least;            /* positions that a place must be idle for */
	uint64_t times;            /* in these parts of the circle are they */
	uint64_t at;               /* what lies below is needed, or too narrow */
	struct seam_climb climb;   /* items that are not the plan's, from climb_at on */
	uint64_t climb_at;         /* `at`, or below it by instances that need their places */
	bool whole;                /* `end` is where the idle range ends; else its first bytes are enough */
	uint64_t end;              /* of the place that was found */
	uint32_t steps;            /* that are left */
};

/* Whether the instance needs its place while the block lives. One that the program has passed over is due in another
 * repetition, and so is the one that this request was to be. Late blocks, whose time is over, are found with what is
 * not the plan's. */
static bool is_needed(const struct search *search, const struct seam_by_address *by_address)
{
	const struct seam_plan_block *plan_block = &search->matcher->now->instances[by_address->number];
	const uint64_t due =
		by_address->at - search->frontier + (by_address->at < search->frontier ? search->circle : 0);
	if (plan_block->state != SEAM_PLANNED_FREE)
		return due == 0 || search->circle - due <= by_address->length || due < search->least;
	return due < search->least && search->matcher->missing != plan_block;
}

/* The plan leaves [search->at, to) idle. True: items that are not the plan's leave room there, at search->at. False:
 * they do not, and search->at is above all that was looked at. */
static bool look_below(struct search *search, uint64_t to)
{
	if (search->climb_at != search->at && search->at + search->bytes <= to) {
		search->climb = seam__climb_from(search->matcher, search->at);
		search->climb_at = search->at;
	}
	for (; search->at + search->bytes <= to && search->steps != 0; search->steps--) {
		const struct seam_taken taken = seam__climb_next(&search->climb, search->at, to);
		if (taken.begin >= search->at + search->bytes) {
			search->end = taken.begin;
			return true;
		}
		search->at = search->climb_at = seam__bits_align_up(taken.end, SEAM_PLANNED_BYTES);
	}
	return false;
}

/* Goes up through the instances. True: there is a place, at search->at: entries that begin below its end have been
 * looked at by then. */
static bool look_among(struct search *search)
{
	struct seam_places_walk walk;
	seam__places_from_lowest(&walk, search->matcher->now);
	const struct seam_by_address *by_address;
	while ((by_address = seam__places_next(&walk, search->at, search->times, &search->steps)) != NULL) {
		const bool needed = by_address->end > search->at && is_needed(search, by_address);
		if (by_address->begin >= search->at + search->bytes && (needed || !search->whole) &&
			look_below(search, by_address->begin))
			return true;
		if (needed)
			search->at = seam__bits_max(search->at, by_address->end);
	}
	return false;
}

/* Whether there is a place at or above `from` that is idle for so many positions, at search->at. */
static bool find(struct search *search, uint64_t least, uint64_t from)
{
	const struct seam_loaded_plan *loaded = search->matcher->now;
	search->circle = (uint64_t)loaded->positions * loaded->copies;
	search->frontier = seam__frontier_circle_at(loaded);
	search->least = seam__bits_min(least, search->circle);
	search->times = seam__frontier_times(loaded, search->least);
	search->at = from;
	search->climb_at = UINT64_MAX;
	return look_among(search) || look_below(search, search->matcher->arena_bytes);
}

/* For how long a place should be idle: as long as the last request will live, or for half a period. */
static uint64_t first_least(const struct seam_matcher *matcher)
{
	const uint64_t reach = seam__matcher_reach(matcher);
	return reach != 0 ? reach : matcher->now->positions / 2;
}

/* Where there is none: a shorter time. */
static uint64_t next_least(uint64_t least)
{
	return least > 1 ? seam__bits_max(1, least / 4) : 0;
}

/* True: there is a place that is idle for so many positions, at search->at. After a search in vain there is none for a
 * while. */
static bool look(struct search *search, struct seam_vain *by_time, uint64_t least, uint64_t from)
{
	const uint64_t now = search->matcher->now->frontier.at;
	struct seam_vain *vain = &by_time[least == 0 ? 0 : 1 + seam__bits_log2(least)];
	if (now < vain->until && search->bytes >= vain->bytes)
		return false;
	if (find(search, least, from) || (from != 0 && find(search, least, 0)))
		return true;
	*vain = (struct seam_vain){search->bytes, now + seam__bits_max(least / 4, VAIN_POSITIONS)};
	return false;
}

struct seam_plan_block *seam__matcher_borrow(struct seam_matcher *matcher, uint64_t requested_bytes)
{
	const struct seam_loaded_plan *loaded = matcher->now;
	if (loaded == NULL)
		return NULL;
	struct search search = {
		.matcher = matcher,
		.bytes = seam__bits_align_up(requested_bytes, SEAM_PLANNED_BYTES),
		.steps = SEARCH_STEPS,
	};
	uint64_t *const from = &matcher->borrow_from[seam__bits_log2(search.bytes)];
	uint64_t least = first_least(matcher);
	bool found = look(&search, matcher->vain, least, *from);
	if (found)
		*from = search.at;
	while (!found && least != 0 && search.steps != 0) {
		least = next_least(least);
		found = look(&search, matcher->vain, least, 0);
	}
	matcher->counts.steps += SEARCH_STEPS - search.steps;
	if (!found)
		return NULL;
	/* The slot that was missed counted as not due. Should the program come to it again, it must see what lies there
	 * now. */
	const struct seam_plan_block *missing = matcher->missing;
	const bool overlaps = missing != NULL && missing->offset < search.at + search.bytes &&
		search.at < missing->offset + missing->bytes;
	return seam__off_plan_begin(
		matcher, search.at, requested_bytes, loaded->frontier.at + (overlaps ? 0 : search.least));
}

void seam__matcher_each_idle(struct seam_matcher *matcher, uint64_t bytes,
	bool (*visit)(void *user, uint64_t begin, uint64_t end), void *user)
{
	struct search search = {.matcher = matcher, .bytes = bytes, .whole = true, .steps = UINT32_MAX};
	bool done = matcher->now == NULL;
	for (uint64_t least = done ? 0 : first_least(matcher); !done; least = next_least(least)) {
		for (uint64_t at = 0; !done && find(&search, least, at); at = search.end)
			done = visit(user, search.at, search.end);
		done |= least == 0;
	}
	matcher->counts.steps += UINT32_MAX - search.steps;
}

struct seam_plan_block *seam__matcher_put(struct seam_matcher *matcher, uint64_t offset, uint64_t requested_bytes)
{
	return seam__off_plan_begin(
		matcher, offset, requested_bytes, matcher->now != NULL ? matcher->now->frontier.at : 0);
}
