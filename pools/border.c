/* border.c: see border.h. */
#include "border.h"

static bool is_free_of(const struct seam_block *block, bool bound)
{
	return block != NULL && block->is == SEAM_IS_FREE && (block->stream != NULL) == bound;
}

bool seam__border_touches(const struct seam_block *block)
{
	return is_free_of(seam__block_before(block), true) || is_free_of(seam__block_after(block), true);
}

static void note(struct seam_block *block)
{
	if (block->at_border)
		return;
	block->at_border = true;
	TAILQ_INSERT_TAIL(&block->view->ppool->any.borders, block, border);
}

void seam__border_note_slow(struct seam_block *block)
{
	if (block->view->stitched)
		return; /* without a whole chunk it has joined its neighbours already */
	if (block->stream == NULL) {
		if (seam__border_touches(block))
			note(block);
		return;
	}
	struct seam_block *before = seam__block_before(block), *after = seam__block_after(block);
	if (is_free_of(before, false))
		note(before);
	if (is_free_of(after, false))
		note(after);
}

/* Whether the block is free for `stream`. */
static bool is_free_for(const struct seam_block *block, const struct seam_stream *stream)
{
	return block != NULL && block->is == SEAM_IS_FREE && (block->stream == NULL || block->stream == stream);
}

/* Whether a common block stands in front of this one in the same run. Between two of them there is exactly one of the
 * stream: equals are one block. */
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

/* Binds blocks of the run to `stream` until one of them has `bytes`. Between two blocks of the stream there is one
 * without, so each step makes one block of two or three. */
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

bool seam__border_join(struct seam_ppool *ppool, struct seam_stream *stream, uint64_t bytes)
{
	struct seam_fit *own = &ppool->of_stream[stream->index];
	if (own->count == 0 || TAILQ_EMPTY(&ppool->any.borders))
		return false;
	if (own->collected != stream->passed) { /* what has passed must not bind others */
		seam__ppool_collect(ppool, stream);
		own->collected = stream->passed;
		if (seam__fit_find(&ppool->any, bytes) != NULL)
			return true;
	}
	struct seam_block *best = NULL, *block, *next;
	uint64_t best_bytes = 0;
	TAILQ_FOREACH_SAFE(block, &ppool->any.borders, border, next)
	{
		if (!seam__border_touches(block)) {
			TAILQ_REMOVE(&ppool->any.borders, block, border);
			block->at_border = false;
			continue;
		}
		if (continues_run(block, stream))
			continue; /* a run is measured once: runs may be long */
		uint64_t run_bytes = measure_run(block, stream);
		if (run_bytes < bytes || (best != NULL && run_bytes > best_bytes))
			continue;
		if (best == NULL || run_bytes < best_bytes || seam__block_compare(block, best) < 0) {
			best = block;
			best_bytes = run_bytes;
		}
	}
	if (best != NULL)
		join_run(best, stream, bytes);
	return best != NULL;
}
