/* torch_ipc.cpp: blocks as file descriptors, and the descriptors of other processes as memory. */
#include "torch_ipc.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <c10/cuda/CUDAException.h>

namespace seam
{

namespace
{

constexpr char magic[8] = {'S', 'E', 'A', 'M', 'I', 'P', 'C', '2'};

struct HandleHead {
	char magic[8];
	int64_t process;
	int32_t device;
	int32_t chunk_count;
};

struct HandleChunk {
	int64_t descriptor; /* in that process */
	uint64_t serial;    /* no other chunk's, in no process */
	uint64_t bytes;
};

/* A call of the driver, of the version that is asked for; found by way of the runtime, whoever's it is. */
template <typename Function> Function driver_call(const char *name)
{
	void *found = nullptr;
	cudaDriverEntryPointQueryResult status{};
	C10_CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status));
	TORCH_CHECK(status == cudaDriverEntryPointSuccess && found != nullptr, "Seam: the driver has no ", name);
	return reinterpret_cast<Function>(found);
}

#define SEAM_TORCH_DRIVER(name) driver_call<decltype(&name)>(#name)

void must_do(CUresult result, const char *what)
{
	TORCH_CHECK(result == CUDA_SUCCESS, "Seam: opening another process's memory: ", what,
		" failed with driver error ", static_cast<int>(result));
}

/* The device is current for as long as this lives. */
class OnDevice
{
public:
	explicit OnDevice(int device)
	{
		C10_CUDA_CHECK(cudaGetDevice(&before_));
		C10_CUDA_CHECK(cudaSetDevice(device));
	}
	~OnDevice()
	{
		(void)cudaSetDevice(before_);
	}
	OnDevice(const OnDevice &) = delete;
	OnDevice &operator=(const OnDevice &) = delete;

private:
	int before_ = 0;
};

/* A descriptor of another process as one of ours. */
int fetch(int64_t process, int64_t descriptor)
{
	if (process == getpid())
		return dup(static_cast<int>(descriptor));
	const auto other = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
	const auto ours = other < 0 ? -1 : static_cast<int>(syscall(__NR_pidfd_getfd, other, descriptor, 0));
	const int error = errno;
	if (other >= 0)
		(void)close(other);
	errno = error;
	return ours;
}

/* Chunks of another process, mapped one behind the other. */
class Mapping
{
public:
	explicit Mapping(int device) : device_(device)
	{
	}
	Mapping(const Mapping &) = delete;
	Mapping &operator=(const Mapping &) = delete;

	~Mapping()
	{
		try {
			const OnDevice guard(device_);
			(void)cudaDeviceSynchronize();
			for (size_t i = 0; i < mapped_.size(); i++)
				(void)SEAM_TORCH_DRIVER(cuMemUnmap)(mapped_[i].first, mapped_[i].second);
			if (base_ != 0)
				(void)SEAM_TORCH_DRIVER(cuMemAddressFree)(base_, bytes_);
		} catch (const c10::Error &) {
			/* The driver has shut down, and the mapping with it. */
			return;
		}
	}

	void *map(const HandleHead &head, const std::vector<HandleChunk> &chunks)
	{
		const OnDevice guard(device_);
		for (const HandleChunk &chunk : chunks)
			bytes_ += chunk.bytes;
		must_do(SEAM_TORCH_DRIVER(cuMemAddressReserve)(&base_, bytes_, 0, 0, 0), "reserving addresses");
		CUdeviceptr at = base_;
		for (const HandleChunk &chunk : chunks) {
			map_chunk(head.process, chunk, at);
			at += chunk.bytes;
		}
		CUmemAccessDesc access{};
		access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		access.location.id = device_;
		access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		must_do(SEAM_TORCH_DRIVER(cuMemSetAccess)(base_, bytes_, &access, 1), "access");
		return reinterpret_cast<void *>(base_);
	}

private:
	void map_chunk(int64_t process, const HandleChunk &chunk, CUdeviceptr at)
	{
		const int descriptor = fetch(process, chunk.descriptor);
		TORCH_CHECK(descriptor >= 0, "Seam: the memory of process ", process,
			" cannot be opened: ", strerror(errno),
			". It must still hold the tensor, and this process must be allowed to fetch its file descriptors (pidfd_getfd: in "
			"containers the capability SYS_PTRACE).");
		CUmemGenericAllocationHandle handle = 0;
		CUresult result = SEAM_TORCH_DRIVER(cuMemImportFromShareableHandle)(&handle,
			reinterpret_cast<void *>(static_cast<intptr_t>(descriptor)),
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
		(void)close(descriptor);
		must_do(result, "importing a chunk");
		result = SEAM_TORCH_DRIVER(cuMemMap)(at, chunk.bytes, 0, handle, 0);
		(void)SEAM_TORCH_DRIVER(cuMemRelease)(handle);
		must_do(result, "mapping a chunk");
		mapped_.emplace_back(at, chunk.bytes);
	}

	int device_;
	CUdeviceptr base_ = 0;
	size_t bytes_ = 0;
	std::vector<std::pair<CUdeviceptr, size_t>> mapped_;
};

} /* namespace */

/* Gives up what the share uses. With the lock. */
void TorchShares::drop(const Share &share)
{
	for (const ChunkName &name : share.chunks) {
		auto at = chunks_.find(name);
		if (--at->second.users > 0)
			continue;
		(void)close(at->second.descriptor);
		chunks_.erase(at);
	}
}

