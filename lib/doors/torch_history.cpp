/* torch_history.cpp: trace entries, where the program was when they were made, and who wants to see them. */
#include "torch_history.h"

#include <string_view>

namespace seam
{

namespace
{

thread_local std::vector<std::string> compiling;
thread_local std::string user_metadata;

constexpr std::pair<std::string_view, native::TraceEntry::Action> action_names[] = {
	{"alloc", native::TraceEntry::ALLOC},
	{"free_requested", native::TraceEntry::FREE_REQUESTED},
	{"free_completed", native::TraceEntry::FREE_COMPLETED},
	{"segment_alloc", native::TraceEntry::SEGMENT_ALLOC},
	{"segment_free", native::TraceEntry::SEGMENT_FREE},
	{"segment_map", native::TraceEntry::SEGMENT_MAP},
	{"segment_unmap", native::TraceEntry::SEGMENT_UNMAP},
	{"snapshot", native::TraceEntry::SNAPSHOT},
	{"oom", native::TraceEntry::OOM},
#if SEAM_TORCH_HAS_ANNOTATE
	{"annotate", native::TraceEntry::ANNOTATE},
#endif
};

uint64_t actions_of(const std::vector<std::string> &names)
{
	uint64_t actions = 0;
	for (const std::string &name : names) {
		bool known = false;
		for (const auto &[text, action] : action_names) {
			if (name == text) {
				actions |= UINT64_C(1) << action;
				known = true;
			}
		}
		TORCH_CHECK(known, "skip_actions: no such action: ", name);
	}
	return actions;
}

native::TraceEntry make_entry(TorchHistory::Action action, c10::DeviceIndex device, size_t address, size_t bytes,
	cudaStream_t stream, c10::MempoolId_t pool, TorchContext context, const std::string &text)
{
	std::string compile = compiling.empty() ? std::string() : compiling.back();
#if SEAM_TORCH_HAS_METADATA
	return {action, device, address, bytes, stream, pool, c10::getApproximateTime(), std::move(context),
		std::move(compile), text};
#else
	(void)text;
	return {action, device, address, bytes, stream, pool, c10::getApproximateTime(), std::move(context),
		std::move(compile)};
#endif
}

} /* namespace */

void TorchHistory::start(bool enabled, native::CreateContextFn recorder, size_t max_entries, native::RecordContext when,
	bool clear, const std::vector<std::string> &skip)
{
	TORCH_CHECK(when == native::RecordContext::NEVER || recorder != nullptr,
		"contexts cannot be recorded without a recorder");
	const uint64_t skipped = actions_of(skip);
	std::lock_guard<std::mutex> guard(lock_);
	skipped_ = skipped;
	max_entries_ = max_entries;
	for (auto &ring : rings_)
		ring.limit(max_entries);
	annotations_.limit(max_entries);
	if (clear || !enabled) {
		for (auto &ring : rings_)
			ring.clear();
		annotations_.clear();
	}
	recorder_ = recorder;
	when_ = enabled ? when : native::RecordContext::NEVER;
	enabled_ = enabled;
	watched_ = enabled || !trackers_.empty();
}

void TorchHistory::track(native::AllocatorTraceTracker tracker)
{
	std::lock_guard<std::mutex> guard(lock_);
	trackers_.push_back(std::move(tracker));
	watched_ = true;
}

void TorchHistory::observe(native::OutOfMemoryObserver observer)
{
	std::lock_guard<std::mutex> guard(lock_);
	observers_.push_back(std::move(observer));
}

std::vector<native::OutOfMemoryObserver> TorchHistory::observers() const
{
	std::lock_guard<std::mutex> guard(lock_);
	return observers_;
}

void TorchHistory::observe_rejections(TorchRejectionObserver observer)
{
	std::lock_guard<std::mutex> guard(lock_);
	rejection_observers_.push_back(std::move(observer));
}

std::vector<TorchRejectionObserver> TorchHistory::rejection_observers() const
{
	std::lock_guard<std::mutex> guard(lock_);
	return rejection_observers_;
}

TorchContext TorchHistory::recorded_context() const
{
	native::CreateContextFn recorder = recorder_.load();
	return recorder != nullptr ? recorder() : nullptr;
}

/* In the ring, if entries are recorded. False: nobody wants to know of such actions. With `lock_`. */
bool TorchHistory::keep(c10::DeviceIndex device, const native::TraceEntry &entry)
{
	if ((skipped_ >> entry.action_ & 1) != 0)
		return false;
	if (!enabled())
		return true;
	while (rings_.size() <= static_cast<size_t>(device)) {
		rings_.emplace_back();
		rings_.back().limit(max_entries_);
	}
	rings_[static_cast<size_t>(device)].add(entry);
	return true;
}

/* With the device's lock. */
void TorchHistory::show(c10::DeviceIndex device, const native::TraceEntry &entry)
{
	std::unique_lock<std::mutex> guard(lock_);
	if (!keep(device, entry))
		return;
	const std::vector<native::AllocatorTraceTracker> trackers = trackers_;
	guard.unlock();
	for (const auto &tracker : trackers)
		tracker(entry);
}

void TorchHistory::add(Action action, c10::DeviceIndex device, const void *address, size_t bytes, cudaStream_t stream,
	c10::MempoolId_t pool, TorchContext context)
{
	if (!watched())
		return;
	if (when_.load(std::memory_order_relaxed) < native::RecordContext::ALLOC)
		context = nullptr;
	show(device,
		make_entry(action, device, reinterpret_cast<size_t>(address), bytes, stream, pool, std::move(context),
			user_metadata));
}

void TorchHistory::add_segment(
	bool made, c10::DeviceIndex device, uint64_t address, size_t bytes, cudaStream_t stream, TorchContext context)
{
	if (when_.load(std::memory_order_relaxed) < native::RecordContext::ALLOC)
		context = nullptr;
	const Action action = made ? native::TraceEntry::SEGMENT_MAP : native::TraceEntry::SEGMENT_UNMAP;
	const auto entry =
		make_entry(action, device, address, bytes, stream, {0, 0}, std::move(context), user_metadata);
	std::lock_guard<std::mutex> guard(lock_);
	(void)keep(device, entry);
}

void TorchHistory::annotate(c10::DeviceIndex device, const void *address, size_t bytes, cudaStream_t stream,
	c10::MempoolId_t pool, const std::string &text)
{
#if SEAM_TORCH_HAS_ANNOTATE
	if (watched())
		show(device,
			make_entry(native::TraceEntry::ANNOTATE, device, reinterpret_cast<size_t>(address), bytes,
				stream, pool, nullptr, text));
#else
	(void)device, (void)address, (void)bytes, (void)stream, (void)pool, (void)text;
#endif
}

void TorchHistory::mark(c10::DeviceIndex device, const std::vector<std::pair<std::string, std::string>> &texts)
{
	if (!enabled())
		return;
	TorchAnnotation annotation(device, c10::getApproximateTime());
	for (const auto &[key, text] : texts)
		annotation.recordUserMetadata(key, text);
	std::lock_guard<std::mutex> guard(lock_);
	annotations_.add(std::move(annotation));
}

std::vector<std::vector<native::TraceEntry>> TorchHistory::entries(size_t devices)
{
	auto to_ns = clock_.makeConverter();
	std::vector<std::vector<native::TraceEntry>> result(devices);
	std::lock_guard<std::mutex> guard(lock_);
	for (size_t i = 0; i < devices && i < rings_.size(); i++) {
		result[i] = rings_[i].in_order();
		for (native::TraceEntry &entry : result[i])
			entry.time_.t_ = to_ns(entry.time_.approx_t_) / 1000;
	}
	return result;
}

std::vector<TorchAnnotation> TorchHistory::annotations()
{
	auto to_ns = clock_.makeConverter();
	std::lock_guard<std::mutex> guard(lock_);
	std::vector<TorchAnnotation> result = annotations_.in_order();
	for (TorchAnnotation &annotation : result)
		annotation.time_.t_ = to_ns(annotation.time_.approx_t_) / 1000;
	return result;
}

void TorchHistory::push_compile(const std::string &text)
{
	compiling.push_back(text);
}

void TorchHistory::pop_compile()
{
	if (!compiling.empty())
		compiling.pop_back();
}

std::string &TorchHistory::metadata()
{
	return user_metadata;
}

} /* namespace seam */
