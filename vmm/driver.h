/* driver.h: the one seam between Seam and a device: a table of calls, its contract, and the wrappers that count them.
 *
 * Two backends fill the table: driver_cuda.c (libcuda, opened at run time) and driver_emu.c (an emulated device, no
 * GPU). One struct seam_driver is one device of one backend.
 *
 * Not here: policy of any kind; what Seam keeps about memory; retries. A call does what it says once and reports.
 *
 * The rest of the library calls seam__drv_NAME(), never d->ops->NAME: the wrapper counts the call and its time and is
 * the place where a test makes the Nth call fail.
 *
 * Contract of every call
 *   - Result: 0 (SEAM_CU_SUCCESS) or one of enum seam_cu, numbered like CUresult. ret_* are untouched unless it is 0.
 *   - Any thread; the backend makes its context current where that is needed. Never under a lock if marked WAITS in
 *     driver.def.
 *   - Addresses and sizes are bytes. G below is the granularity of the properties at hand (2 MiB on all GPUs we know).
 *   - No call synchronises with device work unless it is marked so here. In particular unmapping does not: the caller
 *     must know that no pending work uses the range.
 *
 * Invariants
 *   D1  counters only grow, and every call made through a wrapper is counted once, whether it succeeded or not
 *   D2  an injected failure returns before the backend is reached: the device's state is unchanged
 */
#ifndef SEAM_DRIVER_H
#define SEAM_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

/* The CUresult values that Seam knows; others pass through as numbers. */
enum seam_cu {
	SEAM_CU_SUCCESS = 0,
	SEAM_CU_INVALID_VALUE = 1,
	SEAM_CU_OUT_OF_MEMORY = 2,
	SEAM_CU_NOT_INITIALIZED = 3,
	SEAM_CU_DEINITIALIZED = 4,
	SEAM_CU_NO_DEVICE = 100,
	SEAM_CU_INVALID_DEVICE = 101,
	SEAM_CU_INVALID_CONTEXT = 201,
	SEAM_CU_INVALID_HANDLE = 400,
	SEAM_CU_NOT_READY = 600,
	SEAM_CU_ILLEGAL_ADDRESS = 700,
	SEAM_CU_CONTEXT_IS_DESTROYED = 709,
	SEAM_CU_HOST_MEMORY_ALREADY_REGISTERED = 712,
	SEAM_CU_HOST_MEMORY_NOT_REGISTERED = 713,
	SEAM_CU_NOT_PERMITTED = 800,
	SEAM_CU_NOT_SUPPORTED = 801,
	SEAM_CU_STREAM_CAPTURE_UNSUPPORTED = 900,
	SEAM_CU_STREAM_CAPTURE_INVALIDATED = 901,
	SEAM_CU_STREAM_CAPTURE_UNMATCHED = 903,
	SEAM_CU_STREAM_CAPTURE_UNJOINED =
		904, /* work of a stream that joined the capture is not behind the stream that began it */
	SEAM_CU_STREAM_CAPTURE_ISOLATION = 905,
	SEAM_CU_STREAM_CAPTURE_IMPLICIT = 906, /* of the legacy stream, while a blocking stream is being captured */
	SEAM_CU_CAPTURED_EVENT = 907,
	SEAM_CU_UNKNOWN = 999,
};

enum seam_drv_attribute {
	SEAM_ATTR_VMM_SUPPORTED,      /* 0 or 1 */
	SEAM_ATTR_POSIX_FD_SUPPORTED, /* 0 or 1 */
	SEAM_ATTR_FABRIC_SUPPORTED,   /* 0 or 1 */
	SEAM_ATTR_RDMA_SUPPORTED,     /* 0 or 1: GPUDirect RDMA for VMM memory */
	SEAM_ATTR_DRIVER_VERSION,     /* like 13000 */
	SEAM_ATTR_HOST_NODE,          /* the host's NUMA node that is next to the device; -1: not known */
	SEAM_ATTR_HOST_VMM_SUPPORTED, /* 0 or 1: mem_create of memory on a NUMA node of the host */
	SEAM_ATTR_CHIP,               /* compute capability, major * 10 + minor; 0 for the emulator */
};

