/* graph_problem.h: the placement problem of an operator graph.
 *
 * Positions are nodes in the graph's order. A tensor begins at its producer. From stream s it is held until before the
 * first node of s that runs after all its consumers, by the graph; to the end of the line where there is none. Nodes of
 * a stream run in order, so that node separates exactly those that may have the memory from those that may not.
 *
 * Not here: what the order of nodes is (graph.h).
 */
#ifndef SEAM_GRAPH_PROBLEM_H
#define SEAM_GRAPH_PROBLEM_H

#include "graph.h"
#include "problem.h"

/* An item per tensor that has a size, its request being the tensor's number, in the order of the tensors; links from
 * the contiguous constraints; `apart`: streams never share memory. The problem is a line, finished, for
 * seam__problem_fini(). Errors: SEAM_OOM_META.
 * O((nodes + tensors + consumers) * streams), in memory 4 bytes for each node and stream. */
SEAM_MUST_USE enum seam_rc seam__graph_problem(const struct seam_graph *graph, struct seam_meta *meta,
	uint64_t align_bytes, bool apart, struct seam_problem *ret_problem);

#endif
