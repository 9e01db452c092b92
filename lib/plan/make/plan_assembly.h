/* plan_assembly.h: a plan's content from what was found out about a trace: its slots, their addresses, its streams and
 * its names.
 *
 * Not here: finding any of that out (make.c); the file (plan_format.h).
 * No locks.
 */
#ifndef SEAM_PLAN_ASSEMBLY_H
#define SEAM_PLAN_ASSEMBLY_H

#include <seam/plan.h>

#include "plan_builder.h"
#include "problem.h"
#include "slots.h"

/* Where every slot of every copy goes: `problem` has an item for each that has a place, its request the slot's number
 * (items that are no slots have a number behind them), and `offsets` an address per item. `groups`: per
 * slot its group of copy 0, for dynamic ones. Sets the header's flags for a linear plan, fingerprint, events,
 * positions, resident_bytes and unplaced_bytes. Errors: SEAM_OOM_META, SEAM_INVALID (too many strings). */
SEAM_MUST_USE enum seam_rc seam__plan_assembly_slots(struct seam_plan_builder *builder,
	const struct seam_period_slots *slots, const struct seam_problem *problem, const uint64_t *offsets,
	const uint32_t *groups);

#endif
