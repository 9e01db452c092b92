/* period.c: see period.h. The searches themselves stand in repeat_steps.c and repeat_longest.c. */
#include "period.h"

#include "edges.h"
#include "repeat.h"
#include "trace_error.h"

static enum seam_rc list_marks(const struct seam_tokens *tokens, struct seam_grow *marks)
{
	uint32_t token = 0;
	enum seam_rc rc = SEAM_OK;

	for (uint32_t e = 0; rc == SEAM_OK && e < tokens->requests->trace->header.event_count; e++) {
		if (token < seam__tokens_count(tokens) && seam__tokens_at(tokens, token)->event == e)
			token++;
		if (tokens->requests->trace->events[e].kind == SEAM_TRACE_STEP) {
			const struct seam_mark mark = {.event = e + 1, .tokens = token};

			rc = seam__grow_append(marks, &mark, 1);
		}
	}
	return rc;
}

/* The event behind the newest mark with that many tokens before it; where there is none, the token's event. */
static uint64_t event_of(const struct seam_tokens *tokens, const struct seam_grow *marks, uint32_t token)
{
	const struct seam_mark *list = marks->items;

	for (size_t m = marks->count; m-- > 0;)
		if (list[m].tokens == token)
			return list[m].event;
	return token < seam__tokens_count(tokens) ? seam__tokens_at(tokens, token)->event
						  : tokens->requests->trace->header.event_count;
}

static enum seam_rc find(
	const struct seam_tokens *tokens, const struct seam_grow *marks, struct seam_period *ret_period)
{
	const struct seam_grow none = {.count = 0};
	const struct seam_grow *by = marks->count >= 2 ? marks : &none;
	struct seam_repeat repeat;
	uint64_t early = 0;
	uint64_t late = 0;
	enum seam_rc rc = by == marks ? seam__repeat_steps(tokens, marks->items, (uint32_t)marks->count, &repeat)
				      : seam__repeat_longest(tokens, &repeat);

	if (rc != SEAM_OK)
		return rc;
	uint32_t length = repeat.last - repeat.first;
	/* Do the edges repeat as the tokens do? */
	rc = seam__edges_hash(tokens, event_of(tokens, by, repeat.region_first),
		event_of(tokens, by, repeat.region_last - length), &early);
	if (rc == SEAM_OK)
		rc = seam__edges_hash(tokens, event_of(tokens, by, repeat.region_first + length),
			event_of(tokens, by, repeat.region_last), &late);
	*ret_period = (struct seam_period){.first_event = event_of(tokens, by, repeat.first),
		.last_event = event_of(tokens, by, repeat.last),
		.same_edges = early == late};
	return rc;
}

enum seam_rc seam__period_find(
	const struct seam_tokens *tokens, struct seam_trace_error *error, struct seam_period *ret_period)
{
	struct seam_grow marks;

	seam__grow_init(&marks, sizeof(struct seam_mark));
	enum seam_rc rc = list_marks(tokens, &marks);
	if (rc == SEAM_OK)
		rc = find(tokens, &marks, ret_period);
	if (rc == SEAM_NOT_FOUND)
		seam__trace_error_set(error, 0,
			"no period: %zu marks of steps, and no two stretches are equal with equal blocks "
			"live behind them, or less than half of the requests",
			marks.count);
	else if (rc != SEAM_OK)
		(void)seam__trace_error_rc(error, rc);
	seam__grow_fini(&marks);
	return rc;
}

enum seam_rc seam__period_given(const struct seam_tokens *tokens, uint64_t first_event, uint64_t last_event,
	struct seam_trace_error *error, struct seam_period *ret_period)
{
	if (first_event >= last_event || last_event > tokens->requests->trace->header.event_count) {
		seam__trace_error_set(error, first_event,
			"the period of events %llu to %llu is empty or ends behind the trace's "
			"%llu events",
			(unsigned long long)first_event, (unsigned long long)last_event,
			(unsigned long long)tokens->requests->trace->header.event_count);
		return SEAM_INVALID;
	}
	uint32_t first = seam__tokens_before(tokens, first_event);
	uint32_t last = seam__tokens_before(tokens, last_event);
	if (seam__tokens_state(tokens, first) != seam__tokens_state(tokens, last)) {
		seam__trace_error_set(error, last_event,
			"events %llu to %llu are no period: behind them other blocks are live than before them",
			(unsigned long long)first_event, (unsigned long long)last_event);
		return SEAM_INVALID;
	}
	*ret_period = (struct seam_period){.first_event = first_event, .last_event = last_event, .same_edges = true};
	return SEAM_OK;
}

struct seam_period seam__period_whole(const struct seam_trace *trace)
{
	return (struct seam_period){.last_event = trace->header.event_count, .linear = true, .same_edges = true};
}
