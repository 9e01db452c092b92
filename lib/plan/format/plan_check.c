/* plan_check.c: the invariants L0-L4 of a plan (seam/plan.h), section by section.
 *
 * Not here: L5 (plan_live.c); the header's sizes and checksums (plan_format.c).
 * A plan from a damaged or hostile file may hold anything: every number is judged before it is used.
 * No locks: it reads an immutable plan.
 */
#include <stdbool.h>

#include "bits.h"
#include "meta.h"
#include "plan_format.h"
#include "strings.h"
#include "trace_error.h"

#define ADDRESS_LIMIT ((uint64_t)1 << 62)

struct checker {
	const struct seam_plan *plan;
	struct seam_trace_error *error; /* may be NULL */
	const char *broken;             /* name of the first broken invariant; NULL so far */
	uint64_t *group_slots;          /* how many slots name each group */
};

static bool fail(struct checker *checker, const char *name, const char *record, uint64_t index, const char *what)
{
	checker->broken = name;
	seam__trace_error_set(checker->error, index, "%s %llu: %s (%s)", record, (unsigned long long)index, what, name);
	return false;
}

static bool fail_header(struct checker *checker, const char *name, const char *what)
{
	checker->broken = name;
	seam__trace_error_set(checker->error, 0, "plan: %s (%s)", what, name);
	return false;
}

static bool is_string(const struct checker *checker, uint32_t offset)
{
	return seam__strings_begins(checker->plan->strings, checker->plan->header.string_bytes, offset);
}

/* Nothing of the sections is read before. */
static bool check_whole(struct checker *checker)
{
	const struct seam_plan *plan = checker->plan;
	const struct seam_plan_header *header = &plan->header;
	if (!seam__plan_is_sealed(header))
		return fail_header(checker, "L0", "its header is not as it was made, or not one of this version");
	if ((header->slot_count != 0 && (plan->slots == NULL || plan->offsets == NULL)) ||
		(header->stream_count != 0 && plan->streams == NULL) ||
		(header->wait_count != 0 && plan->waits == NULL) ||
		(header->group_count != 0 && plan->groups == NULL) ||
		(header->range_count != 0 && plan->ranges == NULL) ||
		(header->prologue_count != 0 && plan->prologue == NULL) ||
		(header->string_bytes != 0 && plan->strings == NULL))
		return fail_header(checker, "L0", "an array that its header counts is not there");
	return true;
}

static bool check_sizes(struct checker *checker)
{
	const struct seam_plan_header *header = &checker->plan->header;
	if (!seam__bits_is_pow2(header->align_bytes))
		return fail_header(checker, "L1", "the alignment is no power of two");
	if (header->chunk_bytes == 0 || header->chunk_bytes > ADDRESS_LIMIT || header->arena_bytes > ADDRESS_LIMIT)
		return fail_header(checker, "L1", "the chunk has no bytes, or it or the arena more than 2^62");
	if (header->resident_bytes > ADDRESS_LIMIT)
		return fail_header(checker, "L1", "its residents have more than 2^62 bytes");
	if (header->lower_bound_bytes > header->arena_bytes)
		return fail_header(checker, "L1", "the arena is smaller than its lower bound");
	if ((header->flags & SEAM_PLAN_OPTIMAL) != 0 && header->lower_bound_bytes != header->arena_bytes)
		return fail_header(checker, "L1", "it says that it is optimal, and is not at the lower bound");
	if ((header->flags & ~SEAM_PLAN_FLAGS) != 0)
		return fail_header(checker, "L3", "unknown flag");
	if (header->reserved_backing != 0)
		return fail_header(checker, "L3", "it is stitched, as an earlier release made plans");
	for (size_t i = 0; i < sizeof(header->reserved); i++) {
		if (header->reserved[i] != 0)
			return fail_header(checker, "L3", "reserved bytes of the header are not 0");
	}
	return true;
}

static bool check_shape(struct checker *checker)
{
	const struct seam_plan_header *header = &checker->plan->header;
	if (header->copies == 0 || ((header->flags & SEAM_PLAN_LINEAR) != 0 && header->copies != 1))
		return fail_header(checker, "L2", "it has no copies, or is linear and has several");
	if (header->first_event > header->last_event)
		return fail_header(checker, "L3", "its stretch of events ends before it begins");
	if (header->group_count % header->copies != 0)
		return fail_header(checker, "L3", "a group is not there for every copy");
	const char *strings = checker->plan->strings;
	if (header->string_bytes == 0 || strings[0] != '\0' || strings[header->string_bytes - 1] != '\0' ||
		!is_string(checker, header->solver))
		return fail_header(checker, "L3",
			"the strings do not begin with an empty one, do not end, or the solver is "
			"none of them");
	return true;
}

static bool check_interval(struct checker *checker, const char *record, uint64_t index, uint32_t begin, uint32_t end)
{
	const struct seam_plan_header *header = &checker->plan->header;
	const uint64_t circle = (uint64_t)header->copies * header->positions;
	if (begin >= header->positions || end <= begin || end - begin > circle)
		return fail(checker, "L2", record, index,
			"its positions are not in order, or not in the period and its copies");
	if ((header->flags & SEAM_PLAN_LINEAR) != 0 && end > header->positions)
		return fail(checker, "L2", record, index, "it ends behind the end of a linear plan");
	return true;
}

