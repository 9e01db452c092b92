/* stitchfree.c: StitchFree (GMLake section 3.3): giving up stitched views, least recently used first.
 *
 * Only views that own nothing, and whose use every stream has passed: the driver does not wait for kernels when it
 * unmaps (I4).
 */
#include <inttypes.h>

#include "change.h"
#include "check.h"
#include "log.h"

static void consider(const struct seam_engine *engine, struct seam_group *group, struct seam_view **best)
{
	for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
		struct seam_view *view;
		TAILQ_FOREACH(view, &group->classes[i].spool, link)
		{
			if (view->owned != 0 || view->pinned ||
				!seam__streams_all_passed(&engine->streams, view->last_tick))
				continue;
			/* The list is in order of use: the first that can go is the class's oldest. */
			if (*best == NULL || view->last_use < (*best)->last_use)
				*best = view;
			break;
		}
	}
}

static struct seam_view *find_victim(struct seam_engine *engine)
{
	struct seam_view *best = NULL;
	consider(engine, &engine->common, &best);
	struct seam_group *group;
	LIST_FOREACH(group, &engine->groups, link)
	consider(engine, group, &best);
	return best;
}

bool seam__stitch_drop(struct seam_engine *engine, struct seam_view *view)
{
	SEAM_ASSERT(view->stitched && view->owned == 0 && TAILQ_EMPTY(&view->blocks));
	struct seam_ppool *ppool = view->ppool;
	seam__spool_remove(&ppool->idle, view);
	TAILQ_REMOVE(&ppool->spool, view, link);
	seam__mutex_unlock(&engine->lock);
	uint32_t slots = seam__view_release(&engine->memory, view);
	seam__mutex_lock(&engine->lock);
	if (!seam__view_forget(&engine->memory, view, slots)) {
		/* The driver refused. A view with holes revives as a whole no more, but what it maps is still counted.
		 */
		TAILQ_INSERT_TAIL(&ppool->spool, view, link);
		seam__spool_update(&ppool->idle, view);
		view->last_use = ++engine->uses;
		return false;
	}
	engine->counts.stitch_frees++;
	seam__log(
		SEAM_LOG_DEBUG, "gave up a stitched view: %" PRIu64 " mappings are left", engine->memory.mapping_count);
	return true;
}

static bool fits(const struct seam_engine *engine, uint64_t mappings, uint64_t address_bytes)
{
	const struct seam_memory *memory = &engine->memory;
	return mappings <= memory->mapping_limit && memory->mapping_count <= memory->mapping_limit - mappings &&
		address_bytes <= memory->address_limit_bytes &&
		memory->address_bytes <= memory->address_limit_bytes - address_bytes;
}

bool seam__engine_free_view(struct seam_engine *engine)
{
	struct seam_view *victim = find_victim(engine);
	if (victim == NULL) {
		seam__engine_poll(engine, false);
		victim = find_victim(engine);
	}
	return victim != NULL && seam__stitch_drop(engine, victim);
}

bool seam__stitch_free(struct seam_engine *engine, uint64_t mappings, uint64_t address_bytes)
{
	while (!fits(engine, mappings, address_bytes)) {
		if (!seam__engine_free_view(engine))
			return false;
	}
	return true;
}

uint64_t seam__stitch_free_all(struct seam_engine *engine)
{
	uint64_t gone = 0;
	while (seam__engine_free_view(engine))
		gone++;
	return gone;
}
