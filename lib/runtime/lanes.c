/* lanes.c: which slot a request is: what a lane expects, and how it finds its place again.
 *
 * A request that the cursor does not expect is looked for, in this order: where what was missed before puts it (nothing
 * more, as many slots on, or at a pair of equal sizes ahead); among the slots passed over just now; a few slots ahead;
 * among those passed over before. All of these can be wrong, so each costs trust, the more slots it leaves out: when
 * `trouble` has risen far enough the index is asked for the longest run of equal sizes, here and in the other scripts,
 * and its answer is taken if it explains more of what was heard than the guess at hand.
 *
 * A lane that the others have left far behind goes where they are, if what was heard is explained there no worse: equal
 * stretches of a period (micro-batches) look all alike, and what a lane is given in one that is over is late as a rule.
 * What would take it far ahead of them is not believed at once: see matcher_balance.c.
 */
#include "matcher_state.h"

#include "bits.h"

#define AHEAD 2u          /* slots that may be passed over at once */
#define AHEAD_DYNAMIC 64u /* with the dynamic ones among them */
#define PAIR_AHEAD 256u   /* where a pair is looked for */
#define PAIR_MISSES 16u   /* not any more after so many misses */
#define STALE 1024u       /* positions after which a slot passed over is forgotten */
/* the same where a slot just ahead would do: that something is left out once more is likelier then */
#define NEAR 32u

/* trouble */
#define MISSED 4u
#define PASSED 2u
#define FOUND 4u  /* after the index has spoken */
#define DOUBT 16u /* from here on the index is asked */
#define MOST 24u

static const struct seam_spot nowhere = {NULL, 0, 0};

static void doubt(struct seam_lane *lane, uint32_t by)
{
	lane->trouble = lane->trouble + by > MOST ? MOST : lane->trouble + by;
}

static uint64_t position_of(const struct seam_lane *lane)
{
	return lane->base + lane->next->begin;
}

/* The n-th cue from the cursor; n is at most the number of cues. */
static struct seam_spot spot_ahead(const struct seam_script *script, const struct seam_lane *lane, uint32_t n)
{
	struct seam_spot spot = {lane->next, lane->base, lane->copy};
	const uint32_t left = (uint32_t)(lane->first + lane->count - lane->next);
	spot.cue = n < left ? lane->next + n : lane->first + (n - left);
	if (n >= left) {
		spot.base += script->positions;
		spot.copy = lane->copy + 1 == script->copies ? 0 : lane->copy + 1;
	}
	return spot;
}

static bool spot_is_free(const struct seam_script *script, const struct seam_spot *spot)
{
	return script->instances[seam__script_number(script, spot->cue->slot, spot->copy)].state == SEAM_PLANNED_FREE;
}

/* The cursor goes behind the spot, `passed` cues ahead; those are remembered. */
static void lane_jump(const struct seam_script *script, struct seam_lane *lane, uint32_t passed)
{
	for (uint32_t n = passed > SEAM_SKIPPED ? passed - SEAM_SKIPPED : 0; n < passed; n++) {
		const struct seam_spot spot = spot_ahead(script, lane, n);
		if (spot.cue->bytes != 0)
			lane->skipped[lane->skipped_at++ % SEAM_SKIPPED] = spot;
	}
	const struct seam_spot spot = spot_ahead(script, lane, passed);
	lane->next = spot.cue;
	lane->base = spot.base;
	lane->copy = spot.copy;
	seam__lane_pass(script, lane);
}

/* The n-th cue ahead is the request. */
static struct seam_spot take_ahead(const struct seam_script *script, struct seam_lane *lane, uint32_t n)
{
	const struct seam_spot spot = spot_ahead(script, lane, n);
	lane_jump(script, lane, n);
	return spot;
}

/* How many cues ahead the request is, if no more than AHEAD static ones are passed over; 0: it is not. */
static uint32_t find_ahead(const struct seam_script *script, const struct seam_lane *lane, uint64_t bytes)
{
	uint32_t passed = 0;
	for (uint32_t n = 0; n < AHEAD_DYNAMIC && n < lane->count; n++) {
		const struct seam_spot spot = spot_ahead(script, lane, n);
		if (n > 0 && seam__cue_fits(spot.cue, bytes) && spot_is_free(script, &spot))
			return n;
		passed += spot.cue->bytes != 0;
		if (passed > AHEAD)
			break;
	}
	return 0;
}

/* The last two sizes, ahead; 0: not there. */
static uint32_t find_pair(const struct seam_script *script, const struct seam_lane *lane)
{
	const uint64_t before = lane->history.sizes[(lane->history.heard - 2) % SEAM_HEARD];
	const uint64_t now = lane->history.sizes[(lane->history.heard - 1) % SEAM_HEARD];
	struct seam_spot last = spot_ahead(script, lane, 0);
	for (uint32_t n = 1; n < PAIR_AHEAD && n < lane->count; n++) {
		const struct seam_spot spot = spot_ahead(script, lane, n);
		if (last.cue->bytes == before && spot.cue->bytes == now)
			return n;
		last = spot;
	}
	return 0;
}

