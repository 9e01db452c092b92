/* program_layer.c: parameters, workspace, and the forward pass of a layer. */
#include "program_parts.h"
#include "program_random.h"

#define FULL 64u /* of the factors of layers */
#define SHARES 1024u

/* How wide the layer's activations are, in 64ths. */
static uint32_t activation_factor(const struct program *program, uint32_t layer)
{
	uint64_t state = program->seed ^ (layer + 1) * UINT64_C(0x2545f4914f6cdd1d);
	switch ((enum program_shape)program->shape) {
	case SHAPE_TAPER:
		return FULL >> (4 * layer / program->layers);
	case SHAPE_DRAWN:
		return program_between(&state, FULL / 4, FULL);
	case SHAPE_EQUAL:
	default:
		return FULL;
	}
}

/* How large the layer's parameters are: as activations shrink, they grow. */
static uint32_t weight_factor(const struct program *program, uint32_t layer)
{
	return program->shape == SHAPE_TAPER ? (FULL / 8) << (4 * layer / program->layers)
					     : activation_factor(program, layer);
}

uint64_t program_activation_bytes(const struct program_run *run, uint32_t layer, uint32_t eighths)
{
	const struct program *program = run->program;
	if (eighths == 0)
		return (uint64_t)run->tokens * 4;
	uint64_t row = (uint64_t)program->hidden * program->element_bytes;
	return run->tokens * (row * eighths / 8) * activation_factor(program, layer) / FULL;
}

static uint64_t weight_bytes(const struct program_run *run, uint32_t layer, uint32_t number)
{
	const struct program *program = run->program;
	uint64_t row = (uint64_t)program->hidden * program->element_bytes;
	uint32_t eighths = program->weight_eighths[number];
	if (eighths == 0)
		return row;
	return row * eighths / 8 * program->hidden * weight_factor(program, layer) / FULL;
}

/* The first weight of each layer is the one that may be on the host. */
static uint32_t first_here(const struct program *program)
{
	return program->streams == STREAMS_WEIGHTS ? 1 : 0;
}

size_t program_parameters_count(const struct program *program, uint32_t layer)
{
	return program->weights - first_here(program) + (layer == 0 && program->vocabulary > 0 ? 1u : 0u);
}

size_t program_parameters_begin(const struct program *program, uint32_t layer)
{
	return layer == 0
		? 0
		: program_parameters_count(program, 0) + (layer - 1) * program_parameters_count(program, layer);
}

void program_make_parameters(struct program_run *run, uint32_t layers)
{
	const struct program *program = run->program;
	for (; run->layers_made < layers; run->layers_made++) {
		if (run->layers_made == 0 && program->vocabulary > 0) {
			uint64_t bytes = (uint64_t)program->vocabulary * program->hidden * program->element_bytes;
			program_push(run, &run->parameters, program_alloc(run, bytes, PROGRAM_STREAM_COMPUTE, 0));
		}
		for (uint32_t i = first_here(program); i < program->weights; i++) {
			uint64_t bytes = weight_bytes(run, run->layers_made, i);
			program_push(run, &run->parameters, program_alloc(run, bytes, PROGRAM_STREAM_COMPUTE, 0));
		}
	}
}

void program_fetch_weights(struct program_run *run, uint32_t layer)
{
	struct program_list *fetched = &run->fetched[layer];
	if (run->program->streams != STREAMS_WEIGHTS || fetched->count > 0)
		return;
	struct program_block block = program_alloc(run, weight_bytes(run, layer, 0), PROGRAM_STREAM_COPY, 0);
	program_push(run, fetched, block);
	program_order(run, PROGRAM_STREAM_COPY, PROGRAM_STREAM_COMPUTE);
	program_use(run, &block, PROGRAM_STREAM_COMPUTE);
}

void program_drop_weights(struct program_run *run, uint32_t layer)
{
	program_free_list(run, &run->fetched[layer]);
}

void program_need_workspace(struct program_run *run, uint64_t bytes)
{
	uint32_t policy = run->program->workspace;
	if (policy == WORKSPACE_NONE || run->workspace.bytes == bytes)
		return;
	if (policy == WORKSPACE_GROW && run->workspace.bytes > bytes)
		return;
	program_free(run, &run->workspace);
	run->workspace = program_alloc(run, bytes, PROGRAM_STREAM_COMPUTE, 0);
}

/* Each expert gets a share of the tokens that the data says. */
static void route(struct program_run *run, uint32_t layer, struct program_list *saved)
{
	const struct program *program = run->program;
	uint64_t row = (uint64_t)program->hidden * program->element_bytes;
	uint32_t flags = program->told != 0 ? SEAM_TRACE_DYNAMIC : 0;
	uint32_t left = SHARES;
	for (uint32_t i = 0; i < program->experts; i++) {
		uint32_t fair = left / (program->experts - i);
		uint32_t share = i + 1 == program->experts ? left : program_between(&run->variation, 0, fair * 2);
		share = share < left ? share : left;
		left -= share;
		uint64_t bytes =
			(uint64_t)run->tokens * share / SHARES * row * activation_factor(program, layer) / FULL;
		struct program_block block = program_alloc(run, bytes > 0 ? bytes : 512, PROGRAM_STREAM_COMPUTE, flags);
		if (saved != NULL && i % 2 == 0)
			program_push(run, saved, block);
		else
			program_free(run, &block);
	}
}

void program_forward_layer(struct program_run *run, uint32_t layer, struct program_list *saved)
{
	const struct program *program = run->program;
	struct program_block open[PROGRAM_ITEMS_MOST] = {{0}};
	program_make_parameters(run, layer + 1);
	for (uint32_t i = 0; i < program->items; i++) {
		const struct program_item *item = &program->item[i];
		struct program_block block =
			program_alloc(run, program_activation_bytes(run, layer, item->eighths), item->stream, 0);
		if (item->eighths >= 16)
			program_need_workspace(run, block.bytes / 8 + ((uint64_t)item->eighths << 18));
		if (item->saved && saved != NULL)
			program_push(run, saved, block);
		else
			open[i] = block;
		for (uint32_t k = 0; k <= i; k++)
			if (k + program->item[k].stays <= i)
				program_free(run, &open[k]);
	}
	for (uint32_t k = 0; k < program->items; k++)
		program_free(run, &open[k]);
	route(run, layer, saved);
}

void program_forward_all(struct program_run *run)
{
	const struct program *program = run->program;
	struct program_block before = {0};
	for (uint32_t layer = 0; layer < program->layers; layer++) {
		program_fetch_weights(run, layer);
		if (layer + 1 < program->layers)
			program_fetch_weights(run, layer + 1);
		struct program_block out =
			program_alloc(run, program_activation_bytes(run, layer, 8), PROGRAM_STREAM_COMPUTE, 0);
		program_forward_layer(run, layer, NULL);
		program_free(run, &before);
		before = out;
		program_drop_weights(run, layer);
	}
	program_free(run, &before);
}
