/* safety_pairs.h: making sets of pairs, for the two files of safety.h. */
#ifndef SEAM_SAFETY_PAIRS_H
#define SEAM_SAFETY_PAIRS_H

#include "safety.h"

/* Every pair of the graph's tensors. Errors: SEAM_UNSUPPORTED, SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__pairs_init_all(struct seam__pairs *pairs, const struct seam__graph *graph,
                                                struct seam_meta *meta);

static inline void seam__pairs_remove(struct seam__pairs *pairs, uint32_t i, uint32_t j)
{
	pairs->bits[i * pairs->row_words + j / 64] &= ~(UINT64_C(1) << (j % 64));
	pairs->bits[j * pairs->row_words + i / 64] &= ~(UINT64_C(1) << (i % 64));
}

#endif
