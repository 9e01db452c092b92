/* ppool.c: see ppool.h. */
#include "ppool.h"

#include "check.h"
#include "meta.h"

void seam__ppool_init(struct seam_ppool *ppool, enum seam_class class, uint64_t private_id, struct seam_slab *block_slab)
{
	*ppool = (struct seam_ppool){.class = class, .private_id = private_id, .block_slab = block_slab};
	TAILQ_INIT(&ppool->homes);
	TAILQ_INIT(&ppool->spool);
}

void seam__ppool_fini(struct seam_ppool *ppool, struct seam_meta *meta)
{
	SEAM_ASSERT(TAILQ_EMPTY(&ppool->homes) && TAILQ_EMPTY(&ppool->spool));
	seam__meta_free(meta, ppool->of_stream, ppool->stream_capacity * sizeof *ppool->of_stream);
}

enum seam_rc seam__ppool_reserve_streams(struct seam_ppool *ppool, struct seam_meta *meta, uint32_t streams)
{
	if (streams <= ppool->stream_capacity)
		return SEAM_OK;
	uint32_t capacity = ppool->stream_capacity == 0 ? 4 : ppool->stream_capacity;
	while (capacity < streams)
		capacity *= 2;
	struct seam_fit *fits = seam__meta_resize(meta, ppool->of_stream, ppool->stream_capacity * sizeof *fits,
	                                          capacity * sizeof *fits);
	if (fits == NULL)
		return SEAM_OOM_META;
	ppool->of_stream = fits;
	ppool->stream_capacity = capacity;
	return SEAM_OK;
}

/* Whether two free blocks may become one. What every stream may use is not given to one of several streams as long as it holds a whole chunk:
 * the others could no longer stitch it. See seam__ppool_join(). */
static bool may_merge(const struct seam_block *a, const struct seam_block *b)
{
	if (b == NULL || b->is != SEAM_IS_FREE)
		return false;
	if (a->stream == b->stream)
		return true;
	if (a->stream != NULL && b->stream != NULL)
		return false;
	const struct seam_stream *stream = a->stream != NULL ? a->stream : b->stream;
	return stream->owner->count == 1 || !seam__block_has_whole_slot(a->stream == NULL ? a : b);
}

/* Adds `other`, out of its fit and list, to the extent of `block`, which is in no fit. */
static void absorb(struct seam_ppool *ppool, struct seam_block *block, struct seam_block *other)
{
	seam__fit_remove(seam__ppool_fit(ppool, other->stream), other);
	if (other->stream != NULL) {
		if (block->stream == NULL || other->stamp > block->stamp)
			block->stamp = other->stamp;
		seam__block_set_stream(block, other->stream);
	}
	uint64_t offset = other->offset < block->offset ? other->offset : block->offset;
	seam__block_resize(block, offset, block->bytes + other->bytes);
	seam__block_remove(ppool->block_slab, other);
}

struct seam_block *seam__ppool_put(struct seam_block *node, struct seam_stream *stream, uint64_t stamp)
{
	struct seam_ppool *ppool = node->view->ppool;
	node->is = SEAM_IS_FREE;
	if (stream != NULL && seam__stream_passed(stream, stamp))
		stream = NULL; /* nothing would look at it again: the stream passes no more */
	node->stamp = stream == NULL ? 0 : stamp;
	seam__block_set_stream(node, stream);
	struct seam_block *other;
	/* Loops: a neighbour that binds the node to its stream may make it fit the next. */
	do {
		while (may_merge(node, other = seam__block_before(node)))
			absorb(ppool, node, other);
		while (may_merge(node, other = seam__block_after(node)))
			absorb(ppool, node, other);
	} while (may_merge(node, seam__block_before(node)));
	seam__fit_insert(seam__ppool_fit(ppool, node->stream), node);
	return node;
}

struct seam_block *seam__ppool_add_free(struct seam_view *view, struct seam_block *node, uint64_t offset, uint64_t bytes,
                                        struct seam_stream *stream, uint64_t stamp)
{
	/* Searched from the end: growth adds there, and stitched views have a handful of blocks. */
	struct seam_block *after = TAILQ_LAST(&view->blocks, seam_blocks);
	while (after != NULL && after->offset >= offset)
		after = TAILQ_PREV(after, seam_blocks, link);
	seam__block_insert(node, view, after, offset, bytes, SEAM_IS_FREE);
	return seam__ppool_put(node, stream, stamp);
}

struct seam_block *seam__ppool_take(struct seam_block *block, uint64_t bytes)
{
	struct seam_ppool *ppool = block->view->ppool;
	struct seam_fit *fit = seam__ppool_fit(ppool, block->stream);
	seam__fit_remove(fit, block);
	if (bytes == block->bytes)
		return block;
	SEAM_ASSERT(bytes < block->bytes);
	struct seam_block *rest = seam__slab_get_reserved(ppool->block_slab);
	seam__block_insert(rest, block->view, block, block->offset + bytes, block->bytes - bytes, SEAM_IS_FREE);
	rest->stamp = block->stamp;
	seam__block_set_stream(rest, block->stream);
	seam__block_resize(block, block->offset, bytes);
	seam__fit_insert(fit, rest);
	return block;
}

