/* heirs.h: who has a slot's memory next in a plan, and what that proves about its streams.
 *
 * A plan does not say what orders its streams. But where two of its slots have a physical byte in common, the plan's
 * maker has proven that the stream of the second is ordered behind the end of the first by the time the second begins.
 * Streams are queues: all that this stream asks for later is ordered behind it as well. So the nearest heir on a stream
 * says from when on that stream may have the memory; a stream without one never may. In the same way a slot's own
 * stream has to wait for others that used it (SEAM_PLAN_SHARED).
 *
 * Not here: what is done with it (flatten.h). Pure. No locks.
 */
#ifndef SEAM_HEIRS_H
#define SEAM_HEIRS_H

#include <seam/plan.h>

#include "problem.h"

/* Sets the holds of the problem's items, and the spans of those whose slot is shared. Items stand in order of begin,
 * none linked or fixed; `request` and `copy` name the slot of `plan` that holds L0-L5. Errors: SEAM_OOM_META, the
 * problem changed in part. O(n log n) in items * streams * pieces of backing. */
SEAM_MUST_USE enum seam_rc seam__heirs_hold(const struct seam_plan *plan, struct seam__problem *problem);

#endif
