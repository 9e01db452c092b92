/* torch_history.h: what torch.cuda.memory._record_memory_history() asks for: rings of trace entries, annotations, and
 * the trackers that want to see entries as they are made.
 *
 * One for the process. Not here: what blocks are live (torch_device.h), snapshots (torch_physical.cpp).
 *
 * Locks: `lock` guards the rings and the settings; it is taken under a device's lock and nothing is called under it.
 * Trackers are called under the lock of the entry's device, as PyTorch promises them, and they must not take Python's
 * lock. The context recorder may take it, so gather() is called with no lock held.
 */
#ifndef SEAM_TORCH_HISTORY_H
#define SEAM_TORCH_HISTORY_H

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "torch_versions.h"

namespace seam
{

/* The newest `limit` entries in order. */
template <typename Entry> class TorchRing
{
public:
	void limit(size_t entries)
	{
		limit_ = entries > 0 ? entries : 1;
		if (entries_.size() > limit_)
			clear();
	}

	void clear()
	{
		entries_.clear();
		oldest_ = 0;
	}

	bool empty() const
	{
		return entries_.empty();
	}

	void add(Entry entry)
	{
		if (entries_.size() < limit_) {
			entries_.push_back(std::move(entry));
		} else {
			entries_[oldest_] = std::move(entry);
			oldest_ = (oldest_ + 1) % limit_;
		}
	}

	std::vector<Entry> in_order() const
	{
		std::vector<Entry> result;
		result.reserve(entries_.size());
		for (size_t i = 0; i < entries_.size(); i++)
			result.push_back(entries_[(oldest_ + i) % entries_.size()]);
		return result;
	}

private:
	std::vector<Entry> entries_;
	size_t limit_ = 1;
	size_t oldest_ = 0; /* 0 until the ring is full */
};

class TorchHistory
{
public:
	using Action = native::TraceEntry::Action;

	void start(bool enabled, native::CreateContextFn recorder, size_t max_entries, native::RecordContext when,
		bool clear, const std::vector<std::string> &skip);
	bool enabled() const
	{
		return enabled_.load(std::memory_order_relaxed);
	}
	void track(native::AllocatorTraceTracker tracker);
	void observe(native::OutOfMemoryObserver observer);
	std::vector<native::OutOfMemoryObserver> observers() const;
	void observe_rejections(TorchRejectionObserver observer);
	std::vector<TorchRejectionObserver> rejection_observers() const;

	/* Whether anybody wants to see entries; add() may be left out while not. */
	bool watched() const
	{
		return watched_.load(std::memory_order_relaxed);
	}

	/* Where the program is, if that is to be known for what happens at this level. Without any lock. */
	TorchContext gather(native::RecordContext level) const
	{
		return __builtin_expect(when_.load(std::memory_order_relaxed) < level, 1) ? nullptr
											  : recorded_context();
	}

	/* Adds an entry and shows it to the trackers. With the device's lock. */
	void add(Action action, c10::DeviceIndex device, const void *address, size_t bytes, cudaStream_t stream,
		c10::MempoolId_t pool, TorchContext context);

	/* A chunk of physical memory came or went. Not shown to trackers: NCCL's would register memory there, which is
	 * one of several places where it is mapped, and moves. With the device's lock. */
	void add_segment(bool made, c10::DeviceIndex device, uint64_t address, size_t bytes, cudaStream_t stream,
		TorchContext context);

	/* add() with a text of its own for this entry (annotateMemory). */
	void annotate(c10::DeviceIndex device, const void *address, size_t bytes, cudaStream_t stream,
		c10::MempoolId_t pool, const std::string &text);

	void mark(c10::DeviceIndex device, const std::vector<std::pair<std::string, std::string>> &texts);

	/* What is recorded, in order, with times in microseconds since 1970. */
	std::vector<std::vector<native::TraceEntry>> entries(size_t devices);
	std::vector<TorchAnnotation> annotations();

	/* Of the calling thread. */
	static void push_compile(const std::string &text);
	static void pop_compile();
	static std::string &metadata();

private:
	TorchContext recorded_context() const;
	void show(c10::DeviceIndex device, const native::TraceEntry &entry);
	bool keep(c10::DeviceIndex device, const native::TraceEntry &entry);

	mutable std::mutex lock_;
	std::atomic<bool> enabled_{false};
	std::atomic<bool> watched_{false}; /* enabled, or there are trackers */
	std::atomic<native::RecordContext> when_{native::RecordContext::NEVER};
	std::atomic<native::CreateContextFn> recorder_{nullptr};
	uint64_t skipped_ = 0; /* bit 1 << action */
	size_t max_entries_ = 1;
	std::vector<TorchRing<native::TraceEntry>> rings_; /* by device */
	TorchRing<TorchAnnotation> annotations_;
	std::vector<native::AllocatorTraceTracker> trackers_;
	std::vector<native::OutOfMemoryObserver> observers_;      /* called with no lock held */
	std::vector<TorchRejectionObserver> rejection_observers_; /* likewise */
	c10::ApproximateClockToUnixTimeConverter clock_;
};

} /* namespace seam */

#endif
