/* plan_fit.h: whether a plan was made for what is replayed, so that a run with another program's plan is an error and
 * not a bad result. */
#ifndef TOOLS_PLAN_FIT_H
#define TOOLS_PLAN_FIT_H

#include <stdbool.h>

#include <seam/plan.h>

#include "schedule.h"

/* Whether the plan's requests stand somewhere in the schedule, all of them in order, with nothing between: sizes (but
 * of dynamic ones) and streams. O(requests) but for repetitions inside of the period. */
bool plan_fits(const struct seam_plan *plan, const struct schedule *schedule);

#endif
