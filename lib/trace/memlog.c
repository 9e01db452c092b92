/* memlog.c: see memlog.h. Two passes: the first finds the residents, the second writes events. */
#include "memlog.h"

#include "idmap.h"
#include "trace_error.h"

/* values[0] under an address: what is known of it. */
#define GONE 0u /* else 1 + the number of its row, or of its resident above all rows */

struct reader {
	const struct seam_memlog_row *rows;
	size_t count;
	struct seam_idmap addresses;
	struct seam_grow residents; /* uint64_t: rows that free them */
	uint64_t blocks;            /* numbered so far */
	struct seam_trace_builder *builder;
	struct seam_trace_error *error;
};

enum seam_rc seam__memlog_init(struct seam_memlog *memlog, const char *source)
{
	seam__grow_init(&memlog->rows, sizeof(struct seam_memlog_row));
	return seam_trace_builder_create(source, 0, &memlog->builder);
}

void seam__memlog_fini(struct seam_memlog *memlog)
{
	seam_trace_builder_destroy(memlog->builder);
	if (memlog->rows.item_bytes != 0)
		seam__grow_fini(&memlog->rows);
	*memlog = (struct seam_memlog){0};
}

enum seam_rc seam__memlog_add(struct seam_memlog *memlog, const struct seam_trace_event *event, uint64_t line)
{
	const struct seam_memlog_row row = {.event = *event, .line = line};
	return seam__grow_append(&memlog->rows, &row, 1);
}

static enum seam_rc fail(const struct reader *reader, size_t row, const char *what, uint64_t line)
{
	seam__trace_error_set(reader->error, reader->rows[row].line, "line %llu: address 0x%llx %s line %llu",
		(unsigned long long)reader->rows[row].line, (unsigned long long)reader->rows[row].event.id, what,
		(unsigned long long)line);
	return SEAM_CORRUPT;
}

static bool is_block(const struct seam_trace_event *event)
{
	return (event->kind == SEAM_TRACE_ALLOC || event->kind == SEAM_TRACE_FREE) && event->id != 0;
}

/* First pass: values[1] is the row that freed the address last. */
static enum seam_rc judge(struct reader *reader, size_t row)
{
	const struct seam_trace_event *event = &reader->rows[row].event;
	const bool is_new = seam__idmap_find(&reader->addresses, event->id) == NULL;
	const uint64_t number = row;
	uint64_t *values;
	enum seam_rc rc = seam__idmap_put(&reader->addresses, event->id, &values);
	if (rc != SEAM_OK)
		return rc;
	if (event->kind == SEAM_TRACE_ALLOC) {
		if (values[0] != GONE)
			return fail(reader, row, "is allocated again, and not freed since",
				reader->rows[values[0] - 1].line);
		values[0] = number + 1;
		return SEAM_OK;
	}
	if (values[0] != GONE && reader->rows[values[0] - 1].event.size != event->size)
		return fail(reader, row, "is freed with another size than it was allocated with in",
			reader->rows[values[0] - 1].line);
	if (values[0] == GONE && !is_new)
		return fail(reader, row, "is freed again, as in", reader->rows[values[1]].line);
	if (is_new)
		rc = seam__grow_append(&reader->residents, &number, 1);
	values[0] = GONE;
	values[1] = number;
	return rc;
}

/* Second pass: values are the block's number and its allocation's stream. */
static enum seam_rc emit_alloc(struct reader *reader, const struct seam_trace_event *event, unsigned flags)
{
	struct seam_trace_event alloc = *event;
	uint64_t *values;
	enum seam_rc rc = seam__idmap_put(&reader->addresses, event->id, &values);
	if (rc != SEAM_OK)
		return rc;
	values[0] = ++reader->blocks;
	values[1] = event->stream;
	alloc.kind = SEAM_TRACE_ALLOC;
	alloc.id = values[0];
	alloc.flags = (uint8_t)flags;
	return seam_trace_builder_add(reader->builder, &alloc);
}

static enum seam_rc emit_free(struct reader *reader, const struct seam_trace_event *event)
{
	const uint64_t *values = seam__idmap_find(&reader->addresses, event->id);
	struct seam_trace_event free = *event;
	enum seam_rc rc = SEAM_OK;
	free.id = values[0];
	free.flags = 0;
	if (event->stream != values[1]) {
		free.kind = SEAM_TRACE_RECORD_STREAM;
		rc = seam_trace_builder_add(reader->builder, &free);
		free.kind = SEAM_TRACE_FREE;
		free.stream = values[1];
	}
	return rc == SEAM_OK ? seam_trace_builder_add(reader->builder, &free) : rc;
}

static enum seam_rc emit_residents(struct reader *reader)
{
	const uint64_t *rows = reader->residents.items;
	enum seam_rc rc = SEAM_OK;
	for (size_t r = 0; rc == SEAM_OK && r < reader->residents.count; r++) {
		const struct seam_trace_event *free = &reader->rows[rows[r]].event;
		const struct seam_trace_event alloc = {.id = free->id, .size = free->size, .stream = free->stream};
		rc = emit_alloc(reader, &alloc, SEAM_TRACE_RESIDENT);
	}
	return rc;
}

static enum seam_rc emit(struct reader *reader, const struct seam_trace_event *event)
{
	if (event->kind == SEAM_TRACE_ALLOC)
		return event->id == 0 ? SEAM_OK : emit_alloc(reader, event, event->flags);
	if (event->kind == SEAM_TRACE_FREE)
		return event->id == 0 ? SEAM_OK : emit_free(reader, event);
	return seam_trace_builder_add(reader->builder, event);
}

enum seam_rc seam__memlog_finish(
	struct seam_memlog *memlog, struct seam_trace_error *error, struct seam_trace **ret_trace)
{
	struct reader reader = {
		.rows = memlog->rows.items, .count = memlog->rows.count, .builder = memlog->builder, .error = error};
	enum seam_rc rc = SEAM_OK;
	seam__idmap_init(&reader.addresses);
	seam__grow_init(&reader.residents, sizeof(uint64_t));
	for (size_t i = 0; rc == SEAM_OK && i < reader.count; i++) {
		if (is_block(&reader.rows[i].event))
			rc = judge(&reader, i);
	}
	seam__idmap_fini(&reader.addresses);
	seam__idmap_init(&reader.addresses);
	if (rc == SEAM_OK)
		rc = emit_residents(&reader);
	for (size_t i = 0; rc == SEAM_OK && i < reader.count; i++)
		rc = emit(&reader, &reader.rows[i].event);
	if (rc == SEAM_OK)
		rc = seam_trace_builder_finish(reader.builder, error, ret_trace);
	else if (rc == SEAM_OOM_META)
		(void)seam__trace_error_rc(error, rc);
	seam__grow_fini(&reader.residents);
	seam__idmap_fini(&reader.addresses);
	return rc;
}
