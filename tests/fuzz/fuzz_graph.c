/* fuzz_graph.c: any bytes as an operator graph, CSV and JSON: refused with one line, or a graph that holds its
 * invariants, whose problem holds its own; and thresholds that agree with reachability.
 */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "graph_csv.h"
#include "graph_input.h"
#include "graph_problem.h"
#include "meta.h"
#include "random_graph.h"
#include "trace_sample.h"

#define COMPARE_UP_TO 60u /* tensors and nodes: reachability is O(nodes^3) */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const struct seam_graph *graph, const struct seam_problem *problem)
{
	static bool reaches[COMPARE_UP_TO * COMPARE_UP_TO];

	naive_reachability(graph, reaches);
	for (uint32_t i = 0; i < problem->count; i++)
		for (uint32_t j = 0; j < i; j++)
			SEAM_VERIFY(seam__problem_conflict(problem, i, j) ==
				naive_unsafe(graph, reaches, problem->items[i].request, problem->items[j].request));
}

static void look(enum seam_rc rc, struct seam_graph *graph, const struct seam_trace_error *error)
{
	struct seam_problem problem;

	if (rc != SEAM_OK) {
		SEAM_VERIFY(error->text[0] != '\0' && strchr(error->text, '\n') == NULL);
	} else {
		SEAM_VERIFY(seam__graph_check(graph) == NULL);
		SEAM_VERIFY(seam__graph_problem(graph, seam__meta_process(), 8, false, &problem) == SEAM_OK);
		SEAM_VERIFY(seam__problem_check(&problem) == NULL);
		if (problem.count <= COMPARE_UP_TO && graph->nodes.count <= COMPARE_UP_TO)
			compare(graph, &problem);
		seam__problem_fini(&problem);
		seam__graph_fini(graph);
	}
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seam_graph graph;
	struct seam_trace_error error = {0};

	look(graph_csv_read(data, size, &error, &graph), &graph, &error);
	error = (struct seam_trace_error){0};
	look(graph_json_read(data, size, &error, &graph), &graph, &error);
	return 0;
}
