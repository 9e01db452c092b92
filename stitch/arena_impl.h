/* arena_impl.h: what the files of the arena share: which of its chunks lie side by side, and who has used leased
 * memory. */
#ifndef SEAM_ARENA_IMPL_H
#define SEAM_ARENA_IMPL_H

#include "arena.h"

/* Chunks of an arena that one view owns in slots side by side. Of none of them another arena has a lease. */
struct seam_arena_run {
	struct seam_view *view;
	uint32_t slot;         /* of the first */
	uint32_t first, count; /* in the arena */
	uint64_t begin, end;   /* in the view */
};

/* The first run of chunks [*i, end) of those that are mapped, kept and owned by a view; *i is behind it then. At most
 * as long as it gets. False: none. */
bool seam__arena_next_run(const struct seam_arena *arena, uint32_t *i, uint32_t end, struct seam_arena_run *ret_run);

/* The first LEASED block of the arena at or behind `block` that begins before run->end, or NULL. `block` may be NULL.
 */
struct seam_block *seam__arena_lease_from(
	const struct seam_arena *arena, const struct seam_arena_run *run, struct seam_block *block);

/* The first one in the run. */
struct seam_block *seam__arena_first_lease(const struct seam_arena *arena, const struct seam_arena_run *run);

/* Where the block, LEASED and in the run, begins in the arena. */
static inline uint64_t seam__arena_offset_of(
	const struct seam_arena *arena, const struct seam_arena_run *run, const struct seam_block *block)
{
	return arena->chunks[run->first].offset + (block->offset - run->begin);
}

/* Whether a survey would list the chunk, as far as its blocks do not matter. [both] */
bool seam__arena_may_have(const struct seam_chunk *chunk);

/* Those that must have passed before memory of the arena may be used by everybody: `streams`, and the joins that have
 * not. */
struct seam_arena_users {
	const struct seam_arena *arena; /* NULL: `streams` are ordered behind its joins */
	struct seam_stream *const *streams;
	uint32_t stream_count;
};

/* Gives back what the arena has leased in the chunks of [first, end) for which `which` says so (NULL: all). What the
 * metadata for waiting lacks for stays leased. Returns the bytes given back. [lock] */
uint64_t seam__arena_give(struct seam_engine *engine, struct seam_arena *arena, uint32_t first, uint32_t end,
	bool (*which)(const struct seam_arena_chunk *chunk), const struct seam_arena_users *users);

/* Forgets those that have passed, or all. [lock] */
void seam__arena_drop_joins(struct seam_arena *arena, bool all);

/* Gives back the addresses of an arena's view that has no slots, and forgets it. [both; drops lock] */
void seam__arena_drop_view(struct seam_engine *engine, struct seam_view *view);

#endif
