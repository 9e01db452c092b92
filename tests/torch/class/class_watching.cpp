/* class_watching.cpp: the allocator class: statistics, history, snapshots. */
#include "class_test.h"

#include <algorithm>
#include <map>

#include <c10/cuda/CUDAStream.h>

using seam::native::RecordContext;
using seam::native::TraceEntry;

namespace
{

uint64_t reserved()
{
	struct seam_stats stats = {};
	stats.size = sizeof stats;
	stats.version = SEAM_STATS_VERSION;
	ok(seam_stats_get(seam_torch_pool(0), &stats) == SEAM_OK, "the pool has statistics");
	return stats.reserved_bytes;
}

void check_sums(const c10::CachingAllocator::StatArray &stat, const char *name)
{
	ok(stat[0].current == stat[1].current + stat[2].current, "%s: small and large add up", name);
	for (const auto &one : stat)
		ok(one.current >= 0 && one.peak >= one.current && one.allocated >= 0 && one.freed >= 0, "%s is sane",
			name);
}

} /* namespace */

void part_stats()
{
	tap_part = "stats";
	it().emptyCache();
	it().resetAccumulatedStats(0);
	it().resetPeakStats(0);
	const auto before = it().getDeviceStats(0);
	c10::DataPtr small = it().allocate(1000), large = it().allocate(5 * MIB + 100);
	auto now = it().getDeviceStats(0);
	const auto rounded = static_cast<int64_t>(1024 + 5 * MIB + 512),
		   asked = static_cast<int64_t>(1000 + 5 * MIB + 100);
	ok(now.allocation[0].current == before.allocation[0].current + 2 && now.allocation[0].allocated == 2,
		"allocations");
	ok(now.allocation[1].allocated == 1 && now.allocation[2].allocated == 1, "one small, one large");
	ok(now.allocated_bytes[0].current == before.allocated_bytes[0].current + rounded, "bytes, rounded");
	ok(now.requested_bytes[0].current == before.requested_bytes[0].current + asked, "bytes, as asked for");
	ok(now.active_bytes[0].current == before.active_bytes[0].current + rounded, "active bytes");
	ok(static_cast<uint64_t>(now.reserved_bytes[0].current) == reserved(), "reserved bytes are the core's");
	ok(now.segment[0].current > 0 && now.num_device_alloc > 0, "segments are physical chunks");
	ok(now.max_split_size == -1, "nothing is too large to be split");
	for (const auto &[stat, name] :
		std::map<const c10::CachingAllocator::StatArray *, const char *>{{&now.allocation, "allocation"},
			{&now.active, "active"}, {&now.segment, "segment"}, {&now.allocated_bytes, "allocated_bytes"},
			{&now.reserved_bytes, "reserved_bytes"}, {&now.active_bytes, "active_bytes"},
			{&now.requested_bytes, "requested_bytes"}, {&now.inactive_split_bytes, "inactive_split_bytes"}})
		check_sums(*stat, name);
	large.clear();
	now = it().getDeviceStats(0);
	ok(now.allocated_bytes[0].peak >= before.allocated_bytes[0].current + rounded, "the peak stays");
	ok(now.allocated_bytes[2].freed == static_cast<int64_t>(5 * MIB + 512), "what was freed is counted");
	it().resetPeakStats(0);
	it().resetAccumulatedStats(0);
	now = it().getDeviceStats(0);
	ok(now.allocated_bytes[0].peak == now.allocated_bytes[0].current, "peaks can be reset");
	ok(now.reserved_bytes[0].peak == now.reserved_bytes[0].current, "those of the core too");
	ok(now.allocation[0].allocated == 0 && now.allocation[0].freed == 0 && now.num_device_alloc == 0, "sums too");
	small.clear();
	const auto held = reserved();
	it().emptyCache();
	ok(reserved() < held && it().getDeviceStats(0).reserved_bytes[0].freed > 0, "cached memory can be given back");
}

