/* speakers.c: which lane a thread speaks for.
 *
 * A lane belongs to a thread and a stream. Threads come and go, though, and roles move between them: the next thread of
 * the stream takes the place of one that is silent. A thread that has no lane may say what another one's lane expects
 * next: that is taken at its word, and the lane stays whose it is. So a program whose work moves to another thread is
 * served, and a thread that no plan knows does not lead a lane astray.
 *
 * Not here: where in its lane a speaker is (lanes.c). Who speaks never decides whether memory is safe: that is by
 * stream and by what is live.
 */
#include "matcher_state.h"

#define NEAR_SHARE 4u /* what is due later than this part of a period is not what a stranger means */

struct seam_lane *seam__speaker_lane(const struct seam_matcher *matcher, const struct seam_match_ask *ask)
{
	const struct seam_script *script = matcher->now;
	for (uint32_t l = 0; script != NULL && l < script->lane_count; l++)
		if (script->lanes[l].thread == ask->thread && script->lanes[l].stream == ask->stream)
			return &script->lanes[l];
	return NULL;
}

/* Nobody has spoken for it, and this is what it begins with; or nobody has for a period. */
static bool is_silent(const struct seam_script *script, const struct seam_lane *lane, bool fits)
{
	return lane->spoke == SEAM_NEVER ? fits : lane->spoke + script->positions <= script->front.at;
}

/* What a request of a thread without a lane may be, the better the higher. */
enum fit { NO_FIT, DYNAMIC_FIT, EXACT_FIT };

/* Where dynamic requests are expected it may be one of those, or the one behind them. */
static enum fit fit_of(const struct seam_lane *lane, const struct seam_match_ask *ask)
{
	if (lane->next->bytes == 0)
		return DYNAMIC_FIT;
	return !ask->dynamic && seam__cue_fits(lane->next, ask->bytes) ? EXACT_FIT : NO_FIT;
}

/* What is due first is the best of several. */
struct choice {
	struct seam_lane *lane; /* NULL: none yet */
	enum fit fit;
	uint64_t at;
};

static void consider(struct choice *choice, struct seam_lane *lane, enum fit fit, uint64_t latest)
{
	const uint64_t at = lane->base + lane->next->begin;
	if (fit == NO_FIT || lane->cold || at > latest || fit < choice->fit || (fit == choice->fit && at >= choice->at))
		return;
	*choice = (struct choice){lane, fit, at};
}

struct seam_lane *seam__speaker_find(const struct seam_matcher *matcher, const struct seam_match_ask *ask)
{
	struct seam_script *script = matcher->now;
	struct seam_lane *silent = NULL;
	struct choice choice = {NULL, NO_FIT, 0};
	for (uint32_t l = 0; l < script->lane_count; l++) {
		struct seam_lane *lane = &script->lanes[l];
		if (lane->stream != ask->stream)
			continue;
		const enum fit fit = fit_of(lane, ask);
		if (is_silent(script, lane, fit == EXACT_FIT) && (silent == NULL || fit == EXACT_FIT))
			silent = lane;
		consider(&choice, lane, fit, script->front.at + script->positions / NEAR_SHARE);
	}
	if (silent == NULL)
		return choice.lane;
	silent->thread = ask->thread;
	return silent;
}