/* One physical allocation: a driver handle. Zero is no handle. */
struct seam_phys {
	uint64_t id;
};

struct seam_event {
	uint64_t id; /* 0: none */
};

enum seam_location_kind { SEAM_AT_DEVICE, SEAM_AT_HOST, SEAM_AT_HOST_NUMA, SEAM_AT_HOST_NUMA_CURRENT };

struct seam_location {
	enum seam_location_kind kind;
	int id; /* device ordinal or NUMA node; ignored for SEAM_AT_HOST */
};

/* or-ed into seam_phys_props.handle_types */
enum seam_handle_type { SEAM_HANDLE_NONE = 0, SEAM_HANDLE_POSIX_FD = 1, SEAM_HANDLE_FABRIC = 8 };

/* What a physical allocation is to be. Fixed at creation. All-zero: plain memory of the driver's own device 0. */
struct seam_phys_props {
	struct seam_location where;
	unsigned handle_types; /* of enum seam_handle_type: what it can be exported as */
	bool gpu_direct_rdma;
};

enum seam_access_mode { SEAM_ACCESS_NONE = 0, SEAM_ACCESS_READ = 1, SEAM_ACCESS_READWRITE = 3 };

struct seam_access {
	struct seam_location where;
	enum seam_access_mode mode;
};

enum seam_stream_kind { SEAM_STREAM_BLOCKING, SEAM_STREAM_NONBLOCKING };

/* Stream handles with a meaning of their own, as in CUDA. */
#define SEAM_STREAM_DEFAULT UINT64_C(0)    /* the legacy default stream */
#define SEAM_STREAM_LEGACY UINT64_C(1)     /* its explicit name */
#define SEAM_STREAM_PER_THREAD UINT64_C(2) /* the calling thread's default stream */

enum seam_capture_state { SEAM_CAPTURE_NONE = 0, SEAM_CAPTURE_ACTIVE = 1, SEAM_CAPTURE_INVALIDATED = 2 };

struct seam_driver;

