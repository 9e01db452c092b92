/* trim.c: memory goes back to the device, chunk by chunk.
 *
 * A chunk can go when it is wholly free at home and the stream that used it last has passed. Then all earlier users
 * have passed too: each handed it on in stream order, by an edge, or after it had passed. So every stale mapping of it
 * may be unmapped.
 */
#include "change.h"
#include "check.h"
#include "hole.h"
#include "meta.h"

enum { BATCH = 64 };

struct batch {
	struct seam_chunk *chunks[BATCH];
	uint32_t count;
	uint64_t bytes;
};

static bool has_passed(const struct seam_block *block)
{
	return block->stream == NULL || seam__stream_passed(block->stream, block->stamp);
}

/* Exported, an arena counts on it, or mapped where a stream capture has used it. */
static bool must_stay(const struct seam_chunk *chunk)
{
	const struct seam_mapping *mapping;
	LIST_FOREACH(mapping, &chunk->mappings, of_chunk)
	{
		if (mapping->view->pinned)
			return true;
	}
	return chunk->exported || chunk->kept != 0;
}

/* Takes chunks out of one home view, from its end, so that the view can shrink. Nodes for the batch are reserved. */
static void take_from(struct seam_view *view, uint64_t wanted_bytes, struct batch *batch)
{
	struct seam_block *block = TAILQ_LAST(&view->blocks, seam_blocks);
	while (block != NULL && batch->bytes < wanted_bytes && batch->count < BATCH) {
		struct seam_block *before = TAILQ_PREV(block, seam_blocks, link);
		uint32_t first = 0, count = 0;
		if (block->is == SEAM_IS_FREE && has_passed(block))
			count = seam__block_whole_slots(block, &first);
		for (uint32_t i = first + count; i-- > first && batch->bytes < wanted_bytes && batch->count < BATCH;) {
			struct seam_chunk *chunk = view->slots[i].mapping->chunk;
			if (must_stay(chunk))
				continue;
			/* Cut out from the end: `block` keeps its node as long as something is left in front. */
			if (block->is != SEAM_IS_FREE || block->offset + block->bytes <= view->slots[i].offset)
				break;
			seam__ppool_lend(block, i, 1);
			batch->chunks[batch->count++] = chunk;
			batch->bytes += chunk->bytes;
		}
		block = before;
	}
}

/* only: of this group; NULL: of all. */
static void take_batch(struct seam_engine *engine, struct seam_group *only, uint64_t wanted_bytes, struct batch *batch)
{
	struct seam_group *group = only != NULL ? only : &engine->common;
	while (group != NULL && batch->bytes < wanted_bytes && batch->count < BATCH) {
		for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
			struct seam_view *view;
			TAILQ_FOREACH_REVERSE(view, &group->classes[i].homes, seam_views, link)
			take_from(view, wanted_bytes, batch);
		}
		if (only != NULL)
			break;
		group = group == &engine->common ? LIST_FIRST(&engine->groups) : LIST_NEXT(group, link);
	}
}

/* Gives up the stitched views that map chunks of the batch and own nothing; what others map is unmapped slot by slot.
 * Drops `lock`. */
static void drop_views(struct seam_engine *engine, struct seam_chunk *chunk)
{
	struct seam_mapping *mapping = LIST_FIRST(&chunk->mappings);
	while (mapping != NULL) {
		struct seam_view *view = mapping->view;
		struct seam_mapping *next = LIST_NEXT(mapping, of_chunk);
		if (view->stitched && !view->arena && view->owned == 0 && !view->pinned &&
			seam__streams_all_passed(&engine->streams, view->last_tick) && seam__stitch_drop(engine, view))
			next = LIST_FIRST(&chunk->mappings); /* its mappings are gone from the list */
		mapping = next;
	}
}

