/* loaded_peak.c: how many bytes of a loaded plan's requests live at once, those that depend on data as they were when
 * the plan was made: at most and at least in a period, and where its frontier is. */
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

uint64_t seam__loaded_next_request(const struct seam_loaded_plan *loaded)
{
	uint64_t at = loaded->frontier.position;
	while ((loaded->actions[at % loaded->positions] & 1) != 0)
		at++;
	return at;
}

uint64_t seam__loaded_live_bytes(const struct seam_loaded_plan *loaded)
{
	uint64_t bytes = 0;
	/* So much later that both differences are at least 0: a lifetime is as long as all copies at most. */
	const uint64_t before =
		seam__loaded_next_request(loaded) + (uint64_t)(loaded->copies + 1) * loaded->positions - 1;
	for (uint32_t i = 0; i < loaded->slots; i++) {
		const struct seam_lifetime *lifetime = &loaded->lifetimes[i];
		const uint64_t begun = (before - lifetime->begin) / loaded->positions,
			       ended = (before - lifetime->end) / loaded->positions;
		bytes += (begun - ended) * loaded->instances[(uint64_t)i * loaded->copies].bytes;
	}
	return bytes;
}
