/* gaps.h: where in the address space a request still fits, given what has been placed.
 *
 * Over the columns of every lane (timeline.h) stands a tree. Each node keeps two sets of addresses: those of the items
 * whose cover was taken apart into nodes of which this is one ("over"), and those of the items that begin in its
 * columns
 * ("inside"). What an item may not use is then the union of the over sets on the way from its column to the root, and
 * of the inside sets of the few nodes of its own cover: some 4 log n sets, each short, because neighbours in address
 * are joined. A gap is found by going upwards through all of them at once. Interval trees of single items, as others
 * have them, take time in proportion to the number of conflicts: for requests that live long, to all there are.
 *
 * A chain (items linked by `next`) is placed as one: its items' sets, moved by their distance from the head, together.
 *
 * Not here: in what order to place (order.h).
 * No locks: one thread at a time.
 */
#ifndef SEAM_GAPS_H
#define SEAM_GAPS_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "addresses.h"
#include "timeline.h"

struct seam_gap_node {
	struct seam_addresses over;
	struct seam_addresses inside;
};

struct seam_gap_cursor;

struct seam_gaps {
	const struct seam_timeline *timeline;
	struct seam_address_heap heap;
	struct seam_gap_node *nodes;     /* lane l's node v at 2 * lane_starts[l] + v */
	struct seam_gap_cursor *cursors; /* scratch: the sets that a search goes through */
	uint64_t steps;                  /* of all searches so far, for budgets: a few nanoseconds each */
};

/* In the region of the timeline's problem. Errors: SEAM_OOM_META. The timeline must outlive it. O(n). */
SEAM_MUST_USE enum seam_rc seam__gaps_init(struct seam_gaps *gaps, const struct seam_timeline *timeline);

void seam__gaps_clear(struct seam_gaps *gaps); /* nothing is placed; keeps the memory. O(n) */

/* The item now takes its size from `offset_bytes`. Errors: SEAM_OOM_META: then only clear may follow. */
SEAM_MUST_USE enum seam_rc seam__gaps_put(struct seam_gaps *gaps, uint32_t item, uint64_t offset_bytes);

/* The lowest place for the item and for those linked behind it, such that they end at `ceiling_bytes` or below and
 * overlap nothing placed that they conflict with. Returns false when there is none. */
bool seam__gaps_find(struct seam_gaps *gaps, uint32_t item, uint64_t ceiling_bytes, uint64_t *ret_offset_bytes);

const char *seam__gaps_check(const struct seam_gaps *gaps);

#endif
