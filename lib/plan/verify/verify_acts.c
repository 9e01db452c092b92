/* verify_acts.c: the stretch of a plan in its trace, event by event, matched with the plan's slots.
 *
 * The n-th allocation of the stretch is slot n. A free of a block of the stretch ends its slot there. A free of an
 * earlier block ends a slot of an earlier repetition: the plan says which, by the slot's end, and the trace must agree:
 * in size and stream always, and in the block itself where the trace around the stretch shows it (verify_seen.c).
 */
#include <stdarg.h>
#include <stdio.h>

#include "meta.h"
#include "trace_error.h"
#include "verify.h"

#define NOBODY SEAM__ACT_NOBODY

struct reader {
	struct seam_acts *acts;
	struct seam_idmap streams; /* stream -> 1 + number */
	uint32_t *ends;            /* position -> event of the free there, or NOBODY */
	uint32_t positions;        /* so far */
	uint32_t slots;            /* so far */
};

enum seam_rc seam__acts_differ(const struct seam_acts *acts, uint64_t event, const char *format, ...)
{
	char what[140];
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	seam__trace_error_set(
		acts->error, event, "the plan is not of this trace: event %llu: %s", (unsigned long long)event, what);
	return SEAM_NOT_FOUND;
}

static enum seam_rc pair(struct seam_acts *acts, struct seam_idmap *blocks, struct seam_idmap *records, uint32_t event)
{
	const struct seam_trace_event *this = &acts->trace->events[event];
	const uint64_t *values;
	acts->partners[event] = NOBODY;
	switch (seam__act_is_captured(this) ? SEAM_TRACE_STEP : this->kind) {
	case SEAM_TRACE_ALLOC:
	case SEAM_TRACE_EVENT_RECORD:
		return seam__idmap_set(this->kind == SEAM_TRACE_ALLOC ? blocks : records, this->id, event);
	case SEAM_TRACE_FREE:
	case SEAM_TRACE_RECORD_STREAM:
	case SEAM_TRACE_EVENT_WAIT:
		values = seam__idmap_find(this->kind == SEAM_TRACE_EVENT_WAIT ? records : blocks, this->id);
		if (values == NULL)
			return SEAM_OK;
		acts->partners[event] = (uint32_t)values[0];
		if (this->kind == SEAM_TRACE_FREE) {
			acts->partners[values[0]] = event;
			seam__idmap_remove(blocks, this->id);
		}
		return SEAM_OK;
	default:
		return SEAM_OK;
	}
}

static enum seam_rc find_partners(struct seam_acts *acts)
{
	struct seam_idmap blocks;
	struct seam_idmap records;
	enum seam_rc rc = SEAM_OK;
	seam__idmap_init(&blocks);
	seam__idmap_init(&records);
	for (uint32_t event = 0; rc == SEAM_OK && event < acts->trace->header.event_count; event++)
		rc = pair(acts, &blocks, &records, event);
	seam__idmap_fini(&records);
	seam__idmap_fini(&blocks);
	return rc;
}

static enum seam_rc read_alloc(struct reader *reader, uint32_t event, struct seam_act *act)
{
	const struct seam_acts *acts = reader->acts;
	const struct seam_plan *plan = acts->plan;
	const struct seam_trace_event *alloc = &acts->trace->events[event];
	const uint32_t number = reader->slots++;
	if (number >= plan->header.slot_count)
		return seam__acts_differ(acts, event, "an allocation behind the plan's last slot");
	const struct seam_plan_slot *slot = &plan->slots[number];
	if (slot->event != event || slot->begin != reader->positions)
		return seam__acts_differ(acts, event,
			"the allocation at position %u, where slot %u is event %llu at position %u", reader->positions,
			number, (unsigned long long)slot->event, slot->begin);
	if (((alloc->flags & SEAM_TRACE_DYNAMIC) != 0) != ((slot->flags & SEAM_PLAN_DYNAMIC) != 0))
		return seam__acts_differ(acts, event, "slot %u or the request is dynamic, the other not", number);
	if (slot->size_bytes != alloc->size || plan->streams[slot->stream] != alloc->stream ||
		slot->thread != alloc->thread)
		return seam__acts_differ(acts, event,
			"slot %u has %llu bytes, stream %llu, thread %u; the request %llu, %llu, %u", number,
			(unsigned long long)slot->size_bytes, (unsigned long long)plan->streams[slot->stream],
			slot->thread, (unsigned long long)alloc->size, (unsigned long long)alloc->stream,
			alloc->thread);
	acts->slot_streams[number] = act->stream;
	act->kind = SEAM__ACT_ALLOC;
	act->what = number;
	return SEAM_OK;
}

