/* script_peak.c: the most bytes of a script's slots that live at once on each stream, summed: the need of any allocator
 * that lets no stream wait for another's memory. */
#include "script.h"

#include "bits.h"
#include "meta.h"

struct live {
	uint64_t bytes;
	uint64_t most_bytes;
};

/* As much as the plan's own sizes and addresses are multiples of. */
static uint64_t bytes_of(const struct seam_plan *plan, const struct seam_script *script, uint32_t slot)
{
	if (script->instances[(size_t)slot * script->copies].offset == SEAM_PLAN_NO_ADDRESS)
		return 0;
	return seam__bits_align_up(
		plan->slots[slot].size_bytes, seam__bits_max(plan->header.align_bytes, SEAM_PLANNED_BYTES));
}

/* Slots that began in an earlier period live at the beginning of this one. */
static void begin(const struct seam_plan *plan, const struct seam_script *script, struct live *live)
{
	for (uint32_t i = 0; i < script->slots; i++)
		live[plan->slots[i].stream].bytes +=
			bytes_of(plan, script, i) * (script->stretches[i].end / script->positions);
	for (uint32_t s = 0; s < script->stream_count; s++)
		live[s].most_bytes = live[s].bytes;
}

enum seam_rc seam__script_find_peak(
	struct seam_meta *meta, const struct seam_plan *plan, const struct seam_script *script, uint64_t *ret_bytes)
{
	struct live *live = seam__meta_array(meta, script->stream_count, sizeof(*live));
	uint64_t sum = 0;
	if (live == NULL)
		return SEAM_OOM_META;
	begin(plan, script, live);
	for (uint32_t p = 0; p < script->positions; p++) {
		const uint32_t slot = script->actions[p] >> 1;
		struct live *mine = &live[plan->slots[slot].stream];
		const uint64_t bytes = bytes_of(plan, script, slot);
		mine->bytes += (script->actions[p] & 1) == 0 ? bytes : 0 - bytes;
		mine->most_bytes = seam__bits_max(mine->most_bytes, mine->bytes);
	}
	for (uint32_t s = 0; s < script->stream_count; s++)
		sum += live[s].most_bytes;
	seam__meta_free(meta, live, script->stream_count * sizeof(*live));
	*ret_bytes = sum;
	return SEAM_OK;
}