/* The table. What the calls do, beyond the contract above:
 *
 * attribute          A property of the device. INVALID_VALUE for an unknown one.
 * mem_info           Free and total bytes of the device, other processes included.
 * granularity        G: what create sizes, map addresses and map sizes must be multiples of. It may have an answer
 *                    for a device that is not there: mem_create refuses that.
 *
 * address_reserve    Reserves `bytes` (multiple of G) of address space, aligned to alignment_bytes (0, or a power of
 *                    two). hint_va is a wish; compare the result. OUT_OF_MEMORY when there is no such space. No
 *                    memory is used.
 * address_free       Exactly a reservation as it was made, with nothing mapped in it; else INVALID_VALUE.
 * mem_create         Physical memory, `bytes` a multiple of G. Contents are unspecified. One reference.
 *                    OUT_OF_MEMORY: the device has not that much. NOT_PERMITTED: FABRIC without its service.
 * mem_release        Drops one reference. The memory dies with its last reference, mapping and exported handle.
 *                    Releasing a handle that does not exist is undefined in CUDA; the emulator flags it.
 * mem_retain         The handle mapped at `va`, with one more reference. INVALID_VALUE if nothing is mapped there.
 * mem_map            Maps the whole handle (offset 0, flags 0, bytes = its size) at reserved, unmapped space of one
 *                    reservation. One handle may be mapped at several addresses. No access yet. NOT_SUPPORTED: a part
 *                    of the handle.
 * mem_unmap          One or several whole mappings without a gap. Access is lost. A cut through a mapping is refused
 *                    with INVALID_VALUE, and nothing is changed. A range with holes must not be asked for: drivers
 *                    unmap what is there, or refuse. WAITS because the header allows it to synchronise; in practice
 *                    it does not: see above.
 * mem_set_access     Grants access, of one or several devices, over one or several whole mappings without a gap; of
 *                    the CPU, at the node where the memory lies, to memory of the host only.
 *                    INVALID_DEVICE: there is no such device, or it cannot reach that memory. OUT_OF_MEMORY here
 *                    means that the device's mapping tables are full, not its memory.
 * mem_get_access     The access of one location at `va`.
 * is_host            Whether the memory at `va` is the host's: what a program that asks for page-locked memory goes by.
 *                    INVALID_VALUE for memory that the driver does not know.
 * mem_export         A handle for another process: an `int` file descriptor for POSIX_FD (the caller closes it), 64
 *                    bytes for FABRIC. INVALID_VALUE unless the memory was created for it.
 * mem_import         The reverse; one reference.
 *
 * direct_alloc       Plain device memory, aligned to 512 bytes at least. May synchronise the device.
 * direct_free        Exactly what direct_alloc returned. Waits until the device is idle.
 * host_alloc         Page-locked host memory. host_free returns it.
 *
 * stream_create      A stream; BLOCKING ones synchronise with the legacy default stream, as in CUDA.
 * stream_destroy     Its pending work still completes; the handle may be given out again at once.
 * stream_id          A number unique in the process for the life of the program, also across reuse of a handle. For
 *                    SEAM_STREAM_PER_THREAD one of the calling thread, its own. INVALID_HANDLE for a destroyed one
 *                    where the driver can tell. STREAM_CAPTURE_UNSUPPORTED while another stream than the thread's own
 *                    is captured; the capture may be lost by it.
 * stream_foreign     Whether it is another device's. The handles with a meaning of their own are d's.
 * stream_capture     Whether the stream is being captured into a graph, and by which capture. Allowed during any
 *                    capture.
 * capture_begin/end  For tests: puts the stream into (relaxed) capture; the captured graph is dropped at the end. The
 *                    end is also an error, and the capture over, if it was spoilt, or if work of a stream that joined
 *                    does not come before the end (UNJOINED).
 * stream_query       SUCCESS if all its work is done, NOT_READY if not.
 * stream_sync        Waits for all its work. STREAM_CAPTURE_UNSUPPORTED while capturing.
 * stream_wait_event  Work submitted to `stream` from now on starts after the event's last record has passed.
 * stream_host_func   Runs function(argument) on a host thread in stream order; the function must not call the driver.
 *                    For tests: a function that waits for a flag makes pending work.
 * device_sync        Waits for all work of the device (of the context).
 *
 * event_create       An event without timing. A fresh event counts as passed.
 * event_create_for   Likewise, to be recorded on `stream` and others of its device, which need not be d's; not on one
 *                    of the handles with a meaning of their own, which say nothing about other devices.
 * event_record       Covers all work submitted to `stream` so far. INVALID_HANDLE: the event is of another device
 *                    than the stream. While the stream is capturing it becomes a node of the graph and says nothing
 *                    about the host's order: the callers here do not record then.
 * event_query        SUCCESS or NOT_READY.
 * event_sync         Waits.
 *
 * copy_*, fill32     In stream order. The host buffer of a copy must stay valid until the stream has passed it; the
 *                    emulator copies when the work runs. Host memory that is not page-locked makes CUDA wait until
 *                    the copy is done. fill32 writes `words` 32-bit words. copy_on_device needs access of d's own
 *                    device to both sides, copy_between only that of each named device to its side: of memory that no
 *                    other device has been let in to it is the only way to another device.
 */
struct seam_driver_ops {
	const char *name; /* "cuda" or "emu" */
	void (*destroy)(struct seam_driver *d);
	/* Nanoseconds on the device's own clock: the emulator's virtual one; the host's monotonic clock on CUDA. */
	uint64_t (*clock_ns)(struct seam_driver *d);
	/* A text for a result code, never NULL. */
	const char *(*error_text)(struct seam_driver *d, int cu);
	/* The device's name for a person. */
	const char *(*device_name)(struct seam_driver *d);
#define SEAM_DRIVER(name, class, wait, params, args) int(*name) params;
#include "driver.def"
#undef SEAM_DRIVER
};

enum seam_drv_call {
#define SEAM_DRIVER(name, class, wait, params, args) SEAM_DRV_##name,
#include "driver.def"
#undef SEAM_DRIVER
	SEAM_DRV_COUNT
};

