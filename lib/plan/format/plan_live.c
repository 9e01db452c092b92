/* plan_live.c: the invariant L5 of a plan: what lives together lies apart.
 *
 * One turn around the circle of all copies. Slots that cross its end are there from the start. Live slots stand in a
 * tree by their end and in a map of the arena's bytes; what begins must find its bytes unheld. The ranges of groups
 * that are open stand in a second map, as counts: no slot may begin on them or be on them when the group opens.
 *
 * Slots of different streams that follow each other are judged with the trace (verify.h), not here.
 * The plan holds L0-L4. O(n log n) in slots * copies. No locks.
 */
#include <stdbool.h>

#include "bytemap.h"
#include "check.h"
#include "meta.h"
#include "plan_format.h"
#include "trace_error.h"

/* A slot of one copy, or a group, while it is open; or a group that is not yet. */
struct user {
	RB_ENTRY(user) link;
	uint64_t end; /* position on the circle at which it ends, above it for what crosses its end; or, of a group that
		       * waits, at which it begins */
	uint32_t number; /* of the slot or group */
	uint32_t copy;
	bool is_group;
};

SEAM_TREE_HEAD(user_tree, struct user);

struct sweep {
	const struct seam_plan *plan;
	struct seam_trace_error *error;
	uint64_t circle;
	struct user_tree open;    /* by end */
	struct user_tree waiting; /* groups that have not begun, by begin */
	struct seam_slab users;
	struct seam_bytemap held;   /* bytes of live slots: slot * copies + copy */
	struct seam_bytemap ranges; /* bytes of open groups: how many groups */
};

/* Ties by what it is, for a tree has no equals. */
static int compare_users(const struct user *a, const struct user *b)
{
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	if (a->is_group != b->is_group)
		return a->is_group ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return (a->copy > b->copy) - (a->copy < b->copy);
}

SEAM_TREE_GENERATE(user_tree, user, link, compare_users)

static enum seam_rc report_overlap(
	const struct sweep *sweep, uint32_t slot, uint32_t copy, uint64_t holder, uint64_t byte)
{
	const uint32_t copies = sweep->plan->header.copies;
	seam__trace_error_set(sweep->error, slot,
		"slots %u (copy %u) and %u (copy %u) live together and share byte %llu (L5)",
		(uint32_t)(holder / copies), (uint32_t)(holder % copies), slot, copy, (unsigned long long)byte);
	return SEAM_CORRUPT;
}

static enum seam_rc report_range(const struct sweep *sweep, const char *what, uint32_t number, uint64_t byte)
{
	seam__trace_error_set(sweep->error, number,
		"%s %u: a slot lives on byte %llu of a group's reusable range "
		"(L5)",
		what, number, (unsigned long long)byte);
	return SEAM_CORRUPT;
}

static enum seam_rc hold_slot(struct sweep *sweep, uint32_t slot, uint32_t copy)
{
	const uint64_t holder = (uint64_t)slot * sweep->plan->header.copies + copy;
	const uint64_t begin = sweep->plan->offsets[holder];
	const uint64_t end = begin + sweep->plan->slots[slot].size_bytes;
	const struct seam_byte_piece *other = seam__bytemap_find(&sweep->held, begin, end);
	if (other != NULL)
		return report_overlap(sweep, slot, copy, other->number, other->begin > begin ? other->begin : begin);
	other = seam__bytemap_find(&sweep->ranges, begin, end);
	if (other != NULL)
		return report_range(sweep, "slot", slot, other->begin > begin ? other->begin : begin);
	return seam__bytemap_set(&sweep->held, begin, end, holder);
}

static enum seam_rc leave_slot(struct sweep *sweep, uint32_t slot, uint32_t copy)
{
	const uint64_t begin = sweep->plan->offsets[(uint64_t)slot * sweep->plan->header.copies + copy];
	return seam__bytemap_clear(&sweep->held, begin, begin + sweep->plan->slots[slot].size_bytes);
}

static enum seam_rc open_group(struct sweep *sweep, uint32_t number, bool opens)
{
	const struct seam_plan_group *group = &sweep->plan->groups[number];
	for (uint32_t i = 0; i < group->range_count; i++) {
		const struct seam_plan_range *range = &sweep->plan->ranges[group->first_range + i];
		const struct seam_byte_piece *slot =
			seam__bytemap_find(&sweep->held, range->begin_bytes, range->end_bytes);
		if (opens && slot != NULL)
			return report_range(sweep, "group", number,
				slot->begin > range->begin_bytes ? slot->begin : range->begin_bytes);
		enum seam_rc rc = opens ? seam__bytemap_raise(&sweep->ranges, range->begin_bytes, range->end_bytes)
					: seam__bytemap_lower(&sweep->ranges, range->begin_bytes, range->end_bytes);
		if (rc != SEAM_OK)
			return rc;
	}
	return SEAM_OK;
}

/* `end`: as in struct user. */
static enum seam_rc open_user(struct sweep *sweep, bool is_group, uint32_t number, uint32_t copy, uint64_t end)
{
	struct user *user = seam__slab_get(&sweep->users);
	if (user == NULL)
		return SEAM_OOM_META;
	*user = (struct user){.end = end, .number = number, .copy = copy, .is_group = is_group};
	struct user *twin = RB_INSERT(user_tree, &sweep->open, user);
	SEAM_ASSERT(twin == NULL);
	(void)twin;
	return is_group ? open_group(sweep, number, true) : hold_slot(sweep, number, copy);
}

