/* graph_input.h: opens an operator graph, as JSON or CSV, compressed or not; lib/plan/graph/graph.h describes the
 * formats.
 *
 * One thread.
 */
#ifndef TOOLS_GRAPH_INPUT_H
#define TOOLS_GRAPH_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "graph.h"
#include "input.h"

/* Are these bytes meant as a graph? JSON begins with a brace; CSV with a row of the four kinds. */
bool graph_input_is(const void *data, size_t bytes);

/* As `graph_input_is`, of the file's content once unpacked; false also where the file cannot be read. */
bool graph_input_is_file(const char *path);

/* Reads `path` ("-": standard input), told by its content. On failure false, with one line in `error` that begins with
 * the path. On success seam__graph_fini(). */
bool graph_input_read(const char *path, char error[INPUT_ERROR_BYTES], struct seam_graph *ret_graph);

/* The same from what input_unpack() gave. */
bool graph_input_import(
	const char *path, const struct unpacked *unpacked, char error[INPUT_ERROR_BYTES], struct seam_graph *ret_graph);

/* Reads JSON from memory. Errors: SEAM_FORMAT (no such JSON; `error` says where), SEAM_CORRUPT (what it says is no
 * graph; `error` says at which value), SEAM_UNSUPPORTED (this build has no jansson), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc graph_json_read(
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_graph *ret_graph);

#endif
