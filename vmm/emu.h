/* emu.h: an emulated machine: one or several devices with memory, streams, events and a clock, for machines without a
 * GPU.
 *
 * It is a judge: it rejects what the CUDA driver rejects, and it flags what hardware punishes only sometimes. A
 * violation never stops the program: it raises a named counter that a test reads and sets the device's sticky error:
 * every later call then fails with ILLEGAL_ADDRESS, as in a poisoned context, but queries, and calls that give
 * something back or destroy it.
 *
 * Memory is one memfd, mapped at every address where a handle is mapped, so aliasing is real (SEAM_EMU_REAL). A
 * device's memory is then open to the CPU, which it is not on hardware. With SEAM_EMU_STRICT a load or store of the CPU
 * there is a SIGSEGV; work of the device goes through the file and finds the same bytes as ever; what was granted to
 * the host, and page-locked memory, is the CPU's as before. A copy whose host side the CPU cannot touch is then the
 * violation ACCESS_HOST; where the host fails, having no memory left, it is ACCESS_FAILED, and some of the bytes may
 * have been written. Or memory is nothing at all, with addresses that cannot be touched (SEAM_EMU_BOOK): every rule is
 * still enforced, and a 141 GB device fits a laptop.
 *
 * Results are the driver's where they have been seen; part of a handle in mem_map is NOT_SUPPORTED, and granularity
 * answers for a device that is not there. In three places the emulator refuses, with INVALID_VALUE, what the driver of
 * an H100 and of an H200 (580.159.04) does: mem_unmap of a range in which nothing, or not everything, is mapped (the
 * driver unmaps what is there), mem_map over the end of a reservation into the next one, and host_alloc of no bytes
 * (the driver gives NULL). The library asks for none of them; a test in which it does has found a fault of it, which
 * that driver would hide. Where CUDA's behaviour is not known the stricter reading stands. `lax` answers as that driver
 * did.
 *
 * Streams are queues of work with a virtual duration. Work runs when the virtual clock reaches its end: the clock
 * advances by the cost of every driver call (after the call), by seam__emu_advance(), and to the end of what a waiting
 * call waits for. Host functions run on a thread of the device and take as long as they take; without them everything
 * is deterministic.
 *
 * A device has two copy engines, up and down, as a GPU has: copies to it are done one after the other, in the order in
 * which they become ready, whatever their streams; likewise copies to the host. Both directions at once slow each other
 * down (emu_costs.def). drawn_copies is for tests of edges: a seed, by which each copy or fill takes no time at all, or
 * up to 100 s, which are over only where somebody waits; no engine makes one wait for another.
 *
 * Order is judged by the program's edges, not by time: events and waits, the legacy stream's implicit ones, and what
 * the host has learnt from a query that succeeded or from waiting. Memory whose work has merely had the time to end,
 * unknown to the host, may not be unmapped; waiting through direct_free or device_sync counts as knowing all. Judged so
 * are device memory and page-locked host memory: two copies on the same bytes of it are a RACE like two kernels. A copy
 * or fill where nothing is mapped is refused with INVALID_VALUE, no violation; a launch there is one.
 *
 * Devices of one machine share the address space, handles, host memory, the clock and the judge; each has memory,
 * streams, access to mappings, and a sticky error of its own. A driver is one device; several drivers may be of the
 * same device. What a device's work may touch: mapped memory that mem_set_access() has granted to it, wherever it lies;
 * plain memory of its own; plain memory of others by copies, by kernels after seam__emu_peer_enable(). A copy on one
 * device of mapped memory of another one that has not been granted is refused with INVALID_VALUE; copy_between() names
 * both devices and needs only the access of each to its own side. A kernel runs on a stream of its own device, and an
 * event is recorded on one: else INVALID_HANDLE.
 *
 * A child process after fork() may do nothing with the device: every call returns NOT_INITIALIZED and counts
 * AFTER_FORK; destroying it there leaves everything as it was.
 *
 * Locks: one mutex per machine, rank SEAM_RANK_DRIVER.
 */
#ifndef SEAM_EMU_H
#define SEAM_EMU_H

#include "driver.h"

