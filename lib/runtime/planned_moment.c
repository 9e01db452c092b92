/* planned_moment.c: when a plan that was learnt comes into use: at a moment with few live bytes, while the program does
 * what the plan is of. What it cannot serve at once is then little, and where the program is in the period is known
 * from what it did last (recent.h).
 */
#include "planned_impl.h"

#define COMPARE_EACH 16u /* requests from one comparison with the script to the next */

enum moment { NOT_YET, NOW, NEVER };

/* Whether what waits is to be opened: at a moment with few live bytes, while the program does what the plan is of. */
static enum moment judge_moment(struct seam_runtime *runtime, const struct seam_engine_counts *counts)
{
	bool late = counts->allocs >= runtime->open_by_allocs;
	if (counts->live_requested_bytes > runtime->open_below_bytes && !late)
		return NOT_YET;
	if (runtime->compared_at != 0 && runtime->recent.count < runtime->compared_at + COMPARE_EACH)
		return NOT_YET; /* it has hardly done anything since it did something else */
	if (seam__recent_fits(&runtime->recent, runtime->waiting_script))
		return NOW;
	runtime->compared_at = runtime->recent.count;
	return counts->allocs >= runtime->give_up_by_allocs ? NEVER : NOT_YET;
}

void seam__planned_try_open(struct seam_runtime *runtime, bool at_step)
{
	enum moment moment = runtime->waiting == NULL ? NOT_YET : judge_moment(runtime, &runtime->engine->counts);
	if (moment == NOT_YET)
		return;
	struct seam_stage *stage = runtime->waiting;
	struct seam_script *script = runtime->waiting_script;
	const bool from_start = at_step && runtime->open_at_step;
	const bool knows = !runtime->open && !from_start; /* what a plan served is not among what came lately */
	runtime->waiting = NULL;
	runtime->waiting_script = NULL;
	stage->low_bytes = runtime->open_below_bytes;
	stage->begins_at_step = runtime->open_at_step;
	if (moment == NOW && seam__planned_open(runtime, stage, script, from_start) == SEAM_OK) {
		if (knows)
			seam__recent_tell(&runtime->recent, script, stage->matcher);
		return;
	}
	seam__script_destroy(runtime->meta, script);
	seam__stage_abandon(runtime, stage);
}

void seam__planned_step(struct seam_runtime *runtime)
{
	seam__planned_try_open(runtime, true);
	if (runtime->open && seam__stage_open(runtime)->suspended)
		(void)seam__stage_resume(runtime, seam__stage_open(runtime), true);
	if (runtime->open && !seam__stage_open(runtime)->suspended) {
		seam__stage_step(runtime, seam__stage_open(runtime));
		seam__matcher_step(seam__stage_open(runtime)->matcher);
	}
}
