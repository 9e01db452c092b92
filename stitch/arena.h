/* arena.h: the arena: one range of addresses over chunks of the common memory, for plans to lay their requests out in.
 *
 * The chunks stay where they are: each owned by its home view, or by a stitched view as long as a block there uses it.
 * The arena maps them once more, one behind the other, and *leases* what is free in them: such bytes leave the fits and
 * are blocks of state SEAM_IS_LEASED of the view that owns the chunk, one for each free extent of each chunk. So a
 * chunk that a resident occupies in part can belong to the arena too: only the rest of it is leased, and the resident
 * keeps its old address. The bytes of the arena that are not leased now (residents, blocks from before, what is lent,
 * chunks of which another arena has leases) are its *gaps*.
 *
 * Life: survey -> begin -> prepare, again and again -> open -> collect, lend -> close -> settle until nothing is left
 * -> finish. Mapping is done in prepare, in the background, a few chunks at a time; an open arena collects what is
 * free, without a driver call.
 *
 * Streams. A leased byte carries no stamp. What was free on a stream whose work had not passed when it was leased is
 * remembered as a *join*: before such an arena's memory is used on another stream that stream must be ordered behind
 * (seam__arena_join). Bytes are given back with the streams that used them; lent, to one that is ordered behind those.
 *
 * Not here: which request lies where (lib/runtime/matcher.h), when to do what (lib/runtime/planned.h).
 *
 * Invariants (seam__arena_check)
 *   A1  the view maps chunk i of the list at its offset; offsets ascend without a gap; every chunk is `kept`, and
 *       belongs to the common memory. Of a closed arena: those that are leased still; the others may be gone
 *   A2  leased_bytes of a chunk is the sum of the LEASED blocks of the arena in it, and all of those lie in its chunks
 *       (B6)
 *   A3  an arena that is not open has no lease, except a closed one: of busy chunks, and of those that are to be waited
 *       for
 *
 * Locks: change and lock as memory.h says. [call]: `change`, not `lock`. [both]: `change` and `lock`. [lock]: `lock` is
 * enough.
 */
#ifndef SEAM_ARENA_H
#define SEAM_ARENA_H

#include "engine.h"

enum seam_arena_state {
	SEAM_ARENA_NONE,      /* all zero */
	SEAM_ARENA_PREPARING, /* chunks are kept, not all of them mapped yet */
	SEAM_ARENA_READY,     /* all mapped, nothing leased */
	SEAM_ARENA_OPEN,
	SEAM_ARENA_CLOSED, /* nothing is handed out any more; busy chunks are still leased, but for the parts that were
			      given back */
};

struct seam_arena_chunk {
	struct seam_chunk *chunk; /* NULL: a closed arena has given it back */
	uint64_t offset;          /* in the arena */
	uint64_t bytes;
	uint64_t leased_bytes; /* lock */
	uint32_t busy;         /* lock. Closed: live blocks of the arena that touch it */
	bool lent;             /* lock. Given back to the engine, to be collected when it is free again */
	bool lacks; /* lock. Open: some of it is neither leased nor a live block's, or was so when it was looked
		       at: there may be something to collect */
};

/* Work on a stream that was pending in leased memory. */
struct seam_arena_join {
	struct seam_stream *stream; /* referenced */
	uint64_t stamp;
};

struct seam_arena {
	enum seam_arena_state state;
	struct seam_view *view; /* no blocks, owns nothing, in no sPool (seam_view.arena) */
	struct seam_arena_chunk *chunks;
	uint32_t count, capacity;      /* of chunks */
	uint32_t mapped;               /* change. So many of them are */
	uint64_t bytes;                /* of all chunks */
	uint64_t leased_bytes;         /* lock */
	struct seam_arena_join *joins; /* lock */
	uint32_t join_count, join_capacity;
	uint64_t join_version; /* lock. Rises with every join: who has joined up to it need not look */
};

/* ---- what there is ---- */

/* A chunk of the common memory as a survey saw it. */
struct seam_surveyed {
	uint64_t number;  /* of the chunk: it may be gone later */
	uint32_t kept_at; /* its place in the arena that keeps it, if one does */
	uint64_t bytes;
	uint64_t resident_bytes; /* of blocks that stay */
};

