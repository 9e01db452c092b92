/* claim.c: chunks on their way from their homes into a stitched view, and a view's run of slots becoming a block.
 *
 * Also the search among views that map a wanted run already (state S1r): taking chunks back costs no driver call, because their mappings
 * there were only stale.
 */
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "check.h"
#include "claim.h"
#include "meta.h"

static int by_home_descending(const void *a, const void *b)
{
	const struct seam_chunk *x = *(struct seam_chunk *const *)a, *y = *(struct seam_chunk *const *)b;
	if (x->home != y->home)
		return x->home->number < y->home->number ? 1 : -1;
	return x->home_slot < y->home_slot ? 1 : -1;
}

enum seam_rc seam__claim(struct seam_engine *engine, struct seam_chunk *const *chunks, uint32_t count)
{
	struct seam_slab *slab = &engine->block_slab;
	uint64_t before = slab->reserved_objects;
	enum seam_rc rc = seam__slab_reserve(slab, 2 * (uint64_t)count + 2);
	if (rc != SEAM_OK)
		return rc;
	struct seam_chunk **sorted = seam__meta_array(engine->meta, count, sizeof *sorted);
	if (sorted == NULL) {
		seam__slab_unreserve(slab, 2 * (uint64_t)count + 2);
		return SEAM_OOM_META;
	}
	memcpy(sorted, chunks, count * sizeof *sorted);
	/* From the highest slot down: the free block in front of a slot keeps its node when the slot is cut out, so `free_in` of the lower
	 * chunks stays right. */
	qsort(sorted, count, sizeof *sorted, by_home_descending);
	for (uint32_t i = 0; i < count; i++)
		seam__ppool_lend(sorted[i]->free_in, sorted[i]->home_slot);
	seam__meta_free(engine->meta, sorted, count * sizeof *sorted);
	/* Two stay reserved across the driver calls, for seam__own_run(). */
	seam__slab_unreserve(slab, slab->reserved_objects - before - 2);
	return SEAM_OK;
}

void seam__claim_undo(struct seam_engine *engine, struct seam_chunk *const *chunks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		seam__ppool_return(chunks[i], chunks[i]->lent->stream, chunks[i]->lent->stamp);
	seam__slab_unreserve(&engine->block_slab, 2);
}

struct seam_block *seam__own_run(struct seam_engine *engine, const struct seam_ask *ask, struct seam_view *view,
                                 uint32_t first, uint32_t count)
{
	uint64_t offset = view->slots[first].offset;
	uint64_t run_bytes = view->slots[first + count - 1].offset + view->slots[first + count - 1].bytes - offset;
	SEAM_ASSERT(run_bytes >= ask->bytes);
	for (uint32_t i = first; i < first + count; i++)
		view->slots[i].mapping->chunk->owner = view;
	view->owned += count;
	view->last_use = ++engine->uses;
	TAILQ_REMOVE(&view->ppool->spool, view, link);
	TAILQ_INSERT_TAIL(&view->ppool->spool, view, link);

	struct seam_block *after = TAILQ_LAST(&view->blocks, seam_blocks);
	while (after != NULL && after->offset >= offset)
		after = TAILQ_PREV(after, seam_blocks, link);
	struct seam_block *block = seam__slab_get_reserved(&engine->block_slab);
	/* Not merged with free bytes in front of it: the block begins where its first chunk does. */
	seam__block_insert(block, view, after, offset, ask->bytes, SEAM_IS_FREE);
	if (run_bytes > ask->bytes) {
		struct seam_block *rest = seam__slab_get_reserved(&engine->block_slab);
		seam__block_insert(rest, view, block, offset + ask->bytes, run_bytes - ask->bytes, SEAM_IS_FREE);
		block->is = SEAM_IS_LIVE; /* so that the rest does not merge with it */
		seam__ppool_put(rest, ask->stream, seam__stream_stamp(ask->stream));
		block->is = SEAM_IS_FREE;
	} else {
		seam__slab_unreserve(&engine->block_slab, 1);
	}
	return block;
}

/* A run of the view that is wholly marked, covers the need and leaves least over. */
struct run {
	struct seam_view *view;
	uint32_t first, count;
	uint64_t spare_bytes;
};

static bool better(const struct run *a, const struct run *b)
{
	if (b->view == NULL || a->spare_bytes != b->spare_bytes)
		return b->view == NULL || a->spare_bytes < b->spare_bytes;
	if (a->view->number != b->view->number)
		return a->view->number < b->view->number;
	return a->first < b->first;
}

