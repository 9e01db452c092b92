/* costs_measure.c: calls one at a time, on an idle device: by chunk size, by mappings in one call, small calls, copies.
 */
#include <stdlib.h>
#include <string.h>

#include "costs.h"

#define MIB (UINT64_C(1) << 20)
#define REPEAT_MAX 256
#define BATCH_MAX 512

static const struct seam_phys_props plain = {.where = {.kind = SEAM_AT_DEVICE}};
static const struct seam_access read_write = {.where = {.kind = SEAM_AT_DEVICE}, .mode = SEAM_ACCESS_READWRITE};

bool costs_try(struct costs *costs, int cu, const char *call)
{
	if (cu == SEAM_CU_SUCCESS)
		return true;
	if (costs->failed == NULL) {
		costs->failed = call;
		costs->failed_cu = cu;
	}
	return false;
}

static int compare_times(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;
	return left < right ? -1 : left > right;
}

void costs_add(struct costs *costs, const struct cost_sample *like, uint64_t *times_ns, uint64_t count)
{
	if (count == 0 || costs->sample_count == COST_SAMPLES_MAX)
		return;
	uint64_t sum_ns = 0;
	for (uint64_t i = 0; i < count; i++)
		sum_ns += times_ns[i];
	qsort(times_ns, count, sizeof(times_ns[0]), compare_times);
	struct cost_sample *sample = &costs->samples[costs->sample_count++];
	*sample = *like;
	sample->threads = like->threads == 0 ? 1 : like->threads;
	sample->count = count;
	sample->mean_ns = sum_ns / count;
	sample->p50_ns = times_ns[count / 2];
	sample->p99_ns = times_ns[count - 1 - count / 100];
}

static uint64_t now(struct costs *costs)
{
	return costs->d->ops->clock_ns(costs->d);
}

/* Times `call` for each i while all goes well; `done` counts how often it did. */
#define TIME_EACH(costs, times, n, done, call)                               \
	do {                                                                 \
		for ((done) = 0; (done) < (n) && (costs)->failed == NULL;) { \
			const uint64_t i = (done);                           \
			(void)i;                                             \
			uint64_t start_ns = now(costs);                      \
			if (TRY((costs), (call)))                            \
				(times)[(done)++] = now(costs) - start_ns;   \
		}                                                            \
	} while (0)

/* The same for giving back: goes on after a failure. */
#define TIME_BACK(costs, times, n, call)                    \
	do {                                                \
		for (uint64_t i = 0; i < (n); i++) {        \
			uint64_t start_ns = now(costs);     \
			(void)TRY((costs), (call));         \
			(times)[i] = now(costs) - start_ns; \
		}                                           \
	} while (0)

