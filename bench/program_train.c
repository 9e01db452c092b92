/* program_train.c: micro-batches forward and backward, and the optimizer. */
#include "program_parts.h"

#define LOGIT_BYTES 4u
#define STATE_BYTES 4u     /* of the optimizer, per element */
#define LOGIT_TOKENS 4096u /* at most so many tokens have logits at a time */
#define TEMPORARIES_TOGETHER 8u

static struct program_list *saved_of(struct program_run *run, uint32_t micro_batch, uint32_t layer)
{
	const struct program *program = run->program;
	return &run->saved[(size_t)(micro_batch % program->in_flight) * program->layers + layer];
}

/* What is saved goes to the host, every second block of it: its place in the list stays, without a block. */
static void offload(struct program_run *run, struct program_list *saved)
{
	if (run->program->streams != STREAMS_ACTIVATIONS)
		return;
	program_order(run, PROGRAM_STREAM_COMPUTE, PROGRAM_STREAM_COPY);
	for (size_t i = 0; i < saved->count; i += 2) {
		if (saved->blocks[i].flags != 0)
			continue;
		program_use(run, &saved->blocks[i], PROGRAM_STREAM_COPY);
		program_free(run, &saved->blocks[i]);
	}
}

static void fetch(struct program_run *run, struct program_list *saved)
{
	bool any = false;
	if (run->program->streams != STREAMS_ACTIVATIONS)
		return;
	for (size_t i = 0; i < saved->count; i++) {
		if (saved->blocks[i].id != 0)
			continue;
		saved->blocks[i] = program_alloc(run, saved->blocks[i].bytes, PROGRAM_STREAM_COPY, 0);
		any = true;
	}
	if (!any)
		return;
	program_order(run, PROGRAM_STREAM_COPY, PROGRAM_STREAM_COMPUTE);
	for (size_t i = 0; i < saved->count; i++)
		if (saved->blocks[i].stream == PROGRAM_STREAM_COPY)
			program_use(run, &saved->blocks[i], PROGRAM_STREAM_COMPUTE);
}

/* The batch comes over the copy stream, if the program has one for it. */
static struct program_block load_batch(struct program_run *run)
{
	bool copied = run->program->streams == STREAMS_INPUTS;
	struct program_block batch = program_alloc(
		run, (uint64_t)run->tokens * 64, copied ? PROGRAM_STREAM_COPY : PROGRAM_STREAM_COMPUTE, 0);
	if (copied) {
		program_order(run, PROGRAM_STREAM_COPY, PROGRAM_STREAM_COMPUTE);
		program_use(run, &batch, PROGRAM_STREAM_COMPUTE);
	}
	return batch;
}

static void forward(struct program_run *run, uint32_t micro_batch)
{
	const struct program *program = run->program;
	struct program_block batch = load_batch(run);
	for (uint32_t layer = 0; layer < program->layers; layer++) {
		struct program_list *saved = saved_of(run, micro_batch, layer);
		program_fetch_weights(run, layer);
		if (layer + 1 < program->layers)
			program_fetch_weights(run, layer + 1);
		program_push(run, saved,
			program_alloc(run, program_activation_bytes(run, layer, 8), PROGRAM_STREAM_COMPUTE, 0));
		program_forward_layer(run, layer, program->recompute != 0 ? NULL : saved);
		offload(run, saved);
		program_drop_weights(run, layer);
	}
	program_free(run, &batch);
}

/* The loss, and the output that stays until the next one is made. */
static void lose(struct program_run *run)
{
	uint32_t tokens = run->tokens < LOGIT_TOKENS ? run->tokens : LOGIT_TOKENS;
	uint64_t bytes = (uint64_t)tokens * run->program->vocabulary * LOGIT_BYTES;
	if (bytes > 0) {
		struct program_block logits = program_alloc(run, bytes, PROGRAM_STREAM_COMPUTE, 0);
		struct program_block loss = program_alloc(run, (uint64_t)tokens * 4, PROGRAM_STREAM_COMPUTE, 0);
		program_pass(run, bytes, 0);
		program_free(run, &loss);
		program_free(run, &logits);
	}
	struct program_block output = program_alloc(run, (uint64_t)run->tokens * 4, PROGRAM_STREAM_COMPUTE, 0);
	program_free_list(run, &run->output);
	program_push(run, &run->output, output);
}