/* Where the misses before this request put it; 0: they do not. */
static uint32_t find_after_misses(const struct seam_script *script, const struct seam_lane *lane, uint64_t bytes)
{
	if (lane->missed == 0 || lane->missed >= PAIR_MISSES)
		return 0;
	if (lane->missed < lane->count) {
		const struct seam_spot spot = spot_ahead(script, lane, lane->missed);
		if (seam__cue_fits(spot.cue, bytes) && spot_is_free(script, &spot))
			return lane->missed;
	}
	return find_pair(script, lane);
}

/* The entry among the slots passed over, no more than so many positions behind, that the request is; SEAM_SKIPPED:
 * none. */
static uint32_t find_skipped(
	const struct seam_script *script, const struct seam_lane *lane, uint64_t bytes, uint32_t behind)
{
	for (uint32_t i = 0; i < SEAM_SKIPPED; i++) {
		const struct seam_spot *spot = &lane->skipped[i];
		if (spot->cue != NULL && seam__cue_fits(spot->cue, bytes) &&
			spot->base + spot->cue->begin + behind > position_of(lane) && spot_is_free(script, spot))
			return i;
	}
	return SEAM_SKIPPED;
}

/* The repetition in which a lane finds itself at `position` of the period. Behind where it was is the next one, unless
 * that is by a little: then it had gone too far. A lane that knew nothing, or that the front has left behind, goes by
 * the front. */
static uint64_t base_for(const struct seam_script *script, const struct seam_lane *lane, uint32_t position)
{
	const uint32_t period = script->positions;
	const bool behind = lane->cold || position_of(lane) + period / 2 < script->front.at;
	const uint64_t at = behind ? script->front.at : position_of(lane);
	const uint64_t base = behind ? script->front.base : lane->base;
	const uint32_t here = (uint32_t)(at - base);
	const uint32_t most_back = behind ? period / 2 : seam__script_back(script);
	if (position >= here)
		return behind && position - here > period / 2 && base >= period ? base - period : base;
	return here - position <= most_back ? base : base + period;
}

static void set_base(const struct seam_script *script, struct seam_lane *lane, uint64_t base)
{
	lane->base = base;
	lane->copy = (uint32_t)(base / script->positions % script->copies);
}

/* The place that the index says, in the repetition that begins at `base`. */
static struct seam_spot take_guess(struct seam_matcher *matcher, struct seam_lane *lane, uint32_t cue, uint64_t base)
{
	const struct seam_script *script = matcher->now;
	set_base(script, lane, base);
	lane->next = &lane->first[cue];
	lane->missed = 0;
	lane->cold = false;
	lane->trouble = FOUND;
	for (uint32_t i = 0; i < SEAM_SKIPPED; i++)
		lane->skipped[i] = nowhere;
	matcher->counts.resyncs++;
	return take_ahead(script, lane, 0);
}

struct seam_spot seam__lane_take_guess(struct seam_matcher *matcher, struct seam_lane *lane, uint32_t cue)
{
	return take_guess(matcher, lane, cue, base_for(matcher->now, lane, lane->first[cue].begin));
}

/* The lane is far behind the front: goes to the cue around the front that explains most of what was heard, the nearest
 * of equal ones, if that is no less than here, and a run. O(cues around the front). */
static bool catch_up(struct seam_matcher *matcher, struct seam_lane *lane, struct seam_spot *ret_spot)
{
	const struct seam_script *script = matcher->now;
	const uint64_t front = script->front.at, around = seam__script_around(script);
	if (position_of(lane) + around >= front)
		return false;
	const uint32_t here = seam__lane_agrees(lane, (uint32_t)(lane->next - lane->first), &lane->history);
	uint32_t least = here < SEAM_RUN ? SEAM_RUN : here, found = lane->count;
	uint64_t at = front - around, base = at - at % script->positions, found_base = 0;
	uint32_t cue = seam__lane_cue_at(lane, (uint32_t)(at - base));
	for (uint32_t n = 0; n < lane->count; n++, cue++) {
		if (cue == lane->count) {
			cue = 0;
			base += script->positions;
		}
		at = base + lane->first[cue].begin;
		if (at > front + around)
			break;
		const uint32_t agrees = lane->first[cue].bytes == 0 ? 0 : seam__lane_agrees(lane, cue, &lane->history);
		const bool nearer = found == lane->count ||
			seam__bits_distance(at, front) <
				seam__bits_distance(found_base + lane->first[found].begin, front);
		if (agrees < least || (agrees == least && !nearer))
			continue;
		least = agrees;
		found = cue;
		found_base = base;
	}
	if (found == lane->count)
		return false;
	*ret_spot = take_guess(matcher, lane, found, found_base);
	return true;
}

