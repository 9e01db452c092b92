/* peer_torch.h: PyTorch's allocator as a C program sees it.
 *
 * The functions lie in a library of their own (peer_torch.cpp), which is compiled against an installed PyTorch and
 * opened at run time: nothing else here needs one. Results: 0, 1 (out of memory), 2 (anything else:
 * peer_torch_error()). Device 0, one thread.
 */
#ifndef BENCH_PEER_TORCH_H
#define BENCH_PEER_TORCH_H

#include <stdint.h>

#define PEER_TORCH_OOM 1
#define PEER_TORCH_FAILED 2

struct peer_torch_stats {
	uint64_t reserved_bytes;
	uint64_t reserved_peak_bytes;
	uint64_t allocated_bytes;
	uint64_t blocks;
	uint64_t retries; /* requests for which cached memory was returned to the driver first */
};

/* name, result, parameters */
#define PEER_TORCH_CALLS(CALL)                                                                \
	CALL(open, int, (void))                                                               \
	CALL(alloc, int, (uint64_t bytes, void *stream, uint64_t private_id, void **ret_ptr)) \
	CALL(free, int, (void *ptr))                                                          \
	CALL(record_stream, int, (void *ptr, void *stream))                                   \
	CALL(empty_cache, int, (void))                                                        \
	CALL(release_private, int, (uint64_t private_id))                                     \
	CALL(get_stats, void, (struct peer_torch_stats * ret_stats))                          \
	CALL(version, const char *, (void))                                                   \
	CALL(error, const char *, (void))

#ifdef __cplusplus
extern "C" {
#endif

#define CALL(name, result, parameters) result peer_torch_##name parameters;
PEER_TORCH_CALLS(CALL)
#undef CALL

#ifdef __cplusplus
}
#endif

#endif
