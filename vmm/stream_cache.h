/* stream_cache.h: a caching allocator of byte blocks over a source of segments, for memory that streams use.
 *
 * It serves where nothing is stitched: device memory without virtual memory management and small requests (fallback/),
 * and pinned host memory (pools/host.h). They differ in their source and their sizes only, and neither may include the
 * other: so the engine stands here, on the streams that it needs.
 *
 * Not here: how segments are obtained (struct seam_cache_source); a lock; waiting under one.
 *
 * Blocks are cut from segments by best fit, and joined when they are free. Small requests have segments of their own. A
 * free block belongs to a stream, which may use it again at once, or to nobody: then all its past work has passed, and
 * any stream may. In order of preference a request is served by
 *   1  its stream's, or nobody's, free block that fits best
 *   2  neighbouring free blocks of those two, joined
 *   3  the same, after the other streams were polled and what has passed there became nobody's (and with reuse WAIT: a
 *      block of another stream, behind an edge on the device)
 *   4  a new segment, after unused ones went back where config.idle_share wants it
 *   5  the same again, after unused segments went back, and at last after the device has been waited for
 *   6  a free block in a segment of the other class
 * so nothing is requested from the source while something that fits is usable.
 *
 * What may wait is not done under the lock. A request that needs it answers SEAM_BUSY: the caller drops its lock, calls
 * seam__cache_run(), takes the lock, and calls seam__cache_resume(), until the answer is another one. Every request
 * passes a fixed series of attempts, so this ends.
 *
 * Invariants (seam__cache_check; R1-R4 of base/range.h as well)
 *   SC1  a live block has a stream; a free one's shelf is that of its stream, or nobody's
 *   SC2  two free neighbours never belong to the same stream, or both to nobody
 *   SC3  a held extent is pending (in that list, with uses), or its whole segment is on its way back
 *   SC4  the sums of the statistics are true
 *   SC5  reserved and what is being obtained stay within the limit
 *
 * Locks: none inside; the lock that guards the registry of streams guards this, but for seam__cache_run().
 */
#ifndef SEAM_VMM_STREAM_CACHE_H
#define SEAM_VMM_STREAM_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "range.h"
#include "slab.h"
#include "stream.h"

/* Where segments come from. Both calls are made without the lock, and may wait. alloc: aligned to the cache's
 * granularity; running out is SEAM_OOM_DEVICE or SEAM_OOM_HOST: the request goes on to its next attempt; other errors
 * end it. free: exactly a segment whose work has passed; on an error the segment stays. */
struct seam_cache_source {
	void *user;
	enum seam_rc (*segment_alloc)(void *user, uint64_t bytes, uint64_t *ret_va);
	enum seam_rc (*segment_free)(void *user, uint64_t va, uint64_t bytes);
};

/* When memory that another stream has freed is used. What is nobody's is always used. */
enum seam_cache_reuse {
	SEAM_CACHE_REUSE_PASSED, /* once that stream has passed, rather than grow */
	SEAM_CACHE_REUSE_WAIT,   /* the same, or after making the requesting stream wait for it on the device */
	SEAM_CACHE_REUSE_OWN     /* only when growing has failed */
};

struct seam_cache_config {
	uint64_t granularity_bytes;   /* a power of two: sizes and addresses of blocks are multiples */
	uint64_t small_max_bytes;     /* requests up to this come from small segments; 0: there are none */
	uint64_t small_segment_bytes; /* at least small_max_bytes */
	uint64_t segment_bytes;       /* of a segment for requests below exact_bytes; at least exact_bytes */
	uint64_t exact_bytes;         /* a request from this size on grows by a segment of its own size */
	uint64_t round_bytes; /* a power of two, multiple of the granularity: what segment sizes are rounded to */
	uint64_t split_bytes; /* a large block is not cut if less than this remained; at least the granularity */
	uint64_t limit_bytes; /* most that may be reserved; 0: no limit */
	uint64_t idle_share;  /* before a large request grows, unused segments go back as far as what is reserved would
				 be more than the most that was ever held (live and pending) and this part of it, 1 /
				 idle_share; 0: they stay */
	enum seam_rc oom;     /* what running out is called: SEAM_OOM_DEVICE or SEAM_OOM_HOST */
	enum seam_cache_reuse reuse;
	/* A free records an event at once on the streams that were recorded for the block, so that it passes with the
	   work of now. Else what they are given until somebody asks is waited for as well, and no free calls the
	   driver. */
	bool covers_frees;
};

