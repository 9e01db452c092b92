/* script_positions.c: positions counted anew, with one allocation or free on each; slots and groups on the circle. */
#include "script.h"

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
	if (a->position != b->position)
		return a->position < b->position ? -1 : 1;
	const uint32_t free_a = a->action & 1, free_b = b->action & 1;
	if (free_a != free_b)
		return free_a > free_b ? -1 : 1;
	return (a->action > b->action) - (a->action < b->action);
}

/* How many happenings lie before the plan's position: frees at it count, allocations at it do not. */
static uint32_t count_before(const struct happening *list, uint32_t count, uint32_t position)
{
	uint32_t low = 0, high = count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct happening *h = &list[middle];
		if (h->position < position || (h->position == position && (h->action & 1) != 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void fill_stretches(const struct seam_plan *plan, struct seam_script *script, const struct happening *list,
	uint32_t *actions, struct seam_stretch *stretches)
{
	const uint32_t positions = plan->header.positions;
	for (uint32_t p = 0; p < script->positions; p++) {
		const uint32_t slot = list[p].action >> 1;
		actions[p] = list[p].action;
		if ((list[p].action & 1) == 0)
			stretches[slot].begin = p;
	}
	for (uint32_t p = 0; p < script->positions; p++) {
		const uint32_t slot = list[p].action >> 1;
		if ((list[p].action & 1) == 0)
			continue;
		const uint32_t later = plan->slots[slot].end / positions;
		stretches[slot].end = later * script->positions + p;
		stretches[slot].lag = later % script->copies;
	}
	for (uint32_t i = 0; i < script->slots; i++) {
		const struct seam_plan_slot *slot = &plan->slots[i];
		stretches[i].group = (slot->flags & SEAM_PLAN_DYNAMIC) == 0 ? SEAM_STATIC
			: plan->header.group_count == 0                     ? SEAM_STATIC - 1
									    : slot->group;
	}
}

/* A slot whose free is so many repetitions behind is live that often at the beginning of one. */
static void fill_live(struct seam_script *script, uint32_t *live_at)
{
	uint32_t live = 0;
	for (uint32_t i = 0; i < script->slots; i++)
		live += script->stretches[i].end / script->positions;
	for (uint32_t p = 0; p < script->positions; p++) {
		live_at[p] = live;
		if (live < live_at[script->least_at])
			script->least_at = p;
		live = (script->actions[p] & 1) != 0 ? live - 1 : live + 1;
	}
}

static void fill_groups(const struct seam_plan *plan, struct seam_script *script, const struct happening *list)
{
	const uint32_t positions = plan->header.positions;
	for (uint32_t g = 0; g < script->group_count; g++) {
		const struct seam_plan_group *group = &plan->groups[g];
		script->groups[g] = (struct seam_script_group){
			.begin = count_before(list, script->positions, group->begin),
			.end = group->end / positions * script->positions +
				count_before(list, script->positions, group->end % positions),
			.first_range = group->first_range,
			.range_count = group->range_count,
		};
	}
	for (uint32_t r = 0; r < script->range_count; r++) {
		script->ranges[r] = plan->ranges[r];
		script->bytes = seam__bits_max(script->bytes, script->ranges[r].end_bytes); /* idle above all slots */
	}
}

static enum seam_rc allocate(struct seam_meta *meta, struct seam_script *script, uint32_t **ret_actions,
	struct seam_stretch **ret_stretches, uint32_t **ret_live_at)
{
	uint32_t *actions = seam__meta_array(meta, script->positions, sizeof(*actions));
	struct seam_stretch *stretches = seam__meta_array(meta, script->slots, sizeof(*stretches));
	uint32_t *live_at = seam__meta_array(meta, script->positions, sizeof(*live_at));
	script->actions = actions;
	script->stretches = stretches;
	script->live_at = live_at;
	if (script->group_count != 0)
		script->groups = seam__meta_array(meta, script->group_count, sizeof(*script->groups));
	if (script->range_count != 0)
		script->ranges = seam__meta_array(meta, script->range_count, sizeof(*script->ranges));
	*ret_actions = actions;
	*ret_stretches = stretches;
	*ret_live_at = live_at;
	const bool failed = actions == NULL || stretches == NULL || live_at == NULL ||
		(script->group_count != 0 && script->groups == NULL) ||
		(script->range_count != 0 && script->ranges == NULL);
	return failed ? SEAM_OOM_META : SEAM_OK;
}

enum seam_rc seam__script_count_positions(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_script *script)
{
	uint32_t *actions, *live_at;
	struct seam_stretch *stretches;
	script->positions = 2 * script->slots;
	script->group_count = plan->header.group_count;
	script->range_count = plan->header.range_count;
	struct happening *list = seam__meta_array(meta, script->positions, sizeof(*list));
	enum seam_rc rc = allocate(meta, script, &actions, &stretches, &live_at);
	if (list == NULL)
		rc = SEAM_OOM_META;
	if (rc == SEAM_OK) {
		for (uint32_t i = 0; i < script->slots; i++) {
			list[2 * i] = (struct happening){plan->slots[i].begin, 2 * i};
			list[2 * i + 1] = (struct happening){plan->slots[i].end % plan->header.positions, 2 * i + 1};
		}
		qsort(list, script->positions, sizeof(*list), compare_happenings);
		fill_stretches(plan, script, list, actions, stretches);
		fill_live(script, live_at);
		fill_groups(plan, script, list);
	}
	seam__meta_free(meta, list, script->positions * sizeof(*list));
	return rc;
}
