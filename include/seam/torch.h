/* torch.h: Seam as PyTorch's memory allocator, by C functions: what libseam_torch.so exports beside the rest of the C
 * API.
 *
 * These are the functions that torch.cuda.memory.CUDAPluggableAllocator and its setters take, and what the Python
 * package `seam` needs by ctypes. One pool a device, made at the first request for it (nothing touches CUDA when the
 * library is loaded) and kept until the process ends: PyTorch frees tensors until then. PyTorch's allocator class
 * (lib/doors/torch_allocator.cpp) uses the same pools.
 *
 * Not here: pools themselves (seam.h). libseam.so does not have these functions.
 *
 * Failure: a request that cannot be served must not answer NULL: PyTorch would make a tensor of it. It throws, where
 * PyTorch's libc10.so is loaded, c10::OutOfMemoryError (in Python torch.OutOfMemoryError) when something ran out, else
 * c10::Error (RuntimeError). Without libc10.so it answers NULL. Functions that PyTorch calls to clean up throw nothing.
 * Every failure sets seam_torch_error().
 *
 * Stream capture: the option watch_captures is on here unless the configuration names it, or captures are announced
 * (seam_torch_announce_captures()). Memory that a watched capture touched outside a private pool is never used again;
 * within one it is kept for that pool until the release. See seam_torch_begin_pool().
 *
 * Thread safety: every function may be called from any thread at any time. After a fork requests fail with
 * SEAM_FORKED's text. Exit: a free after the driver has shut down does nothing but give back host memory.
 */
#ifndef SEAM_TORCH_H
#define SEAM_TORCH_H