/* A block that stays, where it lies. */
struct seam_surveyed_resident {
	uint64_t serial;       /* seam_block.serial */
	uint64_t chunk_index;  /* in seam_survey.chunks */
	uint64_t offset_bytes; /* in the chunk */
	uint64_t bytes;        /* of it in this chunk: a resident that reaches into the next has an entry in each */
	uint64_t before_bytes; /* of it in chunks before this one */
};

struct seam_survey {
	struct seam_surveyed *chunks; /* first those that residents occupy in part, in the order of their homes, so that
					 a free extent that reaches over several chunks stays one; then those without
					 residents, in the same order. Wholly occupied ones are not listed */
	uint32_t count, capacity;
	uint32_t partial;                         /* so many are occupied in part */
	struct seam_surveyed_resident *residents; /* in the listed chunks */
	uint32_t resident_count, resident_capacity;
	uint64_t bytes;        /* of all listed chunks */
	uint64_t engine_bytes; /* reserved, when it was made */
};

/* [both; drops lock] stays: whether a live block of the engine is there to stay (one that a capture has used always
 * does); asked without `lock`, of a copy. NULL: all that are live, and what arenas have leased. Chunks that are
 * exported or pinned by a capture are not listed; nor are those of the contiguous class. O(blocks), 64 of them at most
 * under one `lock`, but for those before them in a chunk. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__survey_make(struct seam_engine *engine,
	bool (*stays)(void *user, const struct seam_block *block), void *user, struct seam_survey *ret_survey);
void seam__survey_fini(struct seam_engine *engine, struct seam_survey *survey);

/* ---- preparing ---- */

/* [both; drops lock] Keeps the chunks with these numbers (distinct), in this order, and new ones of fresh_bytes in all
 * behind them (whole chunks of chunk_bytes, the last just large enough; 0: as growth would make them), and reserves
 * addresses for max(their bytes, reserve_bytes). Errors: SEAM_NOT_FOUND (a chunk is gone, or a survey would not list it
 * now: survey again), SEAM_OOM_DEVICE, SEAM_OOM_VA, SEAM_MAPPINGS (more than the budget leaves), SEAM_OOM_META,
 * SEAM_DRIVER; *ret_arena is untouched then. */
SEAM_MUST_USE enum seam_rc seam__arena_begin(struct seam_engine *engine, const uint64_t *numbers, uint32_t count,
	uint64_t fresh_bytes, uint64_t chunk_bytes, uint64_t reserve_bytes, struct seam_arena *ret_arena);

/* [both; drops lock] Maps at most `mappings` more chunks of an arena that is not closed. SEAM_OK: all are (PREPARING is
 * READY now). SEAM_BUSY: some are left. Other errors: those of seam__view_map(); what is mapped stays. */
SEAM_MUST_USE enum seam_rc seam__arena_prepare(struct seam_engine *engine, struct seam_arena *arena, uint32_t mappings);

/* [both; drops lock] Adds chunks at the end of an arena that is READY (PREPARING then) or OPEN: as begin; they are not
 * mapped yet, and an OPEN one stays open for what is mapped. Prepare, then collect. Errors: as begin (SEAM_OOM_VA: more
 * than was reserved; SEAM_NOT_FOUND: or it was closed meanwhile); nothing changed then. */
SEAM_MUST_USE enum seam_rc seam__arena_extend(struct seam_engine *engine, struct seam_arena *arena,
	const uint64_t *numbers, uint32_t count, uint64_t fresh_bytes, uint64_t chunk_bytes);

/* ---- in use ---- */

/* [lock] READY -> OPEN: nothing is leased yet. O(1). */
void seam__arena_open(struct seam_arena *arena);

/* [lock] OPEN: leases what has become free in chunks [first, first + count), lent ones included; those that are not
 * mapped yet are left out. A chunk is lent no more once all that is not occupied by live blocks is leased. Returns the
 * bytes newly leased. Fails silently without metadata: nothing more is leased then. O(blocks there). */
uint64_t seam__arena_collect(struct seam_engine *engine, struct seam_arena *arena, uint32_t first, uint32_t count);

