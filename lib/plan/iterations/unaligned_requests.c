/* unaligned_requests.c: see unaligned_requests.h. */
#include "unaligned_requests.h"

#include <stdlib.h>

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_place(const struct seam_unaligned_request *a, const struct seam_unaligned_request *b)
{
	int order = compare_u64(a->place, b->place);

	order = order != 0 ? order : compare_u64(a->thread, b->thread);
	return order != 0 ? order : compare_u64(a->key, b->key);
}

static int by_member(const void *left, const void *right)
{
	const struct seam_unaligned_request *a = left;
	const struct seam_unaligned_request *b = right;
	int order = compare_place(a, b);

	order = order != 0 ? order : compare_u64(a->member, b->member);
	return order != 0 ? order : compare_u64(a->index, b->index);
}

static int by_ordinal(const void *left, const void *right)
{
	const struct seam_unaligned_request *a = left;
	const struct seam_unaligned_request *b = right;
	int order = compare_place(a, b);

	order = order != 0 ? order : compare_u64(a->ordinal, b->ordinal);
	return order != 0 ? order : compare_u64(a->member, b->member);
}

static int compare_groups(const void *left, const void *right)
{
	const struct seam_unaligned_group *a = left;
	const struct seam_unaligned_group *b = right;
	int order = compare_u64(a->place, b->place);

	order = order != 0 ? order : compare_u64(a->thread, b->thread);
	order = order != 0 ? order : compare_u64(a->index, b->index);
	return order != 0 ? order : compare_u64(a->first, b->first);
}

/* Unaligned requests that are the same one stand together afterwards. */
static void sort(struct seam_grow *list)
{
	struct seam_unaligned_request *unaligned = list->items;

	if (list->count == 0)
		return;
	qsort(unaligned, list->count, sizeof(*unaligned), by_member);
	for (size_t i = 1; i < list->count; i++)
		if (compare_place(&unaligned[i - 1], &unaligned[i]) == 0 &&
			unaligned[i - 1].member == unaligned[i].member)
			unaligned[i].ordinal = unaligned[i - 1].ordinal + 1;
	qsort(unaligned, list->count, sizeof(*unaligned), by_ordinal);
}

enum seam_rc seam__unaligned_choose(struct seam_grow *unaligned, uint32_t member_count, struct seam_grow *ret_groups)
{
	const struct seam_unaligned_request *items;
	enum seam_rc rc = SEAM_OK;
	uint32_t behind;

	sort(unaligned);
	items = unaligned->items;
	for (uint32_t first = 0; rc == SEAM_OK && first < unaligned->count; first = behind) {
		struct seam_unaligned_group group = {.place = items[first].place,
			.thread = items[first].thread,
			.index = items[first].index,
			.first = first};

		behind = first + 1;
		while (behind < unaligned->count && compare_place(&items[first], &items[behind]) == 0 &&
			items[first].ordinal == items[behind].ordinal)
			behind++;
		group.count = behind - first;
		if (2 * group.count > member_count)
			rc = seam__grow_append(ret_groups, &group, 1);
	}
	if (rc == SEAM_OK && ret_groups->count > 0)
		qsort(ret_groups->items, ret_groups->count, sizeof(struct seam_unaligned_group), compare_groups);
	return rc;
}
