/* graph_model.c: see graph_model.h. */
#include "graph_model.h"

#include <stdio.h>

#define OPS 10u       /* of a layer, forward; as many backward */
#define GRADIENTS 4u  /* of a layer */
#define PER_LAYER 38u /* tensors, workspaces included */
#define KIB UINT64_C(1024)

enum kind { COMPUTE, COMMUNICATION, UPDATE, KINDS };

const struct graph_model graph_models[] = {
	{"BERT-base", 4400, 500},
	{"BERT-large", 8200, 500},
	{"BERT-nezha", 9400, 500},
	{"FaceRecognition", 8500, 500},
	{"PanGu-alpha 2.6B", 20000, 500},
	{"ResNet-50", 1500, 500},
	{"Tiny-BERT", 1800, 500},
	{"FaceDetection", 4200, 500},
	{"Transformer", 3500, 500},
	{"MobileNetv2", 3900, 500},
};
const uint32_t graph_model_count = sizeof(graph_models) / sizeof(graph_models[0]);

struct maker {
	struct seam_graph *graph;
	const struct graph_model *model;
	uint32_t nodes[KINDS]; /* made so far */
	uint32_t tensors;
	enum seam_rc rc; /* the first failure; nothing is made after it */
};

struct name {
	char text[32];
	size_t bytes;
};

static struct name name_of(char letter, uint32_t layer, uint32_t number)
{
	struct name name;

	name.bytes = (size_t)snprintf(name.text, sizeof(name.text), "%c%u.%u", letter, layer, number);
	return name;
}

static void add_node(struct maker *maker, enum kind kind, struct name name)
{
	uint64_t stream = (uint64_t)kind * 1000 + maker->nodes[kind]++ / maker->model->stream_nodes;

	if (maker->rc == SEAM_OK)
		maker->rc = seam__graph_add_node(maker->graph, name.text, name.bytes, stream);
}

static void add_tensor(struct maker *maker, struct name name, uint64_t size_bytes, struct name from)
{
	if (maker->rc == SEAM_OK)
		maker->rc =
			seam__graph_add_tensor(maker->graph, name.text, name.bytes, size_bytes, from.text, from.bytes);
}

static void consume(struct maker *maker, struct name to)
{
	if (maker->rc == SEAM_OK)
		maker->rc = seam__graph_add_consumer(maker->graph, to.text, to.bytes);
}

static void add_nodes(struct maker *maker, uint32_t layers)
{
	for (uint32_t layer = 0; layer < layers; layer++)
		for (uint32_t op = 0; op < OPS; op++)
			add_node(maker, COMPUTE, name_of('f', layer, op));
	for (uint32_t layer = layers; layer-- > 0;) {
		for (uint32_t op = OPS; op-- > 0;)
			add_node(maker, COMPUTE, name_of('b', layer, op));
		add_node(maker, COMMUNICATION, name_of('c', layer, 0));
		add_node(maker, UPDATE, name_of('u', layer, 0));
	}
}

/* Sizes go round in a few patterns, as those of a layer's operators do. */
static uint64_t size_of(uint32_t layer, uint32_t op)
{
	static const uint64_t sizes[] = {512, 2048, 96, 8192, 8192, 512, 6144, 12, 2048, 4};

	return (sizes[op % OPS] + (layer % 3) * 16) * KIB;
}

static void add_activations(struct maker *maker, uint32_t layer, uint32_t layers)
{
	for (uint32_t op = 0; op < OPS; op++) {
		bool is_last = op + 1 == OPS;

		add_tensor(maker, name_of('a', layer, op), size_of(layer, op), name_of('f', layer, op));
		if (!is_last || layer + 1 < layers)
			consume(maker, is_last ? name_of('f', layer + 1, 0) : name_of('f', layer, op + 1));
		if (op % 3 != 2)
			consume(maker, name_of('b', layer, op)); /* kept for the backward operator */
		if (op == 0)
			consume(maker, name_of('f', layer, OPS - 1)); /* the residual */
		if (op % 2 == 0)
			add_tensor(maker, name_of('w', layer, op), size_of(layer, op) / 8, name_of('f', layer, op));
	}
}

static void add_gradients(struct maker *maker, uint32_t layer)
{
	for (uint32_t op = 0; op < OPS; op++) {
		add_tensor(maker, name_of('d', layer, op), size_of(layer, op), name_of('b', layer, op));
		if (op > 0 || layer > 0)
			consume(maker, op > 0 ? name_of('b', layer, op - 1) : name_of('b', layer - 1, OPS - 1));
		if (op % 2 == 1)
			add_tensor(maker, name_of('v', layer, op), size_of(layer, op) / 4, name_of('b', layer, op));
	}
	seam__graph_begin_contiguous(maker->graph);
	for (uint32_t g = 0; g < GRADIENTS; g++) {
		struct name gradient = name_of('g', layer, g);

		add_tensor(maker, gradient, 1024 * KIB << g % 2, name_of('b', layer, 2 * g));
		consume(maker, name_of('c', layer, 0));
		if (maker->rc == SEAM_OK)
			maker->rc = seam__graph_bind(maker->graph, gradient.text, gradient.bytes);
		add_tensor(maker, name_of('r', layer, g), 1024 * KIB << g % 2, name_of('c', layer, 0));
		consume(maker, name_of('u', layer, 0));
	}
}

enum seam_rc graph_model_make(const struct graph_model *model, struct seam_graph *ret_graph)
{
	struct maker maker = {.graph = ret_graph, .model = model};
	uint32_t layers = model->tensors / PER_LAYER;

	seam__graph_init(ret_graph);
	add_nodes(&maker, layers);
	for (uint32_t layer = 0; layer < layers; layer++) {
		add_activations(&maker, layer, layers);
		add_gradients(&maker, layer);
	}
	if (maker.rc == SEAM_OK)
		maker.rc = seam__graph_finish(ret_graph);
	if (maker.rc != SEAM_OK)
		seam__graph_fini(ret_graph);
	return maker.rc;
}
