/* plan_cost.c: see plan_cost.h. */
#include "plan_cost.h"

#include "bits.h"

/* The engine reserves a two-hundredth more than lives at once, on average. A plan may take less than that: 0.2 %
 * (bench/results/ablation.md, what no plan may raise). */
#define ENGINE_SHARE 512u
/* Half of that, where the pool has taken more than the engine does on average. */
#define PEAK_SHARE 1024u
/* Of 86 programs in 0.2 % more memory than they take without a plan one ran out of it with a plan, which took 0.215 %
 * more; none in 0.4 % more (bench/results/ablation.md, "Where memory is short"). */
#define ROOM_SHARE 256u
/* Chunks that are used in part in any pool: one of what stays and one of what comes and goes. */
#define BEGUN_CHUNKS 2u

uint64_t seam__plan_cost_without(uint64_t live_bytes, uint64_t chunk_bytes)
{
	return live_bytes + seam__bits_max(live_bytes / ENGINE_SHARE, BEGUN_CHUNKS * chunk_bytes);
}

uint64_t seam__plan_cost_limit(uint64_t reserved_peak_bytes, uint64_t live_peak_bytes)
{
	return seam__bits_max(
		reserved_peak_bytes + reserved_peak_bytes / PEAK_SHARE, seam__plan_cost_without(live_peak_bytes, 0));
}

uint64_t seam__plan_cost_room(uint64_t reserved_peak_bytes)
{
	return reserved_peak_bytes + reserved_peak_bytes / ROOM_SHARE;
}
