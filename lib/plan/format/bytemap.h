/* bytemap.h: an ordered map from intervals of bytes to a number.
 *
 * Who holds which byte of an arena, for the checks of plans. Not here: what the numbers mean, and what is allowed.
 * Invariants, named by seam__bytemap_check(): BM1 pieces are not empty; BM2 pieces do not overlap.
 * No locks: one thread at a time.
 */
#ifndef SEAM_BYTEMAP_H
#define SEAM_BYTEMAP_H

#include <stdint.h>

#include <seam/rc.h>

#include "slab.h"
#include "tree.h"

/* Bytes [begin, end) that have one number. Neighbours with the same number are not joined. */
struct seam_byte_piece {
	RB_ENTRY(seam_byte_piece) link;
	uint64_t begin;
	uint64_t end;
	uint64_t number;
};

SEAM_TREE_HEAD(seam_byte_piece_tree, struct seam_byte_piece);

struct seam_bytemap {
	struct seam_byte_piece_tree pieces; /* by begin */
	struct seam_slab slab;
};

void seam__bytemap_init(struct seam_bytemap *map, struct seam_meta *meta);
void seam__bytemap_fini(struct seam_bytemap *map);

/* The lowest piece that has a byte of [begin, end), or NULL. */
struct seam_byte_piece *seam__bytemap_find(struct seam_bytemap *map, uint64_t begin, uint64_t end);

/* The next piece above `piece` that has a byte below `end`, or NULL. */
struct seam_byte_piece *seam__bytemap_next(struct seam_byte_piece *piece, uint64_t end);

/* Gives all of [begin, end), which is not empty, this number. Errors: SEAM_OOM_META, the map unchanged. */
SEAM_MUST_USE enum seam_rc seam__bytemap_set(struct seam_bytemap *map, uint64_t begin, uint64_t end, uint64_t number);

/* Adds 1 to the number of every byte of [begin, end), where no number counts as 0; or takes 1 from it, and bytes that
 * reach 0 out of the map. Errors: SEAM_OOM_META, after which the map may have been changed in part. */
SEAM_MUST_USE enum seam_rc seam__bytemap_raise(struct seam_bytemap *map, uint64_t begin, uint64_t end);
SEAM_MUST_USE enum seam_rc seam__bytemap_lower(struct seam_bytemap *map, uint64_t begin, uint64_t end);

/* Name of the first broken invariant, or NULL. */
const char *seam__bytemap_check(struct seam_bytemap *map);

#endif
