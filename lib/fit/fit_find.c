/* fit_find.c: seam_fit_search(): a search, and what of it fits.
 *
 * Not here: the searches (fit_search.h).
 */
#include "fit_problem.h"
#include "fit_search.h"

/* Simulated operations: some 0.1 s of processor time for 100 blocks (bench/results/fit.md). */
#define WORK_LIMIT 2000000u

static enum seam_rc find(const struct seam_fit_problem *problem, const struct seam_fit_options *options,
	struct seam_region *region, struct seam_fit_front **ret_front)
{
	struct seam_fit_guesser guesser;
	struct seam_fit_best best = {.region = region, .block_count = problem->block_count};
	bool is_complete = true;
	uint64_t work_limit = options->work_limit == 0 ? WORK_LIMIT : options->work_limit;
	enum seam_rc rc = seam__fit_guesser_init(&guesser, problem, region);
	if (rc == SEAM_OK)
		rc = options->exact ? seam__fit_prove(&guesser, &best, work_limit)
				    : seam__fit_explore(&guesser, &best, work_limit, &is_complete);
	if (rc == SEAM_OK)
		rc = seam__fit_best_publish(&best, problem, problem->budget_bytes, ret_front);
	if (rc != SEAM_OK)
		return rc;
	(*ret_front)->least_bytes = guesser.least_bytes;
	(*ret_front)->work = guesser.work;
	(*ret_front)->complete = is_complete;
	return SEAM_OK;
}

enum seam_rc seam_fit_search(const struct seam_fit_problem *problem, const struct seam_fit_options *options,
	struct seam_fit_front **ret_front)
{
	static const struct seam_fit_options defaults = {.struct_bytes = sizeof(defaults)};
	if (ret_front == NULL || (options != NULL && options->struct_bytes != sizeof(*options)))
		return SEAM_INVALID;
	enum seam_rc rc = seam_fit_problem_check(problem, NULL, 0);
	if (rc != SEAM_OK)
		return rc;
	struct seam_region *region = seam__region_create(seam__meta_process());
	if (region == NULL)
		return SEAM_OOM_META;
	rc = find(problem, options == NULL ? &defaults : options, region, ret_front);
	seam__region_destroy(region);
	return rc;
}
