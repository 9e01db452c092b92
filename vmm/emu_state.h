/* emu_state.h: the emulated machine's own structures, shared by vmm/emu_*.c and driver_emu.c and by nobody else.
 *
 * Every field is guarded by emu.lock unless it says otherwise; every function here needs that lock. The functions
 * seam__emu_op_NAME are the table's calls: driver_emu.c takes the lock, refuses what comes after a fork or a sticky
 * error, and bills the virtual time around them.
 *
 * Invariants
 *   E1  reservations do not overlap; every mapping that is not direct begins in its reservation and lies whole in it,
 *       or, with config.lax, in it and those behind it
 *   E2  mappings do not overlap; phys.mappings counts those of a handle
 *   E3  a handle lives while references, mappings or open exports exist; used_bytes is the sum of the living on a
 *       device
 *   E4  no work in the timeline ends before now; a stream's queue is empty or waits at its head for a host function,
 *       a copy that an engine does, or a mark
 *   E5  mapping.pending counts the pins of work that is not done
 *   E6  granted_count of a device is the number of mappings with its bit in `granted`
 *   E7  a stream has a graph and a branch in it exactly while it is captured
 *   E8  no copy is ready at an idle engine
 */
#ifndef SEAM_EMU_STATE_H
#define SEAM_EMU_STATE_H

#include "emu.h"
#include "emu_engine.h"
#include "emu_extent.h"
#include "emu_order.h"
#include "emu_table.h"
#include "list.h"
#include "lockrank.h"
#include "slab.h"
#include "tree.h"

/* ---- memory ---- */

struct emu_reservation {
	RB_ENTRY(emu_reservation) by_va;
	uint64_t va;
	uint64_t bytes;
};
SEAM_TREE_HEAD(emu_reservations, struct emu_reservation);

/* The newest touches of a piece of a handle, or of page-locked memory: emu_judge.c. */
struct emu_touch {
	uint64_t number; /* of the work; 0: nobody */
	uint64_t stream_id;
	uint64_t serial; /* of the mapping it went through; 0: page-locked memory */
	uint32_t device; /* of the stream */
};

struct emu_access {
	RB_ENTRY(emu_access) by_begin;
	uint64_t begin; /* offset in the handle, or in the page-locked memory */
	uint64_t end;
	struct emu_touch writer;
	struct emu_touch *readers; /* the newest of each stream and mapping, since the writer */
	uint32_t reader_count;
	uint32_t reader_capacity;
};
SEAM_TREE_HEAD(emu_accesses, struct emu_access);

struct emu_export {
	LIST_ENTRY(emu_export) of_device;
	LIST_ENTRY(emu_export) of_phys;
	struct emu_phys *phys;
	uint64_t inode; /* of the descriptor that was given out: how an import finds it */
	int our_end;    /* hangs up when the last copy of that descriptor is closed */
};

struct emu_phys {
	uint64_t id; /* 0: of a direct allocation */
	uint64_t bytes;
	uint64_t offset_bytes; /* in the file */
	struct seam_phys_props props;
	uint64_t references;
	uint64_t mappings;
	LIST_HEAD(, emu_export) exports;
	LIST_ENTRY(emu_phys) lingering; /* linked while only exports keep it */
	bool lingers;
	struct emu_accesses accesses;
	uint64_t capture_id; /* the newest capture that used it */
};

/* Who may do what: enum seam_access_mode. */
struct emu_modes {
	uint8_t device[SEAM_EMU_DEVICES];
	uint8_t host;
};

struct emu_mapping {
	RB_ENTRY(emu_mapping) by_va;
	uint64_t va;
	uint64_t bytes;
	uint64_t serial; /* never reused: tells two aliases apart */
	struct emu_phys *phys;
	struct emu_reservation *reservation; /* NULL: a direct allocation */
	struct emu_modes modes;
	uint32_t granted;       /* bit per device: counts against its ceiling */
	uint64_t pending;       /* pins of work that is not done */
	uint64_t capture_id;    /* the newest capture that used it */
	struct emu_order users; /* newest work of each stream that touched it */
};
SEAM_TREE_HEAD(emu_mappings, struct emu_mapping);

struct emu_host_block {
	RB_ENTRY(emu_host_block) by_va;
	uint64_t va;
	uint64_t bytes;
	bool registered;              /* the program's own memory */
	struct emu_order users;       /* newest copy of each stream from it or to it */
	struct emu_accesses accesses; /* of those copies */
};
SEAM_TREE_HEAD(emu_host_blocks, struct emu_host_block);

