/* graph_verify.h: proves that a plan of an operator graph is safe in it.
 *
 * Two tensors may share memory only if all users of the one (its producer and its consumers) run before the producer of
 * the other in every execution, which is asked of the graph's nodes, tensors and arcs, by plain reachability. Shares no
 * code with the planner's own safety (graph_problem.h), nor its order of nodes. One thread.
 */
#ifndef TOOLS_GRAPH_VERIFY_H
#define TOOLS_GRAPH_VERIFY_H

#include <stdbool.h>

#include <seam/plan.h>

#include "graph.h"

#define GRAPH_VERIFY_NODES_MAX 65536u /* the proof takes up to nodes * (nodes + tensors) / 8 bytes */

/* False with one line in `error`: the plan is of another graph, two tensors share a byte that may not, a contiguous
 * constraint is not kept, or there is no memory. */
bool graph_verify(const struct seam_graph *graph, const struct seam_plan *plan, struct seam_trace_error *error);

#endif
