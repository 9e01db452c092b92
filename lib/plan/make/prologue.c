/* prologue.c: see prologue.h. */
#include "prologue.h"

#include "bits.h"
#include "region.h"

#define PERIODS 4u    /* what is made behind so many of them comes late, */
#define LEAST 65536u  /* if there were as many requests before it */
#define RUN_LEAST 16u /* so many requests in a row that are those of the period somewhere are it there */
#define RUN_MOST 4096u
#define COMPARISONS (UINT64_C(1) << 25)

/* The requests before the period that do not stay, against the period's own. */
struct prologue {
	const struct seam_period_slots *slots;
	uint32_t end;      /* behind the last one that stays */
	uint32_t *numbers; /* of those requests */
	uint32_t *slot_of; /* which one of the period each of them is, or SEAM_PLAN_NO_SLOT */
	uint32_t count;
	uint64_t comparisons; /* left */
};

/* As slots.h has it, but for dynamic requests, and older blocks of slots that live longer than a period. */
static bool stays(const struct seam_period_slots *slots, const struct seam_traced_request *request)
{
	return request->free >= slots->period.last_event && !request->dynamic;
}

static bool is_common(const struct seam_traced_requests *requests, const struct seam_traced_request *request)
{
	return seam__stream_at(requests, request->stream)->pool == 0;
}

/* Up to here no block is an older one of a slot that lives longer than a period. */
static uint64_t last_event(const struct seam_period_slots *slots)
{
	const struct seam_period *period = &slots->period;
	const uint64_t older = (period->last_event - period->first_event) * (slots->copies - 1);

	return period->first_event - seam__bits_min(older, period->first_event);
}

/* Requests with this number or a higher one come late. */
static uint64_t late_from(const struct seam_period_slots *slots)
{
	return seam__bits_max(LEAST, (uint64_t)seam__slots_count(slots) * PERIODS);
}

/* The number behind the last one that stays. */
static uint32_t find_end(const struct seam_period_slots *slots)
{
	const struct seam_traced_requests *requests = slots->requests;
	const uint64_t last = last_event(slots);
	const uint64_t late = late_from(slots);
	uint64_t left_bytes = slots->resident_bytes;
	uint32_t end = 0;

	for (uint32_t i = 0; i < requests->items.count && i < late; i++) {
		const struct seam_traced_request *request = seam__request_at(requests, i);

		if (request->alloc >= last || (stays(slots, request) && request->size_bytes > left_bytes))
			break;
		if (!stays(slots, request) || !is_common(requests, request))
			continue;
		left_bytes -= request->size_bytes;
		end = i + 1;
	}
	return end;
}

static bool is_staying(const struct prologue *prologue, uint32_t request)
{
	return request < prologue->end && stays(prologue->slots, seam__request_at(prologue->slots->requests, request));
}

static bool are_alike(const struct prologue *prologue, uint32_t at, uint32_t slot)
{
	const struct seam_traced_request *a = seam__request_at(prologue->slots->requests, prologue->numbers[at]);
	const struct seam_traced_request *b = seam__slot_request(prologue->slots, slot);

	return a->dynamic == b->dynamic && (a->dynamic || a->size_bytes == b->size_bytes) && a->stream == b->stream;
}

static uint32_t slot_before(const struct prologue *prologue, uint32_t slot)
{
	return (slot == 0 ? seam__slots_count(prologue->slots) : slot) - 1;
}

/* How many requests before `at` are those before `slot`, on the circle. */
static uint32_t run_before(struct prologue *prologue, uint32_t at, uint32_t slot)
{
	uint32_t run = 0;

	for (; run < at && run < RUN_MOST && prologue->comparisons > 0; run++) {
		slot = slot_before(prologue, slot);
		prologue->comparisons--;
		if (!are_alike(prologue, at - 1 - run, slot))
			break;
	}
	return run;
}

/* The place in the period behind most of the requests before `at`; of equals the nearest before `slot`: what lives on
 * from there is what lives on here. `slot` itself, if it is behind too few. */
