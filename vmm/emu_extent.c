/* emu_extent.c: free ranges in two trees; see emu_extent.h. */
#include "emu_extent.h"

#include "bits.h"
#include "check.h"

static int compare_start(const struct emu_extent *a, const struct emu_extent *b)
{
	return a->start < b->start ? -1 : a->start > b->start;
}

static int compare_size(const struct emu_extent *a, const struct emu_extent *b)
{
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return compare_start(a, b);
}

SEAM_TREE_GENERATE(emu_extent_starts, emu_extent, by_start, compare_start)
SEAM_TREE_GENERATE(emu_extent_sizes, emu_extent, by_size, compare_size)

static void insert(struct emu_extents *x, struct emu_extent *extent, uint64_t start, uint64_t bytes)
{
	extent->start = start;
	extent->bytes = bytes;
	RB_INSERT(emu_extent_starts, &x->starts, extent);
	RB_INSERT(emu_extent_sizes, &x->sizes, extent);
	x->free_bytes += bytes;
}

static void remove_extent(struct emu_extents *x, struct emu_extent *extent)
{
	RB_REMOVE(emu_extent_starts, &x->starts, extent);
	RB_REMOVE(emu_extent_sizes, &x->sizes, extent);
	x->free_bytes -= extent->bytes;
}

enum seam_rc seam__emu_extents_init(struct emu_extents *x, struct seam_meta *meta, uint64_t start, uint64_t bytes)
{
	seam__slab_init(&x->nodes, meta, sizeof(struct emu_extent));
	RB_INIT(&x->starts);
	RB_INIT(&x->sizes);
	x->free_bytes = 0;
	x->taken = 0;
	struct emu_extent *all = seam__slab_get(&x->nodes);
	if (all == NULL)
		return SEAM_OOM_META;
	insert(x, all, start, bytes);
	return SEAM_OK;
}

void seam__emu_extents_fini(struct emu_extents *x)
{
	if (x->nodes.meta != NULL) /* a device that failed on its way may never have come here */
		(void)seam__slab_fini(&x->nodes);
}

/* Cuts [start, start + bytes) out of `extent`, which holds it. At most two pieces remain. */
static bool cut(struct emu_extents *x, struct emu_extent *extent, uint64_t start, uint64_t bytes)
{
	uint64_t head_start = extent->start;
	uint64_t head_bytes = start - extent->start;
	uint64_t tail_bytes = extent->start + extent->bytes - (start + bytes);
	/* One for a second piece, one set aside for the way back. */
	if (seam__slab_reserve(&x->nodes, 2) != SEAM_OK)
		return false;
	remove_extent(x, extent);
	seam__slab_put(&x->nodes, extent);
	uint64_t used = 0;
	if (head_bytes != 0) {
		insert(x, seam__slab_get_reserved(&x->nodes), head_start, head_bytes);
		used++;
	}
	if (tail_bytes != 0) {
		insert(x, seam__slab_get_reserved(&x->nodes), start + bytes, tail_bytes);
		used++;
	}
	if (used == 0)
		seam__slab_unreserve(&x->nodes, 1);
	else if (used == 2)
		SEAM_VERIFY(seam__slab_reserve(&x->nodes, 1) == SEAM_OK); /* the node of `extent` came back above */
	x->taken++;
	return true;
}

bool seam__emu_extents_take(struct emu_extents *x, uint64_t bytes, uint64_t alignment, uint64_t *ret_start)
{
	struct emu_extent key = {.start = 0, .bytes = bytes};
	struct emu_extent *extent = RB_NFIND(emu_extent_sizes, &x->sizes, &key);
	if (extent == NULL)
		return false;
	uint64_t start = seam__bits_align_up(extent->start, alignment);
	if (start + bytes > extent->start + extent->bytes) {
		/* Padded, any range fits. Why not walk on to the next size: there may be many. */
		if (!seam__bits_try_add(bytes, alignment - 1, &key.bytes))
			return false;
		extent = RB_NFIND(emu_extent_sizes, &x->sizes, &key);
		if (extent == NULL)
			return false;
		start = seam__bits_align_up(extent->start, alignment);
	}
	if (!cut(x, extent, start, bytes))
		return false;
	*ret_start = start;
	return true;
}

/* The last free range that begins at or before `start`, or NULL. */
static struct emu_extent *find_before(const struct emu_extents *x, uint64_t start)
{
	struct emu_extent *at = RB_ROOT(&x->starts);
	struct emu_extent *best = NULL;
	while (at != NULL) {
		if (at->start <= start) {
			best = at;
			at = RB_RIGHT(at, by_start);
		} else {
			at = RB_LEFT(at, by_start);
		}
	}
	return best;
}

bool seam__emu_extents_take_at(struct emu_extents *x, uint64_t start, uint64_t bytes)
{
	struct emu_extent *extent = find_before(x, start);
	uint64_t end;
	if (extent == NULL || !seam__bits_try_add(start, bytes, &end) || end > extent->start + extent->bytes)
		return false;
	return cut(x, extent, start, bytes);
}

void seam__emu_extents_give(struct emu_extents *x, uint64_t start, uint64_t bytes)
{
	struct emu_extent *before = find_before(x, start);
	struct emu_extent key = {.start = start};
	struct emu_extent *after = before != NULL ? RB_NEXT(emu_extent_starts, &x->starts, before)
						  : RB_NFIND(emu_extent_starts, &x->starts, &key);
	struct emu_extent *node = seam__slab_get_reserved(&x->nodes);
	x->taken--;
	SEAM_ASSERT(before == NULL || before->start + before->bytes <= start);
	SEAM_ASSERT(after == NULL || start + bytes <= after->start);
	if (before != NULL && before->start + before->bytes == start) {
		remove_extent(x, before);
		start = before->start;
		bytes += before->bytes;
		seam__slab_put(&x->nodes, before);
	}
	if (after != NULL && start + bytes == after->start) {
		remove_extent(x, after);
		bytes += after->bytes;
		seam__slab_put(&x->nodes, after);
	}
	insert(x, node, start, bytes);
}

const char *seam__emu_extents_check(const struct emu_extents *x)
{
	uint64_t sum = 0;
	uint64_t count = 0;
	const struct emu_extent *last = NULL;
	struct emu_extent_starts starts = x->starts;
	struct emu_extent_sizes sizes = x->sizes;
	struct emu_extent *extent;
	RB_FOREACH(extent, emu_extent_starts, &starts)
	{
		if (last != NULL && last->start + last->bytes >= extent->start)
			return "EX1 free ranges do not touch";
		if (RB_FIND(emu_extent_sizes, &sizes, extent) != extent)
			return "EX3 both orders hold the same ranges";
		sum += extent->bytes;
		count++;
		last = extent;
	}
	RB_FOREACH(extent, emu_extent_sizes, &sizes)
	count--;
	if (count != 0)
		return "EX3 both orders hold the same ranges";
	if (sum != x->free_bytes)
		return "EX2 the sum of free ranges";
	if (x->nodes.reserved_objects != x->taken)
		return "EX4 one node is set aside for every range in use";
	return seam__slab_check(&x->nodes);
}