static bool is_trained(const struct program_run *run, size_t parameter)
{
	return parameter * 37 % 100 < run->program->trained_percent;
}

/* The gradients of the layer's parameters: the first time they stay, then they are added. Weights that are on the host
 * have theirs there. */
static void make_gradients(struct program_run *run, uint32_t layer, bool first)
{
	const struct program *program = run->program;
	size_t begin = program_parameters_begin(program, layer);
	size_t end = begin + program_parameters_count(program, layer);
	for (size_t i = begin; i < end && run->rc == SEAM_OK; i++) {
		if (!is_trained(run, i))
			continue;
		struct program_block gradient =
			program_alloc(run, run->parameters.blocks[i].bytes, PROGRAM_STREAM_COMPUTE, 0);
		if (first)
			program_push(run, &run->gradients, gradient);
		else
			program_free(run, &gradient);
	}
}

static void backward_layer(struct program_run *run, uint32_t layer, struct program_list *saved)
{
	struct program_list again = {0};
	struct program_list *kept = saved;
	if (run->program->recompute != 0) {
		program_forward_layer(run, layer, &again);
		kept = &again;
	}
	while (kept->count > (kept == saved ? 1u : 0u)) {
		struct program_block block = program_pop(kept);
		program_pass(run, block.bytes, block.flags);
		program_free(run, &block);
	}
	program_free_list(run, &again);
	program_list_fini(&again);
}

static void backward(struct program_run *run, uint32_t micro_batch, bool first)
{
	const struct program *program = run->program;
	struct program_block before = {0};
	if (program->threads == THREADS_BACKWARD)
		run->thread = PROGRAM_THREAD_BACKWARD;
	for (uint32_t layer = program->layers; layer-- > 0;) {
		struct program_list *saved = saved_of(run, micro_batch, layer);
		fetch(run, saved);
		if (layer > 0)
			fetch(run, saved_of(run, micro_batch, layer - 1));
		program_fetch_weights(run, layer);
		if (layer > 0)
			program_fetch_weights(run, layer - 1);
		struct program_block flow =
			program_alloc(run, program_activation_bytes(run, layer, 8), PROGRAM_STREAM_COMPUTE, 0);
		backward_layer(run, layer, saved);
		make_gradients(run, layer, first);
		program_free(run, &before);
		before = flow;
		program_free_list(run, saved);
		program_drop_weights(run, layer);
	}
	program_free(run, &before);
	run->thread = PROGRAM_THREAD_MAIN;
}

/* The temporaries of several parameters live together. */
static void optimize(struct program_run *run)
{
	const struct program *program = run->program;
	struct program_list together = {0};
	bool makes = run->states.count == 0;
	for (size_t i = 0; i < run->gradients.count; i++) {
		uint64_t bytes = run->gradients.blocks[i].bytes / program->element_bytes * STATE_BYTES;
		for (uint32_t k = 0; makes && k < program->optimizer; k++)
			program_push(run, &run->states, program_alloc(run, bytes, PROGRAM_STREAM_COMPUTE, 0));
		if (program->optimizer == OPTIMIZER_NONE)
			continue;
		program_push(run, &together, program_alloc(run, bytes, PROGRAM_STREAM_COMPUTE, 0));
		if (together.count == TEMPORARIES_TOGETHER)
			program_free_list(run, &together);
	}
	program_free_list(run, &together);
	program_list_fini(&together);
}

void program_train(struct program_run *run)
{
	const struct program *program = run->program;
	uint32_t behind = program->in_flight - 1;
	if (program->gradients == GRADIENTS_NEXT)
		program_free_list(run, &run->gradients);
	for (uint32_t i = 0; i < program->micro_batches + behind; i++) {
		if (i < program->micro_batches) {
			forward(run, i);
			lose(run);
		}
		if (i >= behind)
			backward(run, i - behind, i == behind);
	}
	optimize(run);
	if (program->gradients == GRADIENTS_END)
		program_free_list(run, &run->gradients);
}
