/* stalloc.c: the solvers after STAlloc: HomoPhase groups become rectangles, HomoSize groups of rectangles become
 * layers.
 *
 * A HomoPhase group is the requests that are allocated in one phase (one run of it) and freed in one. Its local plan
 * gives them places relative to each other, and from then on it is one large request. Groups of which one ends in the
 * phase in which the other begins are fused when a plan of both together has a higher time-memory product than they
 * have on average (Eq. 2): that is, when its box of size and time is smaller than theirs together.
 *
 * Requests without phases are groups of their own.
 * Not here: how rectangles are packed (layers.c).
 */
#include "solvers.h"

#include <stdlib.h>

#include "layers.h"
#include "region.h"

#define FUSE_WORK 16u /* rectangles packed to try fusions, per item of the problem */
#define NONE UINT32_MAX

/* A part is one HomoPhase group as it was found; a group is a chain of parts. */
struct part {
	uint32_t first; /* of the sorted items: [first, first + count) */
	uint32_t count;
	uint32_t next; /* of the same group, or NONE */
};

struct group {
	uint32_t part; /* first of its chain; NONE: fused into another */
	uint32_t last_part;
	uint32_t phase_begin;
	uint32_t phase_end; /* 0 for either: no phase, never fused */
	uint32_t count;     /* items */
	uint32_t begin;     /* its time: an arc that covers all of its items */
	uint32_t span;
	uint64_t size_bytes; /* of its local plan */
	double product;      /* sum of size * span of its items */
};

struct work {
	const struct seam_problem *problem;
	struct seam_budget *budget;
	struct seam_axis axis;
	uint32_t *order; /* items by phases and begin */
	struct part *parts;
	struct group *groups;
	uint32_t group_count;
	uint64_t *local;         /* per item: address in its group's plan */
	struct seam_rect *rects; /* scratch, `count` of them; in the end one for each group */
	uint64_t *offsets;       /* the answer */
	uint64_t fuse_left;      /* rectangles that may still be packed to try fusions */
};

static enum seam_rc work_init(struct work *work, const struct seam_problem *problem, struct seam_budget *budget)
{
	uint32_t count = problem->count;

	*work = (struct work){
		.problem = problem,
		.budget = budget,
		.axis = {.circle = problem->circle, .linear = problem->linear},
		.order = seam__region_array(problem->region, count, sizeof(*work->order)),
		.parts = seam__region_array(problem->region, count, sizeof(*work->parts)),
		.groups = seam__region_array(problem->region, count, sizeof(*work->groups)),
		.local = seam__region_array(problem->region, count, sizeof(*work->local)),
		.rects = seam__region_array(problem->region, count, sizeof(*work->rects)),
		.offsets = seam__region_array(problem->region, count, sizeof(*work->offsets)),
		.fuse_left = (uint64_t)count * FUSE_WORK,
	};
	if (work->order == NULL || work->parts == NULL || work->groups == NULL || work->local == NULL ||
		work->rects == NULL || work->offsets == NULL)
		return SEAM_OOM_META;
	return SEAM_OK;
}

struct sort_key {
	const struct seam_item *item;
	uint32_t number;
};

