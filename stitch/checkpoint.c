/* checkpoint.c: see checkpoint.h. */
#include "checkpoint.h"

#include "bits.h"
#include "change.h"
#include "check.h"
#include "claim.h"
#include "meta.h"
#include "uses.h"

static uint64_t count_live(const struct seam_views *views)
{
	uint64_t count = 0;
	const struct seam_view *view;
	TAILQ_FOREACH(view, views, link)
	{
		const struct seam_block *block;
		TAILQ_FOREACH(block, &view->blocks, link)
		count += block->is == SEAM_IS_LIVE;
	}
	return count;
}

/* Writes down the live blocks of some views behind the first `count` of `kept`. Returns how many there are now. */
static uint64_t keep_live(const struct seam_views *views, struct seam_kept *kept, uint64_t count)
{
	const struct seam_view *view;
	TAILQ_FOREACH(view, views, link)
	{
		const struct seam_block *block;
		TAILQ_FOREACH(block, &view->blocks, link)
		{
			if (block->is != SEAM_IS_LIVE)
				continue;
			kept[count++] = (struct seam_kept){block->va, block->requested_bytes, block->tag, block->stream,
				block->serial, block->captured, NULL};
			seam__stream_ref(block->stream);
		}
	}
	return count;
}

enum seam_rc seam__checkpoint_take(
	struct seam_engine *engine, const struct seam_group *group, struct seam_kept **ret_kept, uint64_t *ret_count)
{
	uint64_t count = 0;
	for (int i = 0; i < SEAM_CLASS_COUNT; i++)
		count += count_live(&group->classes[i].homes) + count_live(&group->classes[i].spool);
	struct seam_kept *kept = NULL;
	if (count > 0) {
		kept = seam__meta_array(engine->meta, count, sizeof *kept);
		if (kept == NULL)
			return SEAM_OOM_META;
	}
	*ret_kept = kept;
	*ret_count = count;
	count = 0;
	for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
		count = keep_live(&group->classes[i].homes, kept, count);
		count = keep_live(&group->classes[i].spool, kept, count);
	}
	return SEAM_OK;
}

void seam__checkpoint_drop(struct seam_engine *engine, struct seam_kept *kept, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		seam__stream_unref(kept[i].stream);
	seam__meta_free(engine->meta, kept, count * sizeof *kept);
}

static struct seam_view *find_among(const struct seam_views *views, uint64_t va)
{
	struct seam_view *view;
	TAILQ_FOREACH(view, views, link)
	{
		if (va - view->va < view->used_bytes)
			return view;
	}
	return NULL;
}

/* The view of the group that has memory at an address. last: where the one before was found, or NULL. */
static struct seam_view *find_view(const struct seam_group *group, uint64_t va, struct seam_view *last)
{
	if (last != NULL && va - last->va < last->used_bytes)
		return last;
	struct seam_view *view = NULL;
	for (int i = 0; i < SEAM_CLASS_COUNT && view == NULL; i++) {
		view = find_among(&group->classes[i].homes, va);
		if (view == NULL)
			view = find_among(&group->classes[i].spool, va);
	}
	return view;
}

/* What the block takes: as when it was asked for. */
static uint64_t taken_bytes(
	const struct seam_engine *engine, const struct seam_view *view, const struct seam_kept *kept)
{
	const bool contiguous = view->ppool->class == SEAM_CLASS_CONTIGUOUS;
	return seam__bits_align_up(
		kept->requested_bytes, contiguous ? engine->memory.granularity_bytes : SEAM_BLOCK_BYTES);
}

/* Whether there is a chunk in each of the slots. */
static bool is_mapped(const struct seam_view *view, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; view->holes != 0 && i <= last; i++) {
		if (view->slots[i].mapping == NULL)
			return false;
	}
	return true;
}

