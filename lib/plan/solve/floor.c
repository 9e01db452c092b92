/* floor.c: lowest floor first: next comes the item that can lie lowest on top of what is placed. See solvers.h. */
#include "solvers.h"

#include "region.h"
#include "order.h"
#include "skyline.h"

/* Heads not placed yet, as a binary heap by (floor, rank in the order of ties). Floors only rise: a floor in the heap
 * may be out of date, but then it is too low, so the least entry is the right one as soon as its floor is true. */
struct waiting {
	uint64_t floor_bytes;
	uint32_t rank;
};

struct work {
	const struct seam_problem *problem;
	struct seam_timeline timeline;
	struct seam_skyline skyline;
	struct seam_order order;
	struct seam_placement made;
	struct waiting *heap;
	uint32_t heap_count;
};

static bool is_before(const struct waiting *a, const struct waiting *b)
{
	return a->floor_bytes != b->floor_bytes ? a->floor_bytes < b->floor_bytes : a->rank < b->rank;
}

/* The entry at the top may be too low: down to its place. */
static void sink(struct work *work)
{
	struct waiting entry = work->heap[0];
	uint32_t at = 0;

	for (uint32_t child = 1; child < work->heap_count; child = 2 * at + 1) {
		if (child + 1 < work->heap_count && is_before(&work->heap[child + 1], &work->heap[child]))
			child++;
		if (!is_before(&work->heap[child], &entry))
			break;
		work->heap[at] = work->heap[child];
		at = child;
	}
	work->heap[at] = entry;
}

static void pop(struct work *work)
{
	work->heap[0] = work->heap[--work->heap_count];
	if (work->heap_count > 0)
		sink(work);
}

static uint64_t chain_floor(const struct work *work, uint32_t head)
{
	const struct seam_item *items = work->problem->items;
	uint64_t shift_bytes = 0;
	uint64_t floor_bytes = 0;

	for (uint32_t i = head; i != SEAM__ITEM_NONE; i = items[i].next) {
		uint64_t here_bytes = seam__skyline_floor(&work->skyline, i);

		if (here_bytes > shift_bytes && here_bytes - shift_bytes > floor_bytes)
			floor_bytes = here_bytes - shift_bytes;
		shift_bytes += items[i].size_bytes;
	}
	return floor_bytes;
}

static void put(struct work *work, uint32_t head, uint64_t offset_bytes)
{
	const struct seam_item *items = work->problem->items;

	for (uint32_t i = head; i != SEAM__ITEM_NONE; i = items[i].next) {
		work->made.offsets[i] = offset_bytes;
		offset_bytes += items[i].size_bytes;
		seam__skyline_put(&work->skyline, i, offset_bytes);
	}
}

/* Returns whether everything is placed below the ceiling. */
static bool place(struct work *work, struct seam_budget *budget, uint64_t ceiling_bytes)
{
	const struct seam_problem *problem = work->problem;

	for (uint32_t i = 0; i < problem->count; i++)
		if (problem->items[i].fixed_bytes != SEAM__ADDRESS_ANY)
			put(work, i, problem->items[i].fixed_bytes);
	for (uint32_t n = 0; n < work->order.count; n++)
		work->heap[n].rank = n;
	work->heap_count = work->order.count;
	while (work->heap_count > 0) {
		uint32_t head = work->order.heads[work->heap[0].rank];
		uint64_t floor_bytes = chain_floor(work, head);

		if (!seam__budget_spend(budget, 1))
			return false;
		if (floor_bytes > ceiling_bytes || problem->items[head].size_bytes > ceiling_bytes - floor_bytes)
			return false;
		if (floor_bytes > work->heap[0].floor_bytes) {
			work->heap[0].floor_bytes = floor_bytes;
			sink(work);
			continue;
		}
		pop(work);
		put(work, head, floor_bytes);
	}
	return true;
}

static enum seam_rc prepare(struct work *work)
{
	const struct seam_problem *problem = work->problem;
	enum seam_rc rc = seam__timeline_init(&work->timeline, problem);

	if (rc == SEAM_OK)
		rc = seam__skyline_init(&work->skyline, &work->timeline);
	if (rc == SEAM_OK)
		rc = seam__order_init(&work->order, problem, "TAWB");
	if (rc == SEAM_OK)
		rc = seam__placement_init(&work->made, problem);
	if (rc != SEAM_OK)
		return rc;
	work->heap = seam__region_array(problem->region, problem->count, sizeof(*work->heap));
	return work->heap == NULL ? SEAM_OOM_META : SEAM_OK;
}

enum seam_rc seam__solve_floor(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument)
{
	struct work work = {.problem = problem};
	uint64_t ceiling_bytes = best->peak_bytes == SEAM__PEAK_NONE ? UINT64_MAX : best->peak_bytes - 1;

	(void)argument;
	if (best->peak_bytes <= budget->target_bytes || best->peak_bytes <= problem->lower_bytes)
		return SEAM_OK;
	enum seam_rc rc = prepare(&work);
	if (rc == SEAM_OK && place(&work, budget, ceiling_bytes))
		(void)seam__placement_improve(best, problem, budget, work.made.offsets);
	return rc;
}
