/* torch_uncached.cpp: tensors that are allocations of the CUDA runtime's. */
#include "torch_uncached.h"

#include <cstdlib>
#include <mutex>
#include <unordered_set>

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>

namespace seam
{

std::atomic<size_t> uncached_count{0};

namespace
{

/* Addresses. Neither is ever destroyed: tensors may outlive the program's end. */
std::mutex &held_lock = *new std::mutex;
std::unordered_set<void *> &held = *new std::unordered_set<void *>;

void forget(void *ptr)
{
	std::lock_guard<std::mutex> guard(held_lock);
	held.erase(ptr);
	uncached_count.store(held.size(), std::memory_order_relaxed);
}

} /* namespace */

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
	TORCH_CHECK_WITH(OutOfMemoryError, error != cudaErrorMemoryAllocation, "CUDA out of memory. Tried to allocate ",
		bytes, " bytes, with caching turned off");
	C10_CUDA_CHECK(error);
	std::lock_guard<std::mutex> guard(held_lock);
	held.insert(ptr);
	uncached_count.store(held.size(), std::memory_order_relaxed);
	return ptr;
}

void uncached_delete(void *ptr)
{
	forget(ptr); /* before the runtime may give the address to another */
	c10::cuda::CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
	C10_CUDA_CHECK_WARN(cudaFree(ptr));
}

bool uncached_delete_own(void *ptr)
{
	{
		std::lock_guard<std::mutex> guard(held_lock);
		if (held.count(ptr) == 0)
			return false;
	}
	uncached_delete(ptr);
	return true;
}

} /* namespace seam */