static int compare_keys(const void *left, const void *right)
{
	const struct sort_key *x = left;
	const struct sort_key *y = right;
	const struct seam_item *a = x->item;
	const struct seam_item *b = y->item;

	if (a->phase_begin != b->phase_begin)
		return a->phase_begin < b->phase_begin ? -1 : 1;
	if (a->phase_end != b->phase_end)
		return a->phase_end < b->phase_end ? -1 : 1;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static enum seam_rc sort_items(struct work *work)
{
	const struct seam_problem *problem = work->problem;
	struct sort_key *keys = seam__region_array(problem->region, problem->count, sizeof(*keys));

	if (keys == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < problem->count; i++)
		keys[i] = (struct sort_key){.item = &problem->items[i], .number = i};
	qsort(keys, problem->count, sizeof(*keys), compare_keys);
	for (uint32_t i = 0; i < problem->count; i++)
		work->order[i] = keys[i].number;
	return SEAM_OK;
}

/* The shorter of the two arcs that cover [begin, begin + span) and another arc. False: none within the circle does. */
static bool cover(const struct work *work, uint32_t *begin, uint32_t *span, uint32_t other_begin, uint32_t other_span)
{
	uint64_t ahead = seam__problem_distance(work->problem, *begin, other_begin);
	uint64_t behind = seam__problem_distance(work->problem, other_begin, *begin);
	uint64_t from_own = ahead + other_span > *span ? ahead + other_span : *span;
	uint64_t from_other = behind + *span > other_span ? behind + *span : other_span;

	if (work->axis.linear ? *begin <= other_begin : from_own <= from_other) {
		*span = (uint32_t)from_own;
		return from_own <= work->axis.circle;
	}
	*begin = other_begin;
	*span = (uint32_t)from_other;
	return from_other <= work->axis.circle;
}

/* Copies the rectangles of a group's items to `rects`. */
static uint32_t gather(const struct work *work, const struct group *group, struct seam_rect *rects)
{
	uint32_t count = 0;

	for (uint32_t p = group->part; p != NONE; p = work->parts[p].next) {
		for (uint32_t n = 0; n < work->parts[p].count; n++) {
			const struct seam_item *item = &work->problem->items[work->order[work->parts[p].first + n]];

			rects[count++] = (struct seam_rect){
				.size_bytes = item->size_bytes, .begin = item->begin, .span = item->span};
		}
	}
	return count;
}

/* Keeps the places that are in `rects` as the group's local plan. */
static uint32_t keep(struct work *work, const struct group *group, const struct seam_rect *rects)
{
	uint32_t count = 0;

	for (uint32_t p = group->part; p != NONE; p = work->parts[p].next)
		for (uint32_t n = 0; n < work->parts[p].count; n++)
			work->local[work->order[work->parts[p].first + n]] = rects[count++].offset_bytes;
	return count;
}

/* A group of `count` sorted items from `first`, with its local plan. */
static enum seam_rc add_group(struct work *work, uint32_t first, uint32_t count, bool *ret_whole)
{
	uint32_t number = work->group_count;
	const struct seam_item *head = &work->problem->items[work->order[first]];
	struct group *group = &work->groups[number];
	enum seam_rc rc;

	work->parts[number] = (struct part){.first = first, .count = count, .next = NONE};
	*group = (struct group){.part = number,
		.last_part = number,
		.phase_begin = head->phase_begin,
		.phase_end = head->phase_end,
		.count = count,
		.begin = head->begin,
		.span = head->span,
		.size_bytes = head->size_bytes};
	*ret_whole = true;
	for (uint32_t n = 0; n < count; n++) {
		const struct seam_item *item = &work->problem->items[work->order[first + n]];

		group->product += (double)item->size_bytes * item->span;
		*ret_whole = *ret_whole && cover(work, &group->begin, &group->span, item->begin, item->span);
	}
	work->group_count++;
	if (count == 1 || !*ret_whole)
		return SEAM_OK;
	rc = seam__layers_pack(work->problem->meta, work->budget, &work->axis, work->rects,
		gather(work, group, work->rects), UINT64_MAX, &group->size_bytes, ret_whole);
	if (rc == SEAM_OK && *ret_whole)
		(void)keep(work, group, work->rects);
	return rc;
}

static double box(const struct group *group)
{
	return (double)group->size_bytes * group->span;
}

/* Sorted items [first, first + count) as a group, or each alone. */
static enum seam_rc group_or_not(struct work *work, bool grouped, uint32_t first, uint32_t count)
{
	uint32_t before = work->group_count;
	bool whole = false;
	enum seam_rc rc = SEAM_OK;

	if (grouped) {
		rc = add_group(work, first, count, &whole);
		if (rc != SEAM_OK || whole)
			return rc;
	}
	work->group_count = before;
	for (uint32_t n = 0; n < count && rc == SEAM_OK; n++) {
		work->local[work->order[first + n]] = 0;
		rc = add_group(work, first + n, 1, &whole);
	}
	return rc;
}

static bool together(const struct seam_item *a, const struct seam_item *b)
{
	return a->phase_begin == b->phase_begin && a->phase_end == b->phase_end && a->phase_begin != 0 &&
		a->phase_end != 0;
}

static enum seam_rc make_groups(struct work *work, bool grouped)
{
	enum seam_rc rc = sort_items(work);
	uint32_t count = work->problem->count;

	for (uint32_t first = 0, next; first < count && rc == SEAM_OK; first = next) {
		const struct seam_item *head = &work->problem->items[work->order[first]];

		for (next = first + 1; next < count && together(head, &work->problem->items[work->order[next]]); next++)
			continue;
		rc = group_or_not(work, grouped, first, next - first);
	}
	return rc;
}

/* Makes `a` the group of both, if that pays. */
static enum seam_rc try_fusion(struct work *work, struct group *a, struct group *b, bool *ret_done)
{
	uint32_t tail = a->last_part;
	struct group both = *a;
	bool whole;
	enum seam_rc rc;

	*ret_done = false;
	both.count += b->count;
	if (!cover(work, &both.begin, &both.span, b->begin, b->span) || both.count > work->fuse_left)
		return SEAM_OK;
	work->fuse_left -= both.count;
	both.product += b->product;
	both.phase_end = b->phase_end;
	both.last_part = b->last_part;
	work->parts[tail].next = b->part;
	rc = seam__layers_pack(work->problem->meta, work->budget, &work->axis, work->rects,
		gather(work, &both, work->rects), UINT64_MAX, &both.size_bytes, &whole);
	if (rc != SEAM_OK || !whole || box(&both) >= box(a) + box(b)) {
		work->parts[tail].next = NONE;
		return rc;
	}
	(void)keep(work, &both, work->rects);
	*a = both;
	b->part = NONE;
	*ret_done = true;
	return SEAM_OK;
}

/* The first group that begins in the phase or later: groups were made in that order. */
static uint32_t first_of_phase(const struct work *work, uint32_t phase)
{
	uint32_t low = 0;
	uint32_t high = work->group_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (work->groups[middle].phase_begin < phase)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Every group takes in those that begin in the phase in which it ends, and goes on from where that leaves it. */
static enum seam_rc fuse(struct work *work)
{
	enum seam_rc rc = SEAM_OK;

	for (uint32_t g = 0; g < work->group_count && rc == SEAM_OK; g++) {
		struct group *a = &work->groups[g];

		if (a->part == NONE || a->phase_begin == 0 || a->phase_end == 0)
			continue;
		for (uint32_t h = first_of_phase(work, a->phase_end); h < work->group_count && rc == SEAM_OK; h++) {
			struct group *b = &work->groups[h];
			bool done;

			if (b->phase_begin != a->phase_end)
				break;
			if (b == a || b->part == NONE || b->phase_end == 0)
				continue;
			rc = try_fusion(work, a, b, &done);
			if (done && a->phase_end != b->phase_begin)
				h = first_of_phase(work, a->phase_end) - 1;
		}
	}
	return rc;
}

/* Packs the groups, and their items with them. */
static enum seam_rc place_groups(struct work *work, uint64_t below_bytes, bool *ret_whole)
{
	uint64_t height;
	uint32_t count = 0;
	enum seam_rc rc;

	for (uint32_t g = 0; g < work->group_count; g++)
		if (work->groups[g].part != NONE)
			work->rects[count++] = (struct seam_rect){.size_bytes = work->groups[g].size_bytes,
				.begin = work->groups[g].begin,
				.span = work->groups[g].span};
	rc = seam__layers_pack(
		work->problem->meta, work->budget, &work->axis, work->rects, count, below_bytes, &height, ret_whole);
	if (rc != SEAM_OK || !*ret_whole)
		return rc;
	count = 0;
	for (uint32_t g = 0; g < work->group_count; g++) {
		uint32_t part = work->groups[g].part;
		uint64_t base = part == NONE ? 0 : work->rects[count++].offset_bytes;

		for (; part != NONE; part = work->parts[part].next)
			for (uint32_t n = 0; n < work->parts[part].count; n++) {
				uint32_t item = work->order[work->parts[part].first + n];

				work->offsets[item] = base + work->local[item];
			}
	}
	return SEAM_OK;
}

enum seam_rc seam__solve_stalloc(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument)
{
	const bool grouped = argument != NULL;
	struct work work;
	bool whole;
	enum seam_rc rc = work_init(&work, problem, budget);

	if (rc != SEAM_OK)
		return rc;
	rc = make_groups(&work, grouped);
	if (rc == SEAM_OK && grouped)
		rc = fuse(&work);
	if (rc == SEAM_OK)
		rc = place_groups(&work, best->peak_bytes, &whole);
	if (rc == SEAM_OK && whole)
		(void)seam__placement_improve(best, problem, budget, work.offsets, grouped ? "stalloc" : "layers");
	return rc;
}
