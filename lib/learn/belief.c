/* belief.c: see belief.h. */
#include "belief.h"

#define LEAST_EVENTS 2048u /* of a recording in which anything is believed */
#define LIKE_SHARE 16u     /* periods are the same if they differ by one part in so many */
#define OVER_SHARE 8u      /* more than a repetition and one part in so many behind the newest: it is over */
#define ALL_SHARE 8u       /* one part in so many of the recording may come before all repetitions */
#define PEAK_SHARE 512u    /* peaks are the same if they differ by one part in so many */
#define LATER_SHARE                                                                                                    \
	32u /* by more than one part in so many a peak behind the newest repetition is another one: a model lacks what \
	       few repetitions have */
#define OVERLAP_SHARE 16u  /* of the bytes that come and go in a repetition, that may live longer than one */
#define DOUBT_TIMES 8u     /* a period is believed when the recording is so many times as long, */
#define PIPELINE_TIMES 32u /* or so many if repetitions overlap */
#define HESITATE_TIMES 2u  /* as much is recorded as when the longest period was seen first */
#define FORGET_TIMES 8u    /* in a recording so many times as long as the believed period it has come, or is over */

static bool is_like(uint64_t a, uint64_t b, uint64_t share)
{
	return a <= b + b / share && b <= a + a / share;
}

static bool goes_on(const struct seam_sight *sight)
{
	return sight->events - sight->newest <= sight->length + sight->length / OVER_SHARE;
}

static bool is_apart(const struct seam_sight *sight)
{
	return sight->overlap_bytes <= (sight->peak_bytes - sight->stays_bytes) / OVERLAP_SHARE;
}

/* Whether the repetitions speak for themselves. */
static bool is_plain(const struct seam_sight *sight)
{
	uint64_t run_events = sight->newest - sight->run_begin;
	if (sight->run < 2 || !is_apart(sight) || sight->run_begin > sight->newest / 2 ||
		!is_like(run_events, sight->run * sight->length, LIKE_SHARE))
		return false;
	if (sight->later_bytes > sight->peak_bytes + sight->peak_bytes / LATER_SHARE)
		return false;
	return sight->run_begin <= sight->newest / ALL_SHARE ||
		is_like(sight->peak_bytes, sight->most_bytes, PEAK_SHARE);
}

/* Whether it has been doubted for long enough, and nothing has come between. */
static bool has_lasted(struct seam_belief *belief, const struct seam_sight *sight)
{
	uint64_t events = sight->forgotten + sight->events;
	bool same = is_like(sight->length, belief->doubtful_length, LIKE_SHARE) &&
		sight->forgotten + sight->run_begin <= belief->doubtful_newest;
	belief->doubtful_newest = sight->forgotten + sight->newest;
	if (same)
		return events >= belief->doubtful_until;
	belief->doubtful_length = sight->length;
	belief->doubtful_until = events * (is_apart(sight) ? DOUBT_TIMES : PIPELINE_TIMES);
	return false;
}

bool seam__belief_hesitates(const struct seam_belief *belief, uint64_t events)
{
	return belief->length == 0 && belief->longest != 0 && events / HESITATE_TIMES >= belief->longest_events;
}

static void note_longest(struct seam_belief *belief, const struct seam_sight *sight)
{
	if (sight->length <= belief->longest + belief->longest / LIKE_SHARE)
		return;
	belief->longest = sight->length;
	belief->longest_events = sight->forgotten + sight->events;
}

bool seam__belief_holds(struct seam_belief *belief, const struct seam_sight *sight)
{
	note_longest(belief, sight);
	if (is_like(sight->length, belief->length, LIKE_SHARE))
		return true;
	const bool is_over = sight->forgotten + sight->events >= FORGET_TIMES * belief->length;
	if ((sight->length < belief->length && !is_over) || sight->events < LEAST_EVENTS || !goes_on(sight))
		return false;
	if (!is_plain(sight) && !has_lasted(belief, sight))
		return false;
	belief->length = sight->length;
	return true;
}

void seam__belief_begin_anew(struct seam_belief *belief)
{
	*belief = (struct seam_belief){.length = belief->length};
}

uint64_t seam__belief_more(const struct seam_sight *sight)
{
	uint64_t next = sight->newest + sight->length + sight->length / LIKE_SHARE;
	return goes_on(sight) && next > sight->events ? next - sight->events : UINT64_MAX;
}
