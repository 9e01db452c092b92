/* recent.c: whether a plan knows what the program asked for lately; see recent.h. */
#include "recent.h"

#include "account.h"
#include "bits.h"
#include "matcher_state.h"

#define LATELY 512u   /* requests: what the program does now */
#define TOLD 256u     /* requests: of iterations of several lengths no more may be known of the one that begins */
#define LOOKED_AT 64u /* so few show what an iteration is like */

bool seam__recent_fits(const struct seam_recent *recent, const struct seam_loaded_plan *loaded)
{
	const uint64_t there = seam__bits_min(seam__bits_min(recent->count, LATELY), loaded->slots);
	const uint64_t stride = seam__bits_div_up(there, LOOKED_AT);
	uint32_t known = 0, unknown = 0;
	for (uint64_t back = 1; back <= there; back += stride) {
		const struct seam_asked *asked = &recent->asked[(recent->count - back) % SEAM_RECENT];
		const bool is_known = seam__loaded_has(loaded, asked->bytes, asked->stream);
		known += is_known;
		unknown += !is_known && !seam__loaded_has(loaded, 0, asked->stream);
	}
	return known >= 3 * unknown;
}

/* The last requests, as a matcher is told of them. */
struct telling {
	const struct seam_recent *recent;
	struct seam_matcher *matcher;
	uint64_t told;        /* the last requests, so many */
	uint64_t until_steps; /* of the matcher */
};

/* Tells them once, or until more than `most` of the last `looked_at` of them were not expected. Returns how many were
 * not; UINT64_MAX: that takes too many steps. */
static uint64_t tell_once(const struct telling *telling, uint64_t looked_at, uint64_t most)
{
	const struct seam_recent *recent = telling->recent;
	uint64_t unexpected = 0;
	for (uint64_t back = telling->told; back != 0 && unexpected <= most; back--) {
		const struct seam_asked *asked = &recent->asked[(recent->count - back) % SEAM_RECENT];
		if (!asked->plain)
			continue;
		if (telling->matcher->counts.steps >= telling->until_steps)
			return UINT64_MAX;
		const struct seam_match_ask ask = {asked->bytes, asked->stream, asked->thread, asked->dynamic};
		const bool is_expected = seam__matcher_hear(telling->matcher, &ask);
		unexpected += back <= looked_at && !is_expected;
	}
	return unexpected;
}

bool seam__recent_tell(const struct seam_recent *recent, const struct seam_loaded_plan *loaded,
	struct seam_matcher *matcher, uint64_t most_steps)
{
	const uint64_t there = seam__bits_min(recent->count, SEAM_RECENT);
	const struct telling telling = {
		recent, matcher, seam__bits_min(there, loaded->slots), matcher->counts.steps + most_steps};
	const uint64_t looked_at = seam__bits_min(telling.told, TOLD);
	const bool is_whole = telling.told == loaded->slots;
	bool is_placed = false;
	if (is_whole && matcher->now == loaded) {
		const uint64_t most = telling.told / SEAM_MISSED_SHARE;
		seam__tracker_put(matcher, loaded->least_at); /* it begins where it ends */
		const uint64_t unexpected = tell_once(&telling, telling.told, most);
		const uint64_t steps = matcher->counts.steps + SEAM_HEAR_STEPS * telling.told;
		is_placed = unexpected <= most;
		if (unexpected == 0 || (is_placed && steps >= telling.until_steps))
			return true;
	}
	if (is_whole && !is_placed) {
		if (tell_once(&telling, 0, 0) == UINT64_MAX)
			return false;
		seam__tracker_line_up(matcher); /* it ends where it began */
	}
	return tell_once(&telling, looked_at, looked_at) <= looked_at / 4;
}