static bool check_addresses(struct checker *checker, uint32_t index)
{
	const struct seam_plan_header *header = &checker->plan->header;
	const struct seam_plan_slot *slot = &checker->plan->slots[index];
	const uint64_t *offsets = &checker->plan->offsets[(uint64_t)index * header->copies];
	const bool dynamic = (slot->flags & SEAM_PLAN_DYNAMIC) != 0;
	if (slot->size_bytes == 0)
		return fail(checker, "L1", "slot", index, "it has no bytes");
	for (uint32_t copy = 0; copy < header->copies; copy++) {
		const uint64_t offset = offsets[copy];
		if (dynamic && offset != SEAM_PLAN_NO_ADDRESS)
			return fail(checker, "L1", "slot", index, "it is dynamic and has an address");
		if (!dynamic &&
			(slot->size_bytes > header->arena_bytes || offset > header->arena_bytes - slot->size_bytes))
			return fail(checker, "L1", "slot", index, "it reaches out of the arena");
		if (!dynamic && !seam__bits_is_aligned(offset, header->align_bytes))
			return fail(checker, "L1", "slot", index, "its address is not aligned");
	}
	return true;
}

static bool check_slot(struct checker *checker, uint32_t index)
{
	const struct seam_plan *plan = checker->plan;
	const struct seam_plan_slot *slot = &plan->slots[index];
	const bool in_graph = (plan->header.flags & SEAM_PLAN_GRAPH) != 0;
	if (!check_interval(checker, "slot", index, slot->begin, slot->end))
		return false;
	if (index > 0 && (in_graph ? slot->begin < slot[-1].begin : slot->begin <= slot[-1].begin))
		return fail(checker, "L2", "slot", index, "it does not begin behind the one before it");
	if (!check_addresses(checker, index))
		return false;
	if ((slot->flags & ~SEAM_PLAN_SLOT_FLAGS) != 0 || slot->reserved != 0)
		return fail(checker, "L3", "slot", index, "unknown flag, or reserved bytes that are not 0");
	if (slot->stream >= plan->header.stream_count)
		return fail(checker, "L3", "slot", index, "its stream does not exist");
	if (!is_string(checker, slot->module) || !is_string(checker, slot->phase_begin) ||
		!is_string(checker, slot->phase_end))
		return fail(checker, "L3", "slot", index, "its module or phase is no string");
	if ((slot->flags & SEAM_PLAN_DYNAMIC) == 0)
		return slot->group == 0 || fail(checker, "L3", "slot", index, "it is in a group and not dynamic");
	if (plan->header.group_count == 0 && slot->group == 0)
		return true;
	if (slot->group >= plan->header.group_count || slot->group % plan->header.copies != 0)
		return fail(checker, "L3", "slot", index, "its group does not exist, or is not one of copy 0");
	checker->group_slots[slot->group]++;
	return true;
}

static bool check_wait(struct checker *checker, uint32_t index)
{
	const struct seam_plan *plan = checker->plan;
	const struct seam_plan_wait *wait = &plan->waits[index];
	const bool linear = (plan->header.flags & SEAM_PLAN_LINEAR) != 0;
	if (wait->waited >= plan->header.slot_count || wait->waiter >= plan->header.slot_count)
		return fail(checker, "L3", "wait", index, "one of its slots does not exist");
	if (wait->lag > (linear ? 0 : plan->header.copies) || wait->reserved0 != 0 || wait->reserved1 != 0 ||
		wait->reserved2 != 0)
		return fail(checker, "L3", "wait", index, "its lag is above the copies, or reserved bytes are not 0");
	const uint64_t waiter_at = plan->slots[wait->waiter].begin + (uint64_t)wait->lag * plan->header.positions;
	if (plan->slots[wait->waited].end > waiter_at)
		return fail(checker, "L3", "wait", index, "what it waits for has not ended by then");
	return true;
}

static bool check_group(struct checker *checker, uint32_t index)
{
	const struct seam_plan *plan = checker->plan;
	const struct seam_plan_header *header = &plan->header;
	const struct seam_plan_group *group = &plan->groups[index];
	if (!check_interval(checker, "group", index, group->begin, group->end))
		return false;
	if (group->copy != index % header->copies || group->reserved != 0)
		return fail(checker, "L3", "group", index,
			"it is of another copy than its place, or reserved bytes are not 0");
	if (!is_string(checker, group->module_begin) || !is_string(checker, group->module_end))
		return fail(checker, "L3", "group", index, "a module of it is no string");
	if (group->slot_count != checker->group_slots[index - group->copy])
		return fail(checker, "L3", "group", index, "it counts other slots than belong to it");
	if (group->first_range > header->range_count || group->range_count > header->range_count - group->first_range)
		return fail(checker, "L3", "group", index, "its ranges do not exist");
	for (uint32_t i = 1; i < group->range_count; i++) {
		const struct seam_plan_range *range = &plan->ranges[group->first_range + i];
		if (range->begin_bytes <= range[-1].end_bytes)
			return fail(checker, "L3", "group", index, "its ranges do not ascend without touching");
	}
	return true;
}

