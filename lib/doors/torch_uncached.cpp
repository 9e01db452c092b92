/* torch_uncached.cpp: tensors that are allocations of the CUDA runtime's. */
#include "torch_uncached.h"

#include <cstdlib>

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>

namespace seam {

bool uncached_by_environment()
{
	static const bool off = secure_getenv("PYTORCH_NO_CUDA_MEMORY_CACHING") != nullptr;
	return off;
}

void *uncached_take(size_t bytes)
{
	/* Some stream may be captured: the runtime refuses to allocate then unless the thread's mode allows it. */
	c10::cuda::CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
	void *ptr = nullptr;
	const cudaError_t error = cudaMalloc(&ptr, bytes);
	if (error == cudaErrorMemoryAllocation)
		(void)cudaGetLastError();
	TORCH_CHECK_WITH(OutOfMemoryError, error != cudaErrorMemoryAllocation, "CUDA out of memory. Tried to allocate ", bytes,
	                 " bytes, with caching turned off");
	C10_CUDA_CHECK(error);
	return ptr;
}

void uncached_delete(void *ptr)
{
	c10::cuda::CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
	C10_CUDA_CHECK_WARN(cudaFree(ptr));
}

} /* namespace seam */
