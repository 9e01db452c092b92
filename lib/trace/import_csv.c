/* import_csv.c: lifetimes as comma-separated values: id,lower,upper,size[,stream][,offset].
 *
 * The first line names the columns, in any order; `stream` may be missing (0). Ids are any text, each once. A block
 * lives from `lower` until before `upper`, which may be negative (an open interval around time 0 begins at -1): at
 * equal times frees come before allocations, and allocations stand in the order of the lines. `offset` is where
 * somebody placed the block, as MiniMalloc and idealloc write it: a trace has no such thing, so it must be a number and
 * is not used. Lifetimes whose `upper` is the last moment itself (IREE's) cannot be told from these: add 1 to it
 * before. Rows that end at the last time of the file are residents: they are never freed. Those of them that come
 * before every other allocation have the flag RESIDENT. A time unit becomes a nanosecond, counted from the first
 * `lower`. Blocks are numbered from 1 in the order of the lines.
 *
 * Refused, with the number of the line: an unknown, missing or doubled column, a missing or further field, quotes,
 * anything but digits (and a minus before times), a number beyond 64 bits, a size of 0, lower >= upper, an id that
 * stood before. No locks: one call owns everything that it touches.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "hash.h"
#include "import.h"
#include "lines.h"
#include "slab.h"
#include "trace_error.h"

enum column { COLUMN_ID, COLUMN_LOWER, COLUMN_UPPER, COLUMN_SIZE, COLUMN_STREAM, COLUMN_OFFSET, COLUMN_COUNT };

static const char *const column_names[COLUMN_COUNT] = {"id", "lower", "upper", "size", "stream", "offset"};

struct row {
	uint64_t numbers[COLUMN_COUNT]; /* those of COLUMN_ID and COLUMN_OFFSET are not used; times as
					   seam__lines_time() counts */
};

/* An id that was seen. The text stays in the input. */
struct seen_id {
	UT_hash_handle hh;
};

/* When a row's block comes or goes. */
struct moment {
	uint64_t time;
	size_t row;
	bool is_alloc;
};

struct csv {
	struct seam_lines lines;
	enum column columns[COLUMN_COUNT];
	size_t column_count;
	struct seam_grow rows; /* struct row */
	uint64_t last;         /* largest upper so far */
	struct seam_slab ids;  /* struct seen_id */
	struct seen_id *seen;  /* by id */
};

/* Splits at commas; ret_count: up to COLUMN_COUNT + 1, which means too many. */
static void split(struct seam_line_field line, struct seam_line_field *ret_fields, size_t *ret_count)
{
	struct seam_line_field field;
	size_t count = 0;
	for (; count <= COLUMN_COUNT && seam__field_split(&line, ',', &field); count++) {
		if (count < COLUMN_COUNT)
			ret_fields[count] = field;
	}
	*ret_count = count;
}

static enum seam_rc read_column_name(struct csv *csv, struct seam_line_field field)
{
	for (enum column column = 0; column < COLUMN_COUNT; column++) {
		if (!seam__field_is(field, column_names[column]))
			continue;
		for (size_t i = 0; i < csv->column_count; i++) {
			if (csv->columns[i] == column)
				return seam__lines_fail(&csv->lines, "a column stands twice:", field);
		}
		csv->columns[csv->column_count++] = column;
		return SEAM_OK;
	}
	return seam__lines_fail(
		&csv->lines, "the columns are id, lower, upper, size and, if wanted, stream and offset; not", field);
}

static enum seam_rc read_header(struct csv *csv)
{
	struct seam_line_field line = {"", 0};
	struct seam_line_field fields[COLUMN_COUNT];
	size_t count;
	if (!seam__lines_take(&csv->lines, &line)) {
		(void)seam__lines_fail(&csv->lines, "no header", line);
		return SEAM_FORMAT;
	}
	split(line, fields, &count);
	enum seam_rc rc = SEAM_OK;
	for (size_t i = 0; rc == SEAM_OK && i < count && i < COLUMN_COUNT; i++)
		rc = read_column_name(csv, fields[i]);
	if (rc == SEAM_OK && count > COLUMN_COUNT)
		rc = seam__lines_fail(&csv->lines, "more than six columns", (struct seam_line_field){"", 0});
	bool has[COLUMN_COUNT] = {false};
	for (size_t i = 0; i < csv->column_count; i++)
		has[csv->columns[i]] = true;
	for (enum column column = 0; rc == SEAM_OK && column < COLUMN_STREAM; column++) {
		if (!has[column])
			rc = seam__lines_fail(&csv->lines, "a column is missing:",
				(struct seam_line_field){column_names[column], strlen(column_names[column])});
	}
	return rc == SEAM_OK ? SEAM_OK : SEAM_FORMAT;
}

static enum seam_rc remember_id(struct csv *csv, struct seam_line_field field)
{
	struct seam_meta *hash_meta = seam__meta_process();
	bool hash_failed = false;
	struct seen_id *id = NULL;
	if (field.bytes == 0)
		return seam__lines_fail(&csv->lines, "the id is empty", field);
	if (memchr(field.text, '"', field.bytes) != NULL)
		return seam__lines_fail(&csv->lines, "quotes are not read:", field);
	HASH_FIND(hh, csv->seen, field.text, field.bytes, id);
	if (id != NULL)
		return seam__lines_fail(&csv->lines, "this id stood before:", field);
	id = seam__slab_get(&csv->ids);
	if (id == NULL)
		return SEAM_OOM_META;
	*id = (struct seen_id){0};
	HASH_ADD_KEYPTR(hh, csv->seen, field.text, field.bytes, id);
	return hash_failed ? SEAM_OOM_META : SEAM_OK;
}

