/* torch_stats.cpp: PyTorch's statistics of a device.
 *
 * Counted here, at every request and free: allocation, active, allocated_bytes, active_bytes, requested_bytes. Counted
 * by the core: segment (physical chunks, all of them large) and reserved_bytes.all. Asked of the core when somebody
 * looks, so that peaks, `allocated` and `freed` are what was seen: reserved_bytes of small and of large, those of each
 * private pool, and inactive_split_bytes (free bytes in chunks that live blocks use in part). Always 0: the count of
 * inactive_split, and oversize_*, which Seam does not have. max_split_size is -1: nothing is too large to be split.
 */
#include <algorithm>
#include <cstring>

#include "torch_device.h"

namespace seam
{

namespace
{

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;

constexpr auto all = static_cast<size_t>(StatType::AGGREGATE);
constexpr auto small = static_cast<size_t>(StatType::SMALL_POOL);
constexpr auto large = static_cast<size_t>(StatType::LARGE_POOL);

/* As if the changes since the last look had come one by one. */
void move_to(Stat &stat, uint64_t now)
{
	const auto current = static_cast<size_t>(stat.current);
	if (now > current)
		stat.increase(now - current);
	else
		stat.decrease(current - now);
}

/* What the core counts itself. carried: the figure at the last reset. */
void fill(Stat &stat, uint64_t now, uint64_t peak, uint64_t made, int64_t carried)
{
	stat.current = static_cast<int64_t>(now);
	stat.peak = std::max(stat.peak, static_cast<int64_t>(peak));
	stat.allocated = static_cast<int64_t>(made);
	stat.freed = stat.allocated + carried - stat.current;
}

struct DriverCalls {
	uint64_t creates, releases, waits;
};

DriverCalls calls_of(struct seam_pool *pool)
{
	DriverCalls calls{};
	const char *name = nullptr;
	uint64_t count = 0;
	for (uint32_t i = 0; seam_stats_driver(pool, i, &name, &count, nullptr) == SEAM_OK; i++) {
		if (strcmp(name, "mem_create") == 0)
			calls.creates = count;
		else if (strcmp(name, "mem_release") == 0)
			calls.releases = count;
		else if (strcmp(name, "device_sync") == 0)
			calls.waits = count;
	}
	return calls;
}

} /* namespace */

bool stats_of(struct seam_pool *pool, struct seam_stats *ret_stats)
{
	memset(ret_stats, 0, sizeof *ret_stats);
	ret_stats->size = sizeof *ret_stats;
	ret_stats->version = SEAM_STATS_VERSION;
	return seam_stats_get(pool, ret_stats) == SEAM_OK;
}

void TorchDevice::count(const TorchBlock &block)
{
	const auto bytes = static_cast<int64_t>(block.bytes()), requested = static_cast<int64_t>(block.requested_bytes);
	TorchKind &kind = kinds_[block.bytes() <= small_bytes_ ? small : large];
	kinds_[all].add(bytes, requested);
	kind.add(bytes, requested);
	if (__builtin_expect(!leaving_.empty(), 0)) {
		kinds_[all].look_at_active();
		kind.look_at_active();
	}
}

void TorchDevice::uncount(const TorchBlock &block)
{
	const auto bytes = static_cast<int64_t>(block.bytes()), requested = static_cast<int64_t>(block.requested_bytes);
	kinds_[all].take(bytes, requested);
	kinds_[block.bytes() <= small_bytes_ ? small : large].take(bytes, requested);
}

void TorchDevice::count_leaving(const TorchBlock &block, int64_t change)
{
	const auto bytes = static_cast<int64_t>(block.bytes());
	kinds_[all].leave(change, change * bytes);
	kinds_[block.bytes() <= small_bytes_ ? small : large].leave(change, change * bytes);
}

/* The core's figures as of now. With the lock. */
void TorchDevice::look(const struct seam_stats &stats)
{
	move_to(seen_.reserved_bytes[small], stats.reserved_small_bytes);
	move_to(seen_.reserved_bytes[large], stats.reserved_bytes - stats.reserved_small_bytes);
	fill(seen_.reserved_bytes[all], stats.reserved_bytes, stats.reserved_bytes_peak,
		stats.chunks_made_bytes - seen_.made_bytes_before, seen_.reserved_carried);
	move_to(seen_.inactive_split_bytes[all], stats.unused_partial_bytes);
	move_to(seen_.inactive_split_bytes[large], stats.unused_partial_bytes);
	fill(seen_.segment[all], stats.chunks, stats.chunks_peak, stats.chunks_made - seen_.made_before,
		seen_.chunks_carried);
	seen_.segment[large] = seen_.segment[all];
	look_at_privates();
}

namespace
{

/* Bytes in views for small requests and in others, by number of the private pool. */
struct PrivateSums {
	std::map<uint64_t, std::array<uint64_t, 2>> bytes;
	std::array<uint64_t, 2> *sums = nullptr; /* NULL: the view is of no private pool */
	size_t kind = 0;

