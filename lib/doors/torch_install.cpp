/* torch_install.cpp: the allocator class becomes PyTorch's: C functions that Python calls by ctypes.
 *
 * Nothing is exported but these, the class, and seam_torch_class_contiguous().
 */
#include <cstdio>
#include <cstring>

#include <seam/torch.h>

#include "torch_allocator.h"

#define SEAM_TORCH_EXPORT extern "C" __attribute__((visibility("default")))

/* The minor of PyTorch 2 that this library was compiled for. The caller compares it with the one that runs, before anything else. */
SEAM_TORCH_EXPORT int seam_torch_class_version(void)
{
	return SEAM_TORCH_MINOR;
}

/* Makes Seam PyTorch's allocator for CUDA. Returns 0; or 1 with a line in error (at least 300 bytes), and nothing is changed. Installing
 * twice is no failure. To be called before CUDA is used, by one thread. */
SEAM_TORCH_EXPORT int seam_torch_class_install(char *error)
{
	namespace native = seam::native;
	try {
		native::CUDAAllocator *mine = &seam::TorchAllocator::instance();
		native::CUDAAllocator *now = native::allocator.load();
		if (now == mine)
			return 0;
		if (now != nullptr && now->initialized()) {
			(void)snprintf(error, 300, "too late: CUDA was used already, under PyTorch's allocator \"%s\"; install Seam first",
			               now->name().c_str());
			return 1;
		}
		if (now != nullptr && now->name() != "native") {
			(void)snprintf(error, 300, "PyTorch's allocator is \"%s\", not its own: it was replaced, or PYTORCH_ALLOC_CONF names another backend",
			               now->name().c_str());
			return 1;
		}
		seam_torch_announce_captures();
		seam::TorchAllocator::instance().succeed(now);
		native::allocator.store(mine);
		c10::SetAllocator(c10::kCUDA, mine, 1);
		return 0;
	} catch (const std::exception &failure) {
		(void)snprintf(error, 300, "%s", failure.what());
		return 1;
	}
}
