/* relax.c: see relax.h; and the solvers "held" and "apart", which give the simpler problems to the pipeline. */
#include "relax.h"

#include "pipeline.h"
#include "solvers.h"

static uint32_t longest_hold(const struct seam__problem *problem, uint32_t i)
{
	uint32_t longest = problem->items[i].span;

	for (uint32_t s = 0; problem->holds != NULL && s < problem->streams; s++) {
		uint32_t hold = seam__problem_hold(problem, i, s);
		longest = hold > longest ? hold : longest;
	}
	return longest;
}

/* On a line a hold may reach beyond the end, where nobody is; one for ever meets those before it too. */
static void hold_item(const struct seam__problem *problem, uint32_t i, struct seam__item *item)
{
	uint32_t hold = longest_hold(problem, i);
	uint32_t room = problem->linear ? problem->circle - item->begin : problem->circle;

	if (problem->linear && hold == SEAM__HOLD_ALWAYS)
		item->begin = 0;
	item->span = hold == SEAM__HOLD_ALWAYS ? problem->circle : hold < room ? hold : room;
	item->stream = 0;
}

enum seam_rc seam__relax_held(const struct seam__problem *problem, struct seam__problem *ret_relaxed)
{
	enum seam_rc rc = seam__problem_init(ret_relaxed, problem->meta, problem->count, problem->circle, problem->linear, 1,
	                                     problem->align_bytes);

	if (rc != SEAM_OK)
		return rc;
	for (uint32_t i = 0; i < problem->count; i++) {
		struct seam__item *item = seam__problem_add(ret_relaxed, problem->items[i].size_bytes, 0, 1);

		*item = problem->items[i];
		hold_item(problem, i, item);
	}
	rc = seam__problem_finish(ret_relaxed);
	if (rc != SEAM_OK)
		seam__problem_fini(ret_relaxed);
	return rc;
}

enum seam_rc seam__relax_apart(const struct seam__problem *problem, struct seam__problem *ret_relaxed)
{
	enum seam_rc rc = seam__problem_init(ret_relaxed, problem->meta, problem->count, problem->circle, problem->linear,
	                                     problem->streams, problem->align_bytes);

	if (rc != SEAM_OK)
		return rc;
	for (uint32_t i = 0; i < problem->count; i++) {
		struct seam__item *item = seam__problem_add(ret_relaxed, problem->items[i].size_bytes, 0, 1);

		*item = problem->items[i];
		for (uint32_t s = 0; ret_relaxed->holds != NULL && s < problem->streams; s++)
			ret_relaxed->holds[(size_t)i * problem->streams + s] = s == item->stream ? item->span : SEAM__HOLD_ALWAYS;
	}
	rc = seam__problem_finish(ret_relaxed);
	if (rc != SEAM_OK)
		seam__problem_fini(ret_relaxed);
	return rc;
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
