/* torch_host.cpp: pinned memory, uses, private pools. See torch_host.h. Not here: figures and history
 * (torch_host_stats.cpp). */
#include "torch_host.h"

#include <algorithm>
#include <cstring>

#include <pthread.h>

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

namespace seam
{

namespace
{

constexpr c10::MempoolId_t everybody{0, 0};
constexpr size_t unit_bytes = 512; /* the core's blocks are multiples of it */

void delete_pinned(void *context)
{
	TorchHost::instance().give_back(context);
}

size_t rounded(size_t bytes)
{
	return (bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
}

/* A device whose pool serves the calling thread: the current one; if that has none, one that has. Throws if there is
 * none and none can be made. */
int serving_device()
{
	c10::DeviceIndex current = 0;
	/* Asking takes longer than all else that a block at hand takes. */
	if (c10::cuda::device_count() > 1)
		C10_CUDA_CHECK(c10::cuda::GetDevice(&current));
	if (seam_torch_pool_made(current) != nullptr)
		return current;
	for (int device = 0; device < SEAM_TORCH_DEVICES; device++) {
		if (seam_torch_pool_made(device) != nullptr)
			return device;
	}
	char error[512];
	if (seam_torch_pool(current) != nullptr)
		return current;
	(void)seam_torch_error(error, sizeof error);
	TORCH_CHECK(false, "Seam: no pinned memory: ", error);
}

} /* namespace */

TorchHost &TorchHost::instance()
{
	static auto *const allocator = new TorchHost;
	return *allocator;
}

void TorchHost::succeed(at::HostAllocator *own)
{
	own_ = own;
	/* No memory for the handler: a child is then refused by the core, but for what is at hand. */
	const int ignored = pthread_atfork(nullptr, nullptr, [] { instance().forked_ = true; });
	(void)ignored;
}

/* ---- memory ---- */

void TorchHost::fail(size_t bytes, struct seam_pool *pool, enum seam_rc rc) const
{
	char state[512] = "", driver[512] = "";
	(void)seam_host_text(pool, state, sizeof state);
	if (rc == SEAM_DRIVER)
		(void)seam_driver_error(pool, driver, sizeof driver);
	TORCH_CHECK(false, "Seam: ", bytes, " bytes of pinned memory: ", seam_rc_text(rc),
		driver[0] != '\0' ? ": " : "", driver, " (", state, ")");
}

/* A block to the core, which alone knows when the streams that used it have passed. */
void TorchHost::part(TorchPinned *block)
{
	void *const ptr = block->ptr;
	const int device = block->device;
	blocks_.drop(block); /* first: the core may give the address to another thread at once */
	/* It is the core's block: it cannot be refused. After a fork nothing is given back. */
	const enum seam_rc ignored = seam_host_free(seam_torch_pool_made(device), ptr);
	(void)ignored;
}

/* The blocks at hand go to the core. */
void TorchHost::flush()
{
	at_hand_.flush([this](TorchPinned *block) { part(block); });
}

/* A block of everybody of that size that came back lately; else NULL, and nothing is at hand: whatever is free serves
 * this request. */
TorchPinned *TorchHost::take_at_hand(size_t bytes, int device)
{
	TorchPinned *other = nullptr;
	TorchPinned *block = at_hand_.take(rounded(bytes), device, &other);
	if (block != nullptr)
		return block;
	if (other != nullptr)
		part(other);
	flush();
	return nullptr;
}

TorchPinned *TorchHost::take(size_t bytes, int device, const c10::MempoolId_t &id)
{
	struct seam_pool *pool = seam_torch_pool_made(device);
	void *ptr = nullptr;
	enum seam_rc rc = seam_host_alloc(pool, bytes, SEAM_NO_STREAM, &ptr);
	if (rc == SEAM_OOM_HOST) {
		empty_cache(); /* of the other devices' pools too */
		rc = seam_host_alloc(pool, bytes, SEAM_NO_STREAM, &ptr);
	}
	if (rc != SEAM_OK)
		fail(bytes, pool, rc);
	try {
		return blocks_.make({ptr, rounded(bytes), device, false, id, nullptr, nullptr});
	} catch (const std::bad_alloc &) {
		rc = seam_host_free(pool, ptr);
		throw;
	}
}

c10::DataPtr TorchHost::allocate(size_t bytes)
{
	TorchPinned *block = nullptr;
	if (bytes == 0)
		return {nullptr, nullptr, &delete_pinned, c10::Device(c10::kCPU)};
	TORCH_CHECK(!forked_.load(std::memory_order_relaxed), "Seam: no pinned memory: ", seam_rc_text(SEAM_FORKED));
	const int device = serving_device();
	if (__builtin_expect(!notes_.load(std::memory_order_acquire), 1)) {
		block = take_at_hand(bytes, device);
		if (block == nullptr)
			block = take(bytes, device, everybody);
		return {block->ptr, block, &delete_pinned, c10::Device(c10::kCPU)};
	}
	TorchContext context;
#if SEAM_TORCH_HAS_HOST_HISTORY
	context = gather(Level::STATE);
#endif
	const c10::MempoolId_t pool = route();
	block = pool != everybody ? take_again(bytes, pool) : nullptr;
	if (block == nullptr)
		block = take(bytes, device, pool);
	std::lock_guard<std::mutex> guard(lock_);
#if SEAM_TORCH_HAS_HOST_HISTORY
	complete(block->ptr);
	settle();
	add(Entry::ALLOC, block->ptr, block->bytes, pool, context);
#endif
	block->context = std::move(context);
	noted_[block->ptr] = block;
	auto owner = privates_.find(pool);
	if (owner != privates_.end())
		owner->second.gave = true;
	return {block->ptr, block, &delete_pinned, c10::Device(c10::kCPU)};
}

/* False: a private pool has it. */
bool TorchHost::note_free(TorchPinned *block)
{
	TorchContext of_free;
#if SEAM_TORCH_HAS_HOST_HISTORY
	of_free = gather(Level::ALL);
#endif
	std::lock_guard<std::mutex> guard(lock_);
	noted_.erase(block->ptr);
	if (of_free != nullptr)
		block->context = std::move(of_free);
#if SEAM_TORCH_HAS_HOST_HISTORY
	add(Entry::FREE_REQUESTED, block->ptr, block->bytes, block->pool, block->context);
	if (!block->used)
		add(Entry::FREE_COMPLETED, block->ptr, block->bytes, block->pool, block->context);
#endif
	if (keep(block))
		return false;
#if SEAM_TORCH_HAS_HOST_HISTORY
	if (block->used && recording_)
		leaving_[block->ptr] = *block;
#endif
	return true;
}

void TorchHost::give_back(void *context)
{
	auto *block = static_cast<TorchPinned *>(context);
	if (block == nullptr || forked_.load(std::memory_order_relaxed))
		return;
	if (notes_.load(std::memory_order_acquire)) {
		if (note_free(block))
			part(block);
		return;
	}
	if (!block->used)
		block = at_hand_.give(block);
	if (block != nullptr)
		part(block);
}

void TorchHost::copy_data(void *to, const void *from, size_t bytes) const
{
	std::memcpy(to, from, bytes);
}

/* The block that the stream was recorded for, or NULL: the memory is not ours. The context is not the block's where a
 * tensor was made of another one's memory (from_numpy(), from_blob()): then the pools are asked for the address, which
 * most such memory is not in. */
TorchPinned *TorchHost::record(void *ptr, void *context, cudaStream_t stream)
{
	TorchPinned *block = blocks_.known(context);
	enum seam_rc rc = SEAM_NOT_FOUND;
	if (block != nullptr)
		rc = seam_host_record_stream(seam_torch_pool_made(block->device), block->ptr, stream);
	for (int device = 0; block == nullptr && rc == SEAM_NOT_FOUND && device < SEAM_TORCH_DEVICES; device++) {
		struct seam_pool *pool = seam_torch_pool_made(device);
		rc = pool != nullptr ? seam_host_record_stream(pool, ptr, stream) : SEAM_NOT_FOUND;
		if (rc == SEAM_OK)
			block = blocks_.at(ptr);
	}
	TORCH_CHECK(rc == SEAM_OK || rc == SEAM_NOT_FOUND,
		"Seam: pinned memory is not recorded on a stream: ", seam_rc_text(rc));
	return rc == SEAM_OK ? block : nullptr;
}

bool TorchHost::record_event(void *ptr, void *context, c10::Stream stream)
{
	TorchPinned *block = record(ptr, context, c10::cuda::CUDAStream(stream).stream());
	if (block == nullptr)
		return own_ != nullptr && own_->record_event(ptr, context, stream);
	block->used = true;
	return true;
}

void TorchHost::empty_cache()
{
	flush();
	end_released();
	each_pool([](struct seam_pool *pool) {
		const enum seam_rc rc = seam_host_trim(pool, 0, nullptr);
		TORCH_CHECK(rc == SEAM_OK, "Seam: pinned memory is not given back: ", seam_rc_text(rc));
	});
	if (own_ != nullptr)
		own_->empty_cache();
}

/* ---- private pools ---- */

void TorchHost::begin_notes()
{
	notes_.store(true, std::memory_order_release);
	flush();
}

/* The pool of the newest filter that wants the current stream. */
c10::MempoolId_t TorchHost::route()
{
	if (!routed_.load(std::memory_order_acquire))
		return everybody;
	const c10::Stream stream = c10::cuda::getCurrentCUDAStream().unwrap();
	/* A filter is its graph's, which may go as soon as the filter is closed. */
	std::shared_lock<std::shared_mutex> guard(routes_lock_);
	for (auto it = routes_.rbegin(); it != routes_.rend(); ++it) {
		if (it->filter(stream))
			return it->id;
	}
	return everybody;
}

/* A block of that size that came back to the pool and that no stream has used; else NULL. */
TorchPinned *TorchHost::take_again(size_t bytes, const c10::MempoolId_t &id)
{
	std::lock_guard<std::mutex> guard(lock_);
	auto pool = privates_.find(id);
	if (pool == privates_.end())
		return nullptr;
	auto found = pool->second.unused.find(rounded(bytes));
	if (found == pool->second.unused.end())
		return nullptr;
	TorchPinned *block = found->second;
	pool->second.unused.erase(found);
	return block;
}

/* True if a private pool takes the block that is freed. With the lock. */
bool TorchHost::keep(TorchPinned *block)
{
	auto pool = privates_.find(block->pool);
	if (pool == privates_.end())
		return false;
	block->context = nullptr;
	if (block->used)
		pool->second.used.push_back(block);
	else
		pool->second.unused.emplace(block->bytes, block);
	return true;
}

/* Pools without a use are gone, and their blocks nobody's, once the device has done what it was given: replays of
 * graphs may be pending, on any stream. Not while a filter is open, for a capture forbids to wait, nor where a wait
 * fails: what stays is ended by the next release, end or empty_cache(). */
void TorchHost::end_released()
{
	std::vector<c10::MempoolId_t> released;
	{
		std::lock_guard<std::mutex> guard(lock_);
		for (auto it = privates_.begin(); it != privates_.end();) {
			const bool ends = it->second.uses == 0;
			if (ends && it->second.gave)
				released.push_back(it->first);
			it = ends && !it->second.gave ? privates_.erase(it) : std::next(it);
		}
	}
	bool waited = !routed_.load(std::memory_order_acquire);
	if (released.empty() || !waited)
		return;
	each_pool([&waited](struct seam_pool *pool) { waited = seam_device_wait(pool) == SEAM_OK && waited; });
	if (!waited)
		return;
	std::vector<TorchPinned *> blocks;
	{
		std::lock_guard<std::mutex> guard(lock_);
		for (const c10::MempoolId_t &id : released) {
			auto it = privates_.find(id);
			if (it == privates_.end() || it->second.uses > 0)
				continue;
			blocks.insert(blocks.end(), it->second.used.begin(), it->second.used.end());
			for (const auto &[bytes, block] : it->second.unused)
				blocks.push_back(block);
			privates_.erase(it);
		}
	}
	for (TorchPinned *block : blocks)
		part(block);
}

#if SEAM_TORCH_HAS_HOST_POOLS
void TorchHost::begin_allocate_to_pool(c10::MempoolId_t id, std::function<bool(c10::Stream)> filter)
{
	begin_notes();
	{
		std::lock_guard<std::mutex> guard(lock_);
		privates_[id].uses++;
	}
	std::unique_lock<std::shared_mutex> guard(routes_lock_);
	routes_.push_back({id, std::move(filter)});
	routed_.store(true, std::memory_order_release);
}

/* The newest filter of that name, or all, are asked no more. False: there is none. */
bool TorchHost::close_routes(c10::MempoolId_t id, bool all)
{
	std::unique_lock<std::shared_mutex> guard(routes_lock_);
	const auto is_it = [&id](const Route &route) { return route.id == id; };
	const size_t before = routes_.size();
	const auto newest = std::find_if(routes_.rbegin(), routes_.rend(), is_it);
	if (all)
		std::erase_if(routes_, is_it);
	else if (newest != routes_.rend())
		routes_.erase(std::next(newest).base());
	routed_.store(!routes_.empty(), std::memory_order_release);
	return routes_.size() < before;
}

void TorchHost::end_allocate_to_pool(c10::MempoolId_t id)
{
	if (close_routes(id, false))
		end_released();
	else if (own_ != nullptr)
		own_->end_allocate_to_pool(id); /* begun before pinned memory was Seam's */
}

void TorchHost::release_pool(c10::MempoolId_t id)
{
	int uses = -1;
	{
		std::lock_guard<std::mutex> guard(lock_);
		auto pool = privates_.find(id);
		if (pool != privates_.end() && pool->second.uses > 0)
			uses = --pool->second.uses;
	}
	if (uses < 0 && own_ != nullptr)
		own_->release_pool(id);
	if (uses == 0) {
		(void)close_routes(id, true); /* of a capture that failed before its end */
		end_released();
	}
}
#endif

} /* namespace seam */
