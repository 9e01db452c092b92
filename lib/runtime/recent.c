/* recent.c: whether a plan knows what the program asked for lately; see recent.h. */
#include "recent.h"

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

bool seam__recent_tell(const struct seam_recent *recent, const struct seam_loaded_plan *loaded,
	struct seam_matcher *matcher, bool is_low, uint64_t most_steps)
{
	const uint64_t until_steps = matcher->counts.steps + most_steps;
	const uint64_t there = seam__bits_min(recent->count, SEAM_RECENT);
	const uint64_t told = seam__bits_min(there, loaded->slots);
	const uint64_t looked_at = seam__bits_min(told, TOLD);
	const bool is_whole = told == loaded->slots, is_found = is_whole && is_low && matcher->now == loaded;
	uint64_t unexpected = 0;
	if (is_found)
		seam__tracker_put(matcher, loaded->least_at); /* it begins where it ends */
	for (uint64_t back = (is_whole && !is_found ? 2 : 1) * told; back != 0; back--) {
		if (back == told && is_whole && !is_found)
			seam__tracker_line_up(matcher); /* it ends where it began */
		const struct seam_asked *asked = &recent->asked[(recent->count - 1 - (back - 1) % told) % SEAM_RECENT];
		if (!asked->plain)
			continue;
		if (matcher->counts.steps >= until_steps)
			return false;
		const struct seam_match_ask ask = {asked->bytes, asked->stream, asked->thread, asked->dynamic};
		const bool is_expected = seam__matcher_hear(matcher, &ask);
		unexpected += back <= looked_at && !is_expected;
	}
	return 4 * unexpected <= looked_at;
}
