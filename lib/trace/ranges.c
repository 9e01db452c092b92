/* ranges.c: see ranges.h. A red-black tree by address. */
#include "ranges.h"

#include <stdbool.h>

#include "meta.h"

static int compare_ranges(const struct seam_trace_range *a, const struct seam_trace_range *b)
{
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

SEAM_TREE_GENERATE(seam_trace_range_tree, seam_trace_range, link, compare_ranges)

void seam__ranges_init(struct seam_ranges *ranges)
{
	RB_INIT(&ranges->tree);
	seam__slab_init(&ranges->slab, seam__meta_process(), sizeof(struct seam_trace_range));
}

void seam__ranges_fini(struct seam_ranges *ranges)
{
	(void)seam__slab_fini(&ranges->slab); /* the ranges still in it were the tree's */
	RB_INIT(&ranges->tree);
}

static bool is_range(uint64_t begin, uint64_t bytes)
{
	return bytes > 0 && bytes <= UINT64_MAX - begin;
}

/* The range with the highest beginning that is not above `address`. */
static struct seam_trace_range *find_at_or_below(struct seam_ranges *ranges, uint64_t address)
{
	struct seam_trace_range key = {.begin = address};
	struct seam_trace_range *found = RB_NFIND(seam_trace_range_tree, &ranges->tree, &key);
	if (found != NULL && found->begin == address)
		return found;
	return found != NULL ? RB_PREV(seam_trace_range_tree, &ranges->tree, found)
			     : RB_MAX(seam_trace_range_tree, &ranges->tree);
}

const struct seam_trace_range *seam__ranges_find(struct seam_ranges *ranges, uint64_t address)
{
	const struct seam_trace_range *found = find_at_or_below(ranges, address);
	return found != NULL && address < found->end ? found : NULL;
}

/* Cuts [begin, end) out. `spare` is used where one range becomes two; returns whether it was. */
static bool cut(struct seam_ranges *ranges, uint64_t begin, uint64_t end, struct seam_trace_range *spare)
{
	struct seam_trace_range *range = find_at_or_below(ranges, begin);
	if (range == NULL)
		range = RB_MIN(seam_trace_range_tree, &ranges->tree);
	while (range != NULL && range->begin < end) {
		struct seam_trace_range *next = RB_NEXT(seam_trace_range_tree, &ranges->tree, range);
		if (range->begin < begin && range->end > end) {
			*spare = *range;
			spare->begin = end;
			range->end = begin;
			RB_INSERT(seam_trace_range_tree, &ranges->tree, spare);
			return true;
		}
		if (range->begin < begin) {
			if (range->end > begin)
				range->end = begin;
		} else if (range->end > end) {
			range->begin = end; /* still behind its predecessor, still before its successor */
		} else {
			RB_REMOVE(seam_trace_range_tree, &ranges->tree, range);
			seam__slab_put(&ranges->slab, range);
		}
		range = next;
	}
	return false;
}

enum seam_rc seam__ranges_remove(struct seam_ranges *ranges, uint64_t begin, uint64_t bytes)
{
	if (!is_range(begin, bytes))
		return SEAM_INVALID;
	struct seam_trace_range *spare = seam__slab_get(&ranges->slab);
	if (spare == NULL)
		return SEAM_OOM_META;
	if (!cut(ranges, begin, begin + bytes, spare))
		seam__slab_put(&ranges->slab, spare);
	return SEAM_OK;
}

enum seam_rc seam__ranges_add(
	struct seam_ranges *ranges, uint64_t begin, uint64_t bytes, uint64_t stream, uint32_t pool)
{
	if (!is_range(begin, bytes))
		return SEAM_INVALID;
	struct seam_trace_range *range = seam__slab_get(&ranges->slab);
	if (range == NULL)
		return SEAM_OOM_META;
	enum seam_rc rc = seam__ranges_remove(ranges, begin, bytes);
	if (rc != SEAM_OK) {
		seam__slab_put(&ranges->slab, range);
		return rc;
	}
	*range = (struct seam_trace_range){.begin = begin, .end = begin + bytes, .stream = stream, .pool = pool};
	RB_INSERT(seam_trace_range_tree, &ranges->tree, range);
	return SEAM_OK;
}

const struct seam_trace_range *seam__ranges_first(struct seam_ranges *ranges)
{
	return RB_MIN(seam_trace_range_tree, &ranges->tree);
}

const struct seam_trace_range *seam__ranges_next(const struct seam_trace_range *range)
{
	return seam_trace_range_tree_RB_NEXT((struct seam_trace_range *)(uintptr_t)range);
}

const char *seam__ranges_check(const struct seam_ranges *ranges)
{
	uint64_t end = 0;
	uint64_t count = 0;
	const struct seam_trace_range *range =
		seam_trace_range_tree_RB_MINMAX((struct seam_trace_range_tree *)(uintptr_t)&ranges->tree, -1);
	for (; range != NULL; range = seam__ranges_next(range)) {
		if (range->begin >= range->end)
			return "ranges TR1: a range is not empty";
		if (range->begin < end)
			return "ranges TR1: ranges do not overlap";
		end = range->end;
		count++;
	}
	return count == ranges->slab.live_objects ? NULL : "ranges: every range is in the tree";
}