/* Adds the nodes that placing the blocks takes at most. */
static enum seam_rc count_nodes(const struct seam_engine *engine, const struct seam_group *group,
	const struct seam_kept *kept, uint64_t count, uint64_t *nodes)
{
	struct seam_view *view = NULL;
	for (uint64_t i = 0; i < count; i++) {
		view = find_view(group, kept[i].va, view);
		if (view == NULL)
			return SEAM_NOT_FOUND;
		uint64_t offset = kept[i].va - view->va, bytes = taken_bytes(engine, view, &kept[i]);
		if (offset % SEAM_BLOCK_BYTES != 0)
			return SEAM_INVALID;
		if (bytes > view->used_bytes - offset)
			return SEAM_NOT_FOUND;
		uint32_t first = seam__view_slot_at(view, offset), last = seam__view_slot_at(view, offset + bytes - 1);
		if (!is_mapped(view, first, last))
			return SEAM_NOT_FOUND;
		/* What is contiguous is a chunk of its own, whole. */
		if (view->ppool->class == SEAM_CLASS_CONTIGUOUS &&
			(view->slots[first].offset != offset || view->slots[first].bytes != bytes))
			return SEAM_INVALID;
		*nodes += 2 + (view->stitched ? 4 * (uint64_t)(last - first + 1) : 0);
	}
	return SEAM_OK;
}

/* Whether free memory of the group is bound to a stream: what touches it would be, too, when it is given back. */
static bool is_bound(const struct seam_group *group)
{
	for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
		const struct seam_ppool *ppool = &group->classes[i];
		for (uint32_t stream = 0; stream < ppool->stream_capacity; stream++) {
			if (ppool->of_stream[stream].count > 0)
				return true;
		}
	}
	return false;
}

/* Whether a stitched view owns the slot's chunk, or can: it is free at home. */
static bool can_own(const struct seam_view *view, uint32_t slot)
{
	const struct seam_chunk *chunk = view->slots[slot].mapping->chunk;
	return chunk->owner == view || seam__extent_find(chunk->home, chunk->home_slot) != NULL;
}

/* The view takes back those chunks of the slots that it does not own, and they are free there. */
static enum seam_rc own_slots(
	struct seam_engine *engine, struct seam_group *group, struct seam_view *view, uint32_t first, uint32_t last)
{
	for (int i = 0; i < SEAM_CLASS_COUNT; i++)
		seam__fit_index(&group->classes[i].any);
	for (uint32_t i = first; i <= last; i++) {
		if (!can_own(view, i))
			return SEAM_BUSY;
	}
	for (uint32_t i = first; i <= last; i++) {
		struct seam_chunk *chunk = view->slots[i].mapping->chunk;
		if (chunk->owner == view)
			continue;
		enum seam_rc rc = seam__claim(engine, &chunk, 1);
		SEAM_VERIFY(rc == SEAM_OK); /* there are nodes: see seam__checkpoint_restore() */
		const struct seam_ask ask = {.bytes = view->slots[i].bytes};
		seam__ppool_put(seam__own_run(engine, &ask, view, i, 1), NULL, 0);
	}
	return SEAM_OK;
}

/* The free block that contains the range, whose first slot's chunk the view owns; NULL: something else is there. */
static struct seam_block *find_free(const struct seam_view *view, uint64_t offset, uint64_t bytes)
{
	uint32_t slot = seam__view_slot_at(view, offset);
	if (view->slots[slot].mapping->chunk->owner != view)
		return NULL;
	struct seam_block *block = seam__block_at(view, slot);
	while (block->offset + block->bytes <= offset)
		block = TAILQ_NEXT(block, link);
	return block->is == SEAM_IS_FREE && offset + bytes <= block->offset + block->bytes ? block : NULL;
}

