/* torch_checkpoint.cpp: checkpoints of memory pools, for cudagraph trees: what is live in a pool is written down when a
 * graph has been captured, and live again before the next one is. A replay leaves its results at the addresses of the
 * capture without asking for them.
 *
 * Not here: where the memory is (seam_private_restore()); whose tensors the blocks are, which PyTorch sees to.
 */
#include "torch_allocator.h"

#include <iterator>
#include <unordered_set>
#include <utility>
#include <vector>

namespace seam
{

namespace
{

struct TorchCheckpoint : native::AllocatorState {
	c10::DeviceIndex device = 0;
	c10::MempoolId_t id;
	std::vector<TorchKept> blocks;
};

std::vector<struct seam_private_block> places(const TorchCheckpoint &checkpoint)
{
	std::vector<struct seam_private_block> result;
	result.reserve(checkpoint.blocks.size());
	for (const TorchKept &block : checkpoint.blocks)
		result.push_back({block.ptr, block.requested_bytes, block.stream, 0});
	return result;
}

} /* namespace */

std::vector<TorchKept> TorchDevice::live_in(c10::MempoolId_t id)
{
	std::lock_guard guard(lock_);
	const std::shared_ptr<TorchPrivate> in = privates_.known(id);
	std::vector<TorchKept> result;
	blocks_.each([&](void *ptr, const TorchBlock &block) {
		if (block.in() == in.get())
			result.push_back({ptr, block.requested_bytes, block.stream, block.context()});
	});
	return result;
}

void TorchDevice::go_back(c10::MempoolId_t id, const std::vector<TorchKept> &blocks,
	const std::vector<struct seam_private_block> &wanted, std::vector<void *> *ret_freed)
{
	TorchContext context = history_.gather(native::RecordContext::ALL);
	/* The core waits for what is pending when it goes back, under the lock: so nothing much is left to wait for
	 * then. */
	enum seam_rc rc = seam_device_wait(pool());
	std::lock_guard guard(lock_);
	const std::shared_ptr<TorchPrivate> in = privates_.known(id);
	if (rc == SEAM_OK)
		rc = seam_private_restore(pool(), in->number, wanted.data(), wanted.size());
	TORCH_CHECK(rc == SEAM_OK, "Seam: memory pool (", id.first, ", ", id.second,
		") cannot go back to its checkpoint: ", seam_rc_text(rc));
	blocks_.each([&](void *ptr, const TorchBlock &block) {
		if (block.in() == in.get())
			ret_freed->push_back(ptr);
	});
	std::vector<TorchGone> freed;
	for (void *ptr : *ret_freed) {
		freed.push_back({ptr, {}});
		(void)blocks_.take(ptr, &freed.back().block);
		uncount(freed.back().block);
	}
	std::vector<TorchGone> gone;
	for (const TorchKept &kept : blocks) {
		TorchBlock block{
			kept.requested_bytes, kept.stream, std::make_unique<TorchOdd>(TorchOdd{in, kept.context})};
		const auto first = reinterpret_cast<uint64_t>(kept.ptr);
		std::vector<TorchGone> here = leaving_.take_in({first, first + block.bytes()});
		count_gone(here);
		std::move(here.begin(), here.end(), std::back_inserter(gone));
		count(block);
		blocks_.insert(kept.ptr, std::move(block));
	}
	for (const TorchGone &left : freed) {
		for (const auto action : {native::TraceEntry::FREE_REQUESTED, native::TraceEntry::FREE_COMPLETED})
			tell(action, left.ptr, left.block, context);
	}
	tell_gone(gone);
	for (const TorchKept &kept : blocks)
		history_.add(
			native::TraceEntry::ALLOC, device_, kept.ptr, kept.requested_bytes, kept.stream, id, context);
}

std::shared_ptr<native::AllocatorState> TorchAllocator::getCheckpointState(
	c10::DeviceIndex device, c10::MempoolId_t pool)
{
	TORCH_CHECK(server(device, pool) == nullptr,
		"Seam: there are no checkpoints of a memory pool over another allocator");
	auto checkpoint = std::make_shared<TorchCheckpoint>();
	checkpoint->device = device;
	checkpoint->id = pool;
	checkpoint->blocks = on(device).live_in(pool);
	return checkpoint;
}

native::CheckpointDelta TorchAllocator::setCheckpointPoolState(
	c10::DeviceIndex device, std::shared_ptr<native::AllocatorState> state)
{
	const auto checkpoint = std::dynamic_pointer_cast<TorchCheckpoint>(state);
	TORCH_CHECK(checkpoint != nullptr && checkpoint->device == device,
		"Seam: no checkpoint of a memory pool of device ", static_cast<int>(device));
	native::CheckpointDelta delta;
	on(device).go_back(checkpoint->id, checkpoint->blocks, places(*checkpoint), &delta.ptrs_freed);
	std::unordered_set<void *> live;
	for (const TorchKept &block : checkpoint->blocks) {
		delta.dataptrs_allocd.emplace_back(
			block.ptr, block.ptr, raw_deleter(), c10::Device(c10::kCUDA, device));
		live.insert(block.ptr);
	}
	for (void *freed : delta.ptrs_freed) {
		if (live.count(freed) == 0)
			shares_.forget(freed);
	}
	return delta;
}

} /* namespace seam */
