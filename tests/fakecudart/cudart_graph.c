/* cudart_graph.c: graphs, and what is instantiated from them: both are a number of nodes.
 *
 * One without nodes can be launched: there is nothing to do. Others hold kernels and copies, and are treated as a kernel is.
 */
#include <pthread.h>

#include "fakecuda_control.h"
#include "fakecudart.h"

#define GRAPHS 1024
#define NODE_NS UINT64_C(10000)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t graphs[GRAPHS]; /* nodes + 1 of graph i; 0: none */

/* A graph, or what was instantiated from it, by the place of its number; NULL: neither. */
static uint64_t *find_graph(const void *graph)
{
	uintptr_t offset = (uintptr_t)graph - (uintptr_t)graphs;
	if (offset >= sizeof(graphs) || offset % sizeof(graphs[0]) != 0 || graphs[offset / sizeof(graphs[0])] == 0)
		return NULL;
	return &graphs[offset / sizeof(graphs[0])];
}

int rt_graph_make(uint64_t nodes, cudaGraph_t *ret_graph)
{
	int error = cudaErrorMemoryAllocation;
	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; i < GRAPHS && error != 0; i++) {
		if (graphs[i] != 0)
			continue;
		graphs[i] = 1 + nodes;
		*ret_graph = (cudaGraph_t)(void *)&graphs[i];
		error = 0;
	}
	(void)pthread_mutex_unlock(&lock);
	return error;
}

static int destroy_graph(const void *graph)
{
	(void)pthread_mutex_lock(&lock);
	uint64_t *found = find_graph(graph);
	if (found != NULL)
		*found = 0;
	(void)pthread_mutex_unlock(&lock);
	return found != NULL ? 0 : (int)cudaErrorInvalidValue;
}

static int count_nodes(const void *graph, uint64_t *ret_nodes)
{
	(void)pthread_mutex_lock(&lock);
	const uint64_t *found = find_graph(graph);
	if (found != NULL)
		*ret_nodes = *found - 1;
	(void)pthread_mutex_unlock(&lock);
	return found != NULL ? 0 : (int)cudaErrorInvalidValue;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags)
{
	uint64_t nodes = 0;
	cudaGraph_t copy = NULL;
	(void)flags;
	int error = count_nodes(graph, &nodes);
	if (error == 0)
		error = rt_graph_make(nodes, &copy);
	if (error == 0)
		*executable = (cudaGraphExec_t)(void *)copy;
	return rt_result(error);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags)
{
	return cudaGraphInstantiate(executable, graph, flags);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	uint64_t number = 0;
	int error = nodes != NULL ? (int)cudaErrorNotSupported : count_nodes(graph, &number);
	if (error == 0)
		*count = number;
	return rt_result(error);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
	uint64_t nodes = 0;
	int error = rt_enter();
	if (error == 0)
		error = count_nodes(executable, &nodes);
	if (error == 0 && nodes != 0 && !rt_skips_kernels())
		error = cudaErrorNotSupported;
	if (error == 0 && nodes != 0)
		error = fakecuda_work(stream, 0, 0, 0, nodes * NODE_NS);
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
