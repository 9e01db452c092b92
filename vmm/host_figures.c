/* host_figures.c: see host_figures.h. */
#include "host_figures.h"

#include "bits.h"

void seam__host_calls_count(struct seam_host_calls *calls, uint64_t ns)
{
	const uint64_t least_ns = atomic_load_explicit(&calls->least_ns, memory_order_relaxed);
	const uint64_t most_ns = atomic_load_explicit(&calls->most_ns, memory_order_relaxed);
	/* A reset in between may miss this one. */
	atomic_fetch_add_explicit(&calls->count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&calls->total_ns, ns, memory_order_relaxed);
	if (least_ns == 0 || ns < least_ns)
		atomic_store_explicit(&calls->least_ns, ns, memory_order_relaxed);
	if (ns > most_ns)
		atomic_store_explicit(&calls->most_ns, ns, memory_order_relaxed);
}

void seam__host_figures_piece(struct seam_host_figures *figures, uint64_t bytes)
{
	atomic_fetch_add_explicit(&figures->sizes[seam__bits_log2(bytes * 2 - 1)], 1, memory_order_relaxed);
}

static void reset(struct seam_host_calls *calls)
{
	atomic_store_explicit(&calls->least_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&calls->most_ns, 0, memory_order_relaxed);
}

void seam__host_figures_reset(struct seam_host_figures *figures)
{
	reset(&figures->allocs);
	reset(&figures->frees);
}
