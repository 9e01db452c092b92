/* range.h: extents of address ranges: cut, joined, found by address, and found by best fit.
 *
 * A *segment* is a range of addresses that somebody obtained; *extents* divide it without a gap. An extent is
 *   HELD  in nobody's index: the caller is changing it, or keeps it for a reason of his own
 *   FREE  filed on a *shelf*, a number that the caller chooses: found by best fit among the extents of that shelf
 *   LIVE  published: found by its address
 * Equal sizes are told apart by address, so that equal histories give equal placements.
 *
 * Not here: what the memory is, whose it is, when it may be used again, when to join. Joining is the caller's, who
 * alone knows which neighbours belong together.
 *
 * Invariants (seam__range_check): R1 a segment's extents follow each other without a gap and fill it; R2 FREE extents,
 * and no others, are in the size index; R3 LIVE extents, and no others, are in the address table; R4 the totals are the
 * sums.
 *
 * Locks: none inside. Failure: only add, reserve and publish can fail, with SEAM_OOM_META, changing nothing.
 */
#ifndef SEAM_BASE_RANGE_H
#define SEAM_BASE_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#include "list.h"
#include "live.h"
#include "slab.h"
#include "tree.h"

struct seam_segment;

enum seam_extent_state { SEAM_EXTENT_HELD, SEAM_EXTENT_FREE, SEAM_EXTENT_LIVE };

/* The first member of the caller's own structure; what follows it is the caller's. */
struct seam_extent {
	RB_ENTRY(seam_extent) by_size; /* valid while FREE */
	TAILQ_ENTRY(seam_extent) link; /* in the segment, by address */
	struct seam_segment *segment;
	uint64_t va;
	uint64_t bytes;
	uint64_t shelf; /* valid while FREE */
	enum seam_extent_state state;
};

TAILQ_HEAD(seam_extent_list, seam_extent);
SEAM_TREE_HEAD(seam_extent_tree, struct seam_extent);
SEAM_TREE_HEAD(seam_segment_tree, struct seam_segment);

struct seam_segment {
	RB_ENTRY(seam_segment) by_va;
	TAILQ_ENTRY(seam_segment) link; /* the caller's, for a list of his own */
	struct seam_extent_list extents;
	uint64_t va;
	uint64_t bytes;
	uint64_t kind; /* the caller's */
};

TAILQ_HEAD(seam_segment_list, seam_segment);

struct seam_range {
	struct seam_meta *meta;
	struct seam_extent_tree free;      /* by shelf, size, address */
	struct seam_segment_tree segments; /* by address */
	struct seam_live live;             /* LIVE extents */
	struct seam_slab extent_slab;
	struct seam_slab segment_slab;
	size_t extent_bytes; /* of the caller's structure */
	uint64_t segment_count;
	uint64_t segment_bytes; /* of all segments */
	uint64_t free_bytes;
};

/* Allocates nothing. extent_bytes: size of the caller's structure that begins with struct seam_extent. */
void seam__range_init(struct seam_range *range, struct seam_meta *meta, size_t extent_bytes);

/* Every segment has been removed. */
void seam__range_fini(struct seam_range *range);

/* Sets aside what one add() and `extents` splits need; they then cannot fail. unreserve gives back what was not used.
 */
SEAM_MUST_USE enum seam_rc seam__range_reserve(struct seam_range *range, uint64_t segments, uint64_t extents);
void seam__range_unreserve(struct seam_range *range, uint64_t segments, uint64_t extents);

/* A segment out of the reserve (one segment, one extent), as one HELD extent whose caller's part is zeroed. The range
 * does not overlap a segment. Never NULL. */
struct seam_extent *seam__range_add(struct seam_range *range, uint64_t va, uint64_t bytes, uint64_t kind);

/* The segment is one HELD extent; both are gone. */
void seam__range_remove(struct seam_range *range, struct seam_segment *segment);

/* Cuts a HELD or LIVE extent to `bytes`; the rest, from the reserve, is returned HELD, its caller's part zeroed. 0 <
 * bytes < extent's. */
struct seam_extent *seam__range_split(struct seam_range *range, struct seam_extent *extent, uint64_t bytes);

/* Joins two HELD neighbours; the right one is gone. */
void seam__range_join(struct seam_range *range, struct seam_extent *left, struct seam_extent *right);

/* HELD -> FREE, on a shelf; and back. */
void seam__range_file(struct seam_range *range, struct seam_extent *extent, uint64_t shelf);
void seam__range_pull(struct seam_range *range, struct seam_extent *extent);

/* HELD -> LIVE (SEAM_OOM_META: still HELD); and back. */
SEAM_MUST_USE enum seam_rc seam__range_publish(struct seam_range *range, struct seam_extent *extent);
void seam__range_withdraw(struct seam_range *range, struct seam_extent *extent);

/* The smallest FREE extent of the shelf with at least `bytes`, the lowest of equals; NULL: none. O(log extents). */
struct seam_extent *seam__range_best(struct seam_range *range, uint64_t shelf, uint64_t bytes);

/* The first FREE extent in the order (shelf, size, address) on this shelf or a later one; NULL: none. */
struct seam_extent *seam__range_first(struct seam_range *range, uint64_t shelf);

/* The FREE extent that follows in the order (shelf, size, address); NULL: the last. It may be on another shelf. */
struct seam_extent *seam__range_after(struct seam_extent *extent);

/* The LIVE extent that begins at va; NULL: none. O(1). */
struct seam_extent *seam__range_find(struct seam_range *range, uint64_t va);

/* The extent, in any state, that contains va; NULL: none. O(log segments + extents of the segment). */
struct seam_extent *seam__range_around(struct seam_range *range, uint64_t va);

/* Neighbours in the segment; NULL at its ends. */
struct seam_extent *seam__range_next(struct seam_extent *extent);
struct seam_extent *seam__range_prev(struct seam_extent *extent);

/* Segments in order of address; NULL at the end. */
struct seam_segment *seam__range_first_segment(struct seam_range *range);
struct seam_segment *seam__range_next_segment(struct seam_segment *segment);

/* Name of the first broken invariant, or NULL. */
const char *seam__range_check(const struct seam_range *range);

#endif
