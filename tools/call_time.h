/* call_time.h: processor time of the calls that a run times: of this thread, without what it waited for a processor.
 *
 * The counter of ticks is read before and after each call; the thread's own clock costs a system call, so it is read
 * only where more than CALL_TIME_GAP_NS passed between two readings, and each CALL_TIME_SYNC_NS. A thread that loses
 * its processor loses it for longer than that gap, so the difference of the two clocks belongs to the gap, and it is
 * taken off if the gap is a call.
 *
 * What reading the counter costs is taken off each call. What the emulated device costs is not. One thread.
 */
#ifndef TOOLS_CALL_TIME_H
#define TOOLS_CALL_TIME_H

#include <stdint.h>

#define CALL_TIME_GAP_NS 20000.0     /* a time slice is longer, a call without the driver far shorter */
#define CALL_TIME_SYNC_NS 10000000.0 /* in which the two clocks differ by well below a microsecond */

struct call_time {
	double ns_per_tick;
	uint64_t read_ticks; /* that reading the counter costs */
	uint64_t at_ticks;   /* the newest reading */
	uint64_t sync_ticks; /* when the thread's clock was read */
	uint64_t sync_ns;
	double ns; /* in calls so far */
};

/* ns_per_tick: the counter's rate. */
void call_time_init(struct call_time *time, double ns_per_tick);

/* Before a call. */
void call_time_begin(struct call_time *time);

/* After it. Returns the ticks that it took by the counter, waiting included. */
uint64_t call_time_end(struct call_time *time);

#endif
