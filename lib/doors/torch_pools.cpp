/* torch_pools.cpp: the part of the class that CUDA graphs, torch.cuda.MemPool and other processes use. */
#include "torch_allocator.h"

namespace seam {

void TorchAllocator::beginAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t pool, std::function<bool(cudaStream_t)> filter)
{
	on(device).open_private(pool, std::move(filter));
}

void TorchAllocator::endAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t pool)
{
	on(device).close_private(pool);
}

void TorchAllocator::releasePool(c10::DeviceIndex device, c10::MempoolId_t pool)
{
	on(device).release_private(pool);
}

int TorchAllocator::getPoolUseCount(c10::DeviceIndex device, c10::MempoolId_t pool)
{
	return on(device).private_uses(pool);
}

void TorchAllocator::createOrIncrefPool(c10::DeviceIndex device, c10::MempoolId_t pool, TorchSource source)
{
	TORCH_CHECK(source == nullptr, "Seam: a torch.cuda.MemPool cannot take its memory from another allocator while Seam is PyTorch's allocator. "
	            "For memory that NCCL or RDMA can register, make the tensors within seam.build.contiguous(), or use torch.cuda.MemPool(no_split=True).");
	on(device).hold_private(pool);
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
}
#endif

bool TorchAllocator::checkPoolLiveAllocations(c10::DeviceIndex device, c10::MempoolId_t pool, const std::unordered_set<void *> &expected)
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

} /* namespace seam */
