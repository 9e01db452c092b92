/* plan_fit.c: looks for the plan's requests in a schedule. */
#include "plan_fit.h"

static bool fits(const struct seam_plan *plan, const struct schedule *schedule, const struct seam_plan_slot *slot,
	const struct schedule_op *op)
{
	if ((slot->flags & SEAM_PLAN_DYNAMIC) == 0 && slot->size_bytes != op->bytes)
		return false;
	return plan->streams[slot->stream] == schedule->streams[op->stream];
}

static bool fits_from(const struct seam_plan *plan, const struct schedule *schedule, size_t at)
{
	uint32_t slot = 0;
	for (size_t i = at; i < schedule->op_count && slot < plan->header.slot_count; i++) {
		const struct schedule_op *op = &schedule->ops[i];
		if (op->kind != SCHEDULE_ALLOC)
			continue;
		if (!fits(plan, schedule, &plan->slots[slot], op))
			return false;
		slot++;
	}
	return slot == plan->header.slot_count;
}

bool plan_fits(const struct seam_plan *plan, const struct schedule *schedule)
{
	for (size_t i = 0; i < schedule->op_count; i++)
		if (schedule->ops[i].kind == SCHEDULE_ALLOC && fits_from(plan, schedule, i))
			return true;
	return plan->header.slot_count == 0;
}
