/* recent.h: what the program asked the engine for lately, whether a plan knows it, and where in it that ends.
 *
 * A plan is of what the program did when it was learnt. By the time that it is ready the program may do something else:
 * then it would only be in the way. And a matcher that knows nothing yet misses until it has heard enough; the first
 * requests of an iteration, which live longest, come to lie where others are to be, and those elsewhere in turn. So it
 * is told what came before.
 *
 * Not here: how a place is found (tracker.h).
 * With the engine's `lock`.
 */
#ifndef SEAM_RECENT_H
#define SEAM_RECENT_H

#include "matcher.h"
#include "loaded_plan.h"

#define SEAM_RECENT                                                                                                 \
	8192u /* a power of two. What an optimizer does in equal loops is as long as that: no part of it says which \
		 loop it is in */

struct seam_asked {
	uint64_t bytes, stream;
	uint32_t thread; /* as a matcher is asked */
	bool dynamic;
	bool plain; /* a plan could have served it */
};

struct seam_recent {
	struct seam_asked asked[SEAM_RECENT];
	uint64_t count; /* of all there ever were; the i-th stands at i % SEAM_RECENT */
};

static inline void seam__recent_add(struct seam_recent *recent, const struct seam_asked *asked)
{
	recent->asked[recent->count++ % SEAM_RECENT] = *asked;
}

/* Whether three in four of the last few hundred, no more than one repetition of the loaded plan, are its requests by
 * stream and size. Where dynamic ones are planned on their stream, sizes that are not in the loaded plan say nothing.
 * O(1). */
bool seam__recent_fits(const struct seam_recent *recent, const struct seam_loaded_plan *loaded);

/* Tells a matcher that serves nothing of the loaded plan's last repetition: it expects then what comes next. As a
 * rule as few bytes are live now as ever in a period, so the repetition is told first as one that begins and ends where
 * the plan has least live; if all are expected, that was right; if all but one request in SEAM_MISSED_SHARE are, it is
 * told once more, as far as the steps allow. Else, for a plan may have little live in several places, it is told twice,
 * as if the program had done the same before: the first time the matcher finds out where in the period that ends, which
 * only a few requests may tell (micro-batches are alike but for gradients, and what is taken for another of them stays
 * so); from there all cursors hear it again. Of a period that is longer than what is known, it is told what is known,
 * once. Returns whether the matcher expected that, or three in four of the last few hundred; after so many steps of it
 * it is told no more, and that is no. Nothing is served or counted but steps. O(repetition). */
bool seam__recent_tell(const struct seam_recent *recent, const struct seam_loaded_plan *loaded,
	struct seam_matcher *matcher, uint64_t most_steps);

#endif
