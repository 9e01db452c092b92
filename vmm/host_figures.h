/* host_figures.h: how pinned host memory was obtained: the driver's calls and their time, the sizes, the NUMA node.
 *
 * Both kinds of it are counted here: the driver's own segments (pools/host.h) and chunks (driver_host.h). Times are on
 * the host's clock. Not here: blocks (stream_cache.h, stitch/).
 *
 * Locks: none; figures are atomic, and may be a call apart from each other. One thread counts at a time.
 */
#ifndef SEAM_VMM_HOST_FIGURES_H
#define SEAM_VMM_HOST_FIGURES_H

#include <stdatomic.h>
#include <stdint.h>

#define SEAM_HOST_SIZES 64u /* a bucket for each power of two */

/* Driver calls of one kind, and their time. */
struct seam_host_calls {
	_Atomic uint64_t count, total_ns, least_ns, most_ns; /* least and most: since the last reset; 0: none */
};

struct seam_host_figures {
	struct seam_host_calls allocs, frees;
	_Atomic int node;        /* where pages are wanted; -1: anywhere, or not asked of the driver yet */
	_Atomic int refused;     /* errno of the system when it last refused to place pages; 0: it has not */
	_Atomic uint64_t placed; /* pieces that were placed on `node` */
	_Atomic uint64_t sizes[SEAM_HOST_SIZES]; /* pieces obtained, by the power of two that their size needs */
};

void seam__host_calls_count(struct seam_host_calls *calls, uint64_t ns);

/* A piece of so many bytes was obtained. */
void seam__host_figures_piece(struct seam_host_figures *figures, uint64_t bytes);

/* The shortest and the longest call are of those from here on. */
void seam__host_figures_reset(struct seam_host_figures *figures);

#endif
