/* cudart_graph.c: graphs, and what is instantiated from them: both are a list of nodes.
 *
 * A launch is the driver's, of what it captured. Kernels are treated as anywhere: refused, with the whole graph, or
 * passed over.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fakecuda_control.h"
#include "fakecudart.h"

#define GRAPHS 1024

struct graph {
	bool used;
	struct rt_nodes nodes;
	struct captured *captured;
};

/* The driver's graph, of a graph here and of what was instantiated from it. */
struct captured {
	CUgraph graph;
	unsigned users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct graph graphs[GRAPHS];

/* A graph, or what was instantiated from it; NULL: neither. Under the lock. */
static struct graph *find_graph(const void *handle)
{
	uintptr_t offset = (uintptr_t)handle - (uintptr_t)graphs;
	if (offset >= sizeof(graphs) || offset % sizeof(graphs[0]) != 0 || !graphs[offset / sizeof(graphs[0])].used)
		return NULL;
	return &graphs[offset / sizeof(graphs[0])];
}

/* Under the lock. `nodes` are the graph's, or gone. */
static int make(struct rt_nodes *nodes, struct captured *captured, cudaGraph_t *ret_graph)
{
	for (size_t i = 0; i < GRAPHS; i++) {
		if (graphs[i].used)
			continue;
		graphs[i] = (struct graph){.used = true, .nodes = *nodes, .captured = captured};
		captured->users++;
		*nodes = (struct rt_nodes){0};
		*ret_graph = (cudaGraph_t)(void *)&graphs[i];
		return 0;
	}
	free(nodes->at);
	*nodes = (struct rt_nodes){0};
	return cudaErrorMemoryAllocation;
}

int rt_graph_make(struct rt_nodes *nodes, CUgraph ended, cudaGraph_t *ret_graph)
{
	struct captured *captured = calloc(1, sizeof(*captured));
	int error = cudaErrorMemoryAllocation;
	if (captured != NULL) {
		captured->graph = ended;
		(void)pthread_mutex_lock(&lock);
		error = make(nodes, captured, ret_graph);
		(void)pthread_mutex_unlock(&lock);
	} else {
		free(nodes->at);
	}
	if (error != 0) {
		(void)rt_driver->graph_destroy(ended);
		free(captured);
	}
	return error;
}

/* Under the lock. */
static void put_captured(struct captured *captured)
{
	if (--captured->users != 0)
		return;
	(void)rt_driver->graph_destroy(captured->graph);
	free(captured);
}

static int destroy_graph(const void *handle)
{
	(void)pthread_mutex_lock(&lock);
	struct graph *graph = find_graph(handle);
	if (graph != NULL) {
		free(graph->nodes.at);
		put_captured(graph->captured);
		*graph = (struct graph){0};
	}
	(void)pthread_mutex_unlock(&lock);
	return graph != NULL ? 0 : (int)cudaErrorInvalidValue;
}

static int copy_graph(const void *handle, cudaGraph_t *ret_graph)
{
	(void)pthread_mutex_lock(&lock);
	const struct graph *graph = find_graph(handle);
	int error = graph != NULL ? 0 : (int)cudaErrorInvalidValue;
	struct rt_nodes nodes = {0};
	if (error == 0 && graph->nodes.count != 0) {
		nodes.at = malloc(graph->nodes.count * sizeof(*nodes.at));
		error = nodes.at != NULL ? 0 : (int)cudaErrorMemoryAllocation;
	}
	if (error == 0 && nodes.at != NULL) {
		nodes.count = nodes.capacity = graph->nodes.count;
		memcpy(nodes.at, graph->nodes.at, nodes.count * sizeof(*nodes.at));
	}
	if (error == 0)
		error = make(&nodes, graph->captured, ret_graph);
	(void)pthread_mutex_unlock(&lock);
	return error;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags)
{
	cudaGraph_t copy = NULL;
	(void)flags;
	int error = copy_graph(graph, &copy);
	if (error == 0)
		*executable = (cudaGraphExec_t)(void *)copy;
	return rt_result(error);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags)
{
	return cudaGraphInstantiate(executable, graph, flags);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t *nodes, size_t *count)
{
	if (nodes != NULL)
		return rt_result(cudaErrorNotSupported);
	(void)pthread_mutex_lock(&lock);
	const struct graph *graph = find_graph(handle);
	if (graph != NULL)
		*count = graph->nodes.count;
	(void)pthread_mutex_unlock(&lock);
	return rt_result(graph != NULL ? 0 : (int)cudaErrorInvalidValue);
}

static int run(const struct graph *graph, cudaStream_t stream)
{
	for (size_t i = 0; i < graph->nodes.count; i++) {
		if (graph->nodes.at[i].kind == RT_KERNEL && !fakecuda_skips_kernels())
			return cudaErrorNotSupported;
	}
	return fakecuda_graph_launch(graph->captured->graph, stream);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
	int error = rt_enter();
	if (error != 0)
		return rt_result(error);
	(void)pthread_mutex_lock(&lock);
	const struct graph *graph = find_graph(executable);
	error = graph != NULL ? run(graph, stream) : (int)cudaErrorInvalidValue;
	(void)pthread_mutex_unlock(&lock);
	return rt_result(error);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	return rt_result(destroy_graph(graph));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
	return rt_result(destroy_graph(executable));
}