void seam__ppool_lend(struct seam_block *block, uint32_t slot)
{
	struct seam_view *view = block->view;
	struct seam_ppool *ppool = view->ppool;
	struct seam_fit *fit = seam__ppool_fit(ppool, block->stream);
	uint64_t from = view->slots[slot].offset, to = from + view->slots[slot].bytes;
	uint64_t end = block->offset + block->bytes;
	SEAM_ASSERT(block->offset <= from && to <= end);
	seam__fit_remove(fit, block);

	struct seam_block *lost = block;
	if (block->offset < from) {
		struct seam_block *left = block;
		lost = seam__slab_get_reserved(ppool->block_slab);
		seam__block_insert(lost, view, left, from, to - from, SEAM_IS_LOST);
		lost->stamp = left->stamp;
		seam__block_set_stream(lost, left->stream);
		seam__block_resize(left, left->offset, from - left->offset);
		seam__fit_insert(fit, left);
	}
	if (to < end) {
		struct seam_block *right = seam__slab_get_reserved(ppool->block_slab);
		seam__block_insert(right, view, lost, to, end - to, SEAM_IS_FREE);
		right->stamp = lost->stamp;
		seam__block_set_stream(right, lost->stream);
		seam__fit_insert(fit, right);
	}
	seam__block_resize(lost, from, to - from);
	lost->is = SEAM_IS_LOST;
	lost->chunk = view->slots[slot].mapping->chunk;
	lost->chunk->owner = NULL;
	lost->chunk->lent = lost;
}

void seam__ppool_return(struct seam_chunk *chunk, struct seam_stream *stream, uint64_t stamp)
{
	struct seam_block *lost = chunk->lent;
	SEAM_ASSERT(lost != NULL && lost->is == SEAM_IS_LOST);
	chunk->lent = NULL;
	chunk->owner = chunk->home;
	seam__ppool_put(lost, stream, stamp);
}

void seam__ppool_settle(struct seam_block *block)
{
	struct seam_view *view = block->view;
	struct seam_ppool *ppool = view->ppool;
	SEAM_ASSERT(view->stitched && block->is == SEAM_IS_FREE);
	uint32_t first = 0, count = seam__block_whole_slots(view, block->offset, block->bytes, &first);
	if (count == 0)
		return;
	uint64_t from = view->slots[first].offset;
	uint64_t to = view->slots[first + count - 1].offset + view->slots[first + count - 1].bytes;
	uint64_t start = block->offset, end = block->offset + block->bytes;
	struct seam_stream *stream = block->stream;
	uint64_t stamp = block->stamp;

	seam__fit_remove(seam__ppool_fit(ppool, stream), block);
	for (uint32_t i = first; i < first + count; i++)
		seam__ppool_return(view->slots[i].mapping->chunk, stream, stamp);
	view->owned -= count;
	if (start == from && to == end) {
		seam__block_remove(ppool->block_slab, block);
		return;
	}
	if (start < from && to < end) {
		/* Two pieces of one node. A block that contains whole chunks begins where one does, so the piece in front of them was a
		 * neighbour with a node of its own, which the slab got back in the merge just before: this cannot fail. */
		struct seam_block *right = seam__slab_get(ppool->block_slab);
		SEAM_VERIFY(right != NULL);
		seam__block_insert(right, view, block, to, end - to, SEAM_IS_FREE);
		right->stamp = stamp;
		seam__block_set_stream(right, stream);
		seam__fit_insert(seam__ppool_fit(ppool, stream), right);
	}
	seam__block_resize(block, start < from ? start : to, start < from ? from - start : end - to);
	seam__fit_insert(seam__ppool_fit(ppool, stream), block);
}

/* Gives a free block of `stream` another one (or none), with merging. Its node may go; returns its bytes. */
static uint64_t retag(struct seam_block *block, struct seam_stream *stream, uint64_t stamp)
{
	uint64_t bytes = block->bytes;
	seam__fit_remove(seam__ppool_fit(block->view->ppool, block->stream), block);
	struct seam_block *merged = seam__ppool_put(block, stream, stamp);
	if (merged->view->stitched)
		seam__ppool_settle(merged);
	return bytes;
}

uint64_t seam__ppool_collect(struct seam_ppool *ppool, struct seam_stream *stream)
{
	struct seam_fit *fit = &ppool->of_stream[stream->index];
	uint64_t bytes = 0;
	struct seam_block *block = seam__fit_next(fit, NULL);
	while (block != NULL) {
		if (!seam__stream_passed(stream, block->stamp)) {
			block = seam__fit_next(fit, block);
			continue;
		}
		/* Merging may take the next block, or the one after it: the walk goes on by key. What merging makes for this fit has not passed. */
		const struct seam_block key = {.bytes = block->bytes, .view = block->view, .offset = block->offset};
		bytes += retag(block, NULL, 0);
		block = seam__fit_behind(fit, &key);
	}
	return bytes;
}

