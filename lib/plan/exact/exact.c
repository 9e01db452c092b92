/* exact.c: the solver "exact": search for the best placement, by sections, gaps and holes. See solvers.h. */
#include "solvers.h"

#include "exact_walk.h"
#include "meta.h"

#define MOST_AROUND_WALLS 100u
#define BYTES_MAX (UINT64_C(1) << 60) /* sums stay far from their types' ends */

struct lists {
	uint32_t *numbers;
	struct seam__exact_list moving;
	struct seam__exact_list staying;
};

/* Items without an address, then those with one. */
static bool make_lists(const struct seam__problem *problem, struct lists *lists)
{
	uint32_t moving = 0;
	uint32_t staying = problem->count;

	lists->numbers = seam__meta_array(problem->meta, problem->count, sizeof(*lists->numbers));
	if (lists->numbers == NULL)
		return false;
	for (uint32_t i = 0; i < problem->count; i++) {
		if (problem->items[i].fixed_bytes == SEAM__ADDRESS_ANY)
			lists->numbers[moving++] = i;
		else
			lists->numbers[--staying] = i;
	}
	lists->moving = (struct seam__exact_list){lists->numbers, moving};
	lists->staying = (struct seam__exact_list){lists->numbers + moving, problem->count - moving};
	return true;
}

/* Walls of what stays make every look at a gap a walk over them: one descent through a thousand items takes seconds,
 * and no budget is asked meanwhile. */
static bool is_too_much(const struct lists *lists)
{
	return lists->staying.count > 0 && lists->moving.count > MOST_AROUND_WALLS;
}

static bool is_in_range(const struct seam__problem *problem)
{
	uint64_t sum = problem->lower_bytes;

	for (uint32_t i = 0; i < problem->count && sum < BYTES_MAX; i++)
		sum = problem->items[i].size_bytes < BYTES_MAX ? sum + problem->items[i].size_bytes : BYTES_MAX;
	return sum < BYTES_MAX;
}

/* Takes what the walk found into the placement of the whole problem. */
static void take(const struct seam__exact_walk *walk, uint64_t *offsets, struct seam__placement *best,
	struct seam__budget *budget)
{
	const struct seam__exact_window *window = walk->window;

	for (uint32_t i = 0; i < window->count; i++)
		offsets[window->items[i].number] = walk->offsets[i];
	(void)seam__placement_improve(best, window->problem, budget, offsets, "exact");
}

/* Everything may move: walks down from the best. */
static enum seam_rc search_whole(const struct seam__exact_window *window, struct seam__budget *budget,
	struct seam__placement *best, uint64_t *offsets)
{
	struct seam__exact_walk walk;
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
		*budget->work_ns += seam__exact_gaps_work_ns(&walk.search.gaps);
	seam__exact_walk_fini(&walk);
	return SEAM_OK;
}

static enum seam_rc search(const struct seam__problem *problem, const struct lists *lists, struct seam__budget *budget,
	struct seam__placement *best, uint64_t *offsets)
{
	struct seam__exact_window window;
	enum seam_rc rc;

	for (uint32_t i = 0; i < lists->staying.count; i++)
		offsets[lists->staying.numbers[i]] = problem->items[lists->staying.numbers[i]].fixed_bytes;
	if (lists->moving.count == 0) {
		(void)seam__placement_improve(best, problem, budget, offsets, "exact");
		return SEAM_OK;
	}
	rc = seam__exact_window_init(&window, problem, &lists->moving, &lists->staying, offsets);
	if (rc == SEAM_UNSUPPORTED)
		return SEAM_OK; /* too large to be searched: no answer */
	if (rc != SEAM_OK)
		return rc;
	rc = search_whole(&window, budget, best, offsets);
	seam__exact_window_fini(&window);
	return rc;
}

enum seam_rc seam__solve_exact(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument)
{
	struct seam__placement made;
	struct lists lists;
	enum seam_rc rc;

	(void)argument;
	if (!is_in_range(problem) || budget->spent)
		return SEAM_OK;
	rc = seam__placement_init(&made, problem);
	if (rc != SEAM_OK)
		return rc;
	rc = SEAM_OOM_META;
	if (make_lists(problem, &lists))
		rc = is_too_much(&lists) ? SEAM_OK : search(problem, &lists, budget, best, made.offsets);
	seam__meta_free(problem->meta, lists.numbers, (size_t)problem->count * sizeof(*lists.numbers));
	seam__placement_fini(&made, problem);
	return rc;
}