static bool is_marked(const struct seam_engine *engine, const struct seam_view *view, uint32_t slot)
{
	const struct seam_mapping *mapping = view->slots[slot].mapping;
	return mapping != NULL && mapping->chunk->mark == engine->memory.mark_round;
}

/* Looks at the end of each window first: most views have a chunk elsewhere, and one look then rules out many windows. */
static void search_view(const struct seam_engine *engine, struct seam_view *view, uint64_t need_bytes, struct run *best)
{
	uint32_t first = 0, known = 0; /* slots from first up to known are marked */
	while (first < view->slot_count && view->used_bytes - view->slots[first].offset >= need_bytes) {
		uint32_t last = seam__view_slot_at(view, view->slots[first].offset + need_bytes - 1);
		uint32_t slot = last + 1;
		while (slot > first && slot > known && is_marked(engine, view, slot - 1))
			slot--;
		if (slot > first && slot > known) {
			first = known = slot; /* the slot before it is not marked */
			continue;
		}
		uint64_t end = view->slots[last].offset + view->slots[last].bytes;
		struct run run = {view, first, last + 1 - first, end - view->slots[first].offset - need_bytes};
		if (better(&run, best))
			*best = run;
		known = last + 1;
		first++;
	}
}

/* Claims the run's chunks and makes the block; NULL with nothing changed if there is no memory for nodes. */
static struct seam_block *take_run(struct seam_engine *engine, const struct seam_ask *ask, const struct run *run)
{
	struct seam_chunk **chunks = seam__meta_array(engine->meta, run->count, sizeof *chunks);
	if (chunks == NULL)
		return NULL;
	for (uint32_t i = 0; i < run->count; i++)
		chunks[i] = run->view->slots[run->first + i].mapping->chunk;
	enum seam_rc rc = seam__claim(engine, chunks, run->count);
	seam__meta_free(engine->meta, chunks, run->count * sizeof *chunks);
	return rc == SEAM_OK ? seam__own_run(engine, ask, run->view, run->first, run->count) : NULL;
}

struct seam_block *seam__revive(struct seam_engine *engine, const struct seam_ask *ask)
{
	struct seam_ppool *ppool = &ask->group->classes[ask->class];
	struct run best = {0};
	uint32_t views_left = 512, slots_left = 65536; /* bounds the search, not the answer: the most recently used come first */
	struct seam_view *view;
	TAILQ_FOREACH_REVERSE(view, &ppool->spool, seam_views, link) {
		if (views_left-- == 0 || slots_left < view->slot_count)
			break;
		slots_left -= view->slot_count;
		if (view->used_bytes >= ask->bytes)
			search_view(engine, view, ask->bytes, &best);
	}
	uint64_t most_spare = ask->bytes / 8;
	if (most_spare < engine->memory.granularity_bytes)
		most_spare = engine->memory.granularity_bytes;
	if (best.view == NULL || best.spare_bytes >= most_spare)
		return NULL;
	return take_run(engine, ask, &best);
}

/* A stitched view of the class that maps exactly these chunks one behind the other. */
static bool find_run(const struct seam_ask *ask, const struct seam_gathered *gathered, struct run *ret_run)
{
	const struct seam_ppool *ppool = &ask->group->classes[ask->class];
	const struct seam_mapping *mapping;
	LIST_FOREACH(mapping, &gathered->chunks[0]->mappings, of_chunk) {
		struct seam_view *view = mapping->view;
		if (!view->stitched || view->ppool != ppool || view->slot_count - mapping->slot < gathered->count)
			continue;
		uint32_t i = 1;
		while (i < gathered->count && view->slots[mapping->slot + i].mapping != NULL &&
		       view->slots[mapping->slot + i].mapping->chunk == gathered->chunks[i])
			i++;
		if (i == gathered->count) {
			*ret_run = (struct run){view, mapping->slot, gathered->count, gathered->bytes - ask->bytes};
			return true;
		}
	}
	return false;
}

struct seam_block *seam__revive_exact(struct seam_engine *engine, const struct seam_ask *ask,
                                      const struct seam_gathered *gathered)
{
	struct run run = {0};
	return find_run(ask, gathered, &run) ? take_run(engine, ask, &run) : NULL;
}
