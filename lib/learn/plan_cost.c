/* plan_cost.c: see plan_cost.h. */
#include "plan_cost.h"

#include "bits.h"

/* The engine reserves about one part in so many more than lives at once: 98.97 % of what it reserved was live at the
 * peak with larger chunks, 99.49 % is now (bench/results/ablation.md, the size of chunks). */
#define ENGINE_SHARE 128u
/* Chunks that are used in part in any pool: one of what stays and one of what comes and goes. */
#define BEGUN_CHUNKS 2u

uint64_t seam__plan_cost_without(uint64_t live_bytes, uint64_t chunk_bytes)
{
	return live_bytes + seam__bits_max(live_bytes / ENGINE_SHARE, BEGUN_CHUNKS * chunk_bytes);
}
