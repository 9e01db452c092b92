/* plan_stats.c: the figures of a pool's plans. Not here: those of its memory (stats.c). */
#include <string.h>

#include "learner.h"
#include "planned.h"
#include "pool.h"

void seam__pool_plan_stats(struct seam_pool *pool, struct seam_plan_stats *ret_stats)
{
	struct seam_plan_stats *stats = ret_stats;
	*stats = (struct seam_plan_stats){.size = sizeof *stats, .version = SEAM_PLAN_STATS_VERSION};
	if (pool->plain != NULL)
		return;
	/* The counts of arenas that are gone are the runtime's, those of the open one its matcher's. */
	const struct seam_runtime *runtime = pool->runtime;
	const struct seam_planned_counts *counts = &runtime->counts;
	struct seam_match_counts match = {0};
	const struct seam_active_plan *active = LIST_FIRST(&runtime->active_plans);
	if (runtime->open && active->started) {
		seam__matcher_get_counts(active->matcher, &match);
		stats->loaded_plans = seam__matcher_loaded_count(active->matcher);
		stats->arena_bytes = active->arena.bytes;
		stats->lent_bytes = active->lent_bytes;
	}
	stats->live_bytes = pool->engine.counts.planned_bytes;
	stats->requests = counts->requests;
	stats->hits = counts->hits;
	stats->misses = counts->requests - counts->hits;
	stats->dynamic_hits = counts->dynamic_hits + match.dynamic_hits - counts->refused_dynamic;
	stats->resyncs = counts->resyncs + match.resyncs;
	stats->borrows = counts->borrows;
#define SEAM_MISS(name, text) stats->miss_##name = counts->misses[SEAM_MISS_##name];
#include "misses.def"
#undef SEAM_MISS
	stats->adoptions = counts->adoptions;
	stats->drops = counts->drops;
	stats->made = atomic_load_explicit(&pool->learner->plans, memory_order_relaxed);
	stats->failures = atomic_load_explicit(&pool->learner->failures, memory_order_relaxed);
}

enum seam_rc seam_plan_stats_get(struct seam_pool *pool, struct seam_plan_stats *stats)
{
	enum seam_rc rc = stats == NULL ? SEAM_INVALID : seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (!seam__stats_known(stats->size, sizeof *stats, stats->version, SEAM_PLAN_STATS_VERSION))
		return SEAM_VERSION;
	struct seam_plan_stats all;
	seam__mutex_lock(seam__pool_lock(pool));
	seam__pool_plan_stats(pool, &all);
	seam__mutex_unlock(seam__pool_lock(pool));
	all.size = stats->size;
	memcpy(stats, &all, stats->size);
	return SEAM_OK;
}
