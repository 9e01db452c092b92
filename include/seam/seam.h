/* seam.h: a pool of device memory that stitches.
 *
 * A pool belongs to one device. It hands out device memory in stream order, like cudaMallocAsync: a block may be used
 * on the stream it was asked for as soon as seam_alloc() returns, and may be freed while work that uses it is still
 * pending on that stream. When free memory is scattered, the pool maps the free physical chunks behind one contiguous
 * address ("stitching") instead of taking more from the device.
 *
 * Not here: statistics (stats.h), what the memory is doing (snapshot.h), traces (trace.h).
 *
 * Words: DESIGN words are used as everywhere in Seam. A *chunk* is one physical allocation, a *view* a range of
 * addresses with chunks mapped in it, a *block* what a caller gets. Sizes are bytes unless a name says otherwise. A
 * stream is the handle that CUDA calls CUstream or cudaStream_t (NULL: the legacy default stream; the per-thread
 * default stream's handle is honoured).
 *
 * Thread safety: every function may be called from any thread at any time, except seam_pool_destroy(), which must be
 * the last call on a pool.
 *
 * Fork: a child process must not use its parent's pools; every call answers SEAM_FORKED there and nothing is touched.
 *
 * Exit: when the driver has shut down before the pool (a destructor that runs late), calls that need it answer
 * SEAM_SHUTDOWN; seam_free() and seam_pool_destroy() still return all host memory and report no error.
 *
 * Stream capture: use a private pool (seam_private_begin()). While one is open, or with the option watch_captures, the
 * pool asks whether a request's stream is being captured; then nothing is stitched, unmapped, released or waited for,
 * and a block handed out to a capture outside a private pool is never reused.
 *
 * A device without virtual memory management is served by a plain caching allocator: nothing is stitched there, and
 * private pools, peers and exports answer SEAM_UNSUPPORTED.
 *
 * A failed call leaves live blocks, accounts and ret_* arguments as they were; caches may have shrunk.
 */
#ifndef SEAM_SEAM_H
#define SEAM_SEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SEAM_VERSION_MAJOR 0
#define SEAM_VERSION_MINOR 1
#define SEAM_VERSION_PATCH 0

/* "0.1.0". Of the library that runs, not of the header. */
SEAM_API const char *seam_version(void);

struct seam_pool;

/* ---- configuration ---- */

#define SEAM_CONFIG_VERSION 1u

/* Field by field: options.def. All-zero (but size and version) means the defaults. */
struct seam_config {
	uint32_t size;    /* sizeof(struct seam_config) */
	uint32_t version; /* SEAM_CONFIG_VERSION */
#define SEAM_OPTION(who, name, type, default_, least, most, text) uint64_t name;
#define SEAM_OPTION_CHOICE(who, name, names, text) uint64_t name; /* position in the list of names */
#include <seam/options.def>
#undef SEAM_OPTION
#undef SEAM_OPTION_CHOICE
};

/* Sets size, version, and everything else to 0. NULL is allowed. */
SEAM_API void seam_config_init(struct seam_config *config);

/* Reads "key:value,key:value" (the syntax of the environment variable SEAM_CONF) over *config, which is unchanged on
 * error. The line in `error` names the entry. Errors: SEAM_INVALID (no text), SEAM_CONF, SEAM_VERSION. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_config_parse(
	struct seam_config *config, const char *text, char *error, size_t error_bytes);

/* ---- pools ---- */

/* Makes a pool on device `ordinal`. config: NULL means the environment variable SEAM_CONF over the defaults; else a
 * field of *config that is not 0 wins over SEAM_CONF. A program that runs with more rights than its caller (set-uid,
 * set-gid, file capabilities) has neither SEAM_CONF nor SEAM_TRACE. Errors: SEAM_INVALID, SEAM_CONF (also for values
 * out of range), SEAM_VERSION, SEAM_NO_DEVICE, SEAM_UNSUPPORTED (export_as or gpu_direct_rdma, on a device that has
 * virtual memory management but not that), SEAM_DRIVER, SEAM_OOM_META. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_pool_create(
	int ordinal, const struct seam_config *config, char *error, size_t error_bytes, struct seam_pool **ret_pool);

/* Waits for the device, returns everything that the pool holds, live blocks included, and frees the pool. NULL is
 * allowed. */
