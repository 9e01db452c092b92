/* program_parts.h: what a made-up program does in an iteration, part by part.
 *
 * Training: micro-batches forward and backward, so many of them in flight; the backward pass may be another thread's
 * and may compute a layer's forward pass again; an optimizer whose states the first step makes. Inference and
 * generation: a first pass over the sequence, then one token after the other, with a cache of keys and values that
 * grows. Weights or activations may be on the host and come over a copy stream, which events order.
 *
 * Not here: events (program_run.h). Failures stay in run->rc.
 */
#ifndef BENCH_PROGRAM_PARTS_H
#define BENCH_PROGRAM_PARTS_H

#include "program_run.h"

/* Bytes of `eighths` of an activation of the layer, by the tokens of this iteration; 0: four bytes for each token. */
uint64_t program_activation_bytes(const struct program_run *run, uint32_t layer, uint32_t eighths);

/* The parameters of the first `layers` layers, as far as they are not there. */
void program_make_parameters(struct program_run *run, uint32_t layers);

/* Where the layer's parameters begin in the list of all, and how many it has on the device. The first layer has the
 * vocabulary's too. */
size_t program_parameters_begin(const struct program *program, uint32_t layer);
size_t program_parameters_count(const struct program *program, uint32_t layer);

/* The workspace of the libraries is at least so large from here on. */
void program_need_workspace(struct program_run *run, uint64_t bytes);

/* A pass through a layer. saved: gets what the backward pass needs; NULL: there is none. */
void program_forward_layer(struct program_run *run, uint32_t layer, struct program_list *saved);

/* Forward through all layers without a backward pass: evaluation, or the first pass of inference. */
void program_forward_all(struct program_run *run);

/* Weights of the layer that are on the host are here; and no longer needed. */
void program_fetch_weights(struct program_run *run, uint32_t layer);
void program_drop_weights(struct program_run *run, uint32_t layer);

/* All micro-batches and the optimizer. */
void program_train(struct program_run *run);

/* A sequence is answered, token by token. */
void program_generate(struct program_run *run);

#endif
