/* recent.h: what the program asked the engine for lately, and whether a plan knows it.
 *
 * A plan is of what the program did when it was learnt. By the time that it is ready the program may do something else: then it would only be in
 * the way.
 *
 * Not here: where in the plan the program is (lanes.c).
 * With the engine's `lock`.
 */
#ifndef SEAM_RECENT_H
#define SEAM_RECENT_H

#include "script.h"

#define SEAM_RECENT 512u

struct seam_recent {
	struct {
		uint64_t bytes, stream;
	} asked[SEAM_RECENT];
	uint64_t count; /* of all there ever were; the i-th stands at i % SEAM_RECENT */
};

static inline void seam__recent_add(struct seam_recent *recent, uint64_t bytes, uint64_t stream)
{
	const uint64_t at = recent->count++ % SEAM_RECENT;
	recent->asked[at].bytes = bytes;
	recent->asked[at].stream = stream;
}

/* Whether three in four of them, no more than one repetition of the script, are its requests by stream and size. Where dynamic ones are planned
 * on their stream, sizes that are not in the script say nothing. O(slots). */
bool seam__recent_fits(const struct seam_recent *recent, const struct seam_script *script);

#endif