/* Unmaps the chunk everywhere, its home last, and releases it. False: the driver refused; it stays at home. */
static bool release(struct seam_engine *engine, struct seam_chunk *chunk)
{
	struct seam_memory *memory = &engine->memory;
	drop_views(engine, chunk);
	struct seam_mapping *mapping, *home = NULL;
	struct seam_mapping *next = LIST_FIRST(&chunk->mappings);
	while ((mapping = next) != NULL) {
		next = LIST_NEXT(mapping, of_chunk);
		if (mapping->view == chunk->home) {
			home = mapping;
			continue;
		}
		seam__mutex_unlock(&engine->lock);
		enum seam_rc rc = seam__mapping_unmap(memory, mapping);
		seam__mutex_lock(&engine->lock);
		if (rc != SEAM_OK)
			return false;
		struct seam_view *view = mapping->view;
		seam__mapping_forget(memory, mapping);
		if (!view->arena)
			seam__spool_update(&view->ppool->idle, view);
	}
	seam__mutex_unlock(&engine->lock);
	enum seam_rc rc = seam__mapping_unmap(memory, home);
	if (rc == SEAM_OK)
		seam__chunk_release(memory, chunk);
	seam__mutex_lock(&engine->lock);
	if (rc != SEAM_OK)
		return false;
	struct seam_block *lost = chunk->lent;
	seam__hole_make(lost);
	seam__mapping_forget(memory, home);
	seam__chunk_forget(memory, chunk);
	return true;
}

/* Drops holes at the end of home views, and home views without a chunk. */
static void shrink_homes(struct seam_engine *engine, struct seam_ppool *ppool)
{
	struct seam_view *view, *next;
	TAILQ_FOREACH_SAFE(view, &ppool->homes, link, next)
	{
		uint32_t gone = view->holes == 0 ? 0 : seam__view_shrink(view);
		while (gone-- > 0) {
			struct seam_block *hole = TAILQ_LAST(&view->blocks, seam_blocks);
			seam__hole_remove(hole);
			seam__block_remove(&engine->block_slab, hole);
		}
		if (view->slot_count != 0)
			continue;
		TAILQ_REMOVE(&ppool->homes, view, link);
		seam__mutex_unlock(&engine->lock);
		uint32_t slots = seam__view_release(&engine->memory, view);
		seam__mutex_lock(&engine->lock);
		bool freed = seam__view_forget(&engine->memory, view, slots);
		SEAM_ASSERT(freed);
		(void)freed;
	}
}

/* Gives up stitched views that lost every chunk while other streams' work still kept them. */
static void drop_empty(struct seam_engine *engine, struct seam_ppool *ppool)
{
	struct seam_view *view, *next;
	TAILQ_FOREACH_SAFE(view, &ppool->spool, link, next)
	{
		if (view->holes != view->slot_count)
			continue;
		bool gone = seam__stitch_drop(engine, view);
		SEAM_ASSERT(gone);
		(void)gone;
	}
}

static void shrink(struct seam_engine *engine)
{
	struct seam_group *group = &engine->common;
	while (group != NULL) {
		for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
			shrink_homes(engine, &group->classes[i]);
			drop_empty(engine, &group->classes[i]);
		}
		group = group == &engine->common ? LIST_FIRST(&engine->groups) : LIST_NEXT(group, link);
	}
}

enum seam_rc seam__engine_trim(struct seam_engine *engine, uint64_t target_bytes, uint64_t *ret_released_bytes)
{
	return seam__engine_trim_group(engine, NULL, target_bytes, ret_released_bytes);
}

enum seam_rc seam__engine_trim_group(
	struct seam_engine *engine, struct seam_group *only, uint64_t target_bytes, uint64_t *ret_released_bytes)
{
	uint64_t released = 0;
	enum seam_rc rc = SEAM_OK;
	bool refused = false;
	while (engine->memory.reserved_bytes > target_bytes && !refused) {
		struct batch batch = {0};
		rc = seam__slab_reserve(&engine->block_slab, 2 * BATCH);
		if (rc != SEAM_OK)
			break;
		uint64_t before = engine->block_slab.reserved_objects - 2 * BATCH;
		take_batch(engine, only, engine->memory.reserved_bytes - target_bytes, &batch);
		seam__slab_unreserve(&engine->block_slab, engine->block_slab.reserved_objects - before);
		if (batch.count == 0)
			break;
		for (uint32_t i = 0; i < batch.count; i++) {
			struct seam_chunk *chunk = batch.chunks[i];
			uint64_t bytes = chunk->bytes;
			if (!refused && release(engine, chunk)) {
				released += bytes;
			} else {
				refused = true;
				seam__ppool_return(chunk->lent, 1, chunk->lent->stream, chunk->lent->stamp);
			}
		}
	}
	shrink(engine);
	if (released != 0)
		seam__price_restart(&engine->price);
	*ret_released_bytes = released;
	return rc == SEAM_OK && refused ? SEAM_DRIVER : rc;
}
