/* graph_csv.c: see graph_csv.h. Three passes, so that rows may name what stands below them: nodes, tensors, the rest. */
#include "graph_csv.h"

#include <string.h>

#include "trace_error.h"

#define FIELDS_MAX 5u

struct field {
	const char *text; /* in the input, not zero-terminated */
	size_t bytes;
};

struct csv {
	struct seam__graph *graph;
	struct seam_trace_error *error;
	uint64_t line;    /* number of the line read last, from 1 */
	const char *next; /* the rest of the input */
	const char *end;
};

static const char *const row_names[] = {"node", "tensor", "arc", "contiguous"};
static const size_t row_fields[] = {3, 5, 3, 2};
static const int row_passes[] = {0, 1, 2, 2};

#define PASSES 3
#define ROW_KINDS (sizeof(row_names) / sizeof(row_names[0]))

static struct field trim(const char *text, size_t bytes)
{
	while (bytes > 0 && (text[0] == ' ' || text[0] == '\t')) {
		text++;
		bytes--;
	}
	while (bytes > 0 && (text[bytes - 1] == ' ' || text[bytes - 1] == '\t' || text[bytes - 1] == '\r'))
		bytes--;
	return (struct field){text, bytes};
}

static enum seam_rc fail(struct csv *csv, const char *what, struct field field)
{
	const int bytes = field.bytes > 40 ? 40 : (int)field.bytes;

	seam__trace_error_set(csv->error, csv->line, "line %llu: %s%s%.*s%s", (unsigned long long)csv->line, what,
	                      bytes > 0 ? " '" : "", bytes, bytes > 0 ? field.text : "", bytes > 0 ? "'" : "");
	return SEAM_CORRUPT;
}

/* What the graph complained of, at this line. */
static enum seam_rc pass_on(struct csv *csv, enum seam_rc rc)
{
	if (rc != SEAM_CORRUPT)
		return rc;
	return fail(csv, csv->graph->wrong, (struct field){csv->graph->wrong_name, strlen(csv->graph->wrong_name)});
}

/* The next line that is not blank or a comment. False at the end. */
static bool take_line(struct csv *csv, struct field *ret_line)
{
	while (csv->next < csv->end) {
		const char *begin = csv->next;
		const char *newline = memchr(begin, '\n', (size_t)(csv->end - begin));
		const char *stop = newline != NULL ? newline : csv->end;

		csv->next = newline != NULL ? newline + 1 : csv->end;
		csv->line++;
		*ret_line = trim(begin, (size_t)(stop - begin));
		if (ret_line->bytes > 0 && ret_line->text[0] != '#')
			return true;
	}
	return false;
}

/* Takes what is before the next `separator` from *rest. False when *rest was taken whole before (text NULL). */
static bool take_piece(struct field *rest, char separator, struct field *ret_piece)
{
	const char *stop;

	if (rest->text == NULL)
		return false;
	stop = rest->bytes == 0 ? NULL : memchr(rest->text, separator, rest->bytes);
	if (stop == NULL) {
		*ret_piece = trim(rest->text, rest->bytes);
		*rest = (struct field){NULL, 0};
		return true;
	}
	*ret_piece = trim(rest->text, (size_t)(stop - rest->text));
	rest->bytes -= (size_t)(stop + 1 - rest->text);
	rest->text = stop + 1;
	return true;
}

static enum seam_rc read_number(struct csv *csv, struct field field, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (field.bytes == 0)
		return fail(csv, "a number is missing", field);
	for (size_t i = 0; i < field.bytes; i++) {
		const char c = field.text[i];

		if (c < '0' || c > '9')
			return fail(csv, "not a whole number of at least 0:", field);
		if (__builtin_mul_overflow(number, (uint64_t)10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(c - '0'), &number))
			return fail(csv, "a number beyond 64 bits:", field);
	}
	*ret_number = number;
	return SEAM_OK;
}

static enum seam_rc read_tensor(struct csv *csv, const struct field *fields)
{
	struct field rest = fields[4];
	struct field to;
	uint64_t size;
	enum seam_rc rc = read_number(csv, fields[2], &size);

