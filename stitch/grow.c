/* grow.c: Alloc (GMLake section 3.3): new physical chunks in a home view.
 *
 * Home views have far more address space than chunks, so that growth extends the free block at the end: the new chunks
 * and what was free there are one run, and no stitching is needed.
 */
#include <inttypes.h>

#include "bits.h"
#include "change.h"
#include "check.h"
#include "hole.h"
#include "log.h"
#include "meta.h"

#define SMALLEST_CHUNK_BYTES (UINT64_C(2) << 20)
#define POOL_CHUNKS UINT64_C(16384)  /* in a pool, at least, that are larger than the smallest */
#define REQUEST_CHUNKS UINT64_C(256) /* parts of a request, likewise */

static uint64_t pow2_at_most(uint64_t value)
{
	return value == 0 ? 0 : UINT64_C(1) << seam__bits_log2(value);
}

/* A chunk is the atom of stitching: a block that ends in one keeps all of it from being stitched. Large ones need fewer
 * mappings. Where the caller has no wish, chunks grow with the pool and with the request, from 2 MiB on (README.md has
 * the figures). */
uint64_t seam__grow_chunk_bytes(
	const struct seam_engine *engine, const struct seam_ppool *ppool, uint64_t bytes, uint64_t request_bytes)
{
	const struct seam_memory *memory = &engine->memory;
	const uint64_t least = seam__bits_align_up(SMALLEST_CHUNK_BYTES, memory->granularity_bytes);
	if (ppool->class == SEAM_CLASS_SMALL)
		return least;
	if (engine->policy.chunk_bytes != 0)
		return seam__bits_align_up(engine->policy.chunk_bytes, memory->granularity_bytes);
	const uint64_t by_pool = pow2_at_most((memory->reserved_bytes + bytes) / POOL_CHUNKS);
	const uint64_t by_request = pow2_at_most(request_bytes / REQUEST_CHUNKS);
	return seam__bits_max(least, seam__bits_max(by_pool, by_request));
}

uint64_t seam__grow_tail(struct seam_ppool *ppool, const struct seam_stream *stream, uint64_t bytes)
{
	const struct seam_view *view = TAILQ_LAST(&ppool->homes, seam_views);
	if (view == NULL)
		return 0;
	uint64_t tail_bytes = 0;
	const struct seam_block *block = TAILQ_LAST(&view->blocks, seam_blocks);
	while (block != NULL && block->is == SEAM_IS_FREE && (block->stream == NULL || block->stream == stream)) {
		tail_bytes += block->bytes;
		block = seam__block_before(block);
	}
	tail_bytes = seam__bits_min(tail_bytes, bytes);
	uint64_t room_bytes = view->reserved_bytes - view->used_bytes;
	/* The room is a multiple of the granularity, so what is created for the rest fits if the rest does. */
	return bytes - tail_bytes <= room_bytes ? tail_bytes : 0;
}

/* One stretch of new chunks in one home view. */
struct growth {
	struct seam_view *view;
	bool new_view;
	uint64_t offset;
	struct seam_chunk **chunks;
	struct seam_mapping **mappings;
	uint32_t count;
	uint64_t unit_bytes; /* of each chunk but the last */
};

static void drop_chunks(struct seam_memory *memory, struct growth *growth)
{
	for (uint32_t i = 0; i < growth->count; i++) {
		seam__chunk_release(memory, growth->chunks[i]);
		seam__chunk_forget(memory, growth->chunks[i]); /* not listed: touches nothing shared */
	}
	growth->count = 0;
}

/* Creates chunks and one for the rest. */
static enum seam_rc create_chunks(struct seam_engine *engine, uint64_t bytes, struct growth *growth)
{
	while (bytes > 0) {
		uint64_t size = seam__bits_min(bytes, growth->unit_bytes);
		enum seam_rc rc = seam__chunk_create(&engine->memory, size, &growth->chunks[growth->count]);
		if (rc != SEAM_OK) {
			drop_chunks(&engine->memory, growth);
			return rc;
		}
		growth->count++;
		bytes -= size;
	}
	return SEAM_OK;
}