/* What that event of the stretch is about, a slot or a record; NOBODY for what is outside, or a block of 0 bytes. */
static uint32_t what_of(const struct seam_acts *acts, uint32_t event)
{
	const struct seam_plan_header *header = &acts->plan->header;
	if (event == NOBODY || event < header->first_event || event >= header->last_event)
		return NOBODY;
	const struct seam_act *act = &acts->items[event - header->first_event];
	return act->kind == SEAM__ACT_NONE ? NOBODY : act->what;
}

static enum seam_rc read_free(struct reader *reader, uint32_t event, struct seam_act *act)
{
	const struct seam_acts *acts = reader->acts;
	act->kind = SEAM__ACT_FREE;
	act->what = what_of(acts, acts->partners[event]);
	if (act->what == NOBODY) {
		reader->ends[reader->positions] = event;
		return SEAM_OK;
	}
	const struct seam_plan_slot *slot = &acts->plan->slots[act->what];
	if (slot->end != reader->positions)
		return seam__acts_differ(acts, event, "slot %u is freed at position %u; the plan says %u", act->what,
			reader->positions, slot->end);
	return SEAM_OK;
}

/* Allocations and frees of 0 bytes have neither slot nor position. */
static enum seam_rc read_block(struct reader *reader, uint32_t event, struct seam_act *act)
{
	const struct seam_trace_event *this = &reader->acts->trace->events[event];
	if (this->size == 0)
		return SEAM_OK;
	if (reader->positions == reader->acts->plan->header.positions)
		return seam__acts_differ(reader->acts, event, "a position behind the plan's last");
	enum seam_rc rc =
		this->kind == SEAM_TRACE_ALLOC ? read_alloc(reader, event, act) : read_free(reader, event, act);
	reader->positions++;
	return rc;
}

static enum seam_rc read_event(struct reader *reader, uint32_t event, struct seam_act *act)
{
	struct seam_acts *acts = reader->acts;
	const struct seam_trace_event *this = &acts->trace->events[event];
	const uint32_t partner = acts->partners[event];
	switch (seam__act_is_captured(this) ? SEAM_TRACE_STEP : this->kind) {
	case SEAM_TRACE_ALLOC:
	case SEAM_TRACE_FREE:
		return read_block(reader, event, act);
	case SEAM_TRACE_RECORD_STREAM:
		act->kind = SEAM__ACT_TOUCH;
		act->what = what_of(acts, partner);
		return SEAM_OK;
	case SEAM_TRACE_EVENT_RECORD:
		act->kind = SEAM__ACT_RECORD;
		act->what = acts->record_count++;
		return SEAM_OK;
	case SEAM_TRACE_EVENT_WAIT:
		act->kind = SEAM__ACT_WAIT;
		act->what = what_of(acts, partner);
		return SEAM_OK;
	case SEAM_TRACE_STREAM_SYNC:
		act->kind = SEAM__ACT_STREAM_SYNC;
		return SEAM_OK;
	case SEAM_TRACE_DEVICE_SYNC:
		act->kind = SEAM__ACT_DEVICE_SYNC;
		return SEAM_OK;
	default:
		return SEAM_OK;
	}
}

static enum seam_rc read_stretch(struct reader *reader)
{
	struct seam_acts *acts = reader->acts;
	const struct seam_plan_header *header = &acts->plan->header;
	enum seam_rc rc = SEAM_OK;
	for (uint64_t i = 0; rc == SEAM_OK && i < acts->count; i++) {
		const uint32_t event = (uint32_t)(header->first_event + i);
		rc = seam__idmap_number(&reader->streams, acts->trace->events[event].stream, &acts->items[i].stream);
		if (rc == SEAM_OK)
			rc = read_event(reader, event, &acts->items[i]);
	}
	acts->stream_count = (uint32_t)reader->streams.count;
	if (rc == SEAM_OK && (reader->slots != header->slot_count || reader->positions != header->positions))
		return seam__acts_differ(acts, header->last_event, "%u slots and %u positions; the plan has %u and %u",
			reader->slots, reader->positions, header->slot_count, header->positions);
	return rc;
}