/* What a driver may lack of memory on the host's NUMA node. */
enum seam_emu_host {
	SEAM_EMU_HOST_WHOLE,    /* nothing: it is created, the CPU is let in, and it is the host's */
	SEAM_EMU_HOST_NONE,     /* none is created */
	SEAM_EMU_HOST_NO_CPU,   /* the CPU is not let in */
	SEAM_EMU_HOST_AS_DEVICE /* is_host says that it is a device's */
};

enum seam_emu_memory { SEAM_EMU_REAL, SEAM_EMU_STRICT, SEAM_EMU_BOOK };

/* What went wrong, beyond wrong arguments. One counter each. */
enum seam_emu_violation {
#define SEAM_EMU_VIOLATION(name, text) SEAM_EMU_##name,
#include "emu_violations.def"
#undef SEAM_EMU_VIOLATION
	SEAM_EMU_VIOLATION_COUNT
};

/* Cost of a call in nanoseconds: fixed + per mapping touched + per 2 MiB touched. The default table is in emu_costs.def
 * with its source. */
struct seam_emu_cost {
	uint64_t fixed_ns;
	uint64_t per_mapping_ns;
	uint64_t per_2mib_ns;
};

/* All-zero is a valid configuration: the defaults stand behind each field. */
struct seam_emu_config {
	enum seam_emu_memory memory;
	int devices;                  /* 0: 1; at most SEAM_EMU_DEVICES */
	bool no_peers;                /* no device can reach another one's memory */
	uint64_t capacity_bytes;      /* of each device; 0: 80 GiB (book), 8 GiB (else) */
	uint64_t used_bytes;          /* held by "others" from the start, on each */
	uint64_t granularity_bytes;   /* 0: 2 MiB */
	uint64_t mapping_ceiling;     /* of each device; 0: 520,000 (book), 60,000 (else) */
	uint64_t address_space_bytes; /* 0: 128 TiB (book), 16 TiB or what the process can get (else) */
	bool no_vmm;                  /* a device without virtual memory management */
	enum seam_emu_host host;      /* memory on the host's NUMA node */
	bool no_fabric;               /* FABRIC handles answer NOT_PERMITTED */
	bool has_rdma;                /* memory for GPUDirect RDMA; else asking for it answers NOT_SUPPORTED */
	bool lenient;                 /* violations only count; no sticky error */
	bool lax;                     /* does what the driver does and the library must not need: see above */
	uint64_t drawn_copies; /* not 0: copies of all kinds are done as early or as late as edges allow: see above */
	bool still;            /* copies and fills move nothing, as in book mode, and leave the host no pages to hold */
	bool poison_all;       /* not in book mode: poison every page of new memory, not only the first and last of each
				  granule */
	const char
		*cost_file; /* NULL: the default table. Lines "call fixed_ns per_mapping_ns per_2mib_ns", # comments */
};

#define SEAM_EMU_DEVICES 16

/* Makes a machine, and a driver of its device 0. It lives until its last driver is destroyed. error: as in rc.h.
 * Errors: SEAM_INVALID (config), SEAM_IO and SEAM_FORMAT (cost file), SEAM_OOM_META,
 * SEAM_OOM_HOST. */
SEAM_MUST_USE enum seam_rc seam__emu_create(
	const struct seam_emu_config *config, char *error, size_t error_bytes, struct seam_driver **ret_driver);

/* Another driver of the machine that d is of. Errors: SEAM_NO_DEVICE, SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__emu_open(struct seam_driver *d, int ordinal, struct seam_driver **ret_driver);

/* A driver of a machine that is the process's: the one of this configuration (memory, devices, capacity_bytes; the rest
 * must be 0), made if need be. Errors: those of both above; SEAM_INVALID also for too many configurations. Thread safe.
 */
SEAM_MUST_USE enum seam_rc seam__emu_shared(const struct seam_emu_config *config, int ordinal, char *error,
	size_t error_bytes, struct seam_driver **ret_driver);

/* Kernels of the device may touch plain memory of `peer` from now on. INVALID_DEVICE: there is no such other device;
 * NOT_SUPPORTED: no_peers. */
