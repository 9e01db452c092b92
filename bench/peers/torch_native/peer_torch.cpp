/* peer_torch.cpp: PyTorch's allocator for CUDA, called through its virtual interface: its own, or Seam's class. See
 * peer_torch.h.
 *
 * For measurements only: no part of Seam, not built by Meson. `run` compiles it against the headers of the installed
 * PyTorch and links it to libc10.so and libc10_cuda.so alone. Which of PyTorch's own allocators it is,
 * PYTORCH_CUDA_ALLOC_CONF says before the library is opened; PEER_CLASS names the library of Seam's class
 * (seamalloc.build), which is then installed as it is for users.
 */
#include "peer_torch.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <unordered_map>

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#if __has_include(<c10/cuda/PeerToPeerAccess.h>)
#include <c10/cuda/PeerToPeerAccess.h>
#define HAS_PEERS 1 /* since 2.11 in c10; with one device nobody asks before */
#else
#define HAS_PEERS 0
#endif
#if __has_include(<torch/headeronly/version.h>)
#include <torch/headeronly/version.h>
#else
#include <torch/csrc/api/include/torch/version.h>
#endif

/* Exported, but in no header: without it the first look for a device's context throws, for that is ATen's business. */
namespace c10::cuda::_internal
{
C10_CUDA_API void setHasPrimaryContext(bool (*function)(c10::DeviceIndex));
}

namespace
{

using Allocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;

Allocator *allocator;
std::string failure;
std::unordered_map<uint64_t, unsigned> pools; /* private pools, and how often each was begun */

template <typename Work> int guarded(Work work)
{
	try {
		work();
		return 0;
	} catch (const c10::OutOfMemoryError &error) {
		failure = error.what_without_backtrace();
		return PEER_TORCH_OOM;
	} catch (const std::exception &error) {
		failure = error.what();
		return PEER_TORCH_FAILED;
	}
}

void install_class(const char *path)
{
	using Install = int (*)(char *error, size_t error_bytes);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	TORCH_CHECK(library != nullptr, dlerror());
	auto install = reinterpret_cast<Install>(dlsym(library, "seam_torch_class_install"));
	char error[300] = "it has no seam_torch_class_install()";
	TORCH_CHECK(install != nullptr && install(error, sizeof error) == 0, path, ": ", error);
}

c10::MempoolId_t pool_of(uint64_t private_id)
{
	return {0, private_id};
}

/* PyTorch has no request that names its pool: the pool is open while one request is made. */
void *alloc_private(uint64_t bytes, cudaStream_t stream, uint64_t private_id)
{
	allocator->beginAllocateToPool(0, pool_of(private_id), [](cudaStream_t) { return true; });
	pools[private_id]++;
	struct End {
		uint64_t id;
		~End()
		{
			allocator->endAllocateToPool(0, pool_of(id));
		}
	} end{private_id};
	return allocator->raw_alloc_with_stream(bytes, stream);
}

}

extern "C" {

int peer_torch_open(void)
{
	return guarded([] {
		c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
#if HAS_PEERS
		c10::cuda::detail::init_p2p_access_cache(1);
#endif
		if (const char *path = std::getenv("PEER_CLASS"))
			install_class(path);
		allocator = c10::cuda::CUDACachingAllocator::get();
		allocator->init(1);
	});
}

int peer_torch_alloc(uint64_t bytes, void *stream, uint64_t private_id, void **ret_ptr)
{
	return guarded([=] {
		cudaStream_t on = static_cast<cudaStream_t>(stream);
		*ret_ptr = private_id == 0 ? allocator->raw_alloc_with_stream(bytes, on)
					   : alloc_private(bytes, on, private_id);
	});
}

int peer_torch_free(void *ptr)
{
	return guarded([=] { allocator->raw_delete(ptr); });
}

int peer_torch_record_stream(void *ptr, void *stream)
{
	return guarded([=] {
		c10::DataPtr data(ptr, ptr, allocator->raw_deleter(), c10::Device(c10::kCUDA, 0));
		allocator->recordStream(data, c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream), 0));
		data.release_context(); /* the block stays the caller's */
	});
}

int peer_torch_empty_cache(void)
{
	return guarded([] { allocator->emptyCache(); });
}

int peer_torch_release_private(uint64_t private_id)
{
	return guarded([=] {
		for (unsigned count = pools[private_id]; count != 0; count--)
			allocator->releasePool(0, pool_of(private_id));
		pools.erase(private_id);
	});
}

void peer_torch_get_stats(struct peer_torch_stats *ret_stats)
{
	const c10::CachingDeviceAllocator::DeviceStats stats = allocator->getDeviceStats(0);
	const size_t all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
	ret_stats->reserved_bytes = static_cast<uint64_t>(stats.reserved_bytes[all].current);
	ret_stats->reserved_peak_bytes = static_cast<uint64_t>(stats.reserved_bytes[all].peak);
	ret_stats->allocated_bytes = static_cast<uint64_t>(stats.allocated_bytes[all].current);
	ret_stats->blocks = static_cast<uint64_t>(stats.allocation[all].current);
	ret_stats->retries = static_cast<uint64_t>(stats.num_alloc_retries);
}

const char *peer_torch_version(void)
{
	return TORCH_VERSION;
}

const char *peer_torch_error(void)
{
	return failure.c_str();
}
}
