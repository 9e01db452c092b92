/* graph_order.c: the edges of a graph, the position of every node, and the checks, for graph.h.
 *
 * Positions come from always taking, of all nodes whose predecessors have theirs, the one that was added first: a graph
 * that was written down in an order in which it can run keeps that order.
 */
#include <string.h>

#include "graph.h"
#include "meta.h"

struct sorter {
	struct seam_graph *graph;
	uint32_t nodes;
	uint32_t *left; /* per node: predecessors without a position */
	uint32_t *heap; /* nodes that are ready, the least number on top */
	uint32_t heap_count;
	bool counting; /* edges are counted, not stored */
};

/* A consumer's list of its own where a tensor has none: its producer. The new lists stand behind all others. */
static enum seam_rc give_consumers(struct seam_graph *graph)
{
	enum seam_rc rc = SEAM_OK;

	for (uint32_t t = 0; rc == SEAM_OK && t < graph->tensors.count; t++) {
		struct seam_graph_tensor *tensor = seam__graph_tensor_at(graph, t);

		if (tensor->consumer_count > 0)
			continue;
		tensor->first_consumer = (uint32_t)graph->consumers.count;
		rc = seam__grow_append(&graph->consumers, &tensor->producer, 1);
		if (rc == SEAM_OK)
			tensor->consumer_count = 1;
	}
	return rc;
}

/* Counting: first_edge[from + 1] grows. Storing: first_edge[from] is where the next one goes. */
static void add_edge(const struct sorter *sorter, uint32_t from, uint32_t to)
{
	uint32_t *first = sorter->graph->first_edge.items;

	if (sorter->counting) {
		first[from + 1]++;
		sorter->left[to]++;
	} else {
		((uint32_t *)sorter->graph->edges.items)[first[from]++] = to;
	}
}

static void visit_edges(const struct sorter *sorter, uint32_t *last_of_stream)
{
	const struct seam_graph *graph = sorter->graph;
	const struct seam_graph_arc *arcs = graph->arcs.items;

	for (uint32_t s = 0; s < graph->streams.count; s++)
		last_of_stream[s] = SEAM__GRAPH_NONE;
	for (uint32_t n = 0; n < sorter->nodes; n++) {
		struct seam_graph_node *node = seam__graph_node_at(graph, n);
		uint32_t last = last_of_stream[node->stream];

		node->order = last == SEAM__GRAPH_NONE ? 1 : seam__graph_node_at(graph, last)->order + 1;
		if (last != SEAM__GRAPH_NONE)
			add_edge(sorter, last, n);
		last_of_stream[node->stream] = n;
	}
	for (uint32_t t = 0; t < graph->tensors.count; t++) {
		const struct seam_graph_tensor *tensor = seam__graph_tensor_at(graph, t);
		const uint32_t *consumers = seam__graph_consumers(graph, tensor);

		for (uint32_t c = 0; c < tensor->consumer_count; c++)
			if (consumers[c] != tensor->producer)
				add_edge(sorter, tensor->producer, consumers[c]);
	}
	for (size_t a = 0; a < graph->arcs.count; a++)
		add_edge(sorter, arcs[a].from, arcs[a].to);
}

/* Two visits: the first counts the edges of each node, the second stores them. */
static enum seam_rc list_edges(struct sorter *sorter, uint32_t *last_of_stream)
{
	struct seam_graph *graph = sorter->graph;
	enum seam_rc rc = seam__grow_reserve(&graph->first_edge, (size_t)sorter->nodes + 1);

	if (rc != SEAM_OK)
		return rc;
	uint32_t *first = graph->first_edge.items;
	memset(first, 0, ((size_t)sorter->nodes + 1) * sizeof(*first));
	graph->first_edge.count = (size_t)sorter->nodes + 1;
	sorter->counting = true;
	visit_edges(sorter, last_of_stream);
	for (uint32_t n = 0; n < sorter->nodes; n++)
		first[n + 1] += first[n];
	rc = seam__grow_reserve(&graph->edges, first[sorter->nodes]);
	if (rc != SEAM_OK)
		return rc;
	graph->edges.count = first[sorter->nodes];
	sorter->counting = false;
	visit_edges(sorter, last_of_stream);
	/* Storing moved each beginning to its end, which is the next one's beginning. */
	memmove(first + 1, first, sorter->nodes * sizeof(*first));
	first[0] = 0;
	return SEAM_OK;
}

static void push(struct sorter *sorter, uint32_t node)
{
	uint32_t at = sorter->heap_count++;

	while (at > 0 && sorter->heap[(at - 1) / 2] > node) {
		sorter->heap[at] = sorter->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	sorter->heap[at] = node;
}

static uint32_t pop(struct sorter *sorter)
{
	uint32_t top = sorter->heap[0];
	uint32_t last = sorter->heap[--sorter->heap_count];
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= sorter->heap_count)
			break;
		if (child + 1 < sorter->heap_count && sorter->heap[child + 1] < sorter->heap[child])
			child++;
		if (sorter->heap[child] >= last)
			break;
		sorter->heap[at] = sorter->heap[child];
		at = child;
	}
	sorter->heap[at] = last;
	return top;
}

/* Nodes without a position each have such a predecessor; going back from one leads into a cycle within `nodes` steps.
 */
static enum seam_rc name_cycle(struct sorter *sorter)
{
	struct seam_graph *graph = sorter->graph;
	uint32_t *before = sorter->heap; /* no longer needed */
	uint32_t at = 0;

