/* clock.c: calibration of the tick counter against CLOCK_MONOTONIC. */
#include "clock.h"

#define FIRST_WAIT_NS UINT64_C(1000000)

/* Both clocks at one moment. The pair with the shortest time between two counter reads is kept: a thread that was
 * interrupted between them would tie unrelated moments together. */
static void read_point(uint64_t *ret_ticks, uint64_t *ret_ns)
{
	uint64_t best_width = UINT64_MAX;
	for (int attempt = 0; attempt < 5; attempt++) {
		uint64_t before = seam__clock_ticks();
		uint64_t ns = seam__clock_ns();
		uint64_t after = seam__clock_ticks();
		if (after - before < best_width) {
			best_width = after - before;
			*ret_ticks = before + (after - before) / 2;
			*ret_ns = ns;
		}
	}
}

void seam__clock_start(struct seam_clock *clock)
{
	clock->ns_per_tick = 1.0;
	read_point(&clock->start_ticks, &clock->start_ns);
}

void seam__clock_init(struct seam_clock *clock)
{
	seam__clock_start(clock);
	while (seam__clock_ns() - clock->start_ns < FIRST_WAIT_NS) {
	}
	seam__clock_sync(clock);
}

void seam__clock_sync(struct seam_clock *clock)
{
	uint64_t ticks = clock->start_ticks;
	uint64_t ns = clock->start_ns;
	read_point(&ticks, &ns);
	if (ticks > clock->start_ticks && ns > clock->start_ns)
		clock->ns_per_tick = (double)(ns - clock->start_ns) / (double)(ticks - clock->start_ticks);
}

uint64_t seam__clock_ticks_to_ns(const struct seam_clock *clock, uint64_t ticks)
{
	if (ticks <= clock->start_ticks)
		return 0;
	return (uint64_t)((double)(ticks - clock->start_ticks) * clock->ns_per_tick);
}

const char *seam__clock_check(const struct seam_clock *clock)
{
	return clock->ns_per_tick > 0.0 ? NULL : "a positive rate";
}
