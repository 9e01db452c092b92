/* range.c: extents of address ranges. See range.h. */
#include "range.h"

#include <stdbool.h>
#include <string.h>

#include "check.h"

static int compare_sizes(const struct seam_extent *a, const struct seam_extent *b)
{
	if (a->shelf != b->shelf)
		return a->shelf < b->shelf ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return (a->va > b->va) - (a->va < b->va);
}

static int compare_segments(const struct seam_segment *a, const struct seam_segment *b)
{
	return (a->va > b->va) - (a->va < b->va);
}

SEAM_TREE_GENERATE(seam_extent_tree, seam_extent, by_size, compare_sizes)
SEAM_TREE_GENERATE(seam_segment_tree, seam_segment, by_va, compare_segments)

void seam__range_init(struct seam_range *range, struct seam_meta *meta, size_t extent_bytes)
{
	SEAM_ASSERT(extent_bytes >= sizeof(struct seam_extent));
	*range = (struct seam_range){.meta = meta, .extent_bytes = extent_bytes};
	RB_INIT(&range->free);
	RB_INIT(&range->segments);
	seam__slab_init(&range->extent_slab, meta, extent_bytes);
	seam__slab_init(&range->segment_slab, meta, sizeof(struct seam_segment));
}

void seam__range_fini(struct seam_range *range)
{
	SEAM_ASSERT(range->segment_count == 0);
	seam__live_fini(&range->live, range->meta);
	seam__slab_fini(&range->extent_slab);
	seam__slab_fini(&range->segment_slab);
}

enum seam_rc seam__range_reserve(struct seam_range *range, uint64_t segments, uint64_t extents)
{
	enum seam_rc rc = seam__slab_reserve(&range->segment_slab, segments);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__slab_reserve(&range->extent_slab, extents);
	if (rc != SEAM_OK)
		seam__slab_unreserve(&range->segment_slab, segments);
	return rc;
}

void seam__range_unreserve(struct seam_range *range, uint64_t segments, uint64_t extents)
{
	seam__slab_unreserve(&range->segment_slab, segments);
	seam__slab_unreserve(&range->extent_slab, extents);
}

static struct seam_extent *new_extent(
	struct seam_range *range, struct seam_segment *segment, uint64_t va, uint64_t bytes)
{
	struct seam_extent *extent = seam__slab_get_reserved(&range->extent_slab);
	memset(extent, 0, range->extent_bytes);
	extent->segment = segment;
	extent->va = va;
	extent->bytes = bytes;
	return extent;
}

struct seam_extent *seam__range_add(struct seam_range *range, uint64_t va, uint64_t bytes, uint64_t kind)
{
	struct seam_segment *segment = seam__slab_get_reserved(&range->segment_slab);
	*segment = (struct seam_segment){.va = va, .bytes = bytes, .kind = kind};
	TAILQ_INIT(&segment->extents);
	struct seam_extent *extent = new_extent(range, segment, va, bytes);
	TAILQ_INSERT_HEAD(&segment->extents, extent, link);
	struct seam_segment *clash = RB_INSERT(seam_segment_tree, &range->segments, segment);
	SEAM_VERIFY(clash == NULL);
	range->segment_count++;
	range->segment_bytes += bytes;
	return extent;
}

void seam__range_remove(struct seam_range *range, struct seam_segment *segment)
{
	struct seam_extent *extent = TAILQ_FIRST(&segment->extents);
	SEAM_ASSERT(extent->state == SEAM_EXTENT_HELD && extent->bytes == segment->bytes);
	(void)RB_REMOVE(seam_segment_tree, &range->segments, segment);
	range->segment_count--;
	range->segment_bytes -= segment->bytes;
	seam__slab_put(&range->extent_slab, extent);
	seam__slab_put(&range->segment_slab, segment);
}

struct seam_extent *seam__range_split(struct seam_range *range, struct seam_extent *extent, uint64_t bytes)
{
	SEAM_ASSERT(extent->state != SEAM_EXTENT_FREE && bytes > 0 && bytes < extent->bytes);
	struct seam_extent *rest = new_extent(range, extent->segment, extent->va + bytes, extent->bytes - bytes);
	TAILQ_INSERT_AFTER(&extent->segment->extents, extent, rest, link);
	extent->bytes = bytes;
	return rest;
}

void seam__range_join(struct seam_range *range, struct seam_extent *left, struct seam_extent *right)
{
	SEAM_ASSERT(left->state == SEAM_EXTENT_HELD && right->state == SEAM_EXTENT_HELD);
	SEAM_ASSERT(seam__range_next(left) == right);
	left->bytes += right->bytes;
	TAILQ_REMOVE(&left->segment->extents, right, link);
	seam__slab_put(&range->extent_slab, right);
}

void seam__range_file(struct seam_range *range, struct seam_extent *extent, uint64_t shelf)
{
	SEAM_ASSERT(extent->state == SEAM_EXTENT_HELD);
	extent->state = SEAM_EXTENT_FREE;
	extent->shelf = shelf;
	(void)RB_INSERT(seam_extent_tree, &range->free, extent);
	range->free_bytes += extent->bytes;
}

void seam__range_pull(struct seam_range *range, struct seam_extent *extent)
{
	SEAM_ASSERT(extent->state == SEAM_EXTENT_FREE);
	(void)RB_REMOVE(seam_extent_tree, &range->free, extent);
	extent->state = SEAM_EXTENT_HELD;
	range->free_bytes -= extent->bytes;
}

