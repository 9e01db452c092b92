/* torch_counts.h: what PyTorch counts of one device's blocks, at every allocation and free.
 *
 * Three figures are added up for small blocks, for large ones and for all: blocks, bytes, requested bytes. A figure has
 * four numbers, of which a free changes one: what PyTorch calls "freed" follows from the others. PyTorch's "active" is
 * what is live and what has been freed but is still used by other streams ("leaving"): while nothing leaves it is what
 * is live, so it has no figures of its own but these peaks.
 *
 * Locks: the device's.
 */
#ifndef SEAM_TORCH_COUNTS_H
#define SEAM_TORCH_COUNTS_H

#include <algorithm>
#include <array>
#include <cstdint>

#include "torch_versions.h"

namespace seam
{

struct TorchFigure {
	int64_t now = 0, peak = 0;
	int64_t added = 0;   /* since the last reset */
	int64_t carried = 0; /* `now` at the last reset */

	void add(int64_t amount)
	{
		now += amount;
		added += amount;
		peak = std::max(peak, now);
	}

	c10::CachingAllocator::Stat stat() const
	{
		c10::CachingAllocator::Stat stat;
		stat.current = now;
		stat.peak = peak;
		stat.allocated = added;
		stat.freed = added - (now - carried);
		return stat;
	}

	void reset_accumulated()
	{
		added = 0;
		carried = now;
	}
};

/* All blocks of a kind. */
struct TorchKind {
	TorchFigure blocks, bytes, requested_bytes;
	int64_t leaving_blocks = 0, leaving_bytes = 0;
	int64_t active_blocks_peak = 0, active_bytes_peak = 0;         /* while some were leaving */
	int64_t leaving_blocks_carried = 0, leaving_bytes_carried = 0; /* at the last reset */

	void add(int64_t rounded, int64_t requested)
	{
		blocks.add(1);
		bytes.add(rounded);
		requested_bytes.add(requested);
	}

	void take(int64_t rounded, int64_t requested)
	{
		blocks.now -= 1;
		bytes.now -= rounded;
		requested_bytes.now -= requested;
	}

	/* To be called after anything changed while a block is leaving. */
	void look_at_active()
	{
		active_blocks_peak = std::max(active_blocks_peak, blocks.now + leaving_blocks);
		active_bytes_peak = std::max(active_bytes_peak, bytes.now + leaving_bytes);
	}

	void leave(int64_t count, int64_t rounded)
	{
		leaving_blocks += count;
		leaving_bytes += rounded;
	}

	c10::CachingAllocator::Stat active() const
	{
		return active(blocks, leaving_blocks, active_blocks_peak, leaving_blocks_carried);
	}
	c10::CachingAllocator::Stat active_bytes() const
	{
		return active(bytes, leaving_bytes, active_bytes_peak, leaving_bytes_carried);
	}

	void reset_accumulated()
	{
		for (TorchFigure *figure : {&blocks, &bytes, &requested_bytes})
			figure->reset_accumulated();
		leaving_blocks_carried = leaving_blocks;
		leaving_bytes_carried = leaving_bytes;
	}

	void reset_peaks()
	{
		for (TorchFigure *figure : {&blocks, &bytes, &requested_bytes})
			figure->peak = figure->now;
		active_blocks_peak = active_bytes_peak = 0;
		look_at_active();
	}

private:
	static c10::CachingAllocator::Stat active(
		const TorchFigure &live, int64_t leaving, int64_t peak, int64_t carried)
	{
		c10::CachingAllocator::Stat stat = live.stat();
		stat.current += leaving;
		stat.peak = std::max(stat.peak, peak);
		stat.freed -= leaving - carried;
		return stat;
	}
};

/* By StatType: all, small, large. */
using TorchKinds = std::array<TorchKind, 3>;

} /* namespace seam */

#endif
