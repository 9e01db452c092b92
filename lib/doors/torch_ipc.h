/* torch_ipc.h: memory shared with other processes, by file descriptors (option export_as:fd).
 *
 * A handle names this process, and for each physical chunk of a block a descriptor in it; the other process fetches the descriptors
 * (pidfd_getfd), and maps the chunks as they lie here, one behind the other. It sees whole chunks, so neighbours of the block too, as with
 * PyTorch's own allocator. Whoever opened a block keeps its physical memory for as long as its mapping lives.
 *
 * Locks: `lock_` guards both tables. Under it are made only calls that share and open; nothing else is locked then.
 */
#ifndef SEAM_TORCH_IPC_H
#define SEAM_TORCH_IPC_H

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include <seam/seam.h>

#include "torch_versions.h"

namespace seam {

class TorchShares {
public:
	/* What another process needs to reach ptr, in the live block at `base`. Throws. */
	native::ShareableHandle share(struct seam_pool *pool, c10::DeviceIndex device, void *base, void *ptr);

	/* The memory of another process's handle, where it is mapped now: where its first chunk begins. Throws. */
	std::shared_ptr<void> open(const std::string &handle);

	/* The block at `base` is freed: its descriptors are closed. */
	void forget(void *base)
	{
		if (__builtin_expect(any_.load(std::memory_order_relaxed), 0))
			close_block(base);
	}

private:
	struct Share {
		std::string handle;
		uint64_t first_bytes; /* the block's offset in its first chunk */
		std::vector<int> descriptors;
	};

	void close_block(void *base);
	Share make(struct seam_pool *pool, c10::DeviceIndex device, void *base);

	std::mutex lock_;
	std::atomic<bool> any_{false};
	std::map<void *, Share> shares_;
	std::map<std::string, std::weak_ptr<void>> opened_;
};

} /* namespace seam */

#endif
