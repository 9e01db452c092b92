/* block.c: the list of blocks of a view; see block.h. */
#include "block.h"

#include <string.h>

#include "check.h"

void seam__block_insert(struct seam_block *node, struct seam_view *view, struct seam_block *after, uint64_t offset,
	uint64_t bytes, enum seam_block_is is)
{
	memset(node, 0, sizeof *node);
	node->view = view;
	node->is = (uint8_t)is;
	seam__block_resize(node, offset, bytes);
	if (after == NULL)
		TAILQ_INSERT_HEAD(&view->blocks, node, link);
	else
		TAILQ_INSERT_AFTER(&view->blocks, after, node, link);
}

void seam__block_remove(struct seam_slab *slab, struct seam_block *block)
{
	TAILQ_REMOVE(&block->view->blocks, block, link);
	seam__block_set_stream(block, NULL);
	seam__slab_put(slab, block);
}

void seam__block_resize(struct seam_block *block, uint64_t offset, uint64_t bytes)
{
	SEAM_ASSERT(bytes > 0 && bytes % SEAM_BLOCK_BYTES == 0 && offset % SEAM_BLOCK_BYTES == 0);
	block->offset = offset;
	block->bytes = bytes;
	block->va = block->view->va + offset;
}

uint32_t seam__block_whole_slots(const struct seam_block *block, uint32_t *ret_first)
{
	const struct seam_view *view = block->view;
	uint64_t end = block->offset + block->bytes;
	uint32_t first = seam__view_slot_from(view, block->offset, block->first_slot);
	uint32_t behind = view->slot_count;
	if (end < view->used_bytes) {
		behind = seam__view_slot_from(view, end, first);
		if (behind == view->slot_count || view->slots[behind].offset != end)
			behind--; /* that slot reaches beyond the end */
	}
	*ret_first = first;
	return behind > first ? behind - first : 0;
}

bool seam__block_has_whole_slot(const struct seam_block *block)
{
	uint32_t first = 0;
	return block->bytes >= block->view->least_slot_bytes && seam__block_whole_slots(block, &first) != 0;
}

static const char *check_slot_block(const struct seam_block *block)
{
	const struct seam_view *view = block->view;
	const struct seam_slot *slot = &view->slots[seam__view_slot_at(view, block->offset)];
	if (slot->offset != block->offset || slot->bytes != block->bytes)
		return "B4: a LOST or HOLE block is not one slot";
	if (block->is == SEAM_IS_HOLE)
		return slot->mapping == NULL ? NULL : "B4: a hole has a chunk";
	if (slot->mapping == NULL || slot->mapping->chunk != block->chunk || block->chunk->owner == view ||
		block->chunk->lent != block)
		return "B4: a LOST block's chunk is not away";
	return NULL;
}

static const char *check_leased(const struct seam_block *block)
{
	const struct seam_view *view = block->view;
	const struct seam_slot *slot = &view->slots[seam__view_slot_at(view, block->offset)];
	if (slot->mapping == NULL || block->offset + block->bytes > slot->offset + slot->bytes)
		return "B6: a LEASED block is not in one chunk";
	const struct seam_chunk *chunk = slot->mapping->chunk;
	if (chunk->owner != view || block->stream != NULL || block->lessee == NULL)
		return "B6: a LEASED block of a chunk that is away, or with a stream";
	const struct seam_block *before = TAILQ_PREV(block, seam_blocks, link);
	while (before != NULL && before->is != SEAM_IS_LEASED && before->offset >= slot->offset)
		before = TAILQ_PREV(before, seam_blocks, link);
	if (before == NULL || before->is != SEAM_IS_LEASED || before->offset < slot->offset)
		return chunk->leased == block ? NULL : "B6: a chunk does not know its first LEASED block";
	if (before->lessee != block->lessee || before->offset + before->bytes == block->offset)
		return "B6: LEASED neighbours in a chunk differ, or should be one";
	return NULL;
}

static const char *check_block(const struct seam_block *block, uint64_t end)
{
	if (block->offset < end || block->bytes == 0 || block->bytes % SEAM_BLOCK_BYTES != 0)
		return "B1: blocks overlap or are no multiple of 512 bytes";
	if (!block->view->stitched && block->offset != end)
		return "B2: a gap in a home view";
	if (block->is == SEAM_IS_LOST || block->is == SEAM_IS_HOLE)
		return block->view->stitched ? "B4: a LOST block in a stitched view" : check_slot_block(block);
	if (block->is == SEAM_IS_LEASED)
		return check_leased(block);
	const struct seam_block *before = seam__block_before(block);
	if (block->is != SEAM_IS_FREE || before == NULL || before->is != SEAM_IS_FREE)
		return NULL;
	return block->stream == before->stream ? "B3: two free neighbours should be one" : NULL;
}

/* Whether blocks cover the slot's bytes without a gap, or not at all. */
static const char *check_covered(const struct seam_view *view)
{
	const struct seam_block *block = TAILQ_FIRST(&view->blocks);
	uint32_t owned = 0;
	for (uint32_t i = 0; i < view->slot_count; i++) {
		const struct seam_slot *slot = &view->slots[i];
		bool own = slot->mapping != NULL && slot->mapping->chunk->owner == view;
		owned += own;
		uint64_t at = slot->offset, end = slot->offset + slot->bytes;
		while (block != NULL && block->offset + block->bytes <= at)
			block = TAILQ_NEXT(block, link);
		for (const struct seam_block *b = block; own && at < end; b = TAILQ_NEXT(b, link)) {
			if (b == NULL || b->offset > at)
				return "B2: an owned chunk is not covered";
			at = b->offset + b->bytes;
		}
		if (!own && block != NULL && block->offset < end)
			return "B2: a block in a chunk that the view does not own";
	}
	return owned == view->owned ? NULL : "B2: count of owned chunks";
}

const char *seam__blocks_check(const struct seam_view *view)
{
	uint64_t end = 0;
	uint32_t live = 0;
	const struct seam_block *block;
	TAILQ_FOREACH(block, &view->blocks, link)
	{
		const char *broken = check_block(block, end);
		if (broken != NULL)
			return broken;
		if (block->view != view || block->va != view->va + block->offset)
			return "B1: a block is not where it says";
		end = block->offset + block->bytes;
		live += block->is == SEAM_IS_LIVE || block->is == SEAM_IS_PENDING;
	}
	if (live != view->live)
		return "B5: count of live blocks";
	if (!view->stitched)
		return end == view->used_bytes ? NULL : "B2: blocks do not reach the view's end";
	return check_covered(view);
}
