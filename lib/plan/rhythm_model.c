/* rhythm_model.c: see rhythm_model.h. */
#include "rhythm_model.h"

#include <stdlib.h>

#include "check.h"
#include "idmap.h"
#include "meta.h"

/* What happens in a repetition: a column's allocation or its free. */
struct token {
	uint32_t gap;
	uint32_t order;  /* of frees in a gap */
	uint32_t column;
	bool alloc;      /* behind the frees of its gap */
};

struct block {
	uint64_t id;         /* 0: none; ids of blocks here are at least 1, of residents usually */
	uint64_t size_bytes; /* a resident's may be another than its column's */
};

struct writer {
	const struct seam__columns *columns;
	struct seam_trace_builder *builder;
	struct seam_idmap taken;    /* ids of residents */
	struct seam_idmap modules;  /* string of the recording -> string of the model */
	struct seam_grow tokens;    /* struct token */
	struct block *blocks;       /* [column][ring of `lags` repetitions] */
	uint32_t lags;              /* the largest lag and one more */
	uint64_t next_id;
	uint64_t events;
};

static int compare_tokens(const void *left, const void *right)
{
	const struct token *a = left;
	const struct token *b = right;

	if (a->gap != b->gap)
		return a->gap < b->gap ? -1 : 1;
	if (a->alloc != b->alloc)
		return a->alloc ? 1 : -1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return (a->column > b->column) - (a->column < b->column);
}

static enum seam_rc list_tokens(struct writer *writer)
{
	const struct seam__columns *columns = writer->columns;
	enum seam_rc rc = seam__grow_reserve(&writer->tokens, columns->items.count * 2);

	writer->lags = 1;
	for (uint32_t c = 0; rc == SEAM_OK && c < columns->items.count; c++) {
		const struct seam__column *column = seam__column_at(columns, c);
		const struct token pair[2] = {{.gap = c, .column = c, .alloc = true},
		                              {.gap = column->gap, .order = column->order, .column = c}};

		if (column->left_out)
			continue;
		rc = seam__grow_append(&writer->tokens, pair, 2);
		writer->lags = column->lag >= writer->lags ? column->lag + 1 : writer->lags;
	}
	if (rc == SEAM_OK && writer->tokens.count > 0)
		qsort(writer->tokens.items, writer->tokens.count, sizeof(struct token), compare_tokens);
	return rc;
}

/* The block of a column in repetition `repetition`, counted from 1; those before the first are below 1. */
static struct block *block_of(const struct writer *writer, uint32_t column, int64_t repetition)
{
	return &writer->blocks[(size_t)column * writer->lags + (size_t)(repetition + writer->lags) % writer->lags];
}

static enum seam_rc module_of(struct writer *writer, uint32_t string, uint32_t *ret_string)
{
	uint64_t *known;
	enum seam_rc rc;

	*ret_string = 0;
	if (string == 0)
		return SEAM_OK;
	rc = seam__idmap_put(&writer->modules, string, &known);
	if (rc == SEAM_OK && known[0] == 0) {
		rc = seam_trace_builder_string(writer->builder, seam_trace_string(writer->columns->rows->trace, string), ret_string);
		known[0] = *ret_string;
	}
	if (rc == SEAM_OK)
		*ret_string = (uint32_t)known[0];
	return rc;
}

static enum seam_rc emit(struct writer *writer, struct seam_trace_event event)
{
	enum seam_rc rc = module_of(writer, event.module, &event.module);

	event.time_ns = writer->events++;
	return rc == SEAM_OK ? seam_trace_builder_add(writer->builder, &event) : rc;
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
	const struct seam__rows *rows = writer->columns->rows;
	struct seam_trace_event event = rows->trace->events[seam__request_at(rows->requests, request)->alloc];

	event.phase = 0;
	event.aux = 0;
	return event;
}

/* Whether the block of `request` stands before the repetitions. */
static bool stays(const struct writer *writer, uint32_t number)
{
	const struct seam__columns *columns = writer->columns;
	const struct seam__request *request = seam__request_at(columns->rows->requests, number);
	uint32_t member;
	uint32_t column;

	if (request->free < columns->members[0].last_event)
		return false;
	column = seam__columns_find(columns, number, &member);
	if (column != SEAM__COLUMN_NONE && member < seam__column_at(columns, column)->lag)
		return true;
	return request->free == SEAM__EVENT_NONE;
}

static enum seam_rc emit_resident(struct writer *writer, uint32_t number)
{
	const struct seam__columns *columns = writer->columns;
	struct seam_trace_event event = alloc_of(writer, number);
	uint32_t member;
	uint32_t column = seam__columns_find(columns, number, &member);
	uint64_t *unused;
	enum seam_rc rc = seam__idmap_put(&writer->taken, event.id, &unused);

