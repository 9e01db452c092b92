/* graph_csv.h: reads an operator graph from rows of comma-separated values; graph.h describes them.
 *
 * Not here: JSON (graph_json.c).
 */
#ifndef TOOLS_GRAPH_CSV_H
#define TOOLS_GRAPH_CSV_H

#include <seam/trace.h>

#include "graph.h"

/* Is this such a text? Its first row that is not blank or a comment begins with one of the four words. */
bool graph_csv_is(const void *data, size_t bytes);

/* ret_graph: initialised here, and finished; set on success only, then to be freed by seam__graph_fini(). `error` (may
 * be NULL) holds one line that names the line. Errors: SEAM_FORMAT (graph_csv_is() says no), SEAM_CORRUPT (a bad
 * row, a cycle), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc graph_csv_read(
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_graph *ret_graph);

#endif
