/* random_graph.h: operator graphs for tests, from a seed, of several shapes; and reachability by trying every way. */
#ifndef RANDOM_GRAPH_H
#define RANDOM_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "graph.h"

#define RANDOM_GRAPH_SHAPES 4u

struct random_graph_wish {
	uint64_t seed;
	uint32_t shape; /* 0: nodes scattered over streams; 1: listed stream by stream; 2: mostly within streams; 3: a
			 * line of nodes that hop between streams, each with an arc to the next */
	uint32_t nodes;
	uint32_t tensors; /* some without consumers, some workspace, some of size 0, some for several streams */
	uint32_t streams;
	bool contiguous; /* some tensors are bound */
};

/* Finished and checked, for seam__graph_fini(). Nodes are "n0" .., tensors "t0" ... Aborts when there is no memory. */
void random_graph(const struct random_graph_wish *wish, struct seam_graph *ret_graph);

/* ret_reaches[i * nodes + j]: is there a way of one edge or more from node i to node j? By the meaning of tensors, arcs
 * and streams, not by the graph's edges. O(nodes^3). */
void naive_reachability(const struct seam_graph *graph, bool *ret_reaches);

/* Must tensors i and j never share memory? */
bool naive_unsafe(const struct seam_graph *graph, const bool *reaches, uint32_t i, uint32_t j);

#endif
