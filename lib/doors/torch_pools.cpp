/* torch_pools.cpp: the part of the class that CUDA graphs, torch.cuda.MemPool and other processes use. */
#include "torch_allocator.h"

namespace seam
{

void TorchAllocator::beginAllocateToPool(
	c10::DeviceIndex device, c10::MempoolId_t pool, std::function<bool(cudaStream_t)> filter)
{
	native::CUDAAllocator *serves = server(device, pool);
	on(device).open_private(pool, filter);
	if (serves != nullptr)
		serves->beginAllocateToPool(device, pool, std::move(filter));
}

void TorchAllocator::endAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t pool)
{
	on(device).close_private(pool);
	if (native::CUDAAllocator *serves = server(device, pool))
		serves->endAllocateToPool(device, pool);
}

void TorchAllocator::releasePool(c10::DeviceIndex device, c10::MempoolId_t pool)
{
	native::CUDAAllocator *serves = server(device, pool);
	on(device).release_private(pool);
	if (serves != nullptr)
		serves->releasePool(device, pool);
}

int TorchAllocator::getPoolUseCount(c10::DeviceIndex device, c10::MempoolId_t pool)
{
	return on(device).private_uses(pool);
}

#if SEAM_TORCH_OOM_USE_IS_FLAG
void TorchAllocator::setUseOnOOM(c10::DeviceIndex device, c10::MempoolId_t pool, bool use)
{
	on(device).set_use_on_oom(pool, use);
}
#else
void TorchAllocator::setUseOnOOM(c10::DeviceIndex device, c10::MempoolId_t pool)
{
	on(device).set_use_on_oom(pool, true);
}
#endif

#if SEAM_TORCH_HAS_NO_SPLIT
void TorchAllocator::setNoSplit(c10::DeviceIndex device, c10::MempoolId_t pool)
{
	on(device).set_no_split(pool);
	if (native::CUDAAllocator *serves = server(device, pool))
		serves->setNoSplit(device, pool);
}
#endif

bool TorchAllocator::checkPoolLiveAllocations(
	c10::DeviceIndex device, c10::MempoolId_t pool, const std::unordered_set<void *> &expected)
{
	return on(device).holds_exactly(pool, expected);
}

native::ShareableHandle TorchAllocator::shareIpcHandle(void *ptr)
{
	void *base = nullptr;
	size_t bytes = 0;
	const c10::DeviceIndex device = find(ptr, &base, &bytes);
	return shares_.share(on(device).pool(), device, base, ptr);
}

std::shared_ptr<void> TorchAllocator::getIpcDevPtr(std::string handle)
{
	return shares_.open(handle);
}

/* ---- a device's private pools ---- */

namespace
{

/* A reference. Without the device's lock: the core may be waiting for the device in another thread. */
void drop(struct seam_pool *pool, uint64_t number)
{
	const enum seam_rc rc = seam_private_release(pool, number);
	TORCH_CHECK(rc == SEAM_OK, "Seam: a private pool cannot be released: ", seam_rc_text(rc));
}

} /* namespace */

void TorchDevice::hold_private(c10::MempoolId_t id, native::CUDAAllocator *server)
{
	struct seam_pool *of = pool();
	std::lock_guard guard(lock_);
	privates_.hold(of, id);
	if (server != nullptr)
		privates_.known(id)->server = server;
}

native::CUDAAllocator *TorchDevice::server_of(c10::MempoolId_t id)
{
	std::lock_guard guard(lock_);
	std::shared_ptr<TorchPrivate> found = privates_.find(id);
	return found != nullptr ? found->server : nullptr;
}

void TorchDevice::open_private(c10::MempoolId_t id, std::function<bool(cudaStream_t)> filter)
{
	struct seam_pool *of = pool();
	std::lock_guard guard(lock_);
	privates_.open(of, id, std::move(filter));
	routed_ = true;
}

void TorchDevice::close_private(c10::MempoolId_t id)
{
	struct seam_pool *of = pool();
	{
		std::lock_guard guard(lock_);
		privates_.close(of, id);
		routed_ = privates_.has_routes();
	}
	settle();
}

void TorchDevice::release_private(c10::MempoolId_t id)
{
	struct seam_pool *of = pool();
	uint64_t number = 0;
	{
		std::lock_guard guard(lock_);
		number = privates_.release(id);
	}
	if (number != 0)
		drop(of, number);
	settle();
}

/* Drops the last references that wait. The device is waited for without the lock: other threads go on meanwhile. */
void TorchDevice::settle()
{
	std::vector<uint64_t> leaving;
	{
		std::lock_guard guard(lock_);
		leaving = privates_.take_leaving();
	}
	if (leaving.empty())
		return;
	const bool waited = seam_device_wait(pool()) != SEAM_CAPTURING;
	for (uint64_t number : leaving) {
		if (waited)
			drop(pool(), number);
	}
	std::lock_guard guard(lock_);
	privates_.settle(leaving, waited);
}

int TorchDevice::private_uses(c10::MempoolId_t id)
{
	std::lock_guard guard(lock_);
	std::shared_ptr<TorchPrivate> found = privates_.find(id);
	return found != nullptr ? found->uses : 0;
}

void TorchDevice::set_use_on_oom(c10::MempoolId_t id, bool use)
{
	std::lock_guard guard(lock_);
	privates_.known(id)->use_on_oom = use;
}

void TorchDevice::set_no_split(c10::MempoolId_t id)
{
	std::lock_guard guard(lock_);
	privates_.known(id)->no_split = true;
}

bool TorchDevice::holds_exactly(c10::MempoolId_t id, const std::unordered_set<void *> &expected)
{
	std::lock_guard guard(lock_);
	(void)privates_.known(id);
	size_t seen = 0;
	bool others = false;
	blocks_.each([&](void *ptr, const TorchBlock &block) {
		const bool inside = block.in() != nullptr && block.in()->id == id;
		seen += inside;
		others = others || (inside && expected.count(ptr) == 0);
	});
	return !others && seen == expected.size();
}

} /* namespace seam */
