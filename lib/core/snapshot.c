/* snapshot.c: shows a visitor what the memory is doing: views, their slots, their blocks; and tells what became of
 * chunks. */
#include <stdlib.h>

#include "journal.h"
#include "meta.h"
#include "plain.h"
#include "planned.h"

static enum seam_block_state state_of(const struct seam_block *block)
{
	switch ((enum seam_block_is)block->is) {
	case SEAM_IS_LIVE:
		return SEAM_BLOCK_LIVE;
	case SEAM_IS_PENDING:
		return SEAM_BLOCK_PENDING;
	case SEAM_IS_LOST:
		return block->chunk->owner == NULL ? SEAM_BLOCK_TRANSIT : SEAM_BLOCK_LOST;
	case SEAM_IS_LEASED:
		return SEAM_BLOCK_LEASED;
	case SEAM_IS_FREE:
	case SEAM_IS_HOLE:
		break;
	}
	return SEAM_BLOCK_FREE;
}

static bool owns(const struct seam_view *view, const struct seam_slot *slot)
{
	return slot->mapping->chunk->owner == view;
}

static int show_view(const struct seam_view *view, const struct seam_visitor *visitor, void *user)
{
	if (visitor->view == NULL)
		return 0;
	struct seam_view_info info = {
		.va = view->va,
		.bytes = view->used_bytes,
		.stitched = view->stitched,
		.small = view->ppool->class == SEAM_CLASS_SMALL,
		.private_id = view->ppool->private_id,
	};
	for (uint32_t i = 0; i < view->slot_count; i++) {
		const struct seam_slot *slot = &view->slots[i];
		if (slot->mapping != NULL && !owns(view, slot))
			info.lost_bytes += slot->bytes;
	}
	return visitor->view(user, &info);
}

static int show_slots(const struct seam_view *view, const struct seam_visitor *visitor, void *user)
{
	int stop = 0;
	for (uint32_t i = 0; visitor->slot != NULL && stop == 0 && i < view->slot_count; i++) {
		const struct seam_slot *slot = &view->slots[i];
		if (slot->mapping == NULL)
			continue; /* nothing is there */
		struct seam_slot_info info = {
			.va = view->va + slot->offset,
			.bytes = slot->bytes,
			.chunk = slot->mapping->chunk->number,
			.owned = owns(view, slot),
		};
		stop = visitor->slot(user, &info);
	}
	return stop;
}

static int show_blocks(const struct seam_view *view, const struct seam_visitor *visitor, void *user)
{
	int stop = 0;
	const struct seam_block *block;
	TAILQ_FOREACH(block, &view->blocks, link)
	{
		if (visitor->block == NULL || stop != 0)
			break;
		if (block->is == SEAM_IS_HOLE)
			continue;
		bool live = block->is == SEAM_IS_LIVE;
		struct seam_block_info info = {
			.va = view->va + block->offset,
			.bytes = block->bytes,
			.requested_bytes = live ? block->requested_bytes : 0,
			.state = state_of(block),
			.stream = block->stream != NULL ? block->stream->handle : 0,
			.tag = live ? block->tag : 0,
		};
		stop = visitor->block(user, &info);
	}
	return stop;
}

static int compare_offsets(const void *left, const void *right)
{
	const struct seam_plan_block *const *a = left, *const *b = right;
	return (*a)->offset < (*b)->offset ? -1 : (*a)->offset > (*b)->offset;
}

struct planned_list {
	struct seam_plan_block **items;
	size_t count;
};

static void list_planned(void *user, struct seam_plan_block *plan_block)
{
	struct planned_list *list = user;
	list->items[list->count++] = plan_block;
}

static int show_list(const struct seam_active_plan *active, const struct planned_list *list,
	const struct seam_visitor *visitor, void *user)
{
	int stop = 0;
	for (size_t i = 0; i < list->count && stop == 0; i++) {
		const struct seam_plan_block *plan_block = list->items[i];
		bool live = plan_block->requested_bytes != 0;
		struct seam_block_info info = {
			.va = active->arena.view->va + plan_block->offset,
			.bytes = plan_block->bytes,
			.requested_bytes = plan_block->requested_bytes,
			.state = live ? SEAM_BLOCK_LIVE : SEAM_BLOCK_PENDING,
			.stream = plan_block->stream->handle,
			.tag = plan_block->tag,
		};
		stop = visitor->block(user, &info);
	}
	return stop;
}

