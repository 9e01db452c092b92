/* torch_allocator.cpp: memory, streams, copies: the part of the class that every program uses. */
#include "torch_allocator.h"
#include "torch_uncached.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace seam
{

namespace
{

void delete_block(void *ptr)
{
	TorchAllocator::instance().raw_delete(ptr);
}

/* Most blocks are freed on the device that the thread freed on before. */
thread_local size_t last_device;

} /* namespace */

TorchAllocator &TorchAllocator::instance()
{
	static auto *const allocator = new TorchAllocator;
	return *allocator;
}

std::string TorchAllocator::name()
{
	return "seam";
}

void TorchAllocator::init(int device_count)
{
	std::lock_guard<std::mutex> guard(lock_);
	if (ready_)
		return;
	for (int i = 0; i < device_count; i++)
		devices_.push_back(std::make_unique<TorchDevice>(static_cast<c10::DeviceIndex>(i), history_));
	only_ = device_count == 1 ? devices_[0].get() : nullptr;
	ready_ = true;
}

bool TorchAllocator::initialized()
{
	return ready_;
}

TorchDevice &TorchAllocator::on(c10::DeviceIndex device)
{
	TORCH_CHECK(
		ready_.load(std::memory_order_acquire) && device >= 0 && static_cast<size_t>(device) < devices_.size(),
		"Seam: no device ", static_cast<int>(device), ": was CUDA initialised?");
	return *devices_[static_cast<size_t>(device)];
}

/* Where there is one device it is the current one. */
TorchDevice &TorchAllocator::current(c10::DeviceIndex *ret_device)
{
	if (only_ != nullptr) {
		*ret_device = 0;
		return *only_;
	}
	C10_CUDA_CHECK(c10::cuda::GetDevice(ret_device));
	return on(*ret_device);
}

/* ---- memory ---- */

c10::DataPtr TorchAllocator::allocate(size_t bytes)
{
	c10::DeviceIndex device = 0;
	TorchDevice &mine = current(&device);
	if (bytes > 0 && !caches()) {
		void *ptr = uncached_take(bytes);
		return {ptr, ptr, &uncached_delete, c10::Device(c10::kCUDA, device)};
	}
	void *ptr = bytes > 0 ? mine.take(bytes, c10::cuda::getCurrentCUDAStream(device)) : nullptr;
	return {ptr, ptr, &delete_block, c10::Device(c10::kCUDA, device)};
}

c10::DeleterFnPtr TorchAllocator::raw_deleter() const
{
	return caches() ? &delete_block : &uncached_delete;
}

void *TorchAllocator::raw_alloc(size_t bytes)
{
	c10::DeviceIndex device = 0;
	TorchDevice &mine = current(&device);
	if (bytes > 0 && !caches())
		return uncached_take(bytes);
	return bytes > 0 ? mine.take(bytes, c10::cuda::getCurrentCUDAStream(device)) : nullptr;
}

void *TorchAllocator::raw_alloc_with_stream(size_t bytes, cudaStream_t stream)
{
	c10::DeviceIndex device = 0;
	TorchDevice &mine = current(&device);
	if (bytes > 0 && !caches())
		return uncached_take(bytes);
	return bytes > 0 ? mine.take(bytes, stream) : nullptr;
}

void TorchAllocator::raw_delete(void *ptr)
{
	if (ptr == nullptr)
		return;
	if (__builtin_expect(uncached_count.load(std::memory_order_relaxed) != 0, 0) && uncached_delete_own(ptr))
		return;
	shares_.forget(ptr);
	const TorchContext context = history_.gather(native::RecordContext::ALL);
	if (only_ != nullptr) {
		TORCH_CHECK(only_->give_back(ptr, context), "Seam: not the address of a block: ", ptr);
		return;
	}
	const size_t count = devices_.size(), first = last_device < count ? last_device : 0;
	for (size_t i = 0; i < count; i++) {
		const size_t device = (first + i) % count;
		if (devices_[device]->give_back(ptr, context)) {
			last_device = device;
			return;
		}
	}
	TORCH_CHECK(false, "Seam: not the address of a block: ", ptr);
}

void TorchAllocator::copy_data(void *to, const void *from, size_t bytes) const
{
	C10_CUDA_CHECK(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice));
}

