/* stitch.c: Stitch (GMLake section 3.3): gathered chunks behind one contiguous address.
 *
 * The chunks stay mapped at home; only a mapping is added. Their old addresses are stale until they come home.
 */
#include <inttypes.h>

#include "change.h"
#include "check.h"
#include "claim.h"
#include "log.h"

/* Reserves the span and maps the chunks. Without `lock`. */
static enum seam_rc map_new(struct seam_memory *memory, struct seam_gathered *gathered, struct seam_view **ret_view)
{
	struct seam_view *view = NULL;
	enum seam_rc rc = seam__view_create(memory, gathered->bytes, true, gathered->count, &view);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__view_map(memory, view, 0, gathered->chunks, gathered->count, gathered->mappings);
	if (rc != SEAM_OK) {
		uint32_t slots = seam__view_release(memory, view);
		bool gone = seam__view_forget(
			memory, view, slots); /* never listed and without slots: touches nothing shared */
		SEAM_ASSERT(gone);
		(void)gone;
		return rc;
	}
	*ret_view = view;
	return SEAM_OK;
}

enum seam_rc seam__stitch(struct seam_engine *engine, const struct seam_ask *ask, struct seam_gathered *gathered,
	struct seam_block **ret_block, bool *ret_revived)
{
	struct seam_memory *memory = &engine->memory;
	struct seam_ppool *ppool = &ask->group->classes[ask->class];
	struct seam_block *block = seam__revive_exact(engine, ask, gathered);
	*ret_revived = block != NULL;
	if (block == NULL) {
		if (gathered->count > memory->mapping_limit - memory->mapping_count)
			return SEAM_MAPPINGS;
		enum seam_rc rc = seam__claim(engine, gathered->chunks, gathered->count);
		if (rc != SEAM_OK)
			return rc;
		seam__mutex_unlock(&engine->lock);
		struct seam_view *view = NULL;
		rc = map_new(memory, gathered, &view);
		seam__mutex_lock(&engine->lock);
		if (rc != SEAM_OK) {
			seam__claim_undo(engine, gathered->chunks, gathered->count);
			return rc;
		}
		view->ppool = ppool;
		seam__view_list(memory, view);
		seam__view_map_commit(memory, view, 0, gathered->mappings, gathered->count);
		TAILQ_INSERT_TAIL(&ppool->spool, view, link);
		seam__price_stitched(&engine->price, engine->counts.allocs, gathered->count);
		seam__log(SEAM_LOG_DEBUG, "stitched %" PRIu64 " bytes out of %" PRIu32 " chunks", gathered->bytes,
			gathered->count);
		block = seam__own_run(engine, ask, view, 0, gathered->count);
	}
	enum seam_rc rc = seam__make_live(engine, ask, block);
	if (rc == SEAM_OK)
		*ret_block = block;
	return rc;
}
