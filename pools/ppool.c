/* ppool.c: see ppool.h. */
#include "ppool.h"

#include "border.h"
#include "check.h"
#include "hole.h"
#include "meta.h"

void seam__ppool_init(struct seam_ppool *ppool, enum seam_class class, uint64_t private_id, uint64_t limit_bytes,
	struct seam_slab *block_slab)
{
	*ppool = (struct seam_ppool){
		.class = class, .private_id = private_id, .limit_bytes = limit_bytes, .block_slab = block_slab};
	ppool->any.extents.limit_bytes = limit_bytes;
	TAILQ_INIT(&ppool->homes);
	TAILQ_INIT(&ppool->spool);
	TAILQ_INIT(&ppool->any.borders);
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
	struct seam_fit *fits = seam__meta_resize(
		meta, ppool->of_stream, ppool->stream_capacity * sizeof *fits, capacity * sizeof *fits);
	if (fits == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = ppool->stream_capacity; i < capacity; i++)
		fits[i].extents.limit_bytes = ppool->limit_bytes;
	ppool->of_stream = fits;
	ppool->stream_capacity = capacity;
	return SEAM_OK;
}

/* Whether two free blocks may become one. What every stream may use is not given to one of several streams as long as
 * it holds a whole chunk: the others could no longer stitch it. See seam__border_join(). */
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

/* The block, in no fit, is free as it is. */
static void enter(struct seam_block *block)
{
	seam__fit_insert(seam__ppool_fit(block->view->ppool, block->stream), block);
	seam__border_note(block);
}

/* And it is not fresh, for who goes on taking chunks of it. */
static void enter_known(struct seam_block *block)
{
	enter(block);
	seam__fit_look(seam__ppool_fit(block->view->ppool, block->stream), block);
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
	bool known = block->sizes != 0 && other->sizes != 0;
	block->sizes = known ? block->sizes | other->sizes : 0;
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
	enter(node);
	return node;
}

struct seam_block *seam__ppool_add_free(struct seam_view *view, struct seam_block *node, uint64_t offset,
	uint64_t bytes, struct seam_stream *stream, uint64_t stamp)
{
	/* Searched from the end: growth adds there, and stitched views have a handful of blocks. */
	struct seam_block *after = TAILQ_LAST(&view->blocks, seam_blocks);
	while (after != NULL && after->offset >= offset)
		after = TAILQ_PREV(after, seam_blocks, link);
	seam__block_insert(node, view, after, offset, bytes, SEAM_IS_FREE);
	return seam__ppool_put(node, stream, stamp);
}

/* The free node, behind the block in its view's list, is a part of what the block was. */
static void inherit(struct seam_block *node, const struct seam_block *block)
{
	node->stamp = block->stamp;
	node->sizes = block->sizes;
	node->first_slot = block->first_slot;
	seam__block_set_stream(node, block->stream);
}

struct seam_block *seam__ppool_take(struct seam_block *block, uint64_t bytes)
{
	struct seam_ppool *ppool = block->view->ppool;
	seam__fit_remove(seam__ppool_fit(ppool, block->stream), block);
	if (bytes == block->bytes)
		return block;
	SEAM_ASSERT(bytes < block->bytes);
	struct seam_block *rest = seam__slab_get_reserved(ppool->block_slab);
	seam__block_insert(rest, block->view, block, block->offset + bytes, block->bytes - bytes, SEAM_IS_FREE);
	inherit(rest, block);
	seam__block_resize(block, block->offset, bytes);
	enter(rest);
	return block;
}