enum seam_drv_class { SEAM_DRV_QUERY, SEAM_DRV_MEMORY, SEAM_DRV_EVENT, SEAM_DRV_COPY };

/* Counters of one call. `ns` is time on the device's clock (estimated on the emulator, measured on CUDA). */
struct seam_drv_count {
	_Atomic uint64_t calls;
	_Atomic uint64_t failures;
	_Atomic uint64_t ns;
};

/* Base of a backend's device; the backend embeds it as its first member. */
struct seam_driver {
	const struct seam_driver_ops *ops;
	int ordinal;
	struct seam_drv_count counts[SEAM_DRV_COUNT];
	_Atomic int last_error; /* the newest result that was neither SUCCESS nor NOT_READY */
	_Atomic int last_call;  /* enum seam_drv_call of it */
	/* Fault injection; see seam__driver_fail_at(). */
	_Atomic int64_t fail_countdown; /* 0: off; 1: the next matching call fails */
	_Atomic uint64_t fail_classes;  /* bit per enum seam_drv_class */
	_Atomic int fail_code;
	_Atomic uint64_t injected; /* failures injected so far */
};

/* Called by a backend on its zeroed struct. */
void seam__driver_init(struct seam_driver *d, const struct seam_driver_ops *ops, int ordinal);

/* Returns the device to its backend, which frees it. NULL is allowed. Nothing may use it any more. */
void seam__driver_destroy(struct seam_driver *d);

/* The call's name ("mem_map") and class. Never NULL for a valid call. */
const char *seam__driver_call_name(enum seam_drv_call call);
enum seam_drv_class seam__driver_call_class(enum seam_drv_call call);

/* Makes the nth call (1: the next) among the classes whose bits are set fail once with `cu`. n = 0 switches it off.
 * For tests. Thread safe. */
void seam__driver_fail_at(struct seam_driver *d, uint64_t n, uint64_t classes, int cu);

/* Calls and device-clock nanoseconds of one class so far. */
uint64_t seam__driver_calls(const struct seam_driver *d, enum seam_drv_class class);
uint64_t seam__driver_ns(const struct seam_driver *d, enum seam_drv_class class);

/* The calling thread's number, from 1 on; unlike pthread_self() never given out again. */
uint64_t seam__driver_thread(void);

/* The result as Seam's own code: OUT_OF_MEMORY -> SEAM_OOM_DEVICE, CAPTURE -> SEAM_CAPTURING, DEINITIALIZED ->
 * SEAM_SHUTDOWN, NOT_SUPPORTED -> SEAM_UNSUPPORTED, NOT_READY -> SEAM_BUSY, the rest SEAM_DRIVER. */
enum seam_rc seam__driver_rc(int cu);

/* A text for a result code, never NULL; for backends that have no better one. */
const char *seam__driver_cu_text(int cu);

/* A call that gives something back. Any call may report, once, an error of earlier work, so it is made twice; a driver
 * that refuses a handle of ours again is gone, and what it was of with it. */
#define SEAM_DRV_GIVE_BACK(call)                          \
	do {                                              \
		int give_back_ignored = (call);           \
		if (give_back_ignored != SEAM_CU_SUCCESS) \
			give_back_ignored = (call);       \
		(void)give_back_ignored;                  \
	} while (0)

/* Bookkeeping of the wrappers: enter returns true if a failure is injected (code in *ret_cu). */
bool seam__driver_enter(struct seam_driver *d, enum seam_drv_call call, int *ret_cu);
int seam__driver_leave(struct seam_driver *d, enum seam_drv_call call, uint64_t start_ns, int cu);

#define SEAM_DRIVER(name, class, wait, params, args)                         \
	SEAM_MUST_USE static inline int seam__drv_##name params              \
	{                                                                    \
		int injected = 0;                                            \
		if (seam__driver_enter(d, SEAM_DRV_##name, &injected))       \
			return injected;                                     \
		uint64_t start_ns = d->ops->clock_ns(d);                     \
		int cu = d->ops->name args;                                  \
		return seam__driver_leave(d, SEAM_DRV_##name, start_ns, cu); \
	}
#include "driver.def"
#undef SEAM_DRIVER

#endif
