/* unsafe_pairs_streams.c: unsafe pairs by the graph of streams (SOMAS Algorithms 2 to 5), for unsafe_pairs.h.
 *
 * Orders of nodes in their streams count from 1; 0 says that there is no such node.
 */
#include <string.h>

#include "meta.h"
#include "unsafe_pairs.h"
#include "unsafe_pairs_make.h"

/* What the pairs need of a tensor, together. */
struct tensor {
	uint32_t producer;
	uint32_t start;      /* StartTime */
	uint32_t end;        /* EndTime in its own stream; 0 where nothing of that consumes it */
	uint32_t first_dest; /* DestStreams with EndTime: dests[first_dest .. first_dest + dest_count) */
	uint32_t dest_count;
	bool is_between; /* some consumer is in another stream than its producer */
};

struct dest {
	uint32_t stream;
	uint32_t end;
};

struct by_streams {
	const struct seam_graph *graph;
	struct seam_pairs *pairs;
	uint32_t streams;
	uint32_t count;         /* tensors */
	uint32_t *max_ancestor; /* MaxAncId of each node: [node * streams + s] */
	uint8_t *is_ancestor;   /* [s1 * streams + s2]: s2 is in AncStreams[s1]; never of itself */
	struct tensor *tensors;
	struct dest *dests;
	uint32_t *last_dest;    /* per stream: 1 + its place in dests, for the tensor at hand */
	uint32_t *members;      /* tensors by stream, in the order of the graph */
	uint32_t *first_member; /* per stream, and one more */
};

static uint32_t stream_of(const struct by_streams *by, uint32_t tensor)
{
	return seam__graph_node_at(by->graph, by->tensors[tensor].producer)->stream;
}

static const uint32_t *max_ancestor_of(const struct by_streams *by, uint32_t tensor)
{
	return &by->max_ancestor[(size_t)by->tensors[tensor].producer * by->streams];
}

static void find_max_ancestors(struct by_streams *by)
{
	for (uint32_t p = 0; p < by->graph->nodes.count; p++) {
		uint32_t number = seam__graph_at_position(by->graph, p);
		const struct seam_graph_node *node = seam__graph_node_at(by->graph, number);
		const uint32_t *mine = &by->max_ancestor[(size_t)number * by->streams];
		uint32_t count;
		const uint32_t *edges = seam__graph_edges(by->graph, number, &count);

		for (uint32_t e = 0; e < count; e++) {
			uint32_t *theirs = &by->max_ancestor[(size_t)edges[e] * by->streams];

			for (uint32_t s = 0; s < by->streams; s++)
				theirs[s] = mine[s] > theirs[s] ? mine[s] : theirs[s];
			if (node->order > theirs[node->stream])
				theirs[node->stream] = node->order;
		}
		for (uint32_t s = 0; s < by->streams; s++)
			if (s != node->stream && mine[s] > 0)
				by->is_ancestor[(size_t)node->stream * by->streams + s] = 1;
	}
}

/* StartTime, EndTime and DestStreams of one tensor; its streams are listed from `first_dest` on. */
static void fill_tensor(struct by_streams *by, uint32_t number, uint32_t first_dest)
{
	const struct seam_graph_tensor *given = seam__graph_tensor_at(by->graph, number);
	const struct seam_graph_node *producer = seam__graph_node_at(by->graph, given->producer);
	const uint32_t *consumers = seam__graph_consumers(by->graph, given);
	struct tensor *tensor = &by->tensors[number];

	*tensor = (struct tensor){.producer = given->producer, .start = producer->order, .first_dest = first_dest};
	for (uint32_t c = 0; c < given->consumer_count; c++) {
		const struct seam_graph_node *node = seam__graph_node_at(by->graph, consumers[c]);
		uint32_t *place = &by->last_dest[node->stream];

		/* Places of earlier tensors lie before first_dest. */
		if (*place <= first_dest) {
			by->dests[first_dest + tensor->dest_count] = (struct dest){.stream = node->stream};
			*place = first_dest + ++tensor->dest_count;
		}
		if (node->order > by->dests[*place - 1].end)
			by->dests[*place - 1].end = node->order;
		if (node->stream != producer->stream)
			tensor->is_between = true;
		else if (node->order > tensor->end)
			tensor->end = node->order;
	}
}

static void fill_tensors(struct by_streams *by)
{
	uint32_t dests = 0;

	for (uint32_t t = 0; t < by->count; t++) {
		fill_tensor(by, t, dests);
		dests += by->tensors[t].dest_count;
	}
}

/* Counting sort. */
static void list_members(struct by_streams *by)
{
	for (uint32_t t = 0; t < by->count; t++)
		by->first_member[stream_of(by, t) + 1]++;
	for (uint32_t s = 0; s < by->streams; s++)
		by->first_member[s + 1] += by->first_member[s];
	for (uint32_t t = 0; t < by->count; t++)
		by->members[by->first_member[stream_of(by, t)]++] = t;
	/* Each beginning was moved to its end, which is the next one's beginning. */
	memmove(by->first_member + 1, by->first_member, by->streams * sizeof(*by->first_member));
	by->first_member[0] = 0;
}

/* Algorithm 4: do all consumers of `earlier` run before `later` is produced, which is in `stream`? A stream without an
 * ancestor of `later` has MaxAncId 0, so that DestStreams is a subset need not be asked on its own. */
