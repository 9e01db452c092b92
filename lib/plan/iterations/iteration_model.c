/* iteration_model.c: see iteration_model.h. */
#include "iteration_model.h"

#include <stdlib.h>
#include <string.h>

#include "idmap.h"
#include "region.h"

/* What happens in a repetition: an aligned request's allocation or its free, or the newest member's beginning or end of
 * a phase.
 */
struct entry {
	uint32_t gap;
	uint32_t order; /* of frees and phases in a gap: the event in the newest member, or SEAM__EVENT_NONE */
	uint32_t aligned_request; /* SEAM__ALIGNED_NONE: a phase */
	bool alloc;               /* behind all else of its gap */
};

struct block {
	uint64_t id;         /* 0: none; ids of blocks here are at least 1, of residents usually */
	uint64_t size_bytes; /* a resident's may be another than its aligned request's */
};

struct writer {
	const struct seam_aligned_requests *aligned;
	struct seam_trace_builder *builder;
	struct seam_idmap taken;   /* ids of residents */
	struct seam_idmap strings; /* of the recording -> of the model */
	struct seam_idmap phases;  /* name, a string of the recording -> number in the model */
	struct seam_grow open; /* uint32_t: names of the phases that are open in the model, strings of the recording */
	struct seam_grow entries; /* struct token */
	struct block *blocks;     /* [aligned request][ring of `lags` repetitions] */
	uint32_t lags;            /* the largest lag and one more */
	uint64_t next_id;
	uint64_t events;
	uint64_t stays_bytes; /* of residents that no repetition frees */
};

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left;
	const struct entry *b = right;

	if (a->gap != b->gap)
		return a->gap < b->gap ? -1 : 1;
	if (a->alloc != b->alloc)
		return a->alloc ? 1 : -1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return (a->aligned_request > b->aligned_request) - (a->aligned_request < b->aligned_request);
}

static enum seam_rc list_entries(struct writer *writer)
{
	const struct seam_aligned_requests *aligned = writer->aligned;
	enum seam_rc rc = seam__grow_reserve(&writer->entries, aligned->count * 2);

	writer->lags = 1;
	for (uint32_t c = 0; rc == SEAM_OK && c < aligned->count; c++) {
		const struct seam_aligned_request *aligned_request = seam__aligned_at(aligned, c);
		const struct entry pair[2] = {{.gap = c, .aligned_request = c, .alloc = true},
			{.gap = aligned_request->gap, .order = aligned_request->order, .aligned_request = c}};

		if (aligned_request->left_out)
			continue;
		rc = seam__grow_append(&writer->entries, pair, 2);
		writer->lags = aligned_request->lag >= writer->lags ? aligned_request->lag + 1 : writer->lags;
	}
	if (rc == SEAM_OK && writer->entries.count > 0)
		qsort(writer->entries.items, writer->entries.count, sizeof(struct entry), compare_entries);
	return rc;
}

/* The block of an aligned request in repetition `repetition`, counted from 1; those before the first are below 1. */
static struct block *block_of(const struct writer *writer, uint32_t aligned_request, int64_t repetition)
{
	return &writer->blocks[(size_t)aligned_request * writer->lags +
		(size_t)(repetition + writer->lags) % writer->lags];
}

static enum seam_rc string_of(struct writer *writer, uint32_t string, uint32_t *ret_string)
{
	uint64_t *known;

	*ret_string = 0;
	if (string == 0)
		return SEAM_OK;
	enum seam_rc rc = seam__idmap_put(&writer->strings, string, &known);
	if (rc == SEAM_OK && known[0] == 0) {
		rc = seam_trace_builder_string(
			writer->builder, seam_trace_string(writer->aligned->sequences->trace, string), ret_string);
		known[0] = *ret_string;
	}
	if (rc == SEAM_OK)
		*ret_string = (uint32_t)known[0];
	return rc;
}

static enum seam_rc emit(struct writer *writer, struct seam_trace_event event)
{
	enum seam_rc rc = string_of(writer, event.module, &event.module);
	const uint32_t *open = writer->open.items;

