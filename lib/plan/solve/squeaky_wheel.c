/* squeaky_wheel.c: the solver "squeaky-wheel": what did not fit goes first next time. See solvers.h.
 *
 * Several lanes, in turn. Each has an order of its own: all items are dropped into gaps in that order, below a ceiling
 * as far as they fit; what did not fit moves forward, to the front or halfway there, and keeps that place in the next
 * round
 * ("squeaky wheel"). Starting orders, ceilings and the length of the jump differ, since each of them alone fails
 * somewhere. Swapping neighbours at the peak one by one, as others do, takes a whole placement for every swap; here
 * every round moves all that was wrong in it.
 */
#include "solvers.h"

#include <string.h>

#include "region.h"
#include "order.h"
#include "placer.h"

struct lane {
	const char *word; /* of the first order; NULL: by address in the best placement, again whenever another lane
			     finds a better one */
	uint32_t divisor; /* of the rank of what did not fit; 0: to the front */
	bool low;         /* the ceiling is the target; else every other time just below the best peak */
};

static const struct lane lanes[] = {
	{"TWB", 2, false},
	{NULL, 0, true},
	{NULL, 2, false},
	{"TWB", 0, true},
};

#define LANES (sizeof(lanes) / sizeof(lanes[0]))

struct work {
	const struct seam_problem *problem;
	struct seam_budget *budget;
	struct seam_placer placer;
	struct seam_order orders[LANES];
	uint32_t *failed; /* of the round: ranks in the lane's order, ascending */
	uint32_t failed_count;
	uint32_t *heads;        /* the order in the making */
	bool stuck[LANES];      /* another round would be the same */
	uint32_t rounds[LANES]; /* so far, of lanes whose ceiling changes */
};

/* SEAM_NOT_FOUND: the budget is spent. */
static enum seam_rc run_round(struct work *work, size_t number, uint64_t ceiling_bytes)
{
	const struct seam_order *order = &work->orders[number];
	enum seam_rc rc = seam__placer_start(&work->placer);

	work->failed_count = 0;
	for (uint32_t n = 0; rc == SEAM_OK && n < order->count; n++) {
		rc = seam__placer_drop(&work->placer, order->heads[n], ceiling_bytes, work->budget);
		if (rc == SEAM_NOT_FOUND && !work->budget->spent) {
			work->failed[work->failed_count++] = n;
			rc = seam__placer_drop(&work->placer, order->heads[n], UINT64_MAX, work->budget);
		}
	}
	return rc;
}

/* Moves what failed forward; the others keep their order. */
static void move_failed(struct work *work, size_t number)
{
	struct seam_order *order = &work->orders[number];
	uint32_t divisor = lanes[number].divisor;
	uint32_t next = 0;   /* of those that failed, to be inserted */
	uint32_t passed = 0; /* of those that failed, met in the old order */
	uint32_t made = 0;

	for (uint32_t n = 0; n < order->count; n++) {
		while (next < work->failed_count && (divisor == 0 || work->failed[next] / divisor <= made))
			work->heads[made++] = order->heads[work->failed[next++]];
		if (passed < work->failed_count && work->failed[passed] == n)
			passed++;
		else
			work->heads[made++] = order->heads[n];
	}
	work->stuck[number] = memcmp(work->heads, order->heads, (size_t)order->count * sizeof(*order->heads)) == 0;
	memcpy(order->heads, work->heads, (size_t)order->count * sizeof(*order->heads));
}

/* Lanes that start from the best placement do so again, but for `but`, which made it. */
static enum seam_rc start_from(struct work *work, const struct seam_placement *best, size_t but)
{
	enum seam_rc rc = SEAM_OK;

	for (size_t n = 0; rc == SEAM_OK && n < LANES; n++) {
		if (lanes[n].word != NULL || n == but || best->peak_bytes == SEAM__PEAK_NONE)
			continue;
		rc = seam__order_by_offset(&work->orders[n], best->offsets);
		work->stuck[n] = false;
	}
	return rc;
}

static enum seam_rc prepare(struct work *work, const struct seam_placement *best)
{
	const struct seam_problem *problem = work->problem;
	enum seam_rc rc = seam__placer_init(&work->placer, problem);

	for (size_t n = 0; rc == SEAM_OK && n < LANES; n++)
		rc = seam__order_init(&work->orders[n], problem, lanes[n].word == NULL ? "WB" : lanes[n].word);
	if (rc == SEAM_OK)
		rc = start_from(work, best, LANES);
	if (rc != SEAM_OK)
		return rc;
	work->failed = seam__region_array(problem->region, problem->count, sizeof(*work->failed));
	work->heads = seam__region_array(problem->region, problem->count, sizeof(*work->heads));
	return work->failed == NULL || work->heads == NULL ? SEAM_OOM_META : SEAM_OK;
}

/* One round of lane `number`; *ret_better: best was replaced. SEAM_NOT_FOUND: the budget is spent. */
static enum seam_rc turn(
	struct work *work, size_t number, uint64_t target_bytes, struct seam_placement *best, bool *ret_better)
{
	bool is_low = lanes[number].low || best->peak_bytes == SEAM__PEAK_NONE || work->rounds[number]++ % 2 == 0;
	enum seam_rc rc = run_round(work, number, is_low ? target_bytes : best->peak_bytes - 1);

	if (rc != SEAM_OK)
		return rc;
	*ret_better = seam__placement_improve(best, work->problem, work->budget, work->placer.made.offsets);
	move_failed(work, number);
	return *ret_better ? start_from(work, best, number) : SEAM_OK;
}

enum seam_rc seam__solve_squeaky_wheel(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument)
{
	struct work work = {.problem = problem, .budget = budget};
	uint64_t target_bytes =
		budget->target_bytes > problem->lower_bytes ? budget->target_bytes : problem->lower_bytes;
	size_t idle = 0; /* lanes in a row that were stuck */
	size_t n = 0;

	(void)argument;
	if (best->peak_bytes <= target_bytes)
		return SEAM_OK;
	enum seam_rc rc = prepare(&work, best);
	while (rc == SEAM_OK && idle < LANES && best->peak_bytes > target_bytes) {
		bool is_better = false;

		idle = work.stuck[n] ? idle + 1 : 0;
		if (!work.stuck[n])
			rc = turn(&work, n, target_bytes, best, &is_better);
		/* Who is lucky goes on. */
		if (!is_better)
			n = (n + 1) % LANES;
	}
	return rc == SEAM_NOT_FOUND ? SEAM_OK : rc;
}