static enum seam_rc close_until(struct sweep *sweep, uint64_t position)
{
	struct user *user;
	enum seam_rc rc = SEAM_OK;
	while (rc == SEAM_OK && (user = RB_MIN(user_tree, &sweep->open)) != NULL && user->end <= position) {
		(void)RB_REMOVE(user_tree, &sweep->open, user);
		rc = user->is_group ? open_group(sweep, user->number, false)
				    : leave_slot(sweep, user->number, user->copy);
		seam__slab_put(&sweep->users, user);
	}
	return rc;
}

static enum seam_rc wait_group(struct sweep *sweep, uint32_t number)
{
	const struct seam_plan_group *group = &sweep->plan->groups[number];
	struct user *user = seam__slab_get(&sweep->users);
	if (user == NULL)
		return SEAM_OOM_META;
	const uint64_t begin = (uint64_t)group->copy * sweep->plan->header.positions + group->begin;
	*user = (struct user){.end = begin, .number = number, .copy = group->copy, .is_group = true};
	(void)RB_INSERT(user_tree, &sweep->waiting, user);
	return SEAM_OK;
}

/* Slots and groups that cross the end of the circle are there at its beginning. */
static enum seam_rc open_crossing(struct sweep *sweep)
{
	const struct seam_plan *plan = sweep->plan;
	const struct seam_plan_header *header = &plan->header;
	enum seam_rc rc = SEAM_OK;
	for (uint32_t i = 0; rc == SEAM_OK && i < header->slot_count; i++) {
		for (uint32_t copy = 0; rc == SEAM_OK && copy < header->copies; copy++) {
			const uint64_t end = (uint64_t)copy * header->positions + plan->slots[i].end;
			if ((plan->slots[i].flags & SEAM_PLAN_DYNAMIC) == 0 && end > sweep->circle)
				rc = open_user(sweep, false, i, copy, end - sweep->circle);
		}
	}
	for (uint32_t i = 0; rc == SEAM_OK && i < header->group_count; i++) {
		const uint64_t end = (uint64_t)plan->groups[i].copy * header->positions + plan->groups[i].end;
		if (end > sweep->circle)
			rc = open_user(sweep, true, i, plan->groups[i].copy, end - sweep->circle);
		if (rc == SEAM_OK)
			rc = wait_group(sweep, i);
	}
	return rc;
}

/* Closes what ends up to `position`, and opens the groups that begin up to it. */
static enum seam_rc advance(struct sweep *sweep, uint64_t position)
{
	const struct seam_plan *plan = sweep->plan;
	struct user *group;
	enum seam_rc rc = SEAM_OK;
	while (rc == SEAM_OK && (group = RB_MIN(user_tree, &sweep->waiting)) != NULL && group->end <= position) {
		const uint32_t number = group->number;
		(void)RB_REMOVE(user_tree, &sweep->waiting, group);
		rc = close_until(sweep, group->end);
		seam__slab_put(&sweep->users, group);
		const uint64_t base = (uint64_t)plan->groups[number].copy * plan->header.positions;
		if (rc == SEAM_OK)
			rc = open_user(sweep, true, number, plan->groups[number].copy, base + plan->groups[number].end);
	}
	return rc == SEAM_OK ? close_until(sweep, position) : rc;
}

static enum seam_rc turn(struct sweep *sweep)
{
	const struct seam_plan *plan = sweep->plan;
	enum seam_rc rc = open_crossing(sweep);
	if (plan->header.slot_count == 0) /* copies may be any number then */
		return rc == SEAM_OK ? advance(sweep, sweep->circle) : rc;
	for (uint32_t copy = 0; rc == SEAM_OK && copy < plan->header.copies; copy++) {
		const uint64_t base = (uint64_t)copy * plan->header.positions;
		for (uint32_t i = 0; rc == SEAM_OK && i < plan->header.slot_count; i++) {
			const struct seam_plan_slot *slot = &plan->slots[i];
			rc = advance(sweep, base + slot->begin);
			if (rc == SEAM_OK && (slot->flags & SEAM_PLAN_DYNAMIC) == 0)
				rc = open_user(sweep, false, i, copy, base + slot->end);
		}
	}
	return rc == SEAM_OK ? advance(sweep, sweep->circle) : rc;
}

enum seam_rc seam__plan_check_live(const struct seam_plan *plan, struct seam_trace_error *error)
{
	struct sweep sweep = {
		.plan = plan,
		.error = error,
		.circle = (uint64_t)plan->header.copies * plan->header.positions,
	};
	RB_INIT(&sweep.open);
	RB_INIT(&sweep.waiting);
	seam__slab_init(&sweep.users, seam__meta_process(), sizeof(struct user));
	seam__bytemap_init(&sweep.held, seam__meta_process());
	seam__bytemap_init(&sweep.ranges, seam__meta_process());
	enum seam_rc rc = turn(&sweep);
	seam__bytemap_fini(&sweep.ranges);
	seam__bytemap_fini(&sweep.held);
	(void)seam__slab_fini(&sweep.users); /* what is open still goes with its slabs */
	return rc;
}
