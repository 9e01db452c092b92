/* prologue.h: what a program asks for first, until all that stays has been made.
 *
 * A plan is of what repeats. What stays is made before, or while it happens for the first time, between much else of
 * the same sizes: only the order of all requests tells which of them it is. A plan that has them can be run from a
 * program's first request on with what stays out of its way.
 *
 * Requests of private pools are not among them: no plan is asked for those.
 * Not here: its use in a pool (lib/runtime/planned_prologue.c). No locks.
 */
#ifndef SEAM_PLAN_PROLOGUE_H
#define SEAM_PLAN_PROLOGUE_H

#include "plan_builder.h"
#include "slots.h"

struct seam_region; /* for what is needed while at work */

/* Appends it to a plan of these slots. Blocks that are live from before the trace are its first requests. What is made
 * very late, or so shortly before the period that it may be an older block of a slot, is left out. Errors:
 * SEAM_OOM_META. O(requests). */
SEAM_MUST_USE enum seam_rc seam__prologue_add(
	struct seam_region *region, const struct seam_period_slots *slots, struct seam_plan_builder *builder);

#endif
