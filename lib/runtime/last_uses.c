/* last_uses.c: which streams used the bytes of an arena last: ranges by address. */
#include "last_uses.h"

#include "bits.h"
#include "check.h"

static int compare_last_uses(const struct seam_last_use *a, const struct seam_last_use *b)
{
	return seam__bits_compare(a->begin, b->begin);
}

SEAM_TREE_GENERATE(seam_last_use_tree, seam_last_use, link, compare_last_uses)

void seam__last_uses_init(struct seam_last_uses *last_uses, struct seam_meta *meta)
{
	RB_INIT(&last_uses->tree);
	seam__slab_init(&last_uses->slab, meta, sizeof(struct seam_last_use));
}

void seam__last_uses_fini(struct seam_last_uses *last_uses)
{
	RB_INIT(&last_uses->tree);
	(void)seam__slab_fini(&last_uses->slab);
}

/* They do not overlap, so the order of their ends is that of their beginnings. */
static struct seam_last_use *find_behind(const struct seam_last_uses *last_uses, uint64_t at)
{
	struct seam_last_use *found = NULL;
	for (struct seam_last_use *range = RB_ROOT(&last_uses->tree); range != NULL;) {
		if (range->end > at) {
			found = range;
			range = RB_LEFT(range, link);
		} else {
			range = RB_RIGHT(range, link);
		}
	}
	return found;
}

const struct seam_last_use *seam__last_uses_behind(const struct seam_last_uses *last_uses, uint64_t at)
{
	return find_behind(last_uses, at);
}

const struct seam_last_use *seam__last_uses_next(const struct seam_last_use *last_use)
{
	return RB_NEXT(seam_last_use_tree, NULL, (struct seam_last_use *)(uintptr_t)last_use);
}

static bool is_same(const struct seam_last_use *range, uint64_t streams, uint64_t stamp)
{
	return range->streams == streams && range->stamp == stamp;
}

/* There is a node for it, and no other range is there. */
static void insert(struct seam_last_uses *last_uses, uint64_t begin, uint64_t end, uint64_t streams, uint64_t stamp)
{
	struct seam_last_use *range = seam__slab_get(&last_uses->slab);
	SEAM_VERIFY(range != NULL);
	*range = (struct seam_last_use){.begin = begin, .end = end, .streams = streams, .stamp = stamp};
	(void)RB_INSERT(seam_last_use_tree, &last_uses->tree, range);
}

static void drop(struct seam_last_uses *last_uses, struct seam_last_use *range)
{
	RB_REMOVE(seam_last_use_tree, &last_uses->tree, range);
	seam__slab_put(&last_uses->slab, range);
}

/* Nothing else is noted of [begin, end) any more. Returns the range that is free to be it: one of those that lay there;
 * NULL: none. *ret_high: the lowest range above; NULL: none. There is a node for one more range. */
static struct seam_last_use *cut_out(struct seam_last_uses *last_uses, struct seam_last_use *range, uint64_t begin,
	uint64_t end, struct seam_last_use **ret_high)
{
	struct seam_last_use *own = NULL;
	if (range != NULL && range->begin < begin) {
		if (range->end > end)
			insert(last_uses, end, range->end, range->streams, range->stamp);
		range->end = begin;
		range = RB_NEXT(seam_last_use_tree, NULL, range);
	}
	while (range != NULL && range->end <= end) {
		struct seam_last_use *const next = RB_NEXT(seam_last_use_tree, NULL, range);
		if (own == NULL)
			own = range;
		else
			drop(last_uses, range);
		range = next;
	}
	if (range != NULL && range->begin < end)
		range->begin = end;
	*ret_high = range;
	return own;
}

/* A range whose ends change, but stay beside its neighbours, keeps its place in the tree. */
bool seam__last_uses_note(
	struct seam_last_uses *last_uses, uint64_t begin, uint64_t end, uint64_t streams, uint64_t stamp)
{
	struct seam_last_use *first = find_behind(last_uses, begin), *high;
	if (first != NULL && first->begin <= begin && end <= first->end && is_same(first, streams, stamp))
		return true;
	if (seam__slab_reserve(&last_uses->slab, 2) != SEAM_OK)
		return false;
	seam__slab_unreserve(&last_uses->slab, 2);
	struct seam_last_use *low = first == NULL ? RB_MAX(seam_last_use_tree, &last_uses->tree)
		: first->begin < begin            ? first
						  : RB_PREV(seam_last_use_tree, NULL, first);
	struct seam_last_use *own = cut_out(last_uses, first, begin, end, &high);
	const bool joins_low = low != NULL && low->end == begin && is_same(low, streams, stamp),
		   joins_high = high != NULL && high->begin == end && is_same(high, streams, stamp);
	begin = joins_low ? low->begin : begin;
	end = joins_high ? high->end : end;
	if (own != NULL && (joins_low || joins_high))
		drop(last_uses, own);
	if (joins_low && joins_high)
		drop(last_uses, high);
	if (joins_low || joins_high)
		own = joins_low ? low : high;
	if (own == NULL) {
		insert(last_uses, begin, end, streams, stamp);
		return true;
	}
	own->begin = begin;
	own->end = end;
	own->streams = streams;
	own->stamp = stamp;
	return true;
}

const char *seam__last_uses_check(const struct seam_last_uses *last_uses)
{
	const struct seam_last_use *below = NULL;
	uint64_t count = 0;
	for (const struct seam_last_use *range = seam__last_uses_behind(last_uses, 0); range != NULL;
		below = range, range = seam__last_uses_next(range), count++) {
		if (range->begin >= range->end || range->streams == 0 || (below != NULL && range->begin < below->end))
			return "LU1";
		if (below != NULL && range->begin == below->end && is_same(below, range->streams, range->stamp))
			return "LU1";
	}
	return count == last_uses->slab.live_objects ? NULL : "LU1";
}
