/* fit_draw.h: problems of Fit that are drawn from seeds: training programs of blocks, on machines of several speeds.
 *
 * Not here: real programs (.seamprofile). Sizes and times are those of transformer blocks from small to large, but
 * nothing follows from anything else: what is swapped fast on one machine is slow on another.
 */
#ifndef SEAM_FIT_DRAW_H
#define SEAM_FIT_DRAW_H

#include <stdint.h>

#include <seam/fit.h>

#define FIT_DRAW_BLOCKS_MOST 128u

struct fit_draw {
	struct seam_fit_problem problem;
	struct seam_fit_visit visits[2 * FIT_DRAW_BLOCKS_MOST + 4];
	struct seam_fit_block blocks[FIT_DRAW_BLOCKS_MOST];
	struct seam_fit_chunk chunks[FIT_DRAW_BLOCKS_MOST + 2];
};

/* The same problem from the same seed and number of blocks (1 to the most), everywhere. It points into *ret_draw. */
void fit_draw(uint64_t seed, uint32_t block_count, struct fit_draw *ret_draw);

#endif