/* Another lane of the stream that explains more than `length` sizes: threads have changed their roles. */
static bool change_roles(
	struct seam_matcher *matcher, struct seam_lane *lane, uint32_t length, struct seam_spot *ret_spot)
{
	struct seam_script *script = matcher->now;
	struct seam_guess best = {0, length};
	struct seam_lane *found = NULL;
	for (uint32_t l = 0; l < script->lane_count; l++) {
		if (&script->lanes[l] == lane || script->lanes[l].stream != lane->stream)
			continue;
		const struct seam_guess guess = seam__lane_guess(script, &script->lanes[l], &lane->history);
		if (guess.length > best.length) {
			best = guess;
			found = &script->lanes[l];
		}
	}
	if (found == NULL)
		return false;
	const uint32_t thread = found->thread;
	found->thread = lane->thread;
	lane->thread = thread;
	found->history = lane->history;
	found->spoke = script->front.at;
	matcher->lane = found;
	*ret_spot = seam__lane_take_guess(matcher, found, best.cue);
	return true;
}

/* The index is asked: its answer counts if it explains more than the guess at hand, if there is one. */
static bool ask_index(struct seam_matcher *matcher, struct seam_lane *lane, const struct seam_spot *at_hand,
	struct seam_spot *ret_spot)
{
	const struct seam_guess guess = seam__lane_guess(matcher->now, lane, &lane->history);
	uint32_t length = 0;
	if (at_hand->cue != NULL)
		length = seam__lane_agrees(lane, (uint32_t)(at_hand->cue - lane->first), &lane->history) + 1;
	const bool here = guess.length > length;
	if (here)
		length = guess.length;
	if (matcher->script_count > 1 &&
		seam__lane_switch(
			matcher, lane->stream, lane->plan_thread, &lane->history, length + (length != 0), ret_spot))
		return true;
	if (!here)
		return change_roles(matcher, lane, length, ret_spot);
	*ret_spot = seam__lane_take_guess(matcher, lane, guess.cue);
	return true;
}

/* A request that is neither what is expected nor dynamic. */
static enum seam_miss hear_unexpected(
	struct seam_matcher *matcher, struct seam_lane *lane, uint64_t bytes, struct seam_spot *ret_spot)
{
	const struct seam_script *script = matcher->now;
	if (lane->cold) {
		if (ask_index(matcher, lane, &nowhere, ret_spot))
			return SEAM_MISS_NONE;
		/* Sizes that depend on data may leave no run that is the same each time: then the slot that is guessed
		 * comes by. */
		lane->missed++;
		lane->cold = lane->missed < SEAM_HEARD || lane->missed < lane->count;
		return SEAM_MISS_lost;
	}
	const uint32_t resumed = find_after_misses(script, lane, bytes);
	uint32_t ahead = resumed != 0 ? resumed : find_ahead(script, lane, bytes);
	const uint32_t skipped =
		resumed != 0 ? SEAM_SKIPPED : find_skipped(script, lane, bytes, ahead != 0 ? NEAR : STALE);
	if (skipped < SEAM_SKIPPED)
		ahead = 0;
	struct seam_spot at_hand = skipped < SEAM_SKIPPED ? lane->skipped[skipped]
		: ahead != 0                              ? spot_ahead(script, lane, ahead)
							  : nowhere;
	if (ahead != 0 && seam__balance_leaps(script, lane, at_hand.base + at_hand.cue->begin))
		at_hand = nowhere;
	const uint32_t leap = at_hand.cue != NULL && resumed > lane->missed ? resumed - lane->missed : 0;
	doubt(lane, at_hand.cue == NULL ? MISSED : PASSED + leap);
	if (lane->trouble >= DOUBT && ask_index(matcher, lane, &at_hand, ret_spot))
		return SEAM_MISS_NONE;
	if (at_hand.cue == NULL) {
		lane->missed++;
		return lane->missed > SEAM_RUN ? SEAM_MISS_lost : SEAM_MISS_size;
	}
	matcher->counts.resyncs += lane->missed != 0;
	lane->missed = 0;
	*ret_spot = at_hand;
	if (skipped < SEAM_SKIPPED)
		lane->skipped[skipped].cue = NULL;
	else
		lane_jump(script, lane, ahead);
	return SEAM_MISS_NONE;
}

/* The next dynamic cue, no more than AHEAD static ones on; lane->count: there is none. */
static uint32_t find_dynamic(const struct seam_script *script, const struct seam_lane *lane)
{
	for (uint32_t n = 0; n <= AHEAD && n < lane->count; n++)
		if (spot_ahead(script, lane, n).cue->bytes == 0)
			return n;
	return lane->count;
}