SEAM_API void seam_pool_destroy(struct seam_pool *pool);

/* The configuration in force, every default filled in. Valid until the pool is destroyed. NULL for no pool. */
SEAM_API const struct seam_config *seam_pool_config(const struct seam_pool *pool);

/* ---- blocks ---- */

/* flags of a request, or-ed */
#define SEAM_CONTIGUOUS 0x1u /* one physical allocation of its own: for NCCL or RDMA registration and IPC */
#define SEAM_NO_STITCH 0x2u  /* never in a stitched view; several chunks, but each mapped at its home address */
#define SEAM_NO_WAIT 0x4u    /* answer SEAM_OOM_DEVICE rather than wait for pending device work */

struct seam_request {
	uint32_t size; /* sizeof(struct seam_request) */
	uint32_t flags;
	uint64_t bytes; /* at least 1 */
	void *stream;
	uint64_t private_id; /* of a private pool; 0: as routed by seam_private_begin(), else the common memory */
	uint64_t tag;        /* the caller's; shown in snapshots */
};

/* Allocates at least `bytes` (at least 1; rounded up to 512), aligned to 512 bytes.
 * Ordering: usable on `stream` at once; on another stream after the caller ordered it behind the work submitted to
 * `stream` so far. The block belongs to the caller until seam_free(). Errors: SEAM_INVALID, SEAM_OOM_DEVICE (the
 * device, or the pool's capacity, has not that much; everything cached was tried, pending work was waited for),
 * SEAM_OOM_VA and SEAM_MAPPINGS (a budget, or the driver's tables), SEAM_OOM_META, SEAM_CAPTURING, SEAM_DRIVER,
 * SEAM_SHUTDOWN, SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_alloc(struct seam_pool *pool, uint64_t bytes, void *stream, void **ret_ptr);

/* The same with all that can be asked. Errors: also SEAM_NOT_FOUND (private_id), SEAM_UNSUPPORTED (flags). */
SEAM_API SEAM_MUST_USE enum seam_rc seam_alloc_request(
	struct seam_pool *pool, const struct seam_request *request, void **ret_ptr);

/* Gives a block back. Work that uses it may still be pending on its own stream, and on those named by
 * seam_record_stream(). NULL is allowed. Errors: SEAM_NOT_FOUND (not the start of a live block: nothing happens),
 * SEAM_FORKED. */
SEAM_API enum seam_rc seam_free(struct seam_pool *pool, void *ptr);

/* The block is used on `stream` too: after its free it is held until that stream has passed the work submitted by then.
 * Errors: SEAM_NOT_FOUND, SEAM_OOM_META, SEAM_DRIVER. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_record_stream(struct seam_pool *pool, void *ptr, void *stream);

/* Bytes usable from `ptr`, the start of a live block: what was asked, rounded up to 512. Errors: SEAM_NOT_FOUND. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_usable_size(struct seam_pool *pool, const void *ptr, uint64_t *ret_bytes);

/* The live block that contains `address`. Either ret_ may be NULL. O(live blocks) unless a block starts there. Errors:
 * SEAM_NOT_FOUND. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_block_range(
	struct seam_pool *pool, const void *address, void **ret_base, uint64_t *ret_bytes);

/* A piece of a block that lies in one chunk. */
struct seam_block_chunk {
	uint64_t va;          /* where the chunk is mapped for this block: its whole mapping */
	uint64_t bytes;       /* of the chunk */
	uint64_t first_bytes; /* offset in the chunk of the block's first byte there */
	uint64_t used_bytes;  /* bytes of the block there */
	uint64_t chunk;       /* number of the chunk */
};

/* The block's chunks in order of address. Writes at most `capacity` of them; ret_count: how many there are in all.
 * Errors: SEAM_NOT_FOUND. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_block_chunks(
	struct seam_pool *pool, const void *ptr, struct seam_block_chunk *chunks, size_t capacity, size_t *ret_count);

/* A handle of the block's index-th chunk for another process: for export_as:fd an int (the caller closes it), for
 * fabric 64 bytes. The chunk stays with the pool until it is destroyed. Errors: SEAM_NOT_FOUND, SEAM_UNSUPPORTED,
 * SEAM_DRIVER. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_block_export(
	struct seam_pool *pool, const void *ptr, size_t index, void *ret_handle);

/* ---- private pools: memory that only chosen requests use, for stream captures ---- */

