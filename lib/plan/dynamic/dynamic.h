/* dynamic.h: requests whose size depends on data, in groups, and the addresses that each group may use (STAlloc
 * section 5.2).
 *
 * Such a request has no place in a plan, but it is known during which layers it lives. A group is what is allocated in
 * one layer and freed in one (HomoLayer, Eq. 3), each occurrence of the layers in the period for itself. Its interval
 * reaches from the beginning of the first layer to the end of the other; its reusable space is what the static
 * placement leaves idle during all of that (Eq. 4-6).
 *
 * Not here: which layer an event belongs to (homolayer.h); who gets which part of a range (core, at run time).
 * Invariants, named by seam__dynamic_check(): Y1 groups stand in order of interval and layers, each with all its
 * copies; Y2 every request lies in the interval of its group; Y3 ranges of a group ascend without touching, within the
 * arena. Pure. No locks.
 */
#ifndef SEAM_DYNAMIC_H
#define SEAM_DYNAMIC_H

#include <stdint.h>

#include <seam/plan.h>

#include "grow.h"
#include "problem.h"

#define SEAM__STREAM_NONE UINT32_MAX /* may share with nothing that has a place */

struct seam_dynamic_request {
	uint64_t size_bytes;
	uint32_t begin; /* as in a plan's slot: positions of one period, the end in this or a later one */
	uint32_t end;
	uint32_t from; /* the layers' interval: from <= begin, end <= to */
	uint32_t to;
	uint32_t layer_begin; /* the caller's strings */
	uint32_t layer_end;
	uint32_t stream; /* of the problem, or SEAM__STREAM_NONE */
};

/* The static placement. */
struct seam_dynamic_space {
	const struct seam_problem *problem;
	const uint64_t *offsets;
	uint64_t arena_bytes;
	uint32_t copies;
};

struct seam_dynamic {
	struct seam_grow groups; /* struct seam_plan_group; modules are the caller's strings */
	struct seam_grow ranges; /* struct seam_plan_range */
	uint32_t *group_of;      /* per request: its group of copy 0; the problem's region's */
	uint32_t count;          /* requests */
};

/* O(n log n + sum over groups of what is live in their intervals, sorted). Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__dynamic_init(const struct seam_dynamic_space *space,
	const struct seam_dynamic_request *requests, uint32_t count, struct seam_dynamic *ret_dynamic);
void seam__dynamic_fini(struct seam_dynamic *dynamic); /* a zeroed one is allowed */

/* Name of the first broken invariant, or NULL. */
const char *seam__dynamic_check(const struct seam_dynamic *dynamic, const struct seam_dynamic_space *space,
	const struct seam_dynamic_request *requests);

#endif
