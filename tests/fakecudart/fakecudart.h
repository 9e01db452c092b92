/* fakecudart.h: what the parts of the fake CUDA runtime share.
 *
 * The runtime is compiled once for each major version that PyTorch is built with (FAKECUDART_MAJOR: 12 or 13), always against
 * the headers of CUDA 13: where the two differ the name or the layout is chosen here. It keeps no memory of its own: all
 * that there is lies in the emulated device, behind the driver that cuda_api.h finds.
 *
 * Every call: rt_enter() makes the device and its context, rt_result() remembers what went wrong for cudaGetLastError().
 */
#ifndef SEAM_TESTS_FAKECUDART_H
#define SEAM_TESTS_FAKECUDART_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include "cuda_api.h"

#define EXPORTED __attribute__((visibility("default")))

/* The driver's calls; valid after rt_enter() has returned 0. */
extern const struct cuda_api *rt_driver;

/* Finds the driver, keeps its primary context and makes that current on this thread. Returns an error number, like CUDA 13's
 * runtime and driver alike. */
int rt_enter(void);

/* The number as a result; what is no success becomes this thread's last error. */
cudaError_t rt_result(int error);

/* A driver call as the whole body of a runtime call. */
#define RT_RETURN(call)                            \
	do {                                       \
		int rt_error = rt_enter();         \
		if (rt_error == 0)                 \
			rt_error = (int)(call);    \
		return rt_result(rt_error);        \
	} while (0)

/* Whether a capture forbids this thread the calls that may disturb one: an error number. The capture is spoilt by asking. */
int rt_capture_guard(void);

/* Whether kernels, which cannot run, are passed over. Else they are refused. */
bool rt_skips_kernels(void);

/* What `stream` is capturing: counts one more node of its graph. False: it is not capturing. */
bool rt_capture_add_node(CUstream stream);

/* A graph of that many nodes. Returns an error number. */
int rt_graph_make(uint64_t nodes, cudaGraph_t *ret_graph);

#endif