/* The home view that has room for `bytes` at its end, or a new one. */
static enum seam_rc find_room(
	struct seam_engine *engine, struct seam_ppool *ppool, uint64_t bytes, struct growth *growth)
{
	struct seam_view *view = TAILQ_LAST(&ppool->homes, seam_views);
	if (view != NULL && ppool->class != SEAM_CLASS_CONTIGUOUS && view->reserved_bytes - view->used_bytes >= bytes) {
		growth->view = view;
		growth->offset = view->used_bytes;
		return SEAM_OK;
	}
	uint64_t reserve =
		ppool->class == SEAM_CLASS_CONTIGUOUS ? bytes : seam__bits_max(bytes, ppool->home_reserve_bytes);
	enum seam_rc rc =
		seam__view_create(&engine->memory, reserve, false, growth->count < 16 ? 16 : growth->count, &view);
	if (rc == SEAM_OOM_VA && reserve > bytes)
		rc = seam__view_create(&engine->memory, bytes, false, growth->count, &view);
	if (rc != SEAM_OK)
		return rc;
	view->ppool = ppool;
	growth->view = view;
	growth->new_view = true;
	growth->offset = 0;
	return SEAM_OK;
}

static void drop_view(struct seam_engine *engine, struct growth *growth)
{
	if (!growth->new_view)
		return;
	bool gone = seam__view_forget(&engine->memory, growth->view, seam__view_release(&engine->memory, growth->view));
	SEAM_ASSERT(gone);
	(void)gone;
}

/* The calls of a growth at the end. Without `lock`. */
static enum seam_rc call(struct seam_engine *engine, struct seam_ppool *ppool, uint64_t bytes, struct growth *growth)
{
	enum seam_rc rc = create_chunks(engine, bytes, growth);
	if (rc != SEAM_OK)
		return rc;
	rc = find_room(engine, ppool, bytes, growth);
	if (rc == SEAM_OK) {
		rc = seam__view_map(
			&engine->memory, growth->view, growth->offset, growth->chunks, growth->count, growth->mappings);
		if (rc != SEAM_OK)
			drop_view(engine, growth);
	}
	if (rc != SEAM_OK)
		drop_chunks(&engine->memory, growth);
	return rc;
}

static void commit(struct seam_engine *engine, struct seam_ppool *ppool, const struct growth *growth)
{
	struct seam_view *view = growth->view;
	if (growth->new_view) {
		seam__view_list(&engine->memory, view);
		TAILQ_INSERT_TAIL(&ppool->homes, view, link);
	}
	seam__view_map_commit(&engine->memory, view, growth->offset, growth->mappings, growth->count);
	for (uint32_t i = 0; i < growth->count; i++) {
		struct seam_chunk *chunk = growth->chunks[i];
		chunk->home = chunk->owner = view;
		chunk->home_slot = growth->mappings[i]->slot;
		seam__chunk_list(&engine->memory, chunk);
	}
	seam__log(SEAM_LOG_DEBUG, "grew by %" PRIu32 " chunks: %" PRIu64 " bytes are reserved", growth->count,
		engine->memory.reserved_bytes);
}

enum seam_rc seam__grow_units(struct seam_engine *engine, struct seam_ppool *ppool, uint64_t bytes, uint64_t unit_bytes)
{
	struct growth growth = {.unit_bytes = unit_bytes};
	const uint32_t most = (uint32_t)seam__bits_div_up(bytes, unit_bytes);
	enum seam_rc rc = seam__slab_reserve(&engine->block_slab, 1);
	if (rc != SEAM_OK)
		return rc;
	growth.chunks = seam__meta_array(engine->meta, most, sizeof(struct seam_chunk *));
	growth.mappings = seam__meta_array(engine->meta, most, sizeof(struct seam_mapping *));
	rc = SEAM_OOM_META;
	if (growth.chunks != NULL && growth.mappings != NULL) {
		seam__mutex_unlock(&engine->lock);
		rc = call(engine, ppool, bytes, &growth);
		seam__mutex_lock(&engine->lock);
	}
	if (rc == SEAM_OK) {
		commit(engine, ppool, &growth);
		struct seam_block *node = seam__slab_get_reserved(&engine->block_slab);
		seam__ppool_add_free(growth.view, node, growth.offset, bytes, NULL, 0);
	} else {
		seam__slab_unreserve(&engine->block_slab, 1);
	}
	seam__meta_free(engine->meta, growth.chunks, most * sizeof(struct seam_chunk *));
	seam__meta_free(engine->meta, growth.mappings, most * sizeof(struct seam_mapping *));
	return rc;
}

/* In chunks of the size for the request. */
static enum seam_rc grow_at_end(
	struct seam_engine *engine, struct seam_ppool *ppool, uint64_t bytes, uint64_t request_bytes)
{
	const bool is_one = ppool->class == SEAM_CLASS_CONTIGUOUS;
	return seam__grow_units(
		engine, ppool, bytes, is_one ? bytes : seam__grow_chunk_bytes(engine, ppool, bytes, request_bytes));
}

