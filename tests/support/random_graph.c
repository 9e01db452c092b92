/* random_graph.c: see random_graph.h. */
#include "random_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_problem.h"

static void must(enum seam_rc rc)
{
	if (rc != SEAM_OK)
		abort();
}

struct maker {
	const struct random_graph_wish *wish;
	struct seam_graph *graph;
	uint64_t state;
	uint32_t *stream_of; /* per node, in an order in which the nodes can run */
};

static size_t node_name(char *name, uint32_t node)
{
	return (size_t)sprintf(name, "n%u", node);
}

static void add_nodes(struct maker *maker)
{
	const struct random_graph_wish *wish = maker->wish;
	char name[16];

	for (uint32_t n = 0; n < wish->nodes; n++)
		maker->stream_of[n] = (uint32_t)random_below(&maker->state, wish->streams);
	/* A stream's nodes keep their order; the streams may be listed one after the other. */
	for (uint32_t s = 0; s < (wish->shape == 1 ? wish->streams : 1); s++)
		for (uint32_t n = 0; n < wish->nodes; n++)
			if (wish->shape != 1 || maker->stream_of[n] == s)
				must(seam__graph_add_node(
					maker->graph, name, node_name(name, n), 100 + maker->stream_of[n]));
}

/* A node at or behind `from`: within its stream only, where the shape says so. */
static uint32_t random_later(struct maker *maker, uint32_t from)
{
	const struct random_graph_wish *wish = maker->wish;
	uint32_t reach = wish->nodes - from < 10 ? wish->nodes - from : 10;
	uint32_t to = from +
		(uint32_t)random_below(&maker->state, random_below(&maker->state, 6) == 0 ? wish->nodes - from : reach);

	if (wish->shape == 2 && random_below(&maker->state, 8) != 0)
		while (to > from && maker->stream_of[to] != maker->stream_of[from])
			to--;
	return to;
}

static void add_tensor(struct maker *maker, uint32_t number)
{
	uint32_t from = (uint32_t)random_below(&maker->state, maker->wish->nodes);
	uint64_t kind = random_below(&maker->state, 12);
	uint32_t consumers = kind == 0 ? 0 : 1 + (uint32_t)random_below(&maker->state, kind < 8 ? 1 : 5);
	uint32_t taken[8];
	char name[16];
	char node[16];

	must(seam__graph_add_tensor(maker->graph, name, (size_t)sprintf(name, "t%u", number),
		kind == 11 ? 0 : 1 + random_below(&maker->state, 50), node, node_name(node, from)));
	for (uint32_t c = 0; c < consumers; c++) {
		bool again = false;

		taken[c] = random_later(maker, from);
		for (uint32_t k = 0; k < c; k++)
			again = again || taken[k] == taken[c];
		if (!again)
			must(seam__graph_add_consumer(maker->graph, node, node_name(node, taken[c])));
	}
}

static void add_arcs(struct maker *maker)
{
	uint32_t arcs = maker->wish->shape == 3 ? maker->wish->nodes - 1 : maker->wish->nodes / 4;
	char from[16];
	char to[16];

	for (uint32_t a = 0; a < arcs; a++) {
		uint32_t begin =
			maker->wish->shape == 3 ? a : (uint32_t)random_below(&maker->state, maker->wish->nodes);
		uint32_t end = maker->wish->shape == 3 ? a + 1 : random_later(maker, begin);

		if (begin != end && (maker->wish->shape != 3 || random_below(&maker->state, 3) != 0))
			must(seam__graph_add_arc(maker->graph, from, node_name(from, begin), to, node_name(to, end)));
	}
}

static void bind_some(struct maker *maker)
{
	char name[16];

	for (uint32_t t = 0; t + 5 < maker->wish->tensors; t += 5) {
		uint32_t length = 2 + (uint32_t)random_below(&maker->state, 3);

		if (random_below(&maker->state, 3) != 0)
			continue;
		seam__graph_begin_contiguous(maker->graph);
		for (uint32_t k = 0; k < length; k++)
			must(seam__graph_bind(maker->graph, name, (size_t)sprintf(name, "t%u", t + length - 1 - k)));
	}
}

void random_graph(const struct random_graph_wish *wish, struct seam_graph *ret_graph)
{
	struct maker maker = {.wish = wish, .graph = ret_graph, .state = wish->seed * 7 + wish->shape};

	maker.stream_of = calloc(wish->nodes + 1, sizeof(*maker.stream_of));
	if (maker.stream_of == NULL)
		abort();
	seam__graph_init(ret_graph);
	add_nodes(&maker);
	for (uint32_t t = 0; t < wish->tensors; t++)
		add_tensor(&maker, t);
	if (wish->nodes > 0)
		add_arcs(&maker);
	if (wish->contiguous)
		bind_some(&maker);
	must(seam__graph_finish(ret_graph));
	if (seam__graph_check(ret_graph) != NULL)
		abort();
	free(maker.stream_of);
}

void naive_reachability(const struct seam_graph *graph, bool *ret_reaches)
{
	size_t nodes = graph->nodes.count;
	const struct seam_graph_arc *arcs = graph->arcs.items;

	memset(ret_reaches, 0, nodes * nodes * sizeof(*ret_reaches));
	for (uint32_t i = 0; i < nodes; i++)
		for (uint32_t j = i + 1; j < nodes; j++)
			if (seam__graph_node_at(graph, i)->stream == seam__graph_node_at(graph, j)->stream)
				ret_reaches[i * nodes + j] = true;
	for (size_t a = 0; a < graph->arcs.count; a++)
		ret_reaches[arcs[a].from * nodes + arcs[a].to] = true;
	for (uint32_t t = 0; t < graph->tensors.count; t++) {
		const struct seam_graph_tensor *tensor = seam__graph_tensor_at(graph, t);

		for (uint32_t c = 0; c < tensor->consumer_count; c++)
			if (seam__graph_consumers(graph, tensor)[c] != tensor->producer)
				ret_reaches[tensor->producer * nodes + seam__graph_consumers(graph, tensor)[c]] = true;
	}
	for (size_t k = 0; k < nodes; k++)
		for (size_t i = 0; i < nodes; i++)
			for (size_t j = 0; ret_reaches[i * nodes + k] && j < nodes; j++)
				ret_reaches[i * nodes + j] = ret_reaches[i * nodes + j] || ret_reaches[k * nodes + j];
}

/* Do all consumers of `earlier` come before the producer of `later`? */
static bool ends_before(const struct seam_graph *graph, const bool *reaches, uint32_t earlier, uint32_t later)
{
	const struct seam_graph_tensor *tensor = seam__graph_tensor_at(graph, earlier);
	size_t nodes = graph->nodes.count;

	for (uint32_t c = 0; c < tensor->consumer_count; c++)
		if (!reaches[seam__graph_consumers(graph, tensor)[c] * nodes +
			    seam__graph_tensor_at(graph, later)->producer])
			return false;
	return true;
}

bool naive_unsafe(const struct seam_graph *graph, const bool *reaches, uint32_t i, uint32_t j)
{
	return !ends_before(graph, reaches, i, j) && !ends_before(graph, reaches, j, i);
}