/* What private pools hold, by pool; the segments of a snapshot say the same. */
void part_private_sums()
{
	tap_part = "private sums";
#if SEAM_TORCH_HAS_PRIVATE_SUMS
	constexpr c10::MempoolId_t pool = {0, 7};
	it().resetAccumulatedStats(0);
	ok(it().getDeviceStats(0).reserved_bytes_by_private_pools.count(pool) == 0,
		"a pool that was never there has no figures");
	it().beginAllocateToPool(0, pool, [](cudaStream_t) { return true; });
	c10::DataPtr large = it().allocate(50 * MIB), small = it().allocate(1000);
	it().endAllocateToPool(0, pool);
	c10::DataPtr outside = it().allocate(70 * MIB);
	const auto shown = [&] {
		int64_t bytes = 0;
		for (const auto &segment : snapshot_of(pool).segments)
			bytes += static_cast<int64_t>(segment.total_size);
		return bytes;
	};
	auto sums = it().getDeviceStats(0).reserved_bytes_by_private_pools[pool];
	const int64_t most = sums[0].current;
	ok(most == shown() && most >= static_cast<int64_t>(50 * MIB), "it has what it holds: %lld",
		static_cast<long long>(most));
	ok(sums[0].current == sums[1].current + sums[2].current && sums[1].current > 0, "small and large add up");
	ok(sums[0].allocated == most && sums[0].peak == most && sums[0].freed == 0, "that came");
	large.clear();
	small.clear();
	it().emptyCache(pool);
	it().releasePool(0, pool);
	sums = it().getDeviceStats(0).reserved_bytes_by_private_pools[pool];
	ok(sums[0].current == 0 && sums[0].peak == most && sums[0].freed == most,
		"and went, which is told when the pool is gone");
	it().resetPeakStats(0);
	ok(it().getDeviceStats(0).reserved_bytes_by_private_pools[pool][0].peak == 0, "peaks can be reset");
	it().markCaptureBegin(0);
	it().markCaptureEnd(0);
	ok(it().allocate(1000).get() != nullptr, "captures need not be told of: the core asks for them");
#endif
}

