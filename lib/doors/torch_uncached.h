/* torch_uncached.h: caching turned off, by PYTORCH_NO_CUDA_MEMORY_CACHING or
 * torch.cuda.caching_allocator_enable(False).
 *
 * Every tensor is then an allocation of the CUDA runtime's, and goes back at once, so that tools which watch those
 * (compute-sanitizer) see where a tensor ends and when it is gone. Seam serves none of it, and counts none: no
 * statistics, no history, no private pools, as with PyTorch's own allocator.
 */
#ifndef SEAM_TORCH_UNCACHED_H
#define SEAM_TORCH_UNCACHED_H

#include <atomic>
#include <cstddef>

namespace seam
{

/* Whether the environment turns caching off: the variable is set at all. */
bool uncached_by_environment();

/* Throws c10::OutOfMemoryError, or c10::Error. bytes is not 0. */
void *uncached_take(size_t bytes);

/* The deleter of what uncached_take() gave: it waits for the device. Throws nothing. */
void uncached_delete(void *ptr);

/* How many there are of them. */
extern std::atomic<size_t> uncached_count;

/* Deletes it if it is one of them, however caching stands by then; otherwise false. */
bool uncached_delete_own(void *ptr);

} /* namespace seam */

#endif
