/* plan_assembly.c: see plan_assembly.h. */
#include "plan_assembly.h"

#include "meta.h"
#include "region.h"

static enum seam_rc add_string(
	struct seam_plan_builder *builder, const struct seam_trace *trace, uint32_t offset, uint32_t *ret_offset)
{
	*ret_offset = 0;
	return offset == 0 ? SEAM_OK : seam__plan_builder_string(builder, seam_trace_string(trace, offset), ret_offset);
}

static enum seam_rc name_slot(struct seam_plan_builder *builder, const struct seam_trace *trace,
	const struct seam_traced_request *request, const struct seam_traced_request *freed, struct seam_plan_slot *slot)
{
	enum seam_rc rc = add_string(builder, trace, request->module, &slot->module);

	if (rc == SEAM_OK)
		rc = add_string(builder, trace, request->phase_begin, &slot->phase_begin);
	if (rc == SEAM_OK && freed != NULL)
		rc = add_string(builder, trace, freed->phase_end, &slot->phase_end);
	return rc;
}

static enum seam_rc add_slot(struct seam_plan_builder *builder, const struct seam_period_slots *slots, uint32_t number,
	const uint64_t *offsets, const uint32_t *groups)
{
	const struct seam_period_slot *from = seam__slot_at(slots, number);
	const struct seam_traced_request *request = seam__slot_request(slots, number);
	const struct seam_traced_request *freed = seam__slot_freed(slots, number);
	struct seam_plan_slot slot = {
		.size_bytes = request->size_bytes,
		.begin = from->begin,
		.end = from->end,
		.thread = request->thread,
		.free_thread = freed == NULL ? request->thread : freed->free_thread,
		.flags = (request->dynamic ? SEAM_PLAN_DYNAMIC : 0) | (from->user_count > 0 ? SEAM_PLAN_SHARED : 0),
		.microbatch = request->microbatch,
		.group = request->dynamic ? groups[number] : 0,
		.event = request->alloc,
	};
	enum seam_rc rc = name_slot(builder, slots->requests->trace, request, freed, &slot);

	if (rc == SEAM_OK)
		rc = seam__plan_builder_stream(
			builder, seam__stream_at(slots->requests, request->stream)->stream, &slot.stream);
	if (rc == SEAM_OK)
		rc = seam__plan_builder_slot(builder, &slot, request->dynamic ? NULL : offsets);
	return rc;
}

/* A slot that lives longer than the period is live with its own copies of other repetitions: its lifetime is laid
 * around the period as often as it goes. */
static void add_live(uint64_t *live, uint32_t positions, uint64_t size_bytes, uint32_t begin, uint32_t end)
{
	uint32_t turns = (end - begin) / positions;
	uint32_t rest = (end - begin) % positions;

	live[0] += turns * size_bytes;
	if (rest == 0)
		return;
	live[begin] += size_bytes;
	if (begin + rest < positions) {
		live[begin + rest] -= size_bytes;
	} else {
		live[0] += size_bytes;
		live[begin + rest - positions] -= size_bytes;
	}
}

/* The largest sum of sizes of dynamic slots that live at once, around the circle. */
static enum seam_rc dynamic_bytes(const struct seam_period_slots *slots, uint64_t *ret_bytes)
{
	uint64_t *live;
	uint64_t now = 0;
	uint64_t most = 0;
	size_t bytes = ((size_t)slots->position_count + 1) * sizeof(*live);

	live = seam__meta_alloc(seam__meta_process(), bytes);
	if (live == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < seam__slots_count(slots); i++) {
		const struct seam_period_slot *slot = seam__slot_at(slots, i);

		if (!seam__slot_is_placed(slots, i))
			add_live(live, slots->position_count, seam__slot_request(slots, i)->size_bytes, slot->begin,
				slot->end);
	}
	for (uint32_t t = 0; t < slots->position_count; t++) {
		now += live[t];
		most = now > most ? now : most;
	}
	seam__meta_free(seam__meta_process(), live, bytes);
	*ret_bytes = most;
	return SEAM_OK;
}

static enum seam_rc set_header(struct seam_plan_builder *builder, const struct seam_period_slots *slots)
{
	struct seam_plan_header *header = &builder->header;

	header->flags |= slots->period.linear ? SEAM_PLAN_LINEAR : 0;
	header->first_event = slots->period.first_event;
	header->last_event = slots->period.last_event;
	header->positions = slots->position_count;
	header->resident_bytes = slots->resident_bytes;
	enum seam_rc rc = dynamic_bytes(slots, &header->unplaced_bytes);
	if (rc == SEAM_OK)
		rc = seam_plan_fingerprint(
			slots->requests->trace, header->first_event, header->last_event, &header->fingerprint);
	return rc;
}

enum seam_rc seam__plan_assembly_slots(struct seam_plan_builder *builder, const struct seam_period_slots *slots,
	const struct seam_problem *problem, const uint64_t *offsets, const uint32_t *groups)
{
	uint32_t count = seam__slots_count(slots);
	enum seam_rc rc = set_header(builder, slots);

	if (rc == SEAM_OK)
		rc = seam__plan_builder_reserve(builder, count);
	if (rc != SEAM_OK)
		return rc;
	uint64_t *by_copy = seam__region_array(problem->region, (size_t)count * slots->copies, sizeof(*by_copy));
	if (by_copy == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *item = &problem->items[i];

		if (item->request < count)
			by_copy[(size_t)item->request * slots->copies + item->copy] = offsets[i];
	}
	for (uint32_t i = 0; i < count && rc == SEAM_OK; i++)
		rc = add_slot(builder, slots, i, &by_copy[(size_t)i * slots->copies], groups);
	return rc;
}