namespace
{

std::vector<TraceEntry> entries()
{
	return snapshot_of().device_traces.at(0);
}

std::string actions()
{
	static constexpr const char *names[] = {"alloc", "free_requested", "free_completed", "segment_alloc",
		"segment_free", "segment_map", "segment_unmap", "snapshot", "oom", "annotate"};
	std::string text;
	for (const auto &entry : entries())
		text += std::string(names[entry.action_]) + " ";
	return text;
}

uint64_t sum_of(TraceEntry::Action action, bool contexts)
{
	uint64_t bytes = 0;
	for (const auto &entry : entries()) {
		if (entry.action_ != action)
			continue;
		bytes += entry.size_;
		ok((entry.context_ != nullptr) == contexts,
			"a segment's context is its request's, or who emptied the cache");
	}
	return bytes;
}

/* Chunks come before the block that needed them, and go when the cache is emptied. */
void check_chunks()
{
	it().emptyCache();
	it().resetPeakStats(0);
	it().resetAccumulatedStats(0);
	record_history(true, gather, 1000, RecordContext::ALL);
	const uint64_t before = reserved();
	c10::DataPtr block = it().allocate(70 * MIB);
	const uint64_t most = reserved();
	const auto seen = entries();
	size_t at = 0;
	while (at < seen.size() && seen[at].action_ == TraceEntry::SEGMENT_MAP)
		at++;
	ok(at > 0 && seen.at(at).action_ == TraceEntry::ALLOC, "memory comes before its block: %zu chunks", at);
	ok(sum_of(TraceEntry::SEGMENT_MAP, true) == most - before, "as much as is reserved");
	ok(seen.at(0).addr_ == reinterpret_cast<size_t>(block.get()) && seen.at(0).device_ == 0, "with its address");
	block.clear();
	it().emptyCache();
	ok(sum_of(TraceEntry::SEGMENT_UNMAP, true) == most - reserved(), "and goes, when the cache is emptied");
	const auto stats = it().getDeviceStats(0);
	ok(static_cast<uint64_t>(stats.reserved_bytes[0].peak) == most, "nobody looked, and the peak is known");
	ok(static_cast<uint64_t>(stats.reserved_bytes[0].allocated) == most - before &&
			static_cast<uint64_t>(stats.reserved_bytes[0].freed) == most - reserved(),
		"and what came and went");
	ok(stats.segment[0].peak == stats.segment[0].current + static_cast<int64_t>(at) &&
			stats.segment[0].freed == static_cast<int64_t>(at),
		"segments too");
	check_sums(stats.segment, "segment");
	record_history(false, nullptr, 1, RecordContext::NEVER);
	it().allocate(70 * MIB).clear();
	it().emptyCache();
	record_history(true, gather, 1000, RecordContext::ALL);
	const std::string order = actions();
	ok(order.empty(), "what was before is not told: %s", order.c_str());
	it().allocate(1000).clear();
}

void check_entries()
{
	record_history(true, gather, 100, RecordContext::ALL);
	ok(it().isHistoryEnabled(), "history is recorded");
	std::string compile = "graph 7";
	it().pushCompileContext(compile);
	c10::DataPtr block = it().allocate(1000);
	it().popCompileContext();
	void *where = block.get();
	block.clear();
	const auto seen = entries();
	const std::string order = actions();
	ok(order == "alloc free_requested free_completed snapshot ", "entries come in order: %s", order.c_str());
	ok(seen.at(0).addr_ == reinterpret_cast<size_t>(where) && seen.at(0).size_ == 1000 && seen.at(0).device_ == 0,
		"with address and size as asked");
	ok(seen.at(1).addr_ == seen.at(0).addr_ && seen.at(1).size_ == 1000, "the free like its allocation");
	ok(seen.at(0).context_ != nullptr && seen.at(1).context_ != nullptr && gathered >= 2, "with contexts");
	ok(seen.at(0).compile_context_ == "graph 7" && seen.at(1).compile_context_.empty(), "and what was compiled");
	ok(seen.at(0).time_.t_ > 1500000000000000 && seen.at(1).time_.t_ >= seen.at(0).time_.t_,
		"and times in microseconds");
	it().recordAnnotation({{"stage", "START"}, {"name", "step"}});
	const auto annotations = snapshot_of().external_annotations;
	ok(annotations.size() == 1 && annotations[0].metadata_.at("name") == "step" && annotations[0].device_ == 0,
		"annotations are kept");
}

void check_settings()
{
	record_history(true, gather, 3, RecordContext::ALL);
	for (int i = 0; i < 5; i++)
		it().allocate(1000 + 512 * static_cast<size_t>(i));
	const auto last = entries();
	ok(last.size() == 3 && last.at(0).action_ == TraceEntry::ALLOC && last.at(0).size_ == 1000 + 4 * 512,
		"the ring holds the newest");
	gathered = 0;
	record_history(true, gather, 100, RecordContext::STATE);
	it().allocate(1000);
	ok(gathered == 1 && entries().at(0).context_ == nullptr,
		"contexts of live blocks only, if that is all that is asked");
#if SEAM_TORCH_HAS_SKIP_ACTIONS
	record_history(true, gather, 100, RecordContext::ALL, {"free_requested", "snapshot"});
	it().allocate(1000);
	ok(actions() == "alloc free_completed ", "actions can be skipped");
	ok(says(thrown_by([] { record_history(true, gather, 1, RecordContext::ALL, {"nonsense"}); }), "nonsense"),
		"unknown ones cannot");
#endif
	ok(says(thrown_by([] { record_history(true, nullptr, 1, RecordContext::ALL); }), "recorder"),
		"contexts need a recorder");
	record_history(false, nullptr, 1, RecordContext::NEVER);
	it().allocate(1000);
	ok(!it().isHistoryEnabled() && entries().empty(), "history can be turned off");
}

void check_texts()
{
#if SEAM_TORCH_HAS_METADATA
	record_history(true, gather, 100, RecordContext::ALL);
	it().setUserMetadata("epoch 3");
	c10::DataPtr block = it().allocate(1000);
	ok(it().getUserMetadata() == "epoch 3" && entries().at(0).user_metadata_ == "epoch 3",
		"a program's text goes with its entries");
	it().setUserMetadata("");
#if SEAM_TORCH_HAS_CONTEXT_LOOKUP
	ok(it().getContextForPointer(block.get()) != nullptr && it().getContextForPointer(&block) == nullptr,
		"a block's context is found");
#endif
#if SEAM_TORCH_HAS_ANNOTATE
	it().annotateMemory(block.get(), "weights");
	const auto seen = entries();
	const auto &entry = seen.at(2);
	ok(it().supportsUserMetadata() && entry.action_ == TraceEntry::ANNOTATE && entry.user_metadata_ == "weights" &&
			entry.addr_ == reinterpret_cast<size_t>(block.get()),
		"a live block can be annotated");
	void *gone = block.get();
	block.clear();
	for (void *other : {gone, static_cast<void *>(nullptr)})
		ok(says(thrown_by([&] { it().annotateMemory(other, "weights"); }), "no live allocation found"),
			"what is no live block cannot");
#endif
	block.clear();
	record_history(false, nullptr, 1, RecordContext::NEVER);
#endif
}

} /* namespace */

void part_history()
{
	tap_part = "history";
	check_chunks();
	check_entries();
	check_settings();
	check_texts();
}

