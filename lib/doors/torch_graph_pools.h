/* torch_graph_pools.h: the private pools of one device (CUDA graphs, torch.cuda.MemPool), by PyTorch's pairs of
 * numbers, and which of them a request goes to.
 *
 * The pools themselves are the C core's: a pool's references are references there. Here is what PyTorch adds: filters
 * that are asked at every request, uses that it counts, pools that may help when memory runs out, pools whose blocks
 * are each one physical allocation.
 *
 * Invariants: a pool that is here has a use; a pool is open in the core (its streams are asked whether they are
 * captured) as long as a filter of it is here. The last reference is dropped only after the device was waited for, for
 * nobody sees replays of the pool's graphs; while a filter is open, which forbids waiting, it is put off until the last
 * of them is gone.
 *
 * Locks: the device's, which the caller holds at every call. References are dropped, and the device is waited for, by
 * the caller, without it.
 */
#ifndef SEAM_TORCH_GRAPH_POOLS_H
#define SEAM_TORCH_GRAPH_POOLS_H

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <seam/seam.h>

#include "torch_versions.h"

namespace seam
{

struct TorchPrivate {
	c10::MempoolId_t id;
	uint64_t number; /* in the core */
	int uses = 0;
	bool use_on_oom = false;                 /* serves others before they run out of memory */
	bool no_split = false;                   /* every block is a physical allocation of its own */
	bool served = false;                     /* something was asked of the core for it */
	native::CUDAAllocator *server = nullptr; /* PyTorch's own allocator, if it serves the pool:
						    torch_external_pools.cpp; NULL: the core does */
};

class TorchPrivates
{
public:
	void hold(struct seam_pool *pool, c10::MempoolId_t id);
	void open(struct seam_pool *pool, c10::MempoolId_t id, std::function<bool(cudaStream_t)> filter);
	void close(struct seam_pool *pool, c10::MempoolId_t id);

	/* One use less. Returns the number of the pool that has a reference to be dropped at once; 0: it was the last,
	 * and waits. */
	uint64_t release(c10::MempoolId_t id);
	/* The last references that wait, which are the caller's to drop when the device was waited for. None while a
	 * filter is open. */
	std::vector<uint64_t> take_leaving();
	/* They have been dropped; or not, and wait again. */
	void settle(const std::vector<uint64_t> &numbers, bool dropped);

	/* NULL if there is none. */
	std::shared_ptr<TorchPrivate> find(c10::MempoolId_t id) const;
	/* Throws if there is none. */
	std::shared_ptr<TorchPrivate> known(c10::MempoolId_t id) const;

	bool has_routes() const
	{
		return !routes_.empty();
	}
	/* Also those that wait. */
	bool has_any() const
	{
		return !names_.empty();
	}

	/* Where a request on this stream goes: the newest filter that wants it; NULL for the common memory. */
	std::shared_ptr<TorchPrivate> route(cudaStream_t stream) const;

	std::vector<std::shared_ptr<TorchPrivate>> helpers() const;

	/* PyTorch's name of a pool of the core; {0, 0} if it has none. */
	c10::MempoolId_t name_of(uint64_t number) const;

private:
	struct Route {
		std::shared_ptr<TorchPrivate> to;
		std::function<bool(cudaStream_t)> filter;
	};

	std::shared_ptr<TorchPrivate> find_or_make(struct seam_pool *pool, c10::MempoolId_t id);

	uint64_t made_ = 0;
	std::map<c10::MempoolId_t, std::shared_ptr<TorchPrivate>> pools_;
	std::map<uint64_t, c10::MempoolId_t> names_; /* of all that still have a reference in the core */
	std::vector<Route> routes_;                  /* oldest first */
	std::vector<uint64_t> leaving_;              /* last references that wait */
};

} /* namespace seam */

#endif