/* [lock] OPEN: chunks [first, first + count) go back to the engine for now: their leases are free blocks where they
 * are, usable at once on `stream`, on others once it has passed what it was given so far. The stream is ordered behind
 * all that used the chunks, and behind the joins (seam__arena_join); no block of the arena may live in them. Returns
 * the bytes; 0: nothing of them is leased. A chunk whose bytes are all free becomes a whole chunk again, which can be
 * stitched. O(blocks there). */
uint64_t seam__arena_lend(struct seam_engine *engine, struct seam_arena *arena, uint32_t first, uint32_t count,
	struct seam_stream *stream);

/* The chunk that contains `offset` (< bytes). O(log chunks). */
uint32_t seam__arena_chunk_at(const struct seam_arena *arena, uint64_t offset);

/* [lock] Calls gap() for every maximal range of [begin, end) that is not leased, in order. */
void seam__arena_gaps(const struct seam_arena *arena, uint64_t begin, uint64_t end,
	void (*gap)(void *user, uint64_t begin, uint64_t end), void *user);

/* [lock] Bytes of the arena's chunks, as far as they are mapped, in which live blocks lie whose serial is `serial` or
 * higher. O(blocks there). */
uint64_t seam__arena_newer_bytes(const struct seam_arena *arena, uint64_t serial);

/* [lock] Orders `stream` behind what is pending in leased memory on other streams: afterwards all of it may be used
 * there. Joins that have passed are forgotten. Errors: those of seam__stream_order(): nothing may be handed out on that
 * stream then. */
SEAM_MUST_USE enum seam_rc seam__arena_join(
	struct seam_engine *engine, struct seam_arena *arena, struct seam_stream *stream);

/* Room for joins of all streams there are. [lock] Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__arena_reserve_joins(struct seam_engine *engine, struct seam_arena *arena);

/* Work up to `stamp` on `stream` uses memory of the arena that the next user may get on another stream. Room was
 * reserved when the stream was known already. [lock] */
void seam__arena_add_join(struct seam_arena *arena, struct seam_stream *stream, uint64_t stamp);

/* ---- the end ---- */

/* [lock] OPEN -> CLOSED (READY, PREPARING: too). busy: for each chunk of which something is leased (others are not
 * read) how many live blocks of the arena touch it, NULL: none; the chunks without go back at once, usable when all
 * of `streams`, and the joins that are left, have passed; where the metadata for waiting is lacking, by
 * seam__arena_finish(). No other chunk is kept any more. */
void seam__arena_close(struct seam_engine *engine, struct seam_arena *arena, const uint32_t *busy,
	struct seam_stream *const *streams, uint32_t stream_count);

/* [lock] CLOSED: a live block over [offset, offset + bytes) is freed; chunks that were busy with it alone go back. */
void seam__arena_settle(struct seam_engine *engine, struct seam_arena *arena, uint64_t offset, uint64_t bytes,
	struct seam_stream *const *streams, uint32_t stream_count);

/* [lock] OPEN, CLOSED: what is leased in [begin, end), where no live block of the arena lies, goes back, though one
 * lies in the same chunks: free memory where it is, but no whole chunk. Returns the bytes. Where the metadata for it is
 * lacking, the rest goes back with its chunk. */
uint64_t seam__arena_give_part(struct seam_engine *engine, struct seam_arena *arena, uint64_t begin, uint64_t end,
	struct seam_stream *const *streams, uint32_t stream_count);

/* [both; drops lock] CLOSED and nothing leased -> NONE: unmaps, from the end, and forgets. SEAM_BUSY: blocks are live,
 * or device work is pending that used it (polls; nothing has happened); or it has unmapped as many chunks as `mappings`
 * says, and some are left. SEAM_DRIVER: it refused to unmap; try again. */
SEAM_MUST_USE enum seam_rc seam__arena_finish(struct seam_engine *engine, struct seam_arena *arena, uint32_t mappings);

/* The engine goes: frees the arena's own arrays, whatever its state. Blocks and views are the engine's to take down. */
void seam__arena_fini(struct seam_engine *engine, struct seam_arena *arena);

const char *seam__arena_check(const struct seam_engine *engine, const struct seam_arena *arena);

#endif
