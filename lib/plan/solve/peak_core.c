/* peak_core.c: the solver "peak-core": what lives where most is live first. See solvers.h.
 *
 * How high a placement must be is decided at the few positions where nearly as much is live as ever. What lives there
 * is a smaller problem, which all solvers do better in less time; the rest has room to spare in the gaps that it
 * leaves. Which positions count depends on what is lost in the best placement so far: those that would be below the
 * bound even if as much were lost there. A placement that loses half of it is soon found, so that comes first, and is
 * filled, before a better one is looked for in the time that is left.
 *
 * Not here: the solver whose order alone prefers those positions ("peak-first"). No locks.
 */
#include "solvers.h"

#include "clock.h"
#include "region.h"
#include "order.h"
#include "placer.h"
#include "subset.h"

#define PERCENT 70u /* of the budget for what lives there; the rest is for the rest */
#define SHARE 2u    /* more than one item in so many is not a smaller problem */

static const char *const words[] = {"WB", "AB", "BW"}; /* orders for the rest, until all of it fits */

#define WORDS (sizeof(words) / sizeof(words[0]))

struct work {
	const struct seam_problem *problem;
	uint8_t *marks; /* per item: it lives there, or is fixed */
	struct seam_problem core;
	struct seam_placement placed; /* of it */
	struct seam_placer placer;
};

/* False: they are too many. */
static bool mark_items(const struct seam_problem *problem, const uint32_t *positions, uint8_t *marks)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < problem->count; i++) {
		marks[i] = positions[i] > 0 || problem->items[i].fixed_bytes != SEAM__ADDRESS_ANY;
		count += marks[i];
	}
	return count < problem->count / SHARE;
}

/* With room for its placement and for that of all. SEAM_NOT_FOUND: it is hardly smaller than the whole. */
static enum seam_rc find_core(struct work *work, uint64_t lost_bytes)
{
	const struct seam_problem *problem = work->problem;
	uint32_t *positions = seam__region_array(problem->region, problem->count, sizeof(*positions));
	enum seam_rc rc = positions == NULL ? SEAM_OOM_META
					    : seam__subset_busy(problem, problem->lower_bytes, lost_bytes, positions);

	if (rc == SEAM_OK && !mark_items(problem, positions, work->marks))
		rc = SEAM_NOT_FOUND;
	if (rc == SEAM_OK)
		rc = seam__subset_make(problem, work->marks, 1, &work->core);
	if (rc == SEAM_OK)
		rc = seam__placement_init(&work->placed, &work->core);
	return rc == SEAM_OK ? seam__placer_init(&work->placer, problem) : rc;
}

/* SEAM_NOT_FOUND: no better than what is known. */
static enum seam_rc place_core(
	struct work *work, struct seam_budget *budget, uint64_t target_bytes, uint64_t best_bytes)
{
	struct seam_budget own = *budget;

	if (budget->deadline_ns != UINT64_MAX) {
		uint64_t now_ns = seam__clock_thread_ns();

		own.deadline_ns =
			now_ns + (budget->deadline_ns > now_ns ? (budget->deadline_ns - now_ns) / 100 * PERCENT : 0);
	}
	if (budget->nodes_left != UINT64_MAX)
		own.nodes_left = budget->nodes_left / 100 * PERCENT;
	own.target_bytes = target_bytes;
	own.progress = NULL;
	uint64_t given = own.nodes_left;
	enum seam_rc rc = budget->inner(&work->core, &own, &work->placed, NULL);
	if (budget->nodes_left != UINT64_MAX)
		budget->nodes_left -= given - own.nodes_left;
	return rc == SEAM_OK && work->placed.peak_bytes >= best_bytes ? SEAM_NOT_FOUND : rc;
}

/* Puts the core where it was placed, and the rest in gaps below the ceiling. SEAM_NOT_FOUND: it does not fit. */
static enum seam_rc fill(struct work *work, const char *word, uint64_t ceiling_bytes, struct seam_budget *budget)
{
	const struct seam_problem *problem = work->problem;
	struct seam_order order;
	enum seam_rc rc = seam__order_init(&order, problem, word);

	if (rc != SEAM_OK)
		return rc;
	rc = seam__placer_start(&work->placer);
	for (uint32_t i = 0, n = 0; i < problem->count && rc == SEAM_OK; i++) {
		if (work->marks[i] == 0)
			continue;
		if (problem->items[i].fixed_bytes == SEAM__ADDRESS_ANY)
			rc = seam__placer_put(&work->placer, i, work->placed.offsets[n]);
		n++;
	}
	for (uint32_t n = 0; n < order.count && rc == SEAM_OK; n++)
		if (work->marks[order.heads[n]] == 0)
			rc = seam__placer_drop(&work->placer, order.heads[n], ceiling_bytes, budget);
	return rc;
}

/* Around what is placed of the core, in the first order that works, if any does. */
static enum seam_rc place_rest(struct work *work, struct seam_budget *budget, struct seam_placement *best)
{
	enum seam_rc rc = SEAM_NOT_FOUND;

	for (size_t i = 0; i < WORDS && rc == SEAM_NOT_FOUND && !budget->spent; i++)
		rc = fill(work, words[i], best->peak_bytes - 1, budget);
	if (rc == SEAM_OK)
		(void)seam__placement_improve(best, work->problem, budget, work->placer.made.offsets);
	return rc == SEAM_NOT_FOUND ? SEAM_OK : rc;
}

enum seam_rc seam__solve_peak_core(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument)
{
	struct work work = {.problem = problem};
	uint64_t lost_bytes = best->peak_bytes - problem->lower_bytes;
	uint64_t targets[] = {problem->lower_bytes + lost_bytes / 2, budget->target_bytes};
	enum seam_rc rc = SEAM_OOM_META;

	(void)argument;
	if (best->peak_bytes == SEAM__PEAK_NONE || best->peak_bytes <= budget->target_bytes || lost_bytes == 0 ||
		budget->inner == NULL)
		return SEAM_OK;
	work.marks = seam__region_array(problem->region, problem->count, 1);
	if (work.marks != NULL)
		rc = find_core(&work, lost_bytes);
	for (size_t i = 0; i < 2 && rc == SEAM_OK && best->peak_bytes > budget->target_bytes && !budget->spent; i++) {
		rc = place_core(&work, budget, targets[i] > budget->target_bytes ? targets[i] : budget->target_bytes,
			best->peak_bytes);
		if (rc == SEAM_OK)
			rc = place_rest(&work, budget, best);
	}
	return rc == SEAM_NOT_FOUND ? SEAM_OK : rc;
}
