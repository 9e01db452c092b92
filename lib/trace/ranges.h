/* ranges.h: a set of address ranges that do not overlap.
 *
 * Not here: merging of neighbours: a range keeps the label under which it was added.
 * Invariants:
 *   TR1  ranges are not empty, do not wrap, and stand in the order of their addresses without overlapping
 * No locks: one thread at a time.
 */
#ifndef SEAM_RANGES_H
#define SEAM_RANGES_H

#include <stdint.h>

#include <seam/rc.h>

#include "slab.h"
#include "tree.h"

struct seam_trace_range {
	uint64_t begin;
	uint64_t end; /* first address behind it */
	uint64_t stream;
	uint32_t pool;
	RB_ENTRY(seam_trace_range) link;
};

SEAM_TREE_HEAD(seam_trace_range_tree, struct seam_trace_range);

struct seam_ranges {
	struct seam_trace_range_tree tree;
	struct seam_slab slab; /* struct seam_trace_range */
};

void seam__ranges_init(struct seam_ranges *ranges);
void seam__ranges_fini(struct seam_ranges *ranges);

/* Adds the range; whatever was there before is cut away first. Errors: SEAM_INVALID (empty or wraps), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__ranges_add(
	struct seam_ranges *ranges, uint64_t begin, uint64_t bytes, uint64_t stream, uint32_t pool);

/* Cuts a range out of the set; parts of it that are not in the set do not matter. Errors: as above. */
SEAM_MUST_USE enum seam_rc seam__ranges_remove(struct seam_ranges *ranges, uint64_t begin, uint64_t bytes);

/* The range that holds `address`, or NULL. Valid until the next change. */
const struct seam_trace_range *seam__ranges_find(struct seam_ranges *ranges, uint64_t address);

/* In the order of addresses; NULL at the end. */
const struct seam_trace_range *seam__ranges_first(struct seam_ranges *ranges);
const struct seam_trace_range *seam__ranges_next(const struct seam_trace_range *range);

/* The first broken invariant's name, or NULL. */
const char *seam__ranges_check(const struct seam_ranges *ranges);

#endif
