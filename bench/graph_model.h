/* graph_model.h: operator graphs like those of one training step, of any size, for measuring.
 *
 * Layers forward and backward, a chain of compute operators whose outputs are kept for the backward ones; workspaces;
 * the gradients of a layer stand contiguous, a communication operator reduces them, and an operator of a third kind
 * uses them. Operators of one kind fill one stream after the other, each up to a limit, as SOMAS section 5.1 tells of
 * its graphs. They are made up: of the papers' networks they have the number of tensors, no more.
 */
#ifndef BENCH_GRAPH_MODEL_H
#define BENCH_GRAPH_MODEL_H

#include <stdint.h>

#include "graph.h"

struct graph_model {
	const char *name;
	uint32_t tensors;      /* about so many */
	uint32_t stream_nodes; /* operators in a stream at most */
};

/* The ten networks of SOMAS table 1, by their numbers of tensors. */
extern const struct graph_model graph_models[];
extern const uint32_t graph_model_count;

/* Finished, for seam__graph_fini(). Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc graph_model_make(const struct graph_model *model, struct seam_graph *ret_graph);

#endif
