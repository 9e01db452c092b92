/* pairing.c: see pairing.h. Two ways in turn, the second for what the first leaves; see slots.h. */
#include "pairing.h"

#include "loose.h"
#include "trace_error.h"

#define POSITIONS_MAX (UINT64_C(1) << 31)
#define BEAT_NONE UINT32_MAX

/* A free in the period of a block from before it. */
struct arrival {
	uint32_t event;
	uint32_t token; /* BEAT_NONE: of a dynamic request */
	uint32_t request;
	bool taken;
};

struct pairing {
	const struct seam_tokens *tokens;
	struct seam_period_slots *slots;
	struct seam_grow arrivals; /* struct arrival, in order of events */
	uint32_t first;            /* tokens [first, first + length) are the period */
	uint32_t length;
	uint32_t first_alloc; /* so are allocations [first_alloc, first_alloc + allocs) among the tokens */
	uint32_t allocs;
};

static enum seam_rc list_arrivals(struct pairing *pairing)
{
	const struct seam_period *period = &pairing->slots->period;
	uint32_t token = pairing->first;
	enum seam_rc rc = SEAM_OK;

	for (uint64_t e = period->first_event; rc == SEAM_OK && e < period->last_event; e++) {
		struct arrival arrival = {.event = (uint32_t)e,
			.token = BEAT_NONE,
			.request = seam__request_of(pairing->slots->requests, e)};

		if (token < seam__tokens_count(pairing->tokens) && seam__tokens_at(pairing->tokens, token)->event == e)
			arrival.token = token++;
		if (arrival.request != SEAM__REQUEST_NONE &&
			pairing->tokens->requests->trace->events[e].kind == SEAM_TRACE_FREE &&
			seam__request_at(pairing->slots->requests, arrival.request)->alloc < period->first_event)
			rc = seam__grow_append(&pairing->arrivals, &arrival, 1);
	}
	return rc;
}

/* Gives the slot that free, `lag` periods on, if slot and free are of one kind and without each other. */
static bool join(struct pairing *pairing, uint32_t slot, struct arrival *arrival, uint64_t lag)
{
	struct seam_period_slot *open = (struct seam_period_slot *)pairing->slots->items.items + slot;
	const struct seam_traced_request *asked = seam__slot_request(pairing->slots, slot);
	const struct seam_traced_request *freed = seam__request_at(pairing->slots->requests, arrival->request);
	uint64_t end = seam__slots_position(pairing->slots, arrival->event) + lag * pairing->slots->position_count;

	if (arrival->taken || open->free_event != SEAM__EVENT_NONE || asked->stream != freed->stream ||
		asked->dynamic != freed->dynamic || (asked->size_bytes != freed->size_bytes && !asked->dynamic) ||
		end >= POSITIONS_MAX)
		return false;
	open->free_event = arrival->event;
	open->lag = (uint32_t)lag;
	open->end = (uint32_t)end;
	arrival->taken = true;
	return true;
}

/* A block lived for several periods, from allocation `origin` to the free at `freed`: those that were allocated at the
 * same place of the periods between must be alike and outlive it, else the place is an accident. */
static bool is_steady(const struct pairing *pairing, uint32_t origin, uint64_t lag, uint32_t freed)
{
	const struct seam_token *first = seam__tokens_alloc(pairing->tokens, origin);
	uint32_t free_event = seam__tokens_at(pairing->tokens, freed)->event;

	for (uint64_t period = 1; period < lag; period++) {
		if (origin + period * pairing->allocs >= pairing->tokens->allocs.count)
			return false; /* the trace goes on in another way */
		const struct seam_token *token =
			seam__tokens_alloc(pairing->tokens, (uint32_t)(origin + period * pairing->allocs));
		if (token->key != first->key ||
			seam__request_at(
				pairing->slots->requests, seam__request_of(pairing->slots->requests, token->event))
					->free < free_event)
			return false;
	}
	return true;
}

/* The block that arrives stood at some place among the allocations of its period: the slot at that place leaves in the
 * same way. */
