/* engine.h: what the stitching allocator of one device consists of, and what its parts share.
 *
 * The engine turns a request into a block. A hit (S1, S2) is served under `lock` alone. What hits cannot serve is a
 * *change* and goes through the slow path, one at a time, under `change`:
 *
 *   claim   under both: chunks leave their free blocks, in transit (they belong to nobody else now)
 *   call    under `change`: the driver maps them at their new address; the old mappings stay (make before break)
 *   commit  under both: assignments that cannot fail; or roll back, and the chunks are free where they were
 *
 * So hits and frees never wait for a driver call, and a free never waits for someone else's mapping. All that is asked
 * of the driver under `lock` alone is whether work has passed, before a free block is split although an equal one was
 * freed.
 *
 * Nothing is ever queued for unmapping: what is unmapped (a view given up by StitchFree, a chunk released by a trim) is
 * chosen among memory whose streams have passed (I4).
 *
 * Not here: private pools' routing, statistics' public form, the API (lib/core).
 *
 * Invariants: I1-I7; seam__engine_check() names the first of these that is broken, or one of its parts':
 *   EN1  the table of live blocks holds live blocks, all of them; with those of plans their sums are the counters
 *   EN2  the queue of pending blocks holds what the counters say
 *   EN3  LEASED blocks are in the common memory only, each an arena's, and their sum is the counter
 *
 * Locks, in this order: change (SEAM_RANK_CHANGE), lock (SEAM_RANK_DEVICE); of memory on the host SEAM_RANK_HOST_CHANGE
 * and SEAM_RANK_HOST.
 */
#ifndef SEAM_ENGINE_H
#define SEAM_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "block.h"
#include "live.h"
#include "lockrank.h"
#include "memory.h"
#include "ppool.h"
#include "price.h"
#include "slab.h"
#include "stream.h"

enum seam_reuse { SEAM_REUSE_PASSED, SEAM_REUSE_WAIT, SEAM_REUSE_OWN };
enum seam_stitching { SEAM_STITCH_AUTO, SEAM_STITCH_GROWTH, SEAM_STITCH_OOM };

struct seam_policy {
	uint64_t chunk_bytes; /* 0: grows with the pool, from 2 MiB on */
	uint64_t small_bytes;
	uint64_t fragmentation_limit_bytes;
	enum seam_reuse reuse;
	enum seam_stitching stitching;
	bool deterministic;
	bool verify_streams;
};

/* Counters; the names are those of stats.def. */
struct seam_engine_counts {
	/* What every request changes. */
	uint64_t allocs, frees;
	uint64_t live_requested_bytes, live_requested_bytes_peak;
	uint64_t live_bytes, live_bytes_peak, live_blocks, live_blocks_peak;
	/* Of the live blocks, and of pending bytes, those that lie in arenas: their owner counts them here, above and
	 * below. */
	uint64_t planned_blocks, planned_bytes, planned_requested_bytes, planned_pending_bytes;

	uint64_t s1, s1r, s2, s3, s4, s5;
	uint64_t scattered;
	uint64_t retries, stitch_frees, cross_stream_reuses;
	uint64_t pending_bytes, leased_bytes;
	uint64_t pending_blocks; /* in the queue: those of plans are not */
};

/* A group of classes that may share chunks: the common memory, or a private pool. */
struct seam_group {
	LIST_ENTRY(seam_group) link;
	uint64_t private_id; /* 0: common */
	bool eager;          /* private: served outside of a capture since a capture was served last */
	struct seam_ppool classes[SEAM_CLASS_COUNT];
};

TAILQ_HEAD(seam_pending, seam_block);

struct seam_ask;

#define SEAM_SPARES 4u

/* What the owner of an engine is asked for. */
enum seam_spare {
	/* What was freed while other streams used it, as far as those have passed: he may ask the driver. Once a
	 * request, before anything idle, and again when pending work was waited for: it may be parts of chunks, and is
	 * nobody's loan. */
	SEAM_SPARE_PASSED,

	/* A loan, that ask->stream may use at once. It may turn out not to be usable (below the fragmentation limit),
	 * so one request asks at most SEAM_SPARES times, and no more once ask->bytes have been lent to it in all; then
	 * the pool grows. */
	SEAM_SPARE_IDLE,

	/* Everything, mappings too as far as their work has passed: mappings or addresses are short although every idle
	 * view is given up, or it is the last stage before out of memory, after waiting and trimming. Once a request at
	 * most; not while its stream is captured. */
	SEAM_SPARE_ALL,
};

struct seam_engine {
	struct seam_mutex change;
	struct seam_mutex lock;
	struct seam_meta *meta;
	struct seam_driver *driver;
	struct seam_policy policy;
	struct seam_memory memory;
	struct seam_streams streams;           /* lock */
	struct seam_slab block_slab, use_slab; /* lock */
	struct seam_group common;              /* lock */
	LIST_HEAD(, seam_group) groups;        /* lock. Private pools */
	struct seam_live live;                 /* lock */
	struct seam_pending pending;           /* lock. Oldest first */
	uint64_t uses;                         /* lock. Counts uses of stitched views, for StitchFree's order */
	struct seam_price price;               /* lock */
	struct seam_engine_counts counts;      /* lock */

	/* Where else memory may come from: the owner of the engine may lend what is idle in his arena, or give the
	 * arena up. NULL: nowhere. Called with both locks; may drop `lock`. Returns the bytes that are free now and
	 * were not before, whoever may use them; 0: none. Passed and idle memory is asked for before the pool grows for
	 * a request that is to be stitched, of the common memory: `bytes` of whole chunks are lacking for ask->stream.
	 */
	uint64_t (*spare)(void *user, const struct seam_ask *ask, uint64_t bytes, enum seam_spare what);
	void *spare_user;
};

