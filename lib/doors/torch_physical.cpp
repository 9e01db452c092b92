/* torch_physical.cpp: a pool's physical memory as PyTorch's snapshots show it: segments that are cut into blocks.
 *
 * A segment is a stretch of addresses without gaps, all of whose memory belongs to one view. Memory that has more than
 * one address is shown once: at the view that owns it, or, while a plan has blocks there, in the plan's arena. So the
 * segments' sizes add up to what is reserved, and the blocks of a segment to its size, as PyTorch's tools expect. What
 * views have lost to others is left out: it is somebody else's memory by now.
 */
#include <algorithm>

#include "torch_device.h"

namespace seam
{

namespace
{

struct Piece {
	uint64_t va, bytes, requested_bytes, stream;
	uint64_t block; /* where the block that it is a part of begins; 0: idle in an arena */
	enum seam_block_state state;
};

/* A view with all that was said about it. */
struct View {
	struct seam_view_info info;
	std::vector<struct seam_slot_info> slots;
	std::vector<struct seam_block_info> blocks;
};

struct Visit {
	std::vector<View> views;

	static int view(void *user, const struct seam_view_info *info)
	{
		static_cast<Visit *>(user)->views.push_back({*info, {}, {}});
		return 0;
	}

	static int slot(void *user, const struct seam_slot_info *info)
	{
		static_cast<Visit *>(user)->views.back().slots.push_back(*info);
		return 0;
	}

	static int block(void *user, const struct seam_block_info *info)
	{
		static_cast<Visit *>(user)->views.back().blocks.push_back(*info);
		return 0;
	}
};

struct Range {
	uint64_t first, end;
};

bool is_owned(enum seam_block_state state)
{
	return state != SEAM_BLOCK_LOST && state != SEAM_BLOCK_TRANSIT;
}

/* Where plans use memory: for each chunk, the parts of it that are leased to them, as offsets. */
using Leases = std::map<uint64_t, std::vector<Range>>;

Leases leases_of(const std::vector<View> &views)
{
	Leases leases;
	for (const View &view : views) {
		for (const auto &block : view.blocks) {
			if (block.state != SEAM_BLOCK_LEASED)
				continue;
			for (const auto &slot : view.slots) {
				const uint64_t first = std::max(block.va, slot.va),
					       end = std::min(block.va + block.bytes, slot.va + slot.bytes);
				if (first < end && slot.owned)
					leases[slot.chunk].push_back({first - slot.va, end - slot.va});
			}
		}
	}
	return leases;
}

/* A view in which a plan has blocks: it owns none of the memory there. One without live blocks is shown where its
 * memory belongs. */
bool is_arena(const View &view)
{
	const auto owned = [](const struct seam_slot_info &slot) { return slot.owned; };
	const auto used = [](const struct seam_block_info &block) {
		return block.state == SEAM_BLOCK_LIVE || block.state == SEAM_BLOCK_PENDING;
	};
	return std::none_of(view.slots.begin(), view.slots.end(), owned) &&
		std::any_of(view.blocks.begin(), view.blocks.end(), used);
}

class Builder
{
public:
	Builder(c10::DeviceIndex device, std::vector<native::SegmentInfo> &segments)
		: device_(device), segments_(segments)
	{
	}

	void begin(const struct seam_view_info &view, c10::MempoolId_t pool)
	{
		view_ = view;
		pool_ = pool;
		open_ = false;
	}

	void add(const Piece &piece)
	{
		if (!open_ || end_ != piece.va) {
			native::SegmentInfo segment;
			segment.device = device_;
			segment.address = piece.va;
			segment.is_large = !view_.small;
			segment.owner_private_pool_id = pool_;
			segments_.push_back(segment);
			open_ = true;
		}
		native::SegmentInfo &segment = segments_.back();
		if (!segment.blocks.empty() && last_ == piece.block) {
			extend(segment, piece);
			return;
		}
		last_ = piece.block;
		native::BlockInfo block;
		block.size = piece.bytes;
		block.requested_size = piece.requested_bytes;
		block.allocated = piece.state == SEAM_BLOCK_LIVE;
		block.active = block.allocated || piece.state == SEAM_BLOCK_PENDING;
		if (segment.stream == nullptr)
			segment.stream = reinterpret_cast<cudaStream_t>(piece.stream);
		segment.total_size += block.size;
		segment.allocated_size += block.allocated ? block.size : 0;
		segment.active_size += block.active ? block.size : 0;
		segment.requested_size += block.requested_size;
		segment.blocks.push_back(block);
		end_ = piece.va + piece.bytes;
	}

private:
	/* The last block goes on. */
	void extend(native::SegmentInfo &segment, const Piece &piece)
	{
		native::BlockInfo &block = segment.blocks.back();
		block.size += piece.bytes;
		segment.total_size += piece.bytes;
		segment.allocated_size += block.allocated ? piece.bytes : 0;
		segment.active_size += block.active ? piece.bytes : 0;
		end_ = piece.va + piece.bytes;
	}