	event.flags |= SEAM_TRACE_RESIDENT;
	if (column != SEAM__COLUMN_NONE && member < seam__column_at(columns, column)->lag)
		*block_of(writer, column, -(int64_t)member) = (struct block){.id = event.id, .size_bytes = event.size};
	return rc == SEAM_OK ? emit(writer, event) : rc;
}

static enum seam_rc emit_residents(struct writer *writer)
{
	enum seam_rc rc = SEAM_OK;

	for (uint32_t i = 0; rc == SEAM_OK && i < writer->columns->members[0].last_request; i++)
		if (stays(writer, i))
			rc = emit_resident(writer, i);
	return rc;
}

static enum seam_rc emit_alloc(struct writer *writer, uint32_t number, int64_t repetition)
{
	const struct seam__requests *requests = writer->columns->rows->requests;
	const struct seam__column *column = seam__column_at(writer->columns, number);
	const struct seam__request *source = seam__request_at(requests, column->source);
	const uint32_t *uses = requests->uses.items;
	struct seam_trace_event event = alloc_of(writer, column->source);
	enum seam_rc rc;

	event.id = fresh_id(writer);
	event.flags &= (uint8_t)~SEAM_TRACE_RESIDENT;
	if (column->dynamic)
		event.flags |= SEAM_TRACE_DYNAMIC;
	*block_of(writer, number, repetition) = (struct block){.id = event.id, .size_bytes = event.size};
	rc = emit(writer, event);
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
	const struct seam__column *column = seam__column_at(writer->columns, number);
	struct seam_trace_event event = alloc_of(writer, column->source);
	struct block *block = block_of(writer, number, repetition - column->lag);

	if (block->id == 0)
		return SEAM_OK; /* of before the first repetition, and not there */
	event.kind = SEAM_TRACE_FREE;
	event.flags = 0;
	event.id = block->id;
	event.size = block->size_bytes;
	event.module = 0;
	*block = (struct block){.id = 0};
	if (column->freer != SEAM__REQUEST_NONE) {
		const struct seam__request *freer = seam__request_at(writer->columns->rows->requests, column->freer);

		event.thread = freer->free_thread;
		event.module = freer->free_module;
	}
	return emit(writer, event);
}

static enum seam_rc emit_repetition(struct writer *writer, int64_t repetition, bool marked)
{
	const struct token *tokens = writer->tokens.items;
	enum seam_rc rc = SEAM_OK;

	for (size_t i = 0; rc == SEAM_OK && i < writer->tokens.count; i++)
		rc = tokens[i].alloc ? emit_alloc(writer, tokens[i].column, repetition) : emit_free(writer, tokens[i].column, repetition);
	if (rc == SEAM_OK && marked)
		rc = emit(writer, (struct seam_trace_event){.kind = SEAM_TRACE_STEP, .id = (uint64_t)repetition - 1});
	return rc;
}

static enum seam_rc write_all(struct writer *writer, bool marked, uint64_t *ret_first, uint64_t *ret_last)
{
	int64_t repetitions;
	uint64_t first = 0;
	enum seam_rc rc = list_tokens(writer);
	size_t cells = (writer->columns->items.count + 1) * writer->lags;

	if (rc != SEAM_OK)
		return rc;
	writer->blocks = seam__meta_array(seam__meta_process(), cells, sizeof(*writer->blocks));
	if (writer->blocks == NULL)
		return SEAM_OOM_META;
	repetitions = (int64_t)writer->lags + 1;
	rc = emit_residents(writer);
	for (int64_t r = 1; rc == SEAM_OK && r <= repetitions; r++) {
		first = writer->events;
		rc = emit_repetition(writer, r, marked);
	}
	seam__meta_free(seam__meta_process(), writer->blocks, cells * sizeof(*writer->blocks));
	if (rc == SEAM_OK) {
		*ret_first = first;
		*ret_last = writer->events;
	}
	return rc;
}

enum seam_rc seam__model_make(const struct seam__columns *columns, bool marked, struct seam_trace **ret_trace,
                              uint64_t *ret_first, uint64_t *ret_last)
{
	struct writer writer = {.columns = columns};
	uint64_t first;
	uint64_t last;
	enum seam_rc rc = seam_trace_builder_create("model of a rhythm", columns->rows->trace->header.device, &writer.builder);

	if (rc != SEAM_OK)
		return rc;
	seam__idmap_init(&writer.taken);
	seam__idmap_init(&writer.modules);
	seam__grow_init(&writer.tokens, sizeof(struct token));
	rc = write_all(&writer, marked, &first, &last);
	if (rc == SEAM_OK)
		rc = seam_trace_builder_finish(writer.builder, NULL, ret_trace);
	SEAM_VERIFY(rc != SEAM_CORRUPT);
	seam__grow_fini(&writer.tokens);
	seam__idmap_fini(&writer.modules);
	seam__idmap_fini(&writer.taken);
	seam_trace_builder_destroy(writer.builder);
	if (rc == SEAM_OK) {
		*ret_first = first;
		*ret_last = last;
	}
	return rc;
}
