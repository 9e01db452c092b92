/* rhythm_extras.c: see rhythm_extras.h. */
#include "rhythm_extras.h"

#include <stdlib.h>

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_place(const struct seam__extra *a, const struct seam__extra *b)
{
	int order = compare_u64(a->place, b->place);

	order = order != 0 ? order : compare_u64(a->thread, b->thread);
	return order != 0 ? order : compare_u64(a->key, b->key);
}

static int by_member(const void *left, const void *right)
{
	const struct seam__extra *a = left;
	const struct seam__extra *b = right;
	int order = compare_place(a, b);

	order = order != 0 ? order : compare_u64(a->member, b->member);
	return order != 0 ? order : compare_u64(a->index, b->index);
}

static int by_ordinal(const void *left, const void *right)
{
	const struct seam__extra *a = left;
	const struct seam__extra *b = right;
	int order = compare_place(a, b);

	order = order != 0 ? order : compare_u64(a->ordinal, b->ordinal);
	return order != 0 ? order : compare_u64(a->member, b->member);
}

static int compare_groups(const void *left, const void *right)
{
	const struct seam__extras_group *a = left;
	const struct seam__extras_group *b = right;
	int order = compare_u64(a->place, b->place);

	order = order != 0 ? order : compare_u64(a->thread, b->thread);
	order = order != 0 ? order : compare_u64(a->index, b->index);
	return order != 0 ? order : compare_u64(a->first, b->first);
}

/* Extras that are the same one stand together afterwards. */
static void sort(struct seam_grow *list)
{
	struct seam__extra *extras = list->items;

	if (list->count == 0)
		return;
	qsort(extras, list->count, sizeof(*extras), by_member);
	for (size_t i = 1; i < list->count; i++)
		if (compare_place(&extras[i - 1], &extras[i]) == 0 && extras[i - 1].member == extras[i].member)
			extras[i].ordinal = extras[i - 1].ordinal + 1;
	qsort(extras, list->count, sizeof(*extras), by_ordinal);
}

enum seam_rc seam__extras_choose(struct seam_grow *extras, uint32_t member_count, struct seam_grow *ret_groups)
{
	const struct seam__extra *items;
	enum seam_rc rc = SEAM_OK;
	uint32_t behind;

	sort(extras);
	items = extras->items;
	for (uint32_t first = 0; rc == SEAM_OK && first < extras->count; first = behind) {
		struct seam__extras_group group = {.place = items[first].place,
			.thread = items[first].thread,
			.index = items[first].index,
			.first = first};

		behind = first + 1;
		while (behind < extras->count && compare_place(&items[first], &items[behind]) == 0 &&
			items[first].ordinal == items[behind].ordinal)
			behind++;
		group.count = behind - first;
		if (2 * group.count > member_count)
			rc = seam__grow_append(ret_groups, &group, 1);
	}
	if (rc == SEAM_OK && ret_groups->count > 0)
		qsort(ret_groups->items, ret_groups->count, sizeof(struct seam__extras_group), compare_groups);
	return rc;
}