static enum seam_rc place(
	struct seam_engine *engine, struct seam_group *group, const struct seam_kept *kept, struct seam_view *view)
{
	uint64_t offset = kept->va - view->va, bytes = taken_bytes(engine, view, kept);
	if (view->stitched) {
		uint32_t last = seam__view_slot_at(view, offset + bytes - 1);
		enum seam_rc rc = own_slots(engine, group, view, seam__view_slot_at(view, offset), last);
		if (rc != SEAM_OK)
			return rc;
	}
	struct seam_block *block = find_free(view, offset, bytes);
	if (block == NULL)
		return SEAM_BUSY;
	struct seam_slab *slab = &engine->block_slab;
	uint64_t reserved = slab->reserved_objects;
	enum seam_rc rc = seam__slab_reserve(slab, 2);
	SEAM_VERIFY(rc == SEAM_OK); /* likewise */
	block = seam__ppool_cut(block, offset, bytes);
	seam__slab_unreserve(slab, slab->reserved_objects - reserved);
	const struct seam_ask ask = {
		.group = group,
		.bytes = bytes,
		.requested_bytes = kept->requested_bytes,
		.stream = kept->stream,
		.tag = kept->tag,
	};
	rc = seam__make_live(engine, &ask, block);
	SEAM_VERIFY(rc == SEAM_OK); /* seam__checkpoint_restore() made room */
	block->serial = kept->serial;
	block->captured = kept->captured; /* its view is pinned since then */
	block->uses = kept->uses;
	return SEAM_OK;
}

/* A stitched view keeps no whole chunk that is free (PP2). */
static void send_home(struct seam_view *view)
{
	struct seam_block *block = TAILQ_FIRST(&view->blocks);
	while (block != NULL) {
		if (block->is == SEAM_IS_FREE && seam__block_has_whole_slot(block)) {
			seam__ppool_settle(block);
			block = TAILQ_FIRST(&view->blocks); /* neighbours may have gone with it */
		} else {
			block = TAILQ_NEXT(block, link);
		}
	}
}

/* All or nothing: on an error those that were placed are given back. */
static enum seam_rc place_all(
	struct seam_engine *engine, struct seam_group *group, const struct seam_kept *kept, uint64_t count)
{
	enum seam_rc rc = SEAM_OK;
	struct seam_view *view = NULL;
	uint64_t placed = 0;
	while (placed < count && rc == SEAM_OK) {
		view = find_view(group, kept[placed].va, view);
		rc = place(engine, group, &kept[placed], view);
		placed += rc == SEAM_OK;
	}
	if (rc == SEAM_OK)
		return rc;
	for (uint64_t i = 0; i < placed; i++)
		seam__engine_free_passed(engine, seam__engine_find(engine, kept[i].va));
	/* The chunks of the view that could not be served. */
	if (view->stitched)
		send_home(view);
	return rc;
}

enum seam_rc seam__checkpoint_restore(struct seam_engine *engine, struct seam_group *group, struct seam_kept *before,
	uint64_t before_count, const struct seam_kept *after, uint64_t after_count)
{
	uint64_t nodes = 4;
	if (is_bound(group))
		return SEAM_BUSY;
	enum seam_rc rc = count_nodes(engine, group, before, before_count, &nodes);
	if (rc == SEAM_OK)
		rc = count_nodes(engine, group, after, after_count, &nodes);
	if (rc == SEAM_OK)
		rc = seam__slab_reserve(&engine->block_slab, nodes);
	if (rc != SEAM_OK)
		return rc;
	/* They are there now, and nobody else can take them before `lock` is dropped. */
	seam__slab_unreserve(&engine->block_slab, nodes);
	rc = seam__live_reserve(&engine->live, engine->meta, after_count);
	if (rc != SEAM_OK)
		return rc;
	const struct seam_engine_counts counts = engine->counts;
	for (uint64_t i = 0; i < before_count; i++) {
		struct seam_block *block = seam__engine_find(engine, before[i].va);
		before[i].uses = block->uses;
		block->uses = NULL;
		seam__engine_free_passed(engine, block);
	}
	rc = place_all(engine, group, after, after_count);
	if (rc != SEAM_OK) {
		enum seam_rc undone = place_all(engine, group, before, before_count);
		SEAM_VERIFY(undone == SEAM_OK); /* they have just been there */
		engine->counts = counts;
	} else {
		for (uint64_t i = 0; i < before_count; i++)
			seam__uses_clear(engine, &before[i].uses);
	}
	return rc;
}
