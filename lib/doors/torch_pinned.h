/* torch_pinned.h: blocks of pinned memory as TorchHost knows them, and the few that were freed last.
 *
 * A block's address here is what PyTorch keeps as the context of a tensor's memory. PyTorch asks about contexts that
 * are somebody else's, which must not be read: blocks lie in one range of addresses, so that a comparison tells.
 *
 * The blocks that came back last are kept at hand, one for each of some classes of sizes: programs mostly ask for what
 * they have just given back, and then neither a lock is taken nor the core called. Before another size is asked for, or
 * figures are looked at, they all go to the core (TorchHost), so that memory and peaks are as they would be
 * without.
 *
 * Not here: which blocks may be kept at hand. Thread safety: everything may be called from any thread.
 */
#ifndef SEAM_TORCH_PINNED_H
#define SEAM_TORCH_PINNED_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>

#include <sys/mman.h>

#include "torch_history.h"

namespace seam
{

struct TorchPinned {
	void *ptr;
	size_t bytes;          /* rounded, as the core has it */
	int device;            /* whose pool it is of */
	bool used;             /* a stream was recorded for it */
	c10::MempoolId_t pool; /* {0, 0}: everybody's */
	TorchContext context;
	TorchPinned *next; /* in the list of those that are not in use */
};

class TorchPinnedBlocks
{
public:
	/* Throws std::bad_alloc. */
	TorchPinned *make(TorchPinned &&like)
	{
		std::lock_guard<std::mutex> guard(lock_);
		if (first_ == nullptr)
			reserve();
		void *at = idle_ != nullptr ? idle_ : first_ + made_;
		if (idle_ != nullptr) {
			idle_ = idle_->next;
		} else {
			if (made_ == limit)
				throw std::bad_alloc();
			made_++;
		}
		return new (at) TorchPinned(std::move(like));
	}

	void drop(TorchPinned *block)
	{
		block->context = nullptr;
		std::lock_guard<std::mutex> guard(lock_);
		block->ptr = nullptr;
		block->next = idle_;
		idle_ = block;
	}

	/* The block that begins at `ptr`, or NULL. Looks at all of them: for memory that is known to be a block's. */
	TorchPinned *at(const void *ptr)
	{
		std::lock_guard<std::mutex> guard(lock_);
		for (size_t i = 0; i < made_; i++) {
			if (first_[i].ptr == ptr)
				return &first_[i];
		}
		return nullptr;
	}

	/* The block whose address `context` is, or NULL. */
	TorchPinned *known(void *context) const
	{
		const TorchPinned *first = first_.load(std::memory_order_acquire);
		auto *block = static_cast<TorchPinned *>(context);
		return first != nullptr && std::greater_equal<>()(block, first) && std::less<>()(block, first + limit)
			? block
			: nullptr;
	}

private:
	static constexpr size_t limit = size_t{1} << 24; /* blocks; their pages come when they are touched */

	void reserve()
	{
		void *at = mmap(nullptr, limit * sizeof(TorchPinned), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (at == MAP_FAILED)
			throw std::bad_alloc();
		first_.store(static_cast<TorchPinned *>(at), std::memory_order_release);
	}

	std::mutex lock_;
	std::atomic<TorchPinned *> first_{nullptr};
	size_t made_ = 0;
	TorchPinned *idle_ = nullptr;
};

class TorchPinnedAtHand
{
public:
	/* A block of that size, of the device's pool; or NULL, and then *ret_other is what was in its place: the
	 * caller's now, or NULL. */
	TorchPinned *take(size_t bytes, int device, TorchPinned **ret_other)
	{
		Slot &slot = slot_of(bytes);
		TorchPinned *block = slot.block.exchange(nullptr, std::memory_order_acq_rel);
		if (block == nullptr || block->bytes != bytes || block->device != device) {
			*ret_other = block;
			return nullptr;
		}
		slot.taken.fetch_add(1, std::memory_order_relaxed);
		slot.taken_bytes.fetch_add(bytes, std::memory_order_relaxed);
		return block;
	}

	/* A block that nobody uses. Returns what was in its place, the caller's now, or NULL. */
	TorchPinned *give(TorchPinned *block)
	{
		return slot_of(block->bytes).block.exchange(block, std::memory_order_acq_rel);
	}

	/* Takes all out. */
	template <typename Visitor> void flush(Visitor visit)
	{
		for (Slot &slot : slots_) {
			if (slot.block.load(std::memory_order_relaxed) == nullptr)
				continue;
			if (TorchPinned *block = slot.block.exchange(nullptr, std::memory_order_acq_rel))
				visit(block);
		}
	}

	/* How often a block was taken, and their bytes. */
	uint64_t taken() const
	{
		uint64_t sum = 0;
		for (const Slot &slot : slots_)
			sum += slot.taken.load(std::memory_order_relaxed);
		return sum;
	}

	uint64_t taken_bytes() const
	{
		uint64_t sum = 0;
		for (const Slot &slot : slots_)
			sum += slot.taken_bytes.load(std::memory_order_relaxed);
		return sum;
	}

private:
	struct alignas(64) Slot {
		std::atomic<TorchPinned *> block{nullptr};
		std::atomic<uint64_t> taken{0}, taken_bytes{0};
	};

	static constexpr size_t classes = 16;

	/* Sizes are multiples of 512; those that a program uses are few, and mostly differ by more than their low bits.
	 */
	Slot &slot_of(size_t bytes)
	{
		return slots_[bytes * UINT64_C(0x9e3779b97f4a7c15) >> 60];
	}

	std::array<Slot, classes> slots_;
};

} /* namespace seam */

#endif
