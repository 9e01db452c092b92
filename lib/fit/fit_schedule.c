/* fit_schedule.c: schedules and their times for the library's users.
 *
 * Not here: how they are made (fit_maker.h) and timed (fit_timer.h).
 */
#include "fit_maker.h"
#include "fit_problem.h"
#include "fit_timer.h"

#include <string.h>

/* A schedule and its operations are one piece. */
static struct seam_fit_schedule *copy(const struct seam_fit_schedule *made)
{
	size_t bytes = made->op_count * sizeof(*made->ops);
	struct seam_fit_schedule *schedule = seam__meta_alloc(seam__meta_process(), sizeof(*schedule) + bytes);
	if (schedule == NULL)
		return NULL;
	*schedule = *made;
	schedule->ops = (struct seam_fit_op *)(void *)(schedule + 1);
	memcpy(schedule + 1, made->ops, bytes);
	return schedule;
}

enum seam_rc seam_fit_schedule(const struct seam_fit_problem *problem, const struct seam_fit_recipe *recipe,
	struct seam_fit_schedule **ret_schedule)
{
	if (ret_schedule == NULL)
		return SEAM_INVALID;
	enum seam_rc rc = seam_fit_problem_check(problem, NULL, 0);
	if (rc != SEAM_OK)
		return rc;
	if (!seam__fit_recipe_is_valid(problem, recipe))
		return SEAM_INVALID;
	struct seam_region *region = seam__region_create(seam__meta_process());
	if (region == NULL)
		return SEAM_OOM_META;
	struct seam_fit_maker maker;
	rc = seam__fit_maker_init(&maker, problem, region);
	if (rc == SEAM_OK) {
		struct seam_fit_schedule made;
		seam__fit_make(&maker, recipe, &made);
		struct seam_fit_schedule *schedule = copy(&made);
		rc = schedule == NULL ? SEAM_OOM_META : SEAM_OK;
		*ret_schedule = schedule == NULL ? *ret_schedule : schedule;
	}
	seam__region_destroy(region);
	return rc;
}

void seam_fit_schedule_free(struct seam_fit_schedule *schedule)
{
	if (schedule != NULL)
		seam__meta_free(seam__meta_process(), schedule,
			sizeof(*schedule) + schedule->op_count * sizeof(*schedule->ops));
}

#define OPERATIONS_MOST                                                                              \
	(16 * SEAM_FIT_OPERATIONS_MOST) /* each takes 2^43 ns at most: two iterations are below 2^63 \
					 */

/* Of a schedule that a user may have made. */
static bool can_be_timed(const struct seam_fit_problem *problem, const struct seam_fit_schedule *schedule)
{
	if (schedule == NULL || (schedule->ops == NULL && schedule->op_count > 0) ||
		schedule->op_count > OPERATIONS_MOST)
		return false;
	for (uint32_t i = 0; i < schedule->op_count; i++) {
		const struct seam_fit_op *op = &schedule->ops[i];
		if (op->lane >= SEAM_FIT_LANES || op->ns > SEAM_FIT_NS_MOST || op->bytes > SEAM_FIT_BYTES_MOST ||
			((op->lane == SEAM_FIT_UP || op->lane == SEAM_FIT_DOWN) && problem->machine.up == 0) ||
			(op->kind == SEAM_FIT_VISIT && op->subject >= problem->visit_count))
			return false;
		for (uint32_t j = 0; j < 2; j++)
			if (op->after[j] != SEAM_FIT_NONE && op->after[j] >= schedule->op_count)
				return false;
	}
	return true;
}

enum seam_rc seam_fit_simulate(const struct seam_fit_problem *problem, const struct seam_fit_schedule *schedule,
	struct seam_fit_span *spans, struct seam_fit_prediction *ret_prediction)
{
	if (ret_prediction == NULL)
		return SEAM_INVALID;
	enum seam_rc rc = seam_fit_problem_check(problem, NULL, 0);
	if (rc != SEAM_OK)
		return rc;
	if (!can_be_timed(problem, schedule))
		return SEAM_INVALID;
	struct seam_region *region = seam__region_create(seam__meta_process());
	if (region == NULL)
		return SEAM_OOM_META;
	struct seam_fit_timer timer;
	uint64_t work = 0;
	rc = seam__fit_timer_init(&timer, schedule->op_count, region);
	if (rc == SEAM_OK && !seam__fit_time(&timer, problem, schedule, spans, &work, ret_prediction))
		rc = SEAM_INVALID;
	seam__region_destroy(region);
	return rc;
}

const char *seam_fit_treatment_name(uint32_t treatment)
{
	static const char *const names[] = {"keep", "recompute", "swap", "recompute-from-host"};
	return treatment < SEAM_FIT_TREATMENTS ? names[treatment] : NULL;
}

const char *seam_fit_kind_name(uint32_t kind)
{
	static const char *const names[] = {
#define SEAM_FIT_OP(name, lane, text) #name,
#include <seam/fit_ops.def>
#undef SEAM_FIT_OP
	};
	return kind < SEAM_FIT_KINDS ? names[kind] : NULL;
}
