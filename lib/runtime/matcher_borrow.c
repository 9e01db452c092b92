/* matcher_borrow.c: places in what the plan leaves idle, for requests that it did not serve; see matcher.h.
 *
 * Principle: a request that was missed gets only memory that is idle until its end, so that it displaces nothing and a
 * disturbance does not breed others. The places are those of other slots, the smallest that are large enough: a program
 * asks for few sizes, and the place of one slot is idle while another of its size is missed. Where the end is unknown,
 * or the caller has no other way, the place that is idle longest is taken.
 *
 * Work is bounded: a search looks at PLACES places and at VISITS slots and occupants in them, whatever the plan and
 * however much is live. The next search goes on behind the place where this one ended.
 */
#include "matcher_state.h"

#include "bits.h"

#define PLACES 32u  /* of a search */
#define VISITS 512u /* slots and occupants: some 4 us */

struct search {
	struct seam_matcher *matcher;
	uint64_t bytes;
	uint64_t positions; /* that a place has to be idle for */
	uint32_t visits;    /* that are left */
	uint64_t best;      /* the place that is idle longest so far, */
	uint64_t idle;      /* for so many positions; 0: none yet */
};

/* The first of the places that has so many bytes. */
static uint32_t place_of_bytes(const struct seam_script *script, uint64_t bytes)
{
	uint32_t low = 0, high = script->place_count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct seam_berth *berth = &script->berths[script->by_bytes[middle]];
		if (berth->end - berth->begin < bytes)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The lowest part of [begin, end) without occupants. */
static uint64_t part_of(struct search *search, uint64_t begin, uint64_t end)
{
	struct seam_climb climb = seam__climb_from(search->matcher, begin);
	for (uint64_t at = begin; at + search->bytes <= end && search->visits != 0; search->visits--) {
		const struct seam_taken taken = seam__climb_next(&climb, at, end);
		if (taken.begin >= at + search->bytes)
			return at;
		at = seam__bits_align_up(seam__bits_max(taken.end, taken.begin), SEAM_PLANNED_BYTES);
	}
	return SEAM_PLAN_NO_ADDRESS;
}

/* Whether the search is over. */
static bool look_in(struct search *search, uint64_t begin, uint64_t end)
{
	const uint64_t at = part_of(search, begin, end);
	if (at == SEAM_PLAN_NO_ADDRESS)
		return search->visits == 0;
	const uint64_t idle = seam__matcher_idle_within(search->matcher, at, at + search->bytes, &search->visits);
	if (idle > search->idle) {
		search->best = at;
		search->idle = idle;
	}
	return search->idle >= search->positions || search->visits == 0;
}

static void look_around(struct search *search)
{
	struct seam_matcher *matcher = search->matcher;
	const struct seam_script *script = matcher->now;
	const uint32_t first = place_of_bytes(script, search->bytes), count = script->place_count - first;
	if (matcher->arena_bytes > script->bytes && look_in(search, script->bytes, matcher->arena_bytes))
		return;
	const uint32_t near = count < PLACES ? count : PLACES;
	for (uint32_t n = 0; n < near; n++) {
		const struct seam_berth *berth =
			&script->berths[script->by_bytes[first + (matcher->cursor + n) % near]];
		if (look_in(search, berth->begin, berth->end)) {
			matcher->cursor += n;
			return;
		}
	}
}

struct seam_planned *seam__matcher_borrow(struct seam_matcher *matcher, uint64_t requested_bytes, bool displaces)
{
	const struct seam_script *script = matcher->now;
	if (script == NULL)
		return NULL;
	const uint64_t reach = seam__matcher_reach(matcher);
	struct search search = {
		.matcher = matcher,
		.bytes = seam__bits_align_up(requested_bytes, SEAM_PLANNED_BYTES),
		.positions = reach != 0 ? reach : (uint64_t)script->positions * script->copies,
		.visits = VISITS,
	};
	look_around(&search);
	matcher->counts.visits += VISITS - search.visits;
	if (search.idle == 0 || (search.idle < search.positions && reach != 0 && !displaces))
		return NULL;
	/* The slot that was missed counted as not due; should the program come to it again, it must see what lies there
	 * now. */
	const struct seam_planned *missing = matcher->missing;
	const bool overlaps = missing != NULL && missing->offset < search.best + search.bytes &&
		search.best < missing->offset + missing->bytes;
	const uint64_t lasts = search.idle > 1 ? seam__bits_min(search.idle, search.positions) : 0; /* 1: or due now */
	return seam__loose_begin(matcher, search.best, requested_bytes, script->front.at + (overlaps ? 0 : lasts));
}

struct seam_planned *seam__matcher_put(struct seam_matcher *matcher, uint64_t offset, uint64_t requested_bytes)
{
	return seam__loose_begin(matcher, offset, requested_bytes, matcher->now != NULL ? matcher->now->front.at : 0);
}
