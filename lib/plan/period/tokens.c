/* tokens.c: see tokens.h. */
#include "tokens.h"

#include "bits.h"
#include "meta.h"

/* The finaliser of splitmix64, a bijection: equal only for equal input. */
static uint64_t scramble(uint64_t value)
{
	value += UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

uint64_t seam__tokens_mix(uint64_t a, uint64_t b)
{
	return scramble(scramble(a) ^ b);
}

static struct seam_token make_token(
	const struct seam_trace_event *event, const struct seam_traced_request *request, uint64_t *state)
{
	uint64_t block = seam__tokens_mix(request->size_bytes, request->stream);
	uint64_t key = seam__tokens_mix(block, ((uint64_t)event->thread << 8) | event->kind);

	if (event->kind == SEAM_TRACE_ALLOC)
		*state += block;
	else if (event->kind == SEAM_TRACE_FREE)
		*state -= block;
	else
		key = seam__tokens_mix(key, event->stream);
	return (struct seam_token){.key = key, .state = *state};
}

/* `allocated`: per request the number of its allocation among the tokens' allocations. */
static enum seam_rc build(uint32_t *allocated, struct seam_tokens *tokens)
{
	const struct seam_traced_requests *requests = tokens->requests;
	const struct seam_trace *trace = requests->trace;
	uint64_t state = 0;
	enum seam_rc rc = seam__grow_reserve(&tokens->items, requests->items.count * 2);

	if (rc == SEAM_OK)
		rc = seam__grow_reserve(&tokens->allocs, requests->items.count);
	for (uint32_t e = 0; rc == SEAM_OK && e < trace->header.event_count; e++) {
		uint32_t number = seam__request_of(requests, e);

		if (number == SEAM__REQUEST_NONE)
			continue;
		const struct seam_traced_request *request = seam__request_at(requests, number);
		if (request->dynamic ||
			(trace->events[e].kind == SEAM_TRACE_RECORD_STREAM &&
				trace->events[e].stream == seam__stream_at(requests, request->stream)->stream))
			continue;
		struct seam_token token = make_token(&trace->events[e], request, &state);
		token.event = e;
		token.allocs = (uint32_t)tokens->allocs.count;
		if (trace->events[e].kind == SEAM_TRACE_ALLOC) {
			const uint32_t at = (uint32_t)tokens->items.count;

			allocated[number] = token.allocs;
			rc = seam__grow_append(&tokens->allocs, &at, 1);
		}
		token.back = token.allocs - allocated[number];
		if (rc == SEAM_OK)
			rc = seam__grow_append(&tokens->items, &token, 1);
	}
	return rc;
}

enum seam_rc seam__tokens_init(const struct seam_traced_requests *requests, struct seam_tokens *ret_tokens)
{
	struct seam_tokens made = {.requests = requests};
	uint32_t *allocated = seam__meta_array(seam__meta_process(), requests->items.count + 1, sizeof(*allocated));

	if (allocated == NULL)
		return SEAM_OOM_META;
	seam__grow_init(&made.items, sizeof(struct seam_token));
	seam__grow_init(&made.allocs, sizeof(uint32_t));
	enum seam_rc rc = build(allocated, &made);
	seam__meta_free(seam__meta_process(), allocated, (requests->items.count + 1) * sizeof(*allocated));
	if (rc == SEAM_OK)
		*ret_tokens = made;
	else
		seam__tokens_fini(&made);
	return rc;
}

void seam__tokens_fini(struct seam_tokens *tokens)
{
	seam__grow_fini(&tokens->items);
	seam__grow_fini(&tokens->allocs);
	*tokens = (struct seam_tokens){0};
}

uint32_t seam__tokens_before(const struct seam_tokens *tokens, uint64_t event)
{
	uint32_t low = 0;
	uint32_t high = seam__tokens_count(tokens);

	SEAM__BITS_BISECT(low, high, middle, seam__tokens_at(tokens, middle)->event < event)
	return low;
}