/* Which requests go to a private pool while it is open. */
enum seam_route { SEAM_ROUTE_ALL, SEAM_ROUTE_STREAM, SEAM_ROUTE_CAPTURE, SEAM_ROUTE_THREAD };

/* Opens private pool `id` (not 0; any number, made at its first begin) for requests without a private_id of their own:
 * all, those on stream `value`, those on a stream whose capture has id `value`, or those of the calling thread (value
 * 0). Later routes win. Its memory is not shared with others and is never stitched with theirs. Once a stream capture
 * has used it, it stays mapped where it is until the release, and so does what is live there when a capture asks for
 * some; what no capture has used, and is free, goes back to the device when the pool is trimmed or would be out of
 * memory. Each begin takes a reference, which seam_private_release() drops. Errors: SEAM_INVALID, SEAM_OOM_META,
 * SEAM_UNSUPPORTED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_private_begin(
	struct seam_pool *pool, uint64_t id, enum seam_route route, uint64_t value);

/* Ends the newest route to `id`. Errors: SEAM_NOT_FOUND. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_private_end(struct seam_pool *pool, uint64_t id);

/* Drops a reference. With the last, the private pool's free memory joins the common memory, and its live blocks follow
 * when they are freed. The pool does not see replays of the graphs that used the memory: whoever drops the last
 * reference has waited for them. Errors: SEAM_NOT_FOUND. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_private_release(struct seam_pool *pool, uint64_t id);

/* Returns the free memory of private pool `id` to the device, chunk by chunk, and nobody else's; what a stream capture
 * has used stays. Waits for pending work where that helps. It is in no trace. ret_released_bytes may be NULL. Errors:
 * SEAM_NOT_FOUND, SEAM_CAPTURING (a stream that the pool knows is being captured), SEAM_DRIVER. Thread safe. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_private_trim(
	struct seam_pool *pool, uint64_t id, uint64_t *ret_released_bytes);

/* A block as it was live in a private pool. */
struct seam_private_block {
	void *ptr;
	uint64_t bytes; /* as asked for */
	void *stream;
	uint64_t tag;
};

/* Goes back to an earlier moment of private pool `id`: its live blocks are freed, whoever asked for them, and these
 * `count` (in any order; NULL if there are none) are live instead, each at the address that it was handed out at then.
 * A block may be among both. Contents are not touched. For stream captures: a replayed graph leaves its results where
 * they were when it was captured, and what is captured next must not lie there.
 *
 * Waits for the device; from then on until the return no thread may give the device work with the private pool's
 * memory. What a capture has used is never unmapped before its private pool is released, so that the moment at which a
 * capture ended can always be returned to.
 *
 * Thread safe. All or nothing. Errors: SEAM_NOT_FOUND (no such private pool, or it has no memory at an address, or no
 * longer), SEAM_INVALID (a block without bytes, blocks that overlap, an address that is not a block's), SEAM_BUSY
 * (memory there is kept by pending work), SEAM_CAPTURING (also: any stream is), SEAM_OOM_META, SEAM_UNSUPPORTED (no
 * virtual memory management), SEAM_DRIVER. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_private_restore(
	struct seam_pool *pool, uint64_t id, const struct seam_private_block *blocks, size_t count);

/* ---- upkeep ---- */

/* Returns cached memory to the device until reserved_bytes is at most `target_bytes`, chunk by chunk; waits for pending
 * work where that helps. ret_released_bytes may be NULL. Succeeds also when live blocks forbid the target. Errors:
 * SEAM_CAPTURING (a stream that the pool knows is being captured), SEAM_DRIVER. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_trim(
	struct seam_pool *pool, uint64_t target_bytes, uint64_t *ret_released_bytes);

/* From now on the pool takes at most this much device memory (0: what the device has); seam_pool_config() goes on to
 * show what it was made with. What it holds beyond that it keeps until seam_trim(). Errors: SEAM_INVALID, SEAM_FORKED.
 */
SEAM_API SEAM_MUST_USE enum seam_rc seam_pool_set_capacity(struct seam_pool *pool, uint64_t capacity_bytes);