/* Whether the block is free for `stream`. */
static bool is_free_for(const struct seam_block *block, const struct seam_stream *stream)
{
	return block != NULL && block->is == SEAM_IS_FREE && (block->stream == NULL || block->stream == stream);
}

/* Whether a common block stands in front of this one in the same run. Between two of them there is exactly one of the stream: equals are
 * one block. */
static bool continues_run(const struct seam_block *block, const struct seam_stream *stream)
{
	const struct seam_block *before = seam__block_before(block);
	return is_free_for(before, stream) && is_free_for(seam__block_before(before), stream);
}

/* Bytes of the free blocks around `block` that are free for `stream`, its own included. */
static uint64_t measure_run(const struct seam_block *block, const struct seam_stream *stream)
{
	uint64_t bytes = block->bytes;
	const struct seam_block *other;
	for (other = seam__block_before(block); is_free_for(other, stream); other = seam__block_before(other))
		bytes += other->bytes;
	for (other = seam__block_after(block); is_free_for(other, stream); other = seam__block_after(other))
		bytes += other->bytes;
	return bytes;
}

/* Binds blocks of the run to `stream` until one of them has `bytes`. Between two blocks of the stream there is one without, so each step
 * makes one block of two or three. */
static void join_run(struct seam_block *block, struct seam_stream *stream, uint64_t bytes)
{
	while (block->bytes < bytes) {
		struct seam_block *before = seam__block_before(block), *after = seam__block_after(block);
		struct seam_block *other = is_free_for(before, stream) ? before : after;
		const struct seam_block *bound = block->stream == stream ? block : other;
		struct seam_block *common = block->stream == stream ? other : block;
		uint64_t stamp = bound->stamp;
		seam__fit_remove(seam__ppool_fit(common->view->ppool, NULL), common);
		block = seam__ppool_put(common, stream, stamp);
	}
}

bool seam__ppool_join(struct seam_ppool *ppool, struct seam_stream *stream, uint64_t bytes)
{
	if (ppool->of_stream[stream->index].count == 0)
		return false;
	seam__ppool_collect(ppool, stream); /* what has passed must not bind others */
	struct seam_block *best = NULL, *block = NULL;
	uint64_t best_bytes = 0;
	while ((block = seam__fit_next(&ppool->any, block)) != NULL) {
		/* Stitched: without a whole chunk it has joined its neighbours already. And a run is measured once: runs may be long. */
		if (block->view->stitched || continues_run(block, stream))
			continue;
		uint64_t run_bytes = measure_run(block, stream);
		if (run_bytes >= bytes && (best == NULL || run_bytes < best_bytes)) {
			best = block;
			best_bytes = run_bytes;
		}
	}
	if (best != NULL)
		join_run(best, stream, bytes);
	return best != NULL;
}

void seam__ppool_adopt(struct seam_ppool *ppool, struct seam_stream *from, struct seam_stream *to, uint64_t stamp)
{
	struct seam_fit *fit = &ppool->of_stream[from->index];
	struct seam_block *block;
	while ((block = seam__fit_next(fit, NULL)) != NULL)
		retag(block, to, stamp);
}

static const char *check_views(const struct seam_ppool *ppool, const struct seam_views *views, uint64_t *free_blocks)
{
	const struct seam_view *view;
	TAILQ_FOREACH(view, views, link) {
		if (view->ppool != ppool || view->stitched != (views == &ppool->spool))
			return "P3: a view in the wrong list";
		const char *broken = seam__blocks_check(view);
		if (broken != NULL)
			return broken;
		const struct seam_block *block;
		TAILQ_FOREACH(block, &view->blocks, link) {
			if (block->is != SEAM_IS_FREE)
				continue;
			(*free_blocks)++;
			uint32_t first = 0;
			if (view->stitched && seam__block_whole_slots(view, block->offset, block->bytes, &first) != 0)
				return "P2: a whole chunk is free in a stitched view";
		}
	}
	return NULL;
}

const char *seam__ppool_check(struct seam_ppool *ppool)
{
	uint64_t free_blocks = 0;
	const char *broken = check_views(ppool, &ppool->homes, &free_blocks);
	if (broken == NULL)
		broken = check_views(ppool, &ppool->spool, &free_blocks);
	if (broken == NULL)
		broken = seam__fit_check(&ppool->any);
	uint64_t in_fits = ppool->any.count;
	for (uint32_t i = 0; broken == NULL && i < ppool->stream_capacity; i++) {
		in_fits += ppool->of_stream[i].count;
		broken = seam__fit_check(&ppool->of_stream[i]);
	}
	if (broken != NULL)
		return broken;
	return in_fits == free_blocks ? NULL : "P1: a free block is in no fit, or in two";
}