	if (rc == SEAM_OK && writer->open.count > 0)
		event.phase = (uint16_t)*seam__idmap_find(&writer->phases, open[writer->open.count - 1]);
	event.time_ns = writer->events++;
	return rc == SEAM_OK ? seam_trace_builder_add(writer->builder, &event) : rc;
}

/* name: a string of the recording. */
static enum seam_rc begin_phase(struct writer *writer, uint32_t name)
{
	struct seam_trace_event event = {.kind = SEAM_TRACE_PHASE_BEGIN};
	uint32_t number;
	enum seam_rc rc = seam__idmap_number(&writer->phases, name, &number);

	if (rc == SEAM_OK)
		rc = seam__grow_append(&writer->open, &name, 1);
	if (rc == SEAM_OK)
		rc = string_of(writer, name, &event.aux);
	return rc == SEAM_OK ? emit(writer, event) : rc;
}

/* The innermost one. */
static enum seam_rc end_phase(struct writer *writer)
{
	struct seam_trace_event event = {.kind = SEAM_TRACE_PHASE_END};
	const uint32_t *open = writer->open.items;
	enum seam_rc rc = string_of(writer, open[writer->open.count - 1], &event.aux);

	if (rc == SEAM_OK)
		rc = emit(writer, event);
	writer->open.count--;
	return rc;
}

/* The phases that are open before `event` of the recording, outermost first, appended to `open` (uint32_t: names). */
static enum seam_rc list_open(const struct writer *writer, uint32_t event, struct seam_grow *open)
{
	const struct seam_trace_event *events = writer->aligned->sequences->trace->events;
	enum seam_rc rc = SEAM_OK;

	for (uint32_t e = 0; rc == SEAM_OK && e < event; e++) {
		if (events[e].kind == SEAM_TRACE_PHASE_BEGIN)
			rc = seam__grow_append(open, &events[e].aux, 1);
		else if (events[e].kind == SEAM_TRACE_PHASE_END)
			open->count--;
	}
	return rc;
}

/* Tokens for the newest member's phases, if as many are open behind it as before it and the same ones. ret_open: those.
 */
static enum seam_rc list_phases(struct writer *writer, struct seam_grow *ret_open)
{
	const struct seam_aligned_requests *aligned = writer->aligned;
	const struct seam_thread_stretch *newest = &aligned->members[0];
	const struct seam_trace_event *events = aligned->sequences->trace->events;
	struct seam_grow behind;
	bool same = false;

	seam__grow_init(&behind, sizeof(uint32_t));
	enum seam_rc rc = list_open(writer, newest->first_event, ret_open);
	if (rc == SEAM_OK)
		rc = list_open(writer, newest->last_event, &behind);
	if (rc == SEAM_OK)
		same = behind.count == ret_open->count &&
			(behind.count == 0 ||
				memcmp(behind.items, ret_open->items, behind.count * sizeof(uint32_t)) == 0);
	seam__grow_fini(&behind);
	if (!same)
		ret_open->count = 0;
	for (uint32_t e = newest->first_event; same && rc == SEAM_OK && e < newest->last_event; e++) {
		const uint32_t before = seam__sequences_request(aligned->sequences, e) - newest->first_request;
		const struct entry entry = {
			.gap = aligned->gap_behind[0][before], .order = e, .aligned_request = SEAM__ALIGNED_NONE};

		if (events[e].kind == SEAM_TRACE_PHASE_BEGIN || events[e].kind == SEAM_TRACE_PHASE_END)
			rc = seam__grow_append(&writer->entries, &entry, 1);
	}
	return rc;
}

static uint64_t fresh_id(struct writer *writer)
{
	do
		writer->next_id++;
	while (seam__idmap_find(&writer->taken, writer->next_id) != NULL);
	return writer->next_id;
}

