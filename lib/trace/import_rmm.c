/* import_rmm.c: RMM's log of a memory resource: Thread,Time,Action,Pointer,Size,Stream.
 *
 * The first line names the six columns, in any order. Actions: `allocate`; `free`, also written `deallocate`; `allocate
 * failure`, which becomes OOM. Pointers and streams are hexadecimal, with or without 0x, as the versions of RMM write
 * them; a null pointer (0, 0x0, (nil), nullptr) is no block. Stream 0 is the default stream. Threads are numbered in
 * the order of their appearance. Times are of the day (HH:MM:SS.ffffff, in old versions with a colon before the
 * fraction) or seconds; they become nanoseconds since the first line. A time of day that is more than half a day
 * earlier than the line before is of the next day; one that is a little earlier (threads log as they come) counts as
 * equal.
 *
 * Refused, with the number of the line: an unknown, missing or doubled column, a missing or further field, another
 * action, anything that is no number where one must be, and what memlog.h refuses. No locks: one call owns everything
 * that it touches.
 */
#include <stdlib.h>
#include <string.h>

#include "idmap.h"
#include "import.h"
#include "memlog.h"
#include "trace_error.h"

enum column { COLUMN_THREAD, COLUMN_TIME, COLUMN_ACTION, COLUMN_POINTER, COLUMN_SIZE, COLUMN_STREAM, COLUMN_COUNT };

static const char *const column_names[COLUMN_COUNT] = {"Thread", "Time", "Action", "Pointer", "Size", "Stream"};

#define SECOND_NS UINT64_C(1000000000)
#define DAY_NS (86400 * SECOND_NS)
#define SECONDS_MAX (UINT64_MAX / SECOND_NS / 4)

static const struct seam_line_field no_field = {"", 0};

struct rmm {
	struct seam_lines lines;
	enum column columns[COLUMN_COUNT]; /* in the order of the file */
	struct seam_memlog memlog;
	struct seam_idmap threads; /* id -> 1 + number */
	bool is_first;
	uint64_t start_ns; /* of the first line */
	uint64_t day_ns;   /* added to times of day: midnights that have passed */
	uint64_t last_ns;  /* of the line before, days added */
};

static enum seam_rc read_header(struct rmm *rmm)
{
	struct seam_line_field line = no_field;
	struct seam_line_field field;
	size_t count = 0;
	bool has[COLUMN_COUNT] = {false};
	(void)seam__lines_take(&rmm->lines, &line);
	for (; seam__field_split(&line, ',', &field); count++) {
		size_t column = 0;
		while (column < COLUMN_COUNT && !seam__field_is(field, column_names[column]))
			column++;
		if (column == COLUMN_COUNT || has[column]) {
			(void)seam__lines_fail(&rmm->lines,
				"the columns are Thread, Time, Action, Pointer, Size and Stream, once each; not",
				field);
			return SEAM_FORMAT;
		}
		has[column] = true;
		rmm->columns[count] = (enum column)column;
	}
	if (count == COLUMN_COUNT)
		return SEAM_OK;
	(void)seam__lines_fail(&rmm->lines,
		"the columns are Thread, Time, Action, Pointer, Size and Stream: one is missing", no_field);
	return SEAM_FORMAT;
}

/* Digits behind a point, as nanoseconds; what is finer is dropped. */
static enum seam_rc read_fraction(const struct rmm *rmm, struct seam_line_field field, uint64_t *ret_ns)
{
	uint64_t ns = 0;
	uint64_t unit = SECOND_NS;
	for (size_t i = 0; i < field.bytes; i++) {
		if (field.text[i] < '0' || field.text[i] > '9')
			return seam__lines_fail(&rmm->lines, "no time:", field);
		unit /= 10;
		ns += unit * (uint64_t)(field.text[i] - '0');
	}
	*ret_ns = ns;
	return SEAM_OK;
}

/* SECONDS[.F] or HH:MM:SS[.F] or HH:MM:SS:F */
static enum seam_rc read_time(const struct rmm *rmm, struct seam_line_field field, uint64_t *ret_ns, bool *ret_of_day)
{
	struct seam_line_field fraction = no_field;
	struct seam_line_field whole = no_field;
	struct seam_line_field part;
	uint64_t seconds = 0;
	uint64_t ns = 0;
	size_t parts = 0;
	enum seam_rc rc = SEAM_OK;
	(void)seam__field_split(&field, '.', &whole);
	if (field.text != NULL)
		fraction = field;
	for (; rc == SEAM_OK && seam__field_split(&whole, ':', &part); parts++) {
		uint64_t number;
		if (parts == 3) {
			fraction = part;
			continue;
		}
		rc = seam__lines_decimal(&rmm->lines, part, &number);
		if (rc == SEAM_OK && (number > SECONDS_MAX || seconds > SECONDS_MAX / 60 || (parts > 0 && number > 60)))
			rc = seam__lines_fail(&rmm->lines, "no time:", part);
		if (rc == SEAM_OK)
			seconds = seconds * 60 + number;
	}
	if (rc == SEAM_OK && parts != 1 && parts != 3 && parts != 4)
		rc = seam__lines_fail(&rmm->lines, "no time: neither seconds nor HH:MM:SS", no_field);
	if (rc == SEAM_OK)
		rc = read_fraction(rmm, fraction, &ns);
	if (rc == SEAM_OK) {
		*ret_ns = seconds * SECOND_NS + ns;
		*ret_of_day = parts > 1;
	}
	return rc;
}

