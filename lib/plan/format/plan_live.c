/* plan_live.c: the invariant L5 of a plan: what lives together lies apart.
 *
 * One turn around the circle of all copies, slot by slot. Slots that cross its end are there from the start. A map has
 * the last slot and copy of every byte of the arena: that must have ended when another begins there. The ranges of
 * groups that are open stand in a second map, as counts: no slot may begin on them or be on them when the group opens.
 *
 * Slots of different streams that follow each other are judged with the trace (verify.h), not here.
 * The plan holds L0-L4. O(n log n) in slots * copies. No locks.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "bytemap.h"
#include "meta.h"
#include "plan_format.h"
#include "trace_error.h"

#define TURNS_EACH 3u /* of a group: one that crosses the end opens twice */

/* A group opens or closes. */
struct turn {
	uint64_t at; /* position on the circle */
	bool opens;  /* at one position what closes comes first */
	uint32_t group;
};

struct sweep {
	const struct seam_plan *plan;
	struct seam_trace_error *error;
	uint64_t circle;
	struct turn *turns; /* in order; the first `done` have been done */
	size_t count;
	size_t done;
	struct seam_bytemap last;   /* bytes -> slot * copies + copy */
	struct seam_bytemap ranges; /* bytes of open groups: how many groups */
};

static int compare_turns(const void *left, const void *right)
{
	const struct turn *a = left;
	const struct turn *b = right;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->opens != b->opens)
		return a->opens ? 1 : -1;
	return (a->group > b->group) - (a->group < b->group);
}

/* Is that slot's block, which had some bytes last, live at `position`? One that has not begun there yet is that of the
 * turn before, which crosses the end. */
static bool is_live(const struct sweep *sweep, uint64_t number, uint64_t position)
{
	const struct seam_plan_header *header = &sweep->plan->header;
	const struct seam_plan_slot *slot = &sweep->plan->slots[number / header->copies];
	const uint64_t base = number % header->copies * header->positions;
	return base + slot->end > position + (base + slot->begin <= position ? 0 : sweep->circle);
}

/* The first piece of [begin, end) whose slot, which is another than `but`, is live at `position`. */
static const struct seam_byte_piece *find_live(
	struct sweep *sweep, uint64_t begin, uint64_t end, uint64_t position, uint64_t but)
{
	struct seam_byte_piece *piece = seam__bytemap_find(&sweep->last, begin, end);
	while (piece != NULL && (piece->number == but || !is_live(sweep, piece->number, position)))
		piece = seam__bytemap_next(piece, end);
	return piece;
}

