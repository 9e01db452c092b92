/* unsafe_pairs_make.h: making sets of pairs, for the two files of unsafe_pairs.h. */
#ifndef SEAM_UNSAFE_PAIRS_MAKE_H
#define SEAM_UNSAFE_PAIRS_MAKE_H

#include "unsafe_pairs.h"

/* Every pair of the graph's tensors. Errors: SEAM_UNSUPPORTED, SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__pairs_init_all(
	struct seam_pairs *pairs, const struct seam_graph *graph, struct seam_meta *meta);

/* One way only: seam__pairs_mirror() follows. A write to the other row for each pair would miss the cache each time. */
static inline void seam__pairs_remove(struct seam_pairs *pairs, uint32_t i, uint32_t j)
{
	pairs->bits[i * pairs->row_words + j / 64] &= ~(UINT64_C(1) << (j % 64));
}

/* Removes (j, i) wherever (i, j) was removed. */
void seam__pairs_mirror(struct seam_pairs *pairs);

#endif