SEAM_MUST_USE int seam__emu_peer_enable(struct seam_driver *d, int peer);

/* The device that a stream is of. Results as those of the table's calls. */
SEAM_MUST_USE int seam__emu_stream_ordinal(struct seam_driver *d, uint64_t stream, int *ret_ordinal);

/* When an event came to pass, in virtual time: when its stream got there, and not before it was recorded. Results:
 * INVALID_HANDLE: no event, or one that was never recorded, or in a capture; NOT_READY. */
SEAM_MUST_USE int seam__emu_event_time(struct seam_driver *d, struct seam_event event, uint64_t *ret_ns);

/* Page-locks memory of the program's own, as host_alloc's is, until it is unregistered, which does not touch it.
 * register: OUT_OF_MEMORY, INVALID_VALUE (no bytes), HOST_MEMORY_ALREADY_REGISTERED (any byte). unregister:
 * HOST_MEMORY_NOT_REGISTERED; work on it that is pending is the violation FREE_PENDING. */
SEAM_MUST_USE int seam__emu_host_register(struct seam_driver *d, void *ptr, uint64_t bytes);
SEAM_MUST_USE int seam__emu_host_unregister(struct seam_driver *d, void *ptr);

/* Of a driver made above only. Violations are the machine's. */
uint64_t seam__emu_violations(struct seam_driver *d, enum seam_emu_violation which);
uint64_t seam__emu_violations_all(struct seam_driver *d);
const char *seam__emu_violation_name(enum seam_emu_violation which);
/* The newest violation in a line of text ("" if none); valid until the next call. */
const char *seam__emu_violation_text(struct seam_driver *d);
void seam__emu_clear_violations(struct seam_driver *d);

/* Lets virtual time pass. */
void seam__emu_advance(struct seam_driver *d, uint64_t ns);

/* A fake kernel: runs for duration_ns in stream order, reading and writing the given ranges. The judge checks that
 * every byte is mapped with access when it runs, that two aliases of the same memory are not written inside one kernel,
 * and that work on the same physical bytes from different streams is ordered by an edge. Unless in book mode, with
 * `value` != 0 it fills written ranges with it. */
struct seam_emu_range {
	uint64_t va;
	uint64_t bytes;
	bool write;
};
SEAM_MUST_USE int seam__emu_launch(struct seam_driver *d, uint64_t stream, const struct seam_emu_range *ranges,
	size_t count, uint64_t duration_ns, uint32_t value);

/* Ends a capture like the table's capture_end, and keeps what it saw: a graph, until it is destroyed. Each launch does
 * that work again, and it is judged like any other: what was true at capture may not be true any more. Nothing that is
 * gone is refused: copies fail like kernels, when they run. As in CUDA a launch comes after what the stream was given,
 * and after the graph's last launch; what the stream gets next comes after it. Within it streams that joined stay
 * apart, with the edges of the captured events. keep: results as capture_end's, and OUT_OF_MEMORY: the capture is over.
 * launch: INVALID_HANDLE; OUT_OF_MEMORY: nothing runs; STREAM_CAPTURE_UNSUPPORTED: graphs within graphs are not
 * emulated. destroy: INVALID_HANDLE; launches go on. */
SEAM_MUST_USE int seam__emu_capture_keep(struct seam_driver *d, uint64_t stream, uint64_t *ret_graph);
SEAM_MUST_USE int seam__emu_graph_launch(struct seam_driver *d, uint64_t graph, uint64_t stream);
SEAM_MUST_USE int seam__emu_graph_destroy(struct seam_driver *d, uint64_t graph);

/* State for assertions: bytes of physical memory in use (by handles, direct allocations) and streams made, of the
 * device; of the machine: live handles, mappings, reservations, direct allocations, events, host allocations. */
struct seam_emu_usage {
	uint64_t handles, used_bytes, mappings, reservations, reserved_va_bytes, direct_allocations, events, streams,
		host_allocations;
};
void seam__emu_usage(struct seam_driver *d, struct seam_emu_usage *ret_usage);

/* Name of the first broken invariant of the emulator itself, or NULL. */
const char *seam__emu_check(struct seam_driver *d);

#endif