/* A slot that the stretch does not free ends at a free in it of an equal block from before. */
static enum seam_rc claim_end(struct reader *reader, uint32_t number)
{
	const struct seam_acts *acts = reader->acts;
	const struct seam_plan_header *header = &acts->plan->header;
	const struct seam_plan_slot *slot = &acts->plan->slots[number];
	const bool linear = (header->flags & SEAM_PLAN_LINEAR) != 0;
	if (linear || slot->end < header->positions) {
		if (linear && slot->end == header->positions)
			return SEAM_OK;
		return seam__acts_differ(
			acts, slot->event, "slot %u ends at position %u, where nothing frees it", number, slot->end);
	}
	const uint32_t event = reader->ends[slot->end % header->positions];
	const struct seam_trace_event *end = event == NOBODY ? NULL : &acts->trace->events[event];
	if (end == NULL || end->size != slot->size_bytes || end->stream != acts->plan->streams[slot->stream] ||
		(acts->trace->events[acts->partners[event]].flags & SEAM_TRACE_DYNAMIC) != 0)
		return seam__acts_differ(acts, slot->event,
			"slot %u ends at position %u of a later repetition, where no such "
			"block is freed",
			number, slot->end % header->positions);
	struct seam_act *act = &acts->items[event - header->first_event];
	if (act->what != NOBODY)
		return seam__acts_differ(acts, event, "slots %u and %u both end with it", act->what, number);
	act->what = number;
	act->lag = slot->end / header->positions;
	return SEAM_OK;
}

/* Frees that no slot claims are those of dynamic requests: they stay nobody's. */
static enum seam_rc settle_frees(struct reader *reader)
{
	struct seam_acts *acts = reader->acts;
	const uint64_t first = acts->plan->header.first_event;
	for (uint32_t position = 0; position < reader->positions; position++) {
		const uint32_t event = reader->ends[position];
		if (event == NOBODY || acts->items[event - first].what != NOBODY)
			continue;
		if ((acts->trace->events[acts->partners[event]].flags & SEAM_TRACE_DYNAMIC) == 0)
			return seam__acts_differ(
				acts, event, "it frees a block of before the period, and no slot ends there");
	}
	return SEAM_OK;
}

static enum seam_rc claim_ends(struct reader *reader)
{
	struct seam_acts *acts = reader->acts;
	const struct seam_plan_header *header = &acts->plan->header;
	enum seam_rc rc = SEAM_OK;
	for (uint32_t i = 0; rc == SEAM_OK && i < header->slot_count; i++) {
		const uint32_t end = acts->partners[acts->plan->slots[i].event];
		if ((end == NOBODY || end >= header->last_event) &&
			(acts->plan->slots[i].flags & SEAM_PLAN_DYNAMIC) == 0)
			rc = claim_end(reader, i);
	}
	return rc == SEAM_OK ? settle_frees(reader) : rc;
}

/* A use of a block from before the stretch goes to the slot that stands for it, which its free in the stretch tells.
 * One that lives on through all of the stretch is a resident, or is seen in another repetition. */
static enum seam_rc settle_touches(struct seam_acts *acts)
{
	const struct seam_plan_header *header = &acts->plan->header;
	for (uint64_t i = 0; i < acts->count; i++) {
		struct seam_act *act = &acts->items[i];
		if (act->kind != SEAM__ACT_TOUCH)
			continue;
		const uint32_t alloc = acts->partners[header->first_event + i];
		const uint32_t end = alloc == NOBODY ? NOBODY : acts->partners[alloc];
		if (act->what == NOBODY && what_of(acts, end) != NOBODY) {
			act->what = what_of(acts, end);
			act->lag = acts->items[end - header->first_event].lag;
		}
		if (act->what == NOBODY)
			act->kind = SEAM__ACT_NONE;
		else if (act->stream != acts->slot_streams[act->what] &&
			(acts->plan->slots[act->what].flags & (SEAM_PLAN_SHARED | SEAM_PLAN_DYNAMIC)) == 0)
			return seam__acts_differ(acts, header->first_event + i,
				"slot %u is used by another stream; the plan does "
				"not say so",
				act->what);
	}
	return SEAM_OK;
}

