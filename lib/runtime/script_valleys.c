/* script_valleys.c: which slots of a period outlive the iteration that they are made in.
 *
 * A period may be of several iterations, and no plan says where they end; but between them little is live. So: a slot
 * goes on if it lives into the next period, or if it begins where much is live and is still there in a valley. What
 * begins in a valley itself (an optimizer's temporaries) does not.
 */
#include "script.h"

#include "bits.h"
#include "meta.h"

#define VALLEY_SHARE 16u /* of what is between least and most */

/* Bytes live behind each position. */
static void fill_live(const struct seam_plan *plan, const struct seam_script *script, uint64_t *live)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < script->slots; i++)
		bytes += plan->slots[i].size_bytes * (script->stretches[i].end / script->positions);
	for (uint32_t p = 0; p < script->positions; p++) {
		const uint64_t size_bytes = plan->slots[script->actions[p] >> 1].size_bytes;
		bytes += (script->actions[p] & 1) == 0 ? size_bytes : 0 - size_bytes;
		live[p] = bytes;
	}
}

/* Makes of live bytes how many positions up to and with each are in a valley. */
static void count_valleys(const struct seam_script *script, uint64_t *live)
{
	uint64_t least = UINT64_MAX, most = 0, count = 0;
	for (uint32_t p = 0; p < script->positions; p++) {
		least = seam__bits_min(least, live[p]);
		most = seam__bits_max(most, live[p]);
	}
	for (uint32_t p = 0; p < script->positions; p++) {
		count += live[p] <= least + (most - least) / VALLEY_SHARE;
		live[p] = count;
	}
}

enum seam_rc seam__script_find_valleys(struct seam_meta *meta, const struct seam_plan *plan, struct seam_script *script)
{
	uint64_t *valleys = seam__meta_array(meta, script->positions, sizeof(*valleys));
	script->goes_on = seam__meta_array(meta, script->slots, sizeof(*script->goes_on));
	const bool has_memory = valleys != NULL && script->goes_on != NULL;
	if (has_memory) {
		fill_live(plan, script, valleys);
		count_valleys(script, valleys);
	}
	for (uint32_t i = 0; has_memory && i < script->slots; i++) {
		const struct seam_stretch *s = &script->stretches[i];
		const bool begins_high = s->begin == 0 ? valleys[0] == 0 : valleys[s->begin] == valleys[s->begin - 1];
		const uint32_t end = s->end % script->positions;
		const uint64_t ended = valleys[end] + s->end / script->positions * valleys[script->positions - 1];
		const bool outlives = begins_high &&
			ended - valleys[s->begin] > (uint64_t)(end == 0 ? valleys[0] : valleys[end] - valleys[end - 1]);
		script->goes_on[i] = outlives || s->end >= script->positions;
	}
	seam__meta_free(meta, valleys, script->positions * sizeof(*valleys));
	return has_memory ? SEAM_OK : SEAM_OOM_META;
}
