/* safety_streams.c: unsafe pairs by the graph of streams (SOMAS Algorithms 2 to 5), for safety.h.
 *
 * Orders of nodes in their streams count from 1; 0 says that there is no such node.
 */
#include <string.h>

#include "meta.h"
#include "safety.h"
#include "safety_pairs.h"

struct by_streams {
	const struct seam__graph *graph;
	struct seam_meta *meta;
	struct seam__pairs *pairs;
	uint32_t streams;
	uint32_t tensors;
	uint32_t *max_ancestor; /* MaxAncId of each node: [node * streams + s] */
	uint32_t *end;          /* EndTime: [tensor * streams + s], 0 where s is no DestStream */
	uint8_t *is_ancestor;   /* [s1 * streams + s2]: s2 is in AncStreams[s1]; never of itself */
	uint8_t *is_between;    /* per tensor: some consumer is in another stream than its producer */
	uint32_t *members;      /* tensors by stream, in the order of the graph */
	uint32_t *first_member; /* per stream, and one more */
};

static const struct seam__graph_node *producer_of(const struct by_streams *by, uint32_t tensor)
{
	return seam__graph_node_at(by->graph, seam__graph_tensor_at(by->graph, tensor)->producer);
}

static const uint32_t *max_ancestor_of(const struct by_streams *by, uint32_t tensor)
{
	return &by->max_ancestor[(size_t)seam__graph_tensor_at(by->graph, tensor)->producer * by->streams];
}

