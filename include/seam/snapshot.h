/* snapshot.h: what a pool's memory is doing, chunk by chunk and block by block.
 *
 * A visitor sees one consistent state: the pool's lock is held during the visit, so the visitor must not call the pool
 * and should be quick. The JSON text is one such visitor; its schema is in tools/snapshot.schema.json.
 */
#ifndef SEAM_SNAPSHOT_H
#define SEAM_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#ifdef __cplusplus
extern "C" {
#endif

struct seam_pool;

enum seam_block_state {
	SEAM_BLOCK_FREE = 0,    /* usable */
	SEAM_BLOCK_LIVE = 1,    /* handed out */
	SEAM_BLOCK_PENDING = 2, /* freed, held until its streams have passed */
	SEAM_BLOCK_LOST = 3,    /* the chunks here belong to another view now; their mapping here is stale */
	SEAM_BLOCK_TRANSIT = 4, /* being stitched by another thread */
	SEAM_BLOCK_LEASED = 5,  /* a plan's: used through the addresses of its arena */
};

struct seam_view_info {
	uint64_t va;
	uint64_t bytes;
	bool stitched;       /* an sBlock's view; else a home view */
	bool small;          /* for small requests */
	uint64_t private_id; /* 0: none */
	uint64_t lost_bytes; /* of chunks that other views own now */
};

struct seam_slot_info {
	uint64_t va;
	uint64_t bytes;
	uint64_t chunk; /* number of the physical chunk; the same number in several views is the same memory */
	bool owned;     /* by this view; else the mapping is stale */
};

struct seam_block_info {
	uint64_t va;
	uint64_t bytes;
	uint64_t requested_bytes; /* of a live block */
	enum seam_block_state state;
	uint64_t stream; /* handle of the stream it belongs to, 0 also for none */
	uint64_t tag;    /* of the request */
};

/* Callbacks, each may be NULL. A non-zero result ends the visit. Views come in order of creation; behind each its
 * slots, then its blocks, both in order of address. */
struct seam_visitor {
	int (*view)(void *user, const struct seam_view_info *view);
	int (*slot)(void *user, const struct seam_slot_info *slot);
	int (*block)(void *user, const struct seam_block_info *block);
};

/* Visits the pool. Returns SEAM_OK, or SEAM_BUSY if the visitor ended it; SEAM_INVALID; SEAM_OOM_META (blocks of plans
 * are put in order). Thread safe. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_snapshot_visit(
	struct seam_pool *pool, const struct seam_visitor *visitor, void *user);

/* A change of physical memory. */
struct seam_chunk_event {
	uint64_t va; /* where the chunk is mapped as long as it lives, beside other places: no other chunk is there
			meanwhile */
	uint64_t bytes;
	bool made; /* else it was given back to the device */
};

/* What became of physical memory since the event of number *next (they count from 1): copies at most `capacity` events,
 * oldest first, and sets *next behind the last. 0 begins with what comes from now on, and copies nothing. From the
 * first call on the pool keeps the newest 4096 events; if *next grew by more than *ret_count, so many were lost
 * between. The pool calls nobody: whoever wants to know asks again. Errors: SEAM_INVALID, SEAM_UNSUPPORTED (a device
 * without virtual memory management), SEAM_OOM_META. Thread safe. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_chunk_events(
	struct seam_pool *pool, uint64_t *next, struct seam_chunk_event *events, size_t capacity, size_t *ret_count);

/* Writes the snapshot and the statistics as JSON to `path`, as seam_trace_write_file() writes: all or nothing, regular
 * files only. Errors: SEAM_IO, SEAM_OOM_META. Thread safe. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_snapshot_write(struct seam_pool *pool, const char *path);

#ifdef __cplusplus
}
#endif
#endif