/* What is asked of the engine. */
struct seam_ask {
	struct seam_group *group;
	enum seam_class class;
	uint64_t bytes; /* a multiple of 512 */
	uint64_t requested_bytes;
	struct seam_stream *stream;
	uint64_t tag;
	bool no_stitch;
	bool no_wait;
	bool capturing; /* the stream is: no stitching, waiting or unmapping */
};

/* props->where: the device, or a node of the host: then memory may be of no stream (SEAM_NO_STREAM_HANDLE), and the CPU
 * has access too. driver and meta outlive the engine. Errors: SEAM_UNSUPPORTED (no VMM), SEAM_OOM_META, SEAM_DRIVER. */
SEAM_MUST_USE enum seam_rc seam__engine_init(struct seam_engine *engine, struct seam_driver *driver,
	struct seam_meta *meta, const struct seam_policy *policy, const struct seam_phys_props *props);

/* The device is idle or gone. Live blocks die. */
void seam__engine_fini(struct seam_engine *engine);

/* BestFit and what follows from its state: a block for `ask`. Called with `lock`, which is dropped and taken again on
 * the slow path; returns with it. Errors: those of seam_alloc(); S5 has tried everything but the caller's callback. */
SEAM_MUST_USE enum seam_rc seam__engine_alloc(
	struct seam_engine *engine, const struct seam_ask *ask, struct seam_block **ret_block);

/* Whether a free block would serve `ask` at once, without a change. With `lock`. */
bool seam__engine_has_hit(const struct seam_ask *ask);

/* Gives a live block back. With `lock`. Never fails, never calls the driver. */
void seam__engine_free(struct seam_engine *engine, struct seam_block *block);

/* The same for a block whose work has passed on all streams: it has no uses, and every stream may use its memory at
 * once. */
void seam__engine_free_passed(struct seam_engine *engine, struct seam_block *block);

/* The block is used on `stream` too. With `lock`. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__engine_record(
	struct seam_engine *engine, struct seam_block *block, struct seam_stream *stream);

/* The live block that starts at `va`, or NULL. With `lock`. */
struct seam_block *seam__engine_find(struct seam_engine *engine, uint64_t va);

/* Private: whatever stream it is. */
SEAM_MUST_USE enum seam_rc seam__engine_find_stream(
	struct seam_engine *engine, uint64_t handle, struct seam_stream **ret_stream);

/* The stream of a handle, with room for its blocks in every class. With `lock`. Errors: SEAM_OOM_META, SEAM_DRIVER.
 * Nearly always it is that of the request before. */
SEAM_MUST_USE static inline enum seam_rc seam__engine_stream(
	struct seam_engine *engine, uint64_t handle, struct seam_stream **ret_stream)
{
	struct seam_stream *stream = engine->streams.last;
	const bool same = stream != NULL && stream->handle == handle &&
		(!engine->policy.verify_streams || handle == SEAM_STREAM_DEFAULT);
	if (__builtin_expect(!same || stream->index >= engine->common.classes[0].stream_capacity, 0))
		return seam__engine_find_stream(engine, handle, ret_stream);
	*ret_stream = stream;
	return SEAM_OK;
}

/* How many of the oldest pending blocks a request looks at. */
#define SEAM_PENDING_LOOKS 64u

/* Asks the driver about the oldest pending block that is just what `ask` wants, on its stream; it is free if its other
 * streams have passed. Not while ask->stream is captured. With `lock`. True: it is free. At most a query a stream, and
 * an event where none covers the free. */
bool seam__engine_look(struct seam_engine *engine, const struct seam_ask *ask);

/* Looks through pending blocks and, unless `quick`, asks the driver about all streams; what has passed becomes usable.
 * With `lock`. Returns the bytes that became usable on any stream. */
uint64_t seam__engine_poll(struct seam_engine *engine, bool quick);

/* Waits for the whole device; then polls. With `change` and `lock`; lock is dropped meanwhile. Errors: SEAM_CAPTURING,
 * SEAM_DRIVER. */
SEAM_MUST_USE enum seam_rc seam__engine_wait(struct seam_engine *engine);

/* Releases wholly free, passed chunks until reserved_bytes <= target_bytes. With `change` and `lock`; lock is dropped
 * meanwhile. ret_released_bytes is set in any case. */
SEAM_MUST_USE enum seam_rc seam__engine_trim(
	struct seam_engine *engine, uint64_t target_bytes, uint64_t *ret_released_bytes);

/* StitchFree of one view: the stitched view that was used longest ago of those that own nothing and whose use has
 * passed. With `change` and `lock`; lock is dropped meanwhile. False: there is none, or the driver refused. */
bool seam__engine_free_view(struct seam_engine *engine);

/* As seam__engine_trim, but only chunks of one group (NULL: of all). */
SEAM_MUST_USE enum seam_rc seam__engine_trim_group(
	struct seam_engine *engine, struct seam_group *only, uint64_t target_bytes, uint64_t *ret_released_bytes);

/* A group for private pool `id`. With `lock`. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__engine_group_create(
	struct seam_engine *engine, uint64_t id, struct seam_group **ret_group);

/* The private pool's views, with all blocks, join the common memory. With `change` and `lock`. Cannot fail. */
void seam__engine_group_merge(struct seam_engine *engine, struct seam_group *group);

/* Every peak is its gauge from here on. With `lock`. */
void seam__engine_reset_peaks(struct seam_engine *engine);

const char *seam__engine_check(struct seam_engine *engine);

#endif