void TorchAllocator::recordStream(const c10::DataPtr &ptr, c10::cuda::CUDAStream stream)
{
	/* Memory of others, such as another process's, comes with a deleter of its own. */
	if (ptr.get() == nullptr || ptr.get_deleter() != &delete_block)
		return;
	cudaStream_t handle = stream.stream();
	if (handle == nullptr && stream.device_index() != ptr.device().index())
		handle = on(stream.device_index()).default_stream();
	on(ptr.device().index()).record(ptr.get(), handle);
}

void TorchAllocator::recordStream(const c10::DataPtr &ptr, c10::Stream stream)
{
	recordStream(ptr, c10::cuda::CUDAStream(stream));
}

/* The device of the live block that contains ptr. Throws if there is none. */
c10::DeviceIndex TorchAllocator::find(void *ptr, void **ret_base, size_t *ret_bytes)
{
	for (size_t i = 0; i < devices_.size(); i++) {
		if (devices_[i]->find(ptr, ret_base, ret_bytes))
			return static_cast<c10::DeviceIndex>(i);
	}
	TORCH_CHECK(false, "Seam: not in a live block: ", ptr);
}

void *TorchAllocator::getBaseAllocation(void *ptr, size_t *ret_bytes)
{
	void *base = nullptr;
	size_t bytes = 0;
	(void)find(ptr, &base, &bytes);
	if (ret_bytes != nullptr)
		*ret_bytes = bytes;
	return base;
}

void TorchAllocator::enable(bool value)
{
	enabled_ = value;
}

bool TorchAllocator::isEnabled() const
{
	return enabled_;
}

bool TorchAllocator::caches() const
{
	return enabled_.load(std::memory_order_relaxed) && !uncached_by_environment();
}

/* ---- a device's cache and share ---- */

double TorchAllocator::getMemoryFraction(c10::DeviceIndex device)
{
	return on(device).fraction();
}

void TorchAllocator::setMemoryFraction(double fraction, c10::DeviceIndex device)
{
	on(device).limit(fraction);
}

/* A pool that has been released is common memory by now, and stays cached. */
void TorchAllocator::emptyCache(c10::MempoolId_t pool)
{
	const TorchContext context = history_.gather(native::RecordContext::ALL);
	for (auto &device : devices_)
		device->trim(pool, context);
	if (own_serves_)
		own_->emptyCache(pool);
}

void TorchAllocator::cacheInfo(c10::DeviceIndex device, size_t *largest)
{
	*largest = on(device).largest();
}

/* ---- devices among themselves ---- */

void TorchAllocator::enablePeerAccess(c10::DeviceIndex device, c10::DeviceIndex to)
{
	c10::cuda::CUDAGuard guard(device);
	cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
	if (error == cudaErrorPeerAccessAlreadyEnabled)
		(void)cudaGetLastError();
	else
		C10_CUDA_CHECK(error);
	enum seam_rc rc = seam_peer_enable(on(to).pool(), device);
	TORCH_CHECK(rc == SEAM_OK, "Seam: device ", static_cast<int>(device), " cannot use the memory of ",
		static_cast<int>(to), ": ", seam_rc_text(rc));
}

/* Mapped memory can be read by another device only after enablePeerAccess(); without it the copy has to name both
 * devices, so that the driver can go through the host. cudaMemcpyAsync would fail there. */
cudaError_t TorchAllocator::memcpyAsync(
	void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream, bool peers)
{
	if (peers || to_device == from_device)
		return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
	return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream);
}

} /* namespace seam */