/* ---- work ---- */

/* A point of a stream. Shared by the event and the work that waits for it. */
struct emu_mark {
	uint32_t references;
	bool resolved;
	uint64_t time_ns;       /* valid when resolved: when the stream gets there */
	struct emu_order order; /* what comes before it */
	struct emu_mark *again; /* of a graph: the mark in its stead; valid while a launch is being prepared */
};

struct emu_event {
	uint64_t id;
	struct emu_device *device;
	struct emu_mark *mark; /* NULL: never recorded */
	uint64_t capture_id;   /* not 0: recorded in a capture, no time in it */
	uint64_t recorded_ns;  /* when the program asked for that record */
};

enum emu_work_kind {
	EMU_LAUNCH,
	EMU_TO_DEVICE,
	EMU_TO_HOST,
	EMU_ON_DEVICE,
	EMU_BETWEEN, /* each range by its own device */
	EMU_FILL,
	EMU_HOST_FUNC,
	EMU_WAIT,  /* for its mark */
	EMU_RECORD /* resolves its mark */
};

#define EMU_INLINE_RANGES 2

struct emu_work {
	RB_ENTRY(emu_work) by_time;    /* in the timeline */
	STAILQ_ENTRY(emu_work) queued; /* in the stream's queue */
	STAILQ_ENTRY(emu_work) hosted; /* in the helper thread's, or an engine's */
	enum emu_work_kind kind;
	struct emu_stream *stream;
	uint64_t number;
	uint64_t last_number; /* of the stream, when this was made */
	uint64_t submit_ns;
	uint64_t duration_ns;
	uint64_t time_ns; /* valid in the timeline: its end; of a host function, or a copy not begun, its start */
	struct emu_mark *mark;
	void (*function)(void *);
	void *host; /* argument of the function, or host side of a copy */
	uint64_t host_bytes;
	uint32_t value;
	bool placed;                   /* heads its queue, and is in the timeline, or runs, or an engine has it */
	bool disarmed;                 /* its memory was taken away: it has no effect any more */
	bool locked;                   /* of a graph: its host side was page-locked at capture, and has to be still */
	struct emu_device *between[2]; /* EMU_BETWEEN: whose range is which */
	struct seam_emu_range *ranges;
	struct seam_emu_range inline_ranges[EMU_INLINE_RANGES];
	size_t range_count;
	struct emu_mapping **pins;
	struct emu_mapping *inline_pins[EMU_INLINE_RANGES];
	size_t pin_count;
	size_t pin_capacity; /* 0: inline */
};
SEAM_TREE_HEAD(emu_timeline, struct emu_work);
STAILQ_HEAD(emu_work_queue, emu_work);

/* What a capture saw, or sees: emu_graph.c. */
struct emu_graph {
	uint64_t id;                 /* 0: nobody keeps it when the capture ends */
	uint32_t references;         /* by the streams of its capture, and its handle */
	struct emu_work_queue works; /* in the order of the capture, each of a branch; never submitted themselves */
	SLIST_HEAD(, emu_stream) branches;
	struct emu_stream *origin; /* the branch that everything starts from and ends in */
};

struct emu_stream {
	RB_ENTRY(emu_stream) by_handle;
	LIST_ENTRY(emu_stream) all;
	LIST_ENTRY(emu_stream) stuck; /* linked while the queue is not empty */
	struct emu_device *device;
	uint64_t handle;
	uint64_t thread; /* for per-thread streams: whose; else 0 */
	uint64_t id;
	bool blocking;
	bool destroyed;
	uint64_t work_count; /* work that is not done, and waiters */
	uint64_t tail_ns;    /* when everything before the queue is done */
	struct emu_work_queue queue;
	enum seam_capture_state capture;
	uint64_t capture_id;
	bool capture_origin;
	uint64_t captured_number; /* of the newest work that the capture has seen of it; 0: none */
	struct emu_order
		captured_order;    /* work of the capture's other streams that comes before what it gets from now on */
	struct emu_graph *graph;   /* of the capture, or NULL */
	struct emu_stream *branch; /* of that graph: stands for this stream when the graph is launched */
	SLIST_ENTRY(emu_stream) of_graph; /* of a branch */
	uint64_t last_number;             /* of the newest work that touches memory */
	uint64_t merged_host;             /* version of the host's order in `order` */
	uint64_t merged_number;           /* the implicit edges' orders are taken in up to this work of the device */
	struct emu_order order;
};
SEAM_TREE_HEAD(emu_streams, struct emu_stream);
LIST_HEAD(emu_stream_list, emu_stream);

