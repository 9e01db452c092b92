/* costs_load.c: the same calls where something else goes on: beside work on the device, from several threads, among
 * many mappings. */
#include <pthread.h>
#include <stdlib.h>

#include "clock.h"
#include "costs.h"

#define MIB (UINT64_C(1) << 20)
#define CYCLES_MAX 128
#define THREADS_MAX 16

static const struct seam_phys_props plain = {.where = {.kind = SEAM_AT_DEVICE}};
static const struct seam_access read_write = {.where = {.kind = SEAM_AT_DEVICE}, .mode = SEAM_ACCESS_READWRITE};

/* The steps of a cycle: one chunk mapped and given back. */
enum step { STEP_CREATE, STEP_MAP, STEP_ACCESS, STEP_UNMAP, STEP_RELEASE, STEP_COUNT };

static const enum seam_drv_call step_calls[STEP_COUNT] = {
	SEAM_DRV_mem_create, SEAM_DRV_mem_map, SEAM_DRV_mem_set_access, SEAM_DRV_mem_unmap, SEAM_DRV_mem_release};

struct cycles {
	struct costs *costs;
	uint64_t va; /* reserved, one chunk */
	uint64_t count;
	uint64_t done;
	int cu; /* of the call that ended it early, or 0 */
	uint64_t step_ns[STEP_COUNT][CYCLES_MAX];
	uint64_t whole_ns[CYCLES_MAX];
};

static int run_step(struct cycles *cycles, enum step step, struct seam_phys *phys)
{
	struct seam_driver *d = cycles->costs->d;
	uint64_t g = cycles->costs->granularity_bytes;
	switch (step) {
	case STEP_CREATE:
		return seam__drv_mem_create(d, g, &plain, phys);
	case STEP_MAP:
		return seam__drv_mem_map(d, cycles->va, g, 0, *phys, 0);
	case STEP_ACCESS:
		return seam__drv_mem_set_access(d, cycles->va, g, &read_write, 1);
	case STEP_UNMAP:
		return seam__drv_mem_unmap(d, cycles->va, g);
	case STEP_RELEASE:
		return seam__drv_mem_release(d, *phys);
	case STEP_COUNT:
		break;
	}
	return SEAM_CU_INVALID_VALUE;
}

static void *run_cycles(void *argument)
{
	struct cycles *cycles = argument;
	struct seam_driver *d = cycles->costs->d;
	while (cycles->done < cycles->count && cycles->cu == 0) {
		struct seam_phys phys = {0};
		uint64_t start_ns = d->ops->clock_ns(d);
		for (int step = 0; step < STEP_COUNT && cycles->cu == 0; step++) {
			uint64_t step_start_ns = d->ops->clock_ns(d);
			cycles->cu = run_step(cycles, (enum step)step, &phys);
			cycles->step_ns[step][cycles->done] = d->ops->clock_ns(d) - step_start_ns;
		}
		cycles->whole_ns[cycles->done] = d->ops->clock_ns(d) - start_ns;
		cycles->done += cycles->cu == 0;
	}
	return NULL;
}

static void add_cycles(struct cycles *cycles, struct cost_sample like)
{
	like.chunk_bytes = cycles->costs->granularity_bytes;
	for (int step = 0; step < STEP_COUNT; step++) {
		like.call = step_calls[step];
		like.mappings = step != STEP_CREATE && step != STEP_RELEASE; /* a handle is not one */
		costs_add(cycles->costs, &like, cycles->step_ns[step], cycles->done);
	}
	like.call = SEAM_DRV_COUNT;
	like.mappings = 1;
	costs_add(cycles->costs, &like, cycles->whole_ns, cycles->done);
}

/* Cycles on this thread, as rows of the given kind. */
static void measure_cycles(struct costs *costs, struct cost_sample like)
{
	static struct cycles cycles; /* too large for a stack */
	cycles = (struct cycles){.costs = costs, .count = costs->repeat < CYCLES_MAX ? costs->repeat : CYCLES_MAX};
	if (!TRY(costs, seam__drv_address_reserve(costs->d, costs->granularity_bytes, 0, 0, &cycles.va)))
		return;
	(void)run_cycles(&cycles);
	(void)costs_try(costs, cycles.cu, "a cycle of calls");
	add_cycles(&cycles, like);
	(void)TRY(costs, seam__drv_address_free(costs->d, cycles.va, costs->granularity_bytes));
}

#define FILL_BYTES (256 * MIB)
#define FILLS 4000 /* about a second of work on a fast device */

void costs_measure_busy(struct costs *costs)
{
	struct seam_driver *d = costs->d;
	struct seam_event end = {0};
	uint64_t stream = 0;
	uint64_t va = 0;
	measure_cycles(costs, (struct cost_sample){.experiment = "beside work: none"});
	if (!TRY(costs, seam__drv_stream_create(d, SEAM_STREAM_NONBLOCKING, &stream)))
		return;
	if (TRY(costs, seam__drv_event_create(d, &end)) && TRY(costs, seam__drv_direct_alloc(d, FILL_BYTES, &va))) {
		for (int i = 0; i < FILLS && costs->failed == NULL; i++)
			(void)TRY(costs, seam__drv_fill32(d, va, (uint32_t)i, FILL_BYTES / sizeof(uint32_t), stream));
		(void)TRY(costs, seam__drv_event_record(d, end, stream));
		size_t first = costs->sample_count;
		measure_cycles(costs, (struct cost_sample){.experiment = "beside work: fills", .busy = true});
		/* Rows that outlasted the work say nothing about it. */
		if (seam__drv_event_query(d, end) != SEAM_CU_NOT_READY) {
			for (size_t i = first; i < costs->sample_count; i++)
				costs->samples[i].experiment = "beside work: fills that ended too soon";
		}
		(void)TRY(costs, seam__drv_stream_sync(d, stream));
	}
	if (va != 0)
		(void)TRY(costs, seam__drv_direct_free(d, va));
	if (end.id != 0)
		(void)TRY(costs, seam__drv_event_destroy(d, end));
	(void)TRY(costs, seam__drv_stream_destroy(d, stream));
}

