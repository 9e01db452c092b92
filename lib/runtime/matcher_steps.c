/* matcher_steps.c: where in the period the program says that its iterations end; see matcher.h.
 *
 * Where a lane is in step a mark is where the plan has one: it is noted. A period may be of several iterations (of a
 * plan that was given), and has several then. An iteration that was cut short is in step too, up to its mark; but the
 * next request is not what is expected there then, and is looked for behind other marks (tracker.h). Where it is
 * known that the period is one iteration none is noted, and the lane goes there at once.
 *
 * Not here: which slot the next request is (tracker.h).
 */
#include "matcher_state.h"

#include "bits.h"

void seam__script_begins_at_mark(struct seam_script *script)
{
	script->marks = (struct seam_marks){.count = 1, .at = {script->stretches[0].begin}, .all = true};
}

static bool is_known(const struct seam_marks *marks, uint32_t position)
{
	uint32_t i = 0;
	while (i < marks->count && marks->at[i] != position)
		i++;
	return i < marks->count;
}

static void note(struct seam_marks *marks, uint32_t position)
{
	if (marks->count < SEAM_MARKS)
		marks->at[marks->count++] = position;
}

/* Where it is next: in the front's repetition, unless it lies so far behind the front that the next one must be meant.
 */
static uint64_t next_at(const struct seam_script *script, uint32_t mark)
{
	return seam__script_near(script, mark, script->front.at, script->positions / SEAM_BACK_SHARE);
}

/* The mark nearest to the front. SEAM_NEVER: there is none. */
static uint64_t find_nearest(const struct seam_script *script)
{
	const uint64_t front = script->front.at;
	uint64_t nearest = SEAM_NEVER;
	for (uint32_t i = 0; i < script->marks.count; i++) {
		const uint64_t at = next_at(script, script->marks.at[i]);
		if (nearest == SEAM_NEVER || seam__bits_distance(at, front) < seam__bits_distance(nearest, front))
			nearest = at;
	}
	return nearest;
}

void seam__matcher_step(struct seam_matcher *matcher)
{
	seam__matcher_succeed(matcher);
	struct seam_script *script = matcher->now;
	const struct seam_lane *speaker = matcher->lane;
	if (script == NULL || speaker == NULL)
		return;
	struct seam_marks *marks = &script->marks;
	for (uint32_t l = 0; l < script->lane_count; l++)
		script->lanes[l].stepped = script->lanes[l].history.heard;
	const uint32_t begin = speaker->next->begin;
	const bool known = is_known(marks, begin);
	/* One that came there behind the front, by a place that it was in before, would be taken for lost at its next
	 * request. */
	if (speaker->debt == 0 && known && speaker->base + begin >= next_at(script, begin))
		return;
	if (speaker->debt == 0 && !known && !marks->all) {
		note(marks, begin);
		return;
	}
	const uint64_t at = find_nearest(script);
	if (at == SEAM_NEVER)
		return;
	for (uint32_t l = 0; l < script->lane_count; l++) {
		struct seam_lane *lane = &script->lanes[l];
		if (lane == speaker || lane->debt != 0 ||
			lane->base + lane->next->begin + script->positions / SEAM_BACK_SHARE < at)
			seam__lane_put(script, lane, at);
	}
	matcher->counts.resyncs++;
}

void seam__matcher_start_slot(struct seam_matcher *matcher, uint32_t slot)
{
	struct seam_script *script = matcher->now;
	if (script == NULL || slot >= script->slots)
		return;
	const uint64_t at = next_at(script, script->stretches[slot].begin);
	seam__lanes_put(script, at);
}
