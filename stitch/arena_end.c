/* arena_end.c: an arena is closed, settles, and goes; see arena.h. */
#include "arena_impl.h"
#include "bits.h"
#include "check.h"
#include "meta.h"

static bool is_idle(const struct seam_arena_chunk *chunk)
{
	return chunk->busy == 0;
}

/* Gives back what no live block touches; those chunks are kept no more. */
static void give_idle(struct seam_engine *engine, struct seam_arena *arena, uint32_t first, uint32_t end,
	struct seam_stream *const *streams, uint32_t stream_count)
{
	const struct seam_arena_users users = {arena, streams, stream_count};
	(void)seam__arena_give(engine, arena, first, end, is_idle, &users);
	for (uint32_t i = first; i < end; i++) {
		struct seam_arena_chunk *at = &arena->chunks[i];
		if (at->chunk == NULL || at->busy != 0 || at->leased_bytes != 0)
			continue;
		at->chunk->kept--;
		at->chunk = NULL;
	}
}

void seam__arena_close(struct seam_engine *engine, struct seam_arena *arena, const uint32_t *busy,
	struct seam_stream *const *streams, uint32_t stream_count)
{
	SEAM_ASSERT(arena->state != SEAM_ARENA_NONE && arena->state != SEAM_ARENA_CLOSED);
	arena->state = SEAM_ARENA_CLOSED;
	for (uint32_t i = 0; i < arena->count; i++) {
		struct seam_arena_chunk *at = &arena->chunks[i];
		at->lent = false;
		/* Not read where nothing is leased: the caller may not know yet of chunks that are being prepared. */
		at->busy = busy != NULL && at->leased_bytes != 0 ? busy[i] : 0;
	}
	give_idle(engine, arena, 0, arena->count, streams, stream_count);
}

void seam__arena_settle(struct seam_engine *engine, struct seam_arena *arena, uint64_t offset, uint64_t bytes,
	struct seam_stream *const *streams, uint32_t stream_count)
{
	SEAM_ASSERT(arena->state == SEAM_ARENA_CLOSED && bytes > 0 && offset + bytes <= arena->bytes);
	uint32_t first = seam__arena_chunk_at(arena, offset), end = seam__arena_chunk_at(arena, offset + bytes - 1) + 1;
	for (uint32_t i = first; i < end; i++) {
		SEAM_ASSERT(arena->chunks[i].busy > 0);
		arena->chunks[i].busy--;
	}
	give_idle(engine, arena, first, end, streams, stream_count);
}

/* What could not be given back for want of metadata has passed everywhere: nobody need wait for it. What went back in
 * parts instead is kept no more. */
static void give_rest(struct seam_engine *engine, struct seam_arena *arena)
{
	seam__arena_drop_joins(arena, false);
	if (arena->leased_bytes == 0 || arena->join_count == 0)
		give_idle(engine, arena, 0, arena->count, NULL, 0);
}

static bool has_passed(const struct seam_engine *engine, const struct seam_arena *arena)
{
	return seam__streams_all_passed(&engine->streams, arena->view->last_tick);
}

/* Unmaps the last chunks, `most` of them. What was trimmed since is a hole. Drops `lock`. */
static enum seam_rc unmap_last(struct seam_engine *engine, struct seam_arena *arena, uint32_t most)
{
	struct seam_view *view = arena->view;
	enum seam_rc rc = SEAM_OK;
	uint32_t from = arena->mapped;
	seam__mutex_unlock(&engine->lock);
	for (uint32_t done = 0; from > 0 && done < most; from--) {
		struct seam_mapping *mapping = view->slots[from - 1].mapping;
		rc = mapping != NULL ? seam__mapping_unmap(&engine->memory, mapping) : SEAM_OK;
		if (rc != SEAM_OK)
			break;
		done += mapping != NULL;
	}
	seam__mutex_lock(&engine->lock);
	for (uint32_t i = from; i < view->slot_count; i++) {
		if (view->slots[i].mapping != NULL)
			seam__mapping_forget(&engine->memory, view->slots[i].mapping);
	}
	(void)seam__view_shrink(view); /* it has no blocks */
	arena->mapped = view->slot_count;
	return rc;
}

enum seam_rc seam__arena_finish(struct seam_engine *engine, struct seam_arena *arena, uint32_t mappings)
{
	SEAM_ASSERT(arena->state == SEAM_ARENA_CLOSED);
	if (!has_passed(engine, arena))
		seam__engine_poll(engine, false);
	if (!has_passed(engine, arena) || arena->view->pinned)
		return SEAM_BUSY;
	give_rest(engine, arena);
	if (arena->leased_bytes != 0)
		return SEAM_BUSY;
	enum seam_rc rc = unmap_last(engine, arena, mappings);
	if (rc != SEAM_OK)
		return SEAM_DRIVER;
	if (arena->mapped != 0)
		return SEAM_BUSY;
	seam__arena_drop_view(engine, arena->view);
	seam__arena_fini(engine, arena);
	return SEAM_OK;
}

void seam__arena_fini(struct seam_engine *engine, struct seam_arena *arena)
{
	seam__arena_drop_joins(arena, true);
	seam__meta_free(engine->meta, arena->joins, arena->join_capacity * sizeof *arena->joins);
	seam__meta_free(engine->meta, arena->chunks, arena->capacity * sizeof *arena->chunks);
	*arena = (struct seam_arena){.state = SEAM_ARENA_NONE};
}