/* One user more of the chunk that is the block's index-th; exported, if it is the first. With the lock. */
enum seam_rc TorchShares::use_chunk(
	struct seam_pool *pool, ChunkName name, void *base, size_t index, const Chunk **ret_chunk)
{
	auto at = chunks_.find(name);
	if (at == chunks_.end()) {
		int descriptor = -1;
		const enum seam_rc rc = seam_block_export(pool, base, index, &descriptor);
		if (rc != SEAM_OK)
			return rc;
		/* They begin anywhere, for an older process may have had this one's number. */
		if (serial_ == 0 && getrandom(&serial_, sizeof serial_, 0) != sizeof serial_)
			serial_ = static_cast<uint64_t>(time(nullptr)) << 32;
		at = chunks_.emplace(name, Chunk{descriptor, ++serial_, 0}).first;
	}
	at->second.users++;
	*ret_chunk = &at->second;
	return SEAM_OK;
}

TorchShares::Share TorchShares::make(struct seam_pool *pool, c10::DeviceIndex device, void *base)
{
	size_t count = 0;
	enum seam_rc rc = seam_block_chunks(pool, base, nullptr, 0, &count);
	std::vector<struct seam_block_chunk> chunks(count);
	if (rc == SEAM_OK)
		rc = seam_block_chunks(pool, base, chunks.data(), count, &count);
	TORCH_CHECK(rc == SEAM_OK && count == chunks.size(), "Seam: sharing memory: ", seam_rc_text(rc));
	HandleHead head{};
	memcpy(head.magic, magic, sizeof magic);
	head.process = getpid();
	head.device = device;
	head.chunk_count = static_cast<int32_t>(count);
	Share share;
	share.first_bytes = chunks[0].first_bytes;
	share.handle.assign(reinterpret_cast<const char *>(&head), sizeof head);
	for (size_t i = 0; i < count && rc == SEAM_OK; i++) {
		const ChunkName name{device, chunks[i].chunk};
		const Chunk *used = nullptr;
		rc = use_chunk(pool, name, base, i, &used);
		if (rc != SEAM_OK)
			break;
		share.chunks.push_back(name);
		const HandleChunk chunk{used->descriptor, used->serial, chunks[i].bytes};
		share.handle.append(reinterpret_cast<const char *>(&chunk), sizeof chunk);
	}
	if (rc != SEAM_OK)
		drop(share);
	TORCH_CHECK(rc == SEAM_OK, "Seam: sharing memory: ", seam_rc_text(rc),
		". Tensors can go to other processes by way of the host (tensor.cpu()).");
	return share;
}

native::ShareableHandle TorchShares::share(struct seam_pool *pool, c10::DeviceIndex device, void *base, void *ptr)
{
	const uint64_t config = seam_pool_config(pool)->export_as;
	TORCH_CHECK(config == 1,
		"Seam: memory is shared with other processes only with SEAM_CONF=export_as:fd, set before the program starts. "
		"Otherwise send tensors by way of the host (tensor.cpu()).");
	std::lock_guard<std::mutex> guard(lock_);
	auto at = shares_.find(base);
	if (at == shares_.end())
		at = shares_.emplace(base, make(pool, device, base)).first;
	any_ = true;
	const auto offset =
		static_cast<ptrdiff_t>(at->second.first_bytes) + (static_cast<char *>(ptr) - static_cast<char *>(base));
	return {offset, at->second.handle};
}

void TorchShares::close_block(void *base)
{
	std::lock_guard<std::mutex> guard(lock_);
	auto at = shares_.find(base);
	if (at == shares_.end())
		return;
	drop(at->second);
	shares_.erase(at);
}

/* With the lock. */
bool TorchShares::is_ours(int64_t descriptor, uint64_t serial) const
{
	for (const auto &[name, chunk] : chunks_) {
		if (chunk.descriptor == descriptor)
			return chunk.serial == serial;
	}
	return false;
}

/* The mapping is gone, unless the handle was opened anew meanwhile. */
void TorchShares::close_handle(const std::string &handle)
{
	std::lock_guard<std::mutex> guard(lock_);
	auto at = opened_.find(handle);
	if (at != opened_.end() && at->second.expired())
		opened_.erase(at);
}

std::shared_ptr<void> TorchShares::open(const std::string &handle)
{
	HandleHead head{};
	const size_t rest = handle.size() - std::min(handle.size(), sizeof head);
	if (handle.size() >= sizeof head)
		memcpy(&head, handle.data(), sizeof head);
	TORCH_CHECK(memcmp(head.magic, magic, sizeof magic) == 0 && head.chunk_count > 0 &&
			rest == static_cast<size_t>(head.chunk_count) * sizeof(HandleChunk),
		"Seam: this is no handle of Seam's: both processes must use Seam as PyTorch's allocator");
	std::lock_guard<std::mutex> guard(lock_);
	auto at = opened_.find(handle);
	if (at != opened_.end()) {
		if (std::shared_ptr<void> known = at->second.lock())
			return known;
	}
	std::vector<HandleChunk> chunks(static_cast<size_t>(head.chunk_count));
	memcpy(chunks.data(), handle.data() + sizeof head, rest);
	/* Of another process nobody here can say it; PyTorch keeps the tensor there until it is closed here. */
	for (const HandleChunk &chunk : chunks)
		TORCH_CHECK(head.process != getpid() || is_ours(chunk.descriptor, chunk.serial),
			"Seam: the memory of process ", head.process, " cannot be opened: it was freed");
	auto mapping = std::make_shared<Mapping>(head.device);
	void *base = mapping->map(head, chunks);
	std::shared_ptr<void> result(base, [this, handle, mapping](void *) mutable {
		mapping.reset();
		close_handle(handle);
	});
	opened_[handle] = result;
	return result;
}

} /* namespace seam */
