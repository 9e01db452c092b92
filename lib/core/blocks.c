/* blocks.c: questions about live blocks: how large, where, in which chunks; and handles of those for other processes.
 */
#include "bits.h"
#include "plain.h"
#include "planned.h"

enum seam_rc seam_usable_size(struct seam_pool *pool, const void *ptr, uint64_t *ret_bytes)
{
	if (ret_bytes == NULL)
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (pool->plain != NULL)
		return seam__plain_usable(pool, (uint64_t)(uintptr_t)ptr, ret_bytes);
	seam__mutex_lock(&pool->engine.lock);
	struct seam_found found;
	bool is_live = seam__live_find(pool, (uint64_t)(uintptr_t)ptr, &found);
	if (is_live)
		*ret_bytes = found.bytes;
	seam__mutex_unlock(&pool->engine.lock);
	return is_live ? SEAM_OK : SEAM_NOT_FOUND;
}

static enum seam_rc range_of(struct seam_pool *pool, uint64_t va, uint64_t *ret_va, uint64_t *ret_bytes)
{
	if (pool->plain != NULL)
		return seam__store_range(pool->plain, va, ret_va, ret_bytes);
	seam__mutex_lock(&pool->engine.lock);
	struct seam_found found;
	bool is_live = seam__live_around(pool, va, &found);
	if (is_live) {
		*ret_va = found.va;
		*ret_bytes = found.bytes;
	}
	seam__mutex_unlock(&pool->engine.lock);
	return is_live ? SEAM_OK : SEAM_NOT_FOUND;
}

enum seam_rc seam_block_range(struct seam_pool *pool, const void *address, void **ret_base, uint64_t *ret_bytes)
{
	uint64_t va = 0, bytes = 0;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc == SEAM_OK)
		rc = range_of(pool, (uint64_t)(uintptr_t)address, &va, &bytes);
	if (rc == SEAM_OK && ret_base != NULL)
		*ret_base = (void *)(uintptr_t)va;
	if (rc == SEAM_OK && ret_bytes != NULL)
		*ret_bytes = bytes;
	return rc;
}

static struct seam_block_chunk piece_of(const struct seam_found *block, const struct seam_slot *slot)
{
	uint64_t start = seam__bits_max(block->offset, slot->offset);
	uint64_t end = seam__bits_min(block->offset + block->bytes, slot->offset + slot->bytes);
	return (struct seam_block_chunk){
		.va = block->view->va + slot->offset,
		.bytes = slot->bytes,
		.first_bytes = start - slot->offset,
		.used_bytes = end - start,
		.chunk = slot->mapping->chunk->number,
	};
}

static size_t list_chunks(const struct seam_found *block, struct seam_block_chunk *chunks, size_t capacity)
{
	const struct seam_view *view = block->view;
	size_t count = 0;
	uint64_t end = block->offset + block->bytes;
	for (uint32_t i = seam__view_slot_at(view, block->offset); i < view->slot_count && view->slots[i].offset < end;
		i++) {
		if (count < capacity)
			chunks[count] = piece_of(block, &view->slots[i]);
		count++;
	}
	return count;
}

static enum seam_rc one_chunk(
	struct seam_pool *pool, const void *ptr, struct seam_block_chunk *chunks, size_t capacity, size_t *ret_count)
{
	struct seam_block_chunk chunk;
	enum seam_rc rc = seam__plain_segment(pool, (uint64_t)(uintptr_t)ptr, &chunk);
	if (rc != SEAM_OK)
		return rc;
	if (capacity > 0)
		chunks[0] = chunk;
	*ret_count = 1;
	return SEAM_OK;
}

enum seam_rc seam_block_chunks(
	struct seam_pool *pool, const void *ptr, struct seam_block_chunk *chunks, size_t capacity, size_t *ret_count)
{
	if (ret_count == NULL || (chunks == NULL && capacity != 0))
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (pool->plain != NULL)
		return one_chunk(pool, ptr, chunks, capacity, ret_count);
	seam__mutex_lock(&pool->engine.lock);
	struct seam_found found;
	bool is_live = seam__live_find(pool, (uint64_t)(uintptr_t)ptr, &found);
	if (is_live)
		*ret_count = list_chunks(&found, chunks, capacity);
	seam__mutex_unlock(&pool->engine.lock);
	return is_live ? SEAM_OK : SEAM_NOT_FOUND;
}

/* With `lock`: the chunk is in use by a live block, so nobody is about to release it. */
static enum seam_rc export_chunk(struct seam_pool *pool, const struct seam_found *block, size_t index, void *ret_handle)
{
	const struct seam_view *view = block->view;
	if (index >= list_chunks(block, NULL, 0))
		return SEAM_NOT_FOUND;
	uint32_t slot = seam__view_slot_at(view, block->offset) + (uint32_t)index;
	struct seam_chunk *chunk = view->slots[slot].mapping->chunk;
	enum seam_handle_type type = (enum seam_handle_type)pool->engine.memory.props.handle_types;
	int cu = seam__drv_mem_export(pool->driver, chunk->phys, type, ret_handle);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	chunk->exported = true;
	return SEAM_OK;
}

enum seam_rc seam_block_export(struct seam_pool *pool, const void *ptr, size_t index, void *ret_handle)
{
	if (ret_handle == NULL)
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (pool->plain != NULL || pool->engine.memory.props.handle_types == SEAM_HANDLE_NONE)
		return SEAM_UNSUPPORTED;
	seam__mutex_lock(&pool->engine.lock);
	struct seam_found found;
	rc = SEAM_NOT_FOUND;
	if (seam__live_find(pool, (uint64_t)(uintptr_t)ptr, &found))
		rc = export_chunk(pool, &found, index, ret_handle);
	seam__mutex_unlock(&pool->engine.lock);
	return rc;
}