/* A stream that uses a block beside its own; seam__cache_record_stream(). */
struct seam_cache_use {
	struct seam_cache_use *next;
	struct seam_stream *stream; /* referenced */
	uint64_t stamp;             /* valid while the block is pending */
};

struct seam_cache_block {
	struct seam_extent extent;          /* LIVE; FREE; HELD: pending, or on its way back with its segment */
	TAILQ_ENTRY(seam_cache_block) link; /* valid while pending */
	struct seam_stream
		*stream;          /* referenced. LIVE, pending: allocated for it. FREE: usable there; NULL: anywhere */
	uint64_t stamp;           /* of its free; valid unless LIVE */
	uint64_t requested_bytes; /* valid while LIVE */
	uint64_t tag;             /* the caller's, for walks; valid while LIVE */
	uint64_t serial;          /* the caller's: its number in a recording; valid while LIVE */
	struct seam_cache_use *uses; /* LIVE, pending */
};

TAILQ_HEAD(seam_cache_blocks, seam_cache_block);

struct seam_cache_stats {
	uint64_t live_blocks;
	uint64_t live_bytes;           /* rounded */
	uint64_t requested_bytes;      /* of live blocks, as asked for */
	uint64_t pending_blocks;       /* freed, and held for streams that were recorded */
	uint64_t pending_bytes;        /* their bytes */
	uint64_t free_bytes;           /* cached, whoever may use it */
	uint64_t reserved_bytes;       /* of the source: live, pending, free, and on its way back */
	uint64_t small_reserved_bytes; /* of these, in small segments */
	uint64_t segments;
	uint64_t live_blocks_peak, live_peak_bytes, requested_peak_bytes, reserved_peak_bytes,
		segments_peak;                      /* since creation or reset */
	uint64_t held_blocks_peak, held_peak_bytes; /* likewise, of what is live or pending */
	/* counters */
	uint64_t allocs, frees;
	uint64_t alloc_bytes;   /* of allocs, rounded */
	uint64_t hits;          /* requests served by a whole free block of their size */
	uint64_t splits;        /* by a part of one */
	uint64_t gathers;       /* by neighbours that were joined for it */
	uint64_t grows;         /* segments obtained */
	uint64_t grown_bytes;   /* their bytes */
	uint64_t shrinks;       /* segments given back */
	uint64_t cross_streams; /* requests served by memory that was nobody's, or another stream's */
	uint64_t retries;       /* requests that shrank or waited */
	uint64_t ooms;
};

struct seam_cache {
	struct seam_cache_source source;
	struct seam_cache_config config;
	struct seam_streams *streams;
	struct seam_range range;
	struct seam_slab use_slab;
	struct seam_cache_blocks pending;
	uint64_t growing_bytes;   /* being obtained from the source */
	uint64_t held_most_bytes; /* most that was live or pending at once */
	uint64_t moving_bytes;    /* of segments on their way back: reserved still */
	struct seam_cache_stats stats;
};

enum seam_cache_step { SEAM_CACHE_NOTHING, SEAM_CACHE_GROW, SEAM_CACHE_SHRINK, SEAM_CACHE_WAIT };

/* A request under way. The caller's memory; must not move between alloc (or trim) and the final answer. Only va and
 * released_bytes are for the caller. */
struct seam_cache_request {
	uint64_t va;             /* the answer to an alloc; valid after SEAM_OK */
	uint64_t released_bytes; /* segments given back on the way */
	struct seam_cache *cache;
	struct seam_stream *stream; /* referenced; NULL: a trim */
	uint64_t requested_bytes;
	uint64_t bytes; /* rounded; of a trim: the target */
	uint64_t tag;
	bool small;
	bool no_wait; /* never wait for the device */
	unsigned attempt;
	bool retried;
	uint64_t spare_extents; /* of the range's reserve, held by this request */
	uint64_t spare_segments;
	/* what run() is to do, and what came out */
	enum seam_cache_step step;
	enum seam_rc rc;
	uint64_t segment_bytes, segment_va;
	struct seam_segment_list leaving; /* to be given back */
	struct seam_segment_list gone;    /* given back */
	struct seam_wait_all wait;
};

