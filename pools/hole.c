/* hole.c: see hole.h. */
#include "hole.h"

#include "check.h"

static inline int compare(const struct seam_block *a, const struct seam_block *b)
{
	if (a->view->number != b->view->number)
		return a->view->number < b->view->number ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

SEAM_TREE_GENERATE(seam_holes, seam_block, by_size, compare)

void seam__hole_insert(struct seam_block *hole)
{
	SEAM_ASSERT(hole->is == SEAM_IS_HOLE && !hole->view->stitched);
	struct seam_block *same = RB_INSERT(seam_holes, &hole->view->ppool->holes, hole);
	SEAM_ASSERT(same == NULL);
	(void)same;
}

void seam__hole_make(struct seam_block *lost)
{
	SEAM_ASSERT(lost->is == SEAM_IS_LOST);
	lost->is = SEAM_IS_HOLE;
	seam__block_set_stream(lost, NULL);
	seam__hole_insert(lost);
}

void seam__hole_remove(struct seam_block *hole)
{
	RB_REMOVE(seam_holes, &hole->view->ppool->holes, hole);
}

struct seam_block *seam__hole_next(struct seam_ppool *ppool, struct seam_block *hole)
{
	return hole == NULL ? RB_MIN(seam_holes, &ppool->holes) : RB_NEXT(seam_holes, &ppool->holes, hole);
}

const char *seam__holes_check(const struct seam_ppool *ppool)
{
	struct seam_holes tree = ppool->holes;
	const struct seam_block *last = NULL;
	struct seam_block *hole;
	uint64_t found = 0, holes = 0;
	RB_FOREACH(hole, seam_holes, &tree)
	{
		if (hole->is != SEAM_IS_HOLE || hole->view->ppool != ppool)
			return "HO1: something else among the holes";
		if (last != NULL && compare(last, hole) >= 0)
			return "HO1: the holes are out of order";
		last = hole;
		found++;
	}
	const struct seam_view *view;
	TAILQ_FOREACH(view, &ppool->homes, link)
	{
		const struct seam_block *block;
		TAILQ_FOREACH(block, &view->blocks, link)
		holes += block->is == SEAM_IS_HOLE;
	}
	return holes == found ? NULL : "HO1: a hole is missing";
}