static void measure_threads(struct costs *costs, struct cycles *all, unsigned count)
{
	pthread_t threads[THREADS_MAX];
	unsigned started = 0;
	unsigned reserved = 0;
	uint64_t g = costs->granularity_bytes;
	while (reserved < count) {
		all[reserved] = (struct cycles){.costs = costs, .count = costs->repeat < 32 ? costs->repeat : 32};
		if (!TRY(costs, seam__drv_address_reserve(costs->d, g, 0, 0, &all[reserved].va)))
			break;
		reserved++;
	}
	while (started < reserved && pthread_create(&threads[started], NULL, run_cycles, &all[started]) == 0)
		started++;
	for (unsigned i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < reserved; i++) {
		(void)costs_try(costs, all[i].cu, "a cycle of calls on a thread");
		(void)TRY(costs, seam__drv_address_free(costs->d, all[i].va, g));
	}
	/* One thread's rows stand for all: they do the same. */
	if (started == count && costs->failed == NULL)
		add_cycles(&all[0], (struct cost_sample){.experiment = "threads", .threads = count});
}

void costs_measure_threads(struct costs *costs)
{
	struct cycles *all = calloc(THREADS_MAX, sizeof(all[0]));
	if (all == NULL)
		return;
	for (unsigned count = 1; count <= THREADS_MAX && costs->failed == NULL; count *= 2)
		measure_threads(costs, all, count);
	free(all);
}

/* A region: REGION chunks mapped side by side, the same handles in each region. */
#define REGION UINT64_C(512)

struct regions {
	uint64_t *va;
	uint64_t count; /* reserved */
	uint64_t mapped_in_last;
	struct seam_phys phys[REGION];
	uint64_t handles;
};

/* One more region with access. False: no more; costs->ceiling says why. */
static bool add_region(struct costs *costs, struct regions *regions)
{
	struct seam_driver *d = costs->d;
	uint64_t g = costs->granularity_bytes;
	uint64_t va = 0;
	int cu = seam__drv_address_reserve(d, regions->handles * g, 0, 0, &va);
	if (cu == 0) {
		regions->va[regions->count++] = va;
		regions->mapped_in_last = 0;
	}
	while (cu == 0 && regions->mapped_in_last < regions->handles) {
		cu = seam__drv_mem_map(
			d, va + regions->mapped_in_last * g, g, 0, regions->phys[regions->mapped_in_last], 0);
		regions->mapped_in_last += cu == 0;
	}
	if (cu == 0)
		cu = seam__drv_mem_set_access(d, va, regions->handles * g, &read_write, 1);
	costs->ceiling.cu = cu;
	costs->ceiling.stopped = "driver";
	if (cu == 0)
		costs->ceiling.mappings += regions->handles;
	return cu == 0;
}

static void remove_regions(struct costs *costs, struct regions *regions)
{
	struct seam_driver *d = costs->d;
	uint64_t g = costs->granularity_bytes;
	while (regions->count > 0) {
		uint64_t va = regions->va[--regions->count];
		if (regions->mapped_in_last != 0)
			(void)TRY(costs, seam__drv_mem_unmap(d, va, regions->mapped_in_last * g));
		(void)TRY(costs, seam__drv_address_free(d, va, regions->handles * g));
		regions->mapped_in_last = regions->handles;
	}
}

static void grow_regions(struct costs *costs, struct regions *regions)
{
	uint64_t start_ns = seam__clock_ns();
	uint64_t next_measure = 0;
	for (;;) {
		if (costs->ceiling.mappings >= next_measure) {
			measure_cycles(costs,
				(struct cost_sample){
					.experiment = "among mappings", .live_mappings = costs->ceiling.mappings});
			next_measure = next_measure == 0 ? 1024 : next_measure * 4;
		}
		costs->ceiling.stopped = "limit";
		if (costs->failed != NULL || costs->ceiling.mappings + regions->handles > costs->ceiling_limit)
			return;
		costs->ceiling.stopped = "time";
		if (seam__clock_ns() - start_ns > costs->time_limit_ns)
			return;
		if (!add_region(costs, regions))
			return;
	}
}

void costs_measure_ceiling(struct costs *costs)
{
	struct regions regions = {0};
	costs->ceiling = (struct cost_ceiling){.stopped = "memory"};
	while (regions.handles < REGION && regions.handles < costs->memory_bytes / costs->granularity_bytes &&
		TRY(costs,
			seam__drv_mem_create(
				costs->d, costs->granularity_bytes, &plain, &regions.phys[regions.handles])))
		regions.handles++;
	if (regions.handles != 0)
		regions.va = calloc(costs->ceiling_limit / regions.handles + 1, sizeof(regions.va[0]));
	if (regions.va != NULL)
		grow_regions(costs, &regions);
	remove_regions(costs, &regions);
	while (regions.handles > 0)
		(void)TRY(costs, seam__drv_mem_release(costs->d, regions.phys[--regions.handles]));
	free(regions.va);
}
