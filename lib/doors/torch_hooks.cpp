/* torch_hooks.cpp: the part of the class that programs use to see what their memory does: statistics, snapshots,
 * history. */
#include <cstdlib>

#include <c10/cuda/CUDAAllocatorConfig.h>
#include <c10/cuda/CUDAFunctions.h>

#include "torch_allocator.h"

namespace seam
{

namespace
{

/* What PyTorch shows as the allocator's settings is Seam's configuration, and PyTorch's own of pinned memory, which it
 * serves itself. Its other settings do not matter here. */
native::AllocatorConfigInfo settings()
{
	native::AllocatorConfigInfo info{};
	const char *text = secure_getenv("SEAM_CONF");
	info.max_split_size = SIZE_MAX;
	info.last_allocator_settings = std::string("seam ") + (text != nullptr ? text : "");
	info.roundup_power2_divisions.assign(16, 0);
	info.pinned_use_host_register = native::CUDAAllocatorConfig::pinned_use_cuda_host_register();
	info.pinned_num_register_threads = native::CUDAAllocatorConfig::pinned_num_register_threads();
#if SEAM_TORCH_HAS_PINNED_SIZES
	using Pinned = c10::CachingAllocator::AcceleratorAllocatorConfig;
	info.max_round_threshold = Pinned::pinned_max_round_threshold();
	info.max_cached_size = Pinned::pinned_max_cached_size();
#endif
	return info;
}

} /* namespace */

native::DeviceStats TorchAllocator::getDeviceStats(c10::DeviceIndex device)
{
	native::DeviceStats stats = on(device).stats();
	add_served(stats, device);
	return stats;
}

void TorchAllocator::resetAccumulatedStats(c10::DeviceIndex device)
{
	on(device).reset_accumulated();
	if (own_serves_)
		own_->resetAccumulatedStats(device);
}

void TorchAllocator::resetPeakStats(c10::DeviceIndex device)
{
	on(device).reset_peaks();
	if (own_serves_)
		own_->resetPeakStats(device);
}

#if SEAM_TORCH_HAS_TRACE_CHOICE
native::SnapshotInfo TorchAllocator::snapshot(c10::MempoolId_t pool, bool include_traces)
#else
native::SnapshotInfo TorchAllocator::snapshot(c10::MempoolId_t pool)
#endif
{
#if !SEAM_TORCH_HAS_TRACE_CHOICE
	const bool include_traces = true;
#endif
	native::SnapshotInfo result{};
	result.config_metadata = settings();
	std::vector<size_t> active(devices_.size());
	for (size_t i = 0; i < devices_.size(); i++) {
		std::vector<native::SegmentInfo> segments = devices_[i]->segments(pool);
		for (const auto &segment : segments)
			active[i] += segment.active_size;
		result.segments.insert(result.segments.end(), segments.begin(), segments.end());
	}
	if (own_serves_) {
#if SEAM_TORCH_HAS_TRACE_CHOICE
		const native::SnapshotInfo served = own_->snapshot(pool, false);
#else
		const native::SnapshotInfo served = own_->snapshot(pool);
#endif
		result.segments.insert(result.segments.end(), served.segments.begin(), served.segments.end());
	}
	result.device_traces = include_traces ? history_.entries(devices_.size())
					      : std::vector<std::vector<native::TraceEntry>>(devices_.size());
	result.external_annotations = history_.annotations();
	/* A snapshot is an entry of the next one's history, as with PyTorch's own allocator. */
	for (size_t i = 0; i < devices_.size(); i++)
		devices_[i]->mark_snapshot(active[i]);
	return result;
}

#if SEAM_TORCH_HAS_SEGMENT_SIZES
/* There are no expandable segments. */
std::vector<native::StreamSegmentSize> TorchAllocator::getExpandableSegmentSizes(c10::DeviceIndex /* device */)
{
	return {};
}
#endif

bool TorchAllocator::isHistoryEnabled()
{
	return history_.enabled();
}

#if SEAM_TORCH_HAS_SKIP_ACTIONS
void TorchAllocator::recordHistory(bool enabled, native::CreateContextFn recorder, size_t max_entries,
	native::RecordContext when, bool clear, const std::vector<std::string> &skip)
{
	history_.start(enabled, recorder, max_entries, when, clear, skip);
	for (auto &device : devices_)
		device->follow_from_now();
}
#else
void TorchAllocator::recordHistory(
	bool enabled, native::CreateContextFn recorder, size_t max_entries, native::RecordContext when, bool clear)
{
	history_.start(enabled, recorder, max_entries, when, clear, {});
	for (auto &device : devices_)
		device->follow_from_now();
}
#endif

void TorchAllocator::recordAnnotation(const std::vector<std::pair<std::string, std::string>> &texts)
{
	if (!history_.enabled())
		return;
	c10::DeviceIndex device = 0;
	(void)current(&device);
	history_.mark(device, texts);
}

void TorchAllocator::pushCompileContext(std::string &text)
{
	TorchHistory::push_compile(text);
}

void TorchAllocator::popCompileContext()
{
	TorchHistory::pop_compile();
}

void TorchAllocator::attachOutOfMemoryObserver(native::OutOfMemoryObserver observer)
{
	history_.observe(std::move(observer));
}

void TorchAllocator::attachAllocatorTraceTracker(native::AllocatorTraceTracker tracker)
{
	history_.track(std::move(tracker));
}

#if SEAM_TORCH_HAS_METADATA
void TorchAllocator::setUserMetadata(const std::string &text)
{
	TorchHistory::metadata() = text;
}

std::string TorchAllocator::getUserMetadata()
{
	return TorchHistory::metadata();
}
#endif

#if SEAM_TORCH_HAS_CONTEXT_LOOKUP
TorchContext TorchAllocator::getContextForPointer(const void *ptr)
{
	for (auto &device : devices_) {
		TorchContext context = device->context_of(ptr);
		if (context != nullptr)
			return context;
	}
	return nullptr;
}
#endif

#if SEAM_TORCH_HAS_REJECTIONS
void TorchAllocator::attachOomRejectionObserver(native::OomRejectionObserver observer)
{
	history_.observe_rejections(std::move(observer));
}
#endif

#if SEAM_TORCH_HAS_ANNOTATE
bool TorchAllocator::supportsUserMetadata()
{
	return true;
}

void TorchAllocator::annotateMemory(const void *ptr, const std::string &text)
{
	for (auto &device : devices_) {
		if (device->annotate(ptr, text))
			return;
	}
	TORCH_CHECK(false, "Seam: annotateMemory: no live allocation found at pointer ", ptr);
}
#endif

} /* namespace seam */
