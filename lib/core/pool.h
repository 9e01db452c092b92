/* pool.h: a pool: one device's engine, and what the API needs around it.
 *
 * Where the device has no virtual memory management the engine is absent and the caching allocator of fallback/ serves
 * everything.
 *
 * Not here: how memory is found (stitch/), what a private pool's memory is (struct seam_group).
 *
 * Locks: the engine's `lock` (without an engine: that of `plain`) guards routes, privates, the callback and the note of
 * the newest out-of-memory; see engine.h. Host memory has its own (rank SEAM_RANK_HOST).
 */
#ifndef SEAM_POOL_H
#define SEAM_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <seam/seam.h>
#include <seam/snapshot.h>
#include <seam/stats.h>

#include "driver.h"
#include "engine.h"
#include "host.h"
#include "pinned.h"
#include "store.h"

#define SEAM_LARGEST_REQUEST_BYTES (UINT64_C(1) << 48) /* more than any device; keeps sums from overflowing */

struct seam_recorder;
struct seam_text;

/* A private pool that has been begun and not released. */
struct seam_private {
	LIST_ENTRY(seam_private) link;
	uint64_t id;
	uint64_t references;
	struct seam_group *group;
};

/* An open route of requests to a private pool. The newest stands first. */
struct seam_open_route {
	LIST_ENTRY(seam_open_route) link;
	struct seam_private *to;
	enum seam_route kind;
	uint64_t value;
	pthread_t thread; /* SEAM_ROUTE_THREAD */
};

/* A request that was out of memory, and what the memory was doing then. */
struct seam_oom {
	struct seam_request request; /* bytes 0: there was none */
	bool capturing;
	uint64_t device_free_bytes, device_total_bytes; /* 0 if the driver would not say */
	uint64_t largest_bytes;                         /* in one free run of the common memory */
	uint64_t capacity_bytes;                        /* of the pool; 0: no limit */
	struct seam_stats stats;
};

/* Requests that failed, by what there was not enough of. Atomic: not every failure is seen under `lock`. */
struct seam_oom_counts {
	_Atomic uint64_t device, mappings, address, metadata;
};

struct seam_runtime;
struct seam_learner;

struct seam_pool {
	struct seam_config config; /* in force; constant */
	struct seam_meta *meta;    /* everything below belongs to it, and this struct too */
	struct seam_driver *driver;
	bool owns_driver;
	uint64_t fork_generation; /* of the process that made the pool */
	struct seam_engine engine;
	struct seam_store *plain;   /* instead of the engine, which is then all zero, without VMM; else NULL */
	struct seam_pinned *pinned; /* pinned host memory that is stitched; NULL: it is `host`'s */
	const char *why_not_pinned; /* why there is none although the program wanted it; else NULL */
	struct seam_host host;      /* pinned host memory as the driver gives it */
	LIST_HEAD(, seam_private) privates;
	LIST_HEAD(, seam_open_route) routes;
	seam_oom_callback *oom_callback;
	void *oom_user;
	struct seam_oom oom; /* the newest */
	struct seam_oom_counts ooms;
	struct seam_recorder *recorder; /* NULL: nothing is recorded. Constant */
	LIST_ENTRY(seam_pool) autosave; /* valid while trace_path is not NULL; see autosave.c */
	char *trace_path;               /* where the recording is to be written when the pool goes, or NULL */
	struct seam_runtime *runtime;   /* requests served from plans; see planned.h for its lock */
	struct seam_learner *learner;   /* has locks of its own */
};

/* A pool on a driver that the caller made and keeps; for tools and tests. config must be resolved (seam__opts_resolve).
 */
SEAM_MUST_USE enum seam_rc seam__pool_create_on(
	struct seam_driver *driver, const struct seam_config *config, struct seam_pool **ret_pool);

/* Forks are counted from the first call on. Thread safe. */
void seam__fork_watch(void);

/* How often this process has been forked from: differs in a child. */
uint64_t seam__fork_generation(void);

/* The first thing that a public call does with its pool: SEAM_INVALID without one, SEAM_FORKED in a child of the pool's
 * process. */
static inline enum seam_rc seam__pool_enter(const struct seam_pool *pool)
{
	if (pool == NULL)
		return SEAM_INVALID;
	return pool->fork_generation == seam__fork_generation() ? SEAM_OK : SEAM_FORKED;
}

/* The same where virtual memory management is needed: else SEAM_UNSUPPORTED. */
static inline enum seam_rc seam__pool_enter_mapped(const struct seam_pool *pool)
{
	enum seam_rc rc = seam__pool_enter(pool);
	return rc == SEAM_OK && pool->plain != NULL ? SEAM_UNSUPPORTED : rc;
}

