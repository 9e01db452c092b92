/* fit_problem.h: whether a recipe is one of a problem of Fit.
 *
 * Not here: whether the problem is one, seam_fit_problem_check().
 */
#ifndef SEAM_FIT_PROBLEM_H
#define SEAM_FIT_PROBLEM_H

#include <stdbool.h>

#include <seam/fit.h>

#include "meta.h"

/* The problem is one. */
bool seam__fit_recipe_is_valid(const struct seam_fit_problem *problem, const struct seam_fit_recipe *recipe);

/* Under its block's treatment. */
static inline const struct seam_fit_curve *seam__fit_curve(
	const struct seam_fit_visit *visit, const struct seam_fit_recipe *recipe)
{
	return &visit->under[visit->block == SEAM_FIT_NONE ? SEAM_FIT_KEEP : recipe->treatments[visit->block]];
}

#endif
