/* planned_moment.c: when a plan that waits comes into use: at a moment with few live bytes, while the program does what
 * the plan is of. What it cannot serve at once is then little, and where the program is in the period is known
 * from what it did last (recent.h).
 */
#include "planned_impl.h"

#define COMPARE_EACH 16u /* requests from one comparison with the loaded plan to the next */

enum moment { NOT_YET, NOW, NEVER };

/* Whether all that stays has been there for a period. A learnt plan was made around it: its limits are 0. */
static bool is_built(struct seam_runtime *runtime, const struct seam_engine_counts *counts)
{
	const uint64_t period = seam__loaded_slots(runtime->waiting_loaded);
	if (counts->live_requested_bytes < runtime->open_above_bytes)
		seam__planned_put_off(runtime, period);
	return counts->allocs >= runtime->open_from_allocs;
}

void seam__planned_put_off(struct seam_runtime *runtime, uint64_t requests)
{
	runtime->open_from_allocs = runtime->engine->counts.allocs + requests;
	runtime->open_by_allocs = runtime->open_from_allocs + 2 * requests;
}

/* Whether what waits is to be opened: at a moment with few live bytes, while the program does what the plan is of. */
static enum moment judge_moment(struct seam_runtime *runtime, const struct seam_engine_counts *counts)
{
	if (!is_built(runtime, counts))
		return NOT_YET;
	bool late = counts->allocs >= runtime->open_by_allocs;
	if (counts->live_requested_bytes > runtime->open_below_bytes && !late)
		return NOT_YET;
	if (runtime->compared_at != 0 && runtime->recent.count < runtime->compared_at + COMPARE_EACH)
		return NOT_YET; /* it has hardly done anything since it did something else */
	if (seam__recent_fits(&runtime->recent, runtime->waiting_loaded))
		return NOW;
	runtime->compared_at = runtime->recent.count;
	return counts->allocs >= runtime->give_up_by_allocs ? NEVER : NOT_YET;
}

/* Opens what is ready. */
static void open_waiting(struct seam_runtime *runtime, enum moment moment)
{
	struct seam_active_plan *active = runtime->waiting;
	struct seam_loaded_plan *loaded = runtime->waiting_loaded;
	const bool knows = !runtime->open; /* what a plan served is not among what came lately */
	runtime->waiting = NULL;
	runtime->waiting_loaded = NULL;
	active->low_bytes = runtime->open_below_bytes;
	if (moment == NOW && seam__planned_open(runtime, active, loaded, false) == SEAM_OK) {
		if (knows && !seam__recent_tell(&runtime->recent, loaded, active->matcher))
			seam__active_suspend(runtime, active);
		return;
	}
	seam__loaded_destroy(runtime->meta, loaded);
	seam__active_abandon(runtime, active);
}

bool seam__planned_try_open(struct seam_runtime *runtime)
{
	const enum moment moment =
		runtime->waiting_loaded == NULL ? NOT_YET : judge_moment(runtime, &runtime->engine->counts);
	if (moment == NOW && runtime->waiting == NULL)
		return true;
	if (moment != NOT_YET)
		open_waiting(runtime, moment);
	return false;
}

void seam__planned_step(struct seam_runtime *runtime)
{
	if (runtime->open && !seam__active_open(runtime)->suspended)
		seam__matcher_step(seam__active_open(runtime)->matcher);
}