/* ---- the machine ---- */

struct emu_device {
	struct emu *e;
	uint32_t ordinal;
	int sticky;     /* 0, or what every later call on it returns */
	uint32_t peers; /* bit per device whose plain memory its kernels may touch */
	uint64_t used_bytes;
	uint64_t granted_count;
	uint64_t created_streams;  /* that have a handle */
	uint64_t blocking_tail_ns; /* latest tail of any blocking stream */
	struct emu_stream *legacy;
	struct emu_engine up, down;
};

/* What the rest of Seam holds: a device. */
struct emu_driver {
	struct seam_driver base;
	struct emu_device *device;
};

struct emu {
	struct seam_emu_config config; /* defaults filled in; constant */
	uint64_t asked_capacity_bytes; /* constant: before the default */
	struct seam_meta *meta;        /* constant; everything here, this struct too, is counted in it */
	const _Atomic uint32_t *alive; /* a page of one word, 1; the kernel zeroes it in a child process */
	struct seam_mutex lock;
	struct seam_cond changed; /* a host function has returned */

	_Atomic uint64_t now_ns; /* written under the lock, read without */
	struct seam_emu_cost costs[SEAM_DRV_COUNT];
	uint64_t billed_mappings; /* of the call at hand */
	uint64_t billed_bytes;

	struct emu_device devices[SEAM_EMU_DEVICES]; /* the first `config.devices` */
	uint64_t floors[SEAM_EMU_DEVICES];           /* work of a device up to here comes before everything */
	uint64_t drivers;                            /* of any device, that are not destroyed */
	_Atomic uint64_t violations[SEAM_EMU_VIOLATION_COUNT];
	char violation_text[200];

	int memfd; /* -1 in book mode */
	uint64_t arena_va;
	uint64_t arena_map_va; /* what was mapped around the arena */
	uint64_t arena_map_bytes;
	uint64_t ballast_va; /* entries of the kernel's map to throw off when it is full */
	uint64_t ballast_pages;
	struct emu_extents space;
	struct emu_extents store;
	struct emu_reservations reservations;
	struct emu_mappings mappings;
	struct emu_host_blocks host_blocks;
	struct emu_table phys_table;
	LIST_HEAD(, emu_export) exports;
	LIST_HEAD(, emu_phys) lingering;
	uint64_t reservation_count;
	uint64_t reserved_va_bytes;
	uint64_t mapping_count; /* without direct allocations */
	uint64_t direct_count;
	uint64_t host_count;
	uint64_t next_serial;
	struct seam_slab reservation_slab, mapping_slab, phys_slab, access_slab, host_slab, export_slab;

	struct emu_timeline timeline;
	struct emu_streams streams; /* that have a handle */
	struct emu_stream_list all_streams;
	struct emu_stream_list stuck_streams;
	uint64_t *free_handles; /* stack of stream handles for reuse */
	size_t free_handle_count, free_handle_capacity;
	uint64_t next_handle;
	uint64_t created_streams; /* of all devices */
	uint64_t active_captures;
	struct emu_table event_table;
	uint64_t drawn;        /* the newest number of config.drawn_copies */
	uint64_t next_number;  /* of work */
	uint64_t touch_number; /* of the newest work that touches memory */
	struct emu_order host_order;
	uint64_t host_version; /* grows when host_order does */
	struct emu_table graph_table;
	struct seam_slab mark_slab, event_slab, work_slab, stream_slab, graph_slab;

	pthread_t helper; /* valid while helper_runs */
	bool helper_runs;
	bool helper_stops;
	struct seam_cond helper_wakes;
	struct emu_work_queue host_queue; /* host functions whose turn has come */
};

static inline struct emu_device *seam__emu_device_of(struct seam_driver *d)
{
	return ((struct emu_driver *)(void *)d)->device;
}

static inline struct emu *seam__emu_of(struct seam_driver *d)
{
	return seam__emu_device_of(d)->e;
}

