/* instance.h: from the slots of a period to the problem that solvers get.
 *
 * Every slot with a place becomes an item for each of the k copies of the period, the circle is k periods long; of a
 * stretch that happens once, a line, residents and all. Items stand copy by copy in the order of the slots; their
 * `request` is the number of the slot.
 *
 * Who may share with whom across streams is the caller's choice (enum seam_plan_streams):
 *   edges   what the trace's edges order (safety_trace.h). Where they do not repeat with the period, and where there
 *           are none, nothing is shared across streams;
 *   apart   nothing is;
 *   insert  everything that program order allows, or, with apart_positions, that and a distance in time; waits.h lists
 * the edges to insert. Memory of a private pool is shared with nothing outside of it, whatever is chosen.
 *
 * A block that other streams used (record_stream) is held until they have passed, where the trace's edges tell when
 * that is. Where nothing tells, the host does not know its end. With inserted waits it is held for the same distance;
 * else its memory is for the same copy of the slot only, in later repetitions. In any case whoever runs the plan must
 * look whether the other streams have passed before it hands it out again.
 *
 * Blocks with a fixed address keep it; a resident with one becomes an item that lives all around (its `request` is
 * SEAM__ITEM_NONE).
 *
 * Not here: lifetimes (slots.h); placing (solver.h). Pure. No locks.
 */
#ifndef SEAM_INSTANCE_H
#define SEAM_INSTANCE_H

#include <seam/plan.h>

#include "problem.h"
#include "slots.h"

struct seam_instance_options {
	uint64_t align_bytes;
	enum seam_plan_streams streams; /* none but edges, apart, insert */
	uint32_t apart_positions; /* insert: memory goes to another stream so many positions behind its free at the
				     earliest */
	const struct seam_plan_fixed *fixed; /* fixed_count of them */
	size_t fixed_count;
	const struct seam_plan_range *taken; /* taken_count of them, ascending: nobody's for good */
	size_t taken_count;
};

/* A finished problem on `meta`, with the best lower bound that is known (bounds.h).
 * Errors: SEAM_INVALID (a fixed block that is none of the period or of its residents, is dynamic, unaligned, named
 * twice, or overlaps another that it may live together with; sizes too large; `error`, which may be NULL, says so),
 * SEAM_OOM_META. O(slots * copies * streams) and what safety_trace.h takes. */
SEAM_MUST_USE enum seam_rc seam__instance_init(struct seam_meta *meta, const struct seam_period_slots *slots,
	const struct seam_instance_options *options, struct seam_trace_error *error, struct seam_problem *ret_problem);

#endif
