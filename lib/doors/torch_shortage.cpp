/* torch_shortage.cpp: when memory runs out: the share that a process may have, what is tried last, and the error that
 * the user sees. */
#include "torch_device.h"

#include <c10/cuda/CUDAAllocatorConfig.h>

namespace seam
{

namespace
{

std::string in_units(uint64_t bytes)
{
	constexpr const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	size_t unit = 0;
	auto amount = static_cast<double>(bytes);
	while (amount >= 1024.0 && unit + 1 < sizeof units / sizeof units[0]) {
		amount /= 1024.0;
		unit++;
	}
	char text[40];
	(void)snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", amount, units[unit]);
	return text;
}

bool run_callbacks()
{
	bool freed = false;
	for (const auto &name : c10::FreeCudaMemoryCallbacksRegistry()->Keys())
		freed = c10::FreeCudaMemoryCallbacksRegistry()->Create(name)->Execute() || freed;
	return freed;
}

bool is_shortage(enum seam_rc rc)
{
	return rc == SEAM_OOM_DEVICE || rc == SEAM_OOM_VA || rc == SEAM_MAPPINGS || rc == SEAM_OOM_META;
}

} /* namespace */

double TorchDevice::fraction()
{
	std::lock_guard guard(lock_);
	return fraction_;
}

/* Without a limit the device's whole memory is the limit, so 1 takes an earlier one away. */
void TorchDevice::limit(double fraction)
{
	TORCH_CHECK(fraction >= 0 && fraction <= 1, "invalid fraction: ", fraction, ": it must lie between 0 and 1");
	uint64_t total_bytes = 0, capacity_bytes = 0;
	enum seam_rc rc = seam_device_memory(pool(), nullptr, &total_bytes);
	if (rc == SEAM_OK && fraction < 1)
		capacity_bytes =
			std::max<uint64_t>(static_cast<uint64_t>(fraction * static_cast<double>(total_bytes)), 1);
	if (rc == SEAM_OK)
		rc = seam_pool_set_capacity(pool(), capacity_bytes);
	TORCH_CHECK(rc == SEAM_OK, "Seam: memory fraction: ", seam_rc_text(rc));
	std::lock_guard guard(lock_);
	fraction_ = fraction;
	capacity_bytes_ = capacity_bytes;
	rejects_over_ = 1; /* heeded anew */
}

namespace
{

/* PyTorch's settings throw_on_cudamalloc_oom and per_process_memory_fraction, which may change at any time: the share
 * of the device over which requests are rejected; 1: none are. */
double rejection_setting()
{
#if SEAM_TORCH_HAS_REJECTIONS
	if (__builtin_expect(native::CUDAAllocatorConfig::throw_on_cudamalloc_oom(), 0))
		return native::CUDAAllocatorConfig::per_process_memory_fraction();
#endif
	return 1;
}

} /* namespace */

bool TorchDevice::is_setting_heeded() const
{
	return rejection_setting() == rejects_over_.load(std::memory_order_relaxed);
}

/* The core rejects for us: it takes no more than that share. */
void TorchDevice::heed_setting()
{
	const double share = rejection_setting();
	uint64_t total_bytes = 0;
	enum seam_rc rc = seam_device_memory(pool(), nullptr, &total_bytes);
	std::lock_guard guard(lock_);
	uint64_t most_bytes = capacity_bytes_;
	if (share < 1) {
		const uint64_t share_bytes =
			std::max<uint64_t>(static_cast<uint64_t>(share * static_cast<double>(total_bytes)), 1);
		most_bytes = most_bytes == 0 ? share_bytes : std::min(most_bytes, share_bytes);
	}
	if (rc == SEAM_OK)
		rc = seam_pool_set_capacity(pool(), most_bytes);
	TORCH_CHECK(rc == SEAM_OK, "Seam: throw_on_cudamalloc_oom: ", seam_rc_text(rc));
	rejects_over_ = share;
}

/* What PyTorch has to offer when the core is at its end: callbacks that free memory, and pools that may help. */
enum seam_rc TorchDevice::last_resorts(TorchAsk &ask, void **ret_ptr)
{
	enum seam_rc rc = SEAM_OOM_DEVICE;
	if (run_callbacks())
		rc = request(ask, ask.in != nullptr ? ask.in->number : 0, ret_ptr);
	if (rc != SEAM_OOM_DEVICE || ask.in != nullptr)
		return rc;
	std::vector<std::shared_ptr<TorchPrivate>> helpers;
	{
		std::lock_guard guard(lock_);
		helpers = privates_.helpers();
	}
	for (const auto &helper : helpers) {
		rc = helper->server != nullptr ? ask_server(*helper, ask, ret_ptr)
					       : request(ask, helper->number, ret_ptr);
		if (rc == SEAM_OK) {
			ask.in = helper;
			break;
		}
	}
	return rc;
}

void TorchDevice::fail(const TorchAsk &ask, enum seam_rc rc, TorchContext context)
{
	if (!is_shortage(rc)) {
		char driver[300] = "";
		seam_driver_error(pool(), driver, sizeof driver);
		TORCH_CHECK(false, "Seam: an allocation of ", in_units(ask.bytes), " failed: ", seam_rc_text(rc),
			driver[0] != '\0' ? "; driver: " : "", driver);
	}
	uint64_t free_bytes = 0, total_bytes = 0;
	if (seam_device_memory(pool(), &free_bytes, &total_bytes) != SEAM_OK)
		free_bytes = total_bytes = 0; /* said without figures */
	/* Another limit of the process is no rejection. */
	const double share = rejects_over_;
	const bool rejected = rc == SEAM_OOM_DEVICE && share < fraction();
	note_shortage(ask, rejected, free_bytes, std::move(context));
	observe_shortage(ask, rejected, free_bytes, total_bytes);
	std::string text(seam_torch_oom_text(device_, ask.bytes, nullptr, 0) + 200, '\0');
	text.resize(std::min(seam_torch_oom_text(device_, ask.bytes, text.data(), text.size()), text.size() - 1));
	if (rc != SEAM_OOM_DEVICE)
		text += c10::str("\nWhat ran out: ", seam_rc_text(rc), ".");
	if (rejected)
		text += c10::str("\nRejected: the process may take ", share,
			" of the device (per_process_memory_fraction with throw_on_cudamalloc_oom).");
	TORCH_CHECK_WITH(OutOfMemoryError, false, text);
}

/* Counts it, and tells the history. */
void TorchDevice::note_shortage(const TorchAsk &ask, bool rejected, uint64_t free_bytes, TorchContext context)
{
	std::lock_guard guard(lock_);
	(rejected ? seen_.rejections : seen_.ooms)++;
	if (history_.enabled())
		follow(ask.stream, nullptr);
	history_.add(native::TraceEntry::OOM, device_, reinterpret_cast<void *>(free_bytes), ask.bytes, ask.stream,
		ask.in != nullptr ? ask.in->id : c10::MempoolId_t{0, 0}, std::move(context));
}

/* Tells the profiler and the observers. Without the lock. */
void TorchDevice::observe_shortage(const TorchAsk &ask, bool rejected, uint64_t free_bytes, uint64_t total_bytes)
{
	struct seam_stats stats;
	(void)stats_of(pool(), &stats);
	c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(ask.bytes), stats.live_bytes, stats.reserved_bytes,
		c10::Device(c10::kCUDA, device_));
	if (rejected) {
		for (const auto &observer : history_.rejection_observers())
			observer(device_, ask.bytes, stats.reserved_bytes, total_bytes);
		return;
	}
	const double share = fraction();
	const auto most_bytes =
		share < 1 ? static_cast<uint64_t>(share * static_cast<double>(total_bytes)) : total_bytes;
	for (const auto &observer : history_.observers())
		observer(device_, ask.bytes, most_bytes, free_bytes);
}

} /* namespace seam */