struct seam_block *seam__ppool_cut(struct seam_block *block, uint64_t offset, uint64_t bytes)
{
	struct seam_ppool *ppool = block->view->ppool;
	uint64_t front_bytes = offset - block->offset;
	SEAM_ASSERT(bytes > 0 && block->offset <= offset && offset + bytes <= block->offset + block->bytes);
	if (front_bytes == 0)
		return seam__ppool_take(block, bytes);
	seam__fit_remove(seam__ppool_fit(ppool, block->stream), block);
	struct seam_block *middle = seam__slab_get_reserved(ppool->block_slab);
	seam__block_insert(middle, block->view, block, offset, block->bytes - front_bytes, SEAM_IS_FREE);
	inherit(middle, block);
	seam__block_resize(block, block->offset, front_bytes);
	if (middle->bytes > bytes) {
		struct seam_block *behind = seam__slab_get_reserved(ppool->block_slab);
		seam__block_insert(behind, block->view, middle, offset + bytes, middle->bytes - bytes, SEAM_IS_FREE);
		inherit(behind, middle);
		seam__block_resize(middle, offset, bytes);
		enter(behind);
	}
	enter(block);
	return middle;
}

static void lose(struct seam_block *block, uint32_t slot)
{
	const struct seam_slot *at = &block->view->slots[slot];
	seam__block_resize(block, at->offset, at->bytes);
	block->is = SEAM_IS_LOST;
	block->sizes = UINT64_C(1) << seam__extent_size_class(at->bytes);
	block->first_slot = slot;
	block->chunk = at->mapping->chunk;
	block->chunk->owner = NULL;
	block->chunk->lent = block;
}

void seam__ppool_lend(struct seam_block *block, uint32_t slot, uint32_t count)
{
	struct seam_view *view = block->view;
	struct seam_ppool *ppool = view->ppool;
	const struct seam_slot *last = &view->slots[slot + count - 1];
	uint64_t from = view->slots[slot].offset, to = last->offset + last->bytes, end = block->offset + block->bytes;
	SEAM_ASSERT(block->offset <= from && to <= end);
	seam__fit_remove(seam__ppool_fit(ppool, block->stream), block);

	bool left = block->offset < from;
	uint64_t sizes = block->sizes;
	struct seam_block *lost = block;
	for (uint32_t i = slot; i < slot + count; i++) {
		if (left || i > slot) {
			struct seam_block *node = seam__slab_get_reserved(ppool->block_slab);
			seam__block_insert(node, view, lost, view->slots[i].offset, view->slots[i].bytes, SEAM_IS_LOST);
			inherit(node, block);
			lost = node;
		}
		lose(lost, i);
	}
	if (to < end) {
		struct seam_block *right = seam__slab_get_reserved(ppool->block_slab);
		seam__block_insert(right, view, lost, to, end - to, SEAM_IS_FREE);
		inherit(right, block);
		right->sizes = sizes;
		right->first_slot = slot + count;
		enter_known(right);
	}
	if (left) {
		seam__block_resize(block, block->offset, from - block->offset);
		enter_known(block);
	}
}

void seam__ppool_return(struct seam_block *lost, uint32_t count, struct seam_stream *stream, uint64_t stamp)
{
	struct seam_ppool *ppool = lost->view->ppool;
	uint64_t sizes = 0, bytes = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct seam_block *block = i == 0 ? lost : TAILQ_NEXT(lost, link);
		SEAM_ASSERT(block->is == SEAM_IS_LOST && block->offset == lost->offset + bytes);
		block->chunk->lent = NULL;
		block->chunk->owner = block->view;
		sizes |= block->sizes;
		bytes += block->bytes;
		if (i > 0)
			seam__block_remove(ppool->block_slab, block);
	}
	lost->sizes = sizes;
	seam__block_resize(lost, lost->offset, bytes);
	seam__ppool_put(lost, stream, stamp);
}

/* The chunks of a stitched view's slots from `first` on go home: as many as lie side by side there. Returns how many.
 */
static uint32_t return_run(
	const struct seam_view *view, uint32_t first, uint32_t behind, struct seam_stream *stream, uint64_t stamp)
{
	const struct seam_chunk *chunk = view->slots[first].mapping->chunk;
	const struct seam_view *home = chunk->home;
	uint32_t count = 1;
	while (first + count < behind) {
		const struct seam_chunk *next = view->slots[first + count].mapping->chunk;
		if (next->home != home || next->home_slot != chunk->home_slot + count)
			break;
		count++;
	}
	seam__ppool_return(chunk->lent, count, stream, stamp);
	return count;
}