/* Whether the request is what follows the dynamic ones that are expected: there was nothing of them this time. Exactly,
 * for any size may be one of theirs. */
static bool follows_dynamic(const struct seam_script *script, const struct seam_lane *lane, uint64_t bytes)
{
	for (uint32_t n = 0; n < AHEAD_DYNAMIC && n < lane->count; n++) {
		const struct seam_spot spot = spot_ahead(script, lane, n);
		if (spot.cue->bytes != 0)
			return spot.cue->bytes == bytes;
	}
	return false;
}

/* A dynamic request goes to the group of the next dynamic slot; one more than there are slots to that of the last. */
static enum seam_miss hear_dynamic(struct seam_matcher *matcher, struct seam_lane *lane, struct seam_spot *ret_spot)
{
	const struct seam_script *script = matcher->now;
	const uint32_t ahead = find_dynamic(script, lane);
	lane->history.sizes[(lane->history.heard - 1) % SEAM_HEARD] = 0;
	if (lane->cold)
		return hear_unexpected(matcher, lane, 0, ret_spot);
	if (ahead < lane->count) {
		*ret_spot = take_ahead(script, lane, ahead);
		lane->dynamic = *ret_spot;
		return SEAM_MISS_NONE;
	}
	if (lane->dynamic.cue == NULL)
		return hear_unexpected(matcher, lane, 0, ret_spot);
	*ret_spot = lane->dynamic;
	return SEAM_MISS_NONE;
}

enum seam_miss seam__lane_hear(struct seam_matcher *matcher, struct seam_lane *lane, const struct seam_match_ask *ask,
	struct seam_spot *ret_spot)
{
	const struct seam_script *script = matcher->now;
	/* It has been silent, or what it was taken for was a repetition too early. */
	if (!lane->cold && position_of(lane) + script->positions / 4 * 3 < script->front.at)
		set_base(script, lane, base_for(script, lane, lane->next->begin));
	seam__history_add(&lane->history, ask->bytes);
	if (ask->dynamic)
		return hear_dynamic(matcher, lane, ret_spot);
	if (lane->cold)
		return hear_unexpected(matcher, lane, ask->bytes, ret_spot);
	if (matcher->balance.doubts != 0)
		seam__balance_compare(matcher, lane, ask->bytes);
	if (catch_up(matcher, lane, ret_spot))
		return SEAM_MISS_NONE;
	if (seam__cue_fits(lane->next, ask->bytes)) {
		if (seam__balance_leaps(script, lane, position_of(lane))) {
			doubt(lane, MISSED);
			return SEAM_MISS_size;
		}
		lane->trouble -= lane->trouble != 0;
		matcher->counts.resyncs += lane->missed != 0;
		lane->missed = 0;
		*ret_spot = take_ahead(script, lane, 0);
		return SEAM_MISS_NONE;
	}
	if (seam__lane_begins_anew(matcher, lane, ask->bytes, ret_spot))
		return SEAM_MISS_NONE;
	/* Where nobody says that an iteration has begun, one that lacks a request is as likely as another. */
	const bool may_switch = matcher->script_count > 1 && lane->next->bytes != 0 &&
		(lane->stepped != SEAM_NEVER || find_ahead(script, lane, ask->bytes) == 0);
	if (may_switch && seam__lane_switch_since_begun(matcher, lane, ret_spot))
		return SEAM_MISS_NONE;
	if (lane->next->bytes == 0 && lane->missed == 0 && !follows_dynamic(script, lane, ask->bytes))
		return hear_dynamic(matcher, lane, ret_spot);
	return hear_unexpected(matcher, lane, ask->bytes, ret_spot);
}

void seam__lane_put(const struct seam_script *script, struct seam_lane *lane, uint64_t at)
{
	const uint32_t position = (uint32_t)(at % script->positions);
	const uint32_t cue = seam__lane_cue_at(lane, position);
	lane->next = &lane->first[cue == lane->count ? 0 : cue];
	set_base(script, lane, at - position + (cue == lane->count ? script->positions : 0));
	lane->trouble = 0;
	lane->missed = 0;
	lane->cold = lane->sure = false;
	lane->dynamic = nowhere;
	for (uint32_t i = 0; i < SEAM_SKIPPED; i++)
		lane->skipped[i] = nowhere;
}

void seam__lanes_reset(struct seam_script *script, uint32_t position, bool cold)
{
	for (uint32_t l = 0; l < script->lane_count; l++) {
		struct seam_lane *lane = &script->lanes[l];
		seam__lane_put(script, lane, script->front.base + position);
		lane->thread = lane->plan_thread;
		lane->spoke = SEAM_NEVER;
		lane->stepped = SEAM_NEVER;
		lane->cold = cold && lane->count >= SEAM_RUN;
		lane->trouble = lane->cold ? DOUBT : 0;
	}
}
