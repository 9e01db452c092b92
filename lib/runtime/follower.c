/* follower.c: see follower.h. */
#include "follower.h"

#include <string.h>

#define IN_STEP 8u  /* requests in a row */
#define RETURNED 4u /* frees among them */
#define SOON 64u    /* positions: blocks that live no longer are watched */
#define LATE 16u    /* positions by which a free may be late, for what was heard to count */
#define SOON_LATE                                                                                                     \
	2u /* and when it is believed: a little, for what the plan frees before a request the program may free behind \
	      it */

/* Whether a block is still there that should have been gone so many positions ago. */
static bool is_late(const struct seam_follower *follower, uint64_t frontier, uint64_t by)
{
	for (uint32_t i = 0; i < SEAM_FOLLOWED; i++)
		if (follower->followed[i].va != 0 && follower->followed[i].until + by < frontier)
			return true;
	return false;
}

bool seam__follower_hear(struct seam_follower *follower, struct seam_matcher *matcher, const struct seam_match_ask *ask)
{
	const struct seam_heard heard = seam__matcher_follow(matcher, ask);
	const uint64_t frontier = seam__matcher_frontier(matcher);
	if (!heard.in_step || is_late(follower, frontier, LATE))
		memset(follower, 0, sizeof(*follower));
	follower->found = heard.found;
	if (!heard.in_step)
		return false;
	follower->in_step++;
	follower->until = heard.until <= frontier + SOON ? heard.until : 0;
	return follower->in_step >= IN_STEP && follower->returned >= RETURNED &&
		!is_late(follower, frontier, SOON_LATE);
}

void seam__follower_serve(struct seam_follower *follower, uint64_t va)
{
	if (follower->until == 0)
		return;
	follower->followed[follower->next] = (struct seam_followed){va, follower->until};
	follower->next = (follower->next + 1) % SEAM_FOLLOWED;
	follower->until = 0;
}

void seam__follower_free(struct seam_follower *follower, const struct seam_matcher *matcher, uint64_t va)
{
	for (uint32_t i = 0; i < SEAM_FOLLOWED; i++) {
		if (follower->followed[i].va != va)
			continue;
		follower->returned += seam__matcher_frontier(matcher) <= follower->followed[i].until + LATE;
		follower->followed[i].va = 0;
		return;
	}
}
