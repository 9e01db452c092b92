/* somas.c: the solver "somas": Single Object and Many Objects (SOMAS, section 4). See solvers.h.
 *
 * Single Object: one range of memory without end, into which chains (linked items) go one after the other, each into
 * the lowest or the smallest gap: the portfolio (greedy.c) with the papers' orders. Many Objects: ranges one behind the
 * other, the objects. A chain goes into the first object that has room for it, and else gets one of its own size on
 * top, which it spans.
 *
 * Not here: which tensors may share memory (SOMAS, section 3); that is in the problem (graph_problem.h).
 */
#include "solvers.h"

#include "region.h"
#include "order.h"
#include "placer.h"

struct work {
	const struct seam_problem *problem;
	struct seam_budget *budget;
	struct seam_placer placer;
	struct seam_order order; /* large chains first */
	uint64_t *ends;          /* of the objects; room for one more than items */
	uint32_t count; /* of the objects; the first begins at 0, each other one where the one before it ends */
};

/* What is fixed lies in the first object, which is as large as that takes. */
static void open_first(struct work *work)
{
	const struct seam_problem *problem = work->problem;
	uint64_t top_bytes = 0;

	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *item = &problem->items[i];

		if (item->fixed_bytes != SEAM__ADDRESS_ANY && item->fixed_bytes + item->size_bytes > top_bytes)
			top_bytes = item->fixed_bytes + item->size_bytes;
	}
	if (top_bytes > 0)
		work->ends[work->count++] = top_bytes;
}

/* Into the first object with room, else into a new one. SEAM_NOT_FOUND: that would end above the ceiling, or the budget
 * is spent. */
static enum seam_rc place(struct work *work, uint32_t head, uint64_t ceiling_bytes)
{
	const struct seam_item *items = work->problem->items;
	uint64_t begin_bytes = 0, size_bytes = 0;

	for (uint32_t i = head; i != SEAM__ITEM_NONE; i = items[i].next)
		size_bytes += items[i].size_bytes;
	for (uint32_t n = 0; n < work->count; n++) {
		uint64_t offset_bytes;

		if (!seam__budget_spend(work->budget, 1))
			return SEAM_NOT_FOUND;
		if (work->ends[n] - begin_bytes >= size_bytes &&
			seam__gaps_find(
				&work->placer.gaps, head, SEAM__FIT_FIRST, begin_bytes, work->ends[n], &offset_bytes))
			return seam__placer_put(&work->placer, head, offset_bytes);
		begin_bytes = work->ends[n];
	}
	if (size_bytes > ceiling_bytes || begin_bytes > ceiling_bytes - size_bytes)
		return SEAM_NOT_FOUND;
	work->ends[work->count++] = begin_bytes + size_bytes;
	return seam__placer_put(&work->placer, head, begin_bytes);
}

static enum seam_rc many_objects(
	const struct seam_problem *problem, struct seam_budget *budget, struct seam_placement *best)
{
	struct work work = {.problem = problem, .budget = budget};
	uint64_t ceiling_bytes = best->peak_bytes == SEAM__PEAK_NONE ? UINT64_MAX : best->peak_bytes - 1;
	enum seam_rc rc;

	work.ends = seam__region_array(problem->region, (size_t)problem->count + 1, sizeof(*work.ends));
	rc = work.ends == NULL ? SEAM_OOM_META : seam__order_init(&work.order, problem, "WB");
	if (rc == SEAM_OK)
		rc = seam__placer_init(&work.placer, problem);
	if (rc == SEAM_OK)
		rc = seam__placer_start(&work.placer);
	if (rc == SEAM_OK)
		open_first(&work);
	for (uint32_t n = 0; rc == SEAM_OK && n < work.order.count; n++)
		rc = place(&work, work.order.heads[n], ceiling_bytes);
	if (rc == SEAM_OK)
		(void)seam__placement_improve(best, problem, budget, work.placer.made.offsets, "somas");
	return rc == SEAM_NOT_FOUND ? SEAM_OK : rc;
}

enum seam_rc seam__solve_somas(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument)
{
	/* By size, by begin, and first where most is live. */
	static const struct seam_recipe ways[] = {
		{"somas", "WB", SEAM__FIT_FIRST},
		{"somas", "BW", SEAM__FIT_FIRST},
		{"somas", "TWB", SEAM__FIT_FIRST},
		{"somas", "WB", SEAM__FIT_BEST},
		{"somas", "BW", SEAM__FIT_BEST},
		{"somas", "TWB", SEAM__FIT_BEST},
	};
	enum seam_rc rc = SEAM_OK;

	(void)argument;
	for (size_t w = 0; rc == SEAM_OK && w < sizeof(ways) / sizeof(ways[0]); w++)
		rc = seam__solve_greedy(problem, budget, best, &ways[w]);
	if (rc == SEAM_OK && best->peak_bytes > budget->target_bytes)
		rc = many_objects(problem, budget, best);
	return rc;
}