/* Fills one hole with a chunk of its size. */
static enum seam_rc fill_hole(struct seam_engine *engine, struct seam_block *hole)
{
	struct seam_chunk *chunk = NULL;
	struct seam_mapping *mapping = NULL;
	struct seam_view *view = hole->view;
	struct growth growth = {.view = view, .offset = hole->offset, .chunks = &chunk, .mappings = &mapping};
	seam__mutex_unlock(&engine->lock);
	enum seam_rc rc = seam__chunk_create(&engine->memory, hole->bytes, &chunk);
	if (rc == SEAM_OK) {
		growth.count = 1;
		rc = seam__view_map(&engine->memory, view, hole->offset, &chunk, 1, &mapping);
		if (rc != SEAM_OK)
			drop_chunks(&engine->memory, &growth);
	}
	seam__mutex_lock(&engine->lock);
	if (rc == SEAM_OK) {
		commit(engine, view->ppool, &growth);
		seam__hole_remove(hole);
		seam__ppool_put(hole, NULL, 0);
	}
	return rc;
}

/* The first hole behind `hole` (NULL: of all) that takes no more than `bytes`. O(holes). */
static struct seam_block *next_hole(struct seam_ppool *ppool, struct seam_block *hole, uint64_t bytes)
{
	do
		hole = bytes == 0 ? NULL : seam__hole_next(ppool, hole);
	while (hole != NULL && hole->bytes > bytes);
	return hole;
}

/* The first of a run of holes that touch and have at least `bytes` together: the run with the fewest. NULL: there is
 * none. O(holes). */
static struct seam_block *find_holes(struct seam_ppool *ppool, uint64_t bytes, uint64_t *ret_bytes)
{
	struct seam_block *best = NULL, *first = NULL, *hole = NULL;
	uint64_t run_bytes = 0;
	while ((hole = seam__hole_next(ppool, hole)) != NULL && (best == NULL || *ret_bytes > bytes)) {
		const struct seam_block *before = seam__block_before(hole);
		if (before == NULL || before->is != SEAM_IS_HOLE) {
			first = hole;
			run_bytes = 0;
		}
		run_bytes += hole->bytes;
		for (; run_bytes - first->bytes >= bytes; first = TAILQ_NEXT(first, link))
			run_bytes -= first->bytes;
		if (run_bytes >= bytes && (best == NULL || run_bytes < *ret_bytes)) {
			best = first;
			*ret_bytes = run_bytes;
		}
	}
	return best;
}

/* Fills a run of holes from `hole` on. Holes come and go under `change` only, so that the next stays what it is. */
static enum seam_rc fill_holes(struct seam_engine *engine, struct seam_block *hole, uint64_t bytes)
{
	enum seam_rc rc = SEAM_OK;
	while (rc == SEAM_OK && bytes > 0) {
		struct seam_block *next = TAILQ_NEXT(hole, link);
		bytes -= hole->bytes;
		rc = fill_hole(engine, hole);
		hole = next;
	}
	return rc;
}

/* Growth that has to serve the request alone: where it leaves nothing over it takes holes, so that the addresses in use
 * do not grow with the number of trims (I6); otherwise it does so if addresses are short. */
static enum seam_rc grow_alone(
	struct seam_engine *engine, struct seam_ppool *ppool, uint64_t bytes, uint64_t request_bytes)
{
	uint64_t hole_bytes = 0;
	struct seam_block *hole = find_holes(ppool, bytes, &hole_bytes);
	if (hole != NULL && hole_bytes == bytes)
		return fill_holes(engine, hole, hole_bytes);
	enum seam_rc rc = grow_at_end(engine, ppool, bytes, request_bytes);
	return rc == SEAM_OOM_VA && hole != NULL ? fill_holes(engine, hole, hole_bytes) : rc;
}

enum seam_rc seam__grow(
	struct seam_engine *engine, struct seam_ppool *ppool, uint64_t bytes, uint64_t request_bytes, bool at_end)
{
	bytes = seam__bits_align_up(bytes, engine->memory.granularity_bytes);
	if (at_end && bytes >= request_bytes)
		return grow_alone(engine, ppool, bytes, request_bytes);
	struct seam_block *hole = at_end ? NULL : next_hole(ppool, NULL, bytes);
	while (hole != NULL && bytes > 0) {
		bytes -= hole->bytes;
		struct seam_block *next =
			next_hole(ppool, hole, bytes); /* a hole until it is filled: see fill_holes() */
		enum seam_rc rc = fill_hole(engine, hole);
		if (rc != SEAM_OK)
			return rc;
		hole = next;
	}
	return bytes == 0 ? SEAM_OK : grow_at_end(engine, ppool, bytes, request_bytes);
}
