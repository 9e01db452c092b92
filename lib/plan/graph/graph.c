/* graph.c: building a graph by names, for graph.h. Positions and the checks stand in graph_order.c. */
#include "graph.h"

#include <string.h>

#include "hash.h"

struct seam_graph_name {
	UT_hash_handle hh;
	uint32_t number;
	uint32_t bytes;
	char text[];
};

void seam__graph_init(struct seam_graph *graph)
{
	*graph = (struct seam_graph){.last_bound = SEAM__GRAPH_NONE};
	seam__grow_init(&graph->nodes, sizeof(struct seam_graph_node));
	seam__grow_init(&graph->tensors, sizeof(struct seam_graph_tensor));
	seam__grow_init(&graph->consumers, sizeof(uint32_t));
	seam__grow_init(&graph->arcs, sizeof(struct seam_graph_arc));
	seam__grow_init(&graph->streams, sizeof(uint64_t));
	seam__grow_init(&graph->sorted, sizeof(uint32_t));
	seam__grow_init(&graph->first_edge, sizeof(uint32_t));
	seam__grow_init(&graph->edges, sizeof(uint32_t));
	seam__idmap_init(&graph->stream_numbers);
}

static void free_names(struct seam_graph_name *names)
{
	struct seam_meta *hash_meta = seam__meta_process();
	struct seam_graph_name *name = names;

	HASH_CLEAR(hh, names); /* frees the table; the elements still name their successors */
	while (name != NULL) {
		struct seam_graph_name *next = name->hh.next;

		seam__meta_free(hash_meta, name, sizeof(*name) + name->bytes + 1);
		name = next;
	}
}

void seam__graph_fini(struct seam_graph *graph)
{
	free_names(graph->node_names);
	free_names(graph->tensor_names);
	seam__idmap_fini(&graph->stream_numbers);
	seam__grow_fini(&graph->nodes);
	seam__grow_fini(&graph->tensors);
	seam__grow_fini(&graph->consumers);
	seam__grow_fini(&graph->arcs);
	seam__grow_fini(&graph->streams);
	seam__grow_fini(&graph->sorted);
	seam__grow_fini(&graph->first_edge);
	seam__grow_fini(&graph->edges);
	*graph = (struct seam_graph){.last_bound = SEAM__GRAPH_NONE};
}

const char *seam__graph_text(const struct seam_graph_name *name)
{
	return name->text;
}

static enum seam_rc complain(struct seam_graph *graph, const char *wrong, const char *name, size_t name_bytes)
{
	size_t bytes = name_bytes < sizeof(graph->wrong_name) ? name_bytes : sizeof(graph->wrong_name) - 1;

	graph->wrong = wrong;
	if (bytes > 0)
		memcpy(graph->wrong_name, name, bytes);
	graph->wrong_name[bytes] = '\0';
	return SEAM_CORRUPT;
}

static enum seam_rc add_name(struct seam_graph *graph, struct seam_graph_name **names, const char *text, size_t bytes,
	uint32_t number, const struct seam_graph_name **ret_name)
{
	struct seam_meta *hash_meta = seam__meta_process();
	bool hash_failed = false;
	struct seam_graph_name *name = NULL;

	if (bytes == 0)
		return complain(graph, "an id is empty", "", 0);
	if (bytes > UINT16_MAX)
		return complain(graph, "an id is longer than 65535 bytes:", text, bytes);
	HASH_FIND(hh, *names, text, bytes, name);
	if (name != NULL)
		return complain(graph, "this id stood before:", text, bytes);
	name = seam__meta_alloc(hash_meta, sizeof(*name) + bytes + 1);
	if (name == NULL)
		return SEAM_OOM_META;
	name->number = number;
	name->bytes = (uint32_t)bytes;
	memcpy(name->text, text, bytes);
	HASH_ADD_KEYPTR(hh, *names, name->text, bytes, name);
	if (hash_failed) {
		seam__meta_free(hash_meta, name, sizeof(*name) + bytes + 1);
		return SEAM_OOM_META;
	}
	*ret_name = name;
	return SEAM_OK;
}

static enum seam_rc find(struct seam_graph *graph, struct seam_graph_name *names, const char *wrong, const char *text,
	size_t bytes, uint32_t *ret_number)
{
	struct seam_graph_name *name = NULL;

	HASH_FIND(hh, names, text, bytes, name);
	if (name == NULL)
		return complain(graph, wrong, text, bytes);
	*ret_number = name->number;
	return SEAM_OK;
}

static enum seam_rc find_node(struct seam_graph *graph, const char *text, size_t bytes, uint32_t *ret_number)
{
	return find(graph, graph->node_names, "no node has this id:", text, bytes, ret_number);
}

static enum seam_rc find_stream(struct seam_graph *graph, uint64_t stream, uint32_t *ret_number)
{
	enum seam_rc rc = seam__idmap_number(&graph->stream_numbers, stream, ret_number);

