/* graph.h: an operator graph: nodes in streams, and the tensors that pass between them.
 *
 * A node belongs to one stream; nodes of one stream run one after the other, in the order in which they were added. A
 * tensor is made by one node and needed until all its consumers have run; a node that consumes its own tensor uses it
 * as workspace, and a tensor without consumers is taken as its producer's workspace. A node runs after the producers of
 * what it consumes, after the nodes with an arc to it, and after its predecessor in the stream. Nothing else is known
 * of the order in which nodes run. (Papers: SOMAS section 2.) A contiguous constraint is a list of tensors that stand
 * one directly behind the other; a tensor is in at most one.
 *
 * Built by name, node by node (readers: in the tools), then finished, then immutable. A graph
 * that complained is of no more use; `wrong` and `wrong_name` say why, for the reader to add where.
 *
 * Two formats describe a graph.
 *
 * JSON, one object; "arcs" and "contiguous" may be missing, ids are strings or whole numbers:
 *   {"nodes": [{"id": "n1", "stream": 0}, ...],
 *    "tensors": [{"id": "t1", "size": 1024, "from": "n1", "to": ["n2", "n3"]}, ...], "arcs": [["n1", "n4"], ...],
 *    "contiguous": [["t1", "t2"], ...]}
 *
 * CSV, one row a line; rows may stand in any order but for nodes, whose order is that of their streams. Blank lines and
 * lines that begin with # are passed over; there are no quotes, and ids contain no comma, semicolon, quote or blank at
 * an end:
 *   node,ID,STREAM
 *   tensor,ID,SIZE,FROM,TO;TO;...     (TO may be empty)
 *   arc,FROM,TO contiguous,ID;ID;...
 *
 * Not here: who may share memory: the placement problem (graph_problem.h). Invariants, named by
 * seam__graph_check():
 *   G1  streams, producers, consumers and arcs name what exists
 *   G2  contiguous constraints form chains: no tensor is the successor of two, none its own descendant
 *   G3  finished: every edge leads to a later position, and positions are a permutation of the nodes
 * On the process-wide metadata domain. No locks.
 */
#ifndef SEAM_GRAPH_H
#define SEAM_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#include "grow.h"
#include "idmap.h"

#define SEAM__GRAPH_NONE UINT32_MAX
#define SEAM__GRAPH_MAX (UINT32_C(1) << 24)       /* nodes, tensors, consumers and arcs, each */
#define SEAM__GRAPH_BYTES_MAX (UINT64_C(1) << 60) /* sizes of all tensors together */

struct seam_graph_name; /* a name and what it names */

struct seam_graph_node {
	const struct seam_graph_name *name;
	uint32_t stream;   /* number into streams */
	uint32_t order;    /* in its stream, from 1 */
	uint32_t position; /* in the order of all, from 0; finished graphs only */
	uint32_t marked;   /* private: 1 + the tensor that it was last made a consumer of */
};

struct seam_graph_tensor {
	const struct seam_graph_name *name;
	uint64_t size_bytes; /* 0 is allowed */
	uint32_t producer;
	uint32_t first_consumer; /* consumers[first_consumer], ... */
	uint32_t consumer_count; /* ... as many; finished graphs: at least 1 */
	uint32_t next;           /* contiguous: stands directly behind this one; or SEAM__GRAPH_NONE */
	bool is_next;            /* some tensor has it as successor */
	bool is_bound;           /* is in a contiguous constraint */
};

struct seam_graph_arc {
	uint32_t from;
	uint32_t to;
};

struct seam_graph {
	struct seam_grow nodes;     /* struct seam_graph_node, as added */
	struct seam_grow tensors;   /* struct seam_graph_tensor */
	struct seam_grow consumers; /* uint32_t: nodes, by tensor */
	struct seam_grow arcs;      /* struct seam_graph_arc: those that were given */
	struct seam_grow streams;   /* uint64_t: the name of each stream number, in order of appearance */
	struct seam_grow sorted;    /* uint32_t: finished: the node at each position */
	struct seam_grow
		first_edge;     /* uint32_t: finished: edges of node n are edges[first_edge[n] .. first_edge[n + 1]) */
	struct seam_grow edges; /* uint32_t: finished: successors; from tensors, arcs and streams, some twice */
	struct seam_idmap stream_numbers;
	struct seam_graph_name *node_names;   /* by name */
	struct seam_graph_name *tensor_names; /* by name */
	uint64_t total_bytes;
	uint32_t last_bound; /* last member of the contiguous constraint being made, or SEAM__GRAPH_NONE */
	const char *wrong;   /* what the last failing call complained of; NULL: no memory */
	char wrong_name[48]; /* whom it concerns, cut; "" for nobody */
};

void seam__graph_init(struct seam_graph *graph);
void seam__graph_fini(struct seam_graph *graph); /* of an initialised one */

/* Names need no final zero. Errors of all: SEAM_CORRUPT (wrong says why), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__graph_add_node(
	struct seam_graph *graph, const char *name, size_t name_bytes, uint64_t stream);
SEAM_MUST_USE enum seam_rc seam__graph_add_tensor(struct seam_graph *graph, const char *name, size_t name_bytes,
	uint64_t size_bytes, const char *from, size_t from_bytes);
/* Of the tensor added last. */
SEAM_MUST_USE enum seam_rc seam__graph_add_consumer(struct seam_graph *graph, const char *to, size_t to_bytes);
SEAM_MUST_USE enum seam_rc seam__graph_add_arc(
	struct seam_graph *graph, const char *from, size_t from_bytes, const char *to, size_t to_bytes);
/* begin: the next bind is the first member of another contiguous constraint. */
void seam__graph_begin_contiguous(struct seam_graph *graph);
SEAM_MUST_USE enum seam_rc seam__graph_bind(struct seam_graph *graph, const char *name, size_t name_bytes);

/* After the last addition: gives every node its position, the earliest added first where there is a choice.
 * Errors: SEAM_CORRUPT (a cycle; wrong_name is a node on it), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__graph_finish(struct seam_graph *graph);

static inline struct seam_graph_node *seam__graph_node_at(const struct seam_graph *graph, uint32_t number)
{
	return (struct seam_graph_node *)graph->nodes.items + number;
}

static inline struct seam_graph_tensor *seam__graph_tensor_at(const struct seam_graph *graph, uint32_t number)
{
	return (struct seam_graph_tensor *)graph->tensors.items + number;
}

static inline const uint32_t *seam__graph_consumers(
	const struct seam_graph *graph, const struct seam_graph_tensor *tensor)
{
	return (const uint32_t *)graph->consumers.items + tensor->first_consumer;
}

/* Successors of a node of a finished graph; NULL where it has none. */
static inline const uint32_t *seam__graph_edges(const struct seam_graph *graph, uint32_t node, uint32_t *ret_count)
{
	const uint32_t *first = (const uint32_t *)graph->first_edge.items + node;

	*ret_count = first[1] - first[0];
	return *ret_count == 0 ? NULL : (const uint32_t *)graph->edges.items + first[0];
}

static inline uint32_t seam__graph_at_position(const struct seam_graph *graph, uint32_t position)
{
	return ((const uint32_t *)graph->sorted.items)[position];
}

/* The text of a name, with a final zero. */
const char *seam__graph_text(const struct seam_graph_name *name);

/* Name of the first broken invariant, or NULL. */
const char *seam__graph_check(const struct seam_graph *graph);

#endif
