/* verify_seen.c: what the trace around the stretch shows of what crosses its ends.
 *
 * Behind the stretch the trace may go on with further repetitions, and before it there may have been some. As far as
 * the requests there are those of the stretch again, a block that crosses an end is seen whole, and its lifetime must
 * be what the plan says. Requests of dynamic size are left out, as their number may differ. Where the two sides differ
 * (a program that takes turns), either will do.
 */
#include "verify.h"

#define NOBODY SEAM__ACT_NOBODY

struct seer {
	struct seam_acts *acts;
	uint32_t *tokens;    /* events of the stretch: its static allocations and frees */
	uint32_t *positions; /* per event of the stretch: positions before it */
	uint64_t *seen;      /* per slot: an end that was seen, 0 for none, SEEN_RIGHT when it was the plan's */
	uint32_t token_count;
	uint64_t matched; /* tokens before the stretch that repeat it */
};

#define SEEN_RIGHT UINT64_MAX

static bool is_token(const struct seam_acts *acts, uint64_t event)
{
	const struct seam_trace_event *this = &acts->trace->events[event];
	if ((this->kind != SEAM_TRACE_ALLOC && this->kind != SEAM_TRACE_FREE) || this->size == 0)
		return false;
	const uint64_t alloc = this->kind == SEAM_TRACE_ALLOC ? event : acts->partners[event];
	return (acts->trace->events[alloc].flags & SEAM_TRACE_DYNAMIC) == 0;
}

static bool same_token(const struct seam_acts *acts, uint64_t event, uint64_t other)
{
	const struct seam_trace_event *a = &acts->trace->events[event];
	const struct seam_trace_event *b = &acts->trace->events[other];
	return a->kind == b->kind && a->size == b->size && a->stream == b->stream && a->thread == b->thread;
}

static void see(struct seer *seer, uint32_t slot, uint64_t end)
{
	const uint64_t planned = seer->acts->plan->slots[slot].end;
	if (end == planned)
		seer->seen[slot] = SEEN_RIGHT;
	else if (seer->seen[slot] == 0)
		seer->seen[slot] = end;
}

/* Slots of the stretch whose blocks are freed behind it. */
static void look_behind(struct seer *seer)
{
	const struct seam_acts *acts = seer->acts;
	const struct seam_plan_header *header = &acts->plan->header;
	uint64_t token = 0;
	for (uint64_t event = header->last_event; event < acts->trace->header.event_count; event++) {
		if (!is_token(acts, event))
			continue;
		const uint32_t twin = seer->tokens[token % seer->token_count];
		const uint64_t lag = 1 + token / seer->token_count;
		if (!same_token(acts, event, twin) || lag > (uint64_t)header->copies + 1)
			return;
		const uint32_t alloc = acts->partners[event];
		if (acts->trace->events[event].kind == SEAM_TRACE_FREE && alloc >= header->first_event &&
			alloc < header->last_event)
			see(seer, acts->items[alloc - header->first_event].what,
				seer->positions[twin - header->first_event] + lag * header->positions);
		token++;
	}
}

/* Blocks from before the stretch that are freed in it. */
static void look_before(struct seer *seer)
{
	const struct seam_acts *acts = seer->acts;
	const struct seam_plan_header *header = &acts->plan->header;
	uint64_t token = 0; /* counted backwards from the stretch's begin */
	for (uint64_t event = header->first_event; event-- > 0;) {
		if (!is_token(acts, event))
			continue;
		const uint32_t twin = seer->tokens[seer->token_count - 1 - token % seer->token_count];
		const uint64_t lag = 1 + token / seer->token_count;
		if (!same_token(acts, event, twin) || lag > (uint64_t)header->copies + 1)
			break;
		const uint32_t end = acts->partners[event];
		if (acts->trace->events[event].kind == SEAM_TRACE_ALLOC && end >= header->first_event &&
			end < header->last_event)
			see(seer, acts->items[twin - header->first_event].what,
				seer->positions[end - header->first_event] + lag * header->positions);
		token++;
	}
	seer->matched = token;
}

static enum seam_rc judge(const struct seer *seer)
{
	const struct seam_plan *plan = seer->acts->plan;
	for (uint32_t i = 0; i < plan->header.slot_count; i++) {
		if (seer->seen[i] != 0 && seer->seen[i] != SEEN_RIGHT)
			return seam__acts_differ(seer->acts, plan->slots[i].event,
				"slot %u ends at %llu in the trace; the plan says "
				"%u",
				i, (unsigned long long)seer->seen[i], plan->slots[i].end);
	}
	return SEAM_OK;
}

