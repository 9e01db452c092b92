/* torch_blocks.h: the live blocks of one device, by address: what PyTorch's counts and trace entries need at the free.
 *
 * Every allocation and free of the program passes here, so a block is four words, beside each other in one array:
 * places are found by a hash of the address and tried one after the other; a block that leaves is filled up by those
 * that it displaced. What only few blocks have is kept beside it.
 *
 * Invariants: from a block's own place to where it lies no place is empty; at least half of the places are.
 * Locks: the device's, which the caller holds at every call.
 */
#ifndef SEAM_TORCH_BLOCKS_H
#define SEAM_TORCH_BLOCKS_H

#include <memory>
#include <utility>
#include <vector>

#include "torch_graph_pools.h"

namespace seam
{

/* Of a block that is not like most. */
struct TorchOdd {
	std::shared_ptr<TorchPrivate> in; /* NULL: the common memory */
	TorchContext context;
	bool recorded = false; /* other streams use it */
};

struct TorchBlock {
	size_t requested_bytes = 0;
	cudaStream_t stream = nullptr;
	std::unique_ptr<TorchOdd> odd;

	/* What the core's blocks are rounded up to. */
	static constexpr size_t rounded(size_t bytes)
	{
		return (bytes + 511) / 512 * 512;
	}
	size_t bytes() const
	{
		return rounded(requested_bytes);
	}
	const TorchPrivate *in() const
	{
		return odd != nullptr ? odd->in.get() : nullptr;
	}
	c10::MempoolId_t pool() const
	{
		return in() != nullptr ? in()->id : c10::MempoolId_t{0, 0};
	}
	TorchContext context() const
	{
		return odd != nullptr ? odd->context : nullptr;
	}
	bool recorded() const
	{
		return odd != nullptr && odd->recorded;
	}

	void record()
	{
		if (odd == nullptr)
			odd = std::make_unique<TorchOdd>();
		odd->recorded = true;
	}
};

class TorchBlocks
{
public:
	/* NULL if no block begins there. Valid until the next insert() or take(). */
	TorchBlock *find(const void *ptr)
	{
		const size_t at = places_.empty() ? 0 : place_of(ptr);
		return ptr != nullptr && !places_.empty() && places_[at].ptr == ptr ? &places_[at].block : nullptr;
	}

	/* No block begins there yet. */
	void insert(void *ptr, TorchBlock &&block)
	{
		if (__builtin_expect((count_ + 1) * 2 > places_.size(), 0))
			grow();
		put(ptr, std::move(block));
		count_++;
	}

	/* Moves the block out. False: none begins there. */
	bool take(const void *ptr, TorchBlock *ret_block)
	{
		if (places_.empty())
			return false;
		size_t gap = place_of(ptr);
		if (places_[gap].ptr != ptr)
			return false;
		*ret_block = std::move(places_[gap].block);
		for (size_t at = next(gap); places_[at].ptr != nullptr; at = next(at)) {
			/* Whose own place lies behind the gap stays. */
			if (distance(own(places_[at].ptr), at) < distance(gap, at))
				continue;
			places_[gap] = std::move(places_[at]);
			gap = at;
		}
		places_[gap].ptr = nullptr;
		count_--;
		return true;
	}

	template <typename Visitor> void each(Visitor visit) const
	{
		for (const Place &place : places_) {
			if (place.ptr != nullptr)
				visit(place.ptr, place.block);
		}
	}

private:
	struct alignas(32) Place {   /* in one cache line */
		void *ptr = nullptr; /* NULL: empty */
		TorchBlock block;
	};

	size_t own(const void *ptr) const
	{
		/* Twice, as in pools/live.c: with one multiplication blocks of some sizes lie in long runs. */
		uint64_t hash = (reinterpret_cast<uintptr_t>(ptr) >> 9) * UINT64_C(0x9e3779b97f4a7c15);
		hash = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
		return static_cast<size_t>(hash >> shift_);
	}
	size_t next(size_t at) const
	{
		return (at + 1) & (places_.size() - 1);
	}
	size_t distance(size_t from, size_t to) const
	{
		return (to - from) & (places_.size() - 1);
	}

	/* Where ptr is, or else the empty place where it belongs. */
	size_t place_of(const void *ptr) const
	{
		size_t at = own(ptr);
		while (places_[at].ptr != nullptr && places_[at].ptr != ptr)
			at = next(at);
		return at;
	}

	void put(void *ptr, TorchBlock &&block)
	{
		Place &place = places_[place_of(ptr)];
		place.ptr = ptr;
		place.block = std::move(block);
	}

	void grow()
	{
		std::vector<Place> before(places_.empty() ? 64 : places_.size() * 2);
		before.swap(places_);
		shift_ = 64 - static_cast<unsigned>(__builtin_ctzll(places_.size()));
		for (Place &place : before) {
			if (place.ptr != nullptr)
				put(place.ptr, std::move(place.block));
		}
	}

	std::vector<Place> places_; /* as many as a power of 2 */
	unsigned shift_ = 64;       /* valid if there are places */
	size_t count_ = 0;
};

} /* namespace seam */

#endif