/* As the recording has it, but for what the model has not. */
static struct seam_trace_event alloc_of(const struct writer *writer, uint32_t request)
{
	const struct seam_sequences *sequences = writer->aligned->sequences;
	struct seam_trace_event event = sequences->trace->events[seam__request_at(sequences->requests, request)->alloc];

	event.phase = 0;
	event.aux = 0;
	return event;
}

/* Whether the block of `request` stands before the repetitions. */
static bool stays(const struct writer *writer, uint32_t number)
{
	const struct seam_aligned_requests *aligned = writer->aligned;
	const struct seam_traced_request *request = seam__request_at(aligned->sequences->requests, number);
	uint32_t member;

	if (request->free < aligned->members[0].last_event)
		return false;
	uint32_t aligned_request = seam__aligned_find(aligned, number, &member);
	if (aligned_request != SEAM__ALIGNED_NONE && member < seam__aligned_at(aligned, aligned_request)->lag)
		return true;
	return request->free == SEAM__EVENT_NONE;
}

static enum seam_rc emit_resident(struct writer *writer, uint32_t number)
{
	const struct seam_aligned_requests *aligned = writer->aligned;
	struct seam_trace_event event = alloc_of(writer, number);
	uint32_t member;
	uint32_t aligned_request = seam__aligned_find(aligned, number, &member);
	enum seam_rc rc = seam__idmap_set(&writer->taken, event.id, 0);

	event.flags |= SEAM_TRACE_RESIDENT;
	if (aligned_request != SEAM__ALIGNED_NONE && member < seam__aligned_at(aligned, aligned_request)->lag)
		*block_of(writer, aligned_request, -(int64_t)member) =
			(struct block){.id = event.id, .size_bytes = event.size};
	else
		writer->stays_bytes += event.size;
	return rc == SEAM_OK ? emit(writer, event) : rc;
}

static enum seam_rc emit_residents(struct writer *writer)
{
	enum seam_rc rc = SEAM_OK;

	for (uint32_t i = 0; rc == SEAM_OK && i < writer->aligned->members[0].last_request; i++)
		if (stays(writer, i))
			rc = emit_resident(writer, i);
	return rc;
}

static enum seam_rc emit_alloc(struct writer *writer, uint32_t number, int64_t repetition)
{
	const struct seam_traced_requests *requests = writer->aligned->sequences->requests;
	const struct seam_aligned_request *aligned_request = seam__aligned_at(writer->aligned, number);
	const struct seam_traced_request *source = seam__request_at(requests, aligned_request->source);
	const uint32_t *uses = requests->uses.items;
	struct seam_trace_event event = alloc_of(writer, aligned_request->source);

	event.id = fresh_id(writer);
	event.flags &= (uint8_t)~SEAM_TRACE_RESIDENT;
	if (aligned_request->dynamic)
		event.flags |= SEAM_TRACE_DYNAMIC;
	*block_of(writer, number, repetition) = (struct block){.id = event.id, .size_bytes = event.size};
	enum seam_rc rc = emit(writer, event);
	event.kind = SEAM_TRACE_RECORD_STREAM;
	event.flags = 0;
	for (uint32_t u = 0; rc == SEAM_OK && u < source->use_count; u++) {
		event.stream = seam__stream_at(requests, uses[source->first_use + u])->stream;
		rc = emit(writer, event);
	}
	return rc;
}

static enum seam_rc emit_free(struct writer *writer, uint32_t number, int64_t repetition)
{
	const struct seam_aligned_request *aligned_request = seam__aligned_at(writer->aligned, number);
	struct seam_trace_event event = alloc_of(writer, aligned_request->source);
	struct block *block = block_of(writer, number, repetition - aligned_request->lag);

	if (block->id == 0)
		return SEAM_OK; /* of before the first repetition, and not there */
	event.kind = SEAM_TRACE_FREE;
	event.flags = 0;
	event.id = block->id;
	event.size = block->size_bytes;
	event.module = 0;
	*block = (struct block){.id = 0};
	if (aligned_request->freer != SEAM__REQUEST_NONE) {
		const struct seam_traced_request *freer =
			seam__request_at(writer->aligned->sequences->requests, aligned_request->freer);

		event.thread = freer->free_thread;
		event.module = freer->free_module;
	}
	return emit(writer, event);
}

