/* call_time.c: two clocks, and what is between them. */
#include "call_time.h"

#include "clock.h"

#define READS 1000u

void call_time_init(struct call_time *time, double ns_per_tick)
{
	*time = (struct call_time){.ns_per_tick = ns_per_tick, .read_ticks = UINT64_MAX};
	for (unsigned i = 0; i < READS; i++) {
		uint64_t before = seam__clock_ticks();
		uint64_t ticks = seam__clock_ticks() - before;
		if (ticks < time->read_ticks)
			time->read_ticks = ticks;
	}
	time->sync_ns = seam__clock_thread_ns();
	time->sync_ticks = time->at_ticks = seam__clock_ticks();
}

/* How long the thread had no processor since the last time. */
static double sync_clocks(struct call_time *time)
{
	uint64_t ns = seam__clock_thread_ns();
	uint64_t ticks = seam__clock_ticks();
	double all_ns = (double)(ticks - time->sync_ticks) * time->ns_per_tick;
	double off_ns = all_ns - (double)(ns - time->sync_ns);
	time->sync_ns = ns;
	time->sync_ticks = ticks;
	return off_ns > 0 ? off_ns : 0;
}

void call_time_begin(struct call_time *time)
{
	uint64_t ticks = seam__clock_ticks();
	if ((double)(ticks - time->at_ticks) * time->ns_per_tick > CALL_TIME_GAP_NS ||
		(double)(ticks - time->sync_ticks) * time->ns_per_tick > CALL_TIME_SYNC_NS)
		(void)sync_clocks(time);
	time->at_ticks = seam__clock_ticks();
}

uint64_t call_time_end(struct call_time *time)
{
	uint64_t end = seam__clock_ticks();
	uint64_t ticks = end - time->at_ticks;
	double ns = ticks > time->read_ticks ? (double)(ticks - time->read_ticks) * time->ns_per_tick : 0;
	if (ns > CALL_TIME_GAP_NS) {
		double off_ns = sync_clocks(time);
		ns = off_ns < ns ? ns - off_ns : 0;
		end = time->sync_ticks;
	}
	time->ns += ns;
	time->at_ticks = end;
	return ticks;
}
