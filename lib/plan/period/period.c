/* period.c: see period.h. The searches themselves stand in repeat_steps.c and repeat_longest.c. */
#include "period.h"

#include "edges.h"
#include "meta.h"
#include "repeat.h"
#include "trace_error.h"

/* A mark of a step. */
struct mark {
	uint32_t event;  /* the one behind it */
	uint32_t tokens; /* before it */
};

static enum seam_rc list_marks(
	const struct seam_trace *trace, const struct seam_tokens *tokens, struct seam_grow *marks)
{
	uint32_t token = 0;
	enum seam_rc rc = SEAM_OK;

	for (uint32_t e = 0; rc == SEAM_OK && e < trace->header.event_count; e++) {
		if (token < seam__tokens_count(tokens) && seam__tokens_at(tokens, token)->event == e)
			token++;
		if (trace->events[e].kind == SEAM_TRACE_STEP) {
			const struct mark mark = {.event = e + 1, .tokens = token};

			rc = seam__grow_append(marks, &mark, 1);
		}
	}
	return rc;
}

static uint64_t token_event(const struct seam_trace *trace, const struct seam_tokens *tokens, uint32_t token)
{
	return token < seam__tokens_count(tokens) ? seam__tokens_at(tokens, token)->event : trace->header.event_count;
}

/* The event behind the newest mark with that many tokens before it; where there is none, the token's event. */
static uint64_t mark_event(
	const struct seam_trace *trace, const struct seam_tokens *tokens, const struct seam_grow *marks, uint32_t token)
{
	const struct mark *list = marks->items;

	for (size_t m = marks->count; m-- > 0;)
		if (list[m].tokens == token)
			return list[m].event;
	return token_event(trace, tokens, token);
}

static enum seam_rc search_steps(
	const struct seam_tokens *tokens, const struct seam_grow *marks, struct seam_repeat *ret_repeat)
{
	const struct mark *list = marks->items;
	uint32_t *numbers;
	enum seam_rc rc;

	numbers = seam__meta_array(seam__meta_process(), marks->count, sizeof(*numbers));
	if (numbers == NULL)
		return SEAM_OOM_META;
	for (size_t m = 0; m < marks->count; m++)
		numbers[m] = list[m].tokens;
	rc = seam__repeat_steps(tokens, numbers, (uint32_t)marks->count, ret_repeat);
	seam__meta_free(seam__meta_process(), numbers, marks->count * sizeof(*numbers));
	return rc;
}

static enum seam_rc search_longest(
	const struct seam_trace *trace, const struct seam_tokens *tokens, struct seam_repeat *ret_repeat)
{
	uint32_t count = seam__tokens_count(tokens);
	uint64_t *changes;
	enum seam_rc rc;

	if (count == 0)
		return SEAM_NOT_FOUND;
	changes = seam__meta_array(seam__meta_process(), count, sizeof(*changes));
	if (changes == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < count; i++) {
		const struct seam_trace_event *event = &trace->events[seam__tokens_at(tokens, i)->event];

		if (event->kind == SEAM_TRACE_ALLOC)
			changes[i] = event->size;
		else if (event->kind == SEAM_TRACE_FREE)
			changes[i] = 0 - event->size;
	}
	rc = seam__repeat_longest(tokens, changes, ret_repeat);
	seam__meta_free(seam__meta_process(), changes, count * sizeof(*changes));
	return rc;
}

/* Do the edges repeat as the tokens do? `early` and `late`: beginnings of two stretches, and their ends. */
static enum seam_rc compare_edges(const struct seam_trace *trace, const struct seam_tokens *tokens,
	const uint64_t early[2], const uint64_t late[2], bool *ret_same)
{
	uint64_t early_hash;
	uint64_t late_hash;
	enum seam_rc rc = seam__edges_hash(trace, tokens, early[0], early[1], &early_hash);

	if (rc == SEAM_OK)
		rc = seam__edges_hash(trace, tokens, late[0], late[1], &late_hash);
	if (rc == SEAM_OK)
		*ret_same = early_hash == late_hash;
	return rc;
}

static enum seam_rc find(const struct seam_trace *trace, const struct seam_tokens *tokens,
	const struct seam_grow *marks, struct seam_period *ret_period)
{
	struct seam_period period = {.linear = false};
	bool by_marks = marks->count >= 2;
	struct seam_repeat repeat;
	enum seam_rc rc = by_marks ? search_steps(tokens, marks, &repeat) : search_longest(trace, tokens, &repeat);

	if (rc != SEAM_OK)
		return rc;
	if (by_marks) {
		period.first_event = mark_event(trace, tokens, marks, repeat.first);
		period.last_event = mark_event(trace, tokens, marks, repeat.last);
		rc = compare_edges(trace, tokens,
			(uint64_t[]){mark_event(trace, tokens, marks, repeat.region_first), period.first_event},
			(uint64_t[]){period.first_event, period.last_event}, &period.same_edges);
	} else {
		uint32_t length = repeat.last - repeat.first;

		period.first_event = token_event(trace, tokens, repeat.first);
		period.last_event = token_event(trace, tokens, repeat.last);
		rc = compare_edges(trace, tokens,
			(uint64_t[]){token_event(trace, tokens, repeat.region_first),
				token_event(trace, tokens, repeat.region_last - length)},
			(uint64_t[]){token_event(trace, tokens, repeat.region_first + length),
				token_event(trace, tokens, repeat.region_last)},
			&period.same_edges);
	}
	if (rc == SEAM_OK)
		*ret_period = period;
	return rc;
}

enum seam_rc seam__period_find(const struct seam_trace *trace, const struct seam_tokens *tokens,
	struct seam_trace_error *error, struct seam_period *ret_period)
{
	struct seam_grow marks;
	enum seam_rc rc;

	seam__grow_init(&marks, sizeof(struct mark));
	rc = list_marks(trace, tokens, &marks);
	if (rc == SEAM_OK)
		rc = find(trace, tokens, &marks, ret_period);
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

enum seam_rc seam__period_given(const struct seam_trace *trace, const struct seam_tokens *tokens, uint64_t first_event,
	uint64_t last_event, struct seam_trace_error *error, struct seam_period *ret_period)
{
	uint32_t first;
	uint32_t last;

	if (first_event >= last_event || last_event > trace->header.event_count) {
		seam__trace_error_set(error, first_event,
			"the period of events %llu to %llu is empty or ends behind the trace's "
			"%llu events",
			(unsigned long long)first_event, (unsigned long long)last_event,
			(unsigned long long)trace->header.event_count);
		return SEAM_INVALID;
	}
	first = seam__tokens_before(tokens, first_event);
	last = seam__tokens_before(tokens, last_event);
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
