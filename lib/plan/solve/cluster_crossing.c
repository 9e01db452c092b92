/* cluster_crossing.c: see cluster_crossing.h. Everything else is placed where it was; then those that cross the end, in
 * order of begin, are placed as one chain, else each half of them as one, and so on. What finds no place at last, and
 * all behind it, stays where it was, and the others are placed once more.
 *
 * All of that upside down, with the peak as address 0: gaps are found from below, and the best place is the highest.
 * Iterations of other shapes, which have the same places for what lives from one into the next, are smaller and end
 * below it. */
#include "cluster_crossing.h"

#include <stdlib.h>
#include <string.h>

#include "region.h"
#include "placer.h"

#define LARGE_SHARE 64u /* what has one part in so many of the peak is large: it breaks nothing up */
#define ROUNDS 8u
#define MOST_STEPS (UINT64_C(1) << 22) /* in the gaps, of all rounds: a few nanoseconds each */

struct crossing {
	uint64_t offset_bytes; /* for counting pieces */
	uint32_t begin;
	uint32_t item;
};

struct cluster {
	const struct seam_problem *problem;
	uint64_t peak_bytes;
	struct seam_problem linked; /* the same upside down, and with links, in `items` of its own */
	struct seam_placer placer;  /* of `linked` */
	struct crossing *crossing;
	uint32_t count; /* of them; fewer with each round */
	uint8_t *moves; /* per item */
	enum seam_rc rc;
};

static uint32_t period_of(const struct seam_problem *problem)
{
	uint32_t copies = 1;

	for (uint32_t i = 0; i < problem->count; i++)
		if (problem->items[i].copy >= copies)
			copies = problem->items[i].copy + 1;
	return problem->circle / copies;
}

static bool crosses(const struct seam_problem *problem, uint32_t item, uint32_t period)
{
	const struct seam_item *at = &problem->items[item];

	return at->fixed_bytes == SEAM__ADDRESS_ANY && at->span < problem->circle &&
		at->begin % period + (uint64_t)at->span > period;
}

static int compare_begins(const void *left, const void *right)
{
	const struct crossing *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (a->item > b->item) - (a->item < b->item);
}

static int compare_offsets(const void *left, const void *right)
{
	const struct crossing *a = left, *b = right;

	return (a->offset_bytes > b->offset_bytes) - (a->offset_bytes < b->offset_bytes);
}

/* Those that are to be moved, in order of begin. `list` has room for all items. Returns how many. */
static uint32_t list_crossing(const struct seam_problem *problem, uint64_t peak_bytes, struct crossing *list)
{
	uint32_t count = 0, period = period_of(problem);

	for (uint32_t i = 0; i < problem->count; i++)
		if (problem->items[i].next != SEAM__ITEM_NONE)
			return 0; /* whoever links items says himself what lies together */
	for (uint32_t i = 0; i < problem->count; i++)
		if (crosses(problem, i, period) && problem->items[i].size_bytes < peak_bytes / LARGE_SHARE)
			list[count++] = (struct crossing){.begin = problem->items[i].begin, .item = i};
	qsort(list, count, sizeof(*list), compare_begins);
	return count;
}

/* Maximal stretches of addresses that they have between them at any time. Sorts them by address. */
static uint32_t count_pieces(
	const struct seam_problem *problem, const uint64_t *offsets, struct crossing *list, uint32_t count)
{
	uint64_t end_bytes = 0;
	uint32_t pieces = 0;

	for (uint32_t i = 0; i < count; i++)
		list[i].offset_bytes = offsets[list[i].item];
	qsort(list, count, sizeof(*list), compare_offsets);
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t item_end = list[i].offset_bytes + problem->items[list[i].item].size_bytes;

		pieces += i == 0 || list[i].offset_bytes > end_bytes;
		end_bytes = i == 0 || item_end > end_bytes ? item_end : end_bytes;
	}
	return pieces;
}

/* The address upside down, and back. */
static uint64_t turned(const struct cluster *cluster, uint32_t item, uint64_t offset_bytes)
{
	return cluster->peak_bytes - offset_bytes - cluster->problem->items[item].size_bytes;
}

static void link_up(struct cluster *cluster, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		cluster->linked.items[cluster->crossing[i].item].next =
			i + 1 < end ? cluster->crossing[i + 1].item : SEAM__ITEM_NONE;
}

