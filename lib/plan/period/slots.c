/* slots.c: see slots.h. Frees of earlier periods' blocks are dealt out in pairing.c. */
#include "slots.h"

#include "check.h"
#include "meta.h"
#include "pairing.h"
#include "trace_error.h"

#define POSITIONS_MAX (UINT64_C(1) << 31)

static bool in_period(const struct seam_period_slots *out, uint32_t event)
{
	return event >= out->period.first_event && event < out->period.last_event;
}

/* Positions, and the slots as far as the period alone shows them. */
static enum seam_rc add_event(struct seam_period_slots *out, uint32_t event)
{
	uint32_t number = seam__request_of(out->requests, event);
	struct seam_period_slot slot;
	enum seam_rc rc = seam__grow_append(&out->positions, &out->position_count, 1);

	if (rc != SEAM_OK || number == SEAM__REQUEST_NONE ||
		out->requests->trace->events[event].kind == SEAM_TRACE_RECORD_STREAM)
		return rc;
	const struct seam_traced_request *request = seam__request_at(out->requests, number);
	if (out->requests->trace->events[event].kind == SEAM_TRACE_ALLOC) {
		if (out->items.count == 0)
			out->first_request = number;
		slot = (struct seam_period_slot){.begin = out->position_count, .free_event = SEAM__EVENT_NONE};
		rc = seam__grow_append(&out->items, &slot, 1);
	} else if (in_period(out, request->alloc)) {
		struct seam_period_slot *freed =
			(struct seam_period_slot *)out->items.items + (number - out->first_request);

		freed->free_event = event;
		freed->end = out->position_count;
	}
	out->position_count++;
	return rc;
}

/* Streams of slots with a place come first, then those of others and of users. `numbers`: per stream number of the
 * requests its number here + 1. */
static enum seam_rc add_stream(struct seam_period_slots *out, uint32_t *numbers, uint32_t stream, uint32_t *ret_number)
{
	enum seam_rc rc = SEAM_OK;

	if (numbers[stream] == 0) {
		rc = seam__grow_append(&out->streams, &stream, 1);
		numbers[stream] = (uint32_t)out->streams.count;
	}
	*ret_number = numbers[stream] - 1;
	return rc;
}

/* Other streams that used the block. */
static enum seam_rc add_users(struct seam_period_slots *out, uint32_t *numbers,
	const struct seam_traced_request *request, struct seam_period_slot *slot)
{
	const uint32_t *uses = out->requests->uses.items;
	enum seam_rc rc = SEAM_OK;

	for (uint32_t u = 0; rc == SEAM_OK && u < request->use_count; u++) {
		uint32_t number;

		rc = add_stream(out, numbers, uses[request->first_use + u], &number);
		if (rc == SEAM_OK)
			rc = seam__grow_append(&out->users, &number, 1);
		slot->user_count++;
	}
	return rc;
}

static enum seam_rc number_streams(struct seam_period_slots *out, uint32_t *numbers)
{
	struct seam_period_slot *slots = out->items.items;
	enum seam_rc rc = SEAM_OK;

	for (int placed = 1; placed >= 0; placed--) {
		for (uint32_t i = 0; rc == SEAM_OK && i < seam__slots_count(out); i++)
			if (seam__slot_is_placed(out, i) == (placed == 1))
				rc = add_stream(out, numbers, seam__slot_request(out, i)->stream, &slots[i].stream);
		if (placed == 1)
			out->placed_streams = (uint32_t)out->streams.count;
	}
	for (uint32_t i = 0; rc == SEAM_OK && i < seam__slots_count(out); i++) {
		const struct seam_traced_request *request = seam__slot_request(out, i);
		const struct seam_traced_request *freed = seam__slot_freed(out, i);

		slots[i].first_user = (uint32_t)out->users.count;
		rc = add_users(out, numbers, request, &slots[i]);
		/* The trace may end before the block does; that which ends the slot has been seen to its end. */
		if (rc == SEAM_OK && freed != NULL && freed != request)
			rc = add_users(out, numbers, freed, &slots[i]);
	}
	return rc;
}

/* Ends of what has no free, and k. */
static enum seam_rc finish_lifetimes(struct seam_period_slots *out, struct seam_trace_error *error)
{
	struct seam_period_slot *slots = out->items.items;
	uint64_t copies = 1;

	for (uint32_t i = 0; i < seam__slots_count(out); i++) {
		struct seam_period_slot *slot = &slots[i];
		const struct seam_traced_request *freed = seam__slot_freed(out, i);

		if (freed == NULL) {
			slot->end = out->period.linear ? out->position_count : slot->begin + out->position_count;
			continue;
		}
		uint64_t needed = ((uint64_t)slot->end - slot->begin + out->position_count - 1) / out->position_count;
		copies = needed > copies ? needed : copies;
	}
	if (copies * out->position_count >= POSITIONS_MAX) {
		seam__trace_error_set(error, out->period.first_event,
			"a block lives for %llu periods of %u positions: too long to plan", (unsigned long long)copies,
			out->position_count);
		return SEAM_INVALID;
	}
	out->copies = (uint32_t)copies;
	return SEAM_OK;
}

