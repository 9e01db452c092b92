/* exact_cuts.c: see exact_cuts.h. */
#include "exact_cuts.h"

#include <stdlib.h>

#include "meta.h"

static int compare_positions(const void *left, const void *right)
{
	const uint32_t *a = left;
	const uint32_t *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* How many cuts lie before `position`. */
static uint32_t rank(const struct seam_exact_cuts *cuts, uint64_t position)
{
	uint32_t low = 0;
	uint32_t high = cuts->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (cuts->at[middle] < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void seam__exact_cuts_covered(const struct seam_problem *problem, const struct seam_exact_cuts *cuts, uint32_t number,
	uint32_t *ret_first, uint32_t *ret_width)
{
	uint64_t begin = problem->items[number].begin;
	uint64_t end = begin + seam__problem_longest_hold(problem, number);
	uint32_t first = rank(cuts, begin);

	if (end <= problem->circle)
		*ret_width = rank(cuts, end) - first;
	else
		*ret_width = cuts->count - first + rank(cuts, end - problem->circle);
	*ret_first = first == cuts->count ? 0 : first;
}

/* Marks the stretch in which each item ends: behind it the live set is another one. */
static void mark_ends(const struct seam_problem *problem, const struct seam_exact_cuts *cuts, uint8_t *kept)
{
	for (uint32_t i = 0; i < problem->count; i++) {
		uint32_t hold = seam__problem_longest_hold(problem, i);
		uint64_t end = (uint64_t)problem->items[i].begin + hold;
		uint32_t before;

		if (hold == problem->circle)
			continue;
		before = rank(cuts, end > problem->circle ? end - problem->circle : end);
		kept[before == 0 ? cuts->count - 1 : before - 1] = 1;
	}
}

static void keep_marked(struct seam_exact_cuts *cuts, const uint8_t *kept)
{
	uint32_t count = 0;

	for (uint32_t c = 0; c < cuts->count; c++)
		if (kept[c] != 0)
			cuts->at[count++] = cuts->at[c];
	cuts->count = count;
}

enum seam_rc seam__exact_cuts_init(struct seam_exact_cuts *cuts, const struct seam_problem *problem)
{
	struct seam_meta *meta = problem->meta;
	uint32_t unique = 0;
	uint8_t *kept = seam__meta_alloc(meta, problem->count);
	struct seam_exact_cuts made = {
		.at = seam__meta_array(meta, problem->count, sizeof(*made.at)), .capacity = problem->count};
	enum seam_rc rc = kept == NULL || made.at == NULL ? SEAM_OOM_META : SEAM_OK;

	if (rc == SEAM_OK) {
		for (uint32_t i = 0; i < problem->count; i++)
			made.at[made.count++] = problem->items[i].begin;
		qsort(made.at, made.count, sizeof(*made.at), compare_positions);
		for (uint32_t c = 0; c < made.count; c++)
			if (unique == 0 || made.at[unique - 1] != made.at[c])
				made.at[unique++] = made.at[c];
		made.count = unique;
		mark_ends(problem, &made, kept);
		keep_marked(&made, kept);
		if (made.count == 0) /* everything lives all around */
			made.count = 1;
		*cuts = made;
	} else {
		seam__exact_cuts_fini(&made, problem);
	}
	seam__meta_free(meta, kept, problem->count);
	return rc;
}

void seam__exact_cuts_fini(struct seam_exact_cuts *cuts, const struct seam_problem *problem)
{
	seam__meta_free(problem->meta, cuts->at, (size_t)cuts->capacity * sizeof(*cuts->at));
	*cuts = (struct seam_exact_cuts){0};
}
