/* torch_host_stats.cpp: what PyTorch counts and records of pinned memory. See torch_host.h. */
#include "torch_host.h"

namespace seam
{

namespace
{

uint64_t least(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

void add_pool(struct seam_pool *pool, TorchHostTotals *totals)
{
	struct seam_host_stats stats = {};
	stats.size = sizeof stats;
	stats.version = SEAM_HOST_STATS_VERSION;
	uint64_t sizes[64] = {};
	if (seam_host_stats_get(pool, &stats) != SEAM_OK || seam_host_sizes(pool, sizes, 64) != SEAM_OK)
		return;
	struct seam_host_stats &now = totals->now;
	now.held_blocks += stats.held_blocks;
	now.held_blocks_peak += stats.held_blocks_peak;
	now.held_bytes += stats.held_bytes;
	now.held_bytes_peak += stats.held_bytes_peak;
	now.reserved_bytes += stats.reserved_bytes;
	now.reserved_bytes_peak += stats.reserved_bytes_peak;
	now.segments += stats.segments;
	now.segments_peak += stats.segments_peak;
	now.alloc_ns_least = least(now.alloc_ns_least, stats.alloc_ns_least);
	now.alloc_ns_most = std::max(now.alloc_ns_most, stats.alloc_ns_most);
	now.free_ns_least = least(now.free_ns_least, stats.free_ns_least);
	now.free_ns_most = std::max(now.free_ns_most, stats.free_ns_most);
	totals->allocs += stats.allocs;
	totals->alloc_bytes += stats.alloc_bytes;
	totals->parts += stats.allocs - stats.held_blocks;
	totals->part_bytes += stats.alloc_bytes - stats.held_bytes;
	totals->grows += stats.grows;
	totals->grown_bytes += stats.grown_bytes;
	totals->shrinks += stats.shrinks;
	totals->shrunk_bytes += stats.grown_bytes - stats.reserved_bytes;
	totals->alloc_ns += stats.alloc_ns;
	totals->alloc_calls += stats.alloc_calls;
	totals->free_ns += stats.free_ns;
	totals->free_calls += stats.free_calls;
	for (size_t i = 0; i < 64; i++)
		totals->sizes[i] += sizes[i];
}

c10::CachingAllocator::Stat stat(uint64_t current, uint64_t peak, uint64_t came, uint64_t went)
{
	c10::CachingAllocator::Stat made;
	made.current = static_cast<int64_t>(current);
	made.peak = static_cast<int64_t>(peak);
	made.allocated = static_cast<int64_t>(came);
	made.freed = static_cast<int64_t>(went);
	return made;
}

/* PyTorch counts microseconds. */
c10::CachingAllocator::DurationStat duration(uint64_t total_ns, uint64_t calls, uint64_t least_ns, uint64_t most_ns)
{
	c10::CachingAllocator::DurationStat made;
	made.total = static_cast<int64_t>(total_ns / 1000);
	made.count = static_cast<int64_t>(calls);
	made.min = static_cast<int64_t>(least_ns / 1000);
	made.max = static_cast<int64_t>(most_ns / 1000);
	return made;
}

} /* namespace */

/* Nothing is at hand. */
TorchHostTotals TorchHost::totals() const
{
	TorchHostTotals totals;
	std::lock_guard<std::mutex> guard(lock_);
	each_pool([&totals](struct seam_pool *pool) { add_pool(pool, &totals); });
	/* Blocks that were given and came back without the core. */
	const uint64_t taken = at_hand_.taken(), taken_bytes = at_hand_.taken_bytes();
	totals.allocs += taken;
	totals.parts += taken;
	totals.alloc_bytes += taken_bytes;
	totals.part_bytes += taken_bytes;
	/* What private pools may give again is active no more than PyTorch's own. */
	for (const auto &[id, kept] : privates_) {
		for (const auto &[bytes, block] : kept.unused) {
			totals.now.held_blocks--;
			totals.now.held_bytes -= bytes;
			totals.parts++;
			totals.part_bytes += bytes;
		}
	}
	return totals;
}

at::HostStats TorchHost::get_stats()
{
	flush();
	const TorchHostTotals all = totals();
	const struct seam_host_stats &now = all.now;
	std::lock_guard<std::mutex> guard(lock_);
	const TorchHostBefore &before = before_;
	const auto requests =
		stat(now.held_blocks, now.held_blocks_peak, all.allocs - before.allocs, all.parts - before.parts);
	const auto bytes = stat(now.held_bytes, now.held_bytes_peak, all.alloc_bytes - before.alloc_bytes,
		all.part_bytes - before.part_bytes);
	const auto segments =
		stat(now.segments, now.segments_peak, all.grows - before.grows, all.shrinks - before.shrinks);
	const auto reserved = stat(now.reserved_bytes, now.reserved_bytes_peak, all.grown_bytes - before.grown_bytes,
		all.shrunk_bytes - before.shrunk_bytes);
	at::HostStats stats;
#if SEAM_TORCH_HAS_HOST_REQUESTS
	stats.active_requests = requests;
	stats.active_bytes = bytes;
	stats.allocations = segments;
	stats.allocated_bytes = reserved;
	for (size_t i = 0; i < 64; i++)
		stats.bucket_allocation[i] = static_cast<int64_t>(all.sizes[i] - before.sizes[i]);
#else
	stats.allocation = requests;
	stats.segment = segments;
	stats.allocated_bytes = bytes;
	stats.reserved_bytes = reserved;
#endif
	stats.host_alloc_time = duration(all.alloc_ns - before.alloc_ns, all.alloc_calls - before.alloc_calls,
		now.alloc_ns_least, now.alloc_ns_most);
	stats.host_free_time = duration(
		all.free_ns - before.free_ns, all.free_calls - before.free_calls, now.free_ns_least, now.free_ns_most);
	stats.num_host_alloc = static_cast<int64_t>(all.grows - before.grows);
	stats.num_host_free = static_cast<int64_t>(all.shrinks - before.shrinks);
	return stats;
}

void TorchHost::reset_accumulated_stats()
{
	flush();
	const TorchHostBefore all = totals();
	std::lock_guard<std::mutex> guard(lock_);
	before_ = all;
}

void TorchHost::reset_peak_stats()
{
	flush();
	each_pool(seam_host_reset_peaks);
}

#if SEAM_TORCH_HAS_HOST_HISTORY

namespace
{

/* Every block of every pool, in order of address for each pool. */
std::vector<struct seam_block_info> blocks_of_all()
{
	std::vector<struct seam_block_info> all;
	each_pool([&all](struct seam_pool *pool) {
		size_t count = 0;
		std::vector<struct seam_block_info> blocks;
		enum seam_rc rc = seam_host_blocks(pool, nullptr, 0, &count);
		while (rc == SEAM_OK && count > blocks.size()) {
			blocks.resize(count);
			rc = seam_host_blocks(pool, blocks.data(), blocks.size(), &count);
		}
		if (rc == SEAM_OK)
			all.insert(all.end(), blocks.begin(), blocks.begin() + static_cast<ptrdiff_t>(count));
	});
	return all;
}

/* The parts of `one` that are not in `other`; both are ranges, begin and end, that lie apart. */
template <typename Visitor>
void each_only_in(const std::map<uint64_t, uint64_t> &one, const std::map<uint64_t, uint64_t> &other, Visitor visit)
{
	for (const auto &[first, end] : one) {
		uint64_t at = first;
		auto next = other.upper_bound(first);
		if (next != other.begin() && std::prev(next)->second > first)
			at = std::min(end, std::prev(next)->second);
		for (; next != other.end() && next->first < end; ++next) {
			if (at < next->first)
				visit(at, next->first - at);
			at = std::min(end, next->second);
		}
		if (at < end)
			visit(at, end - at);
	}
}

} /* namespace */

TorchContext TorchHost::gather(Level level) const
{
	auto *const recorder = recorder_.load(std::memory_order_acquire);
	return when_.load(std::memory_order_relaxed) < level || recorder == nullptr ? nullptr : recorder();
}

/* With the lock. PyTorch's own entries of pinned memory have no stream, and -1 for a device. */
void TorchHost::add(
	Entry::Action action, const void *ptr, size_t bytes, const c10::MempoolId_t &pool, TorchContext context)
{
	if (recording_.load(std::memory_order_relaxed))
		entries_.add(Entry(action, -1, reinterpret_cast<size_t>(ptr), bytes, nullptr, pool,
			c10::getApproximateTime(), std::move(context)));
}

/* Pinned ranges that came and went since somebody last looked. With the lock. */
void TorchHost::follow_segments(const std::map<uint64_t, uint64_t> &now)
{
	const auto tell = [this](Entry::Action action) {
		return [this, action](uint64_t at, uint64_t bytes) {
			add(action, reinterpret_cast<const void *>(at), bytes, {0, 0}, nullptr);
		};
	};
	each_only_in(segments_, now, tell(Entry::SEGMENT_FREE));
	each_only_in(now, segments_, tell(Entry::SEGMENT_ALLOC));
	segments_ = now;
}

/* The core has given that address again, so what was freed there is complete. With the lock. */
void TorchHost::complete(void *ptr)
{
	auto found = leaving_.find(ptr);
	if (found == leaving_.end())
		return;
	add(Entry::FREE_COMPLETED, ptr, found->second.bytes, found->second.pool, found->second.context);
	leaving_.erase(found);
}

/* Frees that have become complete, and segments that came and went. With the lock. */
void TorchHost::settle()
{
	if (!recording_.load(std::memory_order_relaxed))
		return;
	std::map<uint64_t, uint64_t> ranges;
	std::unordered_map<uint64_t, enum seam_block_state> states;
	for (const struct seam_block_info &block : blocks_of_all()) {
		states[block.va] = block.state;
		if (!ranges.empty() && ranges.rbegin()->second == block.va)
			ranges.rbegin()->second += block.bytes;
		else
			ranges[block.va] = block.va + block.bytes;
	}
	for (auto it = leaving_.begin(); it != leaving_.end();) {
		auto found = states.find(reinterpret_cast<uint64_t>(it->first));
		/* Live: the core does not have it back yet, or has given it again to one that is about to be noted. */
		if (found != states.end() &&
			(found->second == SEAM_BLOCK_PENDING || found->second == SEAM_BLOCK_LIVE)) {
			++it;
			continue;
		}
		add(Entry::FREE_COMPLETED, it->first, it->second.bytes, it->second.pool, it->second.context);
		it = leaving_.erase(it);
	}
	follow_segments(ranges);
}

void TorchHost::record_history(
	bool enabled, c10::CachingDeviceAllocator::CreateContextFn recorder, size_t max_entries, Level when, bool clear)
{
	if (enabled)
		begin_notes();
	std::lock_guard<std::mutex> guard(lock_);
	recorder_.store(enabled ? recorder : recorder_.load(), std::memory_order_release);
	when_ = enabled ? when : Level::NEVER;
	if (enabled)
		entries_.limit(max_entries);
	if (clear)
		entries_.clear();
	recording_ = enabled;
	if (!enabled)
		leaving_.clear();
	/* A recording begins with what is pinned then. */
	if (enabled && entries_.empty()) {
		leaving_.clear();
		segments_.clear();
		settle();
	}
}

bool TorchHost::is_history_enabled() const
{
	return recording_;
}

std::vector<at::HostSegmentInfo> TorchHost::get_segments()
{
	std::vector<at::HostSegmentInfo> segments;
	const std::vector<struct seam_block_info> blocks = blocks_of_all();
	std::lock_guard<std::mutex> guard(lock_);
	for (const struct seam_block_info &block : blocks) {
		at::HostSegmentInfo info;
		info.address = block.va;
		info.size = block.bytes;
		info.allocated = block.state == SEAM_BLOCK_LIVE;
		info.active = info.allocated || block.state == SEAM_BLOCK_PENDING;
		auto found = noted_.find(reinterpret_cast<void *>(block.va));
		if (info.allocated && found != noted_.end()) {
			info.owner_private_pool_id = found->second->pool;
			info.context_when_allocated = found->second->context;
		}
		segments.push_back(std::move(info));
	}
	for (const auto &[ptr, note] : external_) {
		at::HostSegmentInfo info;
		info.address = reinterpret_cast<size_t>(ptr);
		info.size = note.bytes;
		info.allocated = info.active = true;
		info.context_when_allocated = note.context;
		segments.push_back(std::move(info));
	}
	return segments;
}

std::vector<TorchHost::Entry> TorchHost::get_traces()
{
	std::lock_guard<std::mutex> guard(lock_);
	settle();
	const auto to_ns = clock_.makeConverter();
	std::vector<Entry> entries = entries_.in_order();
	for (Entry &entry : entries)
		entry.time_.t_ = to_ns(entry.time_.approx_t_) / 1000;
	return entries;
}

/* Memory that others pinned themselves (cudaHostRegister). */
void TorchHost::record_external_register(void *ptr, size_t bytes)
{
	if (!recording_)
		return;
	TorchPinned note{ptr, bytes, 0, true, {0, 0}, gather(Level::STATE), nullptr};
	std::lock_guard<std::mutex> guard(lock_);
	add(Entry::SEGMENT_ALLOC, ptr, bytes, {0, 0}, nullptr);
	add(Entry::ALLOC, ptr, bytes, {0, 0}, note.context);
	external_[ptr] = std::move(note);
}

void TorchHost::record_external_unregister(void *ptr)
{
	TorchContext context = gather(Level::ALL);
	std::lock_guard<std::mutex> guard(lock_);
	auto found = external_.find(ptr);
	if (found == external_.end())
		return;
	const size_t bytes = found->second.bytes;
	add(Entry::FREE_REQUESTED, ptr, bytes, {0, 0}, context);
	add(Entry::FREE_COMPLETED, ptr, bytes, {0, 0}, found->second.context);
	add(Entry::SEGMENT_FREE, ptr, bytes, {0, 0}, nullptr);
	external_.erase(found);
}

#endif

} /* namespace seam */
