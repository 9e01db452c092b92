/* unsafe_pairs.c: sets of pairs, and unsafe pairs by ancestors of nodes (Algorithm 1 and 1_opt), for unsafe_pairs.h. */
#include "unsafe_pairs.h"

#include "meta.h"
#include "unsafe_pairs_make.h"

enum seam_rc seam__pairs_init_all(struct seam_pairs *pairs, const struct seam_graph *graph, struct seam_meta *meta)
{
	struct seam_pairs made = {
		.meta = meta, .count = (uint32_t)graph->tensors.count, .row_words = graph->tensors.count / 64 + 1};

	if (graph->tensors.count > SEAM__PAIRS_MAX || graph->nodes.count > SEAM__PAIRS_MAX)
		return SEAM_UNSUPPORTED;
	made.bits = seam__meta_array(meta, 64 * made.row_words * made.row_words, sizeof(*made.bits));
	if (made.bits == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < made.count; i++) {
		uint64_t *row = &made.bits[i * made.row_words];

		for (uint32_t word = 0; word < made.count / 64; word++)
			row[word] = UINT64_MAX;
		row[made.count / 64] |= (UINT64_C(1) << (made.count % 64)) - 1;
		row[i / 64] &= ~(UINT64_C(1) << (i % 64));
	}
	*pairs = made;
	return SEAM_OK;
}

void seam__pairs_fini(struct seam_pairs *pairs)
{
	if (pairs->bits != NULL)
		seam__meta_free(
			pairs->meta, pairs->bits, 64 * pairs->row_words * pairs->row_words * sizeof(*pairs->bits));
	*pairs = (struct seam_pairs){0};
}

/* Of 64 x 64 bits: halves of halves change places. */
static void transpose(uint64_t *square)
{
	uint64_t mask = UINT64_C(0xffffffff);

	for (unsigned half = 32; half > 0; half /= 2, mask ^= mask << half) {
		for (unsigned row = 0; row < 64; row = (row + half + 1) & ~half) {
			uint64_t changed = (square[row] >> half ^ square[row + half]) & mask;

			square[row] ^= changed << half;
			square[row + half] ^= changed;
		}
	}
}

/* Square (row, column), counted in words, becomes what it has in common with the other square's mirror image. */
static void mirror_square(struct seam_pairs *pairs, size_t row, size_t column)
{
	uint64_t *mine = &pairs->bits[64 * row * pairs->row_words + column];
	uint64_t *theirs = &pairs->bits[64 * column * pairs->row_words + row];
	uint64_t square[64];

	for (size_t k = 0; k < 64; k++)
		square[k] = theirs[k * pairs->row_words];
	transpose(square);
	for (size_t k = 0; k < 64; k++) {
		mine[k * pairs->row_words] &= square[k];
		square[k] = mine[k * pairs->row_words];
	}
	transpose(square);
	for (size_t k = 0; k < 64; k++)
		theirs[k * pairs->row_words] = square[k];
}

void seam__pairs_mirror(struct seam_pairs *pairs)
{
	for (size_t row = 0; row < pairs->row_words; row++)
		for (size_t column = 0; column <= row; column++)
			mirror_square(pairs, row, column);
}

const char *seam__pairs_check(const struct seam_pairs *pairs)
{
	for (uint32_t i = 0; i < pairs->count; i++)
		for (uint32_t j = 0; j <= i; j++)
			if (seam__pairs_has(pairs, i, j) != seam__pairs_has(pairs, j, i) ||
				(i == j && seam__pairs_has(pairs, i, j)))
				return "UP1 symmetry";
	return NULL;
}

struct by_nodes {
	const struct seam_graph *graph;
	size_t row_words;
	uint64_t *ancestors; /* row of node n: bit of each node with a path to n */
	uint32_t *ends;      /* per tensor: the nodes that must be ancestors */
	uint32_t *first_end; /* per tensor, and one more */
};

/* In the order of positions: what a node is or has as ancestor, its successors have. */
static void find_ancestors(struct by_nodes *by)
{
	for (uint32_t p = 0; p < by->graph->nodes.count; p++) {
		uint32_t node = seam__graph_at_position(by->graph, p);
		const uint64_t *mine = &by->ancestors[node * by->row_words];
		uint32_t count;
		const uint32_t *edges = seam__graph_edges(by->graph, node, &count);

		for (uint32_t e = 0; e < count; e++) {
			uint64_t *theirs = &by->ancestors[edges[e] * by->row_words];

			for (size_t word = 0; word < by->row_words; word++)
				theirs[word] |= mine[word];
			theirs[node / 64] |= UINT64_C(1) << (node % 64);
		}
	}
}