static bool is_valid_ancestor(
	const struct by_streams *by, const struct tensor *earlier, const struct tensor *later, uint32_t stream)
{
	const uint32_t *reach = &by->max_ancestor[(size_t)later->producer * by->streams];

	for (uint32_t d = 0; d < earlier->dest_count; d++) {
		const struct dest dest = by->dests[earlier->first_dest + d];

		if (dest.stream == stream ? dest.end >= later->start : dest.end > reach[dest.stream])
			return false;
	}
	return true;
}

/* Algorithm 3, for two streams: tensors of `from`, an ancestor of `to`, may be overwritten by those of `to`. */
static void reuse_ancestor_stream(struct by_streams *by, uint32_t to, uint32_t from)
{
	for (uint32_t m2 = by->first_member[from]; m2 < by->first_member[from + 1]; m2++) {
		uint32_t t2 = by->members[m2];
		const struct tensor *earlier = &by->tensors[t2];

		for (uint32_t m1 = by->first_member[to]; m1 < by->first_member[to + 1]; m1++) {
			uint32_t t1 = by->members[m1];

			if (earlier->is_between ? is_valid_ancestor(by, earlier, &by->tensors[t1], to)
						: earlier->end <= max_ancestor_of(by, t1)[from])
				seam__pairs_remove(by->pairs, t2, t1);
		}
	}
}

/* Algorithm 5, for one pair of a stream. */
static bool is_safe_in_stream(
	const struct by_streams *by, const struct tensor *t1, const struct tensor *t2, uint32_t stream)
{
	if (t1->start == t2->start)
		return false;
	if (t1->is_between && t2->is_between)
		return is_valid_ancestor(by, t1, t2, stream) || is_valid_ancestor(by, t2, t1, stream);
	if (t1->is_between)
		return t1->start > t2->end || (t1->start < t2->start && is_valid_ancestor(by, t1, t2, stream));
	if (t2->is_between)
		return t2->start > t1->end || (t2->start < t1->start && is_valid_ancestor(by, t2, t1, stream));
	return t1->start > t2->end || t2->start > t1->end;
}

static void reuse_same_stream(struct by_streams *by, uint32_t stream)
{
	for (uint32_t m1 = by->first_member[stream]; m1 < by->first_member[stream + 1]; m1++) {
		uint32_t t1 = by->members[m1];

		for (uint32_t m2 = m1 + 1; m2 < by->first_member[stream + 1]; m2++)
			if (is_safe_in_stream(by, &by->tensors[t1], &by->tensors[by->members[m2]], stream))
				seam__pairs_remove(by->pairs, t1, by->members[m2]);
	}
}

/* Algorithm 2. */
static void decide(struct by_streams *by)
{
	find_max_ancestors(by);
	fill_tensors(by);
	list_members(by);
	for (uint32_t to = 0; to < by->streams; to++)
		for (uint32_t from = 0; from < by->streams; from++)
			if (by->is_ancestor[(size_t)to * by->streams + from] != 0)
				reuse_ancestor_stream(by, to, from);
	for (uint32_t s = 0; s < by->streams; s++)
		reuse_same_stream(by, s);
	seam__pairs_mirror(by->pairs);
}

enum seam_rc seam__safety_by_streams(
	const struct seam_graph *graph, struct seam_meta *meta, struct seam_pairs *ret_pairs)
{
	struct seam_pairs pairs;
	struct by_streams by = {.graph = graph,
		.pairs = &pairs,
		.streams = (uint32_t)graph->streams.count,
		.count = (uint32_t)graph->tensors.count};
	size_t streams = (size_t)by.streams + 1;
	size_t tensors = (size_t)by.count + 1;
	size_t dests = graph->consumers.count + 1;
	size_t nodes = graph->nodes.count + 1;
	enum seam_rc rc = seam__pairs_init_all(&pairs, graph, meta);

	if (rc != SEAM_OK)
		return rc;
	by.max_ancestor = seam__meta_array(meta, nodes * streams, sizeof(*by.max_ancestor));
	by.is_ancestor = seam__meta_alloc(meta, streams * streams);
	by.tensors = seam__meta_array(meta, tensors, sizeof(*by.tensors));
	by.dests = seam__meta_array(meta, dests, sizeof(*by.dests));
	by.last_dest = seam__meta_array(meta, streams, sizeof(*by.last_dest));
	by.members = seam__meta_array(meta, tensors, sizeof(*by.members));
	by.first_member = seam__meta_array(meta, streams, sizeof(*by.first_member));
	if (by.max_ancestor == NULL || by.is_ancestor == NULL || by.tensors == NULL || by.dests == NULL ||
		by.last_dest == NULL || by.members == NULL || by.first_member == NULL)
		rc = SEAM_OOM_META;
	else
		decide(&by);
	seam__meta_free(meta, by.first_member, streams * sizeof(*by.first_member));
	seam__meta_free(meta, by.members, tensors * sizeof(*by.members));
	seam__meta_free(meta, by.last_dest, streams * sizeof(*by.last_dest));
	seam__meta_free(meta, by.dests, dests * sizeof(*by.dests));
	seam__meta_free(meta, by.tensors, tensors * sizeof(*by.tensors));
	seam__meta_free(meta, by.is_ancestor, streams * streams);
	seam__meta_free(meta, by.max_ancestor, nodes * streams * sizeof(*by.max_ancestor));
	if (rc == SEAM_OK)
		*ret_pairs = pairs;
	else
		seam__pairs_fini(&pairs);
	return rc;
}