	for (uint32_t n = 0; n < sorter->nodes; n++) {
		uint32_t count;
		const uint32_t *edges = seam__graph_edges(graph, n, &count);

		for (uint32_t e = 0; sorter->left[n] > 0 && e < count; e++)
			before[edges[e]] = n;
	}
	while (sorter->left[at] == 0)
		at++;
	for (uint32_t steps = 0; steps < sorter->nodes; steps++)
		at = before[at];
	graph->wrong = "nodes wait for each other in a cycle, by arcs, tensors and the order of streams; one is";
	strncpy(graph->wrong_name, seam__graph_text(seam__graph_node_at(graph, at)->name),
		sizeof(graph->wrong_name) - 1);
	return SEAM_CORRUPT;
}

static enum seam_rc sort(struct sorter *sorter)
{
	struct seam_graph *graph = sorter->graph;
	enum seam_rc rc = seam__grow_reserve(&graph->sorted, sorter->nodes);

	if (rc != SEAM_OK)
		return rc;
	for (uint32_t n = 0; n < sorter->nodes; n++)
		if (sorter->left[n] == 0)
			push(sorter, n);
	while (sorter->heap_count > 0) {
		uint32_t node = pop(sorter);
		uint32_t count;
		const uint32_t *edges = seam__graph_edges(graph, node, &count);

		seam__graph_node_at(graph, node)->position = (uint32_t)graph->sorted.count;
		((uint32_t *)graph->sorted.items)[graph->sorted.count++] = node;
		for (uint32_t e = 0; e < count; e++)
			if (--sorter->left[edges[e]] == 0)
				push(sorter, edges[e]);
	}
	return graph->sorted.count == sorter->nodes ? SEAM_OK : name_cycle(sorter);
}

enum seam_rc seam__graph_finish(struct seam_graph *graph)
{
	struct seam_meta *meta = seam__meta_process();
	struct sorter sorter = {.graph = graph, .nodes = (uint32_t)graph->nodes.count};
	size_t nodes = (size_t)sorter.nodes + 1;
	size_t streams = graph->streams.count + 1;
	uint32_t *last_of_stream = seam__meta_array(meta, streams, sizeof(*last_of_stream));
	enum seam_rc rc = SEAM_OOM_META;

	graph->wrong = NULL;
	sorter.left = seam__meta_array(meta, nodes, sizeof(*sorter.left));
	sorter.heap = seam__meta_array(meta, nodes, sizeof(*sorter.heap));
	if (sorter.left != NULL && sorter.heap != NULL && last_of_stream != NULL)
		rc = give_consumers(graph);
	if (rc == SEAM_OK)
		rc = list_edges(&sorter, last_of_stream);
	if (rc == SEAM_OK)
		rc = sort(&sorter);
	seam__meta_free(meta, sorter.heap, nodes * sizeof(*sorter.heap));
	seam__meta_free(meta, sorter.left, nodes * sizeof(*sorter.left));
	seam__meta_free(meta, last_of_stream, streams * sizeof(*last_of_stream));
	return rc;
}

static const char *check_tensors(const struct seam_graph *graph)
{
	uint32_t linked = 0;
	uint32_t walked = 0;

	for (uint32_t t = 0; t < graph->tensors.count; t++) {
		const struct seam_graph_tensor *tensor = seam__graph_tensor_at(graph, t);

		if (tensor->producer >= graph->nodes.count ||
			(uint64_t)tensor->first_consumer + tensor->consumer_count > graph->consumers.count)
			return "G1 tensor";
		for (uint32_t c = 0; c < tensor->consumer_count; c++)
			if (seam__graph_consumers(graph, tensor)[c] >= graph->nodes.count)
				return "G1 consumer";
		if (tensor->next != SEAM__GRAPH_NONE &&
			(tensor->next >= graph->tensors.count || !seam__graph_tensor_at(graph, tensor->next)->is_next))
			return "G2 successor";
		linked += tensor->next != SEAM__GRAPH_NONE;
	}
	/* From the heads every link is walked once, unless some are in a circle, or have two predecessors. */
	for (uint32_t t = 0; t < graph->tensors.count; t++)
		for (uint32_t at = t; !seam__graph_tensor_at(graph, t)->is_next && walked <= linked; walked++) {
			at = seam__graph_tensor_at(graph, at)->next;
			if (at == SEAM__GRAPH_NONE)
				break;
		}
	return walked == linked ? NULL : "G2 chain";
}

const char *seam__graph_check(const struct seam_graph *graph)
{
	const struct seam_graph_arc *arcs = graph->arcs.items;

	for (uint32_t n = 0; n < graph->nodes.count; n++)
		if (seam__graph_node_at(graph, n)->stream >= graph->streams.count)
			return "G1 stream";
	for (size_t a = 0; a < graph->arcs.count; a++)
		if (arcs[a].from >= graph->nodes.count || arcs[a].to >= graph->nodes.count)
			return "G1 arc";
	for (uint32_t p = 0; p < graph->sorted.count; p++) {
		uint32_t node = seam__graph_at_position(graph, p);
		uint32_t count;
		const uint32_t *edges = seam__graph_edges(graph, node, &count);

		if (node >= graph->nodes.count || seam__graph_node_at(graph, node)->position != p)
			return "G3 position";
		for (uint32_t e = 0; e < count; e++)
			if (seam__graph_node_at(graph, edges[e])->position <= p)
				return "G3 edge";
	}
	return check_tensors(graph);
}
