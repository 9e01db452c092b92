/* fakecudart.h: what the parts of the fake CUDA runtime share.
 *
 * The runtime is compiled once for each major version that PyTorch is built with (FAKECUDART_MAJOR: 12 or 13), always
 * against the headers of CUDA 13: where the two differ the name or the layout is chosen here. It keeps no memory of its
 * own: all that there is lies in the emulated device, behind the driver that cuda_api.h finds.
 *
 * Every call: rt_enter() makes the current device's context, rt_result() remembers what went wrong for
 * cudaGetLastError().
 */
#ifndef SEAM_FAKECUDART_H
#define SEAM_FAKECUDART_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include "cuda_api.h"

#define EXPORTED __attribute__((visibility("default")))

/* The driver's calls; valid after rt_enter() has returned 0. */
extern const struct cuda_api *rt_driver;

/* Finds the driver; this thread has a primary context current afterwards: as before, or that of the device it has set.
 * Returns an error number, like CUDA 13's runtime and driver alike. */
int rt_enter(void);

/* This thread's device; it needs no context. */
int rt_device(void);

/* The primary context of a device, kept from now on. Returns an error number. */
int rt_context(int device, CUcontext *ret_context);

/* A device's attribute. Returns an error number. */
int rt_attribute(int device, CUdevice_attribute what, int *ret_value);

/* The number as a result; what is no success becomes this thread's last error. */
cudaError_t rt_result(int error);

/* A driver call as the whole body of a runtime call. */
#define RT_RETURN(call)                         \
	do {                                    \
		int rt_error = rt_enter();      \
		if (rt_error == 0)              \
			rt_error = (int)(call); \
		return rt_result(rt_error);     \
	} while (0)

/* Whether a capture forbids this thread the calls that may disturb one: an error number. The capture is spoilt by
 * asking. */
int rt_capture_guard(void);

enum rt_node_kind { RT_KERNEL, RT_COPY_ON_DEVICE, RT_COPY_BETWEEN, RT_COPY_TO_DEVICE, RT_COPY_TO_HOST, RT_FILL };

/* A piece of work that a capture has seen. */
struct rt_node {
	enum rt_node_kind kind;
	void *to;
	const void *from;
	size_t bytes;
	int to_device, from_device; /* RT_COPY_BETWEEN */
	unsigned char value;        /* RT_FILL */
};

/* In the order in which the program gave them, which is one that all their streams allow. */
struct rt_nodes {
	struct rt_node *at;
	size_t count, capacity;
};

/* If `stream` is being captured, the work is a node of that graph, and the result true. */
bool rt_capture_add_node(CUstream stream, const struct rt_node *node);

/* Copies and fills: gives the work to the driver. Returns an error number. */
int rt_memory_do(const struct rt_node *node, CUstream stream);

/* A graph of these nodes and of what the driver captured, which are the graph's from now on, or gone. Returns an error
 * number. */
int rt_graph_make(struct rt_nodes *nodes, CUgraph ended, cudaGraph_t *ret_graph);

#endif
