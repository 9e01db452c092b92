/* recent.c: whether a plan knows what the program asked for lately; see recent.h. */
#include "recent.h"

#include "bits.h"
#include "matcher_state.h"

#define LOOKED_AT 64u /* so few show what an iteration is like */

enum verdict { KNOWN, UNKNOWN, OPEN };

/* One request. A stream of which nothing is planned makes it unknown. */
static enum verdict judge(const struct seam_script *script, uint64_t bytes, uint64_t stream)
{
	enum verdict verdict = UNKNOWN;
	for (uint32_t l = 0; l < script->lane_count; l++) {
		const struct seam_lane *lane = &script->lanes[l];
		for (uint32_t c = 0; c < lane->count && lane->stream == stream; c++) {
			if (lane->first[c].bytes == 0)
				verdict = OPEN;
			else if (seam__cue_fits(&lane->first[c], bytes))
				return KNOWN;
		}
	}
	return verdict;
}

bool seam__recent_fits(const struct seam_recent *recent, const struct seam_script *script)
{
	const uint64_t there = seam__bits_min(seam__bits_min(recent->count, SEAM_RECENT), script->slots);
	const uint64_t stride = seam__bits_div_up(there, LOOKED_AT);
	uint32_t known = 0, unknown = 0;
	for (uint64_t back = 1; back <= there; back += stride) {
		const uint64_t at = (recent->count - back) % SEAM_RECENT;
		const enum verdict verdict = judge(script, recent->asked[at].bytes, recent->asked[at].stream);
		known += verdict == KNOWN;
		unknown += verdict == UNKNOWN;
	}
	return known >= 3 * unknown;
}
