/* lanes_equal.c: requests of one size that were taken for each other; frees tell.
 *
 * Where a program leaves a request out, or makes two in another order, the next one of its size looks like it, and what
 * follows is taken for the one before it. Sizes do not tell; lifetimes do: a block is freed long before its slot ends,
 * while another slot of that size which was not asked for ends about now. It was that one; and the slot whose place it
 * had is the one that is still to come, or that has been left out.
 *
 * Not here: what a request is when it comes (lanes.c).
 */
#include "matcher_state.h"

#include "bits.h"
#include "check.h"

/* The repetition that the live instance is in: the last of its copy in which its slot has begun. False: there was none.
 */
static bool find_spot(
	const struct seam_script *script, const struct seam_lane *lane, uint32_t number, struct seam_spot *ret_spot)
{
	const uint32_t slot = number / script->copies, copy = number % script->copies,
		       begin = script->stretches[slot].begin;
	const uint32_t cue = seam__lane_cue_at(lane, begin);
	if (cue == lane->count || lane->first[cue].slot != slot)
		return false; /* another lane's */
	uint64_t back = (script->front.copy + script->copies - copy) % script->copies;
	if (back == 0 && begin >= script->front.position)
		back = script->copies;
	if (back * script->positions > script->front.base)
		return false;
	*ret_spot = (struct seam_spot){&lane->first[cue], script->front.base - back * script->positions, copy};
	return true;
}

static uint64_t end_of(const struct seam_script *script, const struct seam_spot *spot)
{
	return spot->base + script->stretches[spot->cue->slot].end;
}

/* Whether the block, which is at `spot`, was rather the slot at `other`: that ends nearer to here, and was not over
 * when the block was asked for. */
static bool was_rather(
	const struct seam_script *script, const struct seam_spot *spot, const struct seam_spot *other, uint64_t bytes)
{
	const uint64_t front = script->front.at, end = end_of(script, other), begin = spot->base + spot->cue->begin;
	return seam__cue_fits(other->cue, bytes) && end > begin && other->base + other->cue->begin < begin &&
		seam__bits_distance(end, front) < end_of(script, spot) - front;
}

void seam__lane_hear_free(struct seam_matcher *matcher, const struct seam_planned *planned)
{
	const struct seam_script *script = matcher->now;
	struct seam_lane *lane = matcher->lane;
	struct seam_spot spot;
	if (lane == NULL || lane->cold || !find_spot(script, lane, planned->number, &spot))
		return;
	SEAM_ASSERT(end_of(script, &spot) > script->front.at); /* or it were a stray */
	for (uint32_t i = 0; i < SEAM_SKIPPED; i++) {
		struct seam_spot *skipped = &lane->skipped[i];
		if (skipped->cue == NULL || !was_rather(script, &spot, skipped, planned->bytes))
			continue;
		*skipped = spot;
		return;
	}
	/* Nothing but the next slot, and its free, is between here and its own free. */
	const struct seam_cue *next = lane->next;
	const bool is_between = lane->base + next->begin == script->front.at &&
		script->stretches[next->slot].end == next->begin + 1 && end_of(script, &spot) == script->front.at + 2;
	if (!is_between || !seam__cue_fits(next, planned->bytes))
		return;
	lane->skipped[lane->skipped_at++ % SEAM_SKIPPED] = (struct seam_spot){next, lane->base, lane->copy};
	seam__lane_pass(script, lane);
}