	if (rc == SEAM_OK)
		rc = pass_on(csv, seam__graph_add_tensor(csv->graph, fields[1].text, fields[1].bytes, size, fields[3].text,
		                                         fields[3].bytes));
	while (rc == SEAM_OK && fields[4].bytes > 0 && take_piece(&rest, ';', &to))
		rc = pass_on(csv, seam__graph_add_consumer(csv->graph, to.text, to.bytes));
	return rc;
}

static enum seam_rc read_contiguous(struct csv *csv, const struct field *fields)
{
	struct field rest = fields[1];
	struct field member;
	enum seam_rc rc = SEAM_OK;

	seam__graph_begin_contiguous(csv->graph);
	while (rc == SEAM_OK && take_piece(&rest, ';', &member))
		rc = pass_on(csv, seam__graph_bind(csv->graph, member.text, member.bytes));
	return rc;
}

static enum seam_rc read_row(struct csv *csv, const char *kind, const struct field *fields)
{
	uint64_t stream;
	enum seam_rc rc;

	switch (kind[0]) {
	case 'n':
		rc = read_number(csv, fields[2], &stream);
		return rc != SEAM_OK ? rc : pass_on(csv, seam__graph_add_node(csv->graph, fields[1].text, fields[1].bytes, stream));
	case 't':
		return read_tensor(csv, fields);
	case 'a':
		return pass_on(csv, seam__graph_add_arc(csv->graph, fields[1].text, fields[1].bytes, fields[2].text, fields[2].bytes));
	default:
		return read_contiguous(csv, fields);
	}
}

/* ROW_KINDS: none of them. */
static size_t kind_of(struct field word)
{
	size_t kind = 0;

	while (kind < ROW_KINDS &&
	       (word.bytes != strlen(row_names[kind]) || memcmp(word.text, row_names[kind], word.bytes) != 0))
		kind++;
	return kind;
}

static enum seam_rc read_line(struct csv *csv, struct field line, int pass)
{
	struct field fields[FIELDS_MAX] = {{NULL, 0}};
	struct field rest = line;
	struct field piece;
	size_t count = 0;
	size_t kind;

	while (take_piece(&rest, ',', &piece)) {
		if (count < FIELDS_MAX)
			fields[count] = piece;
		count++;
	}
	kind = kind_of(fields[0]);
	if (kind == ROW_KINDS)
		return fail(csv, "a row begins with node, tensor, arc or contiguous; not", fields[0]);
	if (row_passes[kind] != pass)
		return SEAM_OK;
	if (count != row_fields[kind])
		return fail(csv, count < row_fields[kind] ? "too few fields:" : "too many fields:", line);
	if (memchr(line.text, '"', line.bytes) != NULL)
		return fail(csv, "quotes are not read:", line);
	return read_row(csv, row_names[kind], fields);
}

bool seam__graph_csv_is(const void *data, size_t bytes)
{
	struct csv csv = {.next = data, .end = bytes == 0 ? data : (const char *)data + bytes};
	struct field line;
	struct field word;

	return bytes > 0 && take_line(&csv, &line) && take_piece(&line, ',', &word) && kind_of(word) < ROW_KINDS;
}

enum seam_rc seam__graph_csv_read(const void *data, size_t bytes, struct seam_trace_error *error,
                                  struct seam__graph *ret_graph)
{
	struct seam__graph graph;
	struct csv csv = {.graph = &graph, .error = error};
	enum seam_rc rc = SEAM_OK;

	if (!seam__graph_csv_is(data, bytes)) {
		seam__trace_error_set(error, 0, "no operator graph: its rows begin with node, tensor, arc or contiguous");
		return SEAM_FORMAT;
	}
	seam__graph_init(&graph);
	for (int pass = 0; rc == SEAM_OK && pass < PASSES; pass++) {
		struct field line;

		csv.next = data;
		csv.end = (const char *)data + bytes;
		csv.line = 0;
		while (rc == SEAM_OK && take_line(&csv, &line))
			rc = read_line(&csv, line, pass);
	}
	if (rc == SEAM_OK) {
		rc = seam__graph_finish(&graph);
		if (rc == SEAM_CORRUPT)
			seam__trace_error_set(error, 0, "%s '%s'", graph.wrong, graph.wrong_name);
	}
	if (rc == SEAM_OOM_META)
		(void)seam__trace_error_rc(error, rc);
	if (rc == SEAM_OK)
		*ret_graph = graph;
	else
		seam__graph_fini(&graph);
	return rc;
}