/* Since the first line, never less than before. */
static enum seam_rc place_time(struct rmm *rmm, struct seam_line_field field, uint64_t *ret_ns)
{
	uint64_t ns;
	bool of_day;
	enum seam_rc rc = read_time(rmm, field, &ns, &of_day);
	if (rc != SEAM_OK)
		return rc;
	if (rmm->is_first)
		rmm->start_ns = rmm->last_ns = ns;
	rmm->is_first = false;
	if (of_day && ns + rmm->day_ns + DAY_NS / 2 < rmm->last_ns)
		rmm->day_ns += DAY_NS;
	ns += of_day ? rmm->day_ns : 0;
	if (ns > rmm->last_ns)
		rmm->last_ns = ns;
	*ret_ns = rmm->last_ns - rmm->start_ns;
	return SEAM_OK;
}

static enum seam_rc number_thread(struct rmm *rmm, struct seam_line_field field, uint32_t *ret_number)
{
	uint64_t id;
	uint64_t *values;
	enum seam_rc rc = seam__lines_decimal(&rmm->lines, field, &id);
	if (rc == SEAM_OK)
		rc = seam__idmap_put(&rmm->threads, id, &values);
	if (rc != SEAM_OK)
		return rc;
	if (values[0] == 0)
		values[0] = rmm->threads.count;
	*ret_number = (uint32_t)(values[0] - 1);
	return SEAM_OK;
}

static enum seam_rc read_pointer(const struct rmm *rmm, struct seam_line_field field, uint64_t *ret_address)
{
	*ret_address = 0;
	return seam__field_is(field, "(nil)") || seam__field_is(field, "nullptr")
		? SEAM_OK
		: seam__lines_hex(&rmm->lines, field, ret_address);
}

static enum seam_rc read_action(const struct rmm *rmm, struct seam_line_field field, struct seam_trace_event *event)
{
	static const struct {
		const char *name;
		enum seam_trace_kind kind;
	} actions[] = {{"allocate", SEAM_TRACE_ALLOC}, {"free", SEAM_TRACE_FREE}, {"deallocate", SEAM_TRACE_FREE},
		{"allocate failure", SEAM_TRACE_OOM}};
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (seam__field_is(field, actions[i].name)) {
			event->kind = (uint8_t)actions[i].kind;
			return SEAM_OK;
		}
	}
	return seam__lines_fail(&rmm->lines, "the actions are allocate, free and allocate failure; not", field);
}

static enum seam_rc read_field(
	struct rmm *rmm, enum column column, struct seam_line_field field, struct seam_trace_event *event)
{
	switch (column) {
	case COLUMN_THREAD:
		return number_thread(rmm, field, &event->thread);
	case COLUMN_TIME:
		return place_time(rmm, field, &event->time_ns);
	case COLUMN_ACTION:
		return read_action(rmm, field, event);
	case COLUMN_POINTER:
		return read_pointer(rmm, field, &event->id);
	case COLUMN_SIZE:
		return seam__lines_decimal(&rmm->lines, field, &event->size);
	default:
		return read_pointer(rmm, field, &event->stream);
	}
}

static enum seam_rc read_row(struct rmm *rmm, struct seam_line_field line)
{
	struct seam_trace_event event = {.kind = SEAM_TRACE_ALLOC};
	struct seam_line_field field;
	size_t count = 0;
	enum seam_rc rc = SEAM_OK;
	for (; rc == SEAM_OK && seam__field_split(&line, ',', &field); count++) {
		if (count == COLUMN_COUNT)
			return seam__lines_fail(&rmm->lines, "too many fields", no_field);
		rc = read_field(rmm, rmm->columns[count], field, &event);
	}
	if (rc == SEAM_OK && count < COLUMN_COUNT)
		rc = seam__lines_fail(&rmm->lines, "too few fields", no_field);
	if (event.kind == SEAM_TRACE_OOM)
		event.id = 0;
	return rc == SEAM_OK ? seam__memlog_add(&rmm->memlog, &event, rmm->lines.line) : rc;
}

enum seam_rc seam__import_rmm(
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_trace **ret_trace)
{
	struct rmm rmm = {.is_first = true};
	struct seam_line_field line;
	seam__lines_init(&rmm.lines, data, bytes, error);
	seam__idmap_init(&rmm.threads);
	enum seam_rc rc = seam__memlog_init(&rmm.memlog, "rmm log");
	if (rc == SEAM_OK)
		rc = read_header(&rmm);
	while (rc == SEAM_OK && seam__lines_take(&rmm.lines, &line))
		rc = read_row(&rmm, line);
	if (rc == SEAM_OK)
		rc = seam__memlog_finish(&rmm.memlog, error, ret_trace);
	if (rc == SEAM_OOM_META)
		(void)seam__trace_error_rc(error, rc);
	seam__memlog_fini(&rmm.memlog);
	seam__idmap_fini(&rmm.threads);
	return rc;
}
