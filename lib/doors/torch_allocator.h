/* torch_allocator.h: Seam as PyTorch's allocator for CUDA: the whole of c10::cuda::CUDACachingAllocator::CUDAAllocator.
 *
 * Compiled for one minor of PyTorch, whose virtual functions it overrides; no policy lives here, nor in the files
 * beside it: every byte comes from the C core (libseam_torch.so), and what PyTorch counts, names and remembers beyond
 * that is in TorchDevice and TorchHistory. Nothing is delegated to PyTorch's own allocator but memory pools over an
 * allocator of the program's (torch_external_pools.cpp).
 *
 * Refused, with an error that says what to do: CUDA IPC without the option export_as:fd, allocateWithAddress.
 *
 * Thread safety: everything may be called from any thread, init() before the rest.
 */
#ifndef SEAM_TORCH_ALLOCATOR_H
#define SEAM_TORCH_ALLOCATOR_H

#include "torch_device.h"
#include "torch_ipc.h"

namespace seam
{

class TorchAllocator : public native::CUDAAllocator
{
public:
	/* The one of this process; it is never destroyed: tensors are freed until the end. */
	static TorchAllocator &instance();

	/* PyTorch's own allocator, which was in force before: it serves pools over foreign allocators. */
	void succeed(native::CUDAAllocator *own)
	{
		own_ = own;
	}

	c10::DataPtr allocate(size_t bytes) override;
	c10::DeleterFnPtr raw_deleter() const override;
	void copy_data(void *to, const void *from, size_t bytes) const override;
	void *raw_alloc(size_t bytes) override;
	void *raw_alloc_with_stream(size_t bytes, cudaStream_t stream) override;
	void raw_delete(void *ptr) override;

	void init(int device_count) override;
	bool initialized() override;
	std::string name() override;
	void enable(bool value) override;
	bool isEnabled() const override;
	double getMemoryFraction(c10::DeviceIndex device) override;
	void setMemoryFraction(double fraction, c10::DeviceIndex device) override;
	void emptyCache(c10::MempoolId_t pool) override;
	void cacheInfo(c10::DeviceIndex device, size_t *largest) override;
	void *getBaseAllocation(void *ptr, size_t *bytes) override;
	void recordStream(const c10::DataPtr &ptr, c10::cuda::CUDAStream stream) override;
	void recordStream(const c10::DataPtr &ptr, c10::Stream stream) override;
	void enablePeerAccess(c10::DeviceIndex device, c10::DeviceIndex to) override;
	cudaError_t memcpyAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
		cudaStream_t stream, bool peers) override;

	native::DeviceStats getDeviceStats(c10::DeviceIndex device) override;
	void resetAccumulatedStats(c10::DeviceIndex device) override;
	void resetPeakStats(c10::DeviceIndex device) override;
#if SEAM_TORCH_HAS_TRACE_CHOICE
	native::SnapshotInfo snapshot(c10::MempoolId_t pool, bool include_traces) override;
#else
	native::SnapshotInfo snapshot(c10::MempoolId_t pool) override;
#endif
#if SEAM_TORCH_HAS_SEGMENT_SIZES
	std::vector<native::StreamSegmentSize> getExpandableSegmentSizes(c10::DeviceIndex device) override;
#endif

	void beginAllocateToPool(
		c10::DeviceIndex device, c10::MempoolId_t pool, std::function<bool(cudaStream_t)> filter) override;
	void endAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t pool) override;
	void releasePool(c10::DeviceIndex device, c10::MempoolId_t pool) override;
	int getPoolUseCount(c10::DeviceIndex device, c10::MempoolId_t pool) override;
	void createOrIncrefPool(c10::DeviceIndex device, c10::MempoolId_t pool, TorchSource source) override;
#if SEAM_TORCH_OOM_USE_IS_FLAG
	void setUseOnOOM(c10::DeviceIndex device, c10::MempoolId_t pool, bool use) override;
#else
	void setUseOnOOM(c10::DeviceIndex device, c10::MempoolId_t pool) override;
#endif
#if SEAM_TORCH_HAS_NO_SPLIT
	void setNoSplit(c10::DeviceIndex device, c10::MempoolId_t pool) override;
#endif
	bool checkPoolLiveAllocations(
		c10::DeviceIndex device, c10::MempoolId_t pool, const std::unordered_set<void *> &expected) override;
	std::shared_ptr<native::AllocatorState> getCheckpointState(
		c10::DeviceIndex device, c10::MempoolId_t pool) override;
	native::CheckpointDelta setCheckpointPoolState(
		c10::DeviceIndex device, std::shared_ptr<native::AllocatorState> state) override;

	native::ShareableHandle shareIpcHandle(void *ptr) override;
	std::shared_ptr<void> getIpcDevPtr(std::string handle) override;

	bool isHistoryEnabled() override;
#if SEAM_TORCH_HAS_SKIP_ACTIONS
	void recordHistory(bool enabled, native::CreateContextFn recorder, size_t max_entries,
		native::RecordContext when, bool clear, const std::vector<std::string> &skip) override;
#else
	void recordHistory(bool enabled, native::CreateContextFn recorder, size_t max_entries,
		native::RecordContext when, bool clear) override;
#endif
	void recordAnnotation(const std::vector<std::pair<std::string, std::string>> &texts) override;
	void pushCompileContext(std::string &text) override;
	void popCompileContext() override;
	void attachOutOfMemoryObserver(native::OutOfMemoryObserver observer) override;
	void attachAllocatorTraceTracker(native::AllocatorTraceTracker tracker) override;
#if SEAM_TORCH_HAS_METADATA
	void setUserMetadata(const std::string &text) override;
	std::string getUserMetadata() override;
#endif
#if SEAM_TORCH_HAS_CONTEXT_LOOKUP
	TorchContext getContextForPointer(const void *ptr) override;
#endif
#if SEAM_TORCH_HAS_REJECTIONS
	void attachOomRejectionObserver(native::OomRejectionObserver observer) override;
#endif
#if SEAM_TORCH_HAS_ANNOTATE
	bool supportsUserMetadata() override;
	void annotateMemory(const void *ptr, const std::string &text) override;
#endif

private:
	bool caches() const;
	native::CUDAAllocator *server(c10::DeviceIndex device, c10::MempoolId_t pool);
	void add_served(native::DeviceStats &stats, c10::DeviceIndex device);
	TorchDevice &on(c10::DeviceIndex device);
	TorchDevice &current(c10::DeviceIndex *ret_device);
	c10::DeviceIndex find(void *ptr, void **ret_base, size_t *ret_bytes);

	TorchHistory history_;
	TorchShares shares_;
	std::vector<std::unique_ptr<TorchDevice>> devices_; /* set by init(), then read only */
	TorchDevice *only_ = nullptr;                       /* of one device; so is this */
	native::CUDAAllocator *own_ = nullptr;              /* PyTorch's; NULL: not known */
	std::atomic<bool> own_serves_{false};               /* some pool, now or before */
	std::atomic<bool> ready_{false};
	std::atomic<bool> enabled_{true};
	std::mutex lock_; /* of init() */
};

} /* namespace seam */

#endif
