/* dynamic.c: see dynamic.h. */
#include "dynamic.h"

#include <stdlib.h>

#include "idle.h"
#include "region.h"

struct member {
	const struct seam_dynamic_request *request;
	uint32_t number;
};

/* Equal up to here: one group. */
static int compare_keys(const struct seam_dynamic_request *a, const struct seam_dynamic_request *b)
{
	const uint32_t left[] = {a->from, a->to, a->layer_begin, a->layer_end, a->stream};
	const uint32_t right[] = {b->from, b->to, b->layer_begin, b->layer_end, b->stream};

	for (size_t n = 0; n < sizeof(left) / sizeof(left[0]); n++)
		if (left[n] != right[n])
			return left[n] < right[n] ? -1 : 1;
	return 0;
}

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left;
	const struct member *b = right;
	int order = compare_keys(a->request, b->request);

	return order != 0 ? order : a->number < b->number ? -1 : a->number > b->number;
}

/* A change of what a group has live. */
struct change {
	uint64_t position;
	uint64_t bytes;
	bool ends;
};

/* Frees come first where positions are equal. */
static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left;
	const struct change *b = right;

	if (a->position != b->position)
		return a->position < b->position ? -1 : 1;
	return (int)b->ends - (int)a->ends;
}

/* Largest sum of sizes live at once among `count` members: over two turns of the circle, of which the second is as
 * always. */
static uint64_t live_bytes(const struct member *members, uint32_t count, uint64_t circle, struct change *changes)
{
	uint64_t live = 0;
	uint64_t most = 0;
	uint32_t n = 0;

	for (uint32_t turn = 0; turn < 2; turn++)
		for (uint32_t m = 0; m < count; m++) {
			const struct seam_dynamic_request *request = members[m].request;

			changes[n++] = (struct change){request->begin + turn * circle, request->size_bytes, false};
			changes[n++] = (struct change){request->end + turn * circle, request->size_bytes, true};
		}
	qsort(changes, n, sizeof(*changes), compare_changes);
	for (uint32_t c = 0; c < n; c++) {
		live = changes[c].ends ? live - changes[c].bytes : live + changes[c].bytes;
		most = live > most ? live : most;
	}
	return most;
}

static enum seam_rc add_copy(struct seam_dynamic *dynamic, struct seam_idle *idle,
	const struct seam_dynamic_request *request, struct seam_plan_group group)
{
	const struct seam_dynamic_space *space = idle->space;
	uint32_t period = space->problem->circle / space->copies;

	group.first_range = (uint32_t)dynamic->ranges.count;
	enum seam_rc rc = seam__idle_find(
		idle, group.begin + group.copy * period, group.end - group.begin, request->stream, &dynamic->ranges);
	if (rc != SEAM_OK)
		return rc;
	group.range_count = (uint32_t)dynamic->ranges.count - group.first_range;
	return seam__grow_append(&dynamic->groups, &group, 1);
}

static enum seam_rc add_group(struct seam_dynamic *dynamic, struct seam_idle *idle, const struct member *members,
	uint32_t count, struct change *changes)
{
	const struct seam_dynamic_request *head = members[0].request;
	uint32_t number = (uint32_t)dynamic->groups.count;
	struct seam_plan_group group = {
		.module_begin = head->layer_begin,
		.module_end = head->layer_end,
		.begin = head->from,
		.end = head->to,
		.planned_bytes = live_bytes(members, count, idle->space->problem->circle, changes),
		.slot_count = count,
	};
	enum seam_rc rc = SEAM_OK;

	for (uint32_t m = 0; m < count; m++)
		dynamic->group_of[members[m].number] = number;
	for (; group.copy < idle->space->copies && rc == SEAM_OK; group.copy++)
		rc = add_copy(dynamic, idle, head, group);
	return rc;
}

static enum seam_rc add_groups(
	struct seam_dynamic *dynamic, struct seam_idle *idle, const struct seam_dynamic_request *requests)
{
	struct seam_region *region = idle->space->problem->region;
	uint32_t count = dynamic->count;
	struct member *members = seam__region_array(region, count, sizeof(*members));
	struct change *changes = seam__region_array(region, (size_t)count * 4, sizeof(*changes));
	enum seam_rc rc = members == NULL || changes == NULL ? SEAM_OOM_META : SEAM_OK;

	for (uint32_t i = 0; i < count && rc == SEAM_OK; i++)
		members[i] = (struct member){.request = &requests[i], .number = i};
	if (rc == SEAM_OK)
		qsort(members, count, sizeof(*members), compare_members);
	for (uint32_t first = 0, next; first < count && rc == SEAM_OK; first = next) {
		for (next = first + 1; next < count && compare_keys(members[first].request, members[next].request) == 0;
			next++)
			continue;
		rc = add_group(dynamic, idle, members + first, next - first, changes);
	}
	return rc;
}

enum seam_rc seam__dynamic_init(const struct seam_dynamic_space *space, const struct seam_dynamic_request *requests,
	uint32_t count, struct seam_dynamic *ret_dynamic)
{
	struct seam_dynamic made = {
		.count = count, .group_of = seam__region_array(space->problem->region, count, sizeof(*made.group_of))};
	struct seam_idle idle;
	enum seam_rc rc = made.group_of != NULL ? seam__idle_init(&idle, space) : SEAM_OOM_META;

	seam__grow_init(&made.groups, sizeof(struct seam_plan_group));
	seam__grow_init(&made.ranges, sizeof(struct seam_plan_range));
	if (rc == SEAM_OK)
		rc = add_groups(&made, &idle, requests);
	if (rc == SEAM_OK)
		*ret_dynamic = made;
	else
		seam__dynamic_fini(&made);
	return rc;
}

void seam__dynamic_fini(struct seam_dynamic *dynamic)
{
	seam__grow_fini(&dynamic->ranges);
	seam__grow_fini(&dynamic->groups);
	*dynamic = (struct seam_dynamic){0};
}

static const char *check_group(
	const struct seam_dynamic *dynamic, const struct seam_dynamic_space *space, const struct seam_plan_group *group)
{
	const struct seam_plan_range *ranges = dynamic->ranges.items;
	uint64_t below = 0;

	for (uint32_t n = group->first_range; n < group->first_range + group->range_count; n++) {
		if (ranges[n].begin_bytes >= ranges[n].end_bytes || ranges[n].end_bytes > space->arena_bytes ||
			(n > group->first_range && ranges[n].begin_bytes <= below))
			return "Y3 ranges";
		below = ranges[n].end_bytes;
	}
	return NULL;
}

const char *seam__dynamic_check(const struct seam_dynamic *dynamic, const struct seam_dynamic_space *space,
	const struct seam_dynamic_request *requests)
{
	const struct seam_plan_group *groups = dynamic->groups.items;
	const char *broken = NULL;

	for (size_t g = 0; g < dynamic->groups.count && broken == NULL; g++) {
		if (groups[g].copy != g % space->copies ||
			(g >= space->copies && groups[g].begin < groups[g - space->copies].begin))
			return "Y1 order";
		broken = check_group(dynamic, space, &groups[g]);
	}
	for (uint32_t i = 0; i < dynamic->count && broken == NULL; i++) {
		const struct seam_plan_group *group = &groups[dynamic->group_of[i]];

		if (requests[i].begin < group->begin || requests[i].end > group->end || group->copy != 0)
			broken = "Y2 request outside";
	}
	return broken;
}