/* DestNodes, or MaxNodes: of the consumers in one stream only the last. `last_of`: per stream, for work. */
static void list_ends(struct by_nodes *by, bool last_only, uint32_t *last_of)
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < by->graph->tensors.count; t++) {
		const struct seam_graph_tensor *tensor = seam__graph_tensor_at(by->graph, t);
		const uint32_t *consumers = seam__graph_consumers(by->graph, tensor);

		by->first_end[t] = count;
		for (uint32_t c = 0; c < tensor->consumer_count; c++)
			last_of[seam__graph_node_at(by->graph, consumers[c])->stream] = 0;
		for (uint32_t c = 0; c < tensor->consumer_count; c++) {
			const struct seam_graph_node *node = seam__graph_node_at(by->graph, consumers[c]);

			last_of[node->stream] =
				node->order > last_of[node->stream] ? node->order : last_of[node->stream];
		}
		for (uint32_t c = 0; c < tensor->consumer_count; c++) {
			const struct seam_graph_node *node = seam__graph_node_at(by->graph, consumers[c]);

			if (!last_only || node->order == last_of[node->stream])
				by->ends[count++] = consumers[c];
		}
	}
	by->first_end[by->graph->tensors.count] = count;
}

/* Is tensor `earlier` in AncTensors of `later`? */
static bool is_ancestor(const struct by_nodes *by, uint32_t earlier, uint32_t later)
{
	const uint64_t *row = &by->ancestors[seam__graph_tensor_at(by->graph, later)->producer * by->row_words];

	for (uint32_t e = by->first_end[earlier]; e < by->first_end[earlier + 1]; e++)
		if ((row[by->ends[e] / 64] >> (by->ends[e] % 64) & 1) == 0)
			return false;
	return true;
}

static void decide(struct by_nodes *by, bool last_only, uint32_t *last_of, struct seam_pairs *pairs)
{
	find_ancestors(by);
	list_ends(by, last_only, last_of);
	for (uint32_t i = 0; i < pairs->count; i++)
		for (uint32_t j = i + 1; j < pairs->count; j++)
			if (is_ancestor(by, i, j) || is_ancestor(by, j, i))
				seam__pairs_remove(pairs, i, j);
	seam__pairs_mirror(pairs);
}

enum seam_rc seam__safety_by_nodes(
	const struct seam_graph *graph, struct seam_meta *meta, bool last_only, struct seam_pairs *ret_pairs)
{
	struct by_nodes by = {.graph = graph, .row_words = graph->nodes.count / 64 + 1};
	size_t words = graph->nodes.count * by.row_words + 1;
	size_t consumers = graph->consumers.count + 1;
	size_t tensors = graph->tensors.count + 1;
	size_t streams = graph->streams.count + 1;
	uint32_t *last_of;
	struct seam_pairs pairs;
	enum seam_rc rc = seam__pairs_init_all(&pairs, graph, meta);

	if (rc != SEAM_OK)
		return rc;
	by.ancestors = seam__meta_array(meta, words, sizeof(*by.ancestors));
	by.ends = seam__meta_array(meta, consumers, sizeof(*by.ends));
	by.first_end = seam__meta_array(meta, tensors, sizeof(*by.first_end));
	last_of = seam__meta_array(meta, streams, sizeof(*last_of));
	if (by.ancestors == NULL || by.ends == NULL || by.first_end == NULL || last_of == NULL)
		rc = SEAM_OOM_META;
	else
		decide(&by, last_only, last_of, &pairs);
	seam__meta_free(meta, last_of, streams * sizeof(*last_of));
	seam__meta_free(meta, by.first_end, tensors * sizeof(*by.first_end));
	seam__meta_free(meta, by.ends, consumers * sizeof(*by.ends));
	seam__meta_free(meta, by.ancestors, words * sizeof(*by.ancestors));
	if (rc == SEAM_OK)
		*ret_pairs = pairs;
	else
		seam__pairs_fini(&pairs);
	return rc;
}