/* What is live before the period and not freed in it, but for the blocks of slots that live that long. */
static void count_residents(struct seam_period_slots *out)
{
	uint64_t bytes = 0;
	uint64_t count = 0;

	for (uint32_t i = 0; i < out->requests->items.count; i++) {
		const struct seam_traced_request *request = seam__request_at(out->requests, i);

		if (request->alloc >= out->period.first_event)
			break;
		if (request->free < out->period.last_event)
			continue;
		bytes += request->size_bytes;
		count++;
	}
	for (uint32_t i = 0; i < seam__slots_count(out); i++) {
		uint64_t older = seam__slot_at(out, i)->lag; /* blocks of it that are live at the beginning */

		if (older < 2 || older - 1 > count)
			continue;
		uint64_t older_bytes = (older - 1) * seam__slot_request(out, i)->size_bytes;
		if (older_bytes > bytes)
			continue;
		bytes -= older_bytes;
		count -= older - 1;
	}
	out->resident_bytes = bytes;
	out->resident_count = count;
}

static enum seam_rc build(
	struct seam_period_slots *out, const struct seam_tokens *tokens, struct seam_trace_error *error)
{
	size_t stream_count = out->requests->streams.count + 1;
	enum seam_rc rc =
		seam__grow_reserve(&out->positions, (size_t)(out->period.last_event - out->period.first_event));

	for (uint64_t e = out->period.first_event; rc == SEAM_OK && e < out->period.last_event; e++)
		rc = add_event(out, (uint32_t)e);
	if (rc == SEAM_OK && !out->period.linear)
		rc = seam__pairing_apply(tokens, out, error);
	if (rc == SEAM_OK)
		rc = finish_lifetimes(out, error);
	if (rc != SEAM_OK)
		return rc;
	if (!out->period.linear)
		count_residents(out);
	uint32_t *numbers = seam__meta_array(seam__meta_process(), stream_count, sizeof(*numbers));
	if (numbers == NULL)
		return SEAM_OOM_META;
	rc = number_streams(out, numbers);
	seam__meta_free(seam__meta_process(), numbers, stream_count * sizeof(*numbers));
	return rc;
}

enum seam_rc seam__slots_init(const struct seam_tokens *tokens, const struct seam_period *period,
	struct seam_trace_error *error, struct seam_period_slots *ret_slots)
{
	struct seam_period_slots made = {.requests = tokens->requests, .period = *period};

	seam__grow_init(&made.items, sizeof(struct seam_period_slot));
	seam__grow_init(&made.positions, sizeof(uint32_t));
	seam__grow_init(&made.streams, sizeof(uint32_t));
	seam__grow_init(&made.users, sizeof(uint32_t));
	enum seam_rc rc = build(&made, tokens, error);
	if (rc == SEAM_OK) {
		*ret_slots = made;
		return SEAM_OK;
	}
	if (rc == SEAM_OOM_META)
		(void)seam__trace_error_rc(error, rc);
	seam__slots_fini(&made);
	return rc;
}

void seam__slots_fini(struct seam_period_slots *slots)
{
	seam__grow_fini(&slots->items);
	seam__grow_fini(&slots->positions);
	seam__grow_fini(&slots->streams);
	seam__grow_fini(&slots->users);
	*slots = (struct seam_period_slots){0};
}

const struct seam_traced_request *seam__slot_freed(const struct seam_period_slots *slots, uint32_t number)
{
	uint32_t event = seam__slot_at(slots, number)->free_event;

	return event == SEAM__EVENT_NONE ? NULL
					 : seam__request_at(slots->requests, seam__request_of(slots->requests, event));
}

static const char *check_slot(const struct seam_period_slots *slots, uint32_t number)
{
	const struct seam_period_slot *slot = seam__slot_at(slots, number);
	const struct seam_traced_request *request = seam__slot_request(slots, number);
	const struct seam_traced_request *freed = seam__slot_freed(slots, number);

	if (request->alloc < slots->period.first_event || request->alloc >= slots->period.last_event ||
		slot->begin != seam__slots_position(slots, request->alloc))
		return "SO1";
	if (slot->begin >= slots->position_count || slot->end <= slot->begin ||
		slot->end - slot->begin > (uint64_t)slots->copies * slots->position_count)
		return "SO2";
	if (freed != NULL &&
		slot->end != seam__slots_position(slots, slot->free_event) + slot->lag * slots->position_count)
		return "SO2 end";
	if (freed != NULL && (freed->size_bytes != request->size_bytes || freed->stream != request->stream) &&
		!request->dynamic)
		return "SO3 another block's free";
	if (freed == NULL && !request->dynamic && !slots->period.linear)
		return "SO4 free";
	if (slot->stream >= slots->streams.count || slot->first_user > slots->users.count ||
		slot->user_count > slots->users.count - slot->first_user)
		return "SO4 numbers";
	return NULL;
}

const char *seam__slots_check(const struct seam_period_slots *slots)
{
	const char *broken = NULL;
	size_t bytes = (size_t)slots->position_count + 1;
	uint8_t *taken = seam__meta_alloc(seam__meta_process(), bytes);

	if (taken == NULL)
		return NULL;
	for (uint32_t i = 0; i < seam__slots_count(slots) && broken == NULL; i++) {
		const struct seam_period_slot *slot = seam__slot_at(slots, i);

		broken = check_slot(slots, i);
		if (broken == NULL && taken[slot->begin]++ != 0)
			broken = "SO3 begin";
		if (broken == NULL && slot->free_event != SEAM__EVENT_NONE &&
			taken[slot->end % slots->position_count]++ != 0)
			broken = "SO3 end";
	}
	seam__meta_free(seam__meta_process(), taken, bytes);
	return broken;
}
