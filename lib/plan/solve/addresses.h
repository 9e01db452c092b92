/* addresses.h: sets of addresses, many and mostly small: stretches that do not touch, in order.
 *
 * What is added is joined with what it overlaps or touches: a set says which addresses are taken, not by whom. That is
 * what keeps the sets of gaps.h small. Nothing is ever taken out but everything at once.
 *
 * The stretches of all sets lie in one heap, in runs whose room is a power of two; a run that a set has outgrown is
 * used again by others.
 *
 * Invariants (seam__addresses_check): AD1 stretches are not empty; AD2 they ascend and do not touch; AD3 they are no
 * more than the room. No locks: one thread at a time.
 */
#ifndef SEAM_ADDRESSES_H
#define SEAM_ADDRESSES_H

#include <stdint.h>

#include <seam/rc.h>

struct seam_region;

/* Addresses [begin, end). */
struct seam_address_stretch {
	uint64_t begin_bytes;
	uint64_t end_bytes;
};

/* Zeroed: the empty set. */
struct seam_addresses {
	struct seam_address_stretch *stretches;
	uint32_t count;
	uint32_t room; /* 0, or a power of two */
};

struct seam_address_block;

struct seam_address_heap {
	struct seam_region *region;
	struct seam_address_block *first; /* all blocks, the oldest first */
	struct seam_address_block *last;
	struct seam_address_block *at; /* in use: those behind it are empty. NULL: none is */
	void *freed[32]; /* outgrown runs by log2 of their room; the next one's address in the first bytes */
};

/* Its blocks will be the region's. Allocates nothing yet. */
void seam__address_heap_init(struct seam_address_heap *heap, struct seam_region *region);

/* Forgets every set: they must be zeroed. Keeps the memory. */
void seam__address_heap_clear(struct seam_address_heap *heap);

/* Adds [begin, end), not empty. Errors: SEAM_OOM_META, the set is as before. O(log n) to find, O(n) to make room. */
SEAM_MUST_USE enum seam_rc seam__addresses_add(
	struct seam_addresses *set, struct seam_address_heap *heap, uint64_t begin_bytes, uint64_t end_bytes);

/* The number of the first stretch at or after number `from` that ends above `address_bytes`; count if none. Stretches
 * before `from` must end at or below. O(log of the distance). */
uint32_t seam__addresses_find(const struct seam_addresses *set, uint32_t from, uint64_t address_bytes);

const char *seam__addresses_check(const struct seam_addresses *set);

#endif