/* The trace may end before a block of the stretch does: how it is used is seen in one that is freed in the stretch. */
static enum seam_rc list_older(struct reader *reader)
{
	struct seam_acts *acts = reader->acts;
	enum seam_rc rc = SEAM_OK;
	for (uint32_t event = 0; rc == SEAM_OK && event < acts->plan->header.first_event; event++) {
		const uint32_t alloc = acts->partners[event];
		if (acts->trace->events[event].kind != SEAM_TRACE_RECORD_STREAM || alloc == NOBODY)
			continue;
		const uint32_t slot = what_of(acts, acts->partners[alloc]);
		const uint64_t stream = acts->trace->events[event].stream;
		if (slot == NOBODY || stream == acts->plan->streams[acts->plan->slots[slot].stream])
			continue;
		if ((acts->plan->slots[slot].flags & (SEAM_PLAN_SHARED | SEAM_PLAN_DYNAMIC)) == 0)
			return seam__acts_differ(
				acts, event, "slot %u is used by another stream; the plan does not say so", slot);
		struct seam_older use = {.slot = slot};
		rc = seam__idmap_number(&reader->streams, stream, &use.stream);
		if (rc == SEAM_OK)
			rc = seam__grow_append(&acts->older, &use, 1);
	}
	acts->stream_count = (uint32_t)reader->streams.count;
	return rc;
}

static enum seam_rc read_all(struct reader *reader)
{
	struct seam_acts *acts = reader->acts;
	const uint32_t positions = acts->plan->header.positions;
	for (uint32_t i = 0; i < positions; i++)
		reader->ends[i] = NOBODY;
	enum seam_rc rc = read_stretch(reader);
	if (rc == SEAM_OK)
		rc = claim_ends(reader);
	if (rc != SEAM_OK)
		return rc;
	rc = settle_touches(acts);
	if (rc == SEAM_OK)
		rc = list_older(reader);
	return rc == SEAM_OK ? seam__acts_see(acts) : rc;
}

enum seam_rc seam__acts_init(const struct seam_trace *trace, const struct seam_plan *plan,
	struct seam_trace_error *error, struct seam_acts *ret_acts)
{
	const struct seam_plan_header *header = &plan->header;
	struct seam_acts *acts = ret_acts;
	*acts = (struct seam_acts){.trace = trace, .plan = plan, .error = error};
	seam__grow_init(&acts->older, sizeof(struct seam_older));
	if (header->last_event > trace->header.event_count ||
		header->positions > header->last_event - header->first_event)
		return seam__acts_differ(acts, header->last_event,
			"the trace has %llu events, not %u positions up to there",
			(unsigned long long)trace->header.event_count, header->positions);
	acts->count = header->last_event - header->first_event;
	struct reader reader = {.acts = acts};
	seam__idmap_init(&reader.streams);
	acts->region = seam__region_create(seam__meta_process());
	if (acts->region != NULL) {
		acts->partners = seam__region_array(acts->region, (size_t)trace->header.event_count, sizeof(uint32_t));
		acts->items = seam__region_array(acts->region, (size_t)acts->count, sizeof(struct seam_act));
		acts->slot_streams = seam__region_array(acts->region, header->slot_count, sizeof(uint32_t));
		reader.ends = seam__region_array(acts->region, header->positions, sizeof(uint32_t));
	}
	enum seam_rc rc = SEAM_OOM_META;
	if (acts->partners != NULL && acts->items != NULL && acts->slot_streams != NULL && reader.ends != NULL)
		rc = find_partners(acts);
	if (rc == SEAM_OK)
		rc = read_all(&reader);
	seam__idmap_fini(&reader.streams);
	return rc;
}

void seam__acts_fini(struct seam_acts *acts)
{
	seam__grow_fini(&acts->older);
	seam__region_destroy(acts->region);
}
