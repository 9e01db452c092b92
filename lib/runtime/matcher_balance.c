/* matcher_balance.c: what is live, against what the plan has live: where a program that broke an iteration off begins
 * anew, and what it has not come to.
 *
 * Equal parts of a period (micro-batches) look alike by their sizes, and a program that lets everything go in the midst
 * of one and begins from the beginning looks as if it went on. What is live then tells. It is looked at when many
 * blocks are freed that were not due, with no request between, and much less is live than the plan has live there: the
 * next requests are compared, and if one of them is not due where so little is live, but is where the period begins,
 * that is where the program is. A period begins where the program says that an iteration ends, else where least is
 * live. Blocks that others serve count too, but for those that were there when the last repetitions began, which stay.
 *
 * A request of one lane may look like what that one does much later, when others have done their part. What is live
 * tells that they have not.
 *
 * Not here: where requests belong by their sizes (lanes.c); whether memory is safe.
 */
#include "matcher_state.h"

#include "bits.h"

#define BURST 16u       /* frees with no request between, none of them due */
#define SLACK 8u        /* blocks by which a program may be off, */
#define SLACK_SHARE 16u /* or such a part of them */
#define FEW 8u          /* blocks that the front may leave behind at once */

static int64_t live_now(const struct seam_matcher *matcher)
{
	return (int64_t)matcher->counts.live + matcher->balance.beside - matcher->balance.staying;
}

static uint64_t distance(int64_t live, uint32_t planned)
{
	return live < planned ? (uint64_t)(planned - live) : (uint64_t)(live - planned);
}

static uint64_t slack(uint32_t planned)
{
	return seam__bits_max(SLACK, planned / SLACK_SHARE);
}

/* Every lane that is in step looks at its next request with care. */
static void raise_doubts(struct seam_matcher *matcher)
{
	struct seam_script *script = matcher->now;
	matcher->balance.doubts = SEAM_RUN;
	for (uint32_t l = 0; l < script->lane_count; l++)
		script->lanes[l].trouble += script->lanes[l].trouble == 0;
}

void seam__balance_free(struct seam_matcher *matcher)
{
	struct seam_balance *balance = &matcher->balance;
	const uint64_t heard = matcher->lane == NULL ? 0 : matcher->lane->history.heard;
	if (balance->heard != heard)
		balance->freed = 0;
	balance->heard = heard;
	if (++balance->freed % BURST != 0 || !balance->known || matcher->now == NULL)
		return;
	const uint32_t planned = matcher->now->live_at[matcher->now->front.position];
	if (live_now(matcher) + (int64_t)slack(planned) < planned)
		raise_doubts(matcher);
}

void seam__matcher_beside(struct seam_matcher *matcher, int more)
{
	matcher->balance.beside += more;
	if (more < 0)
		seam__balance_free(matcher);
}

/* The cue that the request is, if the lane asks for it at a position or soon behind and as much is live there; NULL: it
 * is not. */
static const struct seam_cue *find_behind(
	const struct seam_script *script, const struct seam_lane *lane, uint32_t position, uint64_t bytes, int64_t live)
{
	const uint32_t first = seam__lane_cue_at(lane, position);
	for (uint32_t n = 0; n < SEAM_RUN && n < lane->count; n++) {
		const struct seam_cue *cue = &lane->first[(first + n) % lane->count];
		if (cue->bytes != 0 && seam__cue_fits(cue, bytes) &&
			distance(live, script->live_at[cue->begin]) <= SLACK)
			return cue;
	}
	return NULL;
}

/* The same where the period begins, or one of its iterations. */
static const struct seam_cue *find_beginning(
	const struct seam_script *script, const struct seam_lane *lane, uint64_t bytes, int64_t live)
{
	const struct seam_marks *marks = &script->marks;
	const struct seam_cue *cue = NULL;
	if (marks->count == 0)
		return find_behind(script, lane, script->least_at, bytes, live);
	for (uint32_t i = 0; i < marks->count && cue == NULL; i++)
		cue = find_behind(script, lane, marks->at[i], bytes, live);
	return cue;
}

void seam__balance_compare(struct seam_matcher *matcher, struct seam_lane *lane, uint64_t bytes)
{
	struct seam_script *script = matcher->now;
	const int64_t live = live_now(matcher);
	const uint32_t here = script->live_at[lane->next->begin];
	matcher->balance.doubts--;
	if (seam__cue_fits(lane->next, bytes) && distance(live, here) <= slack(here)) {
		matcher->balance.doubts = 0;
		return;
	}
	const struct seam_cue *cue = find_beginning(script, lane, bytes, live);
	if (cue == NULL)
		return;
	/* In the same copy: what lives on from the iteration before lies where the plan has it then. */
	const struct seam_front *front = &script->front;
	const uint64_t round = cue->begin < front->position ? (uint64_t)script->positions * script->copies : 0;
	const uint64_t at = front->base + round + cue->begin;
	for (uint32_t l = 0; l < script->lane_count; l++)
		seam__lane_put(script, &script->lanes[l], at);
	lane->sure = true;
	matcher->balance.doubts = 0;
	matcher->counts.resyncs++;
}

bool seam__balance_leaps(const struct seam_script *script, struct seam_lane *lane, uint64_t to)
{
	uint32_t position = script->front.position, copy = script->front.copy, left = 0;
	const bool is_far = to > script->front.at + seam__script_around(script) && !lane->sure;
	for (uint64_t at = script->front.at; is_far && at < to && left <= FEW; at++) {
		const uint32_t due = seam__script_due_at(script, position, copy);
		left += due != UINT32_MAX && script->instances[due].state == SEAM_PLANNED_LIVE;
		if (++position == script->positions) {
			position = 0;
			copy = copy + 1 == script->copies ? 0 : copy + 1;
		}
	}
	lane->sure = left > FEW; /* if the next one says the same */
	return lane->sure;
}
