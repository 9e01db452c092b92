/* order.c: see order.h. */
#include "order.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "region.h"

/* Ascending in every key, then by head. */
struct entry {
	uint64_t keys[SEAM__ORDER_LETTERS + 1]; /* the first: 0 for what lives all around */
	uint32_t head;
};

/* What the keys are taken from. */
struct measures {
	const struct seam_problem *problem;
	uint64_t *peaks; /* bottom-up tree over the positions: most bytes live at once below each node. NULL unless T is
			    asked */
};

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left;
	const struct entry *b = right;

	for (size_t k = 0; k < sizeof(a->keys) / sizeof(a->keys[0]); k++)
		if (a->keys[k] != b->keys[k])
			return a->keys[k] < b->keys[k] ? -1 : 1;
	return a->head < b->head ? -1 : a->head > b->head;
}

static enum seam_rc make_peaks(struct measures *measures)
{
	const struct seam_problem *problem = measures->problem;
	uint64_t *peaks = seam__region_array(problem->region, 2 * (size_t)problem->circle, sizeof(*peaks));

	if (peaks == NULL)
		return SEAM_OOM_META;
	seam__problem_live(problem, peaks + problem->circle);
	for (uint32_t node = problem->circle - 1; node > 0; node--)
		peaks[node] = peaks[2 * node] > peaks[2 * node + 1] ? peaks[2 * node] : peaks[2 * node + 1];
	measures->peaks = peaks;
	return SEAM_OK;
}

static uint64_t peak_between(const struct measures *measures, uint32_t first, uint32_t end)
{
	uint32_t left = measures->problem->circle + first;
	uint32_t right = measures->problem->circle + end;
	uint64_t most = 0;

	for (; left < right; left /= 2, right /= 2) {
		if ((left & 1) != 0) {
			most = measures->peaks[left] > most ? measures->peaks[left] : most;
			left++;
		}
		if ((right & 1) != 0) {
			right--;
			most = measures->peaks[right] > most ? measures->peaks[right] : most;
		}
	}
	return most;
}

static uint64_t total(const struct measures *measures, const struct seam_item *item)
{
	uint32_t circle = measures->problem->circle;
	uint32_t room = circle - item->begin;

	if (item->span <= room)
		return peak_between(measures, item->begin, item->begin + item->span);
	uint64_t before = peak_between(measures, item->begin, circle);
	uint64_t behind = peak_between(measures, 0, item->span - room);

	return before > behind ? before : behind;
}

static uint64_t area(const struct seam_item *item)
{
	uint64_t product;

	return __builtin_mul_overflow(item->size_bytes, (uint64_t)item->span, &product) ? UINT64_MAX : product;
}

/* Over the chain: sums of W and A (which stop at the largest number), the largest T, the head's B. */
static uint64_t key(const struct measures *measures, uint32_t head, char letter)
{
	const struct seam_item *items = measures->problem->items;
	uint64_t sum = 0;
	uint64_t most = 0;

	if (letter == 'B')
		return items[head].begin;
	for (uint32_t i = head; i != SEAM__ITEM_NONE; i = items[i].next) {
		uint64_t value = letter == 'T' ? total(measures, &items[i])
			: letter == 'W'        ? items[i].size_bytes
					       : area(&items[i]);

		sum = sum > UINT64_MAX - value ? UINT64_MAX : sum + value;
		most = value > most ? value : most;
	}
	return UINT64_MAX - (letter == 'T' ? most : sum);
}

static uint32_t fill(const struct measures *measures, const char *word, struct entry *entries, uint8_t *is_behind)
{
	const struct seam_problem *problem = measures->problem;
	uint32_t count = 0;

	for (uint32_t i = 0; i < problem->count; i++)
		if (problem->items[i].next != SEAM__ITEM_NONE)
			is_behind[problem->items[i].next] = 1;
	for (uint32_t i = 0; i < problem->count; i++) {
		struct entry *entry = &entries[count];

		if (is_behind[i] != 0 || problem->items[i].fixed_bytes != SEAM__ADDRESS_ANY)
			continue;
		*entry = (struct entry){.head = i};
		entry->keys[0] = problem->items[i].span < problem->circle;
		for (size_t k = 0; word[k] != '\0'; k++)
			entry->keys[k + 1] = key(measures, i, word[k]);
		count++;
	}
	return count;
}

enum seam_rc seam__order_init(struct seam_order *order, const struct seam_problem *problem, const char *word)
{
	struct seam_order made = {.problem = problem};
	struct measures measures = {.problem = problem};
	struct entry *entries = seam__region_array(problem->region, problem->count, sizeof(*entries));
	uint8_t *is_behind = seam__region_array(problem->region, problem->count, sizeof(*is_behind));
	enum seam_rc rc = SEAM_OOM_META;

	SEAM_ASSERT(strlen(word) <= SEAM__ORDER_LETTERS);
	made.heads = seam__region_array(problem->region, problem->count, sizeof(*made.heads));
	if (entries != NULL && is_behind != NULL && made.heads != NULL)
		rc = strchr(word, 'T') == NULL ? SEAM_OK : make_peaks(&measures);
	if (rc == SEAM_OK) {
		made.count = fill(&measures, word, entries, is_behind);
		qsort(entries, made.count, sizeof(*entries), compare_entries);
		for (uint32_t i = 0; i < made.count; i++)
			made.heads[i] = entries[i].head;
	}
	if (rc == SEAM_OK)
		*order = made;
	return rc;
}

enum seam_rc seam__order_by_offset(struct seam_order *order, const uint64_t *offsets)
{
	struct seam_region *region = order->problem->region;
	const void *mark = seam__region_mark(region);
	struct entry *entries = seam__region_array(region, order->count, sizeof(*entries));

	if (entries == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < order->count; i++)
		entries[i] = (struct entry){.keys = {offsets[order->heads[i]]}, .head = order->heads[i]};
	qsort(entries, order->count, sizeof(*entries), compare_entries);
	for (uint32_t i = 0; i < order->count; i++)
		order->heads[i] = entries[i].head;
	seam__region_release(region, mark);
	return SEAM_OK;
}
