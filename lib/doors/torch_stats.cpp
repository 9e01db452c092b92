/* torch_stats.cpp: PyTorch's statistics of a device.
 *
 * Counted here, at every request and free: allocation, active, allocated_bytes, active_bytes, requested_bytes. Asked of the core when somebody
 * looks: reserved_bytes and inactive_split_bytes (free bytes in chunks that live blocks use in part), whose `allocated` and `freed` therefore
 * hold what changed between two looks, and segment (physical chunks, with every creation and release). Always 0: the count of inactive_split, and
 * oversize_*, which Seam does not have. max_split_size is -1: nothing is too large to be split.
 */
#include <cstring>

#include "torch_device.h"

namespace seam {

namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;

constexpr auto all = static_cast<size_t>(StatType::AGGREGATE);
constexpr auto small = static_cast<size_t>(StatType::SMALL_POOL);
constexpr auto large = static_cast<size_t>(StatType::LARGE_POOL);

void increase(StatArray &stat, size_t kind, size_t amount)
{
	stat[all].increase(amount);
	stat[kind].increase(amount);
}

void decrease(StatArray &stat, size_t kind, size_t amount)
{
	stat[all].decrease(amount);
	stat[kind].decrease(amount);
}

/* As if the changes since the last look had come one by one. */
void move_to(Stat &stat, uint64_t now)
{
	const auto current = static_cast<size_t>(stat.current);
	if (now > current)
		stat.increase(now - current);
	else
		stat.decrease(current - now);
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

size_t TorchDevice::class_of(size_t bytes) const
{
	return bytes <= small_bytes_ ? small : large;
}

void TorchDevice::count(const TorchBlock &block)
{
	const size_t kind = class_of(block.bytes);
	increase(counts_.allocation, kind, 1);
	increase(counts_.active, kind, 1);
	increase(counts_.allocated_bytes, kind, block.bytes);
	increase(counts_.active_bytes, kind, block.bytes);
	increase(counts_.requested_bytes, kind, block.requested_bytes);
}

void TorchDevice::uncount(const TorchBlock &block)
{
	const size_t kind = class_of(block.bytes);
	decrease(counts_.allocation, kind, 1);
	decrease(counts_.allocated_bytes, kind, block.bytes);
	decrease(counts_.requested_bytes, kind, block.requested_bytes);
}

void TorchDevice::uncount_active(const TorchBlock &block)
{
	const size_t kind = class_of(block.bytes);
	decrease(counts_.active, kind, 1);
	decrease(counts_.active_bytes, kind, block.bytes);
}

/* The core's figures as of now. With the lock. */
void TorchDevice::look(const struct seam_stats &stats)
{
	move_to(counts_.reserved_bytes[all], stats.reserved_bytes);
	move_to(counts_.reserved_bytes[small], stats.reserved_small_bytes);
	move_to(counts_.reserved_bytes[large], stats.reserved_bytes - stats.reserved_small_bytes);
	counts_.reserved_bytes[all].peak = std::max(counts_.reserved_bytes[all].peak, static_cast<int64_t>(stats.reserved_bytes_peak));
	move_to(counts_.inactive_split_bytes[all], stats.unused_partial_bytes);
	move_to(counts_.inactive_split_bytes[large], stats.unused_partial_bytes);
	move_to(counts_.segment[all], stats.chunks);
	move_to(counts_.segment[large], stats.chunks);
}

native::DeviceStats TorchDevice::stats()
{
	native::DeviceStats result;
	result.max_split_size = -1;
	struct seam_stats stats;
	if (!has_pool() || !stats_of(pool(), &stats))
		return result;
	const DriverCalls calls = calls_of(pool());
	std::lock_guard<std::mutex> guard(lock_);
	sweep();
	look(stats);
	result.allocation = counts_.allocation;
	result.active = counts_.active;
	result.segment = counts_.segment;
	result.allocated_bytes = counts_.allocated_bytes;
	result.active_bytes = counts_.active_bytes;
	result.requested_bytes = counts_.requested_bytes;
	result.reserved_bytes = counts_.reserved_bytes;
	result.inactive_split_bytes = counts_.inactive_split_bytes;
	result.num_ooms = counts_.ooms;
	result.num_alloc_retries = static_cast<int64_t>(stats.retries - counts_.retries_before);
	result.num_device_alloc = static_cast<int64_t>(calls.creates - counts_.creates_before);
	result.num_device_free = static_cast<int64_t>(calls.releases - counts_.releases_before);
	result.num_sync_all_streams = static_cast<int64_t>(calls.waits - counts_.waits_before);
	return result;
}

void TorchDevice::reset_accumulated()
{
	struct seam_stats stats;
	if (!has_pool() || !stats_of(pool(), &stats))
		return;
	const DriverCalls calls = calls_of(pool());
	std::lock_guard<std::mutex> guard(lock_);
	look(stats);
	counts_.each([](Stat &stat) { stat.reset_accumulated(); });
	counts_.ooms = 0;
	counts_.retries_before = stats.retries;
	counts_.creates_before = calls.creates;
	counts_.releases_before = calls.releases;
	counts_.waits_before = calls.waits;
}

void TorchDevice::reset_peaks()
{
	struct seam_stats stats;
	if (!has_pool())
		return;
	seam_stats_reset_peaks(pool());
	if (!stats_of(pool(), &stats))
		return;
	std::lock_guard<std::mutex> guard(lock_);
	look(stats);
	counts_.each([](Stat &stat) { stat.reset_peak(); });
}

} /* namespace seam */
