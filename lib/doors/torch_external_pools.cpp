/* torch_external_pools.cpp: torch.cuda.MemPool(allocator): pools whose memory comes from an allocator of the user's,
 * such as NCCL's.
 *
 * Seam does not stitch or cut what others give. PyTorch's own allocator, which the class replaced, is there still, and
 * serves nothing but these pools: it asks the user's allocator for segments, caches and splits them, as it does without
 * Seam. The class keeps the books of their blocks and sends requests, frees and uses on; the core has a private pool of
 * that number, which stays empty.
 *
 * Not here: the way of a request (torch_device.cpp), the rest of the life of pools (torch_pools.cpp).
 * Locks: none is held when PyTorch's allocator is called.
 */
#include <thread>

#include <c10/cuda/CUDAStream.h>

#include "torch_allocator.h"

namespace seam
{

native::CUDAAllocator *TorchAllocator::server(c10::DeviceIndex device, c10::MempoolId_t pool)
{
	return own_serves_.load(std::memory_order_acquire) ? on(device).server_of(pool) : nullptr;
}

void TorchAllocator::createOrIncrefPool(c10::DeviceIndex device, c10::MempoolId_t pool, TorchSource source)
{
	native::CUDAAllocator *serves = nullptr;
	if (source != nullptr || server(device, pool) != nullptr) {
		TORCH_CHECK(own_ != nullptr,
			"Seam: PyTorch's own allocator, which serves memory pools over another one, is not known");
		std::lock_guard<std::mutex> guard(lock_);
		if (!own_->initialized())
			own_->init(static_cast<int>(devices_.size()));
		serves = own_;
		own_serves_ = true;
	}
	on(device).hold_private(pool, serves);
	if (serves != nullptr)
		serves->createOrIncrefPool(device, pool, std::move(source));
}

/* A request of the common memory, out of a pool that helps. The pool is opened for this thread meanwhile, which is a
 * use of it. */
enum seam_rc TorchDevice::ask_server(const TorchPrivate &helper, const TorchAsk &ask, void **ret_ptr) const
{
	const std::thread::id asking = std::this_thread::get_id();
	try {
		helper.server->beginAllocateToPool(
			device_, helper.id, [asking](cudaStream_t) { return std::this_thread::get_id() == asking; });
	} catch (const c10::Error &) {
		return SEAM_OOM_DEVICE; /* it is open already */
	}
	enum seam_rc rc = SEAM_OK;
	try {
		*ret_ptr = helper.server->raw_alloc_with_stream(ask.bytes, ask.stream);
	} catch (const c10::Error &) {
		rc = SEAM_OOM_DEVICE;
	}
	helper.server->endAllocateToPool(device_, helper.id);
	helper.server->releasePool(device_, helper.id);
	return rc;
}

/* As if the block were a tensor's. */
void TorchDevice::record_served(native::CUDAAllocator *server, void *ptr, cudaStream_t stream) const
{
	c10::DataPtr data(ptr, ptr, server->raw_deleter(), c10::Device(c10::kCUDA, device_));
	server->recordStream(data, c10::cuda::getStreamFromExternal(stream, device_));
	(void)data.release_context(); /* the block stays its owner's */
}

namespace
{

void add(c10::CachingAllocator::StatArray &to, const c10::CachingAllocator::StatArray &more)
{
	for (size_t kind = 0; kind < to.size(); kind++) {
		to[kind].current += more[kind].current;
		to[kind].peak += more[kind].peak; /* at most: the two need not have come together */
		to[kind].allocated += more[kind].allocated;
		to[kind].freed += more[kind].freed;
	}
}

} /* namespace */

/* What is reserved for these pools; their blocks are counted already. */
void TorchAllocator::add_served(native::DeviceStats &stats, c10::DeviceIndex device)
{
	if (!own_serves_.load(std::memory_order_acquire))
		return;
	const native::DeviceStats more = own_->getDeviceStats(device);
	add(stats.reserved_bytes, more.reserved_bytes);
	add(stats.segment, more.segment);
	stats.num_device_alloc += more.num_device_alloc;
	stats.num_device_free += more.num_device_free;
#if SEAM_TORCH_HAS_PRIVATE_SUMS
	for (const auto &[id, held] : more.reserved_bytes_by_private_pools)
		add(stats.reserved_bytes_by_private_pools[id], held);
#endif
}

} /* namespace seam */
