/* torch_device.h: one device as the allocator class sees it: its live blocks, what PyTorch counts about them, its
 * private pools.
 *
 * All memory and every policy is the C core's. What the core does not answer is kept here: how much of a block was
 * asked for (PyTorch's counts and trace entries need it at the free), the context it was made in, which private pool it
 * is of.
 *
 * Invariants: a block is in `blocks_` from after the core gave it until before the core has it back, so an address that
 * the core gives again is never still here; a block freed while other streams use it is in `leaving_` until the core no
 * longer holds it back. Trackers are shown an entry after everything here has changed, so what they ask is answered as
 * of after it.
 *
 * Locks: `lock_` guards everything but the pool's pointer; the core is called under it only for questions and private
 * pools, never for memory, nor to wait. It is recursive, as that of PyTorch's own allocator is: trackers, which run
 * under it, may ask whatever there is to be asked. They must not allocate or free, which would have the core serve a
 * request under it. Whoever calls trackers holds no iterator or pointer into the tables across it. Order: lock_, then
 * the core's locks and the history's.
 */
#ifndef SEAM_TORCH_DEVICE_H
#define SEAM_TORCH_DEVICE_H

#include <map>
#include <mutex>
#include <unordered_set>

#include <seam/seam.h>
#include <seam/snapshot.h>
#include <seam/stats.h>
#include <seam/torch.h>

#include "torch_blocks.h"
#include "torch_counts.h"
#include "torch_history.h"
#include "torch_leaving.h"

namespace seam
{

/* A request. */
struct TorchAsk {
	size_t bytes;
	cudaStream_t stream;
	std::shared_ptr<TorchPrivate> in;
	bool contiguous;

	size_t rounded() const
	{
		return TorchBlock::rounded(bytes);
	}
};

/* A block as it was live when a checkpoint was taken. */
struct TorchKept {
	void *ptr;
	size_t requested_bytes;
	cudaStream_t stream;
	TorchContext context;
};

/* The core's figures as of now. False, and every figure 0, if it tells none. */
bool stats_of(struct seam_pool *pool, struct seam_stats *ret_stats);

/* Figures of physical memory, which is the core's: as they were when somebody looked. */
struct TorchSeen {
	c10::CachingAllocator::StatArray segment, reserved_bytes, inactive_split_bytes;
	std::map<c10::MempoolId_t, c10::CachingAllocator::StatArray>
		private_reserved_bytes; /* of every pool that was seen to have some */
	int64_t ooms = 0, rejections = 0;
	int64_t chunks_carried = 0, reserved_carried = 0; /* at the last reset */
	uint64_t made_before = 0, made_bytes_before = 0, retries_before = 0, creates_before = 0, releases_before = 0,
		 waits_before = 0; /* the core's, at the last reset */

	template <typename Visitor> void each(Visitor visit)
	{
		for (c10::CachingAllocator::StatArray *array : {&segment, &reserved_bytes, &inactive_split_bytes}) {
			for (c10::CachingAllocator::Stat &stat : *array)
				visit(stat);
		}
		for (auto &[id, array] : private_reserved_bytes) {
			for (c10::CachingAllocator::Stat &stat : array)
				visit(stat);
		}
	}
};

class TorchDevice
{
public:
	TorchDevice(c10::DeviceIndex device, TorchHistory &history) : device_(device), history_(history)
	{
	}

	/* The core's pool, made now if need be. Throws. */
	struct seam_pool *pool();
	bool has_pool() const
	{
		return pool_.load(std::memory_order_acquire) != nullptr;
	}

	/* Throws out of memory, among others. bytes: at least 1. */
	void *take(size_t bytes, cudaStream_t stream);
	/* False: it is not of this device. context: of the free. */
	bool give_back(void *ptr, const TorchContext &context);
	/* Nothing if the block is of this stream, or not of this device. */
	void record(void *ptr, cudaStream_t stream);
	/* A stream that stands for this device's default one where memory of another device is used: its work comes
	 * after all that the default stream was given before, and NULL would mean the other device's. Made once, for
	 * the life of the process. Throws. */
	cudaStream_t default_stream();
	/* Returns cached memory to the device: all of it, or that of one private pool, if it is there. context: of the
	 * call. */
	void trim(c10::MempoolId_t pool, const TorchContext &context);

