/* virtual_time.h: virtual time of a program and of the background worker of its pool.
 *
 * Three clocks. The *host* is the program: before each operation it takes its own time (the trace's, where that is
 * real, else a fixed one), then the time of the driver calls that the operation makes. The *worker* does background
 * work in steps. A step starts when the worker is free; it takes its computing time first, then the time of its driver
 * calls; what it brings about is visible at once, but the next step starts only when the host's clock has passed its
 * end. So nothing is built on a step that is not over. Nor does it start before the worker has its share of processor
 * time left (lib/learn/worker_share.h); all of the host's time counts as such, for a program that waits for its device
 * spins. Of the worker only what it computes counts: driver calls are taken to cost no processor time, so on a device
 * plans may come later than here.
 *
 * The *device* runs what the program launches, one kernel for each allocation, which writes the block and reads as
 * much: VIRTUAL_KERNEL_NS and a nanosecond for VIRTUAL_BYTES_PER_NS bytes (a fast GPU's memory). The host does not wait
 * for it but where an iteration ends, as a program does that looks at its loss. A trace that has its own times has the
 * device's in them.
 *
 * Both need the pool's lock for changes of mappings while they call the driver. An operation of the host that does so
 * while the worker is at the driver waits until it is not. Everything else of a step costs the host nothing: that is
 * *hidden*.
 *
 * Not here: who does the work, and how long it takes. Pure arithmetic.
 * Invariant VT1: the clocks do not go back; hidden_ns = driver_ns - waited_ns is never below 0; no step begins
 * before the last one is over.
 * One thread at a time.
 */
#ifndef TOOLS_VIRTUAL_TIME_H
#define TOOLS_VIRTUAL_TIME_H

#include <stdbool.h>
#include <stdint.h>

#define VIRTUAL_KERNEL_NS UINT64_C(4000)
#define VIRTUAL_BYTES_PER_NS UINT64_C(1000)

struct virtual_time {
	uint64_t device_ns;        /* when what has been launched is done */
	uint64_t host_ns;          /* now, of the program */
	uint64_t own_ns;           /* that the program takes before an operation, where the trace does not say */
	uint64_t worker_driver_ns; /* when the newest step reached the driver, */
	uint64_t worker_end_ns;    /* and when it is over */
	uint64_t worker_free_ns;   /* when it may begin the next one */
	uint64_t steps;
	uint64_t compute_ns;     /* of all steps */
	uint64_t driver_ns;      /* likewise */
	uint64_t waited_ns;      /* by the host for steps */
	uint64_t host_driver_ns; /* of the program's own operations */
};

static inline void virtual_time_init(struct virtual_time *clocks, uint64_t own_ns)
{
	*clocks = (struct virtual_time){.own_ns = own_ns};
}

/* The program's own time before its next operation; gap_ns 0: not known. */
void virtual_time_go(struct virtual_time *clocks, uint64_t gap_ns);

/* The same as far as the worker's step takes, if that is over in the midst of *gap_ns: true, and *gap_ns is what is
 * left. 0 becomes what is taken where it is not known. */
bool virtual_time_turn(struct virtual_time *clocks, uint64_t *gap_ns);

/* The operation is done: it called the driver for driver_ns; `changes`: about memory, so under the lock for changes. */
void virtual_time_do(struct virtual_time *clocks, uint64_t driver_ns, bool changes);

/* A kernel for a block of so many bytes. */
void virtual_time_launch(struct virtual_time *clocks, uint64_t bytes);

/* The host waits for the device, but no longer than the worker's step takes. True: the device is done. */
bool virtual_time_wait(struct virtual_time *clocks);

/* The host waits for the device. */
void virtual_time_sync(struct virtual_time *clocks);

/* The worker has nothing to do any more and may begin a step. */
bool virtual_time_is_free(const struct virtual_time *clocks);

/* A step that began now. */
void virtual_time_step(struct virtual_time *clocks, uint64_t compute_ns, uint64_t driver_ns);

/* Name of the broken invariant, or NULL. */
const char *virtual_time_check(const struct virtual_time *clocks);

#endif
