/* last_uses.h: which streams used the bytes of an arena last: ranges by address.
 *
 * A range has its streams, as bits that the caller gives them, and one stamp for all of them. A later use takes the
 * place of what was noted of the same bytes. Bytes that nobody used lie in no range.
 *
 * Not here: what a stamp is (vmm/stream.h); who waits for whom (users.c).
 *
 * Invariant (seam__last_uses_check)
 *   LU1  ranges are not empty, have a stream, stand in order and do not overlap; two that touch differ
 *
 * Locks: none inside.
 */
#ifndef SEAM_LAST_USES_H
#define SEAM_LAST_USES_H

#include <stdbool.h>
#include <stdint.h>

#include "slab.h"
#include "tree.h"

struct seam_last_use {
	RB_ENTRY(seam_last_use) link;
	uint64_t begin;
	uint64_t end;
	uint64_t streams; /* bits, not 0 */
	uint64_t stamp;
};

SEAM_TREE_HEAD(seam_last_use_tree, struct seam_last_use);

struct seam_last_uses {
	struct seam_last_use_tree tree;
	struct seam_slab slab;
};

/* Allocates nothing. */
void seam__last_uses_init(struct seam_last_uses *last_uses, struct seam_meta *meta);
void seam__last_uses_fini(struct seam_last_uses *last_uses);

/* [begin, end), which is not empty, was used by `streams` up to `stamp`. False: no metadata, nothing changed.
 * O(log ranges) for each range there, and at most two more ranges than before. */
bool seam__last_uses_note(
	struct seam_last_uses *last_uses, uint64_t begin, uint64_t end, uint64_t streams, uint64_t stamp);

/* The lowest range that ends behind `at`, and the one above a range; NULL: none. */
const struct seam_last_use *seam__last_uses_behind(const struct seam_last_uses *last_uses, uint64_t at);
const struct seam_last_use *seam__last_uses_next(const struct seam_last_use *last_use);

const char *seam__last_uses_check(const struct seam_last_uses *last_uses);

#endif