	c10::DeviceIndex device_;
	std::vector<native::SegmentInfo> &segments_;
	struct seam_view_info view_ = {};
	c10::MempoolId_t pool_ = {0, 0};
	bool open_ = false;
	uint64_t end_ = 0;
	uint64_t last_ = 0; /* block of the last piece */
};

/* The view's own memory: all of it, but what is shown in an arena. */
void show_owned(const View &view, bool arenas, Builder &builder)
{
	for (const auto &block : view.blocks) {
		if (is_owned(block.state) && !(arenas && block.state == SEAM_BLOCK_LEASED))
			builder.add(
				{block.va, block.bytes, block.requested_bytes, block.stream, block.va, block.state});
	}
}

/* The leased parts of an arena, cut into the plan's blocks and what is idle between them. */
void show_arena(const View &view, const Leases &leases, Builder &builder)
{
	auto block = view.blocks.begin();
	for (const auto &slot : view.slots) {
		auto lease = leases.find(slot.chunk);
		if (lease == leases.end())
			continue;
		for (const Range &range : lease->second) {
			uint64_t at = slot.va + range.first;
			const uint64_t end = slot.va + range.end;
			while (at < end) {
				while (block != view.blocks.end() && block->va + block->bytes <= at)
					++block;
				const bool none = block == view.blocks.end() || block->va >= end;
				const uint64_t until = none ? end
					: block->va > at    ? block->va
							    : std::min(end, block->va + block->bytes);
				if (none || block->va > at)
					builder.add({at, until - at, 0, 0, 0, SEAM_BLOCK_FREE});
				else
					builder.add({at, until - at, at == block->va ? block->requested_bytes : 0,
						block->stream, block->va, block->state});
				at = until;
			}
		}
	}
}

} /* namespace */

/* Chunks that the core made and gave back since the last look, for the history: `context` is of the request that has
 * just been served, or of the call that emptied the cache. With the lock. */
void TorchDevice::follow(cudaStream_t stream, const TorchContext &context)
{
	struct seam_chunk_event events[64];
	size_t count = 0;
	do {
		if (seam_chunk_events(pool_, &next_event_, events, sizeof events / sizeof events[0], &count) != SEAM_OK)
			return; /* a device without chunks, or no memory to remember them */
		for (size_t i = 0; i < count; i++)
			history_.add_segment(events[i].made, device_, events[i].va, events[i].bytes, stream, context);
	} while (count != 0);
}

/* The history begins here, as far as it is of this device. */
void TorchDevice::follow_from_now()
{
	std::lock_guard guard(lock_);
	next_event_ = 0;
	if (has_pool())
		follow(nullptr, nullptr);
}

std::vector<native::SegmentInfo> TorchDevice::segments(c10::MempoolId_t pool_id)
{
	std::vector<native::SegmentInfo> segments;
	if (!has_pool())
		return segments;
	Visit visit;
	const struct seam_visitor visitor = {Visit::view, Visit::slot, Visit::block};
	enum seam_rc rc = seam_snapshot_visit(pool(), &visitor, &visit);
	TORCH_CHECK(rc == SEAM_OK, "Seam: snapshot: ", seam_rc_text(rc));
	const Leases leases = leases_of(visit.views);
	const bool arenas = std::any_of(visit.views.begin(), visit.views.end(), is_arena);
	Builder builder(device_, segments);
	struct seam_stats stats;
	const bool told = stats_of(pool(), &stats);
	std::lock_guard guard(lock_);
	if (told)
		sweep(stats);
	if (history_.enabled())
		follow(nullptr, nullptr);
	for (const View &view : visit.views) {
		const c10::MempoolId_t name =
			view.info.private_id != 0 ? privates_.name_of(view.info.private_id) : c10::MempoolId_t{0, 0};
		if (pool_id != c10::MempoolId_t{0, 0} && name != pool_id)
			continue;
		builder.begin(view.info, name);
		if (is_arena(view))
			show_arena(view, leases, builder);
		else
			show_owned(view, arenas, builder);
	}
	for (auto &segment : segments) {
		uint64_t address = segment.address;
		for (auto &block : segment.blocks) {
			const TorchBlock *known =
				block.allocated ? blocks_.find(reinterpret_cast<void *>(address)) : nullptr;
			if (known != nullptr)
				block.context_when_allocated = known->context();
			address += block.size;
		}
	}
	std::sort(segments.begin(), segments.end(),
		[](const auto &left, const auto &right) { return left.address < right.address; });
	return segments;
}

namespace
{

constexpr uint64_t granularity_bytes = UINT64_C(2) << 20; /* of chunks */

/* The largest free block. */
struct Largest {
	uint64_t bytes = 0;

	static int see(void *user, const struct seam_block_info *block)
	{
		auto *largest = static_cast<Largest *>(user);
		if (block->state == SEAM_BLOCK_FREE)
			largest->bytes = std::max(largest->bytes, block->bytes);
		return 0;
	}
};

} /* namespace */

/* The largest free block; or what is cached in whole chunks, stitched into one with what the device has left, as far as
 * this process may take it. cuDNN chooses its algorithms by this figure, so memory that is only not taken yet counts.
 */
size_t TorchDevice::largest()
{
	Largest largest;
	const struct seam_visitor visitor = {nullptr, nullptr, Largest::see};
	struct seam_stats stats;
	uint64_t left_bytes = 0;
	enum seam_rc rc = seam_device_memory(pool(), &left_bytes, nullptr);
	if (rc == SEAM_OK)
		rc = seam_snapshot_visit(pool(), &visitor, &largest);
	TORCH_CHECK(rc == SEAM_OK && stats_of(pool(), &stats), "Seam: the largest free block: ", seam_rc_text(rc));
	std::lock_guard guard(lock_);
	if (capacity_bytes_ != 0)
		left_bytes = std::min(left_bytes, capacity_bytes_ - std::min(capacity_bytes_, stats.reserved_bytes));
	left_bytes -= left_bytes % granularity_bytes;
	return std::max(largest.bytes, stats.unused_whole_bytes + left_bytes);
}

} /* namespace seam */
