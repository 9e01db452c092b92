/* matcher_borrow.c: a place in what the plan leaves idle, for a request that it did not serve; see matcher.h.
 *
 * A slot whose place is occupied goes where nothing is due as long as it will live; so what it displaces is nothing,
 * and a disturbance does not breed others. There may be no such place for one that lives long: then it displaces ones
 * that live less than half as long, for whom its own place is soon free, rather than another one like it, which would
 * hand the disturbance on; and as few of them as can be, for each is missed while it lies there: where nothing is due
 * for some time, there may be thousands of small ones after that. A request of which nothing is known goes where
 * nothing is due for longest. Before the pool grows even what is due now is given away. Such blocks are loose, like
 * dynamic ones.
 *
 * Where the program does what no script knows (an iteration of another length, an evaluation), nothing is known of time
 * either: the front stands still, and what is due by it may never come, or when all of this is gone. What is known is
 * the memory. So such requests go where they leave most of it whole, and of places that leave as much where something
 * is due latest: a whole iteration of them would else lie in more pieces than it fills, and its large requests find
 * none that is idle.
 *
 * The arena's memory can be lent in whole pieces only. So of places that are as good for the plan the one is taken that
 * begins to use least of the pieces in which nothing lives: strewn over the arena, a few blocks would make as many of
 * them useless as there are ends of blocks, and the pool would grow beside idle memory.
 */
#include "matcher_state.h"

#include "bits.h"
#include "check.h"

#define LONG 512u /* positions, if half a period is more: what lives as long may displace as many */

struct hunt {
	const struct seam_matcher *matcher;
	uint64_t least;   /* positions that a place must be idle for, */
	uint64_t shorter; /* but for slots that live less than this */
	uint64_t bytes;
	uint64_t best;           /* SEAM_PLAN_NO_ADDRESS: none yet */
	uint64_t gap;            /* that it lies in */
	uint64_t displaced;      /* of those how many are due there while it lives */
	uint64_t broken;         /* bytes of the pieces that are idle as a whole until it lies there */
	struct seam_piece asked; /* the piece that was looked at last, */
	bool asked_idle;
};

/* Whether it may be live without being a stray: what is live is begun, and ends behind the front, or else is one. Of
 * strays look_between() knows. */
static bool is_around(const struct seam_script *script, const struct seam_berth *berth, uint64_t due)
{
	return due == 0 || (uint64_t)script->positions * script->copies - due <= berth->length;
}

/* Whether a place that an instance needs next is none for the block. One that the program has passed over is due in
 * another repetition. */
static bool is_needed(const struct hunt *hunt, const struct seam_script *script, const struct seam_berth *berth)
{
	const uint64_t due = seam__script_due_at_circle(script, berth->at);
	if (due >= hunt->least && !is_around(script, berth, due))
		return false;
	const struct seam_planned *planned = &script->instances[berth->number];
	if (planned->state != SEAM_PLANNED_FREE)
		return true;
	if (hunt->matcher->missing == planned || berth->length < hunt->shorter)
		return false;
	return due < hunt->least;
}

static bool is_live(void *user, uint32_t number)
{
	const struct seam_script *script = user;
	return script->instances[number].state != SEAM_PLANNED_FREE;
}

/* Whether nothing lies in the piece, and nothing in it is blocked. */
static bool is_idle(struct hunt *hunt, struct seam_piece piece)
{
	const struct seam_script *script = hunt->matcher->now;
	if (hunt->asked.begin == piece.begin && hunt->asked.end == piece.end)
		return hunt->asked_idle;
	struct seam_climb climb = seam__climb_from(hunt->matcher, piece.begin);
	hunt->asked = piece;
	hunt->asked_idle = seam__climb_next(&climb, piece.begin, piece.end).begin == piece.end &&
		!seam__script_overlapping(script, piece.begin, piece.end, is_live, (void *)(uintptr_t)script);
	return hunt->asked_idle;
}

/* How much a block at `at` would begin to use. What lies wholly below it is idle, or it could not lie there. */
static uint64_t bytes_broken(struct hunt *hunt, uint64_t at)
{
	const struct seam_pieces *pieces = &hunt->matcher->pieces;
	if (pieces->at == NULL)
		return 0;
	const struct seam_piece first = pieces->at(pieces->user, at),
				last = pieces->at(pieces->user, at + hunt->bytes - 1);
	uint64_t bytes = is_idle(hunt, first) ? first.end - first.begin : 0;
	if (last.begin != first.begin)
		bytes += last.begin - first.end + (is_idle(hunt, last) ? last.end - last.begin : 0);
	return bytes;
}

struct count {
	const struct hunt *hunt;
	uint64_t due;
};

/* Stops where there are more than at the best place. */
static bool count_due(void *user, uint32_t number)
{
	struct count *count = user;
	const struct seam_script *script = count->hunt->matcher->now;
	count->due += seam__script_due_in(script, number) < count->hunt->least;
	return count->due > count->hunt->displaced;
}

static void consider(struct hunt *hunt, uint64_t at, uint64_t gap)
{
	struct count count = {hunt, 0};
	if (hunt->shorter != 0)
		(void)seam__script_overlapping(hunt->matcher->now, at, at + hunt->bytes, count_due, &count);
	if (count.due > hunt->displaced)
		return;
	const uint64_t broken = bytes_broken(hunt, at);
	if (count.due == hunt->displaced && (broken > hunt->broken || (broken == hunt->broken && gap >= hunt->gap)))
		return;
	hunt->displaced = count.due;
	hunt->broken = broken;
	hunt->gap = gap;
	hunt->best = at;
}

