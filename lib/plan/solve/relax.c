/* relax.c: see relax.h; and the solvers "held" and "apart", which give the simpler problems to the pipeline. */
#include "relax.h"

#include "pipeline.h"
#include "solvers.h"

/* The same items, with holds of their spans. */
static enum seam_rc copy_items(const struct seam__problem *problem, uint32_t streams, struct seam__problem *ret_copy)
{
	enum seam_rc rc = seam__problem_init(ret_copy, problem->meta, problem->count, problem->circle, problem->linear,
		streams, problem->align_bytes);

	for (uint32_t i = 0; i < problem->count && rc == SEAM_OK; i++) {
		const struct seam__item *item = &problem->items[i];

		*seam__problem_add(ret_copy, item->size_bytes, item->begin, item->span) = *item;
	}
	return rc;
}

static enum seam_rc finish(struct seam__problem *relaxed)
{
	enum seam_rc rc = seam__problem_finish(relaxed);

	if (rc != SEAM_OK)
		seam__problem_fini(relaxed);
	return rc;
}

/* On a line a hold may reach beyond the end, where nobody is; one for ever meets those before it too. */
static void hold_item(const struct seam__problem *problem, uint32_t i, struct seam__item *item)
{
	uint32_t hold = seam__problem_longest_hold(problem, i);

	if (problem->linear && hold == problem->circle)
		item->begin = 0;
	else if (problem->linear && hold > problem->circle - item->begin)
		hold = problem->circle - item->begin;
	item->span = hold;
	item->stream = 0;
}

enum seam_rc seam__relax_held(const struct seam__problem *problem, struct seam__problem *ret_relaxed)
{
	enum seam_rc rc = copy_items(problem, 1, ret_relaxed);

	if (rc != SEAM_OK)
		return rc;
	for (uint32_t i = 0; i < problem->count; i++)
		hold_item(problem, i, &ret_relaxed->items[i]);
	return finish(ret_relaxed);
}

enum seam_rc seam__relax_apart(const struct seam__problem *problem, struct seam__problem *ret_relaxed)
{
	enum seam_rc rc = copy_items(problem, problem->streams, ret_relaxed);

	if (rc != SEAM_OK)
		return rc;
	for (uint32_t i = 0; i < problem->count; i++)
		for (uint32_t s = 0; ret_relaxed->holds != NULL && s < problem->streams; s++)
			if (s != problem->items[i].stream)
				ret_relaxed->holds[(size_t)i * problem->streams + s] = SEAM__HOLD_ALWAYS;
	return finish(ret_relaxed);
}

/* Fixed items of different streams may overlap where their holds allow it; where the simpler problem forbids what is
 * fixed, it has no answer. */
static enum seam_rc solve_relaxed(const struct seam__problem *problem, struct seam__problem *relaxed,
	struct seam__budget *budget, struct seam__placement *best, const char *solver)
{
	struct seam__budget inner = *budget;
	struct seam__placement placed;
	struct seam__pipeline_result result;
	enum seam_rc rc;

	if (seam__problem_check(relaxed) != NULL)
		return SEAM_OK;
	rc = seam__placement_init(&placed, relaxed);
	if (rc != SEAM_OK)
		return rc;
	inner.progress = NULL;
	rc = seam__pipeline_run(relaxed, &inner, &placed, &result);
	budget->nodes_left = inner.nodes_left;
	if (rc == SEAM_OK && placed.peak_bytes != SEAM__PEAK_NONE)
		(void)seam__placement_improve(best, problem, budget, placed.offsets, solver);
	seam__placement_fini(&placed, relaxed);
	return rc;
}

enum seam_rc seam__solve_relaxed(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument)
{
	bool held = argument != NULL;
	struct seam__problem relaxed;
	enum seam_rc rc;

	rc = held ? seam__relax_held(problem, &relaxed) : seam__relax_apart(problem, &relaxed);
	if (rc != SEAM_OK)
		return rc;
	/* Holds for ever between all streams are no simpler problem: the pipeline would come back here. */
	if (held || (seam__problem_features(&relaxed) & SEAM__HAS_FIXED) == 0)
		rc = solve_relaxed(problem, &relaxed, budget, best, held ? "held" : "apart");
	seam__problem_fini(&relaxed);
	return rc;
}