static uint32_t find_place(struct prologue *prologue, uint32_t at, uint32_t slot)
{
	uint32_t most = RUN_LEAST - 1;
	uint32_t place = slot;
	uint32_t candidate = slot;

	for (uint32_t i = 0; i < seam__slots_count(prologue->slots); i++) {
		const uint32_t run = run_before(prologue, at, candidate);

		if (run > most) {
			most = run;
			place = candidate;
		}
		candidate = slot_before(prologue, candidate);
	}
	return place;
}

/* Backwards from the period, which begins with slot 0. */
static void align(struct prologue *prologue)
{
	uint32_t slot = 0;

	for (uint32_t at = prologue->count; at > 0 && prologue->comparisons > 0; at--) {
		if (!are_alike(prologue, at - 1, slot_before(prologue, slot)))
			slot = find_place(prologue, at, slot);
		if (!are_alike(prologue, at - 1, slot_before(prologue, slot)))
			continue;
		slot = slot_before(prologue, slot);
		prologue->slot_of[at - 1] = slot;
	}
}

/* Of all requests before the period. */
static enum seam_rc find_slots(struct seam_region *region, struct prologue *prologue)
{
	const uint32_t first = prologue->slots->first_request;

	prologue->numbers = seam__region_array(region, first, sizeof(*prologue->numbers));
	prologue->slot_of = seam__region_array(region, first, sizeof(*prologue->slot_of));
	if (prologue->numbers == NULL || prologue->slot_of == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < first; i++) {
		if (is_staying(prologue, i))
			continue;
		prologue->slot_of[prologue->count] = SEAM_PLAN_NO_SLOT;
		prologue->numbers[prologue->count++] = i;
	}
	align(prologue);
	return SEAM_OK;
}

/* Behind the last one that stays the program goes on for a while: up to where it does no more than go round and round,
 * or for one request at least, so that its place in the period is known. */
static uint32_t find_rest(const struct prologue *prologue)
{
	uint32_t last = prologue->count;
	uint32_t slot = 0;

	while (last > 0 && prologue->slot_of[last - 1] == slot_before(prologue, slot)) {
		last--;
		slot = slot_before(prologue, slot);
	}
	while (last < prologue->count && prologue->numbers[last] < prologue->end)
		last++;
	if (last == prologue->count || prologue->numbers[last] >= late_from(prologue->slots))
		return prologue->end;
	return prologue->numbers[last] + 1;
}

static enum seam_rc write(const struct prologue *prologue, uint32_t end, struct seam_plan_builder *builder)
{
	enum seam_rc rc = SEAM_OK;
	uint32_t next = 0;

	for (uint32_t i = 0; i < end && rc == SEAM_OK; i++) {
		const struct seam_traced_request *request = seam__request_at(prologue->slots->requests, i);
		const bool staying = is_staying(prologue, i);
		const struct seam_plan_prologue asked = {
			.size_bytes = request->size_bytes,
			.flags = (request->dynamic ? SEAM_PLAN_DYNAMIC : 0) | (staying ? SEAM_PLAN_STAYS : 0),
			.slot = staying ? SEAM_PLAN_NO_SLOT : prologue->slot_of[next++],
		};

		if (is_common(prologue->slots->requests, request))
			rc = seam__grow_append(&builder->prologue, &asked, 1);
	}
	return rc;
}

enum seam_rc seam__prologue_add(
	struct seam_region *region, const struct seam_period_slots *slots, struct seam_plan_builder *builder)
{
	struct prologue prologue = {.slots = slots, .comparisons = COMPARISONS};

	if (slots->period.linear || seam__slots_count(slots) == 0)
		return SEAM_OK;
	prologue.end = find_end(slots);
	if (prologue.end == 0)
		return SEAM_OK;
	enum seam_rc rc = find_slots(region, &prologue);
	return rc == SEAM_OK ? write(&prologue, find_rest(&prologue), builder) : rc;
}
