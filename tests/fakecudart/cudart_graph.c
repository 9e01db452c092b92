/* cudart_graph.c: graphs, and what is instantiated from them: both are a list of nodes.
 *
 * A launch does the copies and fills again. Kernels are treated as anywhere: refused, with the whole graph, or passed over.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fakecuda_control.h"
#include "fakecudart.h"

#define GRAPHS 1024
#define NODE_NS UINT64_C(10000)

struct graph {
	bool used;
	struct rt_nodes nodes;
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

/* Under the lock. */
static int make(struct rt_nodes *nodes, cudaGraph_t *ret_graph)
{
	for (size_t i = 0; i < GRAPHS; i++) {
		if (graphs[i].used)
			continue;
		graphs[i] = (struct graph){.used = true, .nodes = *nodes};
		*nodes = (struct rt_nodes){0};
		*ret_graph = (cudaGraph_t)(void *)&graphs[i];
		return 0;
	}
	free(nodes->at);
	*nodes = (struct rt_nodes){0};
	return cudaErrorMemoryAllocation;
}

int rt_graph_make(struct rt_nodes *nodes, cudaGraph_t *ret_graph)
{
	(void)pthread_mutex_lock(&lock);
	int error = make(nodes, ret_graph);
	(void)pthread_mutex_unlock(&lock);
	return error;
}

static int destroy_graph(const void *handle)
{
	(void)pthread_mutex_lock(&lock);
	struct graph *graph = find_graph(handle);
	if (graph != NULL) {
		free(graph->nodes.at);
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
		error = make(&nodes, ret_graph);
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

static int run(const struct rt_nodes *nodes, cudaStream_t stream)
{
	for (size_t i = 0; i < nodes->count; i++) {
		if (nodes->at[i].kind == RT_KERNEL && !rt_skips_kernels())
			return cudaErrorNotSupported;
	}
	int error = 0;
	for (size_t i = 0; i < nodes->count && error == 0; i++)
		error = nodes->at[i].kind == RT_KERNEL ? fakecuda_work(stream, 0, 0, 0, NODE_NS) : rt_memory_do(&nodes->at[i], stream);
	return error;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
	int error = rt_enter();
	if (error != 0)
		return rt_result(error);
	(void)pthread_mutex_lock(&lock);
	const struct graph *graph = find_graph(executable);
	error = graph != NULL ? run(&graph->nodes, stream) : (int)cudaErrorInvalidValue;
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
