/* torch_device.cpp: requests, frees and uses of one device's memory, on their way from PyTorch to the core. */
#include "torch_device.h"

#include <algorithm>

#include <c10/core/impl/GPUTrace.h>
#include <c10/cuda/CUDAAllocatorConfig.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include "torch_contiguous.h"

namespace seam
{

namespace
{

thread_local int contiguous_depth;
std::atomic<int>
	contiguous_threads; /* that have one: hardly ever any, and a thread's own variables cost more to look at */

void trace_block(void *ptr, bool made)
{
	const c10::impl::PyInterpreter *interpreter = c10::impl::GPUTrace::get_trace();
	if (__builtin_expect(interpreter == nullptr, 1))
		return;
	const auto address = reinterpret_cast<uintptr_t>(ptr);
	if (made)
		(*interpreter)->trace_gpu_memory_allocation(c10::kCUDA, address);
	else
		(*interpreter)->trace_gpu_memory_deallocation(c10::kCUDA, address);
}

/* PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:F: the limit to begin with. */
double fraction_setting()
{
#if SEAM_TORCH_HAS_FRACTION_SETTING
	return native::CUDAAllocatorConfig::per_process_memory_fraction();
#else
	return 1;
#endif
}

} /* namespace */

struct seam_pool *TorchDevice::pool()
{
	struct seam_pool *pool = pool_.load(std::memory_order_acquire);
	if (__builtin_expect(pool != nullptr, 1))
		return pool;
	pool = seam_torch_pool(device_);
	if (pool == nullptr) {
		char why[400] = "";
		seam_torch_error(why, sizeof why);
		TORCH_CHECK(false, "Seam: no memory pool on device ", static_cast<int>(device_), ": ", why);
	}
	bool first = false;
	{
		std::lock_guard guard(lock_);
		first = !has_pool();
		if (first) {
			small_bytes_ = seam_pool_config(pool)->small_bytes;
			capacity_bytes_ = seam_pool_config(pool)->capacity_bytes;
		}
		pool_.store(pool, std::memory_order_release);
	}
	const double setting = fraction_setting();
	if (first && setting < 1)
		limit(setting);
	return pool;
}

TorchAsk TorchDevice::ask_for(size_t bytes, cudaStream_t stream)
{
	TorchAsk ask{
		bytes, stream, nullptr, contiguous_threads.load(std::memory_order_relaxed) > 0 && contiguous_depth > 0};
	if (__builtin_expect(routed_.load(std::memory_order_acquire), 0)) {
		std::lock_guard guard(lock_);
		ask.in = privates_.route(stream);
		if (ask.in != nullptr) {
			ask.in->served = ask.in->server == nullptr;
			ask.contiguous = ask.contiguous || ask.in->no_split;
		}
	}
	return ask;
}

/* private_number: 0: the common memory. */
enum seam_rc TorchDevice::request(const TorchAsk &ask, uint64_t private_number, void **ret_ptr)
{
	struct seam_request request = {};
	request.size = sizeof request;
	request.flags = ask.contiguous ? SEAM_CONTIGUOUS : 0;
	request.bytes = ask.bytes;
	request.stream = ask.stream;
	request.private_id = private_number;
	return seam_alloc_request(pool(), &request, ret_ptr);
}

/* Nothing is asked of the common memory but bytes on a stream, and nobody watches. */
inline bool TorchDevice::is_plain() const
{
	return !history_.watched() && !routed_.load(std::memory_order_acquire) &&
		contiguous_threads.load(std::memory_order_relaxed) == 0 && is_setting_heeded();
}

void *TorchDevice::take(size_t bytes, cudaStream_t stream)
{
	if (__builtin_expect(!is_plain(), 0))
		return take_with_care(bytes, stream);
	const struct seam_request request = {sizeof request, 0, bytes, stream, 0, 0};
	void *ptr = nullptr;
	enum seam_rc rc = seam_alloc_request(pool(), &request, &ptr);
	if (__builtin_expect(rc != SEAM_OK, 0))
		return finish({bytes, stream, nullptr, false}, rc, ptr, nullptr);
	note(ptr, {bytes, stream, nullptr});
	return ptr;
}

void *TorchDevice::take_with_care(size_t bytes, cudaStream_t stream)
{
	TorchContext context = history_.gather(native::RecordContext::STATE);
	if (!is_setting_heeded())
		heed_setting();
	TorchAsk ask = ask_for(bytes, stream);
	if (history_.enabled()) {
		(void)pool(); /* made now, if need be: what it makes is to be told */
		std::lock_guard guard(lock_);
		if (next_event_ == 0)
			follow(nullptr, nullptr);
	}
	void *ptr = nullptr;
	enum seam_rc rc = SEAM_OK;
	if (ask.in != nullptr && ask.in->server != nullptr)
		ptr = ask.in->server->raw_alloc_with_stream(ask.bytes, ask.stream);
	else
		rc = request(ask, ask.in != nullptr ? ask.in->number : 0, &ptr);
	return finish(std::move(ask), rc, ptr, std::move(context));
}

/* What the core answered to a request. */
void *TorchDevice::finish(TorchAsk ask, enum seam_rc rc, void *ptr, TorchContext context)
{
	if (rc == SEAM_OOM_DEVICE)
		rc = last_resorts(ask, &ptr);
	if (rc != SEAM_OK)
		fail(ask, rc, std::move(context));
	TorchBlock block{ask.bytes, ask.stream, nullptr};
	if (ask.in != nullptr || context != nullptr)
		block.odd = std::make_unique<TorchOdd>(TorchOdd{std::move(ask.in), std::move(context)});
	note(ptr, std::move(block));
	return ptr;
}

void TorchDevice::tell(TorchHistory::Action action, const void *ptr, const TorchBlock &block, TorchContext context)
{
	history_.add(action, device_, ptr, block.requested_bytes, block.stream, block.pool(), std::move(context));
}

/* The core gave this block. */
inline void TorchDevice::note(void *ptr, TorchBlock &&block)
{
	const auto bytes = static_cast<int64_t>(block.bytes());
	{
		std::lock_guard guard(lock_);
		if (__builtin_expect(!leaving_.empty() || history_.watched(), 0)) {
			note_told(ptr, std::move(block));
		} else {
			count(block);
			blocks_.insert(ptr, std::move(block));
		}
	}
	report(ptr, bytes);
	trace_block(ptr, true);
}

/* note() where somebody may want to know of it, or of who had this memory before. With the lock. */
void TorchDevice::note_told(void *ptr, TorchBlock &&block)
{
	const auto first = reinterpret_cast<uint64_t>(ptr);
	const std::vector<TorchGone> gone = leaving_.take_in({first, first + block.bytes()});
	const size_t requested_bytes = block.requested_bytes;
	cudaStream_t stream = block.stream;
	const c10::MempoolId_t id = block.pool();
	TorchContext context = block.context();
	count_gone(gone);
	count(block);
	blocks_.insert(ptr, std::move(block));
	if (history_.enabled())
		follow(stream, context);
	tell_gone(gone);
	history_.add(native::TraceEntry::ALLOC, device_, ptr, requested_bytes, stream, id, std::move(context));
}

/* A free is told, and a block that other streams use goes on being active. With the lock. */
void TorchDevice::part(void *ptr, TorchBlock &&block, const TorchContext &context)
{
	if (!block.recorded()) {
		tell(native::TraceEntry::FREE_REQUESTED, ptr, block, context);
		tell(native::TraceEntry::FREE_COMPLETED, ptr, block, context);
		return;
	}
	const size_t requested_bytes = block.requested_bytes;
	cudaStream_t stream = block.stream;
	const c10::MempoolId_t id = block.pool();
	count_leaving(block, 1);
	leaving_.add(ptr, std::move(block));
	history_.add(native::TraceEntry::FREE_REQUESTED, device_, ptr, requested_bytes, stream, id, context);
}

bool TorchDevice::give_back(void *ptr, const TorchContext &context)
{
	struct seam_pool *pool = pool_.load(std::memory_order_acquire);
	if (pool == nullptr)
		return false;
	int64_t bytes = 0;
	bool held = false;
	native::CUDAAllocator *server = nullptr;
	{
		TorchBlock block;
		std::unique_lock guard(lock_);
		if (!blocks_.take(ptr, &block))
			return false;
		bytes = static_cast<int64_t>(block.bytes());
		held = block.recorded();
		server = block.in() != nullptr ? block.in()->server : nullptr;
		const bool may_go_back = block.in() != nullptr && server == nullptr;
		uncount(block);
		if (__builtin_expect(history_.watched() || held, 0))
			part(ptr, std::move(block), context);
		/* A private pool must not go back to a checkpoint in between: the free could meet the block that is
		 * live again. */
		if (__builtin_expect(!may_go_back, 1))
			guard.unlock();
		/* A driver that has shut down, or a fork: there is nobody to give it to, and a deleter must not throw.
		 */
		if (__builtin_expect(server == nullptr, 1))
			(void)seam_free(pool, ptr);
	}
	if (__builtin_expect(server != nullptr, 0))
		server->raw_delete(ptr);
	if (__builtin_expect(held, 0)) {
		std::lock_guard guard(lock_);
		leaving_.give(ptr);
	}
	report(ptr, -bytes);
	trace_block(ptr, false);
	return true;
}

/* To PyTorch's profiler, if it runs. bytes: below 0 for a free. */
void TorchDevice::report(void *ptr, int64_t bytes)
{
	if (__builtin_expect(!c10::memoryProfilingEnabled(), 1))
		return;
	struct seam_stats stats;
	if (stats_of(pool(), &stats))
		c10::reportMemoryUsageToProfiler(
			ptr, bytes, stats.live_bytes, stats.reserved_bytes, c10::Device(c10::kCUDA, device_));
}

void TorchDevice::record(void *ptr, cudaStream_t stream)
{
	if (!has_pool())
		return;
	native::CUDAAllocator *server = nullptr;
	{
		std::lock_guard guard(lock_);
		TorchBlock *block = blocks_.find(ptr);
		if (block == nullptr || block->stream == stream)
			return;
		server = block->in() != nullptr ? block->in()->server : nullptr;
		if (server == nullptr)
			block->record();
	}
	if (server != nullptr) {
		record_served(server, ptr, stream);
		return;
	}
	enum seam_rc rc = seam_record_stream(pool(), ptr, stream);
	TORCH_CHECK(rc == SEAM_OK, "Seam: record_stream: ", seam_rc_text(rc));
}

cudaStream_t TorchDevice::default_stream()
{
	std::call_once(default_stream_once_, [this] {
		c10::cuda::CUDAGuard guard(device_);
		/* One that the default stream orders, unlike those of PyTorch. */
		C10_CUDA_CHECK(cudaStreamCreateWithPriority(&default_stream_, cudaStreamDefault, 0));
	});
	return default_stream_;
}

/* ---- blocks that other streams may still use ---- */

/* These left `leaving_`. With the lock. */
void TorchDevice::count_gone(const std::vector<TorchGone> &gone)
{
	for (const TorchGone &left : gone)
		count_leaving(left.block, -1);
}

/* Behind count_gone(), and whatever else changes with it. With the lock. */
void TorchDevice::tell_gone(const std::vector<TorchGone> &gone)
{
	for (const TorchGone &left : gone)
		tell(native::TraceEntry::FREE_COMPLETED, left.ptr, left.block, nullptr);
}

namespace
{

struct HeldBack {
	std::vector<TorchRange> ranges;

