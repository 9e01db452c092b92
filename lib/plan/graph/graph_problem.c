/* graph_problem.c: see graph_problem.h. */
#include "graph_problem.h"

#include "meta.h"

/* ret_first[n * streams + s]: position of the first node of stream s that must run after node n; the number of nodes
 * where there is none. Backwards: what follows a successor follows the node. */
static void find_first(const struct seam_graph *graph, uint32_t *ret_first)
{
	uint32_t nodes = (uint32_t)graph->nodes.count;
	size_t streams = graph->streams.count;

	for (uint32_t p = nodes; p-- > 0;) {
		uint32_t node = seam__graph_at_position(graph, p);
		uint32_t *mine = &ret_first[node * streams];
		uint32_t count;
		const uint32_t *edges = seam__graph_edges(graph, node, &count);

		for (size_t s = 0; s < streams; s++)
			mine[s] = nodes;
		for (uint32_t e = 0; e < count; e++) {
			const struct seam_graph_node *next = seam__graph_node_at(graph, edges[e]);
			const uint32_t *theirs = &ret_first[edges[e] * streams];

			for (size_t s = 0; s < streams; s++)
				mine[s] = theirs[s] < mine[s] ? theirs[s] : mine[s];
			mine[next->stream] = next->position < mine[next->stream] ? next->position : mine[next->stream];
		}
	}
}

static void add_item(const struct seam_graph *graph, uint32_t number, const uint32_t *first, bool apart,
	struct seam_problem *problem)
{
	const struct seam_graph_tensor *tensor = seam__graph_tensor_at(graph, number);
	const struct seam_graph_node *producer = seam__graph_node_at(graph, tensor->producer);
	const uint32_t *consumers = seam__graph_consumers(graph, tensor);
	uint32_t own = 0;

	for (uint32_t s = 0; s < problem->streams; s++) {
		uint32_t release = 0;

		for (uint32_t c = 0; c < tensor->consumer_count; c++) {
			uint32_t at = first[(size_t)consumers[c] * problem->streams + s];

			release = at > release ? at : release;
		}
		if (problem->holds != NULL)
			problem->holds[(size_t)problem->count * problem->streams + s] =
				apart && s != producer->stream ? SEAM__HOLD_ALWAYS : release - producer->position;
		if (s == producer->stream)
			own = release - producer->position;
	}
	struct seam_item *item = &problem->items[problem->count];
	*item = (struct seam_item){
		.size_bytes = tensor->size_bytes,
		.fixed_bytes = SEAM__ADDRESS_ANY,
		.begin = producer->position,
		.span = own,
		.stream = producer->stream,
		.request = number,
		.next = SEAM__ITEM_NONE,
	};
	item->size_bytes += (problem->align_bytes - item->size_bytes % problem->align_bytes) % problem->align_bytes;
	problem->count++;
}

/* item_of: per tensor, or SEAM__ITEM_NONE for those without a size, which a chain passes over. */
static void link_items(const struct seam_graph *graph, const uint32_t *item_of, struct seam_problem *problem)
{
	for (uint32_t t = 0; t < graph->tensors.count; t++) {
		uint32_t last = SEAM__ITEM_NONE;

		if (seam__graph_tensor_at(graph, t)->is_next)
			continue;
		for (uint32_t at = t; at != SEAM__GRAPH_NONE; at = seam__graph_tensor_at(graph, at)->next) {
			if (item_of[at] == SEAM__ITEM_NONE)
				continue;
			if (last != SEAM__ITEM_NONE)
				problem->items[last].next = item_of[at];
			last = item_of[at];
		}
	}
}

static void add_items(const struct seam_graph *graph, const uint32_t *first, bool apart, uint32_t *item_of,
	struct seam_problem *problem)
{
	for (uint32_t t = 0; t < graph->tensors.count; t++) {
		item_of[t] = SEAM__ITEM_NONE;
		if (seam__graph_tensor_at(graph, t)->size_bytes == 0)
			continue;
		item_of[t] = problem->count;
		add_item(graph, t, first, apart, problem);
	}
	link_items(graph, item_of, problem);
}

enum seam_rc seam__graph_problem(const struct seam_graph *graph, struct seam_meta *meta, uint64_t align_bytes,
	bool apart, struct seam_problem *ret_problem)
{
	size_t firsts = graph->nodes.count * graph->streams.count + 1;
	size_t tensors = graph->tensors.count + 1;
	struct seam_problem problem = {0};
	uint32_t *first = seam__meta_array(meta, firsts, sizeof(*first));
	uint32_t *item_of = seam__meta_array(meta, tensors, sizeof(*item_of));
	enum seam_rc rc = first == NULL || item_of == NULL ? SEAM_OOM_META : SEAM_OK;

	if (rc == SEAM_OK)
		rc = seam__problem_init(&problem, meta, (uint32_t)graph->tensors.count, (uint32_t)graph->nodes.count,
			true, graph->streams.count == 0 ? 1 : (uint32_t)graph->streams.count, align_bytes);
	if (rc == SEAM_OK) {
		find_first(graph, first);
		add_items(graph, first, apart, item_of, &problem);
		rc = seam__problem_finish(&problem);
	}
	seam__meta_free(meta, item_of, tensors * sizeof(*item_of));
	seam__meta_free(meta, first, firsts * sizeof(*first));
	if (rc == SEAM_OK)
		*ret_problem = problem;
	else
		seam__problem_fini(&problem);
	return rc;
}
