/* part_table.c: the wrappers around the table (counters, injected failures) and calls from many threads. */
#include <pthread.h>

#include "conf.h"
#include "tap.h"

void part_injection(void)
{
	uint64_t g = conf.g;
	uint64_t va = conf_reserve(2 * g);
	struct seam_phys phys = conf_create(g);
	struct seam_phys other = {7};
	uint64_t memory = UINT64_C(1) << SEAM_DRV_MEMORY;
	seam__driver_fail_at(conf.d, 1, memory, SEAM_CU_NOT_READY);
	wants(SEAM_CU_NOT_READY, seam__drv_mem_map(conf.d, va, g, 0, phys, 0));
	works(seam__drv_mem_map(conf.d, va, g, 0, phys, 0)); /* not reached the first time, and only once */
	seam__driver_fail_at(conf.d, 2, memory, SEAM_CU_OUT_OF_MEMORY);
	works(seam__drv_mem_set_access(conf.d, va, g, &conf_read_write, 1));
	works(seam__drv_device_sync(conf.d)); /* of another class */
	wants(SEAM_CU_OUT_OF_MEMORY, seam__drv_mem_create(conf.d, g, &conf_plain, &other));
	ok(other.id == 7, "an injected failure leaves results alone");
	works(seam__drv_mem_unmap(conf.d, va, g));
	seam__driver_fail_at(conf.d, 1, memory, SEAM_CU_OUT_OF_MEMORY);
	seam__driver_fail_at(conf.d, 0, 0, 0);
	works(seam__drv_mem_release(conf.d, phys));
	works(seam__drv_address_free(conf.d, va, 2 * g));
	ok(atomic_load(&conf.d->injected) == 2, "two failures were injected");
}

void part_counters(void)
{
	uint64_t va = 0;
	uint64_t calls = seam__driver_calls(conf.d, SEAM_DRV_MEMORY);
	uint64_t failures = atomic_load(&conf.d->counts[SEAM_DRV_address_reserve].failures);
	uint64_t before_ns = conf.d->ops->clock_ns(conf.d);
	uint64_t ns = seam__driver_ns(conf.d, SEAM_DRV_MEMORY);
	works(seam__drv_address_reserve(conf.d, conf.g, 0, 0, &va));
	works(seam__drv_address_free(conf.d, va, conf.g));
	refuses(seam__drv_address_reserve(conf.d, 0, 0, 0, &va));
	ok(seam__driver_calls(conf.d, SEAM_DRV_MEMORY) == calls + 3, "every call is counted, failed ones too");
	ok(atomic_load(&conf.d->counts[SEAM_DRV_address_reserve].failures) == failures + 1, "failures are counted");
	ok(atomic_load(&conf.d->last_error) == SEAM_CU_INVALID_VALUE &&
			atomic_load(&conf.d->last_call) == SEAM_DRV_address_reserve,
		"the newest failure is kept with its call");
	ok(seam__driver_ns(conf.d, SEAM_DRV_MEMORY) > ns && conf.d->ops->clock_ns(conf.d) > before_ns, "time passes");
}

#define THREADS 4
#define ROUNDS 25

struct worker {
	uint32_t seed;
	int failed_call; /* 1-based number of the step that failed, or 0 */
};

/* One whole life of a mapping, by a thread of its own. */
static int live_once(struct worker *worker, uint64_t stream)
{
	uint64_t g = conf.g;
	uint64_t va = 0;
	uint32_t found = 0;
	struct seam_phys phys = {0};
	struct seam_driver *d = conf.d;
	if (seam__drv_address_reserve(d, 2 * g, 0, 0, &va) != 0)
		return 1;
	if (seam__drv_mem_create(d, g, &conf_plain, &phys) != 0)
		return 2;
	if (seam__drv_mem_map(d, va, g, 0, phys, 0) != 0 || seam__drv_mem_map(d, va + g, g, 0, phys, 0) != 0)
		return 3;
	if (seam__drv_mem_set_access(d, va, 2 * g, &conf_read_write, 1) != 0)
		return 4;
	if (seam__drv_fill32(d, va, worker->seed, g / 4, stream) != 0)
		return 5;
	if (seam__drv_copy_to_host(d, &found, va + 2 * g - 4, 4, stream) != 0 || seam__drv_stream_sync(d, stream) != 0)
		return 6;
	if (conf.has_contents && found != worker->seed)
		return 7;
	if (seam__drv_mem_unmap(d, va, 2 * g) != 0)
		return 8;
	if (seam__drv_mem_release(d, phys) != 0)
		return 9;
	return seam__drv_address_free(d, va, 2 * g) != 0 ? 10 : 0;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	uint64_t stream = 0;
	if (seam__drv_stream_create(conf.d, SEAM_STREAM_NONBLOCKING, &stream) != 0) {
		worker->failed_call = 11;
		return NULL;
	}
	for (int i = 0; i < ROUNDS && worker->failed_call == 0; i++, worker->seed++)
		worker->failed_call = live_once(worker, stream);
	if (seam__drv_stream_destroy(conf.d, stream) != 0)
		worker->failed_call = 12;
	return NULL;
}

void part_threads(void)
{
	pthread_t threads[THREADS];
	struct worker workers[THREADS];
	int started = 0;
	for (int i = 0; i < THREADS; i++)
		workers[i] = (struct worker){.seed = (uint32_t)i * 1000 + 1};
	while (started < THREADS && pthread_create(&threads[started], NULL, work, &workers[started]) == 0)
		started++;
	ok(started == THREADS, "%d threads run", started);
	for (int i = 0; i < started; i++) {
		(void)pthread_join(threads[i], NULL);
		ok(workers[i].failed_call == 0, "thread %d: step %d failed (0: none)", i, workers[i].failed_call);
	}
}
