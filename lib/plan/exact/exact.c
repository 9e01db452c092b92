/* exact.c: the solver "exact": search for the best placement, by sections and gaps. See solvers.h. */
#include "solvers.h"

#include "exact_walk.h"

#define BYTES_MAX (UINT64_C(1) << 60) /* sums stay far from their types' ends */

static bool is_in_range(const struct seam_problem *problem)
{
	uint64_t sum = problem->lower_bytes;

	for (uint32_t i = 0; i < problem->count && sum < BYTES_MAX; i++)
		sum = problem->items[i].size_bytes < BYTES_MAX ? sum + problem->items[i].size_bytes : BYTES_MAX;
	return sum < BYTES_MAX;
}

/* Takes what the walk found into the placement of the whole problem. */
static void take(
	const struct seam_exact_walk *walk, uint64_t *offsets, struct seam_placement *best, struct seam_budget *budget)
{
	const struct seam_exact_window *window = walk->window;

	for (uint32_t i = 0; i < window->count; i++)
		offsets[window->items[i].number] = walk->offsets[i];
	(void)seam__placement_improve(best, window->problem, budget, offsets);
}

/* Walks down from the best. */
static enum seam_rc search_whole(const struct seam_exact_window *window, struct seam_budget *budget,
	struct seam_placement *best, uint64_t *offsets)
{
	struct seam_exact_walk walk;
	uint64_t lower = window->problem->lower_bytes;
	uint64_t target = budget->target_bytes > lower ? budget->target_bytes : lower;
	enum seam_rc rc = seam__exact_walk_init(&walk, window);

	if (rc != SEAM_OK)
		return rc;
	/* One way down costs little, and at times it is better than what others have found. */
	if (seam__exact_walk_begin(&walk, budget))
		take(&walk, offsets, best, budget);
	walk.peak_bytes = best->peak_bytes;
	while (best->peak_bytes != SEAM__PEAK_NONE && !budget->spent && !seam__exact_walk_is_over(&walk, target))
		if (seam__exact_walk_round(&walk, target, budget))
			take(&walk, offsets, best, budget);
	if (budget->work_ns != NULL)
		*budget->work_ns += walk.search.gaps.work_ns;
	return SEAM_OK;
}

static enum seam_rc search(
	const struct seam_problem *problem, struct seam_budget *budget, struct seam_placement *best, uint64_t *offsets)
{
	struct seam_exact_window window;
	enum seam_rc rc = seam__exact_window_init(&window, problem);

	if (rc == SEAM_UNSUPPORTED)
		return SEAM_OK; /* too large to be searched: no answer */
	if (rc != SEAM_OK)
		return rc;
	return search_whole(&window, budget, best, offsets);
}

enum seam_rc seam__solve_exact(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument)
{
	struct seam_placement made;

	(void)argument;
	if (!is_in_range(problem) || budget->spent)
		return SEAM_OK;
	enum seam_rc rc = seam__placement_init(&made, problem);
	if (rc != SEAM_OK)
		return rc;
	return search(problem, budget, best, made.offsets);
}
