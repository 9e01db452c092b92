/* overlap.c: see overlap.h. Stays in order of begin under a tree of latest ends: those that begin before the stretch
 * ends are a prefix, and the tree jumps over those among them that ended before it begins. */
#include "overlap.h"

#include <stdlib.h>

#include "meta.h"

#define NONE UINT32_MAX

struct seam__stay {
	uint32_t begin; /* [begin, end) within the circle */
	uint32_t end;
	uint32_t item;
};

/* For how many positions from its begin some stream is kept from the item: at most to the end of a line, or once
 * around. */
static uint32_t length_of(const struct seam__problem *problem, uint32_t item)
{
	uint32_t most = problem->linear ? problem->circle - problem->items[item].begin : problem->circle;
	uint32_t longest = seam__problem_longest_hold(problem, item);

	return longest < most ? longest : most;
}

static int compare_stays(const void *left, const void *right)
{
	const struct seam__stay *a = left;
	const struct seam__stay *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static void add_stays(struct seam__overlap *overlap, uint32_t item)
{
	uint32_t circle = overlap->problem->circle;
	uint32_t begin = overlap->problem->items[item].begin;
	uint32_t longest = length_of(overlap->problem, item);
	uint32_t straight = circle - begin < longest ? circle - begin : longest;

	overlap->stays[overlap->count++] = (struct seam__stay){.begin = begin, .end = begin + straight, .item = item};
	if (straight < longest)
		overlap->stays[overlap->count++] =
			(struct seam__stay){.begin = 0, .end = longest - straight, .item = item};
}

static void build_tree(struct seam__overlap *overlap)
{
	for (uint32_t i = 0; i < overlap->count; i++)
		overlap->latest[overlap->leaves + i] = overlap->stays[i].end;
	for (uint32_t node = overlap->leaves - 1; node > 0; node--) {
		uint32_t left = overlap->latest[2 * node];
		uint32_t right = overlap->latest[2 * node + 1];

		overlap->latest[node] = left > right ? left : right;
	}
}

enum seam_rc seam__overlap_init(struct seam__overlap *overlap, const struct seam__problem *problem)
{
	struct seam__overlap made = {.problem = problem, .capacity = 2 * problem->count, .leaves = 1};

	while (made.leaves < made.capacity)
		made.leaves *= 2;
	if (problem->count > 0) {
		made.stays = seam__meta_array(problem->meta, made.capacity, sizeof(*made.stays));
		made.latest = seam__meta_array(problem->meta, 2 * (size_t)made.leaves, sizeof(*made.latest));
		made.seen = seam__meta_array(problem->meta, problem->count, sizeof(*made.seen));
		if (made.stays == NULL || made.latest == NULL || made.seen == NULL) {
			seam__overlap_fini(&made);
			return SEAM_OOM_META;
		}
		for (uint32_t i = 0; i < problem->count; i++)
			add_stays(&made, i);
		qsort(made.stays, made.count, sizeof(*made.stays), compare_stays);
		build_tree(&made);
	}
	*overlap = made;
	return SEAM_OK;
}

void seam__overlap_fini(struct seam__overlap *overlap)
{
	const struct seam__problem *problem = overlap->problem;

	if (problem == NULL)
		return;
	seam__meta_free(problem->meta, overlap->seen, (size_t)problem->count * sizeof(*overlap->seen));
	seam__meta_free(problem->meta, overlap->latest, 2 * (size_t)overlap->leaves * sizeof(*overlap->latest));
	seam__meta_free(problem->meta, overlap->stays, (size_t)overlap->capacity * sizeof(*overlap->stays));
	*overlap = (struct seam__overlap){0};
}

/* The first stay from `at` on that ends behind `position`; NONE: none does. */
static uint32_t next_later(const struct seam__overlap *overlap, uint32_t at, uint32_t position)
{
	uint32_t node = overlap->leaves + at;

	while (overlap->latest[node] <= position) {
		while ((node & 1) != 0)
			node >>= 1;
		if (node == 0)
			return NONE;
		node++;
	}
	while (node < overlap->leaves) {
		node *= 2;
		if (overlap->latest[node] <= position)
			node++;
	}
	return node - overlap->leaves;
}

static uint32_t first_from(const struct seam__overlap *overlap, uint32_t position)
{
	uint32_t low = 0;
	uint32_t high = overlap->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (overlap->stays[middle].begin < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Appends what is held in [begin, end) of the circle. */
static uint32_t find_straight(
	struct seam__overlap *overlap, uint32_t begin, uint32_t end, uint32_t *ret_items, uint32_t found)
{
	uint32_t limit = first_from(overlap, end);

	for (uint32_t at = 0; at < limit; at++) {
		at = next_later(overlap, at, begin);
		if (at >= limit) /* NONE too */
			break;
		uint32_t item = overlap->stays[at].item;

		if (overlap->seen[item] == overlap->finds)
			continue;
		overlap->seen[item] = overlap->finds;
		ret_items[found++] = item;
	}
	return found;
}

uint32_t seam__overlap_find(struct seam__overlap *overlap, uint32_t begin, uint32_t span, uint32_t *ret_items)
{
	uint32_t circle = overlap->problem->circle;
	uint32_t straight = circle - begin < span ? circle - begin : span;
	uint32_t found;

	if (overlap->count == 0)
		return 0;
	if (++overlap->finds == 0) {
		for (uint32_t i = 0; i < overlap->problem->count; i++)
			overlap->seen[i] = 0;
		overlap->finds = 1;
	}
	found = find_straight(overlap, begin, begin + straight, ret_items, 0);
	if (straight < span && !overlap->problem->linear)
		found = find_straight(overlap, 0, span - straight < begin ? span - straight : begin, ret_items, found);
	return found;
}

const char *seam__overlap_check(const struct seam__overlap *overlap)
{
	for (uint32_t i = 1; i < overlap->count; i++)
		if (compare_stays(&overlap->stays[i - 1], &overlap->stays[i]) > 0)
			return "V1 order";
	for (uint32_t node = 1; overlap->latest != NULL && node < overlap->leaves; node++) {
		uint32_t left = overlap->latest[2 * node];
		uint32_t right = overlap->latest[2 * node + 1];

		if (overlap->latest[node] != (left > right ? left : right))
			return "V2 latest end";
	}
	return NULL;
}