/* Allocates nothing. SEAM_INVALID: the configuration breaks a rule of its fields. streams, its driver, and meta outlive
 * the cache. */
SEAM_MUST_USE enum seam_rc seam__cache_init(struct seam_cache *cache, const struct seam_cache_source *source,
	const struct seam_cache_config *config, struct seam_streams *streams, struct seam_meta *meta);

/* Gives every segment back, live blocks included; the device is idle, or shut down (then the source may refuse:
 * ignored). No request is under way. Returns the number of blocks that were live. */
uint64_t seam__cache_fini(struct seam_cache *cache);

/* At least `bytes` (>= 1), usable on `stream` at once. OK: request->va. BUSY: see above. Whatever the answer, live
 * blocks and their accounts are unchanged by a failure; cached segments may have gone back. Errors: SEAM_INVALID (bytes
 * 0), config.oom, SEAM_OOM_META, the source's, the driver's. */
SEAM_MUST_USE enum seam_rc seam__cache_alloc(struct seam_cache *cache, uint64_t bytes, struct seam_stream *stream,
	uint64_t tag, bool no_wait, struct seam_cache_request *request);

/* Gives unused segments back until at most target_bytes are reserved; waits for the device where that helps, unless
 * no_wait. OK (also when the target could not be reached): request->released_bytes. BUSY: see above. */
SEAM_MUST_USE enum seam_rc seam__cache_trim(
	struct seam_cache *cache, uint64_t target_bytes, bool no_wait, struct seam_cache_request *request);

/* After SEAM_BUSY: run without the lock, then resume under it. */
void seam__cache_run(struct seam_cache_request *request);
SEAM_MUST_USE enum seam_rc seam__cache_resume(struct seam_cache_request *request);

/* Gives a block back; work of its streams may still be pending. No driver call, unless config.covers_frees.
 * SEAM_NOT_FOUND: va is no live block's start. */
SEAM_MUST_USE enum seam_rc seam__cache_free(struct seam_cache *cache, uint64_t va);

/* The block is used on `stream` too: after its free it stays pending until that stream has passed. SEAM_NOT_FOUND,
 * SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__cache_record_stream(struct seam_cache *cache, uint64_t va, struct seam_stream *stream);

/* The live block that begins at va; NULL: none. O(1). And the one that contains va. The caller only reads. */
const struct seam_cache_block *seam__cache_find(struct seam_cache *cache, uint64_t va);
const struct seam_cache_block *seam__cache_around(struct seam_cache *cache, uint64_t va);

/* Sets the serial of the live block that begins at va. */
void seam__cache_set_serial(struct seam_cache *cache, uint64_t va, uint64_t serial);

void seam__cache_get_stats(const struct seam_cache *cache, struct seam_cache_stats *ret_stats);
void seam__cache_reset_peaks(struct seam_cache *cache);

enum seam_cache_state { SEAM_CACHE_LIVE, SEAM_CACHE_PENDING, SEAM_CACHE_FREE, SEAM_CACHE_LEAVING };

/* One block as a walk shows it. */
struct seam_cache_view {
	uint64_t segment_va, segment_bytes;
	uint64_t va, bytes;
	uint64_t requested_bytes; /* 0 unless live */
	uint64_t tag;             /* 0 unless live */
	uint64_t stream;          /* handle; valid if has_stream */
	bool has_stream;
	bool small;
	enum seam_cache_state state;
};

/* Calls visit for every block in order of address until it returns false. visit must not call the cache. */
void seam__cache_walk(
	struct seam_cache *cache, bool (*visit)(void *user, const struct seam_cache_view *view), void *user);

/* Name of the first broken invariant, or NULL. */
const char *seam__cache_check(const struct seam_cache *cache);

#endif
