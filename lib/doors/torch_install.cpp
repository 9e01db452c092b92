/* torch_install.cpp: the allocator class becomes PyTorch's: C functions that Python calls by ctypes.
 *
 * Nothing is exported but these, the class, and seam_torch_class_contiguous().
 */
#include <cstdio>
#include <cstring>

#include <dlfcn.h>

#include <c10/cuda/CUDAFunctions.h>

#include <seam/torch.h>

#include "torch_allocator.h"
#include "torch_host.h"

#define SEAM_TORCH_EXPORT extern "C" __attribute__((visibility("default")))

/* The minor of PyTorch 2 that this library was compiled for. The caller compares it with the one that runs, before
 * anything else. */
SEAM_TORCH_EXPORT int seam_torch_class_version(void)
{
	return SEAM_TORCH_MINOR;
}

/* Why PyTorch's allocator cannot be replaced, or "". Of a ready one nothing may be in use: what it caches is given
 * back. */
static std::string kept_by(seam::native::CUDAAllocator *now, c10::DeviceIndex devices)
{
	using c10::CachingAllocator::StatType;
	if (now->isHistoryEnabled())
		return "its history is being recorded (torch.cuda.memory._record_memory_history)";
	now->emptyCache({0, 0});
	const auto all = static_cast<size_t>(StatType::AGGREGATE);
	for (c10::DeviceIndex device = 0; device < devices; device++) {
		const auto stats = now->getDeviceStats(device);
		if (stats.reserved_bytes[all].current > 0)
			return "it holds " + std::to_string(stats.reserved_bytes[all].current) + " bytes of device " +
				std::to_string(static_cast<int>(device)) + ": tensors, or memory of a graph or pool";
	}
	return "";
}

/* What `now` was told goes on. */
static void take_over(seam::native::CUDAAllocator *now, seam::native::CUDAAllocator *mine, c10::DeviceIndex devices)
{
	mine->init(devices);
	mine->enable(now->isEnabled());
	for (c10::DeviceIndex device = 0; device < devices; device++) {
		const double fraction = now->getMemoryFraction(device);
		if (fraction < 1)
			mine->setMemoryFraction(fraction, device);
	}
}

/* Makes Seam PyTorch's allocator for CUDA. Returns 0; or 1 with a line in error (see seam/rc.h), and nothing is
 * changed. Installing twice is no failure. To be called before memory is allocated, by one thread, while no other uses
 * CUDA. */
SEAM_TORCH_EXPORT int seam_torch_class_install(char *error, size_t error_bytes)
{
	namespace native = seam::native;
	try {
		native::CUDAAllocator *mine = &seam::TorchAllocator::instance();
		native::CUDAAllocator *now = native::allocator.load();
		if (now == mine)
			return 0;
		if (now != nullptr && now->name() != "native") {
			(void)snprintf(error, error_bytes,
				"PyTorch's allocator is \"%s\", not its own: it was replaced, or PYTORCH_ALLOC_CONF names another backend",
				now->name().c_str());
			return 1;
		}
		const bool ready = now != nullptr && now->initialized();
		const c10::DeviceIndex devices = ready ? c10::cuda::device_count() : c10::DeviceIndex(0);
		const std::string why = ready ? kept_by(now, devices) : "";
		if (!why.empty()) {
			(void)snprintf(error, error_bytes,
				"too late: PyTorch's own allocator is in use, %s; install Seam first", why.c_str());
			return 1;
		}
		seam_torch_announce_captures();
		if (ready)
			take_over(now, mine, devices);
		seam::TorchAllocator::instance().succeed(now);
		native::allocator.store(mine);
		c10::SetAllocator(c10::kCUDA, mine, 1);
		return 0;
	} catch (const std::exception &failure) {
		(void)snprintf(error, error_bytes, "%s", failure.what());
		return 1;
	}
}

/* PyTorch's registry of allocators of pinned memory: at::getHostAllocator() and at::setHostAllocator(). Looked up in
 * what PyTorch has loaded: a program that uses CUDA without tensors has no libtorch_cpu.so, and the class none to be
 * linked to. */
struct HostRegistry {
	at::HostAllocator *(*get)(c10::DeviceType device) = nullptr;
	void (*set)(c10::DeviceType device, at::HostAllocator *allocator, uint8_t priority) = nullptr;

	HostRegistry()
	{
		void *library = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
		if (library == nullptr)
			return;
		get = reinterpret_cast<decltype(get)>(dlsym(library, "_ZN2at16getHostAllocatorEN3c1010DeviceTypeE"));
		set = reinterpret_cast<decltype(set)>(
			dlsym(library, "_ZN2at16setHostAllocatorEN3c1010DeviceTypeEPNS_13HostAllocatorEh"));
	}

	bool is_there() const
	{
		return get != nullptr && set != nullptr;
	}
};

/* Makes Seam PyTorch's allocator of pinned host memory: all that is asked for from now on; what PyTorch's own gave
 * before stays valid. For good: PyTorch has no way back. Returns 0; or 1 with a line in error, and nothing is changed.
 * Twice is no failure. To be called behind seam_torch_class_install(), by one thread. */
SEAM_TORCH_EXPORT int seam_torch_class_pin(char *error, size_t error_bytes)
{
	try {
		const HostRegistry registry;
		if (!registry.is_there()) {
			(void)snprintf(
				error, error_bytes, "this PyTorch has no registry for allocators of pinned memory");
			return 1;
		}
		at::HostAllocator *mine = &seam::TorchHost::instance();
		at::HostAllocator *now = registry.get(c10::kCUDA);
		if (now == mine)
			return 0;
		seam::TorchHost::instance().succeed(now);
		registry.set(c10::kCUDA, mine, 1);
		if (registry.get(c10::kCUDA) == mine)
			return 0;
		(void)snprintf(error, error_bytes, "another allocator of pinned memory is in place, and stays");
		return 1;
	} catch (const std::exception &failure) {
		(void)snprintf(error, error_bytes, "%s", failure.what());
		return 1;
	}
}

/* 1 if it is, else 0. */
SEAM_TORCH_EXPORT int seam_torch_class_is_pinned(void)
{
	const HostRegistry registry;
	return registry.is_there() && registry.get(c10::kCUDA) == &seam::TorchHost::instance() ? 1 : 0;
}
