/* extent.c: see extent.h. */
#include "extent.h"

#include "check.h"

static inline int compare_offset(const struct seam_block *a, const struct seam_block *b)
{
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

SEAM_TREE_GENERATE(seam_home_extents, seam_block, by_offset, compare_offset)

static uint64_t sizes_of(const struct seam_block *subtree)
{
	return subtree == NULL ? 0 : subtree->sizes_below;
}

/* The union of a subtree, and of those around it as far as that changes them. */
static inline void mend(struct seam_block *extent)
{
	while (extent != NULL) {
		uint64_t sizes =
			extent->whole_sizes | sizes_of(RB_LEFT(extent, by_run)) | sizes_of(RB_RIGHT(extent, by_run));
		if (sizes == extent->sizes_below)
			return;
		extent->sizes_below = sizes;
		extent = RB_PARENT(extent, by_run);
	}
}

/* The tree's code calls this for every node whose children have changed; at the end of a removal it calls it for the
 * lowest only, hence the way up in mend(). */
#undef RB_AUGMENT
#define RB_AUGMENT(extent) mend(extent)
SEAM_TREE_GENERATE(seam_extent_order, seam_block, by_run, seam__block_compare)

static uint64_t sizes_between(const struct seam_view *view, uint32_t first, uint32_t behind)
{
	uint64_t sizes = 0;
	for (uint32_t i = first; i < behind; i++)
		sizes |= UINT64_C(1) << seam__extent_size_class(view->slots[i].bytes);
	return sizes;
}

/* The bits of all chunks that it touches: a neighbour may bring the rest of the first and the last. */
static uint64_t sizes_touched(const struct seam_block *extent)
{
	const struct seam_view *view = extent->view;
	const struct seam_slot *first = &view->slots[extent->first_slot], *last = first + (extent->slot_count - 1);
	uint32_t before = first->offset > extent->offset;
	uint32_t behind = last->offset + last->bytes < extent->offset + extent->bytes;
	return sizes_between(view, extent->first_slot - before, extent->first_slot + extent->slot_count + behind);
}

bool seam__extent_measure(struct seam_block *block)
{
	block->slot_count = seam__block_whole_slots(block, &block->first_slot);
	return block->slot_count != 0;
}

static void account(struct seam_extents *extents, const struct seam_block *extent, bool in)
{
	uint64_t bytes = seam__extent_bytes(extent), long_bytes = bytes >= extents->limit_bytes ? bytes : 0;
	extents->count += in ? 1 : UINT64_MAX;
	extents->whole_bytes += in ? bytes : -bytes;
	extents->long_bytes += in ? long_bytes : -long_bytes;
}

void seam__extents_insert(struct seam_extents *extents, struct seam_block *extent)
{
	SEAM_ASSERT(extent->is == SEAM_IS_FREE && extent->slot_count != 0);
	if (extent->sizes == 0)
		extent->sizes = sizes_touched(extent);
	extent->whole_sizes = extent->sizes_below = extent->sizes;
	struct seam_block *same = RB_INSERT(seam_extent_order, &extents->tree, extent);
	SEAM_ASSERT(same == NULL);
	same = RB_INSERT(seam_home_extents, &extent->view->extents, extent);
	SEAM_ASSERT(same == NULL);
	(void)same;
	account(extents, extent, true);
}

void seam__extents_remove(struct seam_extents *extents, struct seam_block *extent)
{
	RB_REMOVE(seam_extent_order, &extents->tree, extent);
	RB_REMOVE(seam_home_extents, &extent->view->extents, extent);
	account(extents, extent, false);
}

struct seam_block *seam__extents_find(struct seam_extents *extents, uint64_t bytes)
{
	struct seam_block *at = RB_ROOT(&extents->tree), *best = NULL;
	while (at != NULL) {
		if (at->bytes >= bytes) {
			best = at;
			at = RB_LEFT(at, by_run);
		} else {
			at = RB_RIGHT(at, by_run);
		}
	}
	return best;
}

struct seam_block *seam__extents_largest(struct seam_extents *extents)
{
	return RB_MAX(seam_extent_order, &extents->tree);
}

struct seam_block *seam__extents_next(struct seam_extents *extents, struct seam_block *extent)
{
	return extent == NULL ? RB_MIN(seam_extent_order, &extents->tree)
			      : RB_NEXT(seam_extent_order, &extents->tree, extent);
}

struct seam_block *seam__extents_behind(struct seam_extents *extents, const struct seam_block *key)
{
	struct seam_block *at = RB_ROOT(&extents->tree), *best = NULL;
	while (at != NULL) {
		if (seam__block_compare(at, key) > 0) {
			best = at;
			at = RB_LEFT(at, by_run);
		} else {
			at = RB_RIGHT(at, by_run);
		}
	}
	return best;
}

/* The first of a subtree that has the bit. */
static struct seam_block *first_with(struct seam_block *at, uint64_t bit)
{
	while (at != NULL && (at->sizes_below & bit) != 0) {
		struct seam_block *left = RB_LEFT(at, by_run);
		if ((sizes_of(left) & bit) != 0)
			at = left;
		else if ((at->whole_sizes & bit) != 0)
			return at;
		else
			at = RB_RIGHT(at, by_run);
	}
	return NULL;
}

struct seam_block *seam__extents_with(struct seam_extents *extents, const struct seam_block *key, unsigned size_class)
{
	uint64_t bit = UINT64_C(1) << size_class;
	struct seam_block *at = RB_ROOT(&extents->tree), *best = NULL;
	/* Of what stands behind the key on the way down, the last that has the bit in itself or to its right comes
	 * first. */
	while (at != NULL && (at->sizes_below & bit) != 0) {
		if (seam__block_compare(at, key) > 0) {
			if (((at->whole_sizes | sizes_of(RB_RIGHT(at, by_run))) & bit) != 0)
				best = at;
			at = RB_LEFT(at, by_run);
		} else {
			at = RB_RIGHT(at, by_run);
		}
	}
	if (best == NULL || (best->whole_sizes & bit) != 0)
		return best;
	return first_with(RB_RIGHT(best, by_run), bit);
}

void seam__extent_tighten(struct seam_block *extent)
{
	extent->sizes = sizes_touched(extent);
	extent->whole_sizes = sizes_between(extent->view, extent->first_slot, extent->first_slot + extent->slot_count);
	mend(extent);
}

struct seam_block *seam__extent_find(const struct seam_view *home, uint32_t slot)
{
	struct seam_block *at = RB_ROOT(&home->extents);
	while (at != NULL) {
		if (slot < at->first_slot)
			at = RB_LEFT(at, by_offset);
		else if (slot - at->first_slot >= at->slot_count)
			at = RB_RIGHT(at, by_offset);
		else
			return at;
	}
	return NULL;
}

/* A block in the slot that its chunk knows, or NULL. */
static struct seam_block *known_in(const struct seam_view *view, uint32_t slot)
{
	const struct seam_mapping *mapping = view->slots[slot].mapping;
	if (mapping == NULL)
		return NULL;
	const struct seam_chunk *chunk = mapping->chunk;
	if (chunk->leased != NULL && chunk->owner == view)
		return chunk->leased;
	return chunk->home == view ? chunk->lent : NULL;
}

/* The nearest one, within some slots. */
static struct seam_block *known_near(const struct seam_view *view, uint32_t slot)
{
	enum { MOST = 64 };
	struct seam_block *block = NULL;
	for (uint32_t d = 0; d < MOST && block == NULL; d++) {
		if (d <= slot)
			block = known_in(view, slot - d);
		if (block == NULL && d < view->slot_count - slot)
			block = known_in(view, slot + d);
	}
	return block;
}

/* The last extent that begins at or before the slot, or NULL. */
static struct seam_block *extent_before(const struct seam_view *view, uint32_t slot)
{
	struct seam_block *at = RB_ROOT(&view->extents), *best = NULL;
	while (at != NULL) {
		if (at->first_slot <= slot) {
			best = at;
			at = RB_RIGHT(at, by_offset);
		} else {
			at = RB_LEFT(at, by_offset);
		}
	}
	return best;
}

static uint64_t distance(const struct seam_block *block, uint64_t offset)
{
	return block->offset < offset ? offset - block->offset : block->offset - offset;
}

struct seam_block *seam__block_at(const struct seam_view *view, uint32_t slot)
{
	uint64_t offset = view->slots[slot].offset;
	struct seam_block *block = TAILQ_FIRST(&view->blocks);
	struct seam_block *others[] = {known_near(view, slot), extent_before(view, slot)};
	for (int i = 0; i < 2; i++) {
		if (others[i] != NULL && distance(others[i], offset) < distance(block, offset))
			block = others[i];
	}
	while (block->offset > offset)
		block = TAILQ_PREV(block, seam_blocks, link);
	while (block->offset + block->bytes <= offset)
		block = TAILQ_NEXT(block, link);
	return block;
}

static const char *check_extent(const struct seam_block *extent)
{
	uint32_t first = 0, count = seam__block_whole_slots(extent, &first);
	if (extent->is != SEAM_IS_FREE || extent->view->stitched || count == 0)
		return "X1: a block without a whole chunk among the extents";
	if (first != extent->first_slot || count != extent->slot_count)
		return "X1: an extent's slots are not those that it has";
	if ((sizes_between(extent->view, first, first + count) & ~extent->whole_sizes) != 0 ||
		(sizes_touched(extent) & ~extent->sizes) != 0)
		return "X2: an extent has no bit for one of its chunks";
	uint64_t sizes = extent->whole_sizes | sizes_of(RB_LEFT(extent, by_run)) | sizes_of(RB_RIGHT(extent, by_run));
	return sizes == extent->sizes_below ? NULL : "X2: the bits of a subtree are not their union";
}

const char *seam__extents_check(struct seam_extents *extents)
{
	uint64_t count = 0, whole_bytes = 0, long_bytes = 0;
	const struct seam_block *last = NULL;
	struct seam_block *extent;
	RB_FOREACH(extent, seam_extent_order, &extents->tree)
	{
		const char *broken = check_extent(extent);
		if (broken != NULL)
			return broken;
		if (last != NULL && seam__block_compare(last, extent) >= 0)
			return "X1: the extents are out of order";
		last = extent;
		uint64_t bytes = seam__extent_bytes(extent);
		count++;
		whole_bytes += bytes;
		long_bytes += bytes >= extents->limit_bytes ? bytes : 0;
	}
	if (count != extents->count || whole_bytes != extents->whole_bytes || long_bytes != extents->long_bytes)
		return "X3: the account of the extents";
	return NULL;
}

const char *seam__home_extents_check(const struct seam_view *home)
{
	struct seam_home_extents tree = home->extents;
	struct seam_block *extent = RB_MIN(seam_home_extents, &tree);
	const struct seam_block *block;
	TAILQ_FOREACH(block, &home->blocks, link)
	{
		uint32_t first = 0;
		if (block->is != SEAM_IS_FREE || block->fresh != 0 || home->stitched ||
			seam__block_whole_slots(block, &first) == 0)
			continue;
		if (extent != block)
			return "X4: a home view's extents are not those of its blocks";
		extent = RB_NEXT(seam_home_extents, &tree, extent);
	}
	return extent == NULL ? NULL : "X4: a home view's extents are not those of its blocks";
}
