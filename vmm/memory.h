/* memory.h: chunks, views and the mappings between them: what a pool holds of one device, and its budgets.
 *
 * A *chunk* is one physical allocation. A *view* is a span of addresses with chunks mapped in it, slot by slot. There
 * are home views, where chunks are mapped when they are created (a chunk has one home for life), and stitched views,
 * which map chunks of home views once more behind one contiguous range. At any time a chunk is *owned* by one of the
 * views that map it, or by a change in transit; in the others its mapping is stale.
 *
 * Not here: which bytes of a view are free or live (pools/block.h), and which chunks to stitch (stitch/).
 *
 * Invariants (seam__memory_check)
 *   M1  a chunk is mapped at its home slot, and at most once in any view
 *   M2  a chunk's owner is NULL (in transit) or a view that maps it                                 (I1)
 *   M3  the counters equal what the lists hold: chunks, reserved bytes, mappings, address bytes
 *   M4  slots of a view are in order of address, without overlap, inside its span
 *   M5  mappings and address bytes are at most their limits                                         (I6)
 *
 * Locks: two belong to the pool that embeds this. *change* serialises every change of views, slots, chunks and
 * mappings, and is held across driver calls; *lock* guards what hits and frees touch. Functions marked [call] may call
 * the driver: they need `change` and must not have `lock`. Functions marked [publish] need both and cannot fail: what a
 * call prepared becomes visible there, and the counters change there, so that counters may be read under `lock` alone.
 * Lists and mappings are read under `change`; the slots of what a view owns also under `lock`. A chunk's owner, `lent`,
 * `leased` and `kept` belong to `lock`.
 */
#ifndef SEAM_MEMORY_H
#define SEAM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#include "driver.h"
#include "list.h"
#include "slab.h"
#include "tree.h"

struct seam_journal;
struct seam_meta;
struct seam_block;
struct seam_view;
struct seam_ppool;

struct seam_chunk {
	TAILQ_ENTRY(seam_chunk) link; /* in seam_memory.chunk_list, by number */
	struct seam_phys phys;
	uint64_t bytes;
	uint64_t number; /* counts creations; never reused */
	struct seam_view *home;
	uint32_t home_slot;
	bool exported;             /* to another process: never released before the pool */
	struct seam_view *owner;   /* lock. NULL: in transit */
	struct seam_block *lent;   /* lock. The LOST block at its home while another view owns it, else NULL */
	struct seam_block *leased; /* lock. The first LEASED block in it, where its owner maps it, else NULL */
	uint32_t kept;             /* lock. So many arenas count on it: not released meanwhile */
	uint32_t kept_at;          /* lock. Where in the open arena, if it is there; any value is right */
	LIST_HEAD(, seam_mapping) mappings;
	bool listed; /* counted, and in chunk_list */
};

/* A chunk at a place in a view. */
struct seam_mapping {
	LIST_ENTRY(seam_mapping) of_chunk;
	struct seam_chunk *chunk;
	struct seam_view *view;
	uint32_t slot;
};

struct seam_slot {
	uint64_t offset;              /* bytes from the view's start */
	uint64_t bytes;               /* kept when the chunk is gone: the hole takes a chunk of this size again */
	struct seam_mapping *mapping; /* NULL: a hole */
};

TAILQ_HEAD(seam_blocks, seam_block);
SEAM_TREE_HEAD(seam_home_extents, struct seam_block);

