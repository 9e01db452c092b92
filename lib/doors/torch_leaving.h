/* torch_leaving.h: the blocks of one device that were freed while other streams use them, until the core no longer
 * holds them back.
 *
 * PyTorch calls them active. The core does not tell when one has passed: the memory that it still holds back is looked
 * through beside this table, both in order of address, so a look takes as many steps as both have entries together; and
 * none is taken while the core's figures are those of the last one.
 *
 * Invariants: a block is here from its free until it is taken out, once; one that the core does not have back yet is
 * never taken out as passed. Locks: the device's, which the caller holds at every call.
 */
#ifndef SEAM_TORCH_LEAVING_H
#define SEAM_TORCH_LEAVING_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "torch_blocks.h"

namespace seam
{

/* Addresses from `first` up to `end`. */
struct TorchRange {
	uint64_t first, end;
};

/* A block that is gone. */
struct TorchGone {
	void *ptr;
	TorchBlock block;
};

/* Calls passed(at) for each address of [at, end) that lies in none of the ranges of [held, held_end); both are in
 * order, and the ranges lie apart. passed() may erase `at`. address_of(at): the address there. */
template <typename At, typename Held, typename Address, typename Passed>
void each_passed(At at, At end, Held held, Held held_end, Address address_of, Passed passed)
{
	while (at != end) {
		const uint64_t address = address_of(at);
		while (held != held_end && held->end <= address)
			++held;
		const At here = at++;
		if (held == held_end || address < held->first)
			passed(here);
	}
}

class TorchLeaving
{
public:
	bool empty() const
	{
		return blocks_.empty();
	}

	void add(void *ptr, TorchBlock &&block)
	{
		blocks_.emplace(address_of(ptr), Entry{std::move(block), false});
	}

	/* The core has the block back. Nothing if it is not here any more. */
	void give(const void *ptr)
	{
		auto at = blocks_.find(address_of(ptr));
		if (at == blocks_.end())
			return;
		at->second.given = true;
		looked_ = false;
	}

	/* Whether a look may find something: false if the core counts as many frees and holds back as much as before
	 * the last one, for what it holds back becomes more by frees only. */
	bool may_have_passed(uint64_t frees, uint64_t pending_bytes) const
	{
		return !blocks_.empty() && !(looked_ && frees == frees_ && pending_bytes == pending_bytes_);
	}

	/* A look begins: these are the core's figures, from before it. */
	void begin_look(uint64_t frees, uint64_t pending_bytes)
	{
		looked_ = true;
		frees_ = frees;
		pending_bytes_ = pending_bytes;
	}

	/* Takes out what lies in a range: the core gave that memory again, so whoever had it before is gone. */
	std::vector<TorchGone> take_in(TorchRange range)
	{
		std::vector<TorchGone> gone;
		auto at = blocks_.lower_bound(range.first);
		if (at != blocks_.begin() && std::prev(at)->first + std::prev(at)->second.block.bytes() > range.first)
			--at;
		while (at != blocks_.end() && at->first < range.end)
			take(at++, gone);
		return gone;
	}

	/* Takes out what lies in no range that the core holds back. */
	std::vector<TorchGone> take_passed(std::vector<TorchRange> &held)
	{
		std::vector<TorchGone> gone;
		std::sort(held.begin(), held.end(),
			[](const TorchRange &left, const TorchRange &right) { return left.first < right.first; });
		each_passed(
			blocks_.begin(), blocks_.end(), held.begin(), held.end(),
			[](Blocks::iterator at) { return at->first; },
			[&](Blocks::iterator at) {
				if (at->second.given)
					take(at, gone);
			});
		return gone;
	}

private:
	struct Entry {
		TorchBlock block;
		bool given; /* the core has it back */
	};
	using Blocks = std::map<uint64_t, Entry>;

	static uint64_t address_of(const void *ptr)
	{
		return reinterpret_cast<uint64_t>(ptr);
	}

	void take(Blocks::iterator at, std::vector<TorchGone> &gone)
	{
		gone.push_back({reinterpret_cast<void *>(at->first), std::move(at->second.block)});
		blocks_.erase(at);
	}

	Blocks blocks_;
	bool looked_ = false;                    /* and everything that is here had been given then */
	uint64_t frees_ = 0, pending_bytes_ = 0; /* the core's, before the last look */
};

} /* namespace seam */

#endif