static void add(struct costs *costs, const char *experiment, enum seam_drv_call call, uint64_t chunk_bytes,
	uint64_t mappings, uint64_t *times_ns, uint64_t count)
{
	const struct cost_sample like = {
		.experiment = experiment, .call = call, .chunk_bytes = chunk_bytes, .mappings = mappings};
	costs_add(costs, &like, times_ns, count);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Each call in the life of `repeat` mappings of one chunk each. */
static void measure_size(struct costs *costs, uint64_t c)
{
	static const char name[] = "size";
	uint64_t times[REPEAT_MAX];
	uint64_t va[REPEAT_MAX];
	struct seam_phys phys[REPEAT_MAX];
	struct seam_driver *d = costs->d;
	uint64_t n = least(least(costs->repeat, REPEAT_MAX), costs->memory_bytes / c);
	uint64_t reserved, created, mapped, granted, allocated;
	TIME_EACH(costs, times, n, reserved, seam__drv_address_reserve(d, c, c, 0, &va[i]));
	add(costs, name, SEAM_DRV_address_reserve, c, 0, times, reserved);
	TIME_EACH(costs, times, n, created, seam__drv_mem_create(d, c, &plain, &phys[i]));
	add(costs, name, SEAM_DRV_mem_create, c, 0, times, created);
	TIME_EACH(costs, times, n, mapped, seam__drv_mem_map(d, va[i], c, 0, phys[i], 0));
	add(costs, name, SEAM_DRV_mem_map, c, 1, times, mapped);
	TIME_EACH(costs, times, n, granted, seam__drv_mem_set_access(d, va[i], c, &read_write, 1));
	add(costs, name, SEAM_DRV_mem_set_access, c, 1, times, granted);
	TIME_BACK(costs, times, mapped, seam__drv_mem_unmap(d, va[i], c));
	add(costs, name, SEAM_DRV_mem_unmap, c, 1, times, mapped);
	TIME_BACK(costs, times, created, seam__drv_mem_release(d, phys[i]));
	add(costs, name, SEAM_DRV_mem_release, c, 0, times, created);
	TIME_BACK(costs, times, reserved, seam__drv_address_free(d, va[i], c));
	add(costs, name, SEAM_DRV_address_free, c, 0, times, reserved);
	TIME_EACH(costs, times, n, allocated, seam__drv_direct_alloc(d, c, &va[i]));
	add(costs, name, SEAM_DRV_direct_alloc, c, 0, times, allocated);
	TIME_BACK(costs, times, allocated, seam__drv_direct_free(d, va[i]));
	add(costs, name, SEAM_DRV_direct_free, c, 0, times, allocated);
}

void costs_measure_sizes(struct costs *costs)
{
	for (uint64_t c = costs->granularity_bytes; c <= 512 * MIB && c <= costs->memory_bytes; c *= 2)
		measure_size(costs, c);
}

/* One call of access and one of unmap over `k` mappings. */
static void measure_batch(struct costs *costs, uint64_t va, const struct seam_phys *phys, uint64_t k)
{
	uint64_t access_ns[REPEAT_MAX];
	uint64_t unmap_ns[REPEAT_MAX];
	struct seam_driver *d = costs->d;
	uint64_t g = costs->granularity_bytes;
	uint64_t rounds = least(costs->repeat, 16);
	uint64_t done = 0;
	while (done < rounds && costs->failed == NULL) {
		uint64_t mapped = 0;
		while (mapped < k && TRY(costs, seam__drv_mem_map(d, va + mapped * g, g, 0, phys[mapped], 0)))
			mapped++;
		uint64_t start_ns = now(costs);
		bool granted = mapped == k && TRY(costs, seam__drv_mem_set_access(d, va, k * g, &read_write, 1));
		access_ns[done] = now(costs) - start_ns;
		start_ns = now(costs);
		bool unmapped = mapped != 0 && TRY(costs, seam__drv_mem_unmap(d, va, mapped * g));
		unmap_ns[done] = now(costs) - start_ns;
		done += granted && unmapped;
	}
	add(costs, "batch", SEAM_DRV_mem_set_access, g, k, access_ns, done);
	add(costs, "batch", SEAM_DRV_mem_unmap, g, k, unmap_ns, done);
}

void costs_measure_batches(struct costs *costs)
{
	struct seam_driver *d = costs->d;
	uint64_t g = costs->granularity_bytes;
	uint64_t chunks = least(BATCH_MAX, costs->memory_bytes / g);
	uint64_t created = 0;
	uint64_t va = 0;
	static struct seam_phys phys[BATCH_MAX];
	if (!TRY(costs, seam__drv_address_reserve(d, chunks * g, 0, 0, &va)))
		return;
	while (created < chunks && TRY(costs, seam__drv_mem_create(d, g, &plain, &phys[created])))
		created++;
	for (uint64_t k = 1; k <= created; k *= 4)
		measure_batch(costs, va, phys, k);
	while (created > 0)
		(void)TRY(costs, seam__drv_mem_release(d, phys[--created]));
	(void)TRY(costs, seam__drv_address_free(d, va, chunks * g));
}

void costs_measure_small(struct costs *costs)
{
	uint64_t times[REPEAT_MAX];
	struct seam_event events[REPEAT_MAX];
	uint64_t streams[REPEAT_MAX];
	struct seam_driver *d = costs->d;
	uint64_t n = least(costs->repeat, REPEAT_MAX);
	uint64_t made, done, id, free_bytes, total_bytes;
	enum seam_capture_state state;
	int64_t value;
	static const char name[] = "small";
	TIME_EACH(costs, times, n, made, seam__drv_stream_create(d, SEAM_STREAM_NONBLOCKING, &streams[i]));
	add(costs, name, SEAM_DRV_stream_create, 0, 0, times, made);
	uint64_t stream = made != 0 ? streams[0] : SEAM_STREAM_DEFAULT;
	TIME_EACH(costs, times, n, done, seam__drv_stream_id(d, stream, &id));
	add(costs, name, SEAM_DRV_stream_id, 0, 0, times, done);
	TIME_EACH(costs, times, n, done, seam__drv_stream_capture(d, stream, &state, &id));
	add(costs, name, SEAM_DRV_stream_capture, 0, 0, times, done);
	TIME_EACH(costs, times, n, done, seam__drv_stream_query(d, stream));
	add(costs, name, SEAM_DRV_stream_query, 0, 0, times, done);
	TIME_EACH(costs, times, n, done, seam__drv_stream_sync(d, stream));
	add(costs, name, SEAM_DRV_stream_sync, 0, 0, times, done);
	TIME_EACH(costs, times, n, done, seam__drv_device_sync(d));
	add(costs, name, SEAM_DRV_device_sync, 0, 0, times, done);
	TIME_EACH(costs, times, n, done, seam__drv_mem_info(d, &free_bytes, &total_bytes));
	add(costs, name, SEAM_DRV_mem_info, 0, 0, times, done);
	TIME_EACH(costs, times, n, done, seam__drv_attribute(d, SEAM_ATTR_VMM_SUPPORTED, &value));
	add(costs, name, SEAM_DRV_attribute, 0, 0, times, done);
	uint64_t events_made;
	TIME_EACH(costs, times, n, events_made, seam__drv_event_create(d, &events[i]));
	add(costs, name, SEAM_DRV_event_create, 0, 0, times, events_made);
	TIME_EACH(costs, times, events_made, done, seam__drv_event_record(d, events[i], stream));
	add(costs, name, SEAM_DRV_event_record, 0, 0, times, done);
	TIME_EACH(costs, times, events_made, done, seam__drv_stream_wait_event(d, SEAM_STREAM_DEFAULT, events[i]));
	add(costs, name, SEAM_DRV_stream_wait_event, 0, 0, times, done);
	(void)TRY(costs, seam__drv_device_sync(d));
	TIME_EACH(costs, times, events_made, done, seam__drv_event_query(d, events[i]));
	add(costs, name, SEAM_DRV_event_query, 0, 0, times, done);
	TIME_EACH(costs, times, events_made, done, seam__drv_event_sync(d, events[i]));
	add(costs, name, SEAM_DRV_event_sync, 0, 0, times, done);
	TIME_BACK(costs, times, events_made, seam__drv_event_destroy(d, events[i]));
	add(costs, name, SEAM_DRV_event_destroy, 0, 0, times, events_made);
	TIME_BACK(costs, times, made, seam__drv_stream_destroy(d, streams[i]));
	add(costs, name, SEAM_DRV_stream_destroy, 0, 0, times, made);
}

/* One kind of copy of `bytes`, with its end: submission, work, and the wait. */
static int copy_once(struct costs *costs, enum seam_drv_call call, uint64_t va, void *host, uint64_t bytes)
{
	struct seam_driver *d = costs->d;
	int cu = SEAM_CU_INVALID_VALUE;
	if (call == SEAM_DRV_copy_to_device)
		cu = seam__drv_copy_to_device(d, va, host, bytes, SEAM_STREAM_DEFAULT);
	else if (call == SEAM_DRV_copy_to_host)
		cu = seam__drv_copy_to_host(d, host, va, bytes, SEAM_STREAM_DEFAULT);
	else if (call == SEAM_DRV_copy_on_device)
		cu = seam__drv_copy_on_device(d, va + bytes, va, bytes, SEAM_STREAM_DEFAULT);
	else if (call == SEAM_DRV_fill32)
		cu = seam__drv_fill32(d, va, 1, bytes / sizeof(uint32_t), SEAM_STREAM_DEFAULT);
	return cu != 0 ? cu : seam__drv_stream_sync(d, SEAM_STREAM_DEFAULT);
}

void costs_measure_copies(struct costs *costs)
{
	static const enum seam_drv_call calls[] = {
		SEAM_DRV_copy_to_device, SEAM_DRV_copy_to_host, SEAM_DRV_copy_on_device, SEAM_DRV_fill32};
	const uint64_t largest = 64 * MIB;
	uint64_t times[REPEAT_MAX];
	uint64_t va = 0;
	uint64_t done;
	void *host = NULL;
	struct seam_driver *d = costs->d;
	if (!TRY(costs, seam__drv_direct_alloc(d, 2 * largest, &va)))
		return;
	if (TRY(costs, seam__drv_host_alloc(d, largest, &host))) {
		memset(host, 1, largest); /* its pages are there before the clock runs */
		for (size_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++) {
			for (uint64_t bytes = 2 * MIB; bytes <= largest; bytes *= 2) {
				uint64_t n = least(costs->repeat, 16);
				TIME_EACH(costs, times, n, done, copy_once(costs, calls[k], va, host, bytes));
				add(costs, "copy and wait", calls[k], bytes, 0, times, done);
			}
		}
		(void)TRY(costs, seam__drv_host_free(d, host));
	}
	(void)TRY(costs, seam__drv_direct_free(d, va));
}