/* With FAKECUDA_DEVICES=2. */
/* Memory of the current device, which is not the first: through a mapping as another process would have it. */
static void check_shared_of_second()
{
	char sent[] = "of the second device", got[sizeof sent] = "";
	c10::DataPtr block = it().allocate(3 * MIB);
	ok(block.device().index() == 1, "a block is of the current device");
	const auto handle = it().shareIpcHandle(block.get());
	std::shared_ptr<void> opened = it().getIpcDevPtr(handle.handle);
	char *there = static_cast<char *>(opened.get()) + handle.offset;
	cudaPointerAttributes attributes{};
	ok(there != block.get() && cudaPointerGetAttributes(&attributes, there) == cudaSuccess &&
			attributes.device == 1,
		"what is shared of it is that device's");
	ok(cudaMemcpy(block.get(), sent, sizeof sent, cudaMemcpyHostToDevice) == cudaSuccess &&
			cudaMemcpy(got, there, sizeof sent, cudaMemcpyDeviceToHost) == cudaSuccess &&
			strcmp(got, sent) == 0,
		"and the same memory");
}

void part_two()
{
	tap_part = "two devices";
	void *blocks[2] = {};
	for (int device = 0; device < 2; device++) {
		ok(cudaSetDevice(device) == cudaSuccess, "device %d is there", device);
		blocks[device] = it().raw_alloc_with_stream(1000, nullptr);
		ok(blocks[device] != nullptr, "and has memory");
	}
	check_shared_of_second();
	record_history(true, gather, 100, RecordContext::ALL);
	gathered = 0;
	it().raw_delete(blocks[0]);
	it().raw_delete(blocks[1]);
	ok(gathered == 2, "a free's context is gathered once, on whatever device it is: %d", gathered);
	const auto traces = snapshot_of().device_traces;
	ok(traces.size() == 2 && traces[1].size() == 2 && traces[1][0].context_ != nullptr,
		"and is in the history of its device");
	record_history(false, nullptr, 1, RecordContext::NEVER);
}

void part_observed()
{
	static std::vector<TraceEntry> seen;
	tap_part = "observed";
	it().attachAllocatorTraceTracker([](const TraceEntry &entry) { seen.push_back(entry); });
	c10::DataPtr block = it().allocate(1000);
	cudaStream_t other = new_stream();
	ok(seen.size() == 1 && seen[0].action_ == TraceEntry::ALLOC, "a tracker sees what happens, recorded or not");
	it().recordStream(block, c10::cuda::getStreamFromExternal(other, 0));
	work_on(block.get(), 1000, other);
	block.clear();
	ok(seen.size() == 2 && seen[1].action_ == TraceEntry::FREE_REQUESTED,
		"a free that another stream holds up is requested");
	ok(it().getDeviceStats(0).active[0].current == it().getDeviceStats(0).allocation[0].current + 1 &&
			seen.size() == 2,
		"as long as it takes");
	it().resetPeakStats(0);
	it().allocate(5000).clear();
	const auto leaving = it().getDeviceStats(0);
	ok(leaving.active_bytes[1].peak == leaving.allocated_bytes[1].peak + 1024,
		"active memory has peaks of its own then");
	ok(leaving.active[0].freed == leaving.allocation[0].freed - 1, "and is not freed");
	seen.erase(seen.begin() + 2, seen.end());
	record_history(true, gather, 100, RecordContext::NEVER);
	it().allocate(200 * MIB).clear();
	const size_t shown = seen.size();
	const std::string order = actions();
	ok(says(order, "segment_map alloc free_requested") && shown == 5 && seen[2].action_ == TraceEntry::ALLOC,
		"of segments a tracker is not told: %s", order.c_str());
	record_history(false, nullptr, 1, RecordContext::NEVER);
	seen.erase(seen.begin() + 2, seen.end());
	ok(cudaDeviceSynchronize() == cudaSuccess, "the device can be waited for");
	it().emptyCache();
	(void)it().getDeviceStats(0);
	ok(seen.size() == 3 && seen[2].action_ == TraceEntry::FREE_COMPLETED && seen[2].size_ == 1000,
		"and completed then");
	(void)thrown_by<c10::OutOfMemoryError>([] { it().raw_alloc(1024 * 1024 * MIB); });
	ok(seen.size() == 4 && seen[3].action_ == TraceEntry::OOM && seen[3].size_ == 1024 * 1024 * MIB,
		"so is running out of memory");
}