enum seam_rc seam__range_publish(struct seam_range *range, struct seam_extent *extent)
{
	SEAM_ASSERT(extent->state == SEAM_EXTENT_HELD);
	enum seam_rc rc = seam__live_reserve(&range->live, range->meta, 1);
	if (rc != SEAM_OK)
		return rc;
	seam__live_insert(&range->live, extent->va, extent);
	extent->state = SEAM_EXTENT_LIVE;
	return SEAM_OK;
}

void seam__range_withdraw(struct seam_range *range, struct seam_extent *extent)
{
	SEAM_ASSERT(extent->state == SEAM_EXTENT_LIVE);
	seam__live_remove(&range->live, extent->va);
	extent->state = SEAM_EXTENT_HELD;
}

struct seam_extent *seam__range_best(struct seam_range *range, uint64_t shelf, uint64_t bytes)
{
	struct seam_extent key = {.shelf = shelf, .bytes = bytes};
	struct seam_extent *extent = RB_NFIND(seam_extent_tree, &range->free, &key);
	return extent != NULL && extent->shelf == shelf ? extent : NULL;
}

struct seam_extent *seam__range_first(struct seam_range *range, uint64_t shelf)
{
	struct seam_extent key = {.shelf = shelf};
	return RB_NFIND(seam_extent_tree, &range->free, &key);
}

struct seam_extent *seam__range_after(struct seam_extent *extent)
{
	return RB_NEXT(seam_extent_tree, NULL, extent);
}

struct seam_extent *seam__range_find(struct seam_range *range, uint64_t va)
{
	return seam__live_at(&range->live, va);
}

struct seam_extent *seam__range_around(struct seam_range *range, uint64_t va)
{
	struct seam_segment *segment = RB_ROOT(&range->segments);
	while (segment != NULL && (va < segment->va || va - segment->va >= segment->bytes))
		segment = va < segment->va ? RB_LEFT(segment, by_va) : RB_RIGHT(segment, by_va);
	if (segment == NULL)
		return NULL;
	struct seam_extent *extent;
	TAILQ_FOREACH(extent, &segment->extents, link)
	if (va - extent->va < extent->bytes)
		break;
	return extent;
}

struct seam_extent *seam__range_next(struct seam_extent *extent)
{
	return TAILQ_NEXT(extent, link);
}

struct seam_extent *seam__range_prev(struct seam_extent *extent)
{
	return TAILQ_PREV(extent, seam_extent_list, link);
}

struct seam_segment *seam__range_first_segment(struct seam_range *range)
{
	return RB_MIN(seam_segment_tree, &range->segments);
}

struct seam_segment *seam__range_next_segment(struct seam_segment *segment)
{
	return RB_NEXT(seam_segment_tree, NULL, segment);
}

struct totals {
	uint64_t extents, free_extents, live_extents, free_bytes;
};

static const char *check_extent(struct seam_range *range, struct seam_extent *extent, struct totals *totals)
{
	totals->extents++;
	if (extent->state == SEAM_EXTENT_FREE) {
		totals->free_extents++;
		totals->free_bytes += extent->bytes;
		if (RB_FIND(seam_extent_tree, &range->free, extent) != extent)
			return "R2 free extents are in the size index";
	}
	bool found = seam__range_find(range, extent->va) == extent;
	if (found != (extent->state == SEAM_EXTENT_LIVE))
		return "R3 live extents are in the address table";
	totals->live_extents += found;
	return NULL;
}

static const char *check_segment(struct seam_range *range, struct seam_segment *segment, struct totals *totals)
{
	uint64_t va = segment->va;
	struct seam_extent *extent;
	TAILQ_FOREACH(extent, &segment->extents, link)
	{
		if (extent->va != va || extent->bytes == 0 || extent->segment != segment)
			return "R1 extents fill their segment";
		va += extent->bytes;
		const char *broken = check_extent(range, extent, totals);
		if (broken != NULL)
			return broken;
	}
	return va == segment->va + segment->bytes ? NULL : "R1 extents fill their segment";
}

const char *seam__range_check(const struct seam_range *constant)
{
	/* The container macros know no const; nothing is written through it. */
	struct seam_range *range = (struct seam_range *)(uintptr_t)constant;
	struct totals totals = {0};
	uint64_t segments = 0, bytes = 0, end = 0, indexed = 0;
	struct seam_segment *segment;
	RB_FOREACH(segment, seam_segment_tree, &range->segments)
	{
		if (segment->va < end)
			return "R1 segments do not overlap";
		end = segment->va + segment->bytes;
		const char *broken = check_segment(range, segment, &totals);
		if (broken != NULL)
			return broken;
		segments++;
		bytes += segment->bytes;
	}
	struct seam_extent *extent;
	RB_FOREACH(extent, seam_extent_tree, &range->free)
	{
		if (extent->state != SEAM_EXTENT_FREE)
			return "R2 free extents are in the size index";
		indexed++;
	}
	if (seam__live_check(&range->live) != NULL)
		return "R3 the address table";
	if (indexed != totals.free_extents || range->live.count != totals.live_extents)
		return "R3 nothing else is indexed";
	if (segments != range->segment_count || bytes != range->segment_bytes ||
		totals.free_bytes != range->free_bytes || totals.extents != range->extent_slab.live_objects)
		return "R4 totals";
	return NULL;
}
