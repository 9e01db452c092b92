/* torch_host.h: Seam as PyTorch's allocator of pinned host memory: the whole of at::HostAllocator.
 *
 * It serves pin_memory=True, data loaders, FSDP and offloading. Every byte comes from the C core (seam_host_alloc()
 * and its like), of SEAM_NO_STREAM, as PyTorch names streams only when it copies. The pool is that of the thread's
 * current device, so that the memory lies beside it; a device that has no pool yet is not given one, if another has.
 *
 * Kept here is what the core does not know, and only where somebody asked for it: the private pools of graphs (from
 * PyTorch 2.11), contexts and trace entries (from 2.14). A block of a private pool is not given to others before the
 * pool's last release: a graph that is replayed reads it again. One that a capture copied from or to is not given to
 * anybody before that.
 *
 * Blocks that PyTorch's own allocator made before stay its own: uses of them are passed on to it.
 *
 * Invariants: a block that was given since blocks are noted is in `noted_` until before the core has it back; what is
 * in `leaving_` was freed, and the core still held it back when somebody last looked; while the core is asked for
 * memory or for figures no block is at hand, but for what other threads free meanwhile.
 *
 * Locks: `lock_` guards everything below it; the core is called under it only for questions. Contexts are gathered, and
 * filters asked, without it; `routes_lock_` is never held together with it. Thread safety: everything may be called
 * from any thread.
 */
#ifndef SEAM_TORCH_HOST_H
#define SEAM_TORCH_HOST_H

#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/CachingHostAllocator.h>

#include <seam/host.h>
#include <seam/seam.h>
#include <seam/snapshot.h>
#include <seam/torch.h>

#include "torch_pinned.h"

namespace seam
{

/* The figures that PyTorch counts since a reset, of all pools together, at the last one. */
struct TorchHostBefore {
	uint64_t allocs = 0, alloc_bytes = 0, parts = 0, part_bytes = 0; /* parts: blocks that came back */
	uint64_t grows = 0, grown_bytes = 0, shrinks = 0, shrunk_bytes = 0;
	uint64_t alloc_ns = 0, alloc_calls = 0, free_ns = 0, free_calls = 0;
	uint64_t sizes[64] = {};
};

/* The same as of now, and gauges, peaks, longest and shortest calls: sums, the most, and the least. */
struct TorchHostTotals : TorchHostBefore {
	struct seam_host_stats now = {};
};

/* Calls visit(pool) for the pool of each device that has one. */
template <typename Visitor> void each_pool(Visitor visit)
{
	for (int device = 0; device < SEAM_TORCH_DEVICES; device++) {
		if (struct seam_pool *pool = seam_torch_pool_made(device))
			visit(pool);
	}
}

class TorchHost : public at::HostAllocator
{
public:
	/* The one of this process; it is never destroyed: tensors are freed until the end. */
	static TorchHost &instance();

	/* Becomes PyTorch's. `own` was in force before, and goes on to serve what it gave. */
	void succeed(at::HostAllocator *own);

	c10::DataPtr allocate(size_t bytes) override;
	void copy_data(void *to, const void *from, size_t bytes) const override;
	bool record_event(void *ptr, void *context, c10::Stream stream) override;
	void empty_cache() override;
	at::HostStats get_stats() override;
	void reset_accumulated_stats() override;
	void reset_peak_stats() override;
#if SEAM_TORCH_HAS_HOST_POOLS
	void begin_allocate_to_pool(c10::MempoolId_t id, std::function<bool(c10::Stream)> filter) override;
	void end_allocate_to_pool(c10::MempoolId_t id) override;
	void release_pool(c10::MempoolId_t id) override;
#endif
#if SEAM_TORCH_HAS_HOST_HISTORY
	void record_history(bool enabled, c10::CachingDeviceAllocator::CreateContextFn recorder, size_t max_entries,
		c10::CachingDeviceAllocator::RecordContext when, bool clear) override;
	bool is_history_enabled() const override;
	std::vector<at::HostSegmentInfo> get_segments() override;
	std::vector<c10::CachingDeviceAllocator::TraceEntry> get_traces() override;
	void record_external_register(void *ptr, size_t bytes) override;
	void record_external_unregister(void *ptr) override;
#endif

	/* For allocate()'s deleter. */
	void give_back(void *context);

private:
	/* A private pool: blocks that came back to it, for nobody else before its last release. */
	struct Private {
		int uses = 0;
		bool gave = false; /* a block, which a graph may read: its end waits for the device */
		std::multimap<size_t, TorchPinned *>
			unused;                  /* by size: no stream has used them, so they may be given again */
		std::vector<TorchPinned *> used; /* kept for the pool's graphs */
	};

	struct Route {
		c10::MempoolId_t id;
		std::function<bool(c10::Stream)> filter;
	};

	TorchPinned *take(size_t bytes, int device, const c10::MempoolId_t &pool);
	TorchPinned *take_at_hand(size_t bytes, int device);
	TorchPinned *take_again(size_t bytes, const c10::MempoolId_t &pool);
	c10::MempoolId_t route();
	bool keep(TorchPinned *block);
	bool note_free(TorchPinned *block);
	void part(TorchPinned *block);
	void flush();
	TorchHostTotals totals() const;
	TorchPinned *record(void *ptr, void *context, cudaStream_t stream);
	void end_released();
	bool close_routes(c10::MempoolId_t id, bool all);
	void begin_notes();
	[[noreturn]] void fail(size_t bytes, struct seam_pool *pool, enum seam_rc rc) const;

#if SEAM_TORCH_HAS_HOST_HISTORY
	using Entry = c10::CachingDeviceAllocator::TraceEntry;
	using Level = c10::CachingDeviceAllocator::RecordContext;

	TorchContext gather(Level level) const;
	void add(Entry::Action action, const void *ptr, size_t bytes, const c10::MempoolId_t &pool,
		TorchContext context);
	void complete(void *ptr);
	void settle();
	void follow_segments(const std::map<uint64_t, uint64_t> &now);

	std::atomic<bool> recording_{false};
	std::atomic<Level> when_{Level::NEVER};
	std::atomic<c10::CachingDeviceAllocator::CreateContextFn> recorder_{nullptr};
	TorchRing<Entry> entries_;              /* lock_ */
	std::map<uint64_t, uint64_t> segments_; /* lock_. Pinned ranges, begin and end, as they were last seen */
	std::unordered_map<void *, TorchPinned>
		external_; /* lock_. What others pinned themselves while it was recorded */
	c10::ApproximateClockToUnixTimeConverter clock_;
#endif

	TorchPinnedBlocks blocks_;
	TorchPinnedAtHand at_hand_; /* blocks of everybody that no stream has used since they were given; not while
				       blocks are noted */
	at::HostAllocator *own_ = nullptr;
	/* Whether blocks are noted: from the first private pool or recording on, for the rest of the process. */
	std::atomic<bool> notes_{false};
	std::atomic<bool> routed_{false}; /* a filter is open */
	std::atomic<bool> forked_{false}; /* a child of fork(), where the parent's pinned memory is ordinary memory:
					     nothing is given, and what is freed stays */

	std::shared_mutex routes_lock_;
	std::vector<Route> routes_; /* routes_lock_, which is held while filters are asked. Oldest first */

	mutable std::mutex lock_;
	std::unordered_map<void *, TorchPinned *> noted_;
	std::unordered_map<void *, TorchPinned> leaving_;
	std::map<c10::MempoolId_t, Private> privates_;
	TorchHostBefore before_;
};

} /* namespace seam */

#endif