static bool check_range(struct checker *checker, uint32_t index)
{
	const struct seam_plan_range *range = &checker->plan->ranges[index];
	if (range->begin_bytes >= range->end_bytes || range->end_bytes > checker->plan->header.arena_bytes)
		return fail(checker, "L3", "range", index, "it is empty, or reaches out of the arena");
	return true;
}

static bool check_prologue(struct checker *checker)
{
	const struct seam_plan_header *header = &checker->plan->header;
	uint64_t left_bytes = header->resident_bytes;
	if (header->prologue_count != 0 && (header->flags & SEAM_PLAN_LINEAR) != 0)
		return fail_header(checker, "L3", "it is linear and has a prologue");
	for (uint32_t i = 0; i < header->prologue_count; i++) {
		const struct seam_plan_prologue *request = &checker->plan->prologue[i];
		if (request->size_bytes == 0)
			return fail(checker, "L1", "prologue", i, "it has no bytes");
		const bool stays = (request->flags & SEAM_PLAN_STAYS) != 0;
		if ((request->flags & ~SEAM_PLAN_PROLOGUE_FLAGS) != 0)
			return fail(checker, "L3", "prologue", i, "unknown flag");
		if (stays && (request->flags & SEAM_PLAN_DYNAMIC) != 0)
			return fail(checker, "L3", "prologue", i, "its size depends on data, and it stays");
		if (request->slot != SEAM_PLAN_NO_SLOT && (stays || request->slot >= header->slot_count))
			return fail(checker, "L3", "prologue", i, "its slot does not exist, or it stays and has one");
		if (stays && request->size_bytes > left_bytes)
			return fail(checker, "L3", "prologue", i, "more stays than the plan's residents");
		left_bytes -= stays ? request->size_bytes : 0;
	}
	return true;
}

static bool check_records(struct checker *checker)
{
	const struct seam_plan_header *header = &checker->plan->header;
	bool good = check_whole(checker) && check_sizes(checker) && check_shape(checker) && check_prologue(checker);
	for (uint32_t i = 0; good && i < header->slot_count; i++)
		good = check_slot(checker, i);
	for (uint32_t i = 0; good && i < header->wait_count; i++)
		good = check_wait(checker, i);
	for (uint32_t i = 0; good && i < header->range_count; i++)
		good = check_range(checker, i);
	for (uint32_t i = 0; good && i < header->group_count; i++)
		good = check_group(checker, i);
	return good;
}

static bool check_chunks(struct checker *checker)
{
	const struct seam_plan_header *header = &checker->plan->header;
	if (seam__bits_div_up(header->lower_bound_bytes, header->chunk_bytes) != header->lower_bound_chunks)
		return fail_header(checker, "L4", "the lower bound in chunks is not that in bytes");
	if (seam__bits_div_up(header->arena_bytes, header->chunk_bytes) != header->arena_chunks)
		return fail_header(checker, "L4", "the arena in chunks is not that in bytes");
	return true;
}

enum seam_rc seam__plan_check_records(
	const struct seam_plan *plan, struct seam_trace_error *error, const char **ret_broken)
{
	const size_t groups = (seam__plan_is_sealed(&plan->header) ? plan->header.group_count : 0) + (size_t)1;
	struct checker checker = {.plan = plan, .error = error};
	enum seam_rc rc = SEAM_OOM_META;
	checker.group_slots = seam__meta_array(seam__meta_process(), groups, sizeof(uint64_t));
	if (checker.group_slots != NULL)
		rc = check_records(&checker) && check_chunks(&checker) ? SEAM_OK : SEAM_CORRUPT;
	seam__meta_free(seam__meta_process(), checker.group_slots, groups * sizeof(uint64_t));
	if (rc == SEAM_CORRUPT)
		*ret_broken = checker.broken;
	else if (rc != SEAM_OK)
		(void)seam__trace_error_rc(error, rc);
	return rc;
}

enum seam_rc seam__plan_check(const struct seam_plan *plan, struct seam_trace_error *error, const char **ret_broken)
{
	enum seam_rc rc = seam__plan_check_records(plan, error, ret_broken);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__plan_check_live(plan, error);
	if (rc == SEAM_CORRUPT)
		*ret_broken = "L5";
	else if (rc != SEAM_OK)
		(void)seam__trace_error_rc(error, rc);
	return rc;
}

const char *seam_plan_check(const struct seam_plan *plan, struct seam_trace_error *error)
{
	const char *broken = NULL;
	enum seam_rc rc =
		plan != NULL ? seam__plan_check(plan, error, &broken) : seam__trace_error_rc(error, SEAM_INVALID);
	if (rc == SEAM_OK)
		return NULL;
	return broken != NULL ? broken : rc == SEAM_INVALID ? "no plan" : "host memory for the check";
}