static enum seam_rc emit_entry(struct writer *writer, const struct entry *entry, int64_t repetition)
{
	const struct seam_trace_event *event;

	if (entry->aligned_request == SEAM__ALIGNED_NONE) {
		event = &writer->aligned->sequences->trace->events[entry->order];
		return event->kind == SEAM_TRACE_PHASE_BEGIN ? begin_phase(writer, event->aux) : end_phase(writer);
	}
	return entry->alloc ? emit_alloc(writer, entry->aligned_request, repetition)
			    : emit_free(writer, entry->aligned_request, repetition);
}

static enum seam_rc emit_repetition(struct writer *writer, int64_t repetition, bool marked)
{
	const struct entry *entries = writer->entries.items;
	enum seam_rc rc = SEAM_OK;

	for (size_t i = 0; rc == SEAM_OK && i < writer->entries.count; i++)
		rc = emit_entry(writer, &entries[i], repetition);
	if (rc == SEAM_OK && marked)
		rc = emit(writer, (struct seam_trace_event){.kind = SEAM_TRACE_STEP, .id = (uint64_t)repetition - 1});
	return rc;
}

static enum seam_rc write_repetitions(
	struct writer *writer, const struct seam_grow *open, bool marked, uint64_t *ret_first)
{
	const uint32_t *names = open->items;
	enum seam_rc rc = emit_residents(writer);

	for (size_t i = 0; rc == SEAM_OK && i < open->count; i++)
		rc = begin_phase(writer, names[i]);
	for (int64_t r = 1; rc == SEAM_OK && r <= (int64_t)writer->lags + 1; r++) {
		*ret_first = writer->events;
		rc = emit_repetition(writer, r, marked);
	}
	return rc;
}

static enum seam_rc write_all(struct writer *writer, bool marked, uint64_t *ret_first)
{
	struct seam_grow open;

	seam__grow_init(&open, sizeof(uint32_t));
	enum seam_rc rc = list_phases(writer, &open);
	if (rc == SEAM_OK)
		rc = list_entries(writer);
	if (rc == SEAM_OK) {
		writer->blocks = seam__region_array(writer->aligned->sequences->region,
			(size_t)writer->aligned->count * writer->lags, sizeof(*writer->blocks));
		rc = writer->blocks != NULL ? write_repetitions(writer, &open, marked, ret_first) : SEAM_OOM_META;
	}
	seam__grow_fini(&open);
	return rc;
}

enum seam_rc seam__model_make(const struct seam_aligned_requests *aligned, bool marked, struct seam_trace **ret_trace,
	uint64_t *ret_first, uint64_t *ret_last, uint64_t *ret_stays_bytes)
{
	struct writer writer = {.aligned = aligned};
	uint64_t first = 0;
	enum seam_rc rc = seam_trace_builder_create(
		"model of iterations", aligned->sequences->trace->header.device, &writer.builder);

	if (rc != SEAM_OK)
		return rc;
	seam__idmap_init(&writer.taken);
	seam__idmap_init(&writer.strings);
	seam__idmap_init(&writer.phases);
	seam__grow_init(&writer.open, sizeof(uint32_t));
	seam__grow_init(&writer.entries, sizeof(struct entry));
	rc = write_all(&writer, marked, &first);
	if (rc == SEAM_OK)
		rc = seam_trace_builder_finish(writer.builder, NULL, ret_trace);
	seam__grow_fini(&writer.entries);
	seam__grow_fini(&writer.open);
	seam__idmap_fini(&writer.phases);
	seam__idmap_fini(&writer.strings);
	seam__idmap_fini(&writer.taken);
	seam_trace_builder_destroy(writer.builder);
	if (rc == SEAM_OK) {
		*ret_first = first;
		*ret_last = writer.events;
		*ret_stays_bytes = writer.stays_bytes;
	}
	return rc;
}