#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#ifdef __cplusplus
extern "C" {
#endif

struct seam_pool;

#define SEAM_TORCH_DEVICES 64 /* ordinals from 0 on that can be served */

/* ---- pools ---- */

/* Configuration ("key:value,...", as in SEAM_CONF, over which it wins) of pools that are made from now on.
 * Errors: SEAM_CONF, SEAM_BUSY (a pool exists already: nothing is changed). */
SEAM_API SEAM_MUST_USE enum seam_rc seam_torch_configure(const char *text, char *error, size_t error_bytes);

/* A plan (plan.h) for the first pool that is made from now on; NULL: none. A plan that the pool then refuses is told by
 * seam_torch_error(), and the pool goes without. Errors: those of seam_plan_read_file(), SEAM_BUSY (a pool exists
 * already: seam_plan_use() gives it a plan). */
SEAM_API SEAM_MUST_USE enum seam_rc seam_torch_plan_file(const char *path, char *error, size_t error_bytes);

/* Every capture is begun within a private pool, as PyTorch's own graphs are: pools made from now on ask whether a
 * stream is being captured only while a private pool is open, unless the configuration names watch_captures. The
 * allocator class says so: like PyTorch's own allocator, it does not look for captures that PyTorch does not begin. */
SEAM_API void seam_torch_announce_captures(void);

/* The pool of a device, made if need be. NULL if it cannot be made (no GPU, no driver, a bad SEAM_CONF, no such
 * ordinal); the next call tries again. Never to be destroyed. */
SEAM_API struct seam_pool *seam_torch_pool(int device);

/* The same, but NULL if the device has no pool yet. No failure. */
SEAM_API struct seam_pool *seam_torch_pool_made(int device);

/* The last failure of this process, one line; "" if there was none. */
SEAM_API size_t seam_torch_error(char *text, size_t text_bytes);

/* ---- what PyTorch calls: `stream` is a cudaStream_t ---- */

/* alloc_fn. NULL for 0 bytes. Throws as above. */
SEAM_API void *seam_torch_alloc(size_t bytes, int device, void *stream);

/* free_fn. NULL is allowed. What is no block is counted (seam_torch_unknown_frees()) and left alone. bytes and stream
 * do not matter. */
SEAM_API void seam_torch_free(void *ptr, size_t bytes, int device, void *stream);

/* set_init_fn. Nothing: pools are made when they are needed. */
SEAM_API void seam_torch_init(int device_count);

/* set_reset_fn (torch.cuda.empty_cache()): every pool returns what it caches; one that is being captured from keeps it.
 */
SEAM_API void seam_torch_reset(void);

/* set_memory_fraction_fn: the pool takes at most this share, above 0 and at most 1, of the device's whole memory.
 * Throws c10::Error. */
SEAM_API void seam_torch_memory_fraction(double fraction, int device);

/* set_base_alloc_fn: start and length of the live block that contains ptr, of whatever device. ret_bytes may be NULL.
 * Throws c10::Error if there is none. */
SEAM_API void *seam_torch_base_alloc(void *ptr, size_t *ret_bytes);

/* set_record_stream_fn: the block at ptr is used on `stream` too. NULL is allowed. Throws c10::Error. */
SEAM_API void seam_torch_record_stream(void *ptr, void *stream);

/* ---- private pools: graphs and torch.cuda.use_mem_pool() ---- */

/* PyTorch's MempoolId_t, a pair of numbers: by value the same two registers. */
struct seam_torch_pool_id {
	uint64_t first, second;
};

/* The number of that pool in the C API. Not 0. */
SEAM_API uint64_t seam_torch_private_id(struct seam_torch_pool_id id);

/* set_begin_allocate_to_pool: until the end, requests whose stream `filter` accepts go to this private pool. The newest
 * begin wins. filter: a std::function<bool(cudaStream_t)> of libstdc++, whose by-value argument arrives as its address;
 * copied. It is asked at every request while the pool is open, on the thread that asks: PyTorch begins a graph's pool
 * before its capture starts, so only the filter knows which streams belong to it; for use_mem_pool() it accepts one
 * thread. NULL or an empty function: every request. Each begin takes a reference. Throws c10::Error (64 pools are open;
 * SEAM_UNSUPPORTED on devices without virtual memory). */
SEAM_API void seam_torch_begin_pool(int device, struct seam_torch_pool_id id, const void *filter);

/* set_end_allocate_to_pool_fn: ends the newest begin of it. */
SEAM_API void seam_torch_end_pool(int device, struct seam_torch_pool_id id);

/* set_release_pool: drops a reference. With the last the device is waited for, as replays of the pool's graphs may be
 * pending, and the memory joins the common memory. During a capture, which forbids waiting, the drop is put off: to the
 * next end or release of a private pool, or seam_torch_reset(). While 64 wait, one more pool is kept for good. */
SEAM_API void seam_torch_release_pool(int device, struct seam_torch_pool_id id);

/* ---- segments for PyTorch's native allocator: torch.cuda.MemPool(allocator) ----
 *
 * Native caches and splits, and asks only for segments: 2 MiB, 20 MiB or multiples of 2 MiB. Like cudaMalloc and
 * cudaFree both wait for the device, since native does not say which stream a segment is for; during a capture, which
 * forbids that, a segment is memory that was never used or of a pool of segments. */

/* alloc_fn. NULL, without throwing, where memory is short: native then frees what it caches and tries again, or throws
 * itself. */
SEAM_API void *seam_torch_segment_alloc(size_t bytes, int device, void *stream);

/* The same in one physical allocation (SEAM_CONTIGUOUS), for NCCL and RDMA registration. */
SEAM_API void *seam_torch_segment_alloc_contiguous(size_t bytes, int device, void *stream);

/* free_fn of both. */
SEAM_API void seam_torch_segment_free(void *ptr, size_t bytes, int device, void *stream);

/* ---- what Python asks ---- */

/* Name, kind (GAUGE, PEAK or COUNTER) and meaning of the index-th statistic: those of stats.def, then those of
 * plan_stats.def, whose names begin with plan_ here. Each ret_ may be NULL. Errors: SEAM_NOT_FOUND past the end. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_torch_stat(
	uint32_t index, const char **ret_name, const char **ret_kind, const char **ret_text);

/* The statistics of the device's pool in that order, those of each table as of one moment: writes at most `capacity` of
 * them. All 0 if it has no pool yet. Errors: SEAM_INVALID (no such ordinal, NULL). */
SEAM_API SEAM_MUST_USE enum seam_rc seam_torch_stats(int device, uint64_t *ret_values, size_t capacity);

/* Frees of what was no block of Seam's, so far. */
SEAM_API uint64_t seam_torch_unknown_frees(void);

/* The message of an out-of-memory error: what was asked for, what the device and the pool hold, what would help. */
SEAM_API size_t seam_torch_oom_text(int device, uint64_t bytes, char *text, size_t text_bytes);

/* ---- the edge that throws: C++ exceptions of PyTorch's own types ---- */

/* Throws c10::OutOfMemoryError, or c10::Error, with this text. Returns where libc10.so is not loaded or has no such
 * type: the caller must answer by a result. To be called with no lock held. */
SEAM_API void seam_torch_throw_oom(const char *text);
SEAM_API void seam_torch_throw_error(const char *text);

#ifdef __cplusplus
}
#endif
#endif
