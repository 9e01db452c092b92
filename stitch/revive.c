/* revive.c: the search among stitched views that map a wanted run already (state S1r): taking chunks back costs no
 * driver call, because their mappings there were only stale.
 *
 * First whole views, of which an index by size knows those that own nothing; nearly all that are revived are of this
 * kind. Then runs inside the views that were used last. Both searches are bounded: they are made under `lock`.
 */
#include "change.h"
#include "check.h"
#include "claim.h"
#include "meta.h"

enum {
	MOST_WHOLE = 512,  /* idle views of the right size that turn out to have a chunk elsewhere: one look each, as a
			      rule */
	MOST_VIEWS = 32,   /* views searched for a run inside */
	MOST_SLOTS = 2048, /* of these together */
	MOST_EXACT = 256,  /* views that map a gathering's first chunk */
};

/* A run of slots of a view whose chunks are all free and cover the need. */
struct run {
	struct seam_view *view;
	uint32_t first, count;
	uint64_t spare_bytes;
};

struct search {
	const struct seam_usable *usable;
	const struct seam_block *extent; /* where the last free chunk was found: the next is often there too */
};

static bool holds(const struct seam_block *extent, const struct seam_chunk *chunk)
{
	return extent->view == chunk->home && chunk->home_slot >= extent->first_slot &&
		chunk->home_slot - extent->first_slot < extent->slot_count;
}

/* Whether the slot's chunk is free at home and may be used. */
static bool is_free(struct search *search, const struct seam_view *view, uint32_t slot)
{
	const struct seam_mapping *mapping = view->slots[slot].mapping;
	if (mapping == NULL)
		return false;
	if (search->extent != NULL && holds(search->extent, mapping->chunk))
		return true;
	const struct seam_block *extent = seam__extent_find(mapping->chunk->home, mapping->chunk->home_slot);
	if (extent == NULL || !seam__is_usable(search->usable, extent))
		return false;
	search->extent = extent;
	return true;
}

/* Whether the first `count` slots are free. Looks first where the view was blocked when it was last looked at. */
static bool is_all_free(struct search *search, struct seam_view *view, uint32_t count)
{
	if (view->blocked_slot < count && !is_free(search, view, view->blocked_slot))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (!is_free(search, view, i)) {
			view->blocked_slot = i;
			return false;
		}
	}
	return true;
}

/* The smallest idle view that covers the need with less than `most_spare` left over and whose chunks are all free;
 * without those at its end that are not needed. */
static bool find_whole(struct search *search, struct seam_ppool *ppool, uint64_t most_spare, struct run *ret_run)
{
	uint64_t need_bytes = search->usable->ask->bytes;
	struct seam_view *view = seam__spool_find(&ppool->idle, need_bytes);
	for (int left = MOST_WHOLE; left > 0 && view != NULL && view->used_bytes - need_bytes < most_spare; left--) {
		uint32_t count = seam__view_slot_at(view, need_bytes - 1) + 1;
		if (is_all_free(search, view, count)) {
			*ret_run = (struct run){view, 0, count, view->used_bytes - need_bytes};
			return true;
		}
		view = seam__spool_next(view);
	}
	return false;
}

static bool better(const struct run *a, const struct run *b)
{
	if (b->view == NULL || a->spare_bytes != b->spare_bytes)
		return b->view == NULL || a->spare_bytes < b->spare_bytes;
	if (a->view->number != b->view->number)
		return a->view->number < b->view->number;
	return a->first < b->first;
}

/* Looks at the end of each window first: most views have a chunk elsewhere, and one look then rules out many windows.
 */
static void search_view(struct search *search, struct seam_view *view, struct run *best)
{
	uint64_t need_bytes = search->usable->ask->bytes;
	uint32_t first = 0, known = 0; /* slots from first up to known are free */
	while (first < view->slot_count && view->used_bytes - view->slots[first].offset >= need_bytes) {
		uint32_t last = seam__view_slot_at(view, view->slots[first].offset + need_bytes - 1);
		uint32_t slot = last + 1;
		while (slot > first && slot > known && is_free(search, view, slot - 1))
			slot--;
		if (slot > first && slot > known) {
			first = known = slot; /* the slot before it is not free */
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

/* The run inside a view with least left over, among the views used last. */
static bool find_inside(struct search *search, struct seam_ppool *ppool, uint64_t most_spare, struct run *ret_run)
{
	struct run best = {0};
	uint32_t views_left = MOST_VIEWS, slots_left = MOST_SLOTS;
	struct seam_view *view;
	TAILQ_FOREACH_REVERSE(view, &ppool->spool, seam_views, link)
	{
		if (views_left-- == 0 || slots_left < view->slot_count)
			break;
		slots_left -= view->slot_count;
		if (view->used_bytes >= search->usable->ask->bytes)
			search_view(search, view, &best);
	}
	if (best.view == NULL || best.spare_bytes >= most_spare)
		return false;
	*ret_run = best;
	return true;
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

struct seam_block *seam__revive(struct seam_engine *engine, const struct seam_usable *usable)
{
	const struct seam_ask *ask = usable->ask;
	struct seam_ppool *ppool = &ask->group->classes[ask->class];
	struct search search = {.usable = usable};
	uint64_t most_spare = ask->bytes / 8;
	if (most_spare < engine->memory.granularity_bytes)
		most_spare = engine->memory.granularity_bytes;
	struct run run = {0};
	if (!find_whole(&search, ppool, most_spare, &run) && !find_inside(&search, ppool, most_spare, &run))
		return NULL;
	return take_run(engine, ask, &run);
}

/* A stitched view of the class that maps exactly these chunks one behind the other. */
static bool find_exact(const struct seam_ask *ask, const struct seam_gathered *gathered, struct run *ret_run)
{
	const struct seam_ppool *ppool = &ask->group->classes[ask->class];
	const struct seam_mapping *mapping;
	int left = MOST_EXACT;
	LIST_FOREACH(mapping, &gathered->chunks[0]->mappings, of_chunk)
	{
		struct seam_view *view = mapping->view;
		if (left-- == 0)
			return false;
		if (!view->stitched || view->arena || view->ppool != ppool ||
			view->slot_count - mapping->slot < gathered->count)
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

struct seam_block *seam__revive_exact(
	struct seam_engine *engine, const struct seam_ask *ask, const struct seam_gathered *gathered)
{
	struct run run = {0};
	return find_exact(ask, gathered, &run) ? take_run(engine, ask, &run) : NULL;
}