	double fraction();
	void limit(double fraction);
	/* The most bytes that one request could get, if nobody else takes memory meanwhile. */
	size_t largest();
	/* False: no live block of this device contains it. */
	bool find(void *ptr, void **ret_base, size_t *ret_bytes);
	TorchContext context_of(const void *ptr);
	/* False: no live block of this device begins there. */
	bool annotate(const void *ptr, const std::string &text);
	/* A snapshot was made, in which so many bytes were active: an entry of the history. */
	void mark_snapshot(size_t active_bytes);

	void follow_from_now();

	native::DeviceStats stats();
	void reset_accumulated();
	void reset_peaks();
	/* What is there, physical memory only; the pool's, or {0, 0} for all. */
	std::vector<native::SegmentInfo> segments(c10::MempoolId_t pool);

	/* server: see TorchPrivate. */
	void hold_private(c10::MempoolId_t id, native::CUDAAllocator *server);
	/* NULL also if there is no such pool. */
	native::CUDAAllocator *server_of(c10::MempoolId_t id);
	void open_private(c10::MempoolId_t id, std::function<bool(cudaStream_t)> filter);
	void close_private(c10::MempoolId_t id);
	void release_private(c10::MempoolId_t id);
	int private_uses(c10::MempoolId_t id);
	void set_use_on_oom(c10::MempoolId_t id, bool use);
	void set_no_split(c10::MempoolId_t id);
	bool holds_exactly(c10::MempoolId_t id, const std::unordered_set<void *> &expected);
	/* What is live in a private pool, by address. Throws if there is none. */
	std::vector<TorchKept> live_in(c10::MempoolId_t id);
	/* These are live in it instead, at their addresses, which `wanted` tells the core. ret_freed: what was live.
	 * Throws, and nothing has changed then. */
	void go_back(c10::MempoolId_t id, const std::vector<TorchKept> &blocks,
		const std::vector<struct seam_private_block> &wanted, std::vector<void *> *ret_freed);

private:
	enum seam_rc request(const TorchAsk &ask, uint64_t private_number, void **ret_ptr);
	enum seam_rc last_resorts(TorchAsk &ask, void **ret_ptr);
	TorchAsk ask_for(size_t bytes, cudaStream_t stream);
	enum seam_rc ask_server(const TorchPrivate &helper, const TorchAsk &ask, void **ret_ptr) const;
	void record_served(native::CUDAAllocator *server, void *ptr, cudaStream_t stream) const;
	bool is_plain() const;
	void *take_with_care(size_t bytes, cudaStream_t stream);
	void *finish(TorchAsk ask, enum seam_rc rc, void *ptr, TorchContext context);
	void note(void *ptr, TorchBlock &&block);
	void note_told(void *ptr, TorchBlock &&block);
	void part(void *ptr, TorchBlock &&block, const TorchContext &context);
	[[noreturn]] void fail(const TorchAsk &ask, enum seam_rc rc, TorchContext context);
	bool is_setting_heeded() const;
	void heed_setting();
	void note_shortage(const TorchAsk &ask, bool rejected, uint64_t free_bytes, TorchContext context);
	void observe_shortage(const TorchAsk &ask, bool rejected, uint64_t free_bytes, uint64_t total_bytes);
	void report(void *ptr, int64_t bytes);

	void count(const TorchBlock &block);
	void uncount(const TorchBlock &block);
	void count_leaving(const TorchBlock &block, int64_t change);
	void tell(TorchHistory::Action action, const void *ptr, const TorchBlock &block, TorchContext context);
	void count_gone(const std::vector<TorchGone> &gone);
	void tell_gone(const std::vector<TorchGone> &gone);
	void settle();
	void sweep(const struct seam_stats &stats);
	void look(const struct seam_stats &stats);
	void look_at_privates();
	void follow(cudaStream_t stream, const TorchContext &context);

	const c10::DeviceIndex device_;
	TorchHistory &history_;
	std::atomic<struct seam_pool *> pool_{nullptr};
	std::atomic<bool> routed_{false};     /* some filter is open */
	std::atomic<double> rejects_over_{1}; /* share of the device over which requests are rejected; 1: none are.
						 PyTorch's setting, as heeded last */
	size_t small_bytes_ = 0;

	std::once_flag default_stream_once_;
	cudaStream_t default_stream_ = nullptr;

	mutable std::recursive_mutex lock_;
	TorchBlocks blocks_;
	TorchLeaving leaving_;
	TorchPrivates privates_;
	TorchKinds kinds_;
	TorchSeen seen_;
	uint64_t next_event_ =
		0; /* of the core's chunks, that the history does not have yet; 0: none has been asked for */
	double fraction_ = 1.0;
	uint64_t capacity_bytes_ = 0; /* what the core may take; 0: what the device has */
};

} /* namespace seam */

#endif