/* Static tokens from `event` up to, but without, `until`. */
static uint64_t tokens_between(const struct seam_acts *acts, uint64_t event, uint64_t until)
{
	uint64_t tokens = 0;
	for (; event < until; event++)
		tokens += is_token(acts, event);
	return tokens;
}

/* The number of the record in the stretch that stands where `record` stood in the repetition before, or NOBODY. */
static uint32_t twin_record(const struct seer *seer, uint64_t record)
{
	const struct seam_acts *acts = seer->acts;
	const struct seam_plan_header *header = &acts->plan->header;
	uint64_t ago = 0; /* records from this one up to the stretch */
	for (uint64_t event = record; event < header->first_event; event++)
		ago += acts->trace->events[event].kind == SEAM_TRACE_EVENT_RECORD &&
			!seam__act_is_captured(&acts->trace->events[event]);
	const uint64_t tokens = tokens_between(acts, record, header->first_event);
	if (ago > acts->record_count || tokens > seer->matched || tokens > seer->token_count)
		return NOBODY;
	for (uint64_t i = 0; i < acts->count; i++) {
		const struct seam_act *act = &acts->items[i];
		const uint64_t event = header->first_event + i;
		if (act->kind != SEAM__ACT_RECORD || act->what != acts->record_count - ago)
			continue;
		const bool same = acts->trace->events[event].stream == acts->trace->events[record].stream &&
			tokens_between(acts, event, header->last_event) == tokens;
		return same ? act->what : NOBODY;
	}
	return NOBODY;
}

/* Waits for a record of before the stretch: for that of the repetition before, if that is seen; else they order
 * nothing. Few waits are such, so looking for each of them is cheap enough. */
static void settle_waits(const struct seer *seer)
{
	struct seam_acts *acts = seer->acts;
	const uint64_t first = acts->plan->header.first_event;
	uint32_t last_record = NOBODY;
	uint32_t last_twin = NOBODY;
	for (uint64_t i = 0; i < acts->count; i++) {
		struct seam_act *act = &acts->items[i];
		if (act->kind != SEAM__ACT_WAIT || act->what != NOBODY)
			continue;
		const uint32_t record = acts->partners[first + i];
		if (record != last_record && record != NOBODY)
			last_twin = twin_record(seer, record);
		last_record = record;
		act->what = last_twin;
		act->lag = 1;
		if (record == NOBODY || last_twin == NOBODY)
			act->kind = SEAM__ACT_NONE;
	}
}

static void find_tokens(struct seer *seer)
{
	const struct seam_acts *acts = seer->acts;
	const uint64_t first = acts->plan->header.first_event;
	uint32_t position = 0;
	for (uint64_t i = 0; i < acts->count; i++) {
		const struct seam_trace_event *event = &acts->trace->events[first + i];
		seer->positions[i] = position;
		position += (event->kind == SEAM_TRACE_ALLOC || event->kind == SEAM_TRACE_FREE) && event->size > 0;
		if (is_token(acts, first + i))
			seer->tokens[seer->token_count++] = (uint32_t)(first + i);
	}
}

enum seam_rc seam__acts_see(struct seam_acts *acts)
{
	const void *mark = seam__region_mark(acts->region);
	struct seer seer = {
		.acts = acts,
		.tokens = seam__region_array(acts->region, (size_t)acts->count, sizeof(uint32_t)),
		.positions = seam__region_array(acts->region, (size_t)acts->count, sizeof(uint32_t)),
		.seen = seam__region_array(acts->region, acts->plan->header.slot_count, sizeof(uint64_t)),
	};
	enum seam_rc rc = SEAM_OOM_META;
	if (seer.tokens != NULL && seer.positions != NULL && seer.seen != NULL) {
		find_tokens(&seer);
		if (seer.token_count > 0 && (acts->plan->header.flags & SEAM_PLAN_LINEAR) == 0) {
			look_behind(&seer);
			look_before(&seer);
		}
		rc = judge(&seer);
		settle_waits(&seer);
	}
	seam__region_release(acts->region, mark);
	return rc;
}
