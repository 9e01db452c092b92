/* samples.c: sorts, and picks the nearest rank. */
#include "samples.h"

#include <stdlib.h>

bool samples_init(struct samples *samples, size_t capacity)
{
	*samples = (struct samples){.capacity = capacity};
	samples->ticks = malloc((capacity + 1) * sizeof(*samples->ticks));
	return samples->ticks != NULL;
}

void samples_fini(struct samples *samples)
{
	free(samples->ticks);
	*samples = (struct samples){0};
}

static int compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;
	return (a > b) - (a < b);
}

double samples_part(struct samples *samples, const struct seam_clock *clock, unsigned part, unsigned of)
{
	if (!samples->sorted) {
		qsort(samples->ticks, samples->count, sizeof(*samples->ticks), compare);
		samples->sorted = true;
	}
	size_t rank = (samples->count * part + of - 1) / of;
	return samples->ticks[rank > 0 ? rank - 1 : 0] * clock->ns_per_tick;
}

double samples_percentile(struct samples *samples, const struct seam_clock *clock, unsigned percent)
{
	return samples_part(samples, clock, percent, 100);
}
