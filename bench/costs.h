/* costs.h: what driver calls cost on a device: samples, and the cost table that fits them best.
 *
 * Time is the driver's own clock: the host's on CUDA, the virtual one on the emulator, whose table must come out again.
 * Not here: any allocator. One thread, but for the experiment with several.
 */
#ifndef SEAM_BENCH_COSTS_H
#define SEAM_BENCH_COSTS_H

#include "driver.h"
#include "emu.h"

/* One row: `count` equal calls. */
struct cost_sample {
	const char *experiment;  /* a literal */
	enum seam_drv_call call; /* SEAM_DRV_COUNT: a whole cycle of calls */
	uint64_t chunk_bytes;    /* of one handle; 0 where it does not matter */
	uint64_t mappings;       /* touched by one call */
	uint64_t live_mappings;  /* on the device meanwhile, these not counted */
	unsigned threads;
	bool busy; /* beside work on the device that lasted to the end */
	uint64_t count;
	uint64_t mean_ns;
	uint64_t p50_ns;
	uint64_t p99_ns;
};

struct cost_ceiling {
	uint64_t mappings;   /* that could be had at once */
	const char *stopped; /* "driver", "limit", "memory", "time": why there were no more */
	int cu;              /* of the call that refused */
};

#define COST_SAMPLES_MAX 512

struct costs {
	struct seam_driver *d;
	uint64_t granularity_bytes;
	uint64_t ceiling_limit; /* mappings at which the search for the ceiling stops */
	uint64_t time_limit_ns; /* of that search, on the host's clock */
	uint64_t memory_bytes;  /* the device memory that an experiment may take */
	uint64_t repeat;        /* calls per row, where memory allows */
	struct cost_sample samples[COST_SAMPLES_MAX];
	size_t sample_count;
	struct cost_ceiling ceiling;
	const char *failed; /* the first call that failed, or NULL; measuring stops there */
	int failed_cu;
};

/* costs_measure.c: each adds rows. What they made is given back, also after a failure. */
void costs_measure_sizes(struct costs *costs);
void costs_measure_batches(struct costs *costs);
void costs_measure_small(struct costs *costs);
void costs_measure_copies(struct costs *costs);

/* costs_load.c */
void costs_measure_busy(struct costs *costs);
void costs_measure_threads(struct costs *costs);
void costs_measure_ceiling(struct costs *costs);

/* Remembers the first failure. Returns whether the call worked. */
bool costs_try(struct costs *costs, int cu, const char *call);
#define TRY(costs, call) costs_try((costs), (call), #call)

/* Adds a row of times, which it sorts. Nothing if count is 0. */
void costs_add(struct costs *costs, const struct cost_sample *like, uint64_t *times_ns, uint64_t count);

/* costs_fit.c: the least relative error over all rows of a call that were measured alone. A call without rows keeps
 * zeroes. */
void costs_fit(const struct costs *costs, struct seam_emu_cost table[SEAM_DRV_COUNT]);

#endif