void seam__ppool_settle(struct seam_block *block)
{
	struct seam_view *view = block->view;
	struct seam_ppool *ppool = view->ppool;
	SEAM_ASSERT(view->stitched && block->is == SEAM_IS_FREE);
	uint32_t first = 0, count = seam__block_whole_slots(block, &first);
	if (count == 0)
		return;
	uint64_t from = view->slots[first].offset;
	uint64_t to = view->slots[first + count - 1].offset + view->slots[first + count - 1].bytes;
	uint64_t start = block->offset, end = block->offset + block->bytes;
	struct seam_stream *stream = block->stream;
	uint64_t stamp = block->stamp;

	seam__fit_remove(seam__ppool_fit(ppool, stream), block);
	for (uint32_t i = first; i < first + count;)
		i += return_run(view, i, first + count, stream, stamp);
	view->owned -= count;
	seam__spool_update(&ppool->idle, view);
	if (start == from && to == end) {
		seam__block_remove(ppool->block_slab, block);
		return;
	}
	struct seam_block *right = to < end ? block : NULL;
	if (start < from && to < end) {
		/* Two pieces of one node. A block that contains whole chunks begins where one does, so the piece in
		 * front of them was a neighbour with a node of its own, which the slab got back in the merge just
		 * before: this cannot fail. */
		right = seam__slab_get(ppool->block_slab);
		SEAM_VERIFY(right != NULL);
		seam__block_insert(right, view, block, to, end - to, SEAM_IS_FREE);
		seam__block_set_stream(right, stream);
	} else if (right != NULL) {
		seam__block_resize(right, to, end - to);
	}
	if (start < from)
		seam__block_resize(block, start, from - start);
	/* A piece has no whole chunk: it joins the neighbour that the block was kept apart from, and may make a chunk
	 * of that one whole. Each such chunk reaches to what has just gone home, so there is one piece at most then. */
	if (right != NULL)
		seam__ppool_settle(seam__ppool_put(right, stream, stamp));
	if (start < from)
		seam__ppool_settle(seam__ppool_put(block, stream, stamp));
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
		/* Merging may take the next block, or the one after it: the walk goes on by key. What merging makes for
		 * this fit has not passed. */
		const struct seam_block key = {.bytes = block->bytes, .view = block->view, .offset = block->offset};
		bytes += retag(block, NULL, 0);
		block = seam__fit_behind(fit, &key);
	}
	return bytes;
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
	TAILQ_FOREACH(view, views, link)
	{
		if (view->ppool != ppool || view->stitched != (views == &ppool->spool))
			return "PP4: a view in the wrong list";
		const char *broken = seam__blocks_check(view);
		if (broken == NULL)
			broken = seam__home_extents_check(view);
		if (broken != NULL)
			return broken;
		const struct seam_block *block;
		TAILQ_FOREACH(block, &view->blocks, link)
		{
			if (block->is != SEAM_IS_FREE)
				continue;
			(*free_blocks)++;
			if (!view->stitched && block->stream == NULL && seam__border_touches(block) &&
				!block->at_border)
				return "PP3: a block at a border is not in the list";
			uint32_t first = 0;
			if (view->stitched && seam__block_whole_slots(block, &first) != 0)
				return "PP2: a whole chunk is free in a stitched view";
			if (view->stitched && block->stream == NULL && seam__border_touches(block))
				return "PP2: a part of a chunk in a stitched view has not joined its neighbour";
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
		broken = seam__spool_check(&ppool->idle, &ppool->spool);
	if (broken == NULL)
		broken = seam__holes_check(ppool);
	if (broken == NULL)
		broken = seam__fit_check(&ppool->any);
	uint64_t in_fits = ppool->any.count;
	for (uint32_t i = 0; broken == NULL && i < ppool->stream_capacity; i++) {
		in_fits += ppool->of_stream[i].count;
		broken = seam__fit_check(&ppool->of_stream[i]);
	}
	if (broken != NULL)
		return broken;
	return in_fits == free_blocks ? NULL : "PP1: a free block is in no fit, or in two";
}
