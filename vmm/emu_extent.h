/* emu_extent.h: free ranges of a line of numbers: the emulator's address space and the file offsets of its memory.
 *
 * A request gets the smallest free range that holds it, the lowest among equals: O(log n), and the same on every
 * machine. Not here: what is in use; its owner knows that.
 *
 * Invariants
 *   EX1  free ranges do not touch or overlap
 *   EX2  their sum is free_bytes
 *   EX3  both orders hold the same ranges
 *   EX4  one node is set aside for every range in use, so that giving back cannot fail
 *
 * Guarded by the emulator's lock.
 */
#ifndef SEAM_EMU_EXTENT_H
#define SEAM_EMU_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "slab.h"
#include "tree.h"

struct emu_extent {
	RB_ENTRY(emu_extent) by_start;
	RB_ENTRY(emu_extent) by_size;
	uint64_t start;
	uint64_t bytes;
};

SEAM_TREE_HEAD(emu_extent_starts, struct emu_extent);
SEAM_TREE_HEAD(emu_extent_sizes, struct emu_extent);

struct emu_extents {
	struct seam_slab nodes;
	struct emu_extent_starts starts;
	struct emu_extent_sizes sizes; /* by (bytes, start) */
	uint64_t free_bytes;
	uint64_t taken; /* ranges in use */
};

/* All of [start, start + bytes) is free. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__emu_extents_init(
	struct emu_extents *x, struct seam_meta *meta, uint64_t start, uint64_t bytes);
void seam__emu_extents_fini(struct emu_extents *x);

/* alignment: a power of two. False: no such range, or no metadata. */
SEAM_MUST_USE bool seam__emu_extents_take(
	struct emu_extents *x, uint64_t bytes, uint64_t alignment, uint64_t *ret_start);
/* Exactly [start, start + bytes). False where some of it is in use, or no metadata. */
SEAM_MUST_USE bool seam__emu_extents_take_at(struct emu_extents *x, uint64_t start, uint64_t bytes);

/* A whole range that was taken. */
void seam__emu_extents_give(struct emu_extents *x, uint64_t start, uint64_t bytes);

/* Name of a broken invariant, or NULL. O(n log n). */
const char *seam__emu_extents_check(const struct emu_extents *x);

#endif
