/* graph_json.c: operator graphs from JSON, by jansson, for graph_input.h.
 *
 * Errors of the text name line and column; errors of its meaning name the value by its path ("tensors[3].from").
 */
#include "graph_input.h"

#include "trace_error.h"

#if TOOLS_HAVE_JANSSON

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define ID_BYTES 24 /* of a whole number as text */
#define PATH_BYTES 80

struct reader {
	struct seam_graph *graph;
	struct seam_trace_error *error;
	char path[PATH_BYTES]; /* of the value at hand */
};

struct id {
	const char *text;
	size_t bytes;
	char number[ID_BYTES];
};

static enum seam_rc fail(const struct reader *reader, const char *what)
{
	seam__trace_error_set(reader->error, 0, "%s: %s", reader->path, what);
	return SEAM_CORRUPT;
}

/* What the graph complained of, at this value. */
static enum seam_rc pass_on(const struct reader *reader, enum seam_rc rc)
{
	const struct seam_graph *graph = reader->graph;

	if (rc == SEAM_CORRUPT && graph->wrong_name[0] != '\0')
		seam__trace_error_set(reader->error, 0, "%s: %s '%s'", reader->path, graph->wrong, graph->wrong_name);
	else if (rc == SEAM_CORRUPT)
		seam__trace_error_set(reader->error, 0, "%s: %s", reader->path, graph->wrong);
	return rc;
}

static enum seam_rc read_id(const struct reader *reader, const json_t *value, struct id *ret_id)
{
	if (json_is_string(value)) {
		ret_id->text = json_string_value(value);
		ret_id->bytes = json_string_length(value);
		return SEAM_OK;
	}
	if (!json_is_integer(value))
		return fail(reader, "an id is a string or a whole number");
	ret_id->bytes = (size_t)snprintf(
		ret_id->number, sizeof(ret_id->number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	ret_id->text = ret_id->number;
	return SEAM_OK;
}

static enum seam_rc read_member_id(
	const struct reader *reader, const json_t *object, const char *key, struct id *ret_id)
{
	const json_t *value = json_object_get(object, key);

	if (value == NULL) {
		seam__trace_error_set(reader->error, 0, "%s: \"%s\" is missing", reader->path, key);
		return SEAM_CORRUPT;
	}
	return read_id(reader, value, ret_id);
}

static enum seam_rc read_member_number(
	const struct reader *reader, const json_t *object, const char *key, uint64_t *ret_number)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0) {
		seam__trace_error_set(
			reader->error, 0, "%s: \"%s\" is no whole number of at least 0", reader->path, key);
		return SEAM_CORRUPT;
	}
	*ret_number = (uint64_t)json_integer_value(value);
	return SEAM_OK;
}

static enum seam_rc read_node(struct reader *reader, const json_t *value)
{
	struct id id;
	uint64_t stream = 0;
	enum seam_rc rc = read_member_id(reader, value, "id", &id);

	if (rc == SEAM_OK)
		rc = read_member_number(reader, value, "stream", &stream);
	return rc != SEAM_OK ? rc : pass_on(reader, seam__graph_add_node(reader->graph, id.text, id.bytes, stream));
}

static enum seam_rc read_consumers(struct reader *reader, const json_t *list)
{
	enum seam_rc rc = SEAM_OK;

	if (list != NULL && !json_is_array(list))
		return fail(reader, "\"to\" is no list");
	for (size_t i = 0; rc == SEAM_OK && i < json_array_size(list); i++) {
		struct id id;

		rc = read_id(reader, json_array_get(list, i), &id);
		if (rc == SEAM_OK)
			rc = pass_on(reader, seam__graph_add_consumer(reader->graph, id.text, id.bytes));
	}
	return rc;
}

static enum seam_rc read_tensor(struct reader *reader, const json_t *value)
{
	struct id id;
	struct id from;
	uint64_t size = 0;
	enum seam_rc rc = read_member_id(reader, value, "id", &id);

	if (rc == SEAM_OK)
		rc = read_member_number(reader, value, "size", &size);
	if (rc == SEAM_OK)
		rc = read_member_id(reader, value, "from", &from);
	if (rc == SEAM_OK)
		rc = pass_on(
			reader, seam__graph_add_tensor(reader->graph, id.text, id.bytes, size, from.text, from.bytes));
	return rc != SEAM_OK ? rc : read_consumers(reader, json_object_get(value, "to"));
}

