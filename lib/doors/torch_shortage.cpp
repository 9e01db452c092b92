/* torch_shortage.cpp: when memory runs out: the share that a process may have, what is tried last, and the error that the user sees. */
#include "torch_device.h"

namespace seam {

namespace {

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
		capacity_bytes = std::max<uint64_t>(static_cast<uint64_t>(fraction * static_cast<double>(total_bytes)), 1);
	if (rc == SEAM_OK)
		rc = seam_pool_set_capacity(pool(), capacity_bytes);
	TORCH_CHECK(rc == SEAM_OK, "Seam: memory fraction: ", seam_rc_text(rc));
	std::lock_guard guard(lock_);
	fraction_ = fraction;
	capacity_bytes_ = capacity_bytes;
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
		rc = request(ask, helper->number, ret_ptr);
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
		TORCH_CHECK(false, "Seam: an allocation of ", in_units(ask.bytes), " failed: ", seam_rc_text(rc), driver[0] != '\0' ? "; driver: " : "", driver);
	}
	uint64_t free_bytes = 0, total_bytes = 0;
	if (seam_device_memory(pool(), &free_bytes, &total_bytes) != SEAM_OK)
		free_bytes = total_bytes = 0; /* said without figures */
	struct seam_stats stats;
	(void)stats_of(pool(), &stats);
	int64_t allocated = 0;
	{
		std::lock_guard guard(lock_);
		seen_.ooms++;
		if (history_.enabled())
			follow(ask.stream, nullptr);
		history_.add(native::TraceEntry::OOM, device_, reinterpret_cast<void *>(free_bytes), ask.bytes, ask.stream,
		             ask.in != nullptr ? ask.in->id : c10::MempoolId_t{0, 0}, std::move(context));
		allocated = kinds_[0].bytes.now;
		total_bytes = fraction_ < 1 ? static_cast<uint64_t>(fraction_ * static_cast<double>(total_bytes)) : total_bytes;
	}
	c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(ask.bytes), static_cast<size_t>(allocated), stats.reserved_bytes,
	                                 c10::Device(c10::kCUDA, device_));
	for (const auto &observer : history_.observers())
		observer(device_, ask.bytes, total_bytes, free_bytes);
	std::string text(seam_torch_oom_text(device_, ask.bytes, nullptr, 0) + 200, '\0');
	text.resize(std::min(seam_torch_oom_text(device_, ask.bytes, text.data(), text.size()), text.size() - 1));
	if (rc != SEAM_OOM_DEVICE)
		text += c10::str("\nWhat ran out: ", seam_rc_text(rc), ".");
	TORCH_CHECK_WITH(OutOfMemoryError, false, text);
}

} /* namespace seam */