	static int see(void *user, const struct seam_block_info *block)
	{
		if (block->state == SEAM_BLOCK_PENDING)
			static_cast<HeldBack *>(user)->ranges.push_back({block->va, block->va + block->bytes});
		return 0;
	}
};

} /* namespace */

/* Completes what the core no longer holds back. stats: the core's, from before now. With the lock. */
void TorchDevice::sweep(const struct seam_stats &stats)
{
	if (!leaving_.may_have_passed(stats.frees, stats.unused_pending_bytes))
		return;
	HeldBack held;
	const struct seam_visitor visitor = {nullptr, nullptr, HeldBack::see};
	if (seam_snapshot_visit(pool(), &visitor, &held) != SEAM_OK)
		return;
	leaving_.begin_look(stats.frees, stats.unused_pending_bytes);
	const std::vector<TorchGone> gone = leaving_.take_passed(held.ranges);
	count_gone(gone);
	tell_gone(gone);
}

/* ---- questions ---- */

bool TorchDevice::find(void *ptr, void **ret_base, size_t *ret_bytes)
{
	uint64_t bytes = 0;
	if (!has_pool() || seam_block_range(pool(), ptr, ret_base, &bytes) != SEAM_OK)
		return false;
	*ret_bytes = bytes;
	return true;
}

TorchContext TorchDevice::context_of(const void *ptr)
{
	std::lock_guard guard(lock_);
	const TorchBlock *block = blocks_.find(ptr);
	return block != nullptr ? block->context() : nullptr;
}

bool TorchDevice::annotate(const void *ptr, const std::string &text)
{
	std::lock_guard guard(lock_);
	const TorchBlock *block = blocks_.find(ptr);
	if (block == nullptr)
		return false;
	history_.annotate(device_, ptr, block->requested_bytes, block->stream, block->pool(), text);
	return true;
}

void TorchDevice::mark_snapshot(size_t active_bytes)
{
	std::lock_guard guard(lock_);
	history_.add(native::TraceEntry::SNAPSHOT, device_, nullptr, active_bytes, nullptr, {0, 0}, nullptr);
}

void TorchDevice::trim(c10::MempoolId_t id, const TorchContext &context)
{
	if (!has_pool())
		return;
	settle();
	enum seam_rc rc = SEAM_OK;
	if (id == c10::MempoolId_t{0, 0}) {
		rc = seam_trim(pool(), 0, nullptr);
	} else {
		std::shared_ptr<TorchPrivate> in;
		{
			std::lock_guard guard(lock_);
			in = privates_.find(id);
		}
		rc = in != nullptr ? seam_private_trim(pool(), in->number, nullptr) : SEAM_NOT_FOUND;
	}
	TORCH_CHECK(rc == SEAM_OK || rc == SEAM_NOT_FOUND || rc == SEAM_CAPTURING || rc == SEAM_SHUTDOWN,
		"Seam: empty_cache: ", seam_rc_text(rc));
	std::lock_guard guard(lock_);
	if (history_.enabled())
		follow(nullptr, context);
}

} /* namespace seam */

extern "C" int seam_torch_class_contiguous(int change)
{
	const int before = seam::contiguous_depth, now = std::max(before + change, 0);
	seam::contiguous_depth = now;
	seam::contiguous_threads += (now > 0) - (before > 0);
	return now;
}