/* The device's memory as its driver tells it: what no program has taken, and all of it. Either ret_ may be NULL.
 * Errors: SEAM_INVALID, SEAM_DRIVER, SEAM_SHUTDOWN, SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_device_memory(
	struct seam_pool *pool, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes);

/* Waits until the device has done what was submitted to it so far, on every stream: what was freed before is then
 * everybody's. Errors: SEAM_INVALID, SEAM_CAPTURING (a stream that the pool knows is being captured), SEAM_DRIVER,
 * SEAM_SHUTDOWN, SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_device_wait(struct seam_pool *pool);

/* To be called before a stream is destroyed, so that the memory freed on it becomes usable as soon as its work has
 * passed. Without it that memory waits until the pool next waits for the whole device. Errors: SEAM_NOT_FOUND (never
 * seen: nothing to do), SEAM_INVALID (the legacy default stream), SEAM_CAPTURING, SEAM_DRIVER: the memory waits as
 * without it. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_stream_destroyed(struct seam_pool *pool, void *stream);

/* Lets device `peer` read and write all of the pool's memory, present and future; all or nothing.
 * Errors: SEAM_INVALID, SEAM_UNSUPPORTED, SEAM_DRIVER. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_peer_enable(struct seam_pool *pool, int peer);

/* ---- plans ---- */

struct seam_plan; /* plan.h */

/* From now on requests are looked for in this plan, made before from a trace (seam_plan_make(), `seam plan`), and
 * served where it says; what it does not expect is served as always. If nothing is live yet and the plan knows what the
 * program asks for first, or if nothing stays, memory for all of it, and for what stays, is taken at once: the
 * program's first iteration makes no driver call for what is planned. Else the plan waits until all that stays has been
 * there for a period, and is in use as soon as few bytes are live, if the pool need not reserve more for it than
 * 513/512 of what it has had, or two chunks more. Another plan, of another kind of iteration, is added to those in use
 * if it needs no more memory. The plan is not kept. SEAM_OK: it is in use, or waits; an error: neither. Like a plan
 * that the pool made it is dropped (drops in plan_stats.def) where memory is short, where it misses more than one
 * request in ten in two periods in a row, or where it has served nothing for 34 periods. Plans that the pool
 * makes itself: the option plan. The plan is checked first, as a file is, in time that is nearly linear in its slots:
 * no two requests that live together share a byte of it. It is refused where it needs more than 513/512 of what lives
 * at once, on all streams: without it the pool needs less. Errors: SEAM_CORRUPT (L0-L5 of plan.h), SEAM_INVALID (a plan
 * of a stretch that happens once, or of a graph; with addresses that are no multiples of 512; worse than none),
 * SEAM_UNSUPPORTED (a device without virtual memory management), SEAM_OOM_DEVICE, SEAM_OOM_VA, SEAM_MAPPINGS,
 * SEAM_OOM_META, SEAM_DRIVER. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_plan_use(
	struct seam_pool *pool, const struct seam_plan *plan, char *error, size_t error_bytes);

/* No plan is used any more; its memory is free for other requests as soon as its blocks are. A pool with plan:auto may
 * learn again. */
SEAM_API void seam_plan_drop(struct seam_pool *pool);

/* ---- pinned host memory ---- */

/* Memory of no stream: for the host, which may write to it as soon as it has it. Every stream that reads or writes it
 * is recorded (seam_host_record_stream()); after the free it is nobody's until those have passed. For seam_host_*()
 * only.
 */
#define SEAM_NO_STREAM ((void *)UINTPTR_MAX)