struct seam_view {
	TAILQ_ENTRY(seam_view)
	link; /* home: in its pPool's list, by number; stitched: in its pPool's sPool, least recently used first */
	TAILQ_ENTRY(seam_view) all; /* in seam_memory.view_list, by number */
	struct seam_ppool *ppool;
	uint64_t number; /* counts creations; never reused */
	uint64_t va;
	uint64_t reserved_bytes; /* of the span */
	uint64_t used_bytes;     /* of the span, from its start: end of the last slot */
	struct seam_slot *slots;
	uint32_t slot_count, slot_capacity;
	uint64_t least_slot_bytes; /* no slot is smaller; 0: not known */
	struct seam_slot *spare;   /* change. A larger array, taken at the next commit; NULL: none */
	uint32_t spare_capacity;
	uint32_t holes; /* slots without a chunk */
	bool stitched;
	bool listed; /* counted, and in view_list */
	bool pinned; /* touched by a stream capture: never unmapped before the pool goes */
	bool arena;  /* stitched, but an arena's (stitch/arena.h): in no sPool, owns nothing, given up by its arena only
		      */
	uint32_t owned;            /* lock. Stitched: chunks that it owns now */
	uint32_t live;             /* lock. Blocks that are live or pending */
	uint64_t last_tick;        /* lock. Tick of the newest free here */
	uint64_t last_use;         /* lock. Stitched: the engine's count of uses when it was used last */
	struct seam_blocks blocks; /* lock. In order of address. Home: without a gap up to used_bytes */
	struct seam_home_extents
		extents;              /* lock. Home: free blocks that hold a whole chunk, by address (pools/extent.h) */
	RB_ENTRY(seam_view) by_bytes; /* lock. Stitched: while idle, in its sPool's tree (pools/spool.h) */
	bool idle;                    /* lock. In that tree: owns nothing and maps something in every slot */
	uint32_t blocked_slot; /* lock. Idle: the slot whose chunk was not free when it was last looked at; any value is
				  right */
};

TAILQ_HEAD(seam_views, seam_view);
TAILQ_HEAD(seam_chunks, seam_chunk);

struct seam_memory {
	struct seam_driver *driver;
	struct seam_meta *meta;
	struct seam_phys_props props;
	struct seam_access access[18]; /* own device first; of memory on the host the CPU; then peers */
	size_t access_count;
	uint64_t granularity_bytes;
	uint64_t capacity_bytes; /* most reserved bytes, UINT64_MAX: no limit of ours */
	uint64_t device_bytes;   /* the device's memory, UINT64_MAX: it would not say */
	uint64_t mapping_limit;
	uint64_t address_limit_bytes;

	uint64_t reserved_bytes, reserved_peak_bytes;
	uint64_t listed_count, listed_bytes; /* of chunks published so far */
	uint64_t chunk_peak;
	uint64_t unlisted_bytes; /* change. Of chunks created and not published yet */
	uint64_t chunk_count, view_count, stitched_count, stitched_bytes, address_bytes;
	uint64_t mapping_count, mapping_peak;
	uint64_t chunks_made, views_made; /* change. Ever: the next numbers */
	struct seam_chunks chunk_list;
	struct seam_views view_list;
	struct seam_journal *journal; /* lock. What becomes of chunks; NULL: nobody has asked yet */
	struct seam_slab chunk_slab, mapping_slab, view_slab;
};

/* driver and meta must outlive it. Asks the granularity and the size of the device. Errors: SEAM_DRIVER,
 * SEAM_UNSUPPORTED (no VMM). */
SEAM_MUST_USE enum seam_rc seam__memory_init(struct seam_memory *memory, struct seam_driver *driver,
	struct seam_meta *meta, const struct seam_phys_props *props);

/* Unmaps, releases and frees everything. The device is idle, or gone. Blocks must be gone. Driver errors are ignored.
 */
void seam__memory_fini(struct seam_memory *memory);

/* Bytes of chunks that may be created yet; there may be less. With `change`. */
uint64_t seam__memory_room(const struct seam_memory *memory);

/* [call] A physical chunk in no view, not published. Errors: SEAM_OOM_DEVICE (also: over capacity), SEAM_OOM_META,
 * SEAM_DRIVER. */
SEAM_MUST_USE enum seam_rc seam__chunk_create(
	struct seam_memory *memory, uint64_t bytes, struct seam_chunk **ret_chunk);

/* [publish] The chunk counts from here. It has its home. */
void seam__chunk_list(struct seam_memory *memory, struct seam_chunk *chunk);

