/* torch_shortage.cpp: when memory runs out: the share that a process may have, what is tried last, and the error that the user sees. */
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

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

uint64_t reserved(struct seam_pool *pool)
{
	struct seam_stats stats = {};
	stats.size = sizeof stats;
	stats.version = SEAM_STATS_VERSION;
	return seam_stats_get(pool, &stats) == SEAM_OK ? stats.reserved_bytes : 0;
}

std::string report_of(struct seam_pool *pool)
{
	std::string text(seam_oom_report(pool, nullptr, 0) + 1, '\0');
	text.resize(std::min(seam_oom_report(pool, text.data(), text.size()), text.size() - 1));
	return text;
}

} /* namespace */

TorchMemory torch_memory(c10::DeviceIndex device)
{
	c10::cuda::CUDAGuard guard(device);
	TorchMemory memory{};
	C10_CUDA_CHECK(cudaMemGetInfo(&memory.free_bytes, &memory.total_bytes));
	return memory;
}

double TorchDevice::fraction()
{
	std::lock_guard<std::mutex> guard(lock_);
	return fraction_;
}

void TorchDevice::limit(double fraction)
{
	TORCH_CHECK(fraction >= 0 && fraction <= 1, "invalid fraction: ", fraction, ": it must lie between 0 and 1");
	const size_t total = fraction < 1 ? torch_memory(device_).total_bytes : 0;
	std::lock_guard<std::mutex> guard(lock_);
	fraction_ = fraction;
	/* 0 stands for no limit: a limit of nothing is one byte. */
	limit_bytes_ = fraction < 1 ? std::max<uint64_t>(static_cast<uint64_t>(fraction * static_cast<double>(total)), 1) : 0;
}

/* request(), with the process's share of the device minded: the core grows as it needs, so that a block that made it too large is given back. */
enum seam_rc TorchDevice::request_within(const TorchAsk &ask, uint64_t private_number, void **ret_ptr)
{
	enum seam_rc rc = request(ask, private_number, ret_ptr);
	const uint64_t limit = limit_bytes_.load(std::memory_order_relaxed);
	if (__builtin_expect(limit == 0, 1) || rc != SEAM_OK || reserved(pool()) <= limit)
		return rc;
	for (bool again = true;; again = false) {
		(void)seam_free(pool(), *ret_ptr);
		(void)seam_trim(pool(), limit > ask.bytes ? limit - ask.bytes : 0, nullptr);
		if (!again)
			return SEAM_OOM_DEVICE;
		rc = request(ask, private_number, ret_ptr);
		if (rc != SEAM_OK || reserved(pool()) <= limit)
			return rc;
	}
}

/* What PyTorch has to offer when the core is at its end: callbacks that free memory, and pools that may help. */
enum seam_rc TorchDevice::last_resorts(TorchAsk &ask, void **ret_ptr)
{
	enum seam_rc rc = SEAM_OOM_DEVICE;
	if (run_callbacks())
		rc = request_within(ask, ask.in != nullptr ? ask.in->number : 0, ret_ptr);
	if (rc != SEAM_OOM_DEVICE || ask.in != nullptr)
		return rc;
	std::vector<std::shared_ptr<TorchPrivate>> helpers;
	{
		std::lock_guard<std::mutex> guard(lock_);
		helpers = privates_.helpers();
	}
	for (const auto &helper : helpers) {
		rc = request_within(ask, helper->number, ret_ptr);
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
	const TorchMemory memory = torch_memory(device_);
	int64_t allocated = 0;
	double share = 1;
	{
		std::lock_guard<std::mutex> guard(lock_);
		counts_.ooms++;
		history_.add(native::TraceEntry::OOM, device_, reinterpret_cast<void *>(memory.free_bytes), ask.bytes, ask.stream,
		             ask.in != nullptr ? ask.in->id : c10::MempoolId_t{0, 0}, std::move(context));
		allocated = counts_.allocated_bytes[0].current;
		share = fraction_;
	}
	const uint64_t limit = limit_bytes_.load();
	const uint64_t held = reserved(pool());
	c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(ask.bytes), static_cast<size_t>(allocated), held,
	                                 c10::Device(c10::kCUDA, device_));
	for (const auto &observer : history_.observers())
		observer(device_, ask.bytes, limit != 0 ? limit : memory.total_bytes, memory.free_bytes);
	const std::string text = c10::str(
		"CUDA out of memory. Tried to allocate ", in_units(ask.bytes), ". GPU ", static_cast<int>(device_), " has ",
		in_units(memory.total_bytes), " in all, ", in_units(memory.free_bytes), " of it free",
		limit != 0 ? c10::str("; this process may have ", in_units(limit), " (memory fraction ", share, ")") : std::string(),
		rc != SEAM_OOM_DEVICE ? c10::str("; what ran out: ", seam_rc_text(rc)) : std::string(), ".\n", report_of(pool()));
	seam_torch_throw_oom(text.c_str());
	TORCH_CHECK_WITH(OutOfMemoryError, false, text);
}

} /* namespace seam */
