/* torch_core.h: what the allocator class needs of libseam_torch.so beside the public C API. */
#ifndef SEAM_TORCH_CORE_H
#define SEAM_TORCH_CORE_H

#include <seam/seam.h>
#include <seam/snapshot.h>
#include <seam/stats.h>

extern "C" {
/* The pool of a device, made at the first call. NULL: it cannot be made; the reason is in seam_torch_error(). */
struct seam_pool *seam_torch_pool(int device);
size_t seam_torch_error(char *text, size_t capacity);
/* Throws c10::OutOfMemoryError; returns if it cannot. */
void seam_torch_throw_oom(const char *text);
}

#endif
