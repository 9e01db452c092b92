/* samples.h: durations of single calls, and their percentiles.
 *
 * Kept in ticks of the processor's counter and turned into nanoseconds at the end: reading the clock is most of what
 * such a call costs. Exact: every sample is kept. One thread at a time.
 */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"

struct samples {
	uint32_t *ticks; /* those that do not fit count as the most */
	size_t count;
	size_t capacity;
	bool sorted;
};

/* False: no memory. */
bool samples_init(struct samples *samples, size_t capacity);
void samples_fini(struct samples *samples);

/* Samples beyond the capacity are dropped. */
static inline void samples_add(struct samples *samples, uint64_t ticks)
{
	if (samples->count < samples->capacity)
		samples->ticks[samples->count++] = ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks;
}

/* The value that `percent` of the samples do not exceed, in nanoseconds. There is at least one sample. Sorts them. */
double samples_percentile(struct samples *samples, const struct seam_clock *clock, unsigned percent);

/* The same for `part` of `of` samples; 1 of 1: the longest. */
double samples_part(struct samples *samples, const struct seam_clock *clock, unsigned part, unsigned of);

#endif
