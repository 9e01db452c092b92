/* cuda_api.h: libcuda's calls, found at run time, and the CUDA backend's own structure. For vmm/cuda_*.c and
 * driver_cuda.c only.
 *
 * Locks: none. The calls are found once per process; a device's fields do not change after creation.
 */
#ifndef SEAM_CUDA_API_H
#define SEAM_CUDA_API_H

#include <cudaTypedefs.h>

#include "driver.h"

struct cuda_api {
#define SEAM_CUDA_SYMBOL(field, symbol, exported, version, type) type field;
#include "cuda_symbols.def"
#undef SEAM_CUDA_SYMBOL
};

/* The calls of this process's libcuda, initialised. NULL with a text: not there, too old, or no device. Thread safe. */
const struct cuda_api *seam__cuda_api_get(const char **ret_why);

struct cuda {
	struct seam_driver base;
	const struct cuda_api *api;
	CUdevice device;
	CUcontext context; /* the device's primary one, retained */
	char name[128];
};

static inline struct cuda *seam__cuda_of(struct seam_driver *d)
{
	return (struct cuda *)(void *)d;
}

static inline CUstream seam__cuda_stream(uint64_t stream)
{
	return (CUstream)(uintptr_t)stream; /* 0, 1 and 2 mean the same there */
}

/* The table's calls, with the context current. */
#define SEAM_DRIVER(name, class, wait, params, args) SEAM_MUST_USE int seam__cuda_op_##name params;
#include "driver.def"
#undef SEAM_DRIVER

#endif