static enum seam_rc read_arc(struct reader *reader, const json_t *value)
{
	struct id from;
	struct id to;
	enum seam_rc rc;

	if (json_array_size(value) != 2)
		return fail(reader, "an arc is a list of two nodes");
	rc = read_id(reader, json_array_get(value, 0), &from);
	if (rc == SEAM_OK)
		rc = read_id(reader, json_array_get(value, 1), &to);
	return rc != SEAM_OK
		? rc
		: pass_on(reader, seam__graph_add_arc(reader->graph, from.text, from.bytes, to.text, to.bytes));
}

static enum seam_rc read_contiguous(struct reader *reader, const json_t *value)
{
	enum seam_rc rc = SEAM_OK;

	if (!json_is_array(value))
		return fail(reader, "a contiguous constraint is a list of tensors");
	seam__graph_begin_contiguous(reader->graph);
	for (size_t i = 0; rc == SEAM_OK && i < json_array_size(value); i++) {
		struct id id;

		rc = read_id(reader, json_array_get(value, i), &id);
		if (rc == SEAM_OK)
			rc = pass_on(reader, seam__graph_bind(reader->graph, id.text, id.bytes));
	}
	return rc;
}

static enum seam_rc read_list(struct reader *reader, const json_t *root, const char *key, bool needed,
	enum seam_rc (*read)(struct reader *reader, const json_t *value))
{
	const json_t *list = json_object_get(root, key);
	enum seam_rc rc = SEAM_OK;

	(void)snprintf(reader->path, sizeof(reader->path), "%s", key);
	if (list == NULL && !needed)
		return SEAM_OK;
	if (!json_is_array(list))
		return fail(reader, list == NULL ? "is missing" : "is no list");
	for (size_t i = 0; rc == SEAM_OK && i < json_array_size(list); i++) {
		(void)snprintf(reader->path, sizeof(reader->path), "%s[%zu]", key, i);
		rc = read(reader, json_array_get(list, i));
	}
	return rc;
}

static enum seam_rc read_root(struct reader *reader, const json_t *root)
{
	static const char *const known[] = {"nodes", "tensors", "arcs", "contiguous"};
	size_t known_count = 0;
	enum seam_rc rc;

	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
		known_count += json_object_get(root, known[k]) != NULL;
	(void)snprintf(reader->path, sizeof(reader->path), "the graph");
	if (!json_is_object(root) || json_object_size(root) != known_count)
		return fail(reader, "is no object of nodes, tensors, arcs and contiguous");
	rc = read_list(reader, root, "nodes", true, read_node);
	if (rc == SEAM_OK)
		rc = read_list(reader, root, "tensors", true, read_tensor);
	if (rc == SEAM_OK)
		rc = read_list(reader, root, "arcs", false, read_arc);
	if (rc == SEAM_OK)
		rc = read_list(reader, root, "contiguous", false, read_contiguous);
	(void)snprintf(reader->path, sizeof(reader->path), "the graph");
	return rc != SEAM_OK ? rc : pass_on(reader, seam__graph_finish(reader->graph));
}

enum seam_rc graph_json_read(
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_graph *ret_graph)
{
	struct seam_graph graph;
	struct reader reader = {.graph = &graph, .error = error};
	json_error_t why;
	json_t *root = json_loadb(data, bytes, JSON_REJECT_DUPLICATES, &why);
	enum seam_rc rc;

	if (root == NULL) {
		/* It quotes what it met, whatever that is. */
		for (char *c = why.text; *c != '\0'; c++)
			*c = (unsigned char)*c < ' ' ? '?' : *c;
		seam__trace_error_set(
			error, (uint64_t)why.position, "line %d, column %d: %s", why.line, why.column, why.text);
		return SEAM_FORMAT;
	}
	seam__graph_init(&graph);
	rc = read_root(&reader, root);
	json_decref(root);
	if (rc == SEAM_OOM_META)
		(void)seam__trace_error_rc(error, rc);
	if (rc == SEAM_OK)
		*ret_graph = graph;
	else
		seam__graph_fini(&graph);
	return rc;
}

#else

enum seam_rc graph_json_read(
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_graph *ret_graph)
{
	(void)data;
	(void)bytes;
	(void)ret_graph;
	seam__trace_error_set(error, 0, "this build reads no JSON: it was made without jansson");
	return SEAM_UNSUPPORTED;
}

#endif
