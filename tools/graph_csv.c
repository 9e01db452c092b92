/* graph_csv.c: see graph_csv.h. Three passes, so that rows may name what stands below them: nodes, tensors, the rest.
 */
#include "graph_csv.h"

#include <string.h>

#include "lines.h"
#include "trace_error.h"

#define FIELDS_MAX 5u

struct csv {
	struct seam_graph *graph;
	struct seam_lines lines;
};

static const char *const row_names[] = {"node", "tensor", "arc", "contiguous"};
static const size_t row_fields[] = {3, 5, 3, 2};
static const int row_passes[] = {0, 1, 2, 2};

#define PASSES 3
#define ROW_KINDS (sizeof(row_names) / sizeof(row_names[0]))

/* What the graph complained of, at this line. */
static enum seam_rc pass_on(struct csv *csv, enum seam_rc rc)
{
	if (rc != SEAM_CORRUPT)
		return rc;
	return seam__lines_fail(&csv->lines, csv->graph->wrong,
		(struct seam_line_field){csv->graph->wrong_name, strlen(csv->graph->wrong_name)});
}

/* The next line that is not blank or a comment. False at the end. */
static bool take_line(struct seam_lines *lines, struct seam_line_field *ret_line)
{
	while (seam__lines_take(lines, ret_line))
		if (ret_line->text[0] != '#')
			return true;
	return false;
}

static enum seam_rc read_tensor(struct csv *csv, const struct seam_line_field *fields)
{
	struct seam_line_field rest = fields[4];
	struct seam_line_field to;
	uint64_t size;
	enum seam_rc rc = seam__lines_decimal(&csv->lines, fields[2], &size);

	if (rc == SEAM_OK)
		rc = pass_on(csv,
			seam__graph_add_tensor(
				csv->graph, fields[1].text, fields[1].bytes, size, fields[3].text, fields[3].bytes));
	while (rc == SEAM_OK && fields[4].bytes > 0 && seam__field_split(&rest, ';', &to))
		rc = pass_on(csv, seam__graph_add_consumer(csv->graph, to.text, to.bytes));
	return rc;
}

static enum seam_rc read_contiguous(struct csv *csv, const struct seam_line_field *fields)
{
	struct seam_line_field rest = fields[1];
	struct seam_line_field member;
	enum seam_rc rc = SEAM_OK;

	seam__graph_begin_contiguous(csv->graph);
	while (rc == SEAM_OK && seam__field_split(&rest, ';', &member))
		rc = pass_on(csv, seam__graph_bind(csv->graph, member.text, member.bytes));
	return rc;
}

static enum seam_rc read_row(struct csv *csv, const char *kind, const struct seam_line_field *fields)
{
	uint64_t stream;
	enum seam_rc rc;

	switch (kind[0]) {
	case 'n':
		rc = seam__lines_decimal(&csv->lines, fields[2], &stream);
		return rc != SEAM_OK
			? rc
			: pass_on(csv, seam__graph_add_node(csv->graph, fields[1].text, fields[1].bytes, stream));
	case 't':
		return read_tensor(csv, fields);
	case 'a':
		return pass_on(csv,
			seam__graph_add_arc(
				csv->graph, fields[1].text, fields[1].bytes, fields[2].text, fields[2].bytes));
	default:
		return read_contiguous(csv, fields);
	}
}

/* ROW_KINDS: none of them. */
static size_t kind_of(struct seam_line_field word)
{
	size_t kind = 0;

	while (kind < ROW_KINDS && !seam__field_is(word, row_names[kind]))
		kind++;
	return kind;
}

static enum seam_rc read_line(struct csv *csv, struct seam_line_field line, int pass)
{
	struct seam_line_field fields[FIELDS_MAX] = {{NULL, 0}};
	struct seam_line_field rest = line;
	struct seam_line_field piece;
	size_t count = 0;
	size_t kind;

	while (seam__field_split(&rest, ',', &piece)) {
		if (count < FIELDS_MAX)
			fields[count] = piece;
		count++;
	}
	kind = kind_of(fields[0]);
	if (kind == ROW_KINDS)
		return seam__lines_fail(
			&csv->lines, "a row begins with node, tensor, arc or contiguous; not", fields[0]);
	if (row_passes[kind] != pass)
		return SEAM_OK;
	if (count != row_fields[kind])
		return seam__lines_fail(
			&csv->lines, count < row_fields[kind] ? "too few fields:" : "too many fields:", line);
	if (memchr(line.text, '"', line.bytes) != NULL)
		return seam__lines_fail(&csv->lines, "quotes are not read:", line);
	return read_row(csv, row_names[kind], fields);
}

bool graph_csv_is(const void *data, size_t bytes)
{
	struct seam_lines lines;
	struct seam_line_field line;
	struct seam_line_field word;

	seam__lines_init(&lines, data, bytes, NULL);
	return take_line(&lines, &line) && seam__field_split(&line, ',', &word) && kind_of(word) < ROW_KINDS;
}

enum seam_rc graph_csv_read(
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_graph *ret_graph)
{
	struct seam_graph graph;
	struct csv csv = {.graph = &graph};
	enum seam_rc rc = SEAM_OK;

	if (!graph_csv_is(data, bytes)) {
		seam__trace_error_set(
			error, 0, "no operator graph: its rows begin with node, tensor, arc or contiguous");
		return SEAM_FORMAT;
	}
	seam__graph_init(&graph);
	for (int pass = 0; rc == SEAM_OK && pass < PASSES; pass++) {
		struct seam_line_field line;

		seam__lines_init(&csv.lines, data, bytes, error);
		while (rc == SEAM_OK && take_line(&csv.lines, &line))
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