static void join_by_place(struct pairing *pairing)
{
	struct arrival *arrivals = pairing->arrivals.items;

	for (size_t i = 0; i < pairing->arrivals.count; i++) {
		const struct seam_token *token;

		if (arrivals[i].token == BEAT_NONE)
			continue;
		uint32_t origin = seam__tokens_origin(pairing->tokens, arrivals[i].token);
		uint64_t lag = (pairing->first_alloc - origin + (uint64_t)pairing->allocs - 1) / pairing->allocs;
		token = seam__tokens_alloc(pairing->tokens, (uint32_t)(origin + lag * pairing->allocs));
		if (is_steady(pairing, origin, lag, arrivals[i].token))
			(void)join(pairing,
				seam__request_of(pairing->slots->requests, token->event) -
					pairing->slots->first_request,
				&arrivals[i], lag);
	}
}

static enum seam_rc list_loose(const struct pairing *pairing, struct seam_grow *leaving, struct seam_grow *arriving)
{
	const struct arrival *arrivals = pairing->arrivals.items;
	enum seam_rc rc = SEAM_OK;

	for (uint32_t i = 0; rc == SEAM_OK && i < seam__slots_count(pairing->slots); i++)
		if (seam__slot_at(pairing->slots, i)->free_event == SEAM__EVENT_NONE)
			rc = seam__loose_add(leaving, seam__slot_request(pairing->slots, i), i, 0);
	for (uint32_t i = 0; rc == SEAM_OK && i < pairing->arrivals.count; i++)
		if (!arrivals[i].taken)
			rc = seam__loose_add(
				arriving, seam__request_at(pairing->slots->requests, arrivals[i].request), i, 0);
	seam__loose_sort(leaving);
	seam__loose_sort(arriving);
	return rc;
}

/* Equal kinds in order, one period apart. Returns how many of fixed size are left without each other. */
static size_t join_in_order(struct pairing *pairing, const struct seam_grow *leaving, const struct seam_grow *arriving)
{
	const struct seam_loose *out = leaving->items;
	const struct seam_loose *in = arriving->items;
	struct arrival *arrivals = pairing->arrivals.items;
	size_t o = 0;
	size_t i = 0;
	size_t left = 0;

	while (o < leaving->count || i < arriving->count) {
		int order = o == leaving->count ? 1 : i == arriving->count ? -1 : seam__loose_compare(&out[o], &in[i]);

		if (order == 0 && !join(pairing, out[o].number, &arrivals[in[i].number], 1))
			left++;
		else if (order != 0)
			left += order < 0 ? out[o].size_bytes != 0 : in[i].size_bytes != 0;
		o += order <= 0;
		i += order >= 0;
	}
	return left;
}

static enum seam_rc join_rest(struct pairing *pairing, struct seam_trace_error *error)
{
	struct seam_grow leaving;
	struct seam_grow arriving;
	size_t left = 0;

	seam__grow_init(&leaving, sizeof(struct seam_loose));
	seam__grow_init(&arriving, sizeof(struct seam_loose));
	enum seam_rc rc = list_loose(pairing, &leaving, &arriving);
	if (rc == SEAM_OK)
		left = join_in_order(pairing, &leaving, &arriving);
	if (left > 0) {
		seam__trace_error_set(error, pairing->slots->period.first_event,
			"no period: %zu blocks stay or go for which no equal one goes or comes", left);
		rc = SEAM_INVALID;
	}
	seam__grow_fini(&leaving);
	seam__grow_fini(&arriving);
	return rc;
}

enum seam_rc seam__pairing_apply(
	const struct seam_tokens *tokens, struct seam_period_slots *slots, struct seam_trace_error *error)
{
	struct pairing pairing = {.tokens = tokens, .slots = slots};

	pairing.first = seam__tokens_before(tokens, slots->period.first_event);
	pairing.length = seam__tokens_before(tokens, slots->period.last_event) - pairing.first;
	pairing.first_alloc = seam__tokens_allocs(tokens, pairing.first);
	pairing.allocs = seam__tokens_allocs(tokens, pairing.first + pairing.length) - pairing.first_alloc;
	seam__grow_init(&pairing.arrivals, sizeof(struct arrival));
	enum seam_rc rc = list_arrivals(&pairing);
	if (rc == SEAM_OK && pairing.allocs > 0)
		join_by_place(&pairing);
	if (rc == SEAM_OK)
		rc = join_rest(&pairing, error);
	seam__grow_fini(&pairing.arrivals);
	return rc;
}
