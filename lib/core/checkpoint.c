/* checkpoint.c: a private pool goes back to what was live in it at an earlier moment: seam_private_restore(). */
#include "checkpoint.h"

#include <stdlib.h>

#include "bits.h"
#include "meta.h"
#include "recording.h"

static int compare(const void *a, const void *b)
{
	const struct seam_kept *x = a, *y = b;
	return x->va < y->va ? -1 : x->va > y->va;
}

/* The blocks in order of address, without their streams yet. Errors: SEAM_INVALID. */
static enum seam_rc sort_blocks(const struct seam_private_block *blocks, size_t count, struct seam_kept *ret_kept)
{
	for (size_t i = 0; i < count; i++) {
		if (blocks[i].ptr == NULL || blocks[i].bytes == 0 || blocks[i].bytes > SEAM_LARGEST_REQUEST_BYTES)
			return SEAM_INVALID;
		ret_kept[i] = (struct seam_kept){
			.va = (uint64_t)(uintptr_t)blocks[i].ptr,
			.requested_bytes = blocks[i].bytes,
			.tag = blocks[i].tag,
			.serial = i, /* until they are made: which of the caller's */
		};
	}
	if (count > 0)
		qsort(ret_kept, count, sizeof *ret_kept, compare);
	for (size_t i = 1; i < count; i++) {
		if (ret_kept[i].va - ret_kept[i - 1].va <
			seam__bits_align_up(ret_kept[i - 1].requested_bytes, SEAM_BLOCK_BYTES))
			return SEAM_INVALID;
	}
	return SEAM_OK;
}

/* Their streams, referenced: those of the first *ret_found. With `lock`. */
static enum seam_rc find_streams(struct seam_pool *pool, const struct seam_private_block *blocks,
	struct seam_kept *kept, size_t count, size_t *ret_found)
{
	for (size_t i = 0; i < count; i++) {
		*ret_found = i;
		uint64_t handle = (uint64_t)(uintptr_t)blocks[kept[i].serial].stream;
		enum seam_rc rc = seam__engine_stream(&pool->engine, handle, &kept[i].stream);
		if (rc != SEAM_OK)
			return rc;
		seam__stream_ref(kept[i].stream);
		kept[i].serial = 0;
	}
	*ret_found = count;
	return SEAM_OK;
}

static void record_frees(struct seam_pool *pool, const struct seam_kept *before, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct seam_record record = {0};
		seam__recording_block(pool, &record, SEAM_TRACE_FREE, before[i].serial, 0);
		seam__recording_add(pool, &record);
	}
}

static void record_allocs(struct seam_pool *pool, uint64_t id, const struct seam_kept *after, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct seam_record record = {.pool = seam__recording_pool(id)};
		const struct seam_request request = {
			.bytes = after[i].requested_bytes,
			.stream = (void *)(uintptr_t)after[i].stream->handle,
		};
		seam__engine_find(&pool->engine, after[i].va)->serial = seam__recording_alloc(pool, &record, &request);
		seam__recording_add(pool, &record);
	}
}

/* With `change` and `lock`, after waiting. */
static enum seam_rc exchange(
	struct seam_pool *pool, const struct seam_private *private, const struct seam_kept *after, uint64_t after_count)
{
	struct seam_engine *engine = &pool->engine;
	struct seam_kept *before = NULL;
	uint64_t before_count = 0;
	enum seam_rc rc = seam__checkpoint_take(engine, private->group, &before, &before_count);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__checkpoint_restore(engine, private->group, before, before_count, after, after_count);
	if (rc == SEAM_OK) {
		record_frees(pool, before, before_count);
		record_allocs(pool, private->id, after, after_count);
	}
	seam__checkpoint_drop(engine, before, before_count);
	return rc;
}

/* With `change` and `lock`, which is dropped meanwhile. */
static enum seam_rc restore(struct seam_pool *pool, uint64_t id, const struct seam_private_block *blocks,
	struct seam_kept *after, size_t count)
{
	const struct seam_private *private = seam__private_find(pool, id);
	if (private == NULL)
		return SEAM_NOT_FOUND;
	enum seam_rc rc = seam__engine_wait(&pool->engine);
	if (rc != SEAM_OK)
		return rc;
	size_t found = 0;
	rc = find_streams(pool, blocks, after, count, &found);
	if (rc == SEAM_OK)
		rc = exchange(pool, private, after, count);
	for (size_t i = 0; i < found; i++)
		seam__stream_unref(after[i].stream);
	return rc;
}

enum seam_rc seam_private_restore(
	struct seam_pool *pool, uint64_t id, const struct seam_private_block *blocks, size_t count)
{
	enum seam_rc rc = seam__pool_enter_mapped(pool);
	if (rc != SEAM_OK)
		return rc;
	if (id == 0 || (blocks == NULL && count > 0))
		return SEAM_INVALID;
	struct seam_kept *after = NULL;
	if (count > 0) {
		after = seam__meta_array(pool->meta, count, sizeof *after);
		if (after == NULL)
			return SEAM_OOM_META;
	}
	rc = sort_blocks(blocks, count, after);
	if (rc == SEAM_OK) {
		seam__pool_stop(pool);
		rc = restore(pool, id, blocks, after, count);
		seam__pool_go(pool);
	}
	seam__meta_free(pool->meta, after, count * sizeof *after);
	return rc;
}
