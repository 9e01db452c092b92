/* spool.c: see spool.h. */
#include "spool.h"

#include "check.h"

static inline int compare(const struct seam_view *a, const struct seam_view *b)
{
	if (a->used_bytes != b->used_bytes)
		return a->used_bytes < b->used_bytes ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

SEAM_TREE_GENERATE(seam_spool, seam_view, by_bytes, compare)

static bool is_idle(const struct seam_view *view)
{
	return view->owned == 0 && view->holes == 0;
}

void seam__spool_update(struct seam_spool *spool, struct seam_view *view)
{
	SEAM_ASSERT(view->stitched);
	if (view->idle == is_idle(view))
		return;
	if (view->idle) {
		seam__spool_remove(spool, view);
		return;
	}
	struct seam_view *same = RB_INSERT(seam_spool, spool, view);
	SEAM_ASSERT(same == NULL);
	(void)same;
	view->idle = true;
}

void seam__spool_remove(struct seam_spool *spool, struct seam_view *view)
{
	if (view->idle)
		RB_REMOVE(seam_spool, spool, view);
	view->idle = false;
}

struct seam_view *seam__spool_find(struct seam_spool *spool, uint64_t bytes)
{
	struct seam_view *at = RB_ROOT(spool), *best = NULL;
	while (at != NULL) {
		if (at->used_bytes >= bytes) {
			best = at;
			at = RB_LEFT(at, by_bytes);
		} else {
			at = RB_RIGHT(at, by_bytes);
		}
	}
	return best;
}

struct seam_view *seam__spool_next(struct seam_view *view)
{
	return RB_NEXT(seam_spool, NULL, view);
}

const char *seam__spool_check(const struct seam_spool *spool, const struct seam_views *views)
{
	struct seam_spool tree = *spool;
	uint64_t idle = 0, found = 0;
	const struct seam_view *last = NULL;
	struct seam_view *view;
	RB_FOREACH(view, seam_spool, &tree)
	{
		if (!view->idle || !is_idle(view))
			return "SP1: a view that is not idle stands among those that are";
		if (last != NULL && compare(last, view) >= 0)
			return "SP1: the idle views are out of order";
		last = view;
		found++;
	}
	TAILQ_FOREACH(view, views, link)
	idle += is_idle(view);
	return idle == found ? NULL : "SP1: an idle view is missing";
}