/* The blocks that plans placed in the arena whose view this is. */
static enum seam_rc show_planned(struct seam_pool *pool, const struct seam_view *view,
	const struct seam_visitor *visitor, void *user, int *ret_stop)
{
	const struct seam_active_plan *active = seam__active_at(pool->runtime, view->va);
	struct seam_match_counts counts = {0};
	if (active != NULL)
		seam__matcher_get_counts(active->matcher, &counts);
	if (counts.live == 0 || visitor->block == NULL)
		return SEAM_OK;
	struct planned_list list = {
		.items = seam__meta_array(pool->meta, counts.live, sizeof(struct seam_plan_block *))};
	if (list.items == NULL)
		return SEAM_OOM_META;
	seam__matcher_each(active->matcher, list_planned, &list);
	qsort(list.items, list.count, sizeof(struct seam_plan_block *), compare_offsets);
	*ret_stop = show_list(active, &list, visitor, user);
	seam__meta_free(pool->meta, list.items, counts.live * sizeof(struct seam_plan_block *));
	return SEAM_OK;
}

enum seam_rc seam__pool_visit(struct seam_pool *pool, const struct seam_visitor *visitor, void *user)
{
	int stop = 0;
	if (pool->plain != NULL)
		return seam__plain_visit(pool, visitor, user);
	const struct seam_view *view;
	TAILQ_FOREACH(view, &pool->engine.memory.view_list, all)
	{
		stop = show_view(view, visitor, user);
		if (stop == 0)
			stop = show_slots(view, visitor, user);
		if (stop == 0)
			stop = show_blocks(view, visitor, user);
		enum seam_rc rc = stop == 0 ? show_planned(pool, view, visitor, user, &stop) : SEAM_OK;
		if (rc != SEAM_OK)
			return rc;
		if (stop != 0)
			return SEAM_BUSY;
	}
	return SEAM_OK;
}

enum seam_rc seam_snapshot_visit(struct seam_pool *pool, const struct seam_visitor *visitor, void *user)
{
	if (visitor == NULL)
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	/* `change` too: else a visitor could see chunks in transit. */
	seam__pool_stop(pool);
	rc = seam__pool_visit(pool, visitor, user);
	seam__pool_go(pool);
	return rc;
}

/* The journal, made by the first who asks. With `lock`, which is dropped meanwhile. */
static enum seam_rc find_journal(struct seam_pool *pool, struct seam_journal **ret_journal)
{
	struct seam_memory *memory = &pool->engine.memory;
	if (memory->journal == NULL) {
		seam__mutex_unlock(&pool->engine.lock);
		struct seam_journal *made = seam__meta_alloc(pool->meta, sizeof *made);
		seam__mutex_lock(&pool->engine.lock);
		if (made != NULL && memory->journal == NULL) {
			seam__journal_init(made);
			memory->journal = made;
		} else {
			seam__meta_free(pool->meta, made, sizeof *made);
		}
	}
	*ret_journal = memory->journal;
	return memory->journal != NULL ? SEAM_OK : SEAM_OOM_META;
}

enum seam_rc seam_chunk_events(
	struct seam_pool *pool, uint64_t *next, struct seam_chunk_event *events, size_t capacity, size_t *ret_count)
{
	if (next == NULL || ret_count == NULL || (events == NULL && capacity != 0))
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter_mapped(pool);
	if (rc != SEAM_OK)
		return rc;
	struct seam_journal *journal = NULL;
	seam__mutex_lock(&pool->engine.lock);
	rc = find_journal(pool, &journal);
	if (rc == SEAM_OK)
		*ret_count = seam__journal_read(journal, next, events, capacity);
	seam__mutex_unlock(&pool->engine.lock);
	return rc;
}