	if (rc != SEAM_OK || *ret_number != graph->streams.count)
		return rc;
	rc = seam__grow_append(&graph->streams, &stream, 1);
	if (rc != SEAM_OK)
		seam__idmap_remove(&graph->stream_numbers, stream);
	return rc;
}

enum seam_rc seam__graph_add_node(struct seam_graph *graph, const char *name, size_t name_bytes, uint64_t stream)
{
	struct seam_graph_node node = {0};

	if (graph->nodes.count == SEAM__GRAPH_MAX)
		return complain(graph, "too many nodes", "", 0);
	enum seam_rc rc =
		add_name(graph, &graph->node_names, name, name_bytes, (uint32_t)graph->nodes.count, &node.name);
	if (rc == SEAM_OK)
		rc = find_stream(graph, stream, &node.stream);
	if (rc == SEAM_OK)
		rc = seam__grow_append(&graph->nodes, &node, 1);
	return rc;
}

enum seam_rc seam__graph_add_tensor(struct seam_graph *graph, const char *name, size_t name_bytes, uint64_t size_bytes,
	const char *from, size_t from_bytes)
{
	struct seam_graph_tensor tensor = {
		.size_bytes = size_bytes, .first_consumer = (uint32_t)graph->consumers.count, .next = SEAM__GRAPH_NONE};

	if (graph->tensors.count == SEAM__GRAPH_MAX)
		return complain(graph, "too many tensors", "", 0);
	if (size_bytes > SEAM__GRAPH_BYTES_MAX || graph->total_bytes + size_bytes > SEAM__GRAPH_BYTES_MAX)
		return complain(graph, "the sizes together exceed 2^60 bytes, at", name, name_bytes);
	enum seam_rc rc = find_node(graph, from, from_bytes, &tensor.producer);
	if (rc == SEAM_OK)
		rc = add_name(
			graph, &graph->tensor_names, name, name_bytes, (uint32_t)graph->tensors.count, &tensor.name);
	if (rc == SEAM_OK)
		rc = seam__grow_append(&graph->tensors, &tensor, 1);
	if (rc == SEAM_OK)
		graph->total_bytes += size_bytes;
	return rc;
}

enum seam_rc seam__graph_add_consumer(struct seam_graph *graph, const char *to, size_t to_bytes)
{
	uint32_t number = (uint32_t)graph->tensors.count - 1;
	uint32_t node;
	enum seam_rc rc = find_node(graph, to, to_bytes, &node);

	if (rc != SEAM_OK)
		return rc;
	if (graph->consumers.count == SEAM__GRAPH_MAX)
		return complain(graph, "too many consumers", "", 0);
	if (seam__graph_node_at(graph, node)->marked == number + 1)
		return complain(graph, "a consumer stands twice:", to, to_bytes);
	rc = seam__grow_append(&graph->consumers, &node, 1);
	if (rc != SEAM_OK)
		return rc;
	seam__graph_node_at(graph, node)->marked = number + 1;
	seam__graph_tensor_at(graph, number)->consumer_count++;
	return SEAM_OK;
}

enum seam_rc seam__graph_add_arc(
	struct seam_graph *graph, const char *from, size_t from_bytes, const char *to, size_t to_bytes)
{
	struct seam_graph_arc arc;
	enum seam_rc rc = find_node(graph, from, from_bytes, &arc.from);

	if (rc == SEAM_OK)
		rc = find_node(graph, to, to_bytes, &arc.to);
	if (rc != SEAM_OK)
		return rc;
	if (arc.from == arc.to)
		return complain(graph, "an arc from a node to itself:", from, from_bytes);
	if (graph->arcs.count == SEAM__GRAPH_MAX)
		return complain(graph, "too many arcs", "", 0);
	return seam__grow_append(&graph->arcs, &arc, 1);
}

void seam__graph_begin_contiguous(struct seam_graph *graph)
{
	graph->last_bound = SEAM__GRAPH_NONE;
}

enum seam_rc seam__graph_bind(struct seam_graph *graph, const char *name, size_t name_bytes)
{
	uint32_t number;
	enum seam_rc rc = find(graph, graph->tensor_names, "no tensor has this id:", name, name_bytes, &number);

	if (rc != SEAM_OK)
		return rc;
	if (seam__graph_tensor_at(graph, number)->is_bound)
		return complain(graph, "a tensor is in two contiguous constraints, or in one twice:", name, name_bytes);
	seam__graph_tensor_at(graph, number)->is_bound = true;
	if (graph->last_bound != SEAM__GRAPH_NONE) {
		seam__graph_tensor_at(graph, graph->last_bound)->next = number;
		seam__graph_tensor_at(graph, number)->is_next = true;
	}
	graph->last_bound = number;
	return SEAM_OK;
}
