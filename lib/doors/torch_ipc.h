/* torch_ipc.h: memory shared with other processes, by file descriptors (option export_as:fd).
 *
 * A handle names this process, and for each physical chunk of a block a descriptor in it; the other process fetches the
 * descriptors (pidfd_getfd), and maps the chunks as they lie here, one behind the other. It sees whole chunks, so
 * neighbours of the block too, as with PyTorch's own allocator. Whoever opened a block keeps its physical memory for as
 * long as its mapping lives.
 *
 * A chunk has one descriptor, however many shared blocks lie in it, and blocks in the same chunks have the same handle,
 * which is mapped once. The numbers of descriptors come again when they are closed, so a handle has a serial number for
 * each beside it, which does not.
 *
 * Invariants: a chunk is in `chunks_` as long as a shared block lies in it, a handle in `opened_` as long as somebody
 * uses its mapping. Locks: `lock_` guards the tables. Under it are made only calls that share and open; nothing else is
 * locked then.
 */
#ifndef SEAM_TORCH_IPC_H
#define SEAM_TORCH_IPC_H

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include <seam/seam.h>

#include "torch_versions.h"

namespace seam
{

class TorchShares
{
public:
	/* What another process needs to reach ptr, in the live block at `base`. Throws. */
	native::ShareableHandle share(struct seam_pool *pool, c10::DeviceIndex device, void *base, void *ptr);

	/* The memory of another process's handle, where it is mapped now: where its first chunk begins. Throws. */
	std::shared_ptr<void> open(const std::string &handle);

	/* The block at `base` is freed: descriptors that no other block needs are closed. */
	void forget(void *base)
	{
		if (__builtin_expect(any_.load(std::memory_order_relaxed), 0))
			close_block(base);
	}

private:
	using ChunkName = std::pair<c10::DeviceIndex, uint64_t>; /* and the core's number */

	struct Chunk {
		int descriptor;
		uint64_t serial;
		size_t users; /* shared blocks */
	};

	struct Share {
		std::string handle;
		uint64_t first_bytes; /* the block's offset in its first chunk */
		std::vector<ChunkName> chunks;
	};

	void close_block(void *base);
	void drop(const Share &share);
	enum seam_rc use_chunk(
		struct seam_pool *pool, ChunkName name, void *base, size_t index, const Chunk **ret_chunk);
	Share make(struct seam_pool *pool, c10::DeviceIndex device, void *base);
	bool is_ours(int64_t descriptor, uint64_t serial) const;
	void close_handle(const std::string &handle);

	std::mutex lock_;
	std::atomic<bool> any_{false};
	std::map<ChunkName, Chunk> chunks_;
	std::map<void *, Share> shares_;
	std::map<std::string, std::weak_ptr<void>> opened_;
	uint64_t serial_ = 0; /* the newest; 0: none was given */
};

} /* namespace seam */

#endif
