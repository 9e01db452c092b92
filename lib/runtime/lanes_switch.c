/* lanes_switch.c: requests that say that the program is in another script: train, eval, another shape.
 *
 * An iteration that begins as one of another script does is known by the first request that the current script does not
 * expect: where the program marks its steps, by what it asked for since the last; where it does not, by all since the
 * period began, if that was in step. Else the last sizes are looked up in the index of the other scripts; see lanes.c.
 */
#include "matcher_state.h"

/* Its script is current: the lane speaks, and has just asked for the cue. */
static struct seam_spot speak(
	struct seam_matcher *matcher, struct seam_lane *lane, uint32_t cue, const struct seam_history *history)
{
	matcher->lane = lane;
	lane->history = *history;
	lane->spoke = matcher->now->front.at;
	return seam__lane_take_guess(matcher, lane, cue);
}

bool seam__lane_switch(struct seam_matcher *matcher, uint64_t stream, uint32_t thread, const struct seam_history *heard,
	uint32_t length, struct seam_spot *ret_spot)
{
	const struct seam_history history = *heard;
	struct seam_guess best = {0, length};
	struct seam_script *found = NULL;
	struct seam_lane *lane = NULL;
	for (uint32_t i = 1; i < matcher->script_count; i++) {
		struct seam_script *script = matcher->scripts[i];
		for (uint32_t l = 0; l < script->lane_count; l++) {
			if (script->lanes[l].stream != stream || script->lanes[l].plan_thread != thread)
				continue;
			const struct seam_guess guess = seam__lane_guess(NULL, &script->lanes[l], &history);
			if (guess.length > best.length) {
				best = guess;
				found = script;
				lane = &script->lanes[l];
			}
		}
	}
	if (found == NULL || !seam__matcher_switch(matcher, found, lane->first[best.cue].begin, false))
		return false;
	*ret_spot = speak(matcher, lane, best.cue, &history);
	return true;
}

/* The cue of a lane of another script that follows all that was heard since the iteration began, if that began at its
 * `mark`; NULL: it begins in another way. */
static const struct seam_cue *follow_since(
	const struct seam_lane *lane, const struct seam_history *history, uint64_t since, uint32_t mark)
{
	const uint32_t first = seam__lane_cue_at(lane, mark);
	for (uint64_t back = 0; back < since && back < SEAM_HEARD; back++) {
		const uint64_t bytes = history->sizes[(history->heard - 1 - back) % SEAM_HEARD];
		if (bytes == 0 || !seam__cue_fits(&lane->first[(first + since - 1 - back) % lane->count], bytes))
			return NULL;
	}
	return &lane->first[(first + since - 1) % lane->count];
}

/* The same for any of its marks, or its beginning if it has none. */
static const struct seam_cue *follow_since_begun(const struct seam_script *script, const struct seam_lane *lane,
	const struct seam_history *history, uint64_t since)
{
	const struct seam_cue *cue = NULL;
	if (since > lane->count)
		return NULL;
	for (uint32_t i = 0; i < script->marks.count && cue == NULL; i++)
		cue = follow_since(lane, history, since, script->marks.at[i]);
	return script->marks.count == 0 ? follow_since(lane, history, since, 0) : cue;
}

/* How many sizes the lane has heard since an iteration began, with that of the request that is not expected; 0: that is
 * not known. */
static uint64_t heard_since(const struct seam_script *script, const struct seam_lane *lane)
{
	if (lane->stepped != SEAM_NEVER)
		return lane->history.heard - lane->stepped;
	const uint64_t since = (uint64_t)(lane->next - lane->first) + 1;
	return script->marks.count == 0 && lane->trouble == 0 && since <= lane->history.heard ? since : 0;
}

bool seam__lane_switch_since_begun(
	struct seam_matcher *matcher, const struct seam_lane *before, struct seam_spot *ret_spot)
{
	const struct seam_history history = before->history;
	const uint64_t since = heard_since(matcher->now, before), stream = before->stream, stepped = before->stepped;
	const uint32_t plan_thread = before->plan_thread;
	if (since == 0)
		return false;
	for (uint32_t i = 1; i < matcher->script_count; i++) {
		struct seam_script *script = matcher->scripts[i];
		for (uint32_t l = 0; l < script->lane_count; l++) {
			struct seam_lane *lane = &script->lanes[l];
			if (lane->stream != stream || lane->plan_thread != plan_thread)
				continue;
			const struct seam_cue *cue = follow_since_begun(script, lane, &history, since);
			if (cue == NULL || !seam__matcher_switch(matcher, script, cue->begin, false))
				continue;
			lane->stepped = stepped;
			*ret_spot = speak(matcher, lane, (uint32_t)(cue - lane->first), &history);
			if (stepped == SEAM_NEVER)
				lane->trouble = 0; /* all since the period began is explained: another script may
						      explain what follows as well */
			return true;
		}
	}
	return false;
}

bool seam__lane_hear_stranger(
	struct seam_matcher *matcher, const struct seam_match_ask *ask, struct seam_spot *ret_spot)
{
	struct seam_history *heard = &matcher->stranger;
	if (matcher->stranger_stream != ask->stream || matcher->stranger_thread != ask->thread)
		heard->heard = 0;
	matcher->stranger_stream = ask->stream;
	matcher->stranger_thread = ask->thread;
	seam__history_add(heard, ask->dynamic ? 0 : ask->bytes);
	return matcher->script_count > 1 && seam__lane_switch(matcher, ask->stream, ask->thread, heard, 0, ret_spot);
}