static enum seam_rc read_row(struct csv *csv, struct seam_line_field line)
{
	struct seam_line_field fields[COLUMN_COUNT];
	struct row row = {{0}};
	size_t count;
	split(line, fields, &count);
	if (count != csv->column_count)
		return seam__lines_fail(&csv->lines, count < csv->column_count ? "too few fields" : "too many fields",
			(struct seam_line_field){"", 0});
	enum seam_rc rc = SEAM_OK;
	for (size_t i = 0; rc == SEAM_OK && i < count; i++) {
		if (csv->columns[i] == COLUMN_ID)
			rc = remember_id(csv, fields[i]);
		else if (csv->columns[i] == COLUMN_LOWER || csv->columns[i] == COLUMN_UPPER)
			rc = seam__lines_time(&csv->lines, fields[i], &row.numbers[csv->columns[i]]);
		else
			rc = seam__lines_decimal(&csv->lines, fields[i], &row.numbers[csv->columns[i]]);
	}
	if (rc != SEAM_OK)
		return rc;
	if (row.numbers[COLUMN_LOWER] >= row.numbers[COLUMN_UPPER])
		return seam__lines_fail(&csv->lines, "lower is not below upper", (struct seam_line_field){"", 0});
	if (row.numbers[COLUMN_SIZE] == 0)
		return seam__lines_fail(&csv->lines, "the size is 0", (struct seam_line_field){"", 0});
	if (row.numbers[COLUMN_UPPER] > csv->last)
		csv->last = row.numbers[COLUMN_UPPER];
	return seam__grow_append(&csv->rows, &row, 1);
}

static enum seam_rc read_rows(struct csv *csv)
{
	struct seam_line_field line;
	enum seam_rc rc = read_header(csv);
	while (rc == SEAM_OK && seam__lines_take(&csv->lines, &line))
		rc = read_row(csv, line);
	return rc;
}

static int compare_moments(const void *left, const void *right)
{
	const struct moment *a = left;
	const struct moment *b = right;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->is_alloc != b->is_alloc)
		return a->is_alloc ? 1 : -1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* In the order of the trace. Rows that end at the last time have no end. */
static enum seam_rc list_moments(const struct csv *csv, struct seam_grow *moments)
{
	const struct row *rows = csv->rows.items;
	enum seam_rc rc = seam__grow_reserve(moments, 2 * csv->rows.count);
	struct moment *list = moments->items;
	for (size_t i = 0; rc == SEAM_OK && i < csv->rows.count; i++) {
		list[moments->count++] = (struct moment){rows[i].numbers[COLUMN_LOWER], i, true};
		if (rows[i].numbers[COLUMN_UPPER] != csv->last)
			list[moments->count++] = (struct moment){rows[i].numbers[COLUMN_UPPER], i, false};
	}
	if (rc == SEAM_OK && moments->count > 0)
		qsort(moments->items, moments->count, sizeof(struct moment), compare_moments);
	return rc;
}

static enum seam_rc add_events(
	const struct csv *csv, const struct seam_grow *moments, struct seam_trace_builder *builder)
{
	const struct row *rows = csv->rows.items;
	const struct moment *list = moments->items;
	bool only_residents = true;
	enum seam_rc rc = SEAM_OK;
	for (size_t i = 0; rc == SEAM_OK && i < moments->count; i++) {
		const struct row *row = &rows[list[i].row];
		only_residents = only_residents && row->numbers[COLUMN_UPPER] == csv->last;
		const struct seam_trace_event event = {
			.kind = list[i].is_alloc ? SEAM_TRACE_ALLOC : SEAM_TRACE_FREE,
			.flags = only_residents ? SEAM_TRACE_RESIDENT : 0,
			.id = list[i].row + 1,
			.size = row->numbers[COLUMN_SIZE],
			.stream = row->numbers[COLUMN_STREAM],
			.time_ns = list[i].time - list[0].time,
		};
		rc = seam_trace_builder_add(builder, &event);
	}
	return rc;
}

static enum seam_rc build(const struct csv *csv, struct seam_trace **ret_trace)
{
	struct seam_trace_builder *builder = NULL;
	struct seam_grow moments;
	seam__grow_init(&moments, sizeof(struct moment));
	enum seam_rc rc = seam_trace_builder_create("csv lifetimes", 0, &builder);
	if (rc == SEAM_OK)
		rc = list_moments(csv, &moments);
	if (rc == SEAM_OK)
		rc = add_events(csv, &moments, builder);
	if (rc == SEAM_OK)
		rc = seam_trace_builder_finish(builder, csv->lines.error, ret_trace);
	seam__grow_fini(&moments);
	seam_trace_builder_destroy(builder);
	return rc;
}

enum seam_rc seam__import_csv(
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_trace **ret_trace)
{
	struct seam_meta *hash_meta = seam__meta_process();
	struct csv csv = {.column_count = 0};
	seam__lines_init(&csv.lines, data, bytes, error);
	seam__grow_init(&csv.rows, sizeof(struct row));
	seam__slab_init(&csv.ids, seam__meta_process(), sizeof(struct seen_id));
	enum seam_rc rc = read_rows(&csv);
	if (rc == SEAM_OK)
		rc = build(&csv, ret_trace);
	if (rc == SEAM_OOM_META)
		(void)seam__trace_error_rc(error, rc);
	HASH_CLEAR(hh, csv.seen);
	(void)seam__slab_fini(&csv.ids); /* the ids still in it were the table's */
	seam__grow_fini(&csv.rows);
	return rc;
}
