/* matcher_copy.c: in which copy of the period a plan begins to serve; see matcher.h.
 *
 * Blocks that live from one period into the next lie in other places in each copy. Those that are there when a plan
 * begins lie where the engine had room, or where the plan put them before it was suspended: their places are taken in
 * one copy and free in another.
 */
#include "matcher_state.h"

#include "bits.h"

#define SHARES 256u /* bytes are multiples of it */

/* True: something else lies in the instance's place. */
static bool is_taken(const struct seam_matcher *matcher, struct seam_plan_block *plan_block)
{
	return plan_block->state != SEAM_PLANNED_FREE || !seam__matcher_is_clear(matcher, plan_block) ||
		seam__off_plan_overlaps(matcher, plan_block->offset, plan_block->offset + plan_block->bytes);
}

/* Bytes of the places of one period, from the next request on, that are taken, if that begins so many copies on. The
 * blocks that take them go in the course of the period, nobody knows in which order: a place counts as much as the plan
 * still has live then of the old_bytes that it has live now. */
static uint64_t taken_bytes(const struct seam_matcher *matcher, uint64_t old_bytes, uint32_t more)
{
	const struct seam_loaded_plan *loaded = matcher->now;
	uint64_t bytes = 0, left_bytes = old_bytes, at = seam__loaded_next_request(loaded);
	for (uint32_t n = 0; n < loaded->positions && left_bytes != 0; n++, at++) {
		const uint32_t action = loaded->actions[at % loaded->positions], slot = action >> 1;
		const struct seam_lifetime *lifetime = &loaded->lifetimes[slot];
		const uint64_t copy = loaded->frontier.copy + more + at / loaded->positions;
		struct seam_plan_block *plan_block =
			&loaded->instances[seam__loaded_number(loaded, slot, (uint32_t)(copy % loaded->copies))];
		if ((action & 1) != 0)
			left_bytes -= lifetime->end - lifetime->begin > n ? plan_block->bytes : 0;
		else if (lifetime->group == SEAM_STATIC && is_taken(matcher, plan_block))
			bytes += plan_block->bytes / SHARES * (SHARES * left_bytes / old_bytes);
	}
	return bytes;
}

bool seam__matcher_choose_copy(struct seam_matcher *matcher)
{
	struct seam_loaded_plan *loaded = matcher->now;
	if (loaded == NULL || loaded->copies == 1)
		return true;
	const uint64_t old_bytes = seam__loaded_live_bytes(loaded);
	uint64_t least_bytes = taken_bytes(matcher, old_bytes, 0);
	uint32_t chosen = 0;
	for (uint32_t more = 1; more < loaded->copies && least_bytes != 0; more++) {
		const uint64_t bytes = taken_bytes(matcher, old_bytes, more);
		chosen = bytes < least_bytes ? more : chosen;
		least_bytes = seam__bits_min(bytes, least_bytes);
	}
	matcher->counts.steps += (uint64_t)loaded->slots * loaded->copies; /* 80 instructions for each place */
	if (chosen == 0)
		return true;
	const bool is_moved = seam__frontier_leap(matcher, loaded->frontier.at + (uint64_t)chosen * loaded->positions);
	seam__cursors_turn(loaded, chosen);
	return is_moved;
}
