/* planned_moment.c: when a plan that was learnt comes into use: at a moment with few live bytes, while the program does
 * what the plan is of. What it cannot serve at once is then little, and where the program is in the period is known
 * from what it did last (recent.h).
 */
#include "planned_impl.h"

#define COMPARE_EACH 16u /* requests from one comparison with the script to the next */

enum moment { NOT_YET, NOW, NEVER };

/* Whether what waits is to be opened: at a moment with few live bytes, while the program does what the plan is of. */
static enum moment judge_moment(struct seam_planning *planning, const struct seam_engine_counts *counts)
{
	bool late = counts->allocs >= planning->open_by_allocs;
	if (counts->live_requested_bytes > planning->open_below_bytes && !late)
		return NOT_YET;
	if (planning->compared_at != 0 && planning->recent.count < planning->compared_at + COMPARE_EACH)
		return NOT_YET; /* it has hardly done anything since it did something else */
	if (seam__recent_fits(&planning->recent, planning->waiting_script))
		return NOW;
	planning->compared_at = planning->recent.count;
	return counts->allocs >= planning->give_up_by_allocs ? NEVER : NOT_YET;
}

void seam__planned_try_open(struct seam_pool *pool, bool at_step)
{
	struct seam_planning *planning = &pool->planning;
	enum moment moment = planning->waiting == NULL ? NOT_YET : judge_moment(planning, &pool->engine.counts);
	if (moment == NOT_YET)
		return;
	struct seam_stage *stage = planning->waiting;
	struct seam_script *script = planning->waiting_script;
	const bool from_start = at_step && planning->open_at_step;
	const bool knows = !planning->open && !from_start; /* what a plan served is not among what came lately */
	planning->waiting = NULL;
	planning->waiting_script = NULL;
	if (moment == NOW && seam__planned_open(pool, stage, script, from_start) == SEAM_OK) {
		if (knows)
			seam__recent_tell(&planning->recent, script, stage->matcher);
		return;
	}
	seam__script_destroy(pool->meta, script);
	seam__stage_abandon(pool, stage);
}

void seam__planned_step(struct seam_pool *pool)
{
	struct seam_planning *planning = &pool->planning;
	seam__planned_try_open(pool, true);
	if (planning->open) {
		seam__stage_step(pool, seam__stage_open(planning));
		seam__matcher_step(seam__stage_open(planning)->matcher);
	}
}