static void find_max_ancestors(struct by_streams *by)
{
	for (uint32_t p = 0; p < by->graph->nodes.count; p++) {
		uint32_t number = seam__graph_at_position(by->graph, p);
		const struct seam__graph_node *node = seam__graph_node_at(by->graph, number);
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

static void find_ends(struct by_streams *by)
{
	for (uint32_t t = 0; t < by->tensors; t++) {
		const struct seam__graph_tensor *tensor = seam__graph_tensor_at(by->graph, t);
		const uint32_t *consumers = seam__graph_consumers(by->graph, tensor);
		uint32_t *end = &by->end[(size_t)t * by->streams];

		for (uint32_t c = 0; c < tensor->consumer_count; c++) {
			const struct seam__graph_node *node = seam__graph_node_at(by->graph, consumers[c]);

			end[node->stream] = node->order > end[node->stream] ? node->order : end[node->stream];
			by->is_between[t] |= node->stream != producer_of(by, t)->stream;
		}
	}
}

/* Counting sort. */
static void list_members(struct by_streams *by)
{
	for (uint32_t t = 0; t < by->tensors; t++)
		by->first_member[producer_of(by, t)->stream + 1]++;
	for (uint32_t s = 0; s < by->streams; s++)
		by->first_member[s + 1] += by->first_member[s];
	for (uint32_t t = 0; t < by->tensors; t++)
		by->members[by->first_member[producer_of(by, t)->stream]++] = t;
	/* Each beginning was moved to its end, which is the next one's beginning. */
	memmove(by->first_member + 1, by->first_member, by->streams * sizeof(*by->first_member));
	by->first_member[0] = 0;
}

/* Algorithm 4: do all consumers of `earlier` run before `later` is produced? */
static bool is_valid_ancestor(const struct by_streams *by, uint32_t earlier, uint32_t later)
{
	const struct seam__graph_node *producer = producer_of(by, later);
	const uint32_t *end = &by->end[(size_t)earlier * by->streams];
	const uint32_t *reach = max_ancestor_of(by, later);
	const uint8_t *ancestors = &by->is_ancestor[(size_t)producer->stream * by->streams];

	for (uint32_t s = 0; s < by->streams; s++) {
		if (end[s] == 0)
			continue;
		if (s == producer->stream ? end[s] >= producer->order : ancestors[s] == 0 || end[s] > reach[s])
			return false;
	}
	return true;
}

/* Algorithm 3, for two streams: tensors of `from`, an ancestor of `to`, may be overwritten by those of `to`. */
static void reuse_ancestor_stream(struct by_streams *by, uint32_t to, uint32_t from)
{
	for (uint32_t m2 = by->first_member[from]; m2 < by->first_member[from + 1]; m2++) {
		uint32_t t2 = by->members[m2];
		uint32_t end = by->end[(size_t)t2 * by->streams + from];

		for (uint32_t m1 = by->first_member[to]; m1 < by->first_member[to + 1]; m1++) {
			uint32_t t1 = by->members[m1];

			if (by->is_between[t2] != 0 ? is_valid_ancestor(by, t2, t1) : end <= max_ancestor_of(by, t1)[from])
				seam__pairs_remove(by->pairs, t2, t1);
		}
	}
}

/* Algorithm 5, for one pair of a stream. */
static bool is_safe_in_stream(const struct by_streams *by, uint32_t t1, uint32_t t2, uint32_t stream)
{
	uint32_t start1 = producer_of(by, t1)->order;
	uint32_t start2 = producer_of(by, t2)->order;
	uint32_t end1 = by->end[(size_t)t1 * by->streams + stream];
	uint32_t end2 = by->end[(size_t)t2 * by->streams + stream];

	if (start1 == start2)
		return false;
	if (by->is_between[t1] != 0 && by->is_between[t2] != 0)
		return is_valid_ancestor(by, t1, t2) || is_valid_ancestor(by, t2, t1);
	if (by->is_between[t1] != 0)
		return start1 > end2 || (start1 < start2 && is_valid_ancestor(by, t1, t2));
	if (by->is_between[t2] != 0)
		return start2 > end1 || (start2 < start1 && is_valid_ancestor(by, t2, t1));
	return start1 > end2 || start2 > end1;
}

static void reuse_same_stream(struct by_streams *by, uint32_t stream)
{
	for (uint32_t m1 = by->first_member[stream]; m1 < by->first_member[stream + 1]; m1++)
		for (uint32_t m2 = m1 + 1; m2 < by->first_member[stream + 1]; m2++)
			if (is_safe_in_stream(by, by->members[m1], by->members[m2], stream))
				seam__pairs_remove(by->pairs, by->members[m1], by->members[m2]);
}

/* Algorithm 2. */
static void decide(struct by_streams *by)
{
	find_max_ancestors(by);
	find_ends(by);
	list_members(by);
	for (uint32_t to = 0; to < by->streams; to++)
		for (uint32_t from = 0; from < by->streams; from++)
			if (by->is_ancestor[(size_t)to * by->streams + from] != 0)
				reuse_ancestor_stream(by, to, from);
	for (uint32_t s = 0; s < by->streams; s++)
		reuse_same_stream(by, s);
	seam__pairs_mirror(by->pairs);
}

enum seam_rc seam__safety_by_streams(const struct seam__graph *graph, struct seam_meta *meta,
                                     struct seam__pairs *ret_pairs)
{
	struct seam__pairs pairs;
	struct by_streams by = {.graph = graph, .meta = meta, .pairs = &pairs, .streams = (uint32_t)graph->streams.count,
	                        .tensors = (uint32_t)graph->tensors.count};
	size_t streams = (size_t)by.streams + 1;
	size_t tensors = (size_t)by.tensors + 1;
	size_t nodes = graph->nodes.count + 1;
	enum seam_rc rc = seam__pairs_init_all(&pairs, graph, meta);

	if (rc != SEAM_OK)
		return rc;
	by.max_ancestor = seam__meta_array(meta, nodes * streams, sizeof(*by.max_ancestor));
	by.end = seam__meta_array(meta, tensors * streams, sizeof(*by.end));
	by.is_ancestor = seam__meta_alloc(meta, streams * streams);
	by.is_between = seam__meta_alloc(meta, tensors);
	by.members = seam__meta_array(meta, tensors, sizeof(*by.members));
	by.first_member = seam__meta_array(meta, streams, sizeof(*by.first_member));
	if (by.max_ancestor == NULL || by.end == NULL || by.is_ancestor == NULL || by.is_between == NULL ||
	    by.members == NULL || by.first_member == NULL)
		rc = SEAM_OOM_META;
	else
		decide(&by);
	seam__meta_free(meta, by.first_member, streams * sizeof(*by.first_member));
	seam__meta_free(meta, by.members, tensors * sizeof(*by.members));
	seam__meta_free(meta, by.is_between, tensors);
	seam__meta_free(meta, by.is_ancestor, streams * streams);
	seam__meta_free(meta, by.end, tensors * streams * sizeof(*by.end));
	seam__meta_free(meta, by.max_ancestor, nodes * streams * sizeof(*by.max_ancestor));
	if (rc == SEAM_OK)
		*ret_pairs = pairs;
	else
		seam__pairs_fini(&pairs);
	return rc;
}
