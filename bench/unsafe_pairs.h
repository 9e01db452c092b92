/* unsafe_pairs.h: which tensors of an operator graph may never share memory, pair by pair, as SOMAS section 3 decides
 * it.
 *
 * A pair is safe when, in every order in which the graph can run, all consumers of the one have run before the producer
 * of the other begins. Three ways say so and agree: by ancestors of nodes (Algorithm 1), the same with the last
 * consumer of each stream in place of all (1_opt), and by the graph of streams (Algorithm 2, with 3 to 5), which needs
 * no set of ancestors, only how far back in each stream a node's ancestors reach.
 *
 * The planner itself needs no pairs: graph_problem.h has the same answer as one threshold per tensor and stream. These
 * are the proof of that, and the measure of what it saves.
 *
 * Not here: traces (safety_trace.h).
 * Pure. No locks.
 */
#ifndef SEAM_UNSAFE_PAIRS_H
#define SEAM_UNSAFE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#include "graph.h"

#define SEAM__PAIRS_MAX 25000u /* tensors, and nodes: a set of pairs then takes 78 MB */

struct seam_meta;

/* A set of unordered pairs of tensors. Invariant UP1: it holds {i, j} as (i, j) and as (j, i), and no {i, i}. */
struct seam_pairs {
	struct seam_meta *meta;
	uint64_t *bits; /* row i, bit j; 64 * row_words rows */
	uint32_t count; /* tensors */
	size_t row_words;
};

static inline bool seam__pairs_has(const struct seam_pairs *pairs, uint32_t i, uint32_t j)
{
	return (pairs->bits[i * pairs->row_words + j / 64] >> (j % 64) & 1) != 0;
}

void seam__pairs_fini(struct seam_pairs *pairs); /* a zeroed one is allowed */
const char *seam__pairs_check(const struct seam_pairs *pairs);

/* The unsafe pairs of a finished graph; ret_pairs is for seam__pairs_fini().
 * Errors of both: SEAM_UNSUPPORTED (more than SEAM__PAIRS_MAX tensors or nodes), SEAM_OOM_META. */

/* Algorithm 1; with `last_only` Algorithm 1_opt. O(nodes * edges / 64 + tensors^2 * consumers). */
SEAM_MUST_USE enum seam_rc seam__safety_by_nodes(
	const struct seam_graph *graph, struct seam_meta *meta, bool last_only, struct seam_pairs *ret_pairs);

/* Algorithm 2. O(edges * streams + pairs of streams with an ancestor relation or equal, times their tensors). */
SEAM_MUST_USE enum seam_rc seam__safety_by_streams(
	const struct seam_graph *graph, struct seam_meta *meta, struct seam_pairs *ret_pairs);

#endif
