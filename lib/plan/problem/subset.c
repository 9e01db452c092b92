/* subset.c: see subset.h. */
#include "subset.h"

#include "meta.h"

enum seam_rc seam__subset_make(
	const struct seam_problem *whole, const uint8_t *marks, uint8_t mark, struct seam_problem *ret_subset)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < whole->count; i++)
		count += marks[i] == mark;
	enum seam_rc rc =
		seam__problem_init_part(ret_subset, whole, count, whole->circle, whole->linear, whole->streams);
	for (uint32_t i = 0; i < whole->count && rc == SEAM_OK; i++) {
		const struct seam_item *item = &whole->items[i];
		uint32_t number = ret_subset->count;

		if (marks[i] != mark)
			continue;
		*seam__problem_add(ret_subset, item->size_bytes, item->begin, item->span) = *item;
		for (uint32_t s = 0; whole->holds != NULL && s < whole->streams; s++)
			ret_subset->holds[(size_t)number * whole->streams + s] = seam__problem_hold(whole, i, s);
	}
	return rc == SEAM_OK ? seam__problem_finish(ret_subset) : rc;
}

void seam__subset_spread(const struct seam_problem *whole, const uint8_t *marks, uint8_t mark, const uint64_t *offsets,
	uint64_t base_bytes, uint64_t *whole_offsets)
{
	for (uint32_t i = 0, n = 0; i < whole->count; i++)
		if (marks[i] == mark)
			whole_offsets[i] = base_bytes + offsets[n++];
}

/* How many of the positions of `busy`, which has sums from the start, the item lives at. */
static uint32_t busy_positions(const struct seam_problem *problem, const uint64_t *busy, const struct seam_item *item)
{
	uint64_t end = (uint64_t)item->begin + item->span;

	if (end <= problem->circle)
		return (uint32_t)(busy[end] - busy[item->begin]);
	return (uint32_t)(busy[problem->circle] - busy[item->begin] + busy[end - problem->circle]);
}

enum seam_rc seam__subset_busy(
	const struct seam_problem *problem, uint64_t most_bytes, uint64_t spare_bytes, uint32_t *ret_positions)
{
	uint64_t *busy = seam__meta_array(problem->meta, (size_t)problem->circle + 1, sizeof(*busy));
	uint64_t sum = 0;

	if (busy == NULL)
		return SEAM_OOM_META;
	seam__problem_live(problem, busy);
	for (uint32_t p = 0; p <= problem->circle; p++) {
		uint64_t here = p < problem->circle ? busy[p] : 0;

		busy[p] = sum;
		sum += here + spare_bytes > most_bytes;
	}
	for (uint32_t i = 0; i < problem->count; i++)
		ret_positions[i] = busy_positions(problem, busy, &problem->items[i]);
	seam__meta_free(problem->meta, busy, ((size_t)problem->circle + 1) * sizeof(*busy));
	return SEAM_OK;
}
