/* make_graph.c: see make_graph.h. */
#include "make_graph.h"

#include "checksum.h"
#include "graph_problem.h"
#include "make.h"
#include "meta.h"
#include "plan_builder.h"
#include "region.h"

struct making {
	const struct seam_graph *graph;
	struct seam_plan_options options;
	struct seam_trace_error *error;
	struct seam_problem problem;
	struct seam_placement placed;
	struct seam_search search;
	uint32_t *order; /* the items by begin */
};

static uint32_t position_of(const struct seam_graph *graph, uint32_t node)
{
	return seam__graph_node_at(graph, node)->position;
}

static uint32_t end_of(const struct seam_graph *graph, const struct seam_graph_tensor *tensor)
{
	const uint32_t *consumers = seam__graph_consumers(graph, tensor);
	uint32_t last = position_of(graph, tensor->producer);

	for (uint32_t i = 0; i < tensor->consumer_count; i++)
		if (position_of(graph, consumers[i]) > last)
			last = position_of(graph, consumers[i]);
	return last + 1;
}

uint64_t seam__graph_fingerprint(const struct seam_graph *graph)
{
	XXH64_state_t state;

	(void)XXH64_reset(&state, 0);
	for (uint32_t i = 0; i < graph->nodes.count; i++) {
		const struct seam_graph_node *node = seam__graph_node_at(graph, i);
		const uint64_t words[5] = {0, node->stream, node->order, node->position, 0};

		(void)XXH64_update(&state, words, sizeof(words));
	}
	for (uint32_t i = 0; i < graph->tensors.count; i++) {
		const struct seam_graph_tensor *tensor = seam__graph_tensor_at(graph, i);
		const uint64_t words[5] = {1, tensor->size_bytes, tensor->producer, tensor->consumer_count, 0};

		(void)XXH64_update(&state, words, sizeof(words));
		(void)XXH64_update(
			&state, seam__graph_consumers(graph, tensor), tensor->consumer_count * sizeof(uint32_t));
	}
	return XXH64_digest(&state);
}

/* Items in the order of their begins, by counting: tensors of one node stay in their order. */
static enum seam_rc sort_items(struct making *making)
{
	const struct seam_problem *problem = &making->problem;

	making->order = seam__region_array(problem->region, problem->count, sizeof(*making->order));
	uint32_t *first = seam__region_array(problem->region, (size_t)problem->circle + 2, sizeof(*first));
	if (making->order == NULL || first == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < problem->count; i++)
		first[problem->items[i].begin + 1]++;
	for (uint32_t t = 1; t <= problem->circle; t++)
		first[t] += first[t - 1];
	for (uint32_t i = 0; i < problem->count; i++)
		making->order[first[problem->items[i].begin]++] = i;
	return SEAM_OK;
}

static enum seam_rc add_slot(const struct making *making, struct seam_plan_builder *builder, uint32_t i)
{
	const struct seam_graph *graph = making->graph;
	const struct seam_item *item = &making->problem.items[i];
	const struct seam_graph_tensor *tensor = seam__graph_tensor_at(graph, item->request);
	const struct seam_graph_node *producer = seam__graph_node_at(graph, tensor->producer);
	struct seam_plan_slot slot = {.size_bytes = tensor->size_bytes,
		.begin = producer->position,
		.end = end_of(graph, tensor),
		.event = item->request};
	enum seam_rc rc = seam__plan_builder_string(builder, seam__graph_text(tensor->name), &slot.module);

	if (rc == SEAM_OK)
		rc = seam__plan_builder_stream(
			builder, ((const uint64_t *)graph->streams.items)[producer->stream], &slot.stream);
	if (rc == SEAM_OK)
		rc = seam__plan_builder_slot(builder, &slot, &making->placed.offsets[i]);
	return rc;
}

static enum seam_rc write_down(const struct making *making, struct seam_plan_builder *builder)
{
	struct seam_plan_header *header = &builder->header;
	enum seam_rc rc = seam__plan_builder_string(builder, making->search.solver, &header->solver);

	for (uint32_t n = 0; n < making->problem.count && rc == SEAM_OK; n++)
		rc = add_slot(making, builder, making->order[n]);
	header->fingerprint = seam__graph_fingerprint(making->graph);
	seam__search_describe(&making->search, &making->options, &making->placed, header);
	header->flags |= SEAM_PLAN_GRAPH | SEAM_PLAN_LINEAR;
	header->positions = (uint32_t)making->graph->nodes.count;
	return rc;
}

static enum seam_rc assemble(const struct making *making, struct seam_plan **ret_plan)
{
	struct seam_plan_builder builder;
	enum seam_rc rc = seam__plan_builder_init(&builder, 1);

	if (rc != SEAM_OK)
		return rc;
	rc = write_down(making, &builder);
	if (rc == SEAM_OK)
		rc = seam__plan_builder_finish(&builder, making->error, ret_plan);
	seam__plan_builder_fini(&builder);
	return rc;
}

static enum seam_rc understand(struct making *making)
{
	return seam__graph_problem(making->graph, seam__meta_process(), making->options.align_bytes,
		making->options.streams == SEAM_PLAN_STREAMS_APART, &making->problem);
}

enum seam_rc seam__plan_make_graph(const struct seam_graph *graph, const struct seam_plan_options *options,
	struct seam_trace_error *error, struct seam_plan **ret_plan)
{
	struct making making = {.graph = graph, .error = error, .search = {.solver = ""}};
	enum seam_rc rc = seam__plan_options_resolve(options, 1, error, &making.options);

	if (rc == SEAM_OK && making.options.streams == SEAM_PLAN_STREAMS_INSERT)
		rc = seam__options_refuse(error, "waits cannot be inserted into a graph: add them to it as arcs");
	if (rc != SEAM_OK)
		return rc;
	rc = understand(&making);
	if (rc == SEAM_OK)
		rc = sort_items(&making);
	if (rc == SEAM_OK)
		rc = seam__placement_init(&making.placed, &making.problem);
	if (rc == SEAM_OK)
		rc = seam__search_run(&making.problem, &making.options, error, &making.placed, &making.search);
	if (rc == SEAM_OK)
		rc = assemble(&making, ret_plan);
	seam__problem_fini(&making.problem);
	return rc;
}
