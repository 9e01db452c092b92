/* overdue.c: blocks of the arena that no plan speaks for now, by address. */
#include "overdue.h"

#include "bits.h"

static int compare_overdue(const struct seam_overdue_block *a, const struct seam_overdue_block *b)
{
	return seam__bits_compare(a->begin, b->begin);
}

SEAM_TREE_GENERATE(seam_overdue_tree, seam_overdue_block, link, compare_overdue)

static void measure(struct seam_overdue *overdue)
{
	const struct seam_overdue_block *first = RB_MIN(seam_overdue_tree, &overdue->tree),
					*last = RB_MAX(seam_overdue_tree, &overdue->tree);
	overdue->from = first == NULL ? 0 : first->begin;
	overdue->to = last == NULL ? 0 : last->end;
}

void seam__overdue_insert(struct seam_overdue *overdue, struct seam_overdue_block *overdue_block)
{
	RB_INSERT(seam_overdue_tree, &overdue->tree, overdue_block);
	overdue->count++;
	measure(overdue);
}

void seam__overdue_remove(struct seam_overdue *overdue, struct seam_overdue_block *overdue_block)
{
	RB_REMOVE(seam_overdue_tree, &overdue->tree, overdue_block);
	overdue->count--;
	measure(overdue);
}

/* They do not overlap, so the order of their ends is that of their beginnings. */
struct seam_overdue_block *seam__overdue_behind(const struct seam_overdue *overdue, uint64_t at)
{
	struct seam_overdue_block *found = NULL;
	for (struct seam_overdue_block *s = RB_ROOT(&overdue->tree); s != NULL;) {
		if (s->end > at) {
			found = s;
			s = RB_LEFT(s, link);
		} else {
			s = RB_RIGHT(s, link);
		}
	}
	return found;
}

struct seam_overdue_block *seam__overdue_find(const struct seam_overdue *overdue, uint64_t offset)
{
	struct seam_overdue_block *s = RB_ROOT(&overdue->tree);
	while (s != NULL && s->begin != offset)
		s = s->begin > offset ? RB_LEFT(s, link) : RB_RIGHT(s, link);
	return s;
}

struct seam_overdue_block *seam__overdue_first(const struct seam_overdue *overdue)
{
	return seam__overdue_behind(overdue, 0);
}

struct seam_overdue_block *seam__overdue_next(struct seam_overdue_block *overdue_block)
{
	return RB_NEXT(seam_overdue_tree, NULL, overdue_block);
}

const char *seam__overdue_check(const struct seam_overdue *overdue)
{
	uint64_t count = 0, end = 0;
	const struct seam_overdue_block *first = seam__overdue_first(overdue);
	if (overdue->from != (first == NULL ? 0 : first->begin))
		return "overdue: from";
	for (struct seam_overdue_block *s = seam__overdue_first(overdue); s != NULL;
		s = seam__overdue_next(s), count++) {
		if (s->begin >= s->end || s->begin < end)
			return "overdue: order";
		end = s->end;
	}
	if (overdue->to != end)
		return "overdue: to";
	return count == overdue->count ? NULL : "overdue: count";
}