namespace
{

/* The snapshot as a Python literal, with the keys and texts that PyTorch gives it. */
void write_blocks(FILE *file, const seam::native::SegmentInfo &segment)
{
	size_t address = segment.address;
	for (const auto &block : segment.blocks) {
		fprintf(file, "{'address': %zu, 'size': %zu, 'requested_size': %zu, 'state': '%s', 'frames': []},",
			address, block.size, block.requested_size,
			block.allocated        ? "active_allocated"
				: block.active ? "active_pending_free"
					       : "inactive");
		address += block.size;
	}
}

void write_snapshot(FILE *file, const seam::native::SnapshotInfo &snapshot)
{
	static constexpr const char *names[] = {"alloc", "free_requested", "free_completed", "segment_alloc",
		"segment_free", "segment_map", "segment_unmap", "snapshot", "oom", "annotate"};
	fprintf(file, "{'segments': [");
	for (const auto &segment : snapshot.segments) {
		fprintf(file,
			"{'device': %d, 'address': %zu, 'total_size': %zu, 'allocated_size': %zu, 'active_size': %zu, 'requested_size': %zu, "
			"'stream': %zu, 'segment_type': '%s', 'segment_pool_id': (%llu, %llu), 'is_expandable': False, 'frames': [], 'blocks': [",
			static_cast<int>(segment.device), segment.address, segment.total_size, segment.allocated_size,
			segment.active_size, segment.requested_size, reinterpret_cast<size_t>(segment.stream),
			segment.is_large ? "large" : "small", segment.owner_private_pool_id.first,
			segment.owner_private_pool_id.second);
		write_blocks(file, segment);
		fprintf(file, "]},\n");
	}
	fprintf(file, "], 'device_traces': [[");
	for (const auto &entry : snapshot.device_traces.at(0))
		fprintf(file,
			"{'action': '%s', '%s': %zu, 'size': %zu, 'stream': %zu, 'time_us': %lld, 'frames': []},\n",
			names[entry.action_], entry.action_ == TraceEntry::OOM ? "device_free" : "addr", entry.addr_,
			entry.size_, reinterpret_cast<size_t>(entry.stream_), static_cast<long long>(entry.time_.t_));
	fprintf(file, "]], 'allocator_settings': {}, 'external_annotations': []}\n");
}

} /* namespace */

void part_snapshot(const char *path)
{
	tap_part = "snapshot";
	it().emptyCache();
	record_history(true, gather, 1000, RecordContext::ALL);
	std::vector<c10::DataPtr> blocks;
	for (size_t i = 0; i < 40; i++)
		blocks.push_back(it().allocate((i % 3 == 0 ? 600 : 3 * MIB) * (i % 7 + 1)));
	for (size_t i = 0; i < 40; i += 2)
		blocks[i].clear();
	c10::DataPtr stitched = it().allocate(90 * MIB);
	const auto snapshot = snapshot_of();
	size_t total = 0, live = 0, contexts = 0;
	uint64_t allocated = 0;
	bool sums = true, sorted = true;
	for (size_t i = 0; i < snapshot.segments.size(); i++) {
		const auto &segment = snapshot.segments[i];
		size_t bytes = 0;
		for (const auto &block : segment.blocks) {
			bytes += block.size;
			live += block.allocated;
			contexts += block.allocated && block.context_when_allocated != nullptr;
		}
		sums = sums && bytes == segment.total_size;
		sorted = sorted &&
			(i == 0 ||
				snapshot.segments[i - 1].address + snapshot.segments[i - 1].total_size <=
					segment.address);
		total += segment.total_size;
		allocated += segment.allocated_size;
	}
	const auto stats = it().getDeviceStats(0);
	ok(sums && sorted, "blocks fill their segments, which do not overlap");
	ok(total == reserved(), "segments are all the memory there is, once: %zu of %llu", total,
		static_cast<unsigned long long>(reserved()));
	ok(live == static_cast<size_t>(stats.allocation[0].current) &&
			allocated == static_cast<uint64_t>(stats.allocated_bytes[0].current),
		"every live block is there");
	ok(contexts >= 21, "with the context that it was made in");
	ok(snapshot.config_metadata.roundup_power2_divisions.size() == 16, "settings have what PyTorch reads");
#if SEAM_TORCH_HAS_PINNED_SIZES
	ok(snapshot.config_metadata.max_cached_size == SIZE_MAX &&
			snapshot.config_metadata.max_round_threshold == SIZE_MAX,
		"pinned memory has the limits that PyTorch gives it");
#endif
	FILE *file = path != nullptr ? fopen(path, "w") : nullptr;
	if (file != nullptr) {
		write_snapshot(file, snapshot);
		(void)fclose(file);
	}
	ok(path == nullptr || file != nullptr, "the snapshot is written");
	record_history(false, nullptr, 1, RecordContext::NEVER);
}