/* Page-locked host memory of exactly this size rounded up to 512 bytes, for copies on `stream`. The rules of blocks
 * apply: free while work is pending, record_stream; of a stream that was recorded a free waits for what it was given
 * until then. Memory that was allocated for a stream may be used there while earlier work with the same memory is
 * pending: the host itself must wait for it first, unless it is of SEAM_NO_STREAM. Streams that use a pinned tensor of
 * PyTorch's are recorded with PyTorch, which may give its memory again without the pool. Figures, trims: host.h.
 * Errors: SEAM_INVALID (0 bytes), SEAM_OOM_HOST, SEAM_OOM_META, SEAM_DRIVER; of a pointer that is no such memory
 * SEAM_NOT_FOUND. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_host_alloc(
	struct seam_pool *pool, uint64_t bytes, void *stream, void **ret_ptr);
SEAM_API enum seam_rc seam_host_free(struct seam_pool *pool, void *ptr);
SEAM_API SEAM_MUST_USE enum seam_rc seam_host_record_stream(struct seam_pool *pool, void *ptr, void *stream);

/* ---- telling the pool what the program does ----
 *
 * None of this is needed: the pool records every request (option record) and finds repetitions by itself. Who knows
 * more may say it. With record:off, or too little memory for a recording (metadata_limit_bytes), these calls check
 * nothing, do nothing and succeed. */

/* An iteration ends here. What every iteration does alike is learnt sooner and more surely when its end is known; to be
 * called by one thread, once an iteration, where the fewest blocks are live. Errors: SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_step(struct seam_pool *pool);

/* The calling thread enters and leaves a phase, for example "forward"; phases nest, at most 32 deep, and the name of an
 * end is that of its begin. Names are copied, and cut after 63 bytes; beyond 255 different ones the others count as
 * one. Recorded, and shown in traces. Errors: SEAM_INVALID, SEAM_OOM_META, SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_phase_begin(struct seam_pool *pool, const char *name);
SEAM_API SEAM_MUST_USE enum seam_rc seam_phase_end(struct seam_pool *pool, const char *name);

/* What the calling thread asks for in between has sizes that depend on data (the load of an expert): no plan relies on
 * them. May be nested. Errors: SEAM_INVALID (an end without its begin), SEAM_OOM_META, SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_dynamic_begin(struct seam_pool *pool);
SEAM_API SEAM_MUST_USE enum seam_rc seam_dynamic_end(struct seam_pool *pool);

/* Writes what was recorded so far to `path`, a .seamtrace (trace.h): the newest events, as many as record_limit_bytes
 * holds, behind the blocks that were live before them. Host memory is not recorded. May be called at any time. It
 * writes as seam_trace_write_file() does: all or nothing, regular files only. The environment variable SEAM_TRACE=PATH
 * does the same for every pool that seam_pool_create() makes, when it is destroyed, or when the process exits by exit()
 * or a return from main(); %p in PATH becomes the number of the process, and every pool but the process's first writes
 * PATH.1, PATH.2 and so on. Errors: SEAM_INVALID, SEAM_IO, SEAM_OOM_META, SEAM_UNSUPPORTED (nothing is recorded),
 * SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_trace_save(
	struct seam_pool *pool, const char *path, char *error, size_t error_bytes);

/* ---- talking to people ---- */

/* Called when a request is about to fail with SEAM_OOM_DEVICE, after the pool tried everything, without any lock held:
 * it may free blocks. A true result asks for one more try. One callback a pool; NULL removes it. */
typedef bool seam_oom_callback(void *user, struct seam_pool *pool, uint64_t bytes, void *stream);
SEAM_API void seam_set_oom_callback(struct seam_pool *pool, seam_oom_callback *callback, void *user);

enum seam_log_level { SEAM_LOG_ERROR, SEAM_LOG_WARNING, SEAM_LOG_INFO, SEAM_LOG_DEBUG };

/* One line without a newline, for the whole process; called from any thread, possibly under a pool's lock: it must not
 * call Seam. The library itself never prints. NULL removes it. ERROR: a bug in Seam. WARNING: out of memory, a driver's
 * error, a device that cannot stitch. INFO: pools, streams lost sight of. DEBUG: growth, stitching, trims, and refusals
 * of the driver that the pool can live with. */
typedef void seam_log_callback(void *user, enum seam_log_level level, const char *line);
SEAM_API void seam_set_log_callback(seam_log_callback *callback, void *user);

/* A text of several lines for a person: what the memory is doing and what would help, as of the newest out-of-memory,
 * or now if there was none. */
SEAM_API size_t seam_oom_report(struct seam_pool *pool, char *text, size_t text_bytes);

/* The newest driver result that was an error, its call and its text, as one line; "" if none. */
SEAM_API size_t seam_driver_error(struct seam_pool *pool, char *text, size_t text_bytes);

#ifdef __cplusplus
}
#endif
#endif
