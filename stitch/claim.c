/* claim.c: chunks on their way from their homes into a stitched view, and a view's run of slots becoming a block. */
#include "change.h"
#include "check.h"
#include "claim.h"

/* How many of the chunks, from the first on, lie side by side at home in one extent. */
static uint32_t side_by_side(struct seam_chunk *const *chunks, uint32_t count, const struct seam_block *extent)
{
	uint32_t slot = chunks[0]->home_slot, room = extent->first_slot + extent->slot_count - slot, run = 1;
	while (run < count && run < room && chunks[run]->home == extent->view && chunks[run]->home_slot == slot + run)
		run++;
	return run;
}

enum seam_rc seam__claim(struct seam_engine *engine, struct seam_chunk *const *chunks, uint32_t count)
{
	struct seam_slab *slab = &engine->block_slab;
	uint64_t before = slab->reserved_objects;
	enum seam_rc rc = seam__slab_reserve(slab, 2 * (uint64_t)count + 2);
	if (rc != SEAM_OK)
		return rc;
	for (uint32_t i = 0, run; i < count; i += run) {
		struct seam_block *extent = seam__extent_find(chunks[i]->home, chunks[i]->home_slot);
		SEAM_ASSERT(extent != NULL);
		run = side_by_side(chunks + i, count - i, extent);
		seam__ppool_lend(extent, chunks[i]->home_slot, run);
	}
	/* Two stay reserved across the driver calls, for seam__own_run(). */
	seam__slab_unreserve(slab, slab->reserved_objects - before - 2);
	return SEAM_OK;
}

void seam__claim_undo(struct seam_engine *engine, struct seam_chunk *const *chunks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct seam_block *lost = chunks[i]->lent;
		seam__ppool_return(lost, 1, lost->stream, lost->stamp);
	}
	seam__slab_unreserve(&engine->block_slab, 2);
}

struct seam_block *seam__own_run(
	struct seam_engine *engine, const struct seam_ask *ask, struct seam_view *view, uint32_t first, uint32_t count)
{
	uint64_t offset = view->slots[first].offset;
	uint64_t run_bytes = view->slots[first + count - 1].offset + view->slots[first + count - 1].bytes - offset;
	SEAM_ASSERT(run_bytes >= ask->bytes);
	for (uint32_t i = first; i < first + count; i++)
		view->slots[i].mapping->chunk->owner = view;
	view->owned += count;
	view->last_use = ++engine->uses;
	seam__spool_update(&view->ppool->idle, view);
	TAILQ_REMOVE(&view->ppool->spool, view, link);
	TAILQ_INSERT_TAIL(&view->ppool->spool, view, link);

	struct seam_block *after = TAILQ_LAST(&view->blocks, seam_blocks);
	while (after != NULL && after->offset >= offset)
		after = TAILQ_PREV(after, seam_blocks, link);
	struct seam_block *block = seam__slab_get_reserved(&engine->block_slab);
	/* Not merged with free bytes in front of it: the block begins where its first chunk does. */
	seam__block_insert(block, view, after, offset, ask->bytes, SEAM_IS_FREE);
	if (run_bytes > ask->bytes) {
		struct seam_block *rest = seam__slab_get_reserved(&engine->block_slab);
		seam__block_insert(rest, view, block, offset + ask->bytes, run_bytes - ask->bytes, SEAM_IS_FREE);
		block->is = SEAM_IS_LIVE; /* so that the rest does not merge with it */
		seam__ppool_put(rest, ask->stream, seam__stream_stamp(ask->stream));
		block->is = SEAM_IS_FREE;
	} else {
		seam__slab_unreserve(&engine->block_slab, 1);
	}
	return block;
}