/* [at, to) is free and large enough: a block lies at one of its ends, or at that of a piece. Pieces differ in size, and
 * small ones waste less; of those of one size in a row one is as good as another. */
static void look_in(struct hunt *hunt, uint64_t at, uint64_t to)
{
	const struct seam_pieces *pieces = &hunt->matcher->pieces;
	const uint64_t gap = to - at, last = to - hunt->bytes;
	consider(hunt, at, gap);
	if (pieces->at == NULL || last == at)
		return;
	for (struct seam_piece piece = pieces->at(pieces->user, at), next; piece.end < to; piece = next) {
		const uint64_t edge = piece.end;
		next = pieces->at(pieces->user, edge);
		const bool differ = next.end - next.begin != piece.end - piece.begin;
		if (edge <= last && (differ || piece.begin <= at))
			consider(hunt, edge, gap);
		if (edge >= at + hunt->bytes && (differ || next.end >= to))
			consider(hunt, edge - hunt->bytes, gap);
	}
	consider(hunt, last, gap);
}

/* None is better. */
static bool is_done(const struct hunt *hunt)
{
	return hunt->gap == hunt->bytes && hunt->broken == 0 && hunt->displaced == 0;
}

/* [from, to) is idle by the plan: the best place there, among what is not the plan's. */
static void look_between(struct hunt *hunt, uint64_t from, uint64_t to)
{
	if (to < from + hunt->bytes)
		return;
	struct seam_climb climb = seam__climb_from(hunt->matcher, from);
	for (uint64_t at = from; at + hunt->bytes <= to;) {
		const struct seam_taken taken = seam__climb_next(&climb, at, to);
		if (taken.begin >= at + hunt->bytes)
			look_in(hunt, at, taken.begin);
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
	hunt->broken = UINT64_MAX;
	hunt->displaced = UINT64_MAX;
	for (uint32_t i = 0; i < script->placed && !is_done(hunt); i++) {
		const struct seam_berth *berth = &script->berths[i];
		if (!is_needed(hunt, script, berth))
			continue;
		if (berth->begin > end)
			look_between(hunt, end, berth->begin);
		end = seam__bits_max(end, berth->end);
	}
	if (hunt->matcher->arena_bytes > end && !is_done(hunt))
		look_between(hunt, end, hunt->matcher->arena_bytes);
	return hunt->best != SEAM_PLAN_NO_ADDRESS;
}

/* Whether nobody knows where the program is: what it asks for is found nowhere, for more than a run. */
static bool is_lost(const struct seam_matcher *matcher)
{
	const struct seam_lane *lane = matcher->lane;
	return matcher->reach == 0 && lane != NULL && (lane->cold || lane->missed > SEAM_RUN);
}

/* While there is none, places that are due sooner and sooner, down to `last` positions. */
static void find_sooner(struct hunt *hunt, uint64_t last)
{
	while (hunt->best == SEAM_PLAN_NO_ADDRESS && hunt->least > last) {
		hunt->least = seam__bits_max(last, hunt->least / 4);
		(void)find_place(hunt);
	}
}

/* The one that was found stays where no other, due in `last` positions or later, leaves more memory whole. */
static void find_whole(struct hunt *hunt, uint64_t last)
{
	struct hunt other = *hunt;
	if (hunt->best == SEAM_PLAN_NO_ADDRESS || hunt->broken == 0 || hunt->least <= last)
		return;
	other.least = last;
	if (find_place(&other) && other.broken < hunt->broken)
		*hunt = other;
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
	const uint64_t circle =
		(uint64_t)script->positions * script->copies; /* around all copies: nothing is due later */
	hunt.least = reach != 0 ? seam__bits_min(reach, circle) : circle;
	bool overlaps = false; /* something that is due while it lives, as far as anybody knows */
	const uint64_t last = what == SEAM_BORROW_ANY ? 0 : what >= SEAM_BORROW_LONGEST || reach == 0 ? 1 : hunt.least;
	if (!find_place(&hunt) && what >= SEAM_BORROW_LONGEST && (reach >= LONG || reach >= script->positions / 2)) {
		hunt.shorter =
			seam__bits_min(reach, script->positions) / 2; /* so what they displace in turn is short-lived */
		overlaps = find_place(&hunt);
		hunt.shorter = 0;
	}
	find_sooner(&hunt, last);
	if (is_lost(matcher))
		find_whole(&hunt, last);
	if (hunt.best == SEAM_PLAN_NO_ADDRESS)
		return NULL;
	/* The slot that was missed counted as not due; should the program come to it again, it must see what lies there
	 * now, as those must that it displaces. */
	const struct seam_planned *missing = matcher->missing;
	if (missing != NULL)
		overlaps |= missing->offset < hunt.best + hunt.bytes && hunt.best < missing->offset + missing->bytes;
	return seam__loose_begin(matcher, hunt.best, requested_bytes, script->front.at + (overlaps ? 0 : hunt.least));
}

struct seam_planned *seam__matcher_put(struct seam_matcher *matcher, uint64_t offset, uint64_t requested_bytes)
{
	return seam__loose_begin(matcher, offset, requested_bytes, matcher->now != NULL ? matcher->now->front.at : 0);
}
