/* class_trackers.cpp: the allocator class: trackers that ask while they are told, as PyTorch's own allocator lets them.
 */
#include "class_test.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <c10/cuda/CUDAStream.h>

using seam::native::RecordContext;
using seam::native::TraceEntry;

namespace
{

/* An entry, and what was answered while it was shown. */
struct Shown {
	TraceEntry::Action action;
	size_t address;
	int64_t live, active, ooms;
	size_t live_in_snapshot;
	bool has_context;
};

std::vector<Shown> shown;
bool asks;

bool is_known(const void *ptr)
{
#if SEAM_TORCH_HAS_CONTEXT_LOOKUP
	return it().getContextForPointer(ptr) != nullptr;
#else
	(void)ptr;
	return true;
#endif
}

size_t live_blocks()
{
	size_t live = 0;
	for (const auto &segment : snapshot_of().segments) {
		for (const auto &block : segment.blocks)
			live += block.allocated;
	}
	return live;
}

/* Asks whatever there is to be asked, of which nothing may hang, and writes down the answers. */
void ask_all(const TraceEntry &entry)
{
	if (!asks)
		return;
	asks = false; /* of its own snapshots it wants to hear nothing */
	const auto stats = it().getDeviceStats(0);
	size_t largest = 0, bytes = 0;
	it().cacheInfo(0, &largest);
	if (entry.action_ == TraceEntry::ALLOC)
		(void)it().getBaseAllocation(reinterpret_cast<void *>(entry.addr_), &bytes);
	(void)it().getPoolUseCount(0, {1, 0});
	shown.push_back({entry.action_, entry.addr_, stats.allocation[0].current, stats.active[0].current,
		stats.num_ooms, live_blocks(),
		is_known(reinterpret_cast<const void *>(entry.addr_)) && it().getMemoryFraction(0) == 1.0});
	asks = true;
}

size_t count_of(TraceEntry::Action action)
{
	size_t count = 0;
	for (const Shown &one : shown)
		count += one.action == action;
	return count;
}

void begin_asking()
{
	shown.clear();
	asks = true;
}

void check_alloc_and_free()
{
	const int64_t before = it().getDeviceStats(0).allocation[0].current;
	begin_asking();
	c10::DataPtr block = it().allocate(3 * MIB);
	ok(shown.size() == 1 && shown[0].action == TraceEntry::ALLOC, "a tracker that asks is told of an allocation");
	ok(shown.size() == 1 && shown[0].live == before + 1 && shown[0].has_context,
		"and finds the block live, with its context");
	ok(shown.size() == 1 && shown[0].live_in_snapshot == static_cast<size_t>(before) + 1, "and in a snapshot");
	block.clear();
	ok(shown.size() == 3 && shown[1].action == TraceEntry::FREE_REQUESTED &&
			shown[2].action == TraceEntry::FREE_COMPLETED,
		"a free is told");
	ok(shown.size() == 3 && shown[1].live == before && shown[2].active == shown[2].live,
		"when the block is not live any more");
	asks = false;
}

/* Several blocks pass at once: each is told, though the first telling asks for the statistics, which looks for what has
 * passed. */
void check_passing()
{
	c10::cuda::CUDAStream other = c10::cuda::getStreamFromExternal(new_stream(), 0);
	std::vector<c10::DataPtr> blocks;
	for (int i = 0; i < 5; i++) {
		blocks.push_back(it().allocate(3 * MIB));
		it().recordStream(blocks.back(), other);
		work_on(blocks.back().get(), 3 * MIB, other.stream());
	}
	begin_asking();
	blocks.clear();
	ok(count_of(TraceEntry::FREE_REQUESTED) == 5 && count_of(TraceEntry::FREE_COMPLETED) == 0,
		"frees that wait are told");
	ok(shown.back().active == shown.back().live + 5, "and the blocks are active");
	ok(cudaDeviceSynchronize() == cudaSuccess, "the device can be waited for");
	it().emptyCache();
	(void)it().getDeviceStats(0);
	ok(count_of(TraceEntry::FREE_COMPLETED) == 5, "what passes is told once each: %zu",
		count_of(TraceEntry::FREE_COMPLETED));
	ok(shown.back().active == shown.back().live, "and is not active then");
	asks = false;
}

/* A block is told to be gone when another one has its memory. */
void check_memory_given_again()
{
	cudaStream_t other = new_stream();
	c10::DataPtr block = it().allocate(3 * MIB);
	const auto address = reinterpret_cast<size_t>(block.get());
	it().recordStream(block, c10::cuda::getStreamFromExternal(other, 0));
	work_on(block.get(), 3 * MIB, other);
	block.clear();
	ok(cudaDeviceSynchronize() == cudaSuccess, "the device can be waited for");
	begin_asking();
	block = it().allocate(3 * MIB);
	ok(reinterpret_cast<size_t>(block.get()) == address && shown.size() == 2 &&
			shown[0].action == TraceEntry::FREE_COMPLETED && shown[1].action == TraceEntry::ALLOC,
		"memory that is given again is gone before");
	ok(shown.size() == 2 && shown[0].live == shown[1].live && shown[0].active == shown[0].live, "and counted once");
	asks = false;
}

void check_shortage()
{
	const int64_t before = it().getDeviceStats(0).num_ooms;
	begin_asking();
	(void)thrown_by<c10::OutOfMemoryError>([] { it().raw_alloc(1024 * 1024 * MIB); });
	ok(shown.size() == 1 && shown[0].action == TraceEntry::OOM && shown[0].ooms == before + 1,
		"running out of memory is counted before it is told");
	asks = false;
}

void check_checkpoint()
{
	it().beginAllocateToPool(0, {1, 0}, [](cudaStream_t) { return true; });
	void *first = it().raw_alloc(3 * MIB), *second = it().raw_alloc(MIB);
	auto state = it().getCheckpointState(0, {1, 0});
	it().raw_delete(first);
	it().raw_delete(second);
	void *later = it().raw_alloc(5 * MIB);
	const int64_t before = it().getDeviceStats(0).allocation[0].current;
	begin_asking();
	auto delta = it().setCheckpointPoolState(0, state);
	ok(shown.size() == 4 && shown[0].address == reinterpret_cast<size_t>(later), "going back is told");
	bool same = true;
	for (const Shown &one : shown)
		same = same && one.live == before + 1 && one.live_in_snapshot == static_cast<size_t>(before) + 1;
	ok(same, "and done before it is told");
	asks = false;
	delta.dataptrs_allocd.clear();
	it().endAllocateToPool(0, {1, 0});
	it().releasePool(0, {1, 0});
}

std::atomic<int> inside;
std::atomic<bool> crossed;
std::thread beside;

/* While a snapshot is told another thread allocates, which must be told behind it. */
void see_alone(const TraceEntry &entry)
{
	crossed = crossed || inside++ != 0;
	if (entry.action_ == TraceEntry::SNAPSHOT && !beside.joinable()) {
		beside = std::thread([] { it().allocate(1000).clear(); });
		for (int i = 0; i < 200 && !crossed; i++)
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	inside--;
}

} /* namespace */

void part_asked()
{
	tap_part = "asked";
	it().attachAllocatorTraceTracker(ask_all);
	record_history(true, gather, 100, RecordContext::ALL);
	check_alloc_and_free();
	check_passing();
	check_memory_given_again();
	check_shortage();
	check_checkpoint();
	it().attachAllocatorTraceTracker(see_alone);
	(void)snapshot_of();
	ok(beside.joinable(), "a tracker is told of a snapshot");
	if (beside.joinable())
		beside.join();
	ok(!crossed, "one thread at a time");
	record_history(false, nullptr, 1, RecordContext::NEVER);
	ok(fakecuda_violations() == 0, "the device has seen nothing wrong: %s", fakecuda_violation_text());
}
