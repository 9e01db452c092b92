/* make_graph.h: plans of operator graphs.
 *
 * A slot is a tensor with a size, in the order of their producers; its positions are nodes in the graph's order, its
 * end is behind its last consumer, its event is the tensor's number. Streams are the graph's. The plan is linear.
 *
 * Not here: graphs (graph.h); plans of traces (seam_plan_make()). No locks.
 */
#ifndef SEAM_MAKE_GRAPH_H
#define SEAM_MAKE_GRAPH_H

#include <seam/plan.h>

#include "graph.h"

/* graph: finished. options: as for seam_plan_make(); period and fixed do not apply; streams may not be INSERT.
 * Errors: those of seam_plan_make(). */
SEAM_MUST_USE enum seam_rc seam__plan_make_graph(const struct seam_graph *graph,
	const struct seam_plan_options *options, struct seam_trace_error *error, struct seam_plan **ret_plan);

/* XXH64 over nodes' streams and order, and tensors' sizes, producers and consumers; not over names. */
uint64_t seam__graph_fingerprint(const struct seam_graph *graph);

#endif
