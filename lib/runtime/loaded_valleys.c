/* loaded_valleys.c: which slots of a period outlive the iteration that they are made in.
 *
 * A period may be of several iterations, and no plan says where they end; but between them little is live. So: a slot
 * goes on if it lives into the next period, or if it begins where much is live and is still there in a valley. What
 * begins in a valley itself (an optimizer's temporaries) does not.
 */
#include "loaded_plan.h"

#include "bits.h"
#include "meta.h"

#define VALLEY_SHARE 16u /* of what is between least and most */

/* Bytes live behind each position. */
static void fill_live(const struct seam_plan *plan, const struct seam_loaded_plan *loaded, uint64_t *live)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < loaded->slots; i++)
		bytes += plan->slots[i].size_bytes * (loaded->lifetimes[i].end / loaded->positions);
	for (uint32_t p = 0; p < loaded->positions; p++) {
		const uint64_t size_bytes = plan->slots[loaded->actions[p] >> 1].size_bytes;
		bytes += (loaded->actions[p] & 1) == 0 ? size_bytes : 0 - size_bytes;
		live[p] = bytes;
	}
}

/* Makes of live bytes how many positions up to and with each are in a valley. */
static void count_valleys(const struct seam_loaded_plan *loaded, uint64_t *live)
{
	uint64_t least = UINT64_MAX, most = 0, count = 0;
	for (uint32_t p = 0; p < loaded->positions; p++) {
		least = seam__bits_min(least, live[p]);
		most = seam__bits_max(most, live[p]);
	}
	for (uint32_t p = 0; p < loaded->positions; p++) {
		count += live[p] <= least + (most - least) / VALLEY_SHARE;
		live[p] = count;
	}
}

enum seam_rc seam__loaded_find_valleys(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_loaded_plan *loaded)
{
	uint64_t *valleys = seam__meta_array(meta, loaded->positions, sizeof(*valleys));
	loaded->goes_on = seam__meta_array(meta, loaded->slots, sizeof(*loaded->goes_on));
	const bool has_memory = valleys != NULL && loaded->goes_on != NULL;
	if (has_memory) {
		fill_live(plan, loaded, valleys);
		count_valleys(loaded, valleys);
	}
	for (uint32_t i = 0; has_memory && i < loaded->slots; i++) {
		const struct seam_lifetime *s = &loaded->lifetimes[i];
		const bool begins_high = s->begin == 0 ? valleys[0] == 0 : valleys[s->begin] == valleys[s->begin - 1];
		const uint32_t end = s->end % loaded->positions;
		const uint64_t ended = valleys[end] + s->end / loaded->positions * valleys[loaded->positions - 1];
		const bool outlives = begins_high &&
			ended - valleys[s->begin] > (uint64_t)(end == 0 ? valleys[0] : valleys[end] - valleys[end - 1]);
		loaded->goes_on[i] = outlives || s->end >= loaded->positions;
	}
	seam__meta_free(meta, valleys, loaded->positions * sizeof(*valleys));
	return has_memory ? SEAM_OK : SEAM_OOM_META;
}