static enum seam_rc report_overlap(const struct sweep *sweep, uint64_t number, uint64_t holder, uint64_t byte)
{
	const uint32_t copies = sweep->plan->header.copies;
	seam__trace_error_set(sweep->error, number / copies,
		"slots %u (copy %u) and %u (copy %u) live together and share byte %llu (L5)",
		(uint32_t)(holder / copies), (uint32_t)(holder % copies), (uint32_t)(number / copies),
		(uint32_t)(number % copies), (unsigned long long)byte);
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

static enum seam_rc begin_slot(struct sweep *sweep, uint64_t number, uint64_t position)
{
	const uint32_t slot = (uint32_t)(number / sweep->plan->header.copies);
	const uint64_t begin = sweep->plan->offsets[number];
	const uint64_t end = begin + sweep->plan->slots[slot].size_bytes;
	const struct seam_byte_piece *other = find_live(sweep, begin, end, position, number);
	if (other != NULL)
		return report_overlap(sweep, number, other->number, other->begin > begin ? other->begin : begin);
	other = seam__bytemap_find(&sweep->ranges, begin, end);
	if (other != NULL)
		return report_range(sweep, "slot", slot, other->begin > begin ? other->begin : begin);
	return seam__bytemap_set(&sweep->last, begin, end, number);
}

static enum seam_rc turn_group(struct sweep *sweep, const struct turn *turn)
{
	const struct seam_plan_group *group = &sweep->plan->groups[turn->group];
	enum seam_rc rc = SEAM_OK;
	for (uint32_t i = 0; rc == SEAM_OK && i < group->range_count; i++) {
		const struct seam_plan_range *range = &sweep->plan->ranges[group->first_range + i];
		const uint64_t begin = range->begin_bytes;
		const struct seam_byte_piece *slot =
			turn->opens ? find_live(sweep, begin, range->end_bytes, turn->at, UINT64_MAX) : NULL;
		if (slot != NULL)
			return report_range(sweep, "group", turn->group, slot->begin > begin ? slot->begin : begin);
		rc = turn->opens ? seam__bytemap_raise(&sweep->ranges, begin, range->end_bytes)
				 : seam__bytemap_lower(&sweep->ranges, begin, range->end_bytes);
	}
	return rc;
}

/* The groups that open and close up to `position`. */
static enum seam_rc advance(struct sweep *sweep, uint64_t position)
{
	enum seam_rc rc = SEAM_OK;
	while (rc == SEAM_OK && sweep->done < sweep->count && sweep->turns[sweep->done].at <= position)
		rc = turn_group(sweep, &sweep->turns[sweep->done++]);
	return rc;
}

static void list_groups(struct sweep *sweep)
{
	const struct seam_plan *plan = sweep->plan;
	for (uint32_t i = 0; i < plan->header.group_count; i++) {
		const uint64_t base = (uint64_t)plan->groups[i].copy * plan->header.positions;
		const uint64_t end = base + plan->groups[i].end;
		const bool crosses = end > sweep->circle;
		if (crosses)
			sweep->turns[sweep->count++] = (struct turn){.opens = true, .group = i};
		sweep->turns[sweep->count++] = (struct turn){.at = crosses ? end - sweep->circle : end, .group = i};
		sweep->turns[sweep->count++] =
			(struct turn){.at = base + plan->groups[i].begin, .opens = true, .group = i};
	}
	qsort(sweep->turns, sweep->count, sizeof(*sweep->turns), compare_turns);
}

/* All slots with a place; or only those that cross the end of the circle, at its beginning. */
static enum seam_rc begin_slots(struct sweep *sweep, bool crossing)
{
	const struct seam_plan *plan = sweep->plan;
	const struct seam_plan_header *header = &plan->header;
	enum seam_rc rc = SEAM_OK;
	if (header->slot_count == 0) /* copies may be any number then */
		return SEAM_OK;
	for (uint32_t copy = 0; rc == SEAM_OK && copy < header->copies; copy++) {
		const uint64_t base = (uint64_t)copy * header->positions;
		for (uint32_t i = 0; rc == SEAM_OK && i < header->slot_count; i++) {
			if (crossing && base + plan->slots[i].end <= sweep->circle)
				continue;
			if (!crossing)
				rc = advance(sweep, base + plan->slots[i].begin);
			if (rc == SEAM_OK && (plan->slots[i].flags & SEAM_PLAN_DYNAMIC) == 0)
				rc = begin_slot(sweep, (uint64_t)i * header->copies + copy,
					crossing ? 0 : base + plan->slots[i].begin);
		}
	}
	return rc;
}

enum seam_rc seam__plan_check_live(const struct seam_plan *plan, struct seam_trace_error *error)
{
	const struct seam_plan_header *header = &plan->header;
	const size_t most = (size_t)header->group_count * TURNS_EACH + 1;
	struct sweep sweep = {
		.plan = plan,
		.error = error,
		.circle = (uint64_t)header->copies * header->positions,
		.turns = seam__meta_array(seam__meta_process(), most, sizeof(struct turn)),
	};
	if (sweep.turns == NULL)
		return SEAM_OOM_META;
	seam__bytemap_init(&sweep.last, seam__meta_process());
	seam__bytemap_init(&sweep.ranges, seam__meta_process());
	list_groups(&sweep);
	enum seam_rc rc = begin_slots(&sweep, true);
	if (rc == SEAM_OK)
		rc = begin_slots(&sweep, false);
	if (rc == SEAM_OK)
		rc = advance(&sweep, sweep.circle);
	seam__bytemap_fini(&sweep.ranges);
	seam__bytemap_fini(&sweep.last);
	seam__meta_free(seam__meta_process(), sweep.turns, most * sizeof(struct turn));
	return rc;
}
