/* edges.c: see edges.h. */
#include "edges.h"

#include "idmap.h"

bool seam__edges_any(const struct seam_trace *trace, uint64_t first_event, uint64_t last_event)
{
	for (uint64_t e = first_event; e < last_event; e++)
		if (seam__edges_is_one(&trace->events[e]))
			return true;
	return false;
}

/* How many records ago the event was recorded that is waited for; UINT64_MAX: before the stretch. */
static enum seam_rc records_ago(
	struct seam_idmap *recorded, const struct seam_trace_event *event, uint64_t *records, uint64_t *ret_ago)
{
	*ret_ago = 0;
	if (event->kind == SEAM_TRACE_EVENT_RECORD)
		return seam__idmap_set(recorded, event->id, (*records)++);
	if (event->kind == SEAM_TRACE_EVENT_WAIT) {
		const uint64_t *values = seam__idmap_find(recorded, event->id);
		*ret_ago = values == NULL ? UINT64_MAX : *records - values[0];
	}
	return SEAM_OK;
}

enum seam_rc seam__edges_hash(
	const struct seam_tokens *tokens, uint64_t first_event, uint64_t last_event, uint64_t *ret_hash)
{
	struct seam_idmap recorded;
	uint32_t begin = seam__tokens_before(tokens, first_event);
	uint32_t token = begin;
	uint64_t records = 0;
	uint64_t hash = 0;
	enum seam_rc rc = SEAM_OK;

	seam__idmap_init(&recorded);
	for (uint64_t e = first_event; rc == SEAM_OK && e < last_event; e++) {
		const struct seam_trace_event *event = &tokens->requests->trace->events[e];
		uint64_t ago;

		if (token < seam__tokens_count(tokens) && seam__tokens_at(tokens, token)->event == e)
			token++;
		if (!seam__edges_is_one(event))
			continue;
		rc = records_ago(&recorded, event, &records, &ago);
		hash = seam__tokens_mix(hash, event->kind);
		hash = seam__tokens_mix(hash, event->kind == SEAM_TRACE_DEVICE_SYNC ? 0 : event->stream);
		hash = seam__tokens_mix(hash, token - begin);
		hash = seam__tokens_mix(hash, ago);
	}
	seam__idmap_fini(&recorded);
	if (rc == SEAM_OK)
		*ret_hash = hash;
	return rc;
}