/* The lock of everything that is not host memory. */
static inline struct seam_mutex *seam__pool_lock(struct seam_pool *pool)
{
	return __builtin_expect(pool->plain != NULL, 0) ? &pool->plain->lock : &pool->engine.lock;
}

/* Takes and drops all locks but the host memory's: nothing is in transit between the two. */
static inline void seam__pool_stop(struct seam_pool *pool)
{
	if (pool->plain == NULL)
		seam__mutex_lock(&pool->engine.change);
	seam__mutex_lock(seam__pool_lock(pool));
}

static inline void seam__pool_go(struct seam_pool *pool)
{
	seam__mutex_unlock(seam__pool_lock(pool));
	if (pool->plain == NULL)
		seam__mutex_unlock(&pool->engine.change);
}

/* The private pool, or NULL. With `lock`. */
struct seam_private *seam__private_find(struct seam_pool *pool, uint64_t id);

/* Where a request without a private_id goes: the newest route that matches, or NULL for the common memory. With `lock`.
 * capture_id: of the stream's capture, if *capturing. */
struct seam_private *seam__private_route(struct seam_pool *pool, uint64_t stream, bool capturing, uint64_t capture_id);

/* Name of the first broken invariant (PR1-PR4 of private.c), or NULL. With `lock`. */
const char *seam__private_check(struct seam_pool *pool);

/* Frees what is left of routes and private pools. The engine is gone. */
void seam__private_fini(struct seam_pool *pool);

/* Most device memory that the pool may take now; 0: what the device has. With `lock`. */
uint64_t seam__pool_capacity(const struct seam_pool *pool);

/* Every figure, as of now. With `lock`. */
void seam__pool_stats(struct seam_pool *pool, struct seam_stats *ret_stats);
void seam__pool_plan_stats(struct seam_pool *pool, struct seam_plan_stats *ret_stats);

/* Pinned host memory of either kind: its life, and what other parts of the pool want of it. Errors: SEAM_OOM_META, the
 * driver's; of find those of seam__store_range(). */
SEAM_MUST_USE enum seam_rc seam__pool_host_init(struct seam_pool *pool);
void seam__pool_host_fini(struct seam_pool *pool);
void seam__pool_host_stats(struct seam_pool *pool, struct seam_cache_stats *ret_stats);
void seam__pool_host_reset_peaks(struct seam_pool *pool);
SEAM_MUST_USE enum seam_rc seam__pool_host_stream_destroyed(struct seam_pool *pool, uint64_t stream);
SEAM_MUST_USE enum seam_rc seam__pool_host_range(
	struct seam_pool *pool, uint64_t va, uint64_t *ret_va, uint64_t *ret_bytes);
const char *seam__pool_host_check(struct seam_pool *pool);

/* The text of seam_host_text(). */
struct seam_text;
void seam__pool_put_host(struct seam_pool *pool, struct seam_text *text);

/* Whether a caller's struct of figures is one that this library can fill. Figures are only ever appended: the struct of
 * an older program is a prefix of ours, which has `most` bytes. */
static inline bool seam__stats_known(uint32_t size, size_t most, uint32_t version, uint32_t known_version)
{
	return version == known_version && size >= 2 * sizeof(uint32_t) && size <= most && size % sizeof(uint64_t) == 0;
}

/* Remembers the moment for seam_oom_report(). With `lock`. */
void seam__oom_note(struct seam_pool *pool, const struct seam_request *request, bool capturing);

/* Counts a request that failed with `rc`; other failures than for want of something are not counted. Thread safe. */
void seam__oom_count(struct seam_pool *pool, enum seam_rc rc);

/* Device, driver, what it can do, and the configuration in force, for a person. Thread safe. */
void seam__pool_describe(struct seam_pool *pool, struct seam_text *text);

/* The newest result of the driver that was an error, as seam_driver_error() tells it; nothing if there was none. */
void seam__driver_error_put(struct seam_driver *driver, struct seam_text *text);

/* seam_snapshot_visit() with both locks. */
SEAM_MUST_USE enum seam_rc seam__pool_visit(struct seam_pool *pool, const struct seam_visitor *visitor, void *user);

struct seam_found;

/* The live block that starts at `va`; that contains it (O(live)). False: there is none. With `lock`. */
bool seam__live_find(struct seam_pool *pool, uint64_t va, struct seam_found *ret_found);
bool seam__live_around(struct seam_pool *pool, uint64_t va, struct seam_found *ret_found);

/* Name of the first broken invariant of the pool, or NULL. Takes both locks. */
const char *seam__pool_check(struct seam_pool *pool);

#endif
