/* plan_cost.c: see plan_cost.h. */
#include "plan_cost.h"

#include "bits.h"

/* The engine reserves a two-hundredth more than lives at once, on average. A plan may take less than that: 0.2 %
 * (bench/results/ablation.md, what no plan may raise). */
#define ENGINE_SHARE 512u
/* Chunks that are used in part in any pool: one of what stays and one of what comes and goes. */
#define BEGUN_CHUNKS 2u

uint64_t seam__plan_cost_without(uint64_t live_bytes, uint64_t chunk_bytes)
{
	return live_bytes + seam__bits_max(live_bytes / ENGINE_SHARE, BEGUN_CHUNKS * chunk_bytes);
}