	static int view(void *user, const struct seam_view_info *view)
	{
		auto *mine = static_cast<PrivateSums *>(user);
		mine->sums = view->private_id != 0 ? &mine->bytes[view->private_id] : nullptr;
		mine->kind = view->small ? 0 : 1;
		return 0;
	}

	static int slot(void *user, const struct seam_slot_info *slot)
	{
		auto *mine = static_cast<PrivateSums *>(user);
		if (mine->sums != nullptr && slot->owned)
			(*mine->sums)[mine->kind] += slot->bytes;
		return 0;
	}
};

} /* namespace */

/* What private pools hold; those that are gone hold nothing. Of programs without private pools nothing is asked. With
 * the lock. */
void TorchDevice::look_at_privates()
{
	if (!SEAM_TORCH_HAS_PRIVATE_SUMS || (!privates_.has_any() && seen_.private_reserved_bytes.empty()))
		return;
	PrivateSums held;
	const struct seam_visitor visitor = {PrivateSums::view, PrivateSums::slot, nullptr};
	if (seam_snapshot_visit(pool(), &visitor, &held) != SEAM_OK)
		return;
	std::map<c10::MempoolId_t, std::array<uint64_t, 2>> now;
	for (const auto &[id, stats] : seen_.private_reserved_bytes)
		now[id] = {0, 0};
	for (const auto &[number, bytes] : held.bytes)
		now[privates_.name_of(number)] = bytes;
	now.erase(c10::MempoolId_t{0, 0}); /* a pool of the program's own */
	for (const auto &[id, bytes] : now) {
		StatArray &stats = seen_.private_reserved_bytes[id];
		move_to(stats[small], bytes[0]);
		move_to(stats[large], bytes[1]);
		move_to(stats[all], bytes[0] + bytes[1]);
	}
}

native::DeviceStats TorchDevice::stats()
{
	native::DeviceStats result;
	result.max_split_size = -1;
	struct seam_stats stats;
	if (!has_pool() || !stats_of(pool(), &stats))
		return result;
	const DriverCalls calls = calls_of(pool());
	std::lock_guard guard(lock_);
	sweep(stats);
	look(stats);
	for (const size_t kind : {all, small, large}) {
		result.allocation[kind] = kinds_[kind].blocks.stat();
		result.allocated_bytes[kind] = kinds_[kind].bytes.stat();
		result.requested_bytes[kind] = kinds_[kind].requested_bytes.stat();
		result.active[kind] = kinds_[kind].active();
		result.active_bytes[kind] = kinds_[kind].active_bytes();
	}
	result.segment = seen_.segment;
	result.reserved_bytes = seen_.reserved_bytes;
	result.inactive_split_bytes = seen_.inactive_split_bytes;
	result.num_ooms = seen_.ooms;
#if SEAM_TORCH_HAS_REJECTIONS
	result.num_oom_rejections = seen_.rejections;
#endif
#if SEAM_TORCH_HAS_PRIVATE_SUMS
	for (const auto &[id, held] : seen_.private_reserved_bytes)
		result.reserved_bytes_by_private_pools[id] = held;
#endif
	result.num_alloc_retries = static_cast<int64_t>(stats.retries - seen_.retries_before);
	result.num_device_alloc = static_cast<int64_t>(calls.creates - seen_.creates_before);
	result.num_device_free = static_cast<int64_t>(calls.releases - seen_.releases_before);
	result.num_sync_all_streams = static_cast<int64_t>(calls.waits - seen_.waits_before);
	return result;
}

void TorchDevice::reset_accumulated()
{
	struct seam_stats stats;
	if (!has_pool() || !stats_of(pool(), &stats))
		return;
	const DriverCalls calls = calls_of(pool());
	std::lock_guard guard(lock_);
	look(stats);
	for (TorchKind &kind : kinds_)
		kind.reset_accumulated();
	seen_.each([](Stat &stat) { stat.reset_accumulated(); });
	seen_.ooms = seen_.rejections = 0;
	seen_.chunks_carried = static_cast<int64_t>(stats.chunks);
	seen_.reserved_carried = static_cast<int64_t>(stats.reserved_bytes);
	seen_.made_before = stats.chunks_made;
	seen_.made_bytes_before = stats.chunks_made_bytes;
	seen_.retries_before = stats.retries;
	seen_.creates_before = calls.creates;
	seen_.releases_before = calls.releases;
	seen_.waits_before = calls.waits;
}

void TorchDevice::reset_peaks()
{
	struct seam_stats stats;
	if (!has_pool())
		return;
	seam_stats_reset_peaks(pool());
	if (!stats_of(pool(), &stats))
		return;
	std::lock_guard guard(lock_);
	look(stats);
	for (TorchKind &kind : kinds_)
		kind.reset_peaks();
	seen_.each([](Stat &stat) { stat.reset_peak(); });
}

} /* namespace seam */