/* [call] Gives the chunk's memory to the driver; no mapping of it is left in the driver, and its work has passed. */
void seam__chunk_release(struct seam_memory *memory, struct seam_chunk *chunk);

/* [publish] Frees a released chunk, listed or not. If listed, its home view is there still. */
void seam__chunk_forget(struct seam_memory *memory, struct seam_chunk *chunk);

/* [call] A view of `bytes` addresses without chunks, not published. Errors: SEAM_OOM_VA (driver or limit),
 * SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__view_create(
	struct seam_memory *memory, uint64_t bytes, bool stitched, uint32_t slot_capacity, struct seam_view **ret_view);

/* [publish] The view counts from here. */
void seam__view_list(struct seam_memory *memory, struct seam_view *view);

/* [call] Unmaps what is mapped, slot by slot, and then frees the span. The view owns no chunk and its use has passed.
 * Returns how many slots are unmapped: all, and the span is gone, unless the driver refused. */
uint32_t seam__view_release(struct seam_memory *memory, struct seam_view *view);

/* [publish] After a release of `slots` slots: they are holes; if these are all, the view is freed and the result is
 * true. It has no blocks. */
bool seam__view_forget(struct seam_memory *memory, struct seam_view *view, uint32_t slots);

/* [call] Room for `count` more slots. The larger array waits in `spare` until the next commit, so that readers under
 * `lock` see a whole one. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__view_reserve_slots(struct seam_memory *memory, struct seam_view *view, uint32_t count);

/* [call] Maps `count` chunks one behind the other from `offset` on (slots there must be holes of their sizes, or lie at
 * used_bytes), and grants access in one call. mappings[i] receives the new mapping. All or nothing; nothing is
 * published: see commit. Errors: SEAM_MAPPINGS (limit, or the driver's tables are full), SEAM_OOM_META, SEAM_DRIVER. */
SEAM_MUST_USE enum seam_rc seam__view_map(struct seam_memory *memory, struct seam_view *view, uint64_t offset,
	struct seam_chunk *const *chunks, uint32_t count, struct seam_mapping **mappings);

/* [publish] What seam__view_map() mapped at `offset`: slots, lists, used_bytes. The view may be unlisted still. */
void seam__view_map_commit(struct seam_memory *memory, struct seam_view *view, uint64_t offset,
	struct seam_mapping *const *mappings, uint32_t count);

/* [call] Undoes seam__view_map() before its commit. */
void seam__view_map_undo(struct seam_memory *memory, struct seam_view *view, uint64_t offset,
	struct seam_mapping *const *mappings, uint32_t count);

/* [call] Unmaps one mapping in the driver. The work that used it has passed. Errors: SEAM_DRIVER. */
SEAM_MUST_USE enum seam_rc seam__mapping_unmap(struct seam_memory *memory, struct seam_mapping *mapping);

/* [publish] Its slot is a hole. */
void seam__mapping_forget(struct seam_memory *memory, struct seam_mapping *mapping);

/* [publish] Drops the holes at the view's end: used_bytes shrinks. Returns how many slots went; their blocks are the
 * caller's business. */
uint32_t seam__view_shrink(struct seam_view *view);

/* The slot that contains `offset` (< used_bytes). O(log slots). */
uint32_t seam__view_slot_at(const struct seam_view *view, uint64_t offset);

/* The first slot that begins at or behind `offset`; slot_count if there is none. Searched from slot `near` on: any
 * value is right, O(log distance). */
uint32_t seam__view_slot_from(const struct seam_view *view, uint64_t offset, uint32_t near);

/* [call] Adds a location to those that have access, and grants it on all that is mapped (if nothing is, on a chunk for
 * the purpose); all or nothing. Errors: SEAM_INVALID (too many), SEAM_DRIVER. */
SEAM_MUST_USE enum seam_rc seam__memory_grant(struct seam_memory *memory, struct seam_location where);

const char *seam__memory_check(const struct seam_memory *memory);

#endif
