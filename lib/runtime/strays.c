/* strays.c: blocks of the arena that no plan speaks for now, by address. */
#include "strays.h"

static int compare_strays(const struct seam_stray *a, const struct seam_stray *b)
{
	return (a->begin > b->begin) - (a->begin < b->begin);
}

SEAM_TREE_GENERATE(seam_stray_tree, seam_stray, link, compare_strays)

static void measure(struct seam_strays *strays)
{
	const struct seam_stray *first = RB_MIN(seam_stray_tree, &strays->tree),
				*last = RB_MAX(seam_stray_tree, &strays->tree);
	strays->from = first == NULL ? 0 : first->begin;
	strays->to = last == NULL ? 0 : last->end;
}

void seam__strays_insert(struct seam_strays *strays, struct seam_stray *stray)
{
	RB_INSERT(seam_stray_tree, &strays->tree, stray);
	strays->count++;
	measure(strays);
}

void seam__strays_remove(struct seam_strays *strays, struct seam_stray *stray)
{
	RB_REMOVE(seam_stray_tree, &strays->tree, stray);
	strays->count--;
	measure(strays);
}

/* They do not overlap, so the order of their ends is that of their beginnings. */
struct seam_stray *seam__strays_behind(const struct seam_strays *strays, uint64_t at)
{
	struct seam_stray *found = NULL;
	for (struct seam_stray *s = RB_ROOT(&strays->tree); s != NULL;) {
		if (s->end > at) {
			found = s;
			s = RB_LEFT(s, link);
		} else {
			s = RB_RIGHT(s, link);
		}
	}
	return found;
}

struct seam_stray *seam__strays_find(const struct seam_strays *strays, uint64_t offset)
{
	struct seam_stray *s = RB_ROOT(&strays->tree);
	while (s != NULL && s->begin != offset)
		s = s->begin > offset ? RB_LEFT(s, link) : RB_RIGHT(s, link);
	return s;
}

struct seam_stray *seam__strays_first(const struct seam_strays *strays)
{
	return seam__strays_behind(strays, 0);
}

struct seam_stray *seam__strays_next(struct seam_stray *stray)
{
	return RB_NEXT(seam_stray_tree, NULL, stray);
}

const char *seam__strays_check(const struct seam_strays *strays)
{
	uint64_t count = 0, end = 0;
	const struct seam_stray *first = seam__strays_first(strays);
	if (strays->from != (first == NULL ? 0 : first->begin))
		return "strays: from";
	for (struct seam_stray *s = seam__strays_first(strays); s != NULL; s = seam__strays_next(s), count++) {
		if (s->begin >= s->end || s->begin < end)
			return "strays: order";
		end = s->end;
	}
	if (strays->to != end)
		return "strays: to";
	return count == strays->count ? NULL : "strays: count";
}
