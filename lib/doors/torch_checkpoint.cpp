/* torch_checkpoint.cpp: checkpoints of memory pools, for cudagraph trees: what is live in a pool is written down when a graph has been captured,
 * and live again before the next one is. A replay leaves its results at the addresses of the capture without asking for them.
 *
 * Not here: where the memory is (seam_private_restore()); whose tensors the blocks are, which PyTorch sees to.
 */
#include "torch_allocator.h"

#include <unordered_set>
#include <utility>
#include <vector>

namespace seam {

namespace {

struct TorchCheckpoint : native::AllocatorState {
	c10::DeviceIndex device = 0;
	c10::MempoolId_t id;
	std::vector<std::pair<void *, TorchBlock>> blocks;
};

std::vector<struct seam_private_block> places(const TorchCheckpoint &checkpoint)
{
	std::vector<struct seam_private_block> result;
	result.reserve(checkpoint.blocks.size());
	for (const auto &[ptr, block] : checkpoint.blocks)
		result.push_back({ptr, block.requested_bytes, block.stream, 0});
	return result;
}

} /* namespace */

std::vector<std::pair<void *, TorchBlock>> TorchDevice::live_in(c10::MempoolId_t id)
{
	std::lock_guard<std::mutex> guard(lock_);
	const std::shared_ptr<TorchPrivate> in = privates_.known(id);
	std::vector<std::pair<void *, TorchBlock>> result;
	for (const auto &[ptr, block] : blocks_) {
		if (block.in == in)
			result.emplace_back(ptr, block);
	}
	return result;
}

void TorchDevice::go_back(c10::MempoolId_t id, const std::vector<std::pair<void *, TorchBlock>> &blocks,
                          const std::vector<struct seam_private_block> &wanted, std::vector<void *> *ret_freed)
{
	TorchContext context = history_.gather(native::RecordContext::ALL);
	std::lock_guard<std::mutex> guard(lock_);
	const std::shared_ptr<TorchPrivate> in = privates_.known(id);
	const enum seam_rc rc = seam_private_restore(pool(), in->number, wanted.data(), wanted.size());
	TORCH_CHECK(rc == SEAM_OK, "Seam: memory pool (", id.first, ", ", id.second, ") cannot go back to its checkpoint: ", seam_rc_text(rc));
	for (auto at = blocks_.begin(); at != blocks_.end();) {
		if (at->second.in != in) {
			++at;
			continue;
		}
		const TorchBlock &block = at->second;
		uncount(block);
		uncount_active(block);
		for (const auto action : {native::TraceEntry::FREE_REQUESTED, native::TraceEntry::FREE_COMPLETED})
			history_.add(action, device_, at->first, block.requested_bytes, block.stream, block.pool(), context);
		ret_freed->push_back(at->first);
		at = blocks_.erase(at);
	}
	for (const auto &[ptr, block] : blocks) {
		TorchBlock again = block;
		again.in = in;
		again.recorded = false;
		complete_overlapping(ptr, again.bytes);
		count(again);
		history_.add(native::TraceEntry::ALLOC, device_, ptr, again.requested_bytes, again.stream, again.pool(), context);
		blocks_.emplace(ptr, std::move(again));
	}
}

std::shared_ptr<native::AllocatorState> TorchAllocator::getCheckpointState(c10::DeviceIndex device, c10::MempoolId_t pool)
{
	auto checkpoint = std::make_shared<TorchCheckpoint>();
	checkpoint->device = device;
	checkpoint->id = pool;
	checkpoint->blocks = on(device).live_in(pool);
	return checkpoint;
}

native::CheckpointDelta TorchAllocator::setCheckpointPoolState(c10::DeviceIndex device, std::shared_ptr<native::AllocatorState> state)
{
	const auto checkpoint = std::dynamic_pointer_cast<TorchCheckpoint>(state);
	TORCH_CHECK(checkpoint != nullptr && checkpoint->device == device, "Seam: no checkpoint of a memory pool of device ", static_cast<int>(device));
	native::CheckpointDelta delta;
	on(device).go_back(checkpoint->id, checkpoint->blocks, places(*checkpoint), &delta.ptrs_freed);
	std::unordered_set<void *> live;
	for (const auto &entry : checkpoint->blocks) {
		delta.dataptrs_allocd.emplace_back(entry.first, entry.first, raw_deleter(), c10::Device(c10::kCUDA, device));
		live.insert(entry.first);
	}
	for (void *freed : delta.ptrs_freed) {
		if (live.count(freed) == 0)
			shares_.forget(freed);
	}
	return delta;
}

} /* namespace seam */
