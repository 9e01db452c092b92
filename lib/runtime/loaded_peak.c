/* loaded_peak.c: the most bytes of a loaded plan's requests that live at once, those that depend on data as they were
 * when the plan was made: an allocator needs no less. */
#include "bits.h"
#include "loaded_plan.h"

/* As much as the plan's own sizes and addresses are multiples of. */
static uint64_t bytes_of(const struct seam_plan *plan, uint32_t slot)
{
	return seam__bits_align_up(
		plan->slots[slot].size_bytes, seam__bits_max(plan->header.align_bytes, SEAM_PLANNED_BYTES));
}

struct seam_loaded_range seam__loaded_find_range(const struct seam_plan *plan, const struct seam_loaded_plan *loaded)
{
	uint64_t live_bytes = 0;
	for (uint32_t i = 0; i < loaded->slots; i++) /* from earlier periods */
		live_bytes += bytes_of(plan, i) * (loaded->lifetimes[i].end / loaded->positions);
	struct seam_loaded_range range = {live_bytes, live_bytes};
	for (uint32_t p = 0; p < loaded->positions; p++) {
		const uint64_t bytes = bytes_of(plan, loaded->actions[p] >> 1);
		live_bytes += (loaded->actions[p] & 1) == 0 ? bytes : 0 - bytes;
		range.most_bytes = seam__bits_max(range.most_bytes, live_bytes);
		range.least_bytes = seam__bits_min(range.least_bytes, live_bytes);
	}
	return range;
}
