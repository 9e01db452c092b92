/* loaded_positions.c: positions counted anew, with one allocation or free on each; slots and groups on the circle. */
#include "loaded_plan.h"

#include <stdlib.h>

#include "bits.h"
#include "meta.h"

/* What happens, in the order of the plan's positions: frees first. */
struct happening {
	uint32_t position;
	uint32_t action; /* slot * 2, + 1 for its free */
};

static int compare_happenings(const void *left, const void *right)
{
	const struct happening *a = left, *b = right;
	int order = seam__bits_compare(a->position, b->position);
	if (order == 0)
		order = seam__bits_compare(b->action & 1, a->action & 1);
	return order != 0 ? order : seam__bits_compare(a->action, b->action);
}

/* How many happenings lie before the plan's position: frees at it count, allocations at it do not. */
static uint32_t count_before(const struct happening *list, uint32_t count, uint32_t position)
{
	uint32_t low = 0;
	SEAM__BITS_BISECT(low, count, i, list[i].position < position + (list[i].action & 1))
	return low;
}

static void fill_lifetimes(const struct seam_plan *plan, struct seam_loaded_plan *loaded, const struct happening *list,
	uint32_t *actions, struct seam_lifetime *lifetimes)
{
	const uint32_t positions = plan->header.positions;
	for (uint32_t p = 0; p < loaded->positions; p++) {
		const uint32_t slot = list[p].action >> 1;
		actions[p] = list[p].action;
		if ((list[p].action & 1) == 0)
			lifetimes[slot].begin = p;
	}
	for (uint32_t p = 0; p < loaded->positions; p++) {
		const uint32_t slot = list[p].action >> 1;
		if ((list[p].action & 1) == 0)
			continue;
		const uint32_t later = plan->slots[slot].end / positions;
		lifetimes[slot].end = later * loaded->positions + p;
		lifetimes[slot].lag = later % loaded->copies;
	}
	for (uint32_t i = 0; i < loaded->slots; i++) {
		const struct seam_plan_slot *slot = &plan->slots[i];
		lifetimes[i].group = (slot->flags & SEAM_PLAN_DYNAMIC) == 0 ? SEAM_STATIC
			: plan->header.group_count == 0                     ? 0 /* none: see group_count */
									    : slot->group;
	}
}

/* A slot whose free is so many repetitions behind is live that often at the beginning of one. */
static void fill_live(struct seam_loaded_plan *loaded, uint32_t *live_at)
{
	uint32_t live = 0;
	for (uint32_t i = 0; i < loaded->slots; i++)
		live += loaded->lifetimes[i].end / loaded->positions;
	for (uint32_t p = 0; p < loaded->positions; p++) {
		live_at[p] = live;
		if (live < live_at[loaded->least_at])
			loaded->least_at = p;
		live = (loaded->actions[p] & 1) != 0 ? live - 1 : live + 1;
	}
}

static void fill_groups(const struct seam_plan *plan, struct seam_loaded_plan *loaded, const struct happening *list)
{
	const uint32_t positions = plan->header.positions;
	for (uint32_t g = 0; g < loaded->group_count; g++) {
		const struct seam_plan_group *group = &plan->groups[g];
		loaded->groups[g] = (struct seam_loaded_group){
			.begin = count_before(list, loaded->positions, group->begin),
			.end = group->end / positions * loaded->positions +
				count_before(list, loaded->positions, group->end % positions),
			.first_range = group->first_range,
			.range_count = group->range_count,
		};
	}
	for (uint32_t r = 0; r < loaded->range_count; r++) {
		loaded->ranges[r] = plan->ranges[r];
		loaded->bytes = seam__bits_max(loaded->bytes, loaded->ranges[r].end_bytes); /* idle above all slots */
	}
}

static enum seam_rc allocate(struct seam_meta *meta, struct seam_loaded_plan *loaded, uint32_t **ret_actions,
	struct seam_lifetime **ret_lifetimes, uint32_t **ret_live_at)
{
	uint32_t *actions = seam__meta_array(meta, loaded->positions, sizeof(*actions));
	struct seam_lifetime *lifetimes = seam__meta_array(meta, loaded->slots, sizeof(*lifetimes));
	uint32_t *live_at = seam__meta_array(meta, loaded->positions, sizeof(*live_at));
	loaded->actions = actions;
	loaded->lifetimes = lifetimes;
	loaded->live_at = live_at;
	if (loaded->group_count != 0)
		loaded->groups = seam__meta_array(meta, loaded->group_count, sizeof(*loaded->groups));
	if (loaded->range_count != 0)
		loaded->ranges = seam__meta_array(meta, loaded->range_count, sizeof(*loaded->ranges));
	*ret_actions = actions;
	*ret_lifetimes = lifetimes;
	*ret_live_at = live_at;
	const bool failed = actions == NULL || lifetimes == NULL || live_at == NULL ||
		(loaded->group_count != 0 && loaded->groups == NULL) ||
		(loaded->range_count != 0 && loaded->ranges == NULL);
	return failed ? SEAM_OOM_META : SEAM_OK;
}

enum seam_rc seam__loaded_count_positions(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_loaded_plan *loaded)
{
	uint32_t *actions, *live_at;
	struct seam_lifetime *lifetimes;
	loaded->positions = 2 * loaded->slots;
	loaded->group_count = plan->header.group_count;
	loaded->range_count = plan->header.range_count;
	struct happening *list = seam__meta_array(meta, loaded->positions, sizeof(*list));
	enum seam_rc rc = allocate(meta, loaded, &actions, &lifetimes, &live_at);
	if (list == NULL)
		rc = SEAM_OOM_META;
	if (rc == SEAM_OK) {
		for (uint32_t i = 0; i < loaded->slots; i++) {
			list[2 * i] = (struct happening){plan->slots[i].begin, 2 * i};
			list[2 * i + 1] = (struct happening){plan->slots[i].end % plan->header.positions, 2 * i + 1};
		}
		qsort(list, loaded->positions, sizeof(*list), compare_happenings);
		fill_lifetimes(plan, loaded, list, actions, lifetimes);
		fill_live(loaded, live_at);
		fill_groups(plan, loaded, list);
	}
	seam__meta_free(meta, list, loaded->positions * sizeof(*list));
	return rc;
}
