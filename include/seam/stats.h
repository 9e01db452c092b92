/* stats.h: the figures of a pool, and those of its plans. Each stands in stats.def or plan_stats.def with its meaning.
 *
 * Counters, gauges and peaks are kept up to date under the pool's lock and copied in one go; what is unused, pending
 * bytes aside, costs a walk over the fits of all streams. Derived figures (efficiency, shares) are computed by readers,
 * never stored.
 */
#ifndef SEAM_STATS_H
#define SEAM_STATS_H

#include <stdint.h>

#include <seam/rc.h>

#ifdef __cplusplus
extern "C" {
#endif

struct seam_pool;

#define SEAM_STATS_VERSION 2u

struct seam_stats {
	uint32_t size;    /* set by the caller: sizeof(struct seam_stats) */
	uint32_t version; /* set by the caller: SEAM_STATS_VERSION */
#define SEAM_STAT(name, kind, text) uint64_t name;
#include <seam/stats.def>
#undef SEAM_STAT
};

/* Copies the pool's figures, as of one moment, into *stats, whose size and version the caller has set.
 * Errors: SEAM_INVALID, SEAM_VERSION (a size or version that this library does not know). Thread safe. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_stats_get(struct seam_pool *pool, struct seam_stats *stats);

#define SEAM_PLAN_STATS_VERSION 1u

/* All 0 where no plan has been in use. */
struct seam_plan_stats {
	uint32_t size;    /* set by the caller: sizeof(struct seam_plan_stats) */
	uint32_t version; /* set by the caller: SEAM_PLAN_STATS_VERSION */
#define SEAM_PLAN_STAT(name, kind, text) uint64_t name;
#include <seam/plan_stats.def>
#undef SEAM_PLAN_STAT
};

/* The same of the pool's plans. Errors: SEAM_INVALID, SEAM_VERSION, as above. Thread safe. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_plan_stats_get(struct seam_pool *pool, struct seam_plan_stats *stats);

/* Sets every peak to its gauge. Thread safe. */
SEAM_API void seam_stats_reset_peaks(struct seam_pool *pool);

/* Calls of one kind of driver call so far: `index` counts from 0. Each ret_ may be NULL. `ns` is on the device's clock
 * (estimated on an emulated device). Returns SEAM_NOT_FOUND past the end. Thread safe. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_stats_driver(
	struct seam_pool *pool, uint32_t index, const char **ret_name, uint64_t *ret_calls, uint64_t *ret_ns);

#ifdef __cplusplus
}
#endif
#endif
