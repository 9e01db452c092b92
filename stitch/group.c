/* group.c: groups of classes that may share chunks: the common memory and private pools. */
#include "bits.h"
#include "border.h"
#include "change.h"
#include "hole.h"
#include "meta.h"

/* Address space of a home view: the large class's is a little more than the device, as views of holes are used up
 * slowly. */
static void set_home_sizes(struct seam_engine *engine, struct seam_group *group)
{
	uint64_t total_bytes = engine->memory.device_bytes;
	if (total_bytes == UINT64_MAX)
		total_bytes = UINT64_C(64) << 30;
	uint64_t granularity = engine->memory.granularity_bytes;
	uint64_t large = seam__bits_align_up(total_bytes / 8 * 9, granularity);
	uint64_t small = seam__bits_align_up(total_bytes / 8, granularity);
	if (group->private_id != 0)
		large = small; /* many private pools must not use up the address space */
	group->classes[SEAM_CLASS_LARGE].home_reserve_bytes = large;
	group->classes[SEAM_CLASS_SMALL].home_reserve_bytes = small;
}

void seam__group_init(struct seam_engine *engine, struct seam_group *group, uint64_t id)
{
	group->private_id = id;
	for (int i = 0; i < SEAM_CLASS_COUNT; i++)
		seam__ppool_init(&group->classes[i], (enum seam_class)i, id, engine->policy.fragmentation_limit_bytes,
			&engine->block_slab);
	set_home_sizes(engine, group);
}

enum seam_rc seam__group_reserve_streams(struct seam_engine *engine, struct seam_group *group, uint32_t streams)
{
	for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
		enum seam_rc rc = seam__ppool_reserve_streams(&group->classes[i], engine->meta, streams);
		if (rc != SEAM_OK)
			return rc;
	}
	return SEAM_OK;
}

static void pin_live(const struct seam_views *views)
{
	struct seam_view *view;
	TAILQ_FOREACH(view, views, link)
	view->pinned |= view->live != 0;
}

void seam__group_note(struct seam_group *group, struct seam_view *view, bool capturing)
{
	group->eager |= !capturing;
	view->pinned |= capturing;
	if (!capturing || !group->eager)
		return;
	/* A capture also uses what lives there already: cudagraph trees give each graph its inputs so, and free them
	 * inside. */
	group->eager = false;
	for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
		pin_live(&group->classes[i].homes);
		pin_live(&group->classes[i].spool);
	}
}

void seam__group_fini(struct seam_engine *engine, struct seam_group *group)
{
	for (int i = 0; i < SEAM_CLASS_COUNT; i++)
		seam__ppool_fini(&group->classes[i], engine->meta);
}

enum seam_rc seam__engine_group_create(struct seam_engine *engine, uint64_t id, struct seam_group **ret_group)
{
	struct seam_group *group = seam__meta_alloc(engine->meta, sizeof *group);
	if (group == NULL)
		return SEAM_OOM_META;
	seam__group_init(engine, group, id);
	enum seam_rc rc = seam__group_reserve_streams(engine, group, engine->common.classes[0].stream_capacity);
	if (rc != SEAM_OK) {
		seam__group_fini(engine, group);
		seam__meta_free(engine->meta, group, sizeof *group);
		return rc;
	}
	LIST_INSERT_HEAD(&engine->groups, group, link);
	*ret_group = group;
	return SEAM_OK;
}

static void move_views(struct seam_views *from, struct seam_views *to, struct seam_ppool *ppool)
{
	struct seam_view *view;
	TAILQ_FOREACH(view, from, link)
	{
		struct seam_block *block;
		TAILQ_FOREACH(block, &view->blocks, link)
		{
			block->captured = false; /* the captures that used it are gone with the private pool */
			if (block->is == SEAM_IS_HOLE)
				seam__hole_remove(block);
			if (block->is != SEAM_IS_FREE)
				continue;
			seam__fit_remove(seam__ppool_fit(view->ppool, block->stream), block);
			seam__fit_insert(seam__ppool_fit(ppool, block->stream), block);
		}
		if (view->stitched) {
			seam__spool_remove(&view->ppool->idle, view);
			seam__spool_update(&ppool->idle, view);
		}
		view->ppool = ppool;
		view->pinned = false;
		TAILQ_FOREACH(block, &view->blocks, link)
		{
			if (block->is == SEAM_IS_FREE)
				seam__border_note(block);
			else if (block->is == SEAM_IS_HOLE)
				seam__hole_insert(block);
		}
	}
	TAILQ_CONCAT(to, from, link);
}

void seam__engine_group_merge(struct seam_engine *engine, struct seam_group *group)
{
	for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
		struct seam_ppool *ppool = &engine->common.classes[i];
		move_views(&group->classes[i].homes, &ppool->homes, ppool);
		move_views(&group->classes[i].spool, &ppool->spool, ppool);
	}
	LIST_REMOVE(group, link);
	seam__group_fini(engine, group);
	seam__meta_free(engine->meta, group, sizeof *group);
}
