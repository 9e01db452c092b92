/* clock.h: time, in nanoseconds and in ticks of the processor's own counter.
 *
 * Ticks cost about half of clock_gettime; they are for recorders and benchmarks, which convert later.
 * Not here: the emulated device's virtual clock. No state, no locks.
 */
#ifndef SEAM_BASE_CLOCK_H
#define SEAM_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* For the three below. */
static inline uint64_t seam__clock_read(clockid_t clock)
{
	struct timespec now;
	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC: for figures, and for how long somebody sleeps. No limit goes by it. */
static inline uint64_t seam__clock_ns(void)
{
	return seam__clock_read(CLOCK_MONOTONIC);
}

/* Of the calling thread: what the processor did for it. A busy machine does not make it go faster, and time asleep does
 * not count: the clock of every limit. Costs a system call. */
static inline uint64_t seam__clock_thread_ns(void)
{
	return seam__clock_read(CLOCK_THREAD_CPUTIME_ID);
}

/* Of all threads of the process together, those that are gone included. Costs a system call. */
static inline uint64_t seam__clock_process_ns(void)
{
	return seam__clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

/* A counter of unknown rate that does not go back on one processor. Where the processor has none: nanoseconds. */
static inline uint64_t seam__clock_ticks(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return seam__clock_ns();
#endif
}

/* The relation between the two clocks, from two points in time. */
struct seam_clock {
	uint64_t start_ticks;
	uint64_t start_ns;
	double ns_per_tick; /* > 0 */
};

/* First point alone; the rate is not known before the second. */
void seam__clock_start(struct seam_clock *clock);

/* First point, and a first rate from a wait of about a millisecond. */
void seam__clock_init(struct seam_clock *clock);

/* Second point: the rate over all the time since init. Better the longer ago that was. */
void seam__clock_sync(struct seam_clock *clock);

/* Nanoseconds since init; 0 for ticks before it. Rises with ticks as long as no sync comes between. */
uint64_t seam__clock_ticks_to_ns(const struct seam_clock *clock, uint64_t ticks);

/* Name of a broken invariant, or NULL. */
const char *seam__clock_check(const struct seam_clock *clock);

#endif