/* Places [first, end) in as few chains as it finds. Returns the first that has no place; `end`: none. */
static uint32_t gather(struct cluster *cluster, uint32_t first, uint32_t end)
{
	const uint32_t head = cluster->crossing[first].item, middle = first + (end - first) / 2;
	uint64_t offset_bytes = 0;

	link_up(cluster, first, end);
	if (cluster->placer.gaps.steps >= MOST_STEPS)
		return first;
	if (seam__gaps_find(&cluster->placer.gaps, head, cluster->peak_bytes, &offset_bytes)) {
		cluster->rc = seam__placer_put(&cluster->placer, head, offset_bytes);
		return cluster->rc == SEAM_OK ? end : first;
	}
	if (end - first == 1)
		return first;
	uint32_t stopped = gather(cluster, first, middle);
	return stopped < middle ? stopped : gather(cluster, middle, end);
}

/* Everything but what moves is placed where it was. */
static void start(struct cluster *cluster, const uint64_t *offsets)
{
	struct seam_problem *linked = &cluster->linked;

	for (uint32_t i = 0; i < linked->count; i++)
		linked->items[i].next = SEAM__ITEM_NONE;
	cluster->rc = seam__placer_start(&cluster->placer);
	for (uint32_t i = 0; i < linked->count && cluster->rc == SEAM_OK; i++)
		if (cluster->moves[i] == 0 && linked->items[i].fixed_bytes == SEAM__ADDRESS_ANY)
			cluster->rc = seam__placer_put(&cluster->placer, i, turned(cluster, i, offsets[i]));
}

/* Whether a round ended with everything placed. */
static bool gather_all(struct cluster *cluster, const uint64_t *offsets)
{
	for (uint32_t round = 0; round < ROUNDS && cluster->count > 1; round++) {
		uint32_t stopped = 0;

		start(cluster, offsets);
		if (cluster->rc == SEAM_OK)
			stopped = gather(cluster, 0, cluster->count);
		if (cluster->rc != SEAM_OK || cluster->placer.gaps.steps >= MOST_STEPS)
			return false;
		if (stopped == cluster->count)
			return true;
		for (uint32_t i = stopped; i < cluster->count; i++)
			cluster->moves[cluster->crossing[i].item] = 0;
		cluster->count = stopped;
	}
	return false;
}

static enum seam_rc cluster_init(struct cluster *cluster)
{
	const struct seam_problem *problem = cluster->problem;

	cluster->linked = *problem;
	cluster->linked.items = seam__region_array(problem->region, problem->count, sizeof(*cluster->linked.items));
	cluster->crossing = seam__region_array(problem->region, problem->count, sizeof(*cluster->crossing));
	cluster->moves = seam__region_array(problem->region, problem->count, sizeof(*cluster->moves));
	if (cluster->linked.items == NULL || cluster->crossing == NULL || cluster->moves == NULL)
		return SEAM_OOM_META;
	memcpy(cluster->linked.items, problem->items, problem->count * sizeof(*problem->items));
	for (uint32_t i = 0; i < problem->count; i++)
		if (problem->items[i].fixed_bytes != SEAM__ADDRESS_ANY)
			cluster->linked.items[i].fixed_bytes = turned(cluster, i, problem->items[i].fixed_bytes);
	cluster->count = list_crossing(problem, cluster->peak_bytes, cluster->crossing);
	if (cluster->count < 2)
		return SEAM_OK;
	for (uint32_t i = 0; i < cluster->count; i++)
		cluster->moves[cluster->crossing[i].item] = 1;
	link_up(cluster, 0, cluster->count); /* the longest chain there will be: the gaps want to know */
	return seam__placer_init(&cluster->placer, &cluster->linked);
}

/* What was made, the right way up. */
static void turn_back(struct cluster *cluster)
{
	for (uint32_t i = 0; i < cluster->problem->count; i++)
		cluster->placer.made.offsets[i] = turned(cluster, i, cluster->placer.made.offsets[i]);
}

static void take(const struct seam_problem *problem, const uint64_t *offsets, struct seam_placement *placed)
{
	memcpy(placed->offsets, offsets, problem->count * sizeof(*offsets));
	placed->peak_bytes = seam__placement_peak(problem, offsets);
}

enum seam_rc seam__cluster_crossing(const struct seam_problem *problem, struct seam_placement *placed)
{
	struct cluster cluster = {.problem = problem, .peak_bytes = placed->peak_bytes};
	const void *mark = seam__region_mark(problem->region);

	if (problem->linear || problem->count == 0)
		return SEAM_OK;
	cluster.rc = cluster_init(&cluster);
	if (cluster.rc == SEAM_OK && cluster.count > 1 && gather_all(&cluster, placed->offsets)) {
		const uint32_t count = list_crossing(problem, placed->peak_bytes, cluster.crossing);
		const uint32_t before = count_pieces(problem, placed->offsets, cluster.crossing, count);

		turn_back(&cluster);
		if (count_pieces(problem, cluster.placer.made.offsets, cluster.crossing, count) < before)
			take(problem, cluster.placer.made.offsets, placed);
	}
	seam__region_release(problem->region, mark);
	return cluster.rc;
}