static inline uint64_t seam__emu_now(const struct emu *e)
{
	return atomic_load_explicit(&e->now_ns, memory_order_relaxed);
}

/* The newest work of a stream that everything does not come after anyway; its number may be 0. */
static inline struct emu_order_entry seam__emu_newest_of(const struct emu *e, const struct emu_stream *stream)
{
	uint32_t device = stream->device->ordinal;
	return (struct emu_order_entry){
		stream->id, stream->last_number > e->floors[device] ? stream->last_number : 0, device};
}

#define SEAM_DRIVER(name, class, wait, params, args) SEAM_MUST_USE int seam__emu_op_##name params;
#include "driver.def"
#undef SEAM_DRIVER

/* emu_violation.c. device: whose fault it is. */
void seam__emu_violate(struct emu_device *device, enum seam_emu_violation which, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* emu_cost.c: fills the table. Errors: SEAM_IO, SEAM_FORMAT with a line in `error` (200 bytes, or NULL). */
SEAM_MUST_USE enum seam_rc seam__emu_costs_load(struct emu *e, char *error, size_t error_bytes);
void seam__emu_costs_default(struct seam_emu_cost costs[SEAM_DRV_COUNT]);
/* How long the device is at work for a copy or fill. */
uint64_t seam__emu_costs_copy(struct emu *e, enum seam_drv_call call, uint64_t bytes);
/* What the current call has to pay, from billed_*; clears them. */
uint64_t seam__emu_costs_bill(struct emu *e, enum seam_drv_call call, int cu);

/* emu_backing.c: the host's side of the memory; all of it does nothing in book mode but set up the address line. */
SEAM_MUST_USE enum seam_rc seam__emu_backing_init(struct emu *e);
void seam__emu_backing_fini(struct emu *e);
/* What the CPU sees of a mapping (bits of enum seam_access_mode): what was granted to the host, and but in strict mode
 * what was granted to any device. */
unsigned seam__emu_backing_shown(const struct emu *e, const struct emu_modes *modes);
/* Shows that. On failure everything is as before. */
SEAM_MUST_USE bool seam__emu_backing_show(
	struct emu *e, const struct emu_mapping *mapping, const struct emu_modes *modes);
void seam__emu_backing_hide(struct emu *e, uint64_t va, uint64_t bytes);
void seam__emu_backing_poison(struct emu *e, uint64_t offset_bytes, uint64_t bytes);
void seam__emu_backing_punch(struct emu *e, uint64_t offset_bytes, uint64_t bytes);

/* emu_bytes.c: not in book mode. Results: 0 or an errno; on failure some of the bytes may have been written. */
SEAM_MUST_USE int seam__emu_bytes_read(struct emu *e, void *to, uint64_t va, uint64_t bytes);
SEAM_MUST_USE int seam__emu_bytes_write(struct emu *e, uint64_t va, const void *from, uint64_t bytes);
SEAM_MUST_USE int seam__emu_bytes_fill(struct emu *e, uint64_t va, uint32_t value, uint64_t bytes);
SEAM_MUST_USE int seam__emu_bytes_move(struct emu *e, uint64_t to_va, uint64_t from_va, uint64_t bytes);

/* emu_lookup.c */
struct emu_mapping *seam__emu_mapping_find(struct emu *e, uint64_t va);    /* that contains va, or NULL */
struct emu_mapping *seam__emu_mapping_next(struct emu *e, uint64_t va);    /* the first that ends after va, or NULL */
struct emu_host_block *seam__emu_host_next(struct emu *e, uint64_t va);    /* likewise of page-locked memory */
bool seam__emu_host_is_locked(struct emu *e, const struct emu_work *work); /* its host side is page-locked memory */
/* True if the work's host side and the block have a byte in common. */
bool seam__emu_host_meets(const struct emu_work *work, const struct emu_host_block *block);
/* The stream on which an active capture began, or NULL: it is not active. */
struct emu_stream *seam__emu_capture_origin(struct emu *e, uint64_t capture_id);

/* emu_space.c */
SEAM_MUST_USE struct emu_mapping *seam__emu_mapping_add(
	struct emu *e, struct emu_phys *phys, uint64_t va, struct emu_reservation *reservation);
void seam__emu_mapping_remove(struct emu *e, struct emu_mapping *mapping); /* without its backing */
void seam__emu_space_fini(struct emu *e);
const char *seam__emu_space_check(struct emu *e);

/* emu_phys.c */
SEAM_MUST_USE int seam__emu_phys_make(
	struct emu *e, uint64_t bytes, const struct seam_phys_props *props, struct emu_phys **ret_phys);
void seam__emu_phys_settle(struct emu *e, struct emu_phys *phys); /* frees it if nothing keeps it */
/* False with the result code to return. */
bool seam__emu_location_ok(const struct emu *e, const struct seam_location *where, int *ret_cu);
void seam__emu_phys_fini(struct emu *e);
const char *seam__emu_phys_check(struct emu *e);

/* emu_direct.c */
void seam__emu_direct_fini(struct emu *e);
const char *seam__emu_direct_check(struct emu *e);

/* emu_share.c */
bool seam__emu_exports_open(struct emu *e, struct emu_phys *phys); /* closes those that hung up */
void seam__emu_exports_sweep(struct emu *e);                       /* frees what lingers without reason */
void seam__emu_exports_fini(struct emu *e);

/* emu_stream.c */
SEAM_MUST_USE enum seam_rc seam__emu_streams_init(struct emu *e);
void seam__emu_streams_fini(struct emu *e);
/* The stream of a handle, made on the spot for a thread's own. SEAM_CU_INVALID_HANDLE, SEAM_CU_OUT_OF_MEMORY. */
int seam__emu_stream_find(struct emu_device *device, uint64_t handle, struct emu_stream **ret_stream);
void seam__emu_stream_put(struct emu *e, struct emu_stream *stream); /* one work less; frees a destroyed one */
/* A stream without a handle: no implicit edges. NULL: no metadata. drop: it goes when its work is done. */
SEAM_MUST_USE struct emu_stream *seam__emu_stream_make_branch(struct emu_device *device);
void seam__emu_stream_drop(struct emu *e, struct emu_stream *stream);
void seam__emu_stream_close(struct emu *e, struct emu_stream *stream); /* its handle is free; as drop */

/* emu_mark.c */
SEAM_MUST_USE struct emu_mark *seam__emu_mark_make(struct emu *e, const struct emu_stream *stream);
void seam__emu_mark_put(struct emu *e, struct emu_mark *mark);

/* emu_edges.c */
/* Draws the implicit edges of the legacy stream before something is submitted, and takes in what the host knows. */
SEAM_MUST_USE int seam__emu_stream_prepare(struct emu *e, struct emu_stream *stream);
/* The host has seen everything of `order` and of the stream (NULL: only order) pass. */
void seam__emu_host_learns(struct emu *e, const struct emu_order *order, const struct emu_stream *stream);
void seam__emu_host_learns_all(struct emu_device *device); /* nothing is pending on it, and the host knows */

/* emu_capture.c */
/* The capture has seen work of the stream: as `like`, of these ranges. False: no metadata, nothing changed. */
SEAM_MUST_USE bool seam__emu_capture_work(struct emu *e, struct emu_stream *stream, const struct emu_work *like,
	const struct seam_emu_range *ranges, size_t count);
/* The stream as a capture of it ends. */
void seam__emu_capture_leave(struct emu *e, struct emu_stream *stream);
/* A point of a captured stream, for others that join there. NULL: no metadata. */
SEAM_MUST_USE struct emu_mark *seam__emu_capture_mark(struct emu *e, struct emu_stream *stream);
/* What the stream gets from now on comes behind that point of the capture, which it joins if need be. False: no
 * metadata. */
SEAM_MUST_USE bool seam__emu_capture_join(
	struct emu *e, struct emu_stream *stream, uint64_t capture_id, struct emu_mark *mark);
/* Ends the capture that began on the stream. Its graph is kept if ret_id is not NULL. */
SEAM_MUST_USE int seam__emu_capture_finish(struct emu_device *device, uint64_t handle, uint64_t *ret_id);
void seam__emu_captures_fini(struct emu *e); /* every stream leaves its capture */

/* emu_graph.c */
SEAM_MUST_USE struct emu_graph *seam__emu_graph_make(struct emu *e); /* with one reference. NULL: no metadata */
void seam__emu_graph_put(struct emu *e, struct emu_graph *graph);
/* The stream gets a branch and holds the graph. False: no metadata, nothing changed. */
SEAM_MUST_USE bool seam__emu_graph_enter(struct emu *e, struct emu_graph *graph, struct emu_stream *stream);
void seam__emu_graph_leave(struct emu *e, struct emu_stream *stream);
/* Work at the end of the stream's branch. mark: what it waits for or records, or NULL. False: no metadata, nothing
 * changed. */
SEAM_MUST_USE bool seam__emu_graph_add(struct emu *e, struct emu_stream *stream, const struct emu_work *like,
	const struct seam_emu_range *ranges, size_t count, struct emu_mark *mark);
SEAM_MUST_USE bool seam__emu_graph_keep(
	struct emu *e, struct emu_graph *graph); /* gives it a handle. False: no metadata */
SEAM_MUST_USE int seam__emu_graph_launch_locked(struct emu_device *device, uint64_t id, uint64_t handle);
SEAM_MUST_USE int seam__emu_graph_destroy_locked(struct emu *e, uint64_t id);
void seam__emu_graphs_fini(struct emu *e);
const char *seam__emu_graph_check(struct emu *e);

/* emu_event.c */
void seam__emu_events_fini(struct emu *e);

/* emu_work.c */
SEAM_MUST_USE struct emu_work *seam__emu_work_make(struct emu *e, struct emu_stream *stream, enum emu_work_kind kind);
/* Such work as `like`, of these ranges; `ranges` may be NULL if count is 0. */
SEAM_MUST_USE struct emu_work *seam__emu_work_copy(struct emu *e, struct emu_stream *stream,
	const struct emu_work *like, const struct seam_emu_range *ranges, size_t count);
void seam__emu_work_drop(struct emu *e, struct emu_work *work);   /* never submitted, or done */
void seam__emu_work_submit(struct emu *e, struct emu_work *work); /* cannot fail */
void seam__emu_clock_to(struct emu *e, uint64_t ns);              /* runs what ends until then */
/* Lets time pass, and host functions return, until the mark (or the whole stream) is done. */
void seam__emu_wait(struct emu *e, struct emu_stream *stream, struct emu_mark *mark);
void seam__emu_wait_device(struct emu_device *device); /* likewise for all of its streams */
bool seam__emu_is_done(struct emu *e, const struct emu_stream *stream, const struct emu_mark *mark);
/* The thread that runs host functions. False: it cannot be started. */
SEAM_MUST_USE bool seam__emu_helper_start(struct emu *e);
void seam__emu_helper_stop(struct emu *e); /* without the lock; no other thread uses the machine */
void seam__emu_work_fini(struct emu *e);   /* likewise, behind helper_stop and the end of all graphs */
const char *seam__emu_work_check(struct emu *e);
int seam__emu_timeline_compare(const struct emu_work *a, const struct emu_work *b);
SEAM_TREE_GENERATE(emu_timeline, emu_work, by_time, seam__emu_timeline_compare)

/* emu_effect.c */
void seam__emu_effect(struct emu *e, struct emu_work *work); /* checks access and moves the bytes */
/* Whether work of `device` may touch the mapping so. Plain memory of another device: copies may, kernels once they are
 * let. */
bool seam__emu_may_touch(const struct emu_device *device, const struct emu_mapping *mapping, bool write, bool kernel);

/* emu_copy.c */
SEAM_MUST_USE int seam__emu_launch_locked(struct emu_device *device, uint64_t handle,
	const struct seam_emu_range *ranges, size_t count, uint64_t duration_ns, uint32_t value);

/* emu_judge.c */
/* Pins the mappings that the work's ranges touch and looks for unordered work, there and on the page-locked memory of
 * its host side. Before submission. False: no metadata. */
SEAM_MUST_USE bool seam__emu_judge_touch(struct emu *e, struct emu_work *work);
/* Takes back what is not going to run: all that was made for the stream later has been before. */
void seam__emu_judge_untouch(struct emu *e, struct emu_work *work);
void seam__emu_judge_unpin(struct emu_work *work);
void seam__emu_judge_unmap(struct emu_device *device, struct emu_mapping *mapping); /* before it goes */
void seam__emu_judge_map(struct emu_device *device, const struct emu_phys *phys);
void seam__emu_judge_capture(
	struct emu *e, const struct emu_stream *stream, const struct seam_emu_range *ranges, size_t count);
void seam__emu_judge_forget(struct emu *e, struct emu_accesses *accesses);
const char *seam__emu_judge_check(const struct emu_accesses *accesses, uint64_t bytes); /* of what has so many bytes */

#endif
