/* filters.h: filters of private pools as PyTorch makes them: real std::functions, which arrive in C as PyTorch's do. */
#ifndef SEAM_TESTS_FILTERS_H
#define SEAM_TESTS_FILTERS_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/torch.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begins the pool as CUDAPluggableAllocator does: through a std::function whose arguments are an int, a pair of numbers
 * and, by value, the filter. Each of these is another filter. */
void begin_for_stream(int device, uint64_t first, uint64_t second, void *stream);
void begin_for_thread(int device, uint64_t first, uint64_t second);
void begin_for_nothing(int device, uint64_t first, uint64_t second); /* an empty function */
void begin_for_flag(
	int device, uint64_t first, uint64_t second, const bool *flag); /* state too large to lie in the function */
void begin_that_throws(int device, uint64_t first, uint64_t second);

/* The same for end and release: their pair arrives in registers. */
void end_through(int device, uint64_t first, uint64_t second);
void release_through(int device, uint64_t first, uint64_t second);

/* Calls seam_torch_alloc(), or seam_torch_begin_pool() with a filter that cannot be copied: the number of what was
 * thrown, or 0. */
int thrown_by_alloc(int device, void *stream);
int thrown_by_begin(int device, uint64_t first);

/* Copies of filters that live. */
int filters_alive(void);

#ifdef __cplusplus
}
#endif
#endif
