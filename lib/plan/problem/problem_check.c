/* problem_check.c: the invariants of a problem, and the proof of a placement, for problem.h.
 *
 * Not here: the validator of plan files, which shares no code with the planner.
 */
#include "problem.h"

#include <stdlib.h>

#include "meta.h"

static const char *check_item(const struct seam_problem *problem, uint32_t i)
{
	const struct seam_item *item = &problem->items[i];

	if (item->size_bytes == 0 || item->size_bytes % problem->align_bytes != 0)
		return "P1 size";
	if (item->fixed_bytes != SEAM__ADDRESS_ANY &&
		(item->fixed_bytes % problem->align_bytes != 0 || item->fixed_bytes > UINT64_MAX - item->size_bytes))
		return "P1 fixed address";
	if (item->begin >= problem->circle || item->span == 0 || item->span > problem->circle)
		return "P2 position";
	if (problem->linear && item->span > problem->circle - item->begin)
		return "P2 line";
	if (item->stream >= problem->streams || (problem->streams > 1) != (problem->holds != NULL))
		return "P3 stream";
	if (seam__problem_hold(problem, i, item->stream) != item->span)
		return "P3 own hold";
	for (uint32_t s = 0; s < problem->streams; s++)
		if (seam__problem_hold(problem, i, s) == 0)
			return "P3 hold";
	return NULL;
}

/* Following successors for more steps than there are items means a circle; two predecessors are found by counting. */
static const char *check_links(const struct seam_problem *problem)
{
	uint8_t *is_next = seam__meta_alloc(problem->meta, problem->count);
	const char *broken = NULL;
	uint32_t linked = 0;
	uint32_t walked = 0;

	if (is_next == NULL)
		return NULL; /* nothing can be said */
	for (uint32_t i = 0; i < problem->count && broken == NULL; i++) {
		const struct seam_item *item = &problem->items[i];

		if (item->next == SEAM__ITEM_NONE)
			continue;
		if (item->next >= problem->count || is_next[item->next] != 0 ||
			item->fixed_bytes != SEAM__ADDRESS_ANY ||
			problem->items[item->next].fixed_bytes != SEAM__ADDRESS_ANY) {
			broken = "P4 link";
			break;
		}
		is_next[item->next] = 1;
		linked++;
	}
	/* Every link belongs to a chain that has a head; what no head reaches is a circle. */
	for (uint32_t i = 0; i < problem->count && broken == NULL; i++)
		for (uint32_t j = i; is_next[i] == 0 && problem->items[j].next != SEAM__ITEM_NONE; walked++)
			j = problem->items[j].next;
	if (broken == NULL && walked != linked)
		broken = "P4 circle";
	seam__meta_free(problem->meta, is_next, problem->count);
	return broken;
}

static bool overlap(const struct seam_problem *problem, const uint64_t *offsets, uint32_t i, uint32_t j)
{
	return offsets[i] < offsets[j] + problem->items[j].size_bytes &&
		offsets[j] < offsets[i] + problem->items[i].size_bytes;
}

static const char *check_fixed(const struct seam_problem *problem)
{
	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *a = &problem->items[i];

		if (a->fixed_bytes == SEAM__ADDRESS_ANY)
			continue;
		for (uint32_t j = i + 1; j < problem->count; j++) {
			const struct seam_item *b = &problem->items[j];

			if (b->fixed_bytes != SEAM__ADDRESS_ANY && a->fixed_bytes < b->fixed_bytes + b->size_bytes &&
				b->fixed_bytes < a->fixed_bytes + a->size_bytes &&
				seam__problem_conflict(problem, i, j))
				return "P5 fixed items overlap";
		}
	}
	return NULL;
}

const char *seam__problem_check(const struct seam_problem *problem)
{
	const char *broken = NULL;

	if (problem->count > problem->capacity)
		return "P2 count";
	for (uint32_t i = 0; i < problem->count && broken == NULL; i++)
		broken = check_item(problem, i);
	if (broken == NULL && problem->count > 0)
		broken = check_links(problem);
	return broken != NULL ? broken : check_fixed(problem);
}

struct by_offset {
	uint64_t offset;
	uint32_t item;
};

static int compare_offsets(const void *left, const void *right)
{
	const struct by_offset *a = left;
	const struct by_offset *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

/* A sweep over addresses: `open` holds the items that reach beyond the address at hand. */
static const char *sweep(
	const struct seam_problem *problem, const uint64_t *offsets, struct by_offset *order, uint32_t *open)
{
	uint32_t open_count = 0;

	for (uint32_t i = 0; i < problem->count; i++)
		order[i] = (struct by_offset){.offset = offsets[i], .item = i};
	qsort(order, problem->count, sizeof(*order), compare_offsets);
	for (uint32_t n = 0; n < problem->count; n++) {
		uint32_t item = order[n].item;
		uint32_t kept = 0;

		for (uint32_t k = 0; k < open_count; k++) {
			uint32_t other = open[k];

			if (offsets[other] + problem->items[other].size_bytes <= order[n].offset)
				continue;
			open[kept++] = other;
			if (overlap(problem, offsets, item, other) && seam__problem_conflict(problem, item, other))
				return "conflicting items overlap";
		}
		open[kept++] = item;
		open_count = kept;
	}
	return NULL;
}

const char *seam__problem_check_placement(
	const struct seam_problem *problem, const uint64_t *offsets, uint64_t peak_bytes)
{
	const char *broken = NULL;

	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *item = &problem->items[i];

		if (item->size_bytes > peak_bytes || offsets[i] > peak_bytes - item->size_bytes)
			return "an item reaches above the peak";
		if (offsets[i] % problem->align_bytes != 0)
			return "an item is not aligned";
		if (item->fixed_bytes != SEAM__ADDRESS_ANY && offsets[i] != item->fixed_bytes)
			return "a fixed item was moved";
		if (item->next != SEAM__ITEM_NONE && offsets[item->next] != offsets[i] + item->size_bytes)
			return "a linked item is not behind its predecessor";
	}
	if (problem->count == 0)
		return NULL;
	struct by_offset *order = seam__meta_array(problem->meta, problem->count, sizeof(*order));
	uint32_t *open = seam__meta_array(problem->meta, problem->count, sizeof(*open));
	if (order == NULL || open == NULL)
		broken = "no memory to check";
	else
		broken = sweep(problem, offsets, order, open);
	seam__meta_free(problem->meta, open, (size_t)problem->count * sizeof(*open));
	seam__meta_free(problem->meta, order, (size_t)problem->count * sizeof(*order));
	return broken;
}
