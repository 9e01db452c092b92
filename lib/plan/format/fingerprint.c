/* fingerprint.c: the number that tells whether a plan was made from this workload; what it covers stands in
 * seam/plan.h.
 *
 * Blocks and events are told by how long ago they were made, streams and threads by the order of their appearance: so
 * two runs of one program have one fingerprint, whatever addresses and handles they were given. No locks: it reads an
 * immutable trace.
 */
#include <stdbool.h>

#include <seam/plan.h>

#include "checksum.h"
#include "idmap.h"

struct reader {
	uint64_t allocations;      /* so far in the trace */
	uint64_t records;          /* EVENT_RECORDs so far */
	struct seam_idmap blocks;  /* live block -> number of its allocation, from 1 */
	struct seam_idmap events;  /* event -> number of its last record, from 1 */
	struct seam_idmap streams; /* stream -> 1 + its number; in the stretch only, as threads */
	struct seam_idmap threads;
	XXH64_state_t state;
};

struct record {
	uint64_t kind;
	uint64_t size;
	uint64_t stream;
	uint64_t thread;
	uint64_t ago;
};

_Static_assert(sizeof(struct record) == 40, "a record is five values without padding");

static bool is_covered(unsigned kind)
{
	return kind == SEAM_TRACE_ALLOC || kind == SEAM_TRACE_FREE || kind == SEAM_TRACE_RECORD_STREAM ||
		kind == SEAM_TRACE_EVENT_RECORD || kind == SEAM_TRACE_EVENT_WAIT || kind == SEAM_TRACE_STREAM_SYNC ||
		kind == SEAM_TRACE_DEVICE_SYNC;
}

/* Keeps the maps of blocks and events, and says how long ago the one that this event names was made. */
static enum seam_rc follow(struct reader *reader, const struct seam_trace_event *event, uint64_t *ret_ago)
{
	const uint64_t *values;
	*ret_ago = 0;
	switch (event->kind) {
	case SEAM_TRACE_ALLOC:
		return seam__idmap_set(&reader->blocks, event->id, ++reader->allocations);
	case SEAM_TRACE_FREE:
	case SEAM_TRACE_RECORD_STREAM:
		values = seam__idmap_find(&reader->blocks, event->id);
		*ret_ago = values == NULL ? 0 : reader->allocations + 1 - values[0];
		if (event->kind == SEAM_TRACE_FREE)
			seam__idmap_remove(&reader->blocks, event->id);
		return SEAM_OK;
	case SEAM_TRACE_EVENT_RECORD:
		return seam__idmap_set(&reader->events, event->id, ++reader->records);
	case SEAM_TRACE_EVENT_WAIT:
		values = seam__idmap_find(&reader->events, event->id);
		*ret_ago = values == NULL ? 0 : reader->records + 1 - values[0];
		return SEAM_OK;
	default:
		return SEAM_OK;
	}
}

static enum seam_rc cover(struct reader *reader, const struct seam_trace_event *event, uint64_t ago)
{
	const bool dynamic = event->kind == SEAM_TRACE_ALLOC && (event->flags & SEAM_TRACE_DYNAMIC) != 0;
	struct record record = {.kind = event->kind + (dynamic ? 256u : 0u), .ago = ago};
	if (event->kind == SEAM_TRACE_ALLOC && !dynamic)
		record.size = event->size;
	uint32_t thread = 0, stream = 0;
	enum seam_rc rc = seam__idmap_number(&reader->threads, event->thread, &thread);
	if (rc == SEAM_OK && event->kind != SEAM_TRACE_DEVICE_SYNC)
		rc = seam__idmap_number(&reader->streams, event->stream, &stream);
	record.thread = thread;
	record.stream = stream;
	if (rc == SEAM_OK)
		(void)XXH64_update(&reader->state, &record, sizeof(record));
	return rc;
}

static enum seam_rc read_events(
	struct reader *reader, const struct seam_trace *trace, uint64_t first_event, uint64_t last_event)
{
	enum seam_rc rc = SEAM_OK;
	for (uint64_t i = 0; rc == SEAM_OK && i < last_event; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		uint64_t ago;
		rc = follow(reader, event, &ago);
		if (rc == SEAM_OK && i >= first_event && is_covered(event->kind))
			rc = cover(reader, event, ago);
	}
	return rc;
}

enum seam_rc seam_plan_fingerprint(
	const struct seam_trace *trace, uint64_t first_event, uint64_t last_event, uint64_t *ret_fingerprint)
{
	if (trace == NULL || ret_fingerprint == NULL || first_event > last_event ||
		last_event > trace->header.event_count)
		return SEAM_INVALID;
	struct reader reader = {0};
	seam__idmap_init(&reader.blocks);
	seam__idmap_init(&reader.events);
	seam__idmap_init(&reader.streams);
	seam__idmap_init(&reader.threads);
	(void)XXH64_reset(&reader.state, 0);
	enum seam_rc rc = read_events(&reader, trace, first_event, last_event);
	if (rc == SEAM_OK)
		*ret_fingerprint = XXH64_digest(&reader.state);
	seam__idmap_fini(&reader.threads);
	seam__idmap_fini(&reader.streams);
	seam__idmap_fini(&reader.events);
	seam__idmap_fini(&reader.blocks);
	return rc;
}
