/* fit_guess.c: see fit_guess.h. */
#include "fit_guess.h"

#include "check.h"
#include "fit_problem.h"

enum seam_rc seam__fit_guesser_init(
	struct seam_fit_guesser *guesser, const struct seam_fit_problem *problem, struct seam_region *region)
{
	*guesser = (struct seam_fit_guesser){.problem = problem, .least_bytes = UINT64_MAX};
	enum seam_rc rc = seam__fit_maker_init(&guesser->maker, problem, region);
	if (rc == SEAM_OK)
		rc = seam__fit_timer_init(&guesser->timer, guesser->maker.most_ops, region);
	guesser->comes = seam__region_array(region, problem->chunk_count, 1);
	for (uint32_t i = 0; i < problem->chunk_count; i++)
		guesser->coming += !problem->chunks[i].must_stay;
	return guesser->comes == NULL ? SEAM_OOM_META : rc;
}

void seam__fit_guess_comes(const struct seam_fit_problem *problem, uint32_t stays, uint8_t *comes)
{
	for (uint32_t i = 0, number = 0; i < problem->chunk_count; i++)
		comes[i] = !problem->chunks[i].must_stay && number++ >= stays;
}

bool seam__fit_guess_make(struct seam_fit_guesser *guesser, const struct seam_fit_guess *guess, uint64_t *ret_bound_ns)
{
	const struct seam_fit_problem *problem = guesser->problem;
	struct seam_fit_recipe recipe = {guess->treatments, guesser->comes, guess->buffers, guess->ahead};
	seam__fit_guess_comes(problem, guess->stays, guesser->comes);
	if (!seam__fit_recipe_is_valid(problem, &recipe))
		return false;
	seam__fit_make(&guesser->maker, &recipe, &guesser->schedule);
	guesser->work += guesser->schedule.op_count;
	if (problem->host_budget_bytes > 0 && guesser->schedule.host_bytes > problem->host_budget_bytes)
		return false;
	if (guesser->schedule.peak_bytes < guesser->least_bytes)
		guesser->least_bytes = guesser->schedule.peak_bytes;
	*ret_bound_ns = seam__fit_time_bound(problem, &guesser->schedule);
	return true;
}

void seam__fit_guess_time(struct seam_fit_guesser *guesser, struct seam_fit_prediction *ret_prediction)
{
	bool is_timed = seam__fit_time(
		&guesser->timer, guesser->problem, &guesser->schedule, NULL, &guesser->work, ret_prediction);
	SEAM_VERIFY(is_timed);
}

uint64_t seam__fit_guess_copies(const struct seam_fit_guesser *guesser)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < guesser->schedule.op_count; i++)
		bytes += guesser->schedule.ops[i].bytes;
	return bytes;
}
